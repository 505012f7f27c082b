"""Properties of a server's conversation: who is told what, when it begins, and how it ends."""

from __future__ import annotations

from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._plain import is_object, member
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._trace import TraceEvent
from mcp_sansio._types import LIST_CHANGED
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger, params_of, tag_of
from mcp_sansio.simulation._listeners import Listener
from mcp_sansio.simulation._parties import key_of


class AcknowledgedFirst(Checker):
    """What a server says on a subscription begins with its acknowledgement, which comes once and grants only
    what was asked for; after the end there is nothing.
    """

    id = "S1"
    title = "acknowledged first, once"
    anchor = "basic/patterns/subscriptions#acknowledgment"
    kinds = (kinds.SENT,)
    role = "server"

    def on_event(self, event: TraceEvent) -> str | None:
        server, message = self.server, self.ledger.message
        if message is None or "method" not in message:
            return None
        tag = tag_of(message)
        listener = None if tag is None else server.listeners.open.get((event.link, key_of(tag)))
        if listener is None:
            return None
        if listener.ended is not None:
            return f"{message['method']} on subscription {tag!r}, which has ended ({listener.how})"
        if message["method"] != ACKNOWLEDGED:
            early = f"{message['method']} on subscription {tag!r} before its acknowledgement"
            return early if listener.ready is None else None
        if listener.ready != event.index:
            return f"subscription {tag!r} is acknowledged twice"
        owed = server.owed.get((event.link, key_of(tag)))
        return None if owed is None else _more(owed.params, params_of(message))


def _more(asked: dict[str, Any], granted: dict[str, Any]) -> str | None:
    """What is acknowledged but was not asked for."""
    wanted, given = asked.get("notifications"), granted.get("notifications")
    for name in given if is_object(given) else ():
        if member(given, name) is True and member(wanted, name) is not True:
            return f"{name} is acknowledged, but was not asked for"
    return None


class OnlyWhoAsked(Checker):
    """Changes are announced only to those who asked for it, where that was declared."""

    id = "S5"
    title = "only who asked"
    anchor = "basic/patterns/subscriptions#opening-a-stream"
    kinds = (kinds.SENT,)
    role = "server"

    def on_event(self, event: TraceEvent) -> str | None:
        server, message = self.server, self.ledger.message
        if message is None or not self.says(LIST_CHANGED):
            return None
        tag = tag_of(message)
        listener = server.listeners.open.get((event.link, key_of(tag)))
        if listener is None:
            whom = "a peer without a session" if tag is None else f"subscription {tag!r}, which nobody opened"
            return f"list_changed for {whom}"
        if not listener.wanted:
            return f"list_changed on subscription {tag!r}, which did not ask for it"
        undeclared = "the server never said that it would announce changes"
        return None if listener.granted or listener.ready is None else f"list_changed, but {undeclared}"


class AnswerOnce(Checker):
    """Each request gets one response."""

    id = "S8"
    title = "answer once"
    anchor = "basic#responses"
    kinds = (kinds.SENT,)
    role = "server"

    def on_event(self, event: TraceEvent) -> str | None:
        owed, message = self.ledger.owed, self.ledger.message
        if message is None or "method" in message or message.get("id") is None:
            return None
        if owed is None:
            return f"an answer to {message['id']!r}, which was never asked"
        if len(owed.answers) > owed.times:
            return f"a second answer to {owed.id!r} ({owed.method})"
        return None

    def at_rest(self) -> str | None:
        for server in self.ledger.servers.values():
            for owed in server.waiting:
                if owed.open and owed.method != "subscriptions/listen":
                    return f"{server.name} has not answered {owed.id!r} ({owed.method})"
        return None


class SilentAfterCancel(Checker):
    """A request that was cancelled is not answered; what ends a subscription from both sides may cross."""

    id = "S8a"
    title = "no answer after a cancellation"
    anchor = "basic/transports/stdio#cancellation"
    kinds = (kinds.SENT,)
    role = "server"

    def on_event(self, event: TraceEvent) -> str | None:
        owed, message = self.ledger.owed, self.ledger.message
        if owed is None or message is None or "method" in message or not owed.cancelled:
            return None
        return f"an answer to {owed.id!r} ({owed.method}), which was cancelled"


class GracefulEnd(Checker):
    """A server that shuts down answers every subscription, announces nothing more, and then closes."""

    id = "S12"
    title = "graceful end"
    anchor = "basic/patterns/subscriptions#graceful-closure"
    level = Level.SHOULD
    kinds = (kinds.COMMAND, kinds.SENT, kinds.ENDED, kinds.NODE)
    role = "server"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._closing: dict[str, list[Listener]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.COMMAND:
            self._command(event)
        elif event.node not in self._closing:
            return None
        elif event.kind == kinds.NODE:
            del self._closing[event.node]
        elif event.kind == kinds.ENDED:
            return self._ended(event)
        elif self.says(LIST_CHANGED):
            return "list_changed from a server that was told to shut down"
        return None

    def _command(self, event: TraceEvent) -> None:
        if event.data[0] == "close":
            every = self.server.listeners.open.values()
            listening = [one for one in every if one.id is not None and one.ready is not None]
            self._closing[event.node] = [one for one in listening if one.ended is None]

    def _ended(self, event: TraceEvent) -> str | None:
        for listener in self._closing[event.node]:
            if listener.link == event.link and listener.how == "closed" and event.data == "hangup":
                return f"the connection is closed, but subscription {listener.id!r} was not answered"
        return None
