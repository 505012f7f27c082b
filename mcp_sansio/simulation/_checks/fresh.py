"""Properties of what a client calls fresh, and of when it hands out what is not."""

from __future__ import annotations

from typing import Any, ClassVar

import mcp_sansio._trace as kinds
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._ledger_http import is_modern
from mcp_sansio.simulation._walks import Page


class _FreshAfter(Checker):
    """No list that was asked for before something happened is called fresh afterwards."""

    kinds = (kinds.OBSERVED,)
    reports: ClassVar[tuple[str, ...]] = ("listed",)
    role = "client"
    trusting = True
    reasons: ClassVar[tuple[str, ...]] = ()

    def on_event(self, event: TraceEvent) -> str | None:
        client, fields = self.client, event.data[1]
        if not fields["fresh"]:
            return None
        asked = client.first(fields)
        for reason in self.reasons:
            if asked is not None and asked.index < client.marks.get(reason, -1):
                return f"the list of request {asked.id} is called fresh after: {reason}"
        return None


class ReadYourNotifications(_FreshAfter):
    """After a change was announced, no list that was asked for before is called fresh."""

    id = "C1"
    title = "read your notifications"
    anchor = "server/utilities/caching#interaction-with-notifications"
    reasons = ("list_changed",)


class CoverageStarts(_FreshAfter):
    """When announcements begin, changes before them may have been missed: what was asked for earlier is
    stale.
    """

    id = "C2"
    title = "coverage starts at the acknowledgement"
    anchor = "basic/patterns/subscriptions#acknowledgment"
    level = Level.LIBRARY
    reasons = ("acknowledged",)


class Reconnect(_FreshAfter):
    """After a lost connection or listen stream nothing that was held is served as fresh, whatever its TTL."""

    id = "C5"
    title = "a gap is an invalidation"
    anchor = "basic/patterns/subscriptions#graceful-closure"
    level = Level.LIBRARY
    reasons = ("the listen stream ended", "disconnected", "restarted")
    reports = ("updated", "listed")

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._updated: dict[tuple[str, Any], float] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        kind, fields = event.data
        client, key = self.ledger.client, (event.node, fields.get("asked"))
        if client is None:
            return None
        if kind == "updated":
            after = event.index > client.marks.get("disconnected", event.index)
            self._updated[key] = event.time if after else -1.0
            return None
        # A last line that ends with its connection is told of after the end, but was read before it.
        return None if self._updated.get(key) == event.time else super().on_event(event)


class FreshnessArithmetic(Checker):
    """A list is fresh while each of its pages is: `now < t_received + ttlMs`, by the clock of the client."""

    id = "C11"
    title = "freshness arithmetic"
    anchor = "server/utilities/caching#freshness-calculation"
    level = Level.SHOULD
    kinds = (kinds.OBSERVED,)
    reports = ("listed",)
    role = "client"

    def on_event(self, event: TraceEvent) -> str | None:
        client, fields = self.client, event.data[1]
        if not fields["fresh"]:
            return None
        asked = client.first(fields)
        if asked is None or asked.walk is None or self.ledger.clocks.get(event.node, -1) > asked.index:
            return None
        for page in asked.walk.pages:
            lifetime = _lifetime(page)
            if lifetime is not None and event.time >= page.time + lifetime:
                return f"a page of {page.time:g} s with a TTL of {lifetime:g} s is fresh at {event.time:g} s"
        return None


def _lifetime(page: Page) -> float | None:
    """How long a page is fresh; None if no hint says so and the revision leaves it to the client."""
    if page.ttl is None and is_modern(page.asked.params):
        return 0.0
    return page.ttl


class StaleOnlyOnError(Checker):
    """A stale list is served only where that was asked for, or where fetching a new one has failed."""

    id = "C13"
    title = "stale on error only"
    anchor = "server/utilities/caching#freshness-calculation"
    level = Level.SHOULD
    kinds = (kinds.OBSERVED, kinds.SENT, kinds.TAKEN, kinds.ENDED, kinds.NODE)
    reports = ("began", "listed")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._began: dict[tuple[str, Any], int] = {}
        self._failed: dict[str, int] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind != kinds.OBSERVED:
            self._fetching(event)
            return None
        kind, fields = event.data
        if kind == "began":
            if fields["what"] == "list" and not fields.get("stale_ok"):
                self._began[event.node, fields["op"]] = event.index
            return None
        began = self._began.pop((event.node, fields["op"]), None)
        return None if began is None or fields["fresh"] else self._stale(event.node, fields, began)

    def _fetching(self, event: TraceEvent) -> None:
        request = self.ledger.request
        failed = request is not None and request.walk is not None and request.over in ("error", "cancelled")
        if failed or event.kind in (kinds.ENDED, kinds.NODE):
            self._failed[event.node] = event.index

    def _stale(self, node: str, fields: dict[str, Any], began: int) -> str | None:
        asked = self.client.first(fields)
        walk = None if asked is None else asked.walk
        if walk is None or not walk.pages:
            return None
        if walk.pages[-1].index > began or self._failed.get(node, -1) > began:
            return None
        stale = walk.requests[0].id
        return f"the stale list of request {stale} is served, and nobody has tried to fetch a new one"
