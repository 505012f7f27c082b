"""Small worlds for tests: nodes that echo, tapes of given values, and what a trace has."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from mcp_sansio._reports import Report
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._node import Action, Dial, Hangup, Node, Write
from mcp_sansio.simulation._tape import Draw, Lenient, Tape
from mcp_sansio.simulation._world import World


def calm(*draws: Draw) -> Tape:
    """A tape of zeros but for some draws."""
    return Tape(Lenient(draws))


def world(*draws: Draw) -> World:
    """A world in which every crossing takes a second, unless the draws say something else."""
    made = World(calm(*draws))
    made.latency = (1, 1.0)
    return made


class Talker(Node):
    """Says what the test tells it to say, and remembers what it hears, with the time by its own clock."""

    def __init__(self, *, wants: bool = True) -> None:
        self.heard: list[tuple[float, Any]] = []
        self.queue: list[Action] = []
        self.wants = wants
        self.alarm: float | None = None
        self.saw_full: list[bool] = []

    def start(self, now: float) -> None:
        self.heard.append((now, "start"))

    def opened(self, conn: str, now: float) -> None:
        self.heard.append((now, f"open {conn}"))

    def receive(self, conn: str, data: bytes, now: float) -> None:
        self.heard.append((now, data))

    def closed(self, conn: str, how: str, now: float) -> None:
        self.heard.append((now, how))

    def reading(self, conn: str) -> bool:
        return self.wants

    def next_timeout(self) -> float | None:
        return self.alarm

    def handle_timeout(self, now: float) -> None:
        if self.alarm is not None and now >= self.alarm:
            self.alarm = None
            self.heard.append((now, "alarm"))

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        self.saw_full.append("x" in full)
        said, self.queue = self.queue, []
        return said

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        if verb == "say":
            self.queue.append(Write(data["conn"], data["data"]))
        elif verb == "dial":
            self.queue.append(Dial(data["conn"], data["to"]))
        elif verb == "hang up":
            self.queue.append(Hangup(data["conn"], data.get("reset", False)))
        elif verb == "report":
            self.queue.append(Report("said", data))
        elif verb == "wake at":
            self.alarm = data["when"]

    @property
    def data(self) -> bytes:
        """All bytes that have come."""
        return b"".join(what for _, what in self.heard if isinstance(what, bytes))

    @property
    def words(self) -> list[str]:
        """Everything else."""
        return [what for _, what in self.heard if isinstance(what, str)]


def pair(*draws: Draw, arm: Callable[[World], None] | None = None) -> tuple[World, Talker, Talker]:
    """Two talkers, `a` connected to `b` by `x`."""
    made, a, b = world(*draws), Talker(), Talker()
    if arm is not None:
        arm(made)
    made.add("a", a)
    made.add("b", b)
    made.command("a", "dial", conn="x", to="b")
    made.settle(10)
    return made, a, b


def kinds(events: Iterable[TraceEvent]) -> list[str]:
    """The kinds of events, in order."""
    return [event.kind for event in events]
