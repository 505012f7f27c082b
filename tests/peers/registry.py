"""The prompts that the peers serve: made from a number alone, so that a test can say what a list must hold.

The servers and the tests share this module, and it knows no protocol: prompts are JSON objects in their
newest wire shape, and a change is one of a few operations on strings, which is all that arguments carry.
"""

from collections.abc import Mapping
from typing import Any

CONTROL = "__mutate__"
"""Getting this prompt, which no list shows, changes the registry, as `Registry.change` has it."""

HANG = "__hang__"
"""Getting this prompt, which no list shows, is never answered."""

ASK = "__ask__"
"""Getting this prompt, which no list shows, needs input from the user first."""

STATE = "__state__"
"""Getting this prompt, which no list shows, gives counts as a JSON object: how many gets of `HANG` are
`hanging`, and how many `sessions` legacy clients have over HTTP.
"""

POLL = "__poll__"
"""Getting this prompt, which no list shows, is answered on another stream than the one on which it was asked
for, which ends before that (HTTP, legacy era).
"""

FORGET = "__forget__"
"""Getting this prompt, which no list shows, ends all sessions that legacy clients have over HTTP."""

TONES = ("calm", "cheerful", "formal", "furious")
"""What completes the argument `tone`; the argument `topic` has no completions."""


class UnknownPromptError(KeyError):
    """No prompt has this name."""


class MissingArgumentError(ValueError):
    """A required argument is absent."""


def prompt(number: int) -> dict[str, Any]:
    """The prompt of that number: some have no argument, some need a topic, some take a tone too."""
    shown: dict[str, Any] = {
        "name": f"prompt-{number:03}",
        "title": f"Prompt № {number}",
        "description": f"Says something about a topic, in manner {number}.",
    }
    if number % 3:
        shown["arguments"] = [
            {"name": "topic", "title": "Topic", "description": "What about", "required": True}
        ]
    if number % 3 == 2:
        shown["arguments"].append({"name": "tone", "required": False})
    return shown


class Registry:
    """Prompts by name, in the order of their names, and a count of the changes made to them."""

    def __init__(self, size: int = 137) -> None:
        self._prompts = {shown["name"]: shown for shown in map(prompt, range(size))}
        self.revision = 0

    def list(self) -> list[dict[str, Any]]:
        """All prompts, as `prompts/list` shows them in the newest revision."""
        return [self._prompts[name] for name in sorted(self._prompts)]

    def change(self, op: str, name: str, value: str = "") -> None:
        """Make one change: `add`, `remove`, `rename` (to `value`) or `retitle` (as `value`).

        Raises `UnknownPromptError` where there is nothing of that name to change.
        """
        if op == "add":
            self._prompts[name] = {"name": name, "title": value or name}
        elif name not in self._prompts:
            raise UnknownPromptError(name)
        elif op == "remove":
            del self._prompts[name]
        elif op == "rename":
            self._prompts[value] = self._prompts.pop(name) | {"name": value}
        elif op == "retitle":
            self._prompts[name] = self._prompts[name] | {"title": value}
        else:
            raise ValueError(f"no such change: {op}")
        self.revision += 1

    def render(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt's one message.

        Raises `UnknownPromptError` or `MissingArgumentError`.
        """
        if name not in self._prompts:
            raise UnknownPromptError(name)
        for argument in self._prompts[name].get("arguments", ()):
            if argument.get("required") and argument["name"] not in arguments:
                raise MissingArgumentError(argument["name"])
        return f"{name}: " + ", ".join(f"{key}={value}" for key, value in sorted(arguments.items()))

    def complete(self, name: str, argument: str, value: str) -> tuple[str, ...]:
        """What may stand for an argument that begins with `value`; raises `UnknownPromptError`."""
        if name not in self._prompts:
            raise UnknownPromptError(name)
        return tuple(tone for tone in TONES if argument == "tone" and tone.startswith(value))
