r"""The placeholders in the text of a prompt, found once and filled in by one literal pass.

- `{{name}}`, with or without blanks inside, is a declared argument.
- `${input:name}` and `${input:name:hint}` declare an argument, and stand for it.
- `$ARGUMENTS` declares the argument `arguments`, what was typed after a command. `$ARGUMENTS[0]` is its
  first word, and so is `$1` in a file that says `$ARGUMENTS` or has an `argument-hint`.

Whatever else looks alike is text: `{{other}}`, `${HOME}`, `$0`, `$12`, `$0.01`, `$1.2M`, `US$5`. A
backslash before a placeholder makes text of that, too, and goes. A value is never looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs

from mcp_sansio import PromptArgument

ALL = "arguments"
"""The argument that `$ARGUMENTS` stands for."""

_PLACEHOLDER = re.compile(
    r"""(?P<escape>\\)?
    (?: \{\{(?P<name>[^{}\n]*)\}\}
      | \$\{input:(?P<input>[^:{}\n]+)(?::(?P<hint>[^{}\n]*))?\}
      | \$ARGUMENTS\[(?P<index>[0-9]{1,3})\]
      | \$(?P<all>ARGUMENTS)(?!\w)
      | (?<![\w$])\$(?P<word>[1-9])(?!\w|[.,][0-9])
    )""",
    re.VERBOSE,
)
_WORDS = re.compile(r"""(\s+)|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+|.)""", re.DOTALL)


@attrs.frozen
class Slot:
    """A placeholder: a whole argument, or one word of what `$ARGUMENTS` stands for, from 0."""

    argument: str
    word: int | None = None


Template: TypeAlias = tuple[str | Slot, ...]


def fill(template: Template, values: Mapping[str, str]) -> str:
    """The text with all values in it; nothing stands for an argument or a word that has none."""
    slots = [part for part in template if isinstance(part, Slot)]
    words = split_words(values.get(ALL, "")) if any(slot.word is not None for slot in slots) else []

    def value(slot: Slot) -> str:
        if slot.word is None:
            return values.get(slot.argument, "")
        return words[slot.word] if slot.word < len(words) else ""

    return "".join(part if isinstance(part, str) else value(part) for part in template)


class Templates:
    """Makes templates of the texts of one file, whose declared arguments are `declared`.

    `hint` is what the file says of the words after a command; None if it says nothing.
    """

    def __init__(self, texts: Iterable[str], declared: Iterable[PromptArgument], hint: str | None) -> None:
        self.arguments = {argument.name: argument for argument in declared}
        self.used: set[str] = set()
        self.strange: list[tuple[str, int, int]] = []
        """What names no argument: as it is written, in which text, and on which line of it."""
        found = [match for text in texts for match in _PLACEHOLDER.finditer(text) if not match["escape"]]
        said = any(match["all"] or match["index"] for match in found)
        self._positional = hint is not None or said
        if said or (self._positional and any(match["word"] for match in found)):
            self.arguments.setdefault(ALL, PromptArgument(ALL, description=hint or None))
        for match in found:
            if name := (match["input"] or "").strip(" \t"):
                described = (match["hint"] or "").strip() or None
                self.arguments.setdefault(name, PromptArgument(name, description=described))

    def parse(self, text: str, number: int) -> Template:
        """The template that a text is, the one of this number among the texts."""
        parts: list[str | Slot] = []
        end = line = counted = 0
        for match in _PLACEHOLDER.finditer(text):
            line += text.count("\n", counted, match.start())
            counted = match.start()
            slot = self._slot(match)
            if slot is None:
                if match["name"] is not None:
                    self.strange.append((match[0].removeprefix("\\"), number, line))
                continue
            parts.append(text[end : match.start()])
            parts.append(match[0].removeprefix("\\") if match["escape"] else slot)
            end = match.end()
        return (*parts, text[end:])

    def _slot(self, match: re.Match[str]) -> Slot | None:
        """What a placeholder stands for; None if it is only text."""
        if match["word"]:
            slot = Slot(ALL, int(match["word"]) - 1) if self._positional else None
        elif match["index"]:
            slot = Slot(ALL, int(match["index"]))
        else:
            slot = Slot(ALL if match["all"] else (match["name"] or match["input"] or "").strip(" \t"))
        if slot is None or not slot.argument:
            return None
        if match["name"] is not None and slot.argument not in self.arguments:
            return None  # all others declare what they stand for, and do where they are escaped
        if not match["escape"]:
            self.used.add(slot.argument)
        return slot


def split_words(text: str) -> list[str]:
    """The words of a text, as a shell splits it; a quote that is never closed is a character like others."""
    words: list[str] = []
    pieces: list[str] = []
    inside = False
    for blank, piece in _pieces(text):
        if not blank:
            pieces.append(piece)
        elif inside:
            words.append("".join(pieces))
            pieces = []
        inside = not blank
    return [*words, "".join(pieces)] if inside else words


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Blanks, and the parts of words without their quotes."""
    for match in _WORDS.finditer(text):
        blank, single, double, escaped, plain = match.groups()
        if double is not None:
            double = re.sub(r'\\(["\\])', r"\1", double)
        yield (
            blank is not None,
            next(piece for piece in (single, double, escaped, plain, "") if piece is not None),
        )
