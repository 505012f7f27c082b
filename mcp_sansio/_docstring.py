"""What a docstring says of a prompt: its first paragraph, and the arguments under `Args:`.

In the style that is called Google's: under a line `Args:`, each argument begins a line that is indented
(`name: what it is`, or `name (type): …`), and what is indented more belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECTION = re.compile(r"(?:Args|Arguments|Parameters):[ ]*")
_ARGUMENT = re.compile(r"\*{0,2}(\w+)(?: *\([^)]*\))?:(?: +(.*))?")


def first_paragraph(docstring: str) -> str | None:
    """The first paragraph in one line; None if there is none but sections."""
    paragraph = docstring.partition("\n\n")[0]
    headed = _SECTION.fullmatch(paragraph.partition("\n")[0])
    return None if headed else " ".join(paragraph.split()) or None


def argument_texts(docstring: str) -> Mapping[str, str]:
    """What is said of each argument, in one line."""
    found: dict[str, list[str]] = {}
    indent, name = 0, ""
    for line in _section(docstring):
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        indent = indent or depth
        begins = _ARGUMENT.fullmatch(text) if depth == indent else None
        if begins:
            name = begins[1]
            found[name] = [begins[2] or ""]
        elif name:
            found[name].append(text)
    return {name: " ".join(lines).strip() for name, lines in found.items()}


def _section(docstring: str) -> list[str]:
    """The lines under `Args:`, up to the next one that is not indented."""
    lines: list[str] = []
    inside = False
    for line in docstring.splitlines():
        if not line[:1].strip():
            lines += [line] if inside and line.strip() else []
        else:
            inside = _SECTION.fullmatch(line) is not None
    return lines
