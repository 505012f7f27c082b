"""The parties of a trace, and what is known of each: a client with what it has asked, a server with what it
owes and all the states of its list.

They are what the ledger keeps and checkers read; they change by what `_ledger` finds in the messages.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, TypeAlias

import attrs

from mcp_sansio._trace import TraceEvent

from ._listeners import Listeners
from ._walks import Walk, Walks

Items: TypeAlias = tuple[tuple[str, str], ...]


@attrs.define(eq=False)
class Requested:
    """A request in a trace, at the end where it was seen."""

    id: Any
    method: str
    params: dict[str, Any]
    index: int
    time: float
    link: str


@attrs.define(eq=False)
class Asked(Requested):
    """A request that a client has sent. `epoch` is the client's when it left, `principal` for whom it was
    made; `over` how it ended, an error by its `code`; `walk` the reading of a list that it is part of.
    """

    epoch: int
    principal: Any = None
    over: str | None = None
    code: Any = None
    acknowledged: bool = False
    walk: Walk | None = None


@attrs.define(eq=False)
class ClientParty:
    """A client, as the messages show it. `epoch` rises with every invalidation that it must have noticed, the
    last one at event `since` and time `at`; `marks` has the index of the last one for each reason; `heard` is
    that of the last announcement of a change, whether it counts or not. `settings` are what it says of
    itself, if it does.
    """

    name: str
    epoch: int = 0
    since: int = -1
    at: float = -1.0
    heard: int = -1
    marks: dict[str, int] = attrs.field(factory=dict[str, int])
    settings: dict[str, Any] = attrs.field(factory=dict[str, Any])
    link: str = ""
    principal: Any = None
    walks: Walks = attrs.field(factory=Walks)
    asked: dict[Any, Asked] = attrs.field(factory=dict[Any, Asked])
    listen: Asked | None = None
    session: bool = False
    declared: bool | None = None
    initialized: bool | None = None
    rest: dict[str, Any] | None = None

    def invalidate(self, event: TraceEvent, reason: str) -> None:
        """What it knew before is stale from here on."""
        self.epoch += 1
        self.since, self.at = event.index, event.time
        self.marks[reason] = event.index

    def restart(self, event: TraceEvent) -> None:
        """The process has begun anew, and remembers nothing."""
        for asked in self.asked.values():
            asked.over = asked.over or "lost"
        self.session, self.listen, self.declared, self.initialized = False, None, None, None
        self.asked = {}
        self.invalidate(event, "restarted")

    def first(self, fields: dict[str, Any]) -> Asked | None:
        """The request for the first page of the list that a report is about."""
        return self.asked.get(key_of(fields.get("asked")))

    @property
    def covered(self) -> bool:
        """Whether changes are announced to it."""
        session = self.session and self.initialized is not False
        return session or (self.listen is not None and self.listen.acknowledged)


@attrs.define(eq=False)
class Owed(Requested):
    """A request that a server has taken in, `times` over before it was answered. `answers` are the indexes of
    its responses.
    """

    times: int = 1
    answers: list[int] = attrs.field(factory=list[int])
    cancelled: bool = False

    @property
    def open(self) -> bool:
        """Whether an answer is due."""
        return len(self.answers) < self.times and not self.cancelled


@attrs.define(eq=False)
class Version:
    """A state of a server's list, from an index and time of the trace on."""

    index: int
    time: float
    items: Items


def _index(version: Version) -> int:
    return version.index


@attrs.define(eq=False)
class ServerParty:
    """A server, as the messages show it; all the states of its list, of which the first is none at all, and
    all that was `ever` in it. `settings` are what it says of itself, if it does; `principals` are whom
    connections belong to, if that is known.
    """

    name: str
    settings: dict[str, Any] = attrs.field(factory=dict[str, Any])
    principals: dict[str, Any] = attrs.field(factory=dict[str, Any])
    listeners: Listeners = attrs.field(factory=Listeners)
    items: dict[str, str] = attrs.field(factory=dict[str, str])
    ever: set[tuple[str, str]] = attrs.field(factory=set[tuple[str, str]])
    versions: list[Version] = attrs.field(factory=lambda: [Version(-1, 0.0, ())])
    owed: dict[tuple[str, Any], Owed] = attrs.field(factory=dict[tuple[str, Any], Owed])
    waiting: dict[Owed, None] = attrs.field(factory=dict[Owed, None])
    rest: dict[str, Any] | None = None

    def restart(self, index: int) -> None:
        """The process has begun anew, and has no connections; its list may have been kept."""
        for listener in self.listeners.open.values():
            listener.end(index, "closed")
        self.listeners = Listeners()
        self.owed.clear()
        self.waiting.clear()

    def drop(self, owed: Owed) -> None:
        """Nobody waits for an answer any more."""
        self.waiting.pop(owed, None)
        self.owed.pop((owed.link, key_of(owed.id)), None)

    @property
    def latest(self) -> Items:
        """The list as it is now."""
        return self.versions[-1].items

    @property
    def known(self) -> bool:
        """Whether the states of its list are: a recording may not have its edits."""
        return len(self.versions) > 1

    def between(self, first: int, last: int) -> list[Items]:
        """The states that the list had between two indexes, both ends included."""
        versions = self.versions
        begin = max(bisect_right(versions, first, key=_index) - 1, 0)
        return [version.items for version in versions[begin : bisect_right(versions, last, key=_index)]]


_IDS = (int, str)  # a union would be made anew by each of many calls


def key_of(wire_id: Any) -> Any:
    """An id as a key: the string "1" is not the number 1."""
    return (type(wire_id).__name__, wire_id) if isinstance(wire_id, _IDS) else None


def items_of(value: Any) -> Items | None:
    """A list as it was reported, in the form that versions have."""
    return None if value is None else tuple((name, tag) for name, tag in value)
