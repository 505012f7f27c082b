"""Properties that keep apart what belongs to different servers and to different callers."""

from __future__ import annotations

from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._plain import is_object
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._parties import Asked, ClientParty, ServerParty

HANDED_OUT = ("updated", "listed", "gone", "failed")
"""The reports that come with a list."""


class ServersApart(Checker):
    """What a client says of a server comes from that server."""

    id = "C14"
    title = "servers are apart"
    anchor = "server/utilities/caching#cache-key"
    level = Level.LIBRARY
    trusting = True
    kinds = (kinds.TAKEN, kinds.OBSERVED)
    reports = ("updated", "listed", "gone", "rendered")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._judged: dict[str, Any] = {}
        self._texts: dict[str, set[Any]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        client = self.client
        if event.kind == kinds.TAKEN:
            request = self.ledger.request
            if request is not None and request.method == "prompts/get":
                self._texts.setdefault(event.node, set()).update(_texts(self.ledger.message))
            return None
        kind, fields = event.data
        if kind == "rendered":
            return self._rendered(event.node, fields)
        server = self.ledger.server_of(client.link)
        if server is None or not server.ever or not self.ledger.honest:
            return None
        return self._listed(event.node, server, fields)

    def _rendered(self, node: str, fields: dict[str, Any]) -> str | None:
        for text in fields.get("texts", ()):
            if text is not None and text not in self._texts.get(node, ()):
                return f"{node} was never sent {text!r}"
        return None

    def _listed(self, node: str, server: ServerParty, fields: dict[str, Any]) -> str | None:
        items = fields["items"]
        if self._judged.get(node) == (server.name, items):
            return None
        for name, tag in items:
            if (name, tag) not in server.ever:
                return f"{server.name} never had {name!r} as {tag!r}"
        self._judged[node] = server.name, items
        return None


def _texts(message: dict[str, Any] | None) -> list[Any]:
    """The texts of a rendered prompt."""
    result = (message or {}).get("result")
    messages = result.get("messages") if is_object(result) else None
    contents = [part.get("content") for part in messages or () if is_object(part)]
    return [content.get("text") for content in contents if is_object(content)]


class PrincipalsApart(Checker):
    """What is private to one principal is not served to another; a list has pages of one principal only."""

    id = "C15"
    title = "principals are apart"
    anchor = "server/utilities/caching#cache-scope-field"
    trusting = True
    kinds = (kinds.OBSERVED,)
    reports = HANDED_OUT
    role = "client"

    def on_event(self, event: TraceEvent) -> str | None:
        kind, fields = event.data
        asked = self.client.first(fields)
        if asked is None or asked.walk is None:
            return None
        pages = asked.walk.pages
        private = any(page.private for page in pages)
        if kind == "updated" and private and fields.get("private") is False:
            return f"the list of request {asked.id} is called public, and a page of it is private"
        return self._mixed(self.client, asked) if private else None

    def _mixed(self, client: ClientParty, asked: Asked) -> str | None:
        for page in asked.walk.pages if asked.walk is not None else ():
            if page.asked.principal != client.principal:
                return f"the private list of {page.asked.principal} is served to {client.principal}"
        return None
