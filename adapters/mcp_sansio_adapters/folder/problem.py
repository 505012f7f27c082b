"""What is wrong with a file of a prompt folder, and where, in one line that says what to write instead."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

Severity: TypeAlias = Literal["error", "warning"]
"""An error is not served as it is written; a warning is, and is probably not meant."""


@attrs.frozen
class Problem:
    """Something wrong with a file.

    `line` counts from 1; None where it is about no place in the file. An error means that something is not
    served as it is written, a warning that it is served, and probably not meant.
    """

    file: str
    line: int | None
    reason: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.file if self.line is None else f'{self.file}:{self.line}'}: {self.reason}"


class UnreadableFile(Exception):
    """A file that makes no prompt at all."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Report:
    """Collects the problems of one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._problems: list[Problem] = []

    def error(self, line: int, reason: str) -> None:
        """Something is not served as it is written."""
        self._problems.append(Problem(self._file, line, reason))

    def warning(self, line: int, reason: str) -> None:
        """Something is served, and probably not meant."""
        self._problems.append(Problem(self._file, line, reason, "warning"))

    def problems(self) -> tuple[Problem, ...]:
        """All of them, by line."""
        return tuple(sorted(self._problems, key=lambda problem: problem.line or 0))
