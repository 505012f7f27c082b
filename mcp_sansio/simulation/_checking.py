"""Checkers: properties that a conversation must have, each an object that watches the events of a trace.

A checker has the id of its property, the place in the specification that it comes from, and whether that
says MUST or SHOULD (`LIBRARY` for what only this project promises). It sees an event after the ledger has
taken it, and returns a sentence when the property is broken. It changes nothing, so the same object watches a
live world, a file and a recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cache
from typing import ClassVar, TypeAlias, cast

import mcp_sansio._trace as kinds
from mcp_sansio._trace import Trace, TraceEvent

from ._ledger import Ledger
from ._parties import ClientParty, ServerParty
from ._situations import Witness

Look: TypeAlias = Callable[[TraceEvent], str | None]
"""Says what is wrong since an event."""


class Level(Enum):
    """How binding a property is."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    LIBRARY = "library"


class Checker:
    """One property. `kinds` are those of the events that `on_event` wants to see: of reports only those whose
    kind is among `reports` (all, if there are none), and only what happens at nodes of `role`, if it has one.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    anchor: ClassVar[str]
    level: ClassVar[Level] = Level.MUST
    kinds: ClassVar[tuple[str, ...]] = ()
    reports: ClassVar[tuple[str, ...]] = ()
    role: ClassVar[str] = ""
    trusting: ClassVar[bool] = False
    """Whether it holds only as long as every peer says what it should."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @property
    def client(self) -> ClientParty:
        """The client that the event is at, for properties of that role."""
        return cast("ClientParty", self.ledger.client)

    @property
    def server(self) -> ServerParty:
        """The server that the event is at, for properties of that role."""
        return cast("ServerParty", self.ledger.server)

    def says(self, method: str) -> bool:
        """Whether the event is a message of this method."""
        message = self.ledger.message
        return message is not None and message.get("method") == method

    def on_event(self, event: TraceEvent) -> str | None:
        """What is wrong now, or None."""

    def at_rest(self) -> str | None:
        """What is wrong now that all is quiet, or None."""


class Violated(Exception):
    """A property is broken; `index` is that of the event that showed it."""

    def __init__(self, checker: type[Checker], text: str, index: int) -> None:
        super().__init__(f"{checker.id} {checker.title}: {text}")
        self.checker = checker
        self.property: str = checker.id
        self.text = text
        self.index = index


class Auditor:
    """Shows every event to a ledger and to the checkers that want it; raises `Violated`."""

    def __init__(self, checks: Iterable[type[Checker]], *, watch: bool = False) -> None:
        """With `watch`, a `witness` counts the situations that were reached."""
        self.ledger: Ledger = Ledger()
        self.witness: Witness | None = Witness(self.ledger) if watch else None
        self._classes: tuple[type[Checker], ...] = tuple(checks)
        self.checkers: Sequence[Checker] = [check(self.ledger) for check in self._classes]
        self._rested = False
        self._last = -1
        self._seen: dict[tuple[str, str, str, bool], list[tuple[Checker, Look]]] = {}

    def __call__(self, event: TraceEvent) -> None:
        """Take one event."""
        if event.kind == kinds.PHASE:
            self.finish()
            self._rested = event.data == "rest"
        ledger = self.ledger
        ledger.take(event)
        self._last = event.index
        if self.witness is not None:
            self.witness(event)
        key = event.kind, ledger.role, event.data[0] if event.kind == kinds.OBSERVED else "", ledger.honest
        wanted = self._seen.get(key)
        if wanted is None:
            every = [self.checkers[at] for at in _wanted(self._classes, *key)]
            wanted = self._seen[key] = [(checker, checker.on_event) for checker in every]
        for checker, look in wanted:
            problem = look(event)
            if problem is not None:
                raise Violated(type(checker), problem, event.index)

    def finish(self) -> None:
        """A phase is over, or the trace: judge what only holds when all is quiet, if it was."""
        for checker in self.checkers if self._rested else ():
            if checker.trusting and not self.ledger.honest:
                continue
            problem = checker.at_rest()
            if problem is not None:
                raise Violated(type(checker), problem, self._last)


@cache
def _wanted(
    checks: tuple[type[Checker], ...], kind: str, role: str, report: str, honest: bool
) -> tuple[int, ...]:
    """Which of the checkers want to see an event; worked out once for all runs with the same ones."""
    return tuple(
        at
        for at, check in enumerate(checks)
        if (honest or not check.trusting) and _wants(check, kind, role, report)
    )


def _wants(check: type[Checker], kind: str, role: str, report: str) -> bool:
    told = not report or not check.reports or report in check.reports
    return kind in check.kinds and told and check.role in ("", role)


def violation(trace: Trace, check: type[Checker]) -> Violated | None:
    """Where a trace breaks a property first; None if it does not."""
    auditor = Auditor((check,))
    try:
        for event in trace:
            auditor(event)
        auditor.finish()
    except Violated as violated:
        return violated
    return None


def recheck(trace: Trace, checks: Iterable[type[Checker]]) -> list[Violated]:
    """Every violation in a trace, at most one of each property."""
    found = (violation(trace, check) for check in checks)
    return [violated for violated in found if violated is not None]
