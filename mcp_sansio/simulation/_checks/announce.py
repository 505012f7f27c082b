"""Properties of announcements: that they come, how soon, how often, and no oftener than something changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._plain import is_array, is_object, member
from mcp_sansio._trace import TraceEvent
from mcp_sansio._types import LIST_CHANGED
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import CLOCKS, Ledger
from mcp_sansio.simulation._listeners import Listener
from mcp_sansio.simulation._parties import Items, Owed, ServerParty

SLACK = 0.001
"""Seconds within which things happen at once."""

CROWDED = 32768
"""With so many bytes under way a server may have to wait until it can write."""


class Announced(Checker):
    """Whoever listens is told after the last change, when it can be seen: who asks then, sees it."""

    id = "S2"
    title = "announced, once visible"
    anchor = "server/prompts#list-changed-notification"
    level = Level.SHOULD
    kinds = (kinds.SENT,)
    role = "server"

    def on_event(self, event: TraceEvent) -> str | None:
        server, owed, message = self.server, self.ledger.owed, self.ledger.message
        if owed is None or message is None or owed.method != "prompts/list":
            return None
        items = _whole(owed, message.get("result"))
        told = [listener.told for key, listener in server.listeners.open.items() if key[0] == event.link]
        before = max((t for times in told for t in times if t < owed.index), default=None)
        if items is None or before is None or not server.known:
            return None
        if items in server.between(before, event.index):
            return None
        return f"announced at event {before}, and yet the list of request {owed.id!r} is an older one"

    def at_rest(self) -> str | None:
        for server, listener in live(self.ledger):
            last = server.versions[-1].index
            if listener.ready is not None and listener.ready < last and max(listener.told, default=-1) < last:
                return f"{server.name} has not announced its last change (event {last}) on {listener.link}"
        return None


def _whole(owed: Owed, result: Any) -> Items | None:
    """A list that has but one page, which does not depend on who asks."""
    prompts = member(result, "prompts")
    private = member(result, "cacheScope") == "private"
    if owed.params.get("cursor") is not None or member(result, "nextCursor") is not None or private:
        return None
    if not is_array(prompts):
        return None
    every = [(member(p, "name"), member(p, "description") or "") for p in prompts if is_object(p)]
    return tuple(sorted(every))


def live(ledger: Ledger) -> Iterator[tuple[ServerParty, Listener]]:
    """All who listen, and to whom."""
    for server in ledger.servers.values():
        for listener in server.listeners.open.values():
            if listener.live:
                yield server, listener


class Timed(Checker):
    """What is judged by the times that a server promises: not once its clock cannot be relied on, nor while
    it may have to wait until it can write.
    """

    level = Level.LIBRARY

    def judged(self, server: ServerParty, listener: Listener) -> bool:
        """Whether what a listener is told comes at the time that the server means."""
        ledger = self.ledger
        return server.name not in ledger.clocks and ledger.unsent.get(listener.link, 0) < CROWDED


class BoundedDelay(Timed):
    """Every change is announced within the time that the server promises, however many follow."""

    id = "S3"
    title = "announced in time"
    anchor = "server/prompts#list-changed-notification"
    kinds = (kinds.SENT, kinds.COMMAND, kinds.PHASE, kinds.FAULT)

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._since: dict[Listener, tuple[ServerParty, float]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        server = self.ledger.server
        if event.kind == kinds.COMMAND and server is not None:
            late = self._late(event.time)
            if server.versions[-1].index == event.index:
                self._changed(server, event)
            return late
        if event.kind == kinds.SENT and self.says(LIST_CHANGED):
            late = self._late(event.time)
            self._told()
            return late
        if event.kind == kinds.PHASE:
            return self._late(event.time)
        if event.kind == kinds.FAULT and event.data[0] in ("freeze", "crash", *CLOCKS):
            self._since = {who: since for who, since in self._since.items() if since[0].name != event.node}
        return None

    def _changed(self, server: ServerParty, event: TraceEvent) -> None:
        if "max_wait" in server.settings:
            for listener in server.listeners.open.values():
                if listener.live and self.judged(server, listener):
                    self._since.setdefault(listener, (server, event.time))

    def due(self, listener: Listener) -> float:
        """When the change that a listener waits for has to be announced."""
        server, since = self._since[listener]
        return since + float(server.settings["max_wait"])

    def _told(self) -> None:
        for listener, (server, _) in [*self._since.items()]:
            if self._just(listener, server):
                del self._since[listener]

    def _late(self, now: float) -> str | None:
        for listener, (server, since) in [*self._since.items()]:
            if listener.ended is not None or not self.judged(server, listener):
                del self._since[listener]
            elif now > self.due(listener) + SLACK:
                return f"a change of {since:.3f} s has not been announced on {listener.link} at {now:.3f} s"
        return None

    @staticmethod
    def _just(listener: Listener, server: ServerParty) -> bool:
        """Whether the last change has been announced to it."""
        return listener.told[-1:] > [server.versions[-1].index]


class AtOnce(BoundedDelay):
    """A change after quiet is announced at once, others once nothing has changed for the quiet time."""

    id = "S3a"
    title = "announced at once"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._active: dict[str, float] = {}
        self._due: dict[Listener, float] = {}

    def _changed(self, server: ServerParty, event: TraceEvent) -> None:
        super()._changed(server, event)
        quiet = float(server.settings.get("quiet", math.inf))
        before, self._active[server.name] = self._active.get(server.name, -math.inf), event.time
        # A change that nobody was told of may have been acted on as late as one quiet time after it.
        leads = event.time > before + 2 * quiet + SLACK
        for listener, (of, since) in self._since.items():
            if of is server:
                later = event.time + quiet
                self._due[listener] = event.time if leads and since == event.time else later

    def due(self, listener: Listener) -> float:
        return min(super().due(listener), self._due[listener])


class BoundedRate(Timed):
    """Between two announcements lies the quiet time that the server promises, unless a list was asked for:
    a list that shows a change may be announced first.
    """

    id = "S4"
    title = "announced no oftener than promised"
    anchor = "server/prompts#list-changed-notification"
    kinds = (kinds.SENT, kinds.TAKEN)
    role = "server"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._times: dict[Listener, tuple[float, float]] = {}
        self._listed: dict[str, float] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        server = self.server
        if event.kind == kinds.TAKEN and self.says("prompts/list"):
            self._listed[self.ledger.http.talk(event.link)] = event.time
        elif event.kind == kinds.SENT and self.says(LIST_CHANGED):
            for listener in server.listeners.open.values():
                if listener.told and listener.told[-1] == event.index:
                    return self._told(server, listener, event.time)
        return None

    def _told(self, server: ServerParty, listener: Listener, now: float) -> str | None:
        before, last = self._times.get(listener, (-math.inf, -math.inf))
        self._times[listener] = last, now
        quiet = min(server.settings.get("quiet", 0.0), server.settings.get("max_wait", 0.0))
        # A session may have been told at its handshake what it had missed.
        first = before == -math.inf and listener.id is None
        listed = self._listed.get(self.ledger.http.talk(listener.link))
        asked = listed is not None and listed >= before
        if now - last >= quiet - SLACK or first or asked or not self.judged(server, listener):
            return None
        return f"two announcements on {listener.link} within {now - last:.3f} s, promised are {quiet:g} s"


class OneBit(Checker):
    """A listener that is behind is told once, not once for every change."""

    id = "S11"
    title = "nothing is announced twice"
    anchor = "server/prompts#list-changed-notification"
    level = Level.LIBRARY
    kinds = (kinds.SENT,)
    role = "server"

    def on_event(self, event: TraceEvent) -> str | None:
        server = self.server
        if not server.known or not self.says(LIST_CHANGED):
            return None
        last = server.versions[-1].index
        for listener in server.listeners.open.values():
            told = listener.told
            if listener.id is None and last < listener.index:
                continue  # it was told what it had missed, and then what was about to be said anyway
            if len(told) > 1 and told[-1] == event.index and told[-2] > last:
                return f"announced at events {told[-2]} and {told[-1]}, with no change in between"
        return None
