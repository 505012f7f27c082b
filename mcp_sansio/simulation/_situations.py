"""Situations worth reaching: the races, gaps and endings that the properties are about.

A campaign in which one of them never came up has proved less than it seems to, and fails. They are seen in
the trace, as properties are; who watches counts, and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._plain import member
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._trace import TraceEvent
from mcp_sansio._types import LIST_CHANGED

from ._ledger import Ledger
from ._listeners import CANCELLED
from ._parties import Asked, ClientParty, ServerParty


class Situation(StrEnum):
    """What is worth reaching."""

    CHANGED_IN_WALK = "a change is announced while a list is on its way"
    CHANGED_BETWEEN_PAGES = "a change is announced between two pages"
    CHANGED_TWICE = "two changes are announced during one walk"
    CHANGED_EARLY = "a change is announced before the acknowledgement"
    CHANGED_LATE = "a change is announced on a subscription that is over"
    CHANGED_IN_SESSION = "a change is announced in a legacy session"
    CHANGED_WHILE_OPENING = "the list changes while a subscription is being opened"
    CHANGED_UNANNOUNCED = "the list changes again before it was announced"
    CHANGED_UNDER_GET = "the list changes while a prompt is rendered"
    WALK_ANEW = "a walk is given up for a new one"
    CURSOR_REFUSED = "a cursor is refused"
    LOST_WALK = "a connection is lost during a walk"
    LOST_OPENING = "a connection is lost before the acknowledgement"
    LOST_GET = "a connection is lost while a prompt is waited for"
    LOST_IN_LINE = "a connection ends inside a message"
    CAME_BACK = "a connection is made anew, and the list asked for"
    LATE_ANSWER = "an answer comes after the request was given up"
    CROSSED = "an answer and its cancellation cross"
    CANCELLED = "a request is given up before its answer"
    STALE_NAME = "a name that the client holds is unknown"
    GONE = "a client is told that a prompt is gone"
    TIMED_OUT = "a request takes too long"
    INPUT = "a server asks for input first"
    HIT = "a list is served from the cache"
    STALE = "a stale list is served"
    UNVERIFIED = "a list may be torn, and says so"
    WHOLE = "a list of several pages is whole"
    RESTARTED = "a server starts anew under its clients"
    TWO_LISTEN = "two clients listen to one server"
    FELL_BACK = "a client falls back to the older era"
    RUBBISH = "something that is no message arrives"
    CLOCK_SET = "the clock of a node is set while it holds a list"
    FROZEN = "a node is suspended while it waits"


class Witness:
    """Counts the situations of one run; it is shown each event after the ledger has taken it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.seen: Counter[str] = Counter()
        self._announced: dict[str, int] = {}
        self._heard: dict[str, int] = {}
        self._ops: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._at = {
            kinds.TAKEN: self._taken,
            kinds.SENT: self._sent_out,
            kinds.ENDED: self._ended,
            kinds.COMMAND: self._command,
            kinds.OBSERVED: self._observed,
            kinds.FAULT: self._fault,
            kinds.NODE: self._node,
        }

    def __call__(self, event: TraceEvent) -> None:
        """Look at one event."""
        look = self._at.get(event.kind)
        if look is not None:
            for situation in look(event):
                self.seen[situation] += 1

    # --- messages ---

    def _taken(self, event: TraceEvent) -> Iterator[Situation]:
        message, client, server = self._ledger.message, self._ledger.client, self._ledger.server
        if message is None:
            yield Situation.RUBBISH
        elif client is not None:
            if message.get("method") == LIST_CHANGED:
                yield from self._change_heard(client, event)
            elif "method" not in message:
                yield from self._answered(client, message)
        elif server is not None and message.get("method") == CANCELLED:
            wire_id = member(message.get("params"), "requestId")
            owed = server.owed.get((event.link, (type(wire_id).__name__, wire_id)))
            if owed is not None:
                yield Situation.CROSSED if owed.answers else Situation.CANCELLED

    def _change_heard(self, client: ClientParty, event: TraceEvent) -> Iterator[Situation]:
        walk = client.walks.last
        if walk is not None and walk.running:
            yield Situation.CHANGED_BETWEEN_PAGES if walk.pages else Situation.CHANGED_IN_WALK
            if self._heard.get(client.name, -1) > walk.requests[0].index:
                yield Situation.CHANGED_TWICE
        self._heard[client.name] = event.index
        listen = client.listen
        if client.session:
            yield Situation.CHANGED_IN_SESSION
        elif listen is not None and listen.over is not None:
            yield Situation.CHANGED_LATE
        elif listen is not None and not listen.acknowledged:
            yield Situation.CHANGED_EARLY

    def _answered(self, client: ClientParty, message: dict[str, Any]) -> Iterator[Situation]:
        asked = self._ledger.request
        if asked is None:
            return
        if self._ledger.was == "cancelled":
            yield Situation.LATE_ANSWER
        if member(message.get("result"), "resultType") == "input_required":
            yield Situation.INPUT
        if "error" in message:
            yield from self._refused(client, asked, member(message["error"], "code"))

    def _refused(self, client: ClientParty, asked: Asked, code: Any) -> Iterator[Situation]:
        if asked.method == "prompts/list" and "cursor" in asked.params:
            yield Situation.CURSOR_REFUSED
        if asked.method == "prompts/get" and code == -32602 and client.walks.last is not None:
            yield Situation.STALE_NAME

    def _sent_out(self, event: TraceEvent) -> Iterator[Situation]:
        message, client, server = self._ledger.message, self._ledger.client, self._ledger.server
        method = None if message is None else message.get("method")
        if client is not None:
            self._sent[client.name] = event.index
            if method == "initialize" and any(a.method == "server/discover" for a in client.asked.values()):
                yield Situation.FELL_BACK
            elif method == "prompts/list":
                yield from self._asks(client)
        elif server is not None and method == LIST_CHANGED:
            self._announced[server.name] = event.index
        elif server is not None and method == ACKNOWLEDGED and len(server.listeners.open) > 1:
            yield Situation.TWO_LISTEN

    def _asks(self, client: ClientParty) -> Iterator[Situation]:
        asked = self._ledger.request
        if asked is None or "cursor" in asked.params:
            return
        walks = client.walks.recent
        if len(walks) > 1 and not walks[-2].complete:
            yield Situation.WALK_ANEW
        if len(walks) > 1 and walks[-2].requests[-1].link != asked.link:
            yield Situation.CAME_BACK

    # --- endings ---

    def _ended(self, event: TraceEvent) -> Iterator[Situation]:
        client = self._ledger.client
        if client is None or event.data == "refused":
            return
        lost = [asked for asked in client.asked.values() if asked.over == "lost" and asked.link == event.link]
        methods = {asked.method for asked in lost}
        if "prompts/list" in methods:
            yield Situation.LOST_WALK
        if "prompts/get" in methods:
            yield Situation.LOST_GET
        if any(a.method == "subscriptions/listen" and not a.acknowledged for a in lost):
            yield Situation.LOST_OPENING

    def _node(self, event: TraceEvent) -> Iterator[Situation]:
        server = self._ledger.server
        if server is not None and any(client.asked for client in self._ledger.clients.values()):
            yield Situation.RESTARTED

    # --- applications ---

    def _command(self, event: TraceEvent) -> Iterator[Situation]:
        if self._ledger.client is not None:
            self._ops[event.node] = event.index
        elif self._ledger.server is not None and event.data[0] == "edit":
            yield from self._edited(self._ledger.server)

    def _edited(self, server: ServerParty) -> Iterator[Situation]:
        for client in self._ledger.clients.values():
            if client.listen is not None and client.listen.over is None and not client.listen.acknowledged:
                yield Situation.CHANGED_WHILE_OPENING
        if len(server.versions) > 2 and self._announced.get(server.name, -1) < server.versions[-2].index:
            yield Situation.CHANGED_UNANNOUNCED
        if any(owed.method == "prompts/get" and owed.open for owed in server.waiting):
            yield Situation.CHANGED_UNDER_GET

    def _observed(self, event: TraceEvent) -> Iterator[Situation]:
        kind, fields = event.data
        if kind == "listed":
            if not fields["fresh"]:
                yield Situation.STALE
            elif self._sent.get(event.node, -1) < self._ops.get(event.node, -1):
                yield Situation.HIT
        elif kind == "updated":
            client = self._ledger.client
            walk = None if client is None else client.walks.last
            if not fields["verified"]:
                yield Situation.UNVERIFIED
            elif walk is not None and len(walk.pages) > 1:
                yield Situation.WHOLE
        elif kind == "gone":
            yield Situation.GONE
        elif kind == "failed" and fields["reason"] == "TimedOut":
            yield Situation.TIMED_OUT

    def _fault(self, event: TraceEvent) -> Iterator[Situation]:
        kind = event.data[0]
        if kind.startswith("cut"):
            yield Situation.LOST_IN_LINE
        client = self._ledger.client
        if client is None:
            return
        if kind in ("jump", "back", "slow", "fast") and client.walks.last is not None:
            yield Situation.CLOCK_SET
        elif kind == "freeze" and any(asked.over is None for asked in client.asked.values()):
            yield Situation.FROZEN
