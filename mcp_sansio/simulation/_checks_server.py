"""Properties of what a server says."""

from __future__ import annotations

from . import _trace as kinds
from ._checking import Checker
from ._ledger import ACKNOWLEDGED, Ledger, key_of, tag_of
from ._trace import TraceEvent


class AcknowledgedFirst(Checker):
    """What a server says on a subscription begins with its acknowledgement, which comes once."""

    id = "S1"
    title = "acknowledged first, once"
    anchor = "basic/utilities/subscriptions#acknowledgement"
    kinds = (kinds.SENT,)

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._acknowledged: set[tuple[str, object]] = set()

    def on_event(self, event: TraceEvent) -> str | None:
        server, message = self.ledger.servers.get(event.node), self.ledger.message
        if server is None or message is None or "method" not in message:
            return None
        tag = tag_of(message)
        if tag is None:
            return None
        listen = (event.link, tag)
        if message["method"] == ACKNOWLEDGED:
            if listen in self._acknowledged:
                return f"subscription {listen[1]} is acknowledged twice"
            self._acknowledged.add(listen)
        elif listen not in self._acknowledged:
            return f"{message['method']} on subscription {listen[1]} before its acknowledgement"
        return None


class AnswerOnce(Checker):
    """Each request gets one response, or none if it was cancelled."""

    id = "S8"
    title = "answer once"
    anchor = "basic#responses"
    kinds = (kinds.SENT,)

    def on_event(self, event: TraceEvent) -> str | None:
        server, message = self.ledger.servers.get(event.node), self.ledger.message
        if server is None or message is None or "method" in message or message.get("id") is None:
            return None
        wire_id = message["id"]
        owed = server.owed.get((event.link, key_of(wire_id)))
        if owed is None:
            return f"an answer to {wire_id!r}, which was never asked"
        if len(owed.answers) > 1:
            return f"a second answer to {wire_id!r} ({owed.method})"
        return f"an answer to {wire_id!r}, which was cancelled" if owed.cancelled else None
