"""Properties of how a client reads a list: its cursors, how often it reads, and that it comes to an end."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._ledger_http import is_modern
from mcp_sansio.simulation._parties import Asked, ClientParty
from mcp_sansio.simulation._walks import Walk

INVALID_PARAMS = -32602
ACCESSES = ("list", "refresh", "get", "complete")
HARD = ("disconnected", "restarted", "principal")
"""What ends a walk, and the meaning of its cursors."""


class CursorHygiene(Checker):
    """A cursor goes back as it came, to the server and for the principal that it came from, as long as it
    means anything; the empty string is one.
    """

    id = "C8"
    title = "cursor hygiene"
    anchor = "server/utilities/pagination#implementation-guidelines"
    trusting = True
    kinds = (kinds.SENT, kinds.COMMAND, kinds.OBSERVED)
    reports = ("updated",)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._given: set[tuple[str, str]] = set()

    def on_event(self, event: TraceEvent) -> str | None:
        client, request = self.client, self.ledger.request
        if event.kind == kinds.COMMAND:
            if event.data[1].get("cursor") is not None:
                self._given.add((event.node, event.data[1]["cursor"]))
            return None
        if event.kind == kinds.OBSERVED:
            return _cut_short(client.first(event.data[1]))
        if request is None or request.index != event.index or request.params.get("cursor") is None:
            return None
        if (event.node, request.params["cursor"]) in self._given:
            return None
        return self._echo(client, request, request.params["cursor"])

    def _echo(self, client: ClientParty, asked: Asked, cursor: Any) -> str | None:
        walk = asked.walk
        if walk is None:
            return f"{asked.method} with a cursor that no page had: {cursor!r}"
        page = walk.pages[-1]
        of, to = self.ledger.server_of(page.asked.link), self.ledger.server_of(asked.link)
        if of is not to and None not in (of, to):  # it may be on its way to a connection that is not open yet
            return f"a cursor of another server: {cursor!r}"
        if page.asked.principal != asked.principal:
            return f"a cursor that {page.asked.principal} was given is sent for {asked.principal}"
        if any(r.params.get("cursor") == cursor and r.code == INVALID_PARAMS for r in walk.requests):
            return f"a cursor that was refused is sent again: {cursor!r}"
        if client.settings and any(client.marks.get(reason, -1) > page.index for reason in HARD):
            return f"a cursor of an old connection is sent: {cursor!r}"
        return None


def _cut_short(asked: Asked | None) -> str | None:
    """A legacy server may mean "done" by an empty cursor that leads to the same page again."""
    walk = None if asked is None else asked.walk
    if walk is None or not walk.pages or walk.complete:
        return None
    last = walk.pages[-1]
    if last.cursor == "" and not is_modern(last.asked.params):
        return None
    return f"a list ends at a page whose nextCursor is {last.cursor!r}"


class RequestBound(Checker):
    """At most one walk is under way, and each has its reason: a change, a failure or somebody who asked."""

    id = "C9"
    title = "request bound"
    anchor = "server/utilities/caching#interaction-with-notifications"
    level = Level.LIBRARY
    trusting = True
    kinds = (kinds.SENT, kinds.TAKEN, kinds.ENDED, kinds.COMMAND, kinds.OBSERVED)
    reports = ("updated",)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._asked: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._held: dict[str, tuple[int, float]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.COMMAND:
            served = event.data[0] == "list" and self._served(event)
            self._asked[event.node] += event.data[0] in ACCESSES and not served
            return None
        if event.kind == kinds.OBSERVED:
            self._updated(event)
            return None
        client, request = self.client, self.ledger.request
        if request is None or request.walk is None:
            return None
        if request.over is not None:
            self._failed[event.node] += request.over != "result"
        elif request.walk.requests[0].index == event.index:
            return self._begins(client, request.walk)
        return None

    def _updated(self, event: TraceEvent) -> None:
        """A list is held, of an epoch and until a time; of who does not say until when, nothing is asked."""
        asked, until = self.client.first(event.data[1]), event.data[1].get("expires", -math.inf)
        if asked is not None:
            self._held[event.node] = asked.epoch, math.inf if until is None else until

    def _served(self, event: TraceEvent) -> bool:
        """Whether what is held will do for who asks."""
        epoch, until = self._held.get(event.node, (-1, -math.inf))
        return epoch == self.client.epoch and event.time < until and event.node not in self.ledger.clocks

    def _begins(self, client: ClientParty, walk: Walk) -> str | None:
        if any(other.running for other in client.walks.recent if other is not walk):
            return "a second walk begins while one is under way"
        reasons = 1 + client.epoch + self._asked[client.name] + self._failed[client.name]
        if self._asked[client.name] and client.walks.begun > reasons:
            return f"{client.walks.begun} walks, and {reasons} reasons for one"
        return None


PATIENCE = 4
"""So many walks in a row may be given up because the list has changed again."""

SLACK = 0.5
"""Seconds that a request may take to leave."""

HELD_UP = ("stall", "partition", "asymmetric", "freeze", "back", "slow")


class Progress(Checker):
    """However often the list changes, its readers come to an end, and those who fetch what is announced begin
    within the time that they promise.
    """

    id = "C10"
    title = "progress under changes"
    anchor = "server/utilities/caching#interaction-with-pagination"
    level = Level.LIBRARY
    trusting = True
    kinds = (kinds.SENT, kinds.TAKEN, kinds.ENDED, kinds.NODE, kinds.COMMAND, kinds.OBSERVED)
    reports = ("failed", "odd", "updated")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._given_up: Counter[str] = Counter()
        self._pending: dict[str, float] = {}
        self._read: dict[str, float] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        node, client = event.node, self.client
        if event.kind in (kinds.OBSERVED, kinds.COMMAND):
            if event.kind == kinds.OBSERVED or event.data[0] == "cancel":
                self._given_up[node] = 0
            return None
        if event.kind in (kinds.ENDED, kinds.NODE):
            self._pending.pop(node, None)
            return None
        request = self.ledger.request
        if request is not None and request.walk is not None:
            return self._walks(event, client, request.walk)
        if client.marks.get("list_changed") == event.index:
            return self._announced(event, client)
        return None

    def _walks(self, event: TraceEvent, client: ClientParty, walk: Walk) -> str | None:
        first = walk.requests[-1]
        if first.index != event.index or first.params.get("cursor") is not None:
            self._read[event.node] = event.time
            return None
        late = self._late(event, client)
        self._pending.pop(event.node, None)
        return late or (self._again(client) if first is walk.requests[0] else None)

    def _again(self, client: ClientParty) -> str | None:
        """A new walk begins: was the one before given up, for no other reason than a change?"""
        recent = client.walks.recent
        if len(recent) < 2:
            return None
        before = recent[-2]
        since = before.requests[0].index
        soft = client.marks.get("list_changed", -1) > since and before.requests[-1].over in (
            "cancelled",
            "result",
        )
        if before.complete or not soft or any(client.marks.get(reason, -1) > since for reason in HARD):
            self._given_up[client.name] = 0
            return None
        self._given_up[client.name] += 1
        if self._given_up[client.name] > PATIENCE:
            return f"{self._given_up[client.name]} walks in a row were given up because the list had changed"
        return None

    def _announced(self, event: TraceEvent, client: ClientParty) -> str | None:
        self._pending.setdefault(event.node, event.time)
        last = client.walks.last
        return None if last is not None and last.running else self._late(event, client)

    def _late(self, event: TraceEvent, client: ClientParty) -> str | None:
        """Whether somebody who is eager has let a change wait for longer than is promised."""
        first, wait = self._pending.get(event.node), client.settings.get("max_wait")
        if first is None or wait is None or not client.settings.get("eager") or client.settings.get("waits"):
            return None
        due = max(first + wait, self._read.get(event.node, 0.0)) + SLACK
        if event.time <= due or any(kind in self.ledger.faults for kind in HELD_UP):
            return None
        return f"a change of {first:g} s is not acted on at {event.time:g} s; {wait:g} s were promised"


class TtlIsNoTimer(Checker):
    """That a list expires causes no request: nobody has asked, and nothing has changed."""

    id = "C12"
    title = "the TTL is no timer"
    anchor = "server/utilities/caching#freshness-calculation"
    level = Level.SHOULD
    kinds = (kinds.SENT, kinds.COMMAND, kinds.OBSERVED, kinds.NODE)
    reports = ("listed", "failed", "rendered", "gone", "completed", "odd")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._waiting: Counter[str] = Counter()
        self._failed: dict[str, int] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        node = event.node
        if event.kind == kinds.COMMAND:
            self._waiting[node] += event.data[0] in ACCESSES
        elif event.kind == kinds.NODE:
            self._waiting.pop(node, None)
        elif event.kind == kinds.OBSERVED:
            self._told(event)
        elif node in self._waiting:
            return self._sent(event)
        return None

    def _told(self, event: TraceEvent) -> None:
        if event.data[0] in ("odd", "failed"):
            self._failed[event.node] = event.index
        if event.data[0] != "odd" and self._waiting[event.node]:
            self._waiting[event.node] -= 1

    def _sent(self, event: TraceEvent) -> str | None:
        client, request = self.client, self.ledger.request
        if request is None or request.walk is None or self._waiting[event.node]:
            return None
        if client.settings.get("waits"):
            return None
        if request.walk.requests[0].index != event.index or len(client.walks.recent) < 2:
            return None
        before = client.walks.recent[-2]
        began = before.requests[0]
        quiet = client.epoch == began.epoch and client.at < began.time  # of one moment nobody knows the order
        reason = max(client.heard, self._failed.get(event.node, -1))
        if before.complete and quiet and reason < began.index:
            return f"the list is fetched anew after that of request {began.id}, and nobody has asked for it"
        return None
