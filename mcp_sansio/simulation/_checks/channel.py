"""Properties of how a client listens: its subscriptions, and which announcements mean something to it."""

from __future__ import annotations

from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._trace import TraceEvent
from mcp_sansio._types import LIST_CHANGED
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger, tag_of
from mcp_sansio.simulation._parties import Asked, ClientParty, key_of


class TeardownOnce(Checker):
    """However the end of a subscription is told, and how often, it ends once; then it is opened anew once,
    and not at once.
    """

    id = "C17"
    title = "one end, one new beginning"
    anchor = "basic/patterns/subscriptions#cancellation"
    level = Level.LIBRARY
    kinds = (kinds.SENT, kinds.TAKEN, kinds.OBSERVED, kinds.NODE)
    reports = ("channel",)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._live: dict[tuple[str, Any], bool] = {}
        self._listens: dict[str, Asked] = {}
        self._ended: dict[str, tuple[str, float]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        node = event.node
        if event.kind == kinds.OBSERVED:
            return self._told(node, event.data[1])
        if event.kind == kinds.NODE:
            self._live = {key: live for key, live in self._live.items() if key[0] != node}
            return None
        request = self.ledger.request
        if request is None or request.method != "subscriptions/listen":
            return None
        if event.kind == kinds.TAKEN:
            if self.ledger.was is None:
                self._ended[node] = event.link, event.time
            return None
        return self._listening(event, request) if request.index == event.index else None

    def _told(self, node: str, fields: dict[str, Any]) -> str | None:
        key, live = (node, fields["topic"]), fields["live"]
        before = self._live.get(key, False)
        self._live[key] = live
        return None if live != before else f"the channel is reported {'live' if live else 'lost'} twice"

    def _listening(self, event: TraceEvent, listen: Asked) -> str | None:
        before, self._listens[event.node] = self._listens.get(event.node), listen
        if before is not None and before.over is None:
            return f"subscription {listen.id} is opened while {before.id} lives"
        if self._ended.get(event.node) == (event.link, event.time):
            return f"subscription {listen.id} is opened at the very moment at which the last one ended"
        return None


class CapabilityGate(Checker):
    """An announcement that was not negotiated, or belongs to another subscription, means nothing."""

    id = "C20"
    title = "capability gate"
    anchor = "basic/patterns/subscriptions#receiving-notifications"
    kinds = (kinds.TAKEN, kinds.OBSERVED)
    reports = ("invalidated",)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._unwelcome: dict[str, str | None] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        client, message = self.client, self.ledger.message
        if event.kind == kinds.TAKEN:
            unwelcome = None
            if message is not None and message.get("method") == LIST_CHANGED:
                unwelcome = _unwelcome(client, message)
            self._unwelcome[event.node] = unwelcome
            return None
        problem = self._unwelcome.get(event.node)
        if problem is None or event.data[1].get("reason") != "list_changed":
            return None
        return f"the list is taken for stale because of an announcement {problem}"


def _unwelcome(client: ClientParty, message: dict[str, Any]) -> str | None:
    """Why an announcement should mean nothing. Without a tag it may mean what it likes, in the modern era."""
    tag, listen = tag_of(message), client.listen
    if client.session or client.settings.get("unnegotiated") == "invalidate":
        return None
    if tag is not None:
        return None if listen is not None and key_of(tag) == key_of(listen.id) else f"of subscription {tag!r}"
    legacy = any(asked.method == "initialize" and asked.over == "result" for asked in client.asked.values())
    return "that was not negotiated" if legacy and listen is None and not client.declared else None


class AcknowledgedFirst(Checker):
    """An announcement before the acknowledgement is an error of the server, and still means that what is held
    is stale; a client of ours says so, too.
    """

    id = "C21"
    title = "announced before the acknowledgement"
    anchor = "basic/patterns/subscriptions#acknowledgment"
    level = Level.LIBRARY
    kinds = (kinds.TAKEN, kinds.OBSERVED)
    reports = ("odd", "listed")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._untold: dict[str, int] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        client, node = self.client, event.node
        if event.kind == kinds.OBSERVED:
            return self._told(event, client)
        untold = self._untold.pop(node, None)
        if client.settings and client.marks.get("early list_changed") == event.index:
            self._untold[node] = event.index
        return None if untold is None else self._problem(untold)

    def _told(self, event: TraceEvent, client: ClientParty) -> str | None:
        kind, fields = event.data
        if kind == "odd":
            self._untold.pop(event.node, None)
            return None
        asked = client.first(fields)
        if fields["fresh"] and asked is not None and asked.index < client.marks.get("early list_changed", -1):
            return f"the list of request {asked.id} is called fresh after an early announcement"
        return None

    def at_rest(self) -> str | None:
        for untold in self._untold.values():
            return self._problem(untold)
        return None

    @staticmethod
    def _problem(index: int) -> str:
        return f"nothing is said about the announcement of event {index}, before its acknowledgement"
