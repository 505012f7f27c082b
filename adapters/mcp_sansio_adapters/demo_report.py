"""What the demonstration prints: a gutter with the step, sentences beside it, and what the step cost.

Plain lines, so that a pipe gets the same as a terminal, which gets some colour on top of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import attrs
import click

from mcp_sansio import Prompt

from ._pump import Traffic
from .cli_show import amount, one_line

GUTTER = 12
WIDTH = 100


class Report:
    """Prints one line after the other."""

    def __init__(self) -> None:
        self._color = False if os.environ.get("NO_COLOR") else None
        self._label = ""

    def heading(self, text: str) -> None:
        """A new part."""
        self._print()
        self._print(f"━━ {text} ".ljust(WIDTH, "━"), bold=True)

    def step(self, number: int, name: str) -> None:
        """A new step: its name stands beside its first line."""
        self._print()
        self._label = f"{number} {name}"

    def say(self, text: str) -> None:
        """A sentence about the step."""
        label = click.style(self._label.ljust(GUTTER), fg="cyan", bold=True)
        self._label = ""
        self._print(label + text)

    def detail(self, text: str) -> None:
        """Something that belongs to the last sentence."""
        self._print(" " * GUTTER + "    " + one_line(text)[: WIDTH - GUTTER - 4])

    def cost(self, spent: Traffic) -> None:
        """What the step cost on the wire."""
        size = amount(spent.bytes_sent + spent.bytes_received)
        text = f"cost: {spent.messages_sent} messages out, {spent.messages_received} in, {size}"
        self._print(" " * GUTTER + text, dim=True)

    def failed(self, text: str) -> None:
        """The step did not come out as it must."""
        self._print("✗ ".rjust(GUTTER) + text, fg="red", bold=True)

    def finished(self, text: str) -> None:
        """The last line."""
        self._print()
        self._print(text, fg="green", bold=True)

    def plain(self, text: str) -> None:
        """A line of its own."""
        self._print(text)

    def _print(self, text: str = "", **style: object) -> None:
        click.echo(click.style(text, **style) if style else text, color=self._color)  # type: ignore[arg-type]


def spent(before: Traffic, after: Traffic) -> Traffic:
    """What went over the wire between two moments."""
    return Traffic(**{name: getattr(after, name) - value for name, value in attrs.asdict(before).items()})


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def differences(before: dict[str, Prompt], after: dict[str, Prompt]) -> Iterable[str]:
    """A line for each prompt that came, went or changed."""
    for name in sorted({*before, *after}):
        if name not in before:
            yield f"+ {name}"
        elif name not in after:
            yield f"- {name}"
        elif before[name] != after[name]:
            fields = [field.name for field in attrs.fields(Prompt)]
            moved = [field for field in fields if getattr(before[name], field) != getattr(after[name], field)]
            yield f"~ {name}: {', '.join(moved)}"
