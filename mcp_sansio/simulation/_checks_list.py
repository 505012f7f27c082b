"""Properties of the list that a client holds."""

from __future__ import annotations

from typing import Any

from . import _trace as kinds
from ._checking import Checker, Level
from ._ledger import items_of
from ._trace import TraceEvent


class ReadYourNotifications(Checker):
    """After a change was announced, no list that was asked for before is called fresh."""

    id = "C1"
    title = "read your notifications"
    anchor = "server/utilities/caching#interaction-with-notifications"
    kinds = (kinds.OBSERVED,)

    def on_event(self, event: TraceEvent) -> str | None:
        kind, fields = event.data
        client = self.ledger.clients.get(event.node)
        if client is None or kind != "listed" or not fields["fresh"]:
            return None
        asked = client.asked.get(("int", fields["asked"]))
        if asked is None:
            return f"a fresh list of a request {fields['asked']} that never left"
        if asked.epoch < client.epoch:
            return f"a list asked for at event {asked.index} is called fresh after {client.reason}"
        return None


class Convergence(Checker):
    """When all is quiet, the client holds what the server has, and knows that it is current."""

    id = "C3"
    title = "convergence"
    anchor = "server/prompts#list-changed-notification"
    level = Level.LIBRARY

    def at_rest(self) -> str | None:
        if not self.ledger.honest:
            return None
        for client in self.ledger.clients.values():
            if not client.covered:
                continue
            problem = self._differs(client.rest or {}, client.name)
            if problem is not None:
                return problem
        return None

    def _differs(self, rest: dict[str, Any], name: str) -> str | None:
        if not rest.get("connected") or rest.get("closed"):
            return None
        server = next(iter(self.ledger.servers.values()))
        held, has = items_of(rest.get("items")), items_of((server.rest or {}).get("items"))
        if held != has:
            return f"{name} holds {held}, {server.name} has {has}"
        return None


class WholeOrFlagged(Checker):
    """A list that is called verified is one that the server had while it was being read."""

    id = "C7"
    title = "whole or flagged"
    anchor = "server/utilities/pagination"
    level = Level.LIBRARY
    kinds = (kinds.OBSERVED,)

    def on_event(self, event: TraceEvent) -> str | None:
        kind, fields = event.data
        client = self.ledger.clients.get(event.node)
        if client is None or kind != "updated" or not fields["verified"] or not self.ledger.honest:
            return None
        asked = client.asked.get(("int", fields["asked"]))
        server = None if asked is None else self.ledger.server_of(asked.link)
        if asked is None or server is None:
            return None
        items = items_of(fields["items"])
        if items in server.between(asked.index, event.index):
            return None
        return f"the verified list of request {asked.id} was never the server's: {items}"
