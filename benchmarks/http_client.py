"""What does a client over HTTP spend? Everybody asks the same server, this library's, whose CPU does not
count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import work
from benchmarks.row import Goal, Question, Row


def row(job: str, what: str, goal: float, expected: Callable[[int], Any]) -> Row:
    """One request and its reply."""
    return Row(
        name=job,
        work=f"HTTP client, sequential {what}",
        job=job,
        params={"prompts": 100, "era": "modern"},
        expected=expected,
        goals=(Goal(goal),),
        method="client",
    )


QUESTION = Question(
    name="http_client",
    title="Clients over HTTP",
    text="CPU of the client's process alone, asyncio.",
    rows=(
        row("http_client_list", "list of 100", 7.0, lambda _: work.expected_list(100)),
        row("http_client_get", "`prompts/get`", 4.0, lambda _: work.expected_get()),
    ),
)
