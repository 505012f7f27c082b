"""The body of a prompt file, line by line: who says what, and which files are shown with it.

A line that is only `<!-- user -->` or `<!-- assistant -->` begins a message of that role, and text before
the first of them is the user's. A line that is only a Markdown image or link to a file becomes a message of
its own. Neither is looked for in code, and both are found before any argument is filled in, so that a value
can make neither of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import attrs

from mcp_sansio import Role

from .problem import Report

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_TURN = re.compile(r" {0,3}<!--[ \t]*([A-Za-z]+)[ \t]*-->[ \t]*")
_LINK = re.compile(r" {0,3}(!?)\[[^\[\]]*\]\((?:<([^<>]+)>|([^\s()<>]+))\)[ \t]*")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")
_ROLES = ("user", "assistant")
_NO_ROLES = frozenset({*_ROLES, "system", "developer", "tool", "function", "human", "ai", "bot", "model"})


@attrs.frozen
class Link:
    """A file that is shown: its address as it is written, and whether it is written as an image."""

    address: str
    image: bool


@attrs.frozen
class Part:
    """What becomes one message. `text` is how a link is written, too, for one that cannot be followed."""

    role: Role
    line: int
    text: str
    link: Link | None = None


def parts_of(body: str, first: int, report: Report) -> list[Part]:
    """The parts of a body that begins on line `first` of its file."""
    return list(_Reader(first, report).read(body.split("\n")))


class _Reader:
    def __init__(self, first: int, report: Report) -> None:
        self._line = first
        self._report = report
        self._role: Role = "user"
        self._turn: int | None = None  # the line that began it, while nothing has been said in it
        self._fence = ""
        self._text: list[str] = []

    def read(self, lines: list[str]) -> Iterator[Part]:
        for line in lines:
            code = self._in_code(line)
            turn = None if code else _TURN.fullmatch(line)
            link = None if code else _link(line)
            if turn is not None and turn[1] in _ROLES:
                yield from self._said()
                self._begin(cast("Role", turn[1]))
            elif link is not None:
                yield from self._said()
                self._turn = None
                yield Part(self._role, self._line, line, link)
            else:
                self._check_role(turn)
                self._text.append(line)
            self._line += 1
        yield from self._said()
        self._check_empty()

    def _in_code(self, line: str) -> bool:
        match = _FENCE.fullmatch(line)
        if match is None:
            return bool(self._fence)
        if not self._fence:
            self._fence = match[1]
        elif match[1].startswith(self._fence) and not match[2].strip():
            self._fence = ""
        return True

    def _said(self) -> Iterator[Part]:
        """The text that has been read, without the blank lines around it."""
        text = "\n".join(self._text)
        bare = text.lstrip("\n")
        first = self._line - len(self._text) + len(text) - len(bare)
        self._text = []
        if bare.strip():
            self._turn = None
            yield Part(self._role, first, bare.rstrip("\n"))

    def _begin(self, role: Role) -> None:
        self._check_empty()
        self._role, self._turn = role, self._line

    def _check_empty(self) -> None:
        if self._turn is not None:
            self._report.warning(self._turn, f"nothing is said by the {self._role} here: left out")

    def _check_role(self, turn: re.Match[str] | None) -> None:
        if turn is not None and turn[1].lower() in _NO_ROLES:
            reason = f"{turn[0].strip()} is text: the roles are <!-- user --> and <!-- assistant -->"
            self._report.error(self._line, reason)


def _link(line: str) -> Link | None:
    match = _LINK.fullmatch(line)
    if match is None or _URL.match(address := match[2] or match[3]):
        return None
    return Link(address, bool(match[1]))
