"""Liveness: that something good happens, in time, whatever went wrong; and that nothing happens for ever.

What is bounded here is bounded generously: by a client's longest timeout and backoff, not by its settings,
which a foreign one does not tell.
"""

from __future__ import annotations

import math
from collections import deque

import mcp_sansio._trace as kinds
from mcp_sansio._trace import TraceEvent
from mcp_sansio._types import LIST_CHANGED
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._parties import Asked, ClientParty

CONVERGED = 400.0
"""Seconds after the end of all trouble within which a client must be up to date: a request that is lost
without a trace may take its whole timeout."""

PROGRESS = 30.0
"""Seconds, besides the longest wait that a client promises, within which it has a list while changes go on.
"""

IDLE = 600.0
"""Seconds after which what began must have ended."""

ATTEMPTS = 16
"""So many attempts to listen that came to nothing are a storm, within `MINUTE` and on one connection."""

MINUTE = 60.0

BRISK = 4
"""So many are one already within a second, in which nobody backs off so often."""

HANDSHAKES = frozenset({"server/discover", "initialize"})


class EveryRequestEnds(Checker):
    """Every request ends: in a result, an error, a cancellation, or with its connection."""

    id = "L1"
    title = "every request ends"
    anchor = "basic/patterns/cancellation#timeouts"
    level = Level.SHOULD

    def at_rest(self) -> str | None:
        for client in self.ledger.clients.values():
            for asked in client.asked.values():
                if asked.over is None and not _may_last(client, asked):
                    return f"{client.name} still waits for {asked.id!r} ({asked.method}) of {asked.time:g} s"
        return None


def _may_last(client: ClientParty, asked: Asked) -> bool:
    """A subscription lasts. Of a probe and an `initialize` the one that comes too late is not cancelled: a
    server of the other era would not know what that means.
    """
    if asked.method not in HANDSHAKES:
        return asked is client.listen
    return (
        len({other.method for other in client.asked.values() if other.link == asked.link} & HANDSHAKES) == 2
    )


class ConvergesInTime(Checker):
    """When nothing goes wrong any more, it does not take long until the client has what there is."""

    id = "L2"
    title = "converges in time"
    anchor = "server/prompts#list-changed-notification"
    level = Level.LIBRARY
    kinds = (kinds.PHASE, kinds.COMMAND, kinds.OBSERVED)
    reports = ("updated",)

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._since = math.inf

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.PHASE:
            self._since = event.time if event.data == "calm" else math.inf
        elif event.kind == kinds.COMMAND:
            self._since = max(self._since, event.time)
        elif event.time > self._since + CONVERGED and self.ledger.honest:
            return f"{event.node} has got its list {event.time - self._since:g} s after the last trouble"
        return None


class ProgressUnderChange(Checker):
    """While changes go on and on, an eager client brings a list now and then, as long as no clock was set."""

    id = "L3"
    title = "progress under endless change"
    anchor = "server/prompts#list-changed-notification"
    level = Level.LIBRARY
    kinds = (kinds.TAKEN, kinds.OBSERVED, kinds.FAULT, kinds.ENDED, kinds.NODE)
    reports = ("updated",)

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._since: dict[str, float] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.FAULT:
            self._since.clear()
        elif event.kind != kinds.TAKEN:
            self._since.pop(event.node, None)
        elif self.says(LIST_CHANGED):
            return self._announced(event)
        return None

    def _announced(self, event: TraceEvent) -> str | None:
        client = self.ledger.client
        if client is None or not client.settings.get("eager") or not client.covered or self.ledger.clocks:
            return None
        since = self._since.setdefault(event.node, event.time)
        if event.time <= since + client.settings["max_wait"] + PROGRESS:
            return None
        return f"{event.node} is told of changes since {since:g} s, and has no list at {event.time:g} s"


class BoundedStaleness(Checker):
    """A connection that is dead without anybody knowing costs no more than the TTL: a list that came with
    hints is not called fresh for longer than the longest of them.
    """

    id = "L4"
    title = "bounded staleness"
    anchor = "server/utilities/caching#time-to-live-ttl-field"
    level = Level.SHOULD
    kinds = (kinds.OBSERVED,)
    reports = ("listed",)
    role = "client"

    def on_event(self, event: TraceEvent) -> str | None:
        fields = event.data[1]
        asked = self.client.first(fields) if fields["fresh"] else None
        walk = None if asked is None else asked.walk
        if walk is None or event.node in self.ledger.clocks:
            return None
        hints = [page.time + page.ttl for page in walk.pages if page.ttl is not None]
        if not hints or event.time <= max(hints):
            return None
        return f"{event.node} calls a list fresh {event.time - max(hints):g} s after its TTL is over"


class NoStorm(Checker):
    """A subscription that is never granted is not asked for again and again without a pause."""

    id = "L5"
    title = "no reconnect storm"
    anchor = "basic/patterns/subscriptions#cancellation"
    level = Level.LIBRARY
    kinds = (kinds.SENT, kinds.OPEN)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._tried: dict[str, deque[Asked]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.OPEN:
            self._tried.pop(event.node, None)
            return None
        request = self.ledger.request
        if request is None or request.method != "subscriptions/listen" or request.index != event.index:
            return None
        tried = self._tried.setdefault(event.node, deque(maxlen=ATTEMPTS))
        for attempts, seconds in ((BRISK, 1.0), (ATTEMPTS, MINUTE)):
            last = [*tried][-attempts:]
            often = len(last) == attempts and event.time < last[0].time + seconds
            if often and not any(asked.acknowledged for asked in last):
                return f"{event.node} has asked for announcements {attempts + 1} times within {seconds:g} s"
        tried.append(request)
        return None


class NoDeadlock(Checker):
    """What was written over a connection that still stands has been read: nobody waits for room to write."""

    id = "L6"
    title = "no deadlock"
    anchor = "basic/transports/stdio"
    level = Level.LIBRARY
    kinds = (kinds.SENT, kinds.TAKEN, kinds.ENDED, kinds.NODE)

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._unread: dict[str, dict[str, int]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind in (kinds.ENDED, kinds.NODE):
            self._over(event)
            return None
        unread = self._unread.get(event.link)
        if unread is None:
            unread = self._unread[event.link] = {}
        sent = event.kind == kinds.SENT
        key = self.ledger.role if sent else "server" if self.ledger.role == "client" else "client"
        unread[key] = unread.get(key, 0) + (1 if sent else -1)
        return None

    def _over(self, event: TraceEvent) -> None:
        """A connection has ended at one end, or all of a process that begins anew."""
        mine = [link for link in self._unread if event.node in self.ledger.ends.get(link, ())]
        for link in [event.link] if event.kind == kinds.ENDED else mine:
            self._unread.pop(link, None)

    def at_rest(self) -> str | None:
        for link, unread in self._unread.items():
            ends = self.ledger.ends.get(link, ())
            stands = all(self.ledger.clients.get(end) or self.ledger.servers.get(end) for end in ends)
            for sender, count in unread.items():
                if count > 0 and len(ends) == 2 and stands and self.ledger.honest:
                    return f"{count} messages of the {sender} on {link} have never been read"
        return None


class IdleIsSilent(Checker):
    """When nothing is done and nothing goes wrong, nothing is said, but for signs of life."""

    id = "L7"
    title = "an idle world is silent"
    anchor = "server/utilities/caching#freshness-calculation"
    level = Level.SHOULD
    kinds = (kinds.SENT, kinds.COMMAND, kinds.FAULT, kinds.PHASE, kinds.OPEN, kinds.ENDED, kinds.NODE)

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._since = 0.0

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind != kinds.SENT:
            self._since = event.time
        elif event.time > self._since + IDLE and self.ledger.phase != "scarred":
            message = self.ledger.message
            if message is not None and message.get("method") != "ping":
                said = message.get("method", "an answer")
                return (
                    f"{event.node} says {said} after {event.time - self._since:g} s in which nothing was done"
                )
        return None
