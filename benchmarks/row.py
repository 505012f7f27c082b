"""What is asked: questions, each a file of this folder, and the rows of their tables.

A row is a piece of work that every contestant does: the job of the drivers that does it, with its parameters,
what must be seen at the end, and what this library should reach. Goals are ratios: so many times less than
another contestant spends in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

OURS = "ours"
SDK = "sdk"
FASTMCP = "fastmcp"
TYPESCRIPT = "typescript"
FLOOR = "floor"
CONTESTANTS = {
    OURS: "mcp-sansio",
    SDK: "mcp 2.3.0",
    FASTMCP: "fastmcp 4.1.6",
    TYPESCRIPT: "TypeScript SDK 2.4.0",
    FLOOR: "hand-written floor",
}
EVERYBODY = tuple(CONTESTANTS)

Method = Literal["steps", "client", "load", "listening", "footprint", "fresh"]
"""How a row is measured; `turns` says what that means."""


@attrs.frozen
class Goal:
    """So many times less than `over` spends."""

    times: float
    over: str = SDK


@attrs.frozen
class Growth:
    """At most so many times what the row `half` costs, where everything is half as large."""

    times: float
    half: str


@attrs.frozen
class Curve:
    """Where a row is on a plot: the plot's name, what grows, and how large it is here."""

    plot: str
    grows: str
    at: float


@attrs.frozen(kw_only=True)
class Row:
    """A piece of work. `expected` is what must be seen after so many edits; `unit` is what one is counted
    per.

    `quick`: whether it belongs to the quick mode. `measure`: what is compared, CPU seconds, bytes or
    something that is counted; `rounds`: how many at most.
    """

    name: str
    work: str
    job: str
    params: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    expected: Callable[[int], Any]
    goals: tuple[Goal, ...] = ()
    growth: Growth | None = None
    contestants: tuple[str, ...] = EVERYBODY
    method: Method = "steps"
    measure: Literal["seconds", "bytes", "count"] = "seconds"
    unit: str = "call"
    curves: tuple[Curve, ...] = ()
    quick: bool = True
    rounds: int | None = None


@attrs.frozen
class Question:
    """A table: what it is about, in a headline and a paragraph, and its rows."""

    name: str
    title: str
    text: str
    rows: tuple[Row, ...]
