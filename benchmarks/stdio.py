"""What does it cost to talk to a child process over stdio, both sides together?

The client starts a server and asks for the same thing again and again, one request after the other. The list
is the same every time, which is what a client that polls sees; both sides do everything that they do for a
list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import work
from benchmarks.row import Goal, Question, Row

ERAS = ("modern", "legacy")


def row(job: str, what: str, era: str, goal: float, expected: Callable[[int], Any]) -> Row:
    """One request and its reply."""
    return Row(
        name=f"{job}/{era}",
        work=f"stdio, sequential {what} ({era})",
        job=job,
        params={"prompts": 100, "era": era},
        expected=expected,
        goals=(Goal(goal),),
        quick=era == "modern",
    )


QUESTION = Question(
    name="stdio",
    title="Over stdio",
    text="CPU of client and server together, asyncio on both sides.",
    rows=(
        *(row("stdio_get", "`prompts/get`", era, 8.0, lambda _: work.expected_get()) for era in ERAS),
        *(row("stdio_list", "list of 100", era, 12.0, lambda _: work.expected_list(100)) for era in ERAS),
    ),
)
