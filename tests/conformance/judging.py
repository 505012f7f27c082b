"""Judges what the official conformance suite reports, more strictly than the suite does.

A scenario has passed if all the checks that belong to it succeeded, each by name, and no other one failed
or warned. The suite's own exit codes are no use for that: they leave out warnings, count a scenario without
any checks as passed, and may ignore that the client crashed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

BAD = ("FAILURE", "WARNING")


@attrs.frozen
class Check:
    """One check as the suite reports it."""

    id: str
    name: str
    status: str
    message: str = ""


@attrs.frozen
class Result:
    """What came of one scenario in one column of the table, in the end; nothing is amiss if it passed."""

    scenario: str
    wire: str
    column: str
    passed: int
    amiss: tuple[str, ...] = ()
    attempts: int = 1


def read_checks(path: Path) -> tuple[Check, ...]:
    """The checks in a `checks.json`; none if there is no such file, or it is cut off."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    checks = cast("list[dict[str, Any]]", found)
    return tuple(
        Check(check["id"], check["name"], check["status"], check.get("errorMessage", "")) for check in checks
    )


def judge(expected: Sequence[str], checks: Sequence[Check]) -> tuple[int, tuple[str, ...]]:
    """How many of the expected checks succeeded, and what is amiss."""
    names = _names(expected, checks)
    succeeded = Counter(names[check] for check in checks if check.status == "SUCCESS")
    wanted, seen = Counter(expected), Counter(names[check] for check in checks)
    amiss = [
        f"{names[check]}: {check.status} {check.message}".rstrip()
        for check in checks
        if check.status in BAD or (check.status != "SUCCESS" and names[check] in wanted)
    ]
    amiss += [f"{name}: {seen[name]} of {count}" for name, count in wanted.items() if seen[name] < count]
    if not checks:
        amiss.append("nothing was checked")
    return (wanted & succeeded).total(), tuple(amiss)


def _names(expected: Sequence[str], checks: Sequence[Check]) -> Mapping[Check, str]:
    """What each check is called in the table of what is expected: by its id, or by id and name."""
    shared = {name.partition("/")[0] for name in expected if "/" in name}
    return {check: f"{check.id}/{check.name}" if check.id in shared else check.id for check in checks}


# --- the table --------------------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> str:
    """Scenarios and wires down, columns across: how many checks succeeded, and a cross where any is amiss."""
    columns = [*dict.fromkeys(result.column for result in results)]
    cells = {(result.scenario, result.wire, result.column): _cell(result) for result in results}
    rows = [*dict.fromkeys((result.scenario, result.wire) for result in results)]
    lines = [("scenario", "wire", *columns)]
    lines += [(*row, *(cells.get((*row, column), "") for column in columns)) for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def complaints(results: Iterable[Result]) -> str:
    """All that is amiss, one line each."""
    return "\n".join(
        f"✗ {result.scenario} {result.wire} {result.column}: {line}"
        for result in results
        for line in result.amiss
    )


def _cell(result: Result) -> str:
    again = f" (attempt {result.attempts})" if result.attempts > 1 else ""
    return f"{'✗ ' if result.amiss else ''}{result.passed}{again}"
