"""Properties of the list that a client holds: which one it may be, and that it is one at all."""

from __future__ import annotations

from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._parties import Asked, ClientParty, Items, ServerParty, items_of


class Convergence(Checker):
    """When all is quiet, the client holds what the server has, and knows that it is current: one that fetches
    what is announced by itself, any other once it is asked.
    """

    id = "C3"
    title = "convergence"
    anchor = "server/prompts#list-changed-notification"
    level = Level.LIBRARY

    def at_rest(self) -> str | None:
        if not self.ledger.honest:
            return None
        for client in self.ledger.clients.values():
            problem = self._differs(client, client.rest or {})
            if problem is not None:
                return problem
        return None

    def _differs(self, client: ClientParty, rest: dict[str, Any]) -> str | None:
        asked = "asked" in self.ledger.phases
        held = items_of(rest.get("items"))
        due = asked or (rest.get("eager", False) and held is not None)
        if not (due and client.covered and rest.get("connected")) or rest.get("closed"):
            return None
        server = self.ledger.server_of(client.link)
        has = None if server is None else items_of((server.rest or {}).get("items"))
        if server is None or has is None or self._unanswered(client, server):
            return None
        if held != has:
            return f"{client.name} holds {held}, {server.name} has {has}"
        if rest.get("current", True) or not asked or client.since > self.ledger.phases["asked"]:
            return None
        return f"{client.name} does not know that its list is current"

    def _unanswered(self, client: ClientParty, server: ServerParty) -> bool:
        """Whether a list was asked for in vain: a server whose clock was set may take its time."""
        walk = client.walks.last
        return server.name in self.ledger.clocks and walk is not None and not walk.complete


class NoLateOverwrite(Checker):
    """A list is replaced only by one that was asked for later, whatever the order in which they arrive."""

    id = "C4"
    title = "no late overwrite"
    anchor = "server/utilities/caching#interaction-with-pagination"
    level = Level.LIBRARY
    kinds = (kinds.OBSERVED,)
    reports = ("updated",)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._applied: dict[str, Asked] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        client, fields = self.client, event.data[1]
        asked = client.first(fields)
        if asked is None:
            return None
        before = self._applied.get(event.node, asked)
        self._applied[event.node] = asked
        if asked.index < before.index:
            return f"the list of request {asked.id} replaces that of the later request {before.id}"
        return None


class MonotonicVersions(Checker):
    """A client never goes back to a state of the list that is older than the one it held."""

    id = "C6"
    title = "monotonic versions"
    anchor = "server/utilities/caching#interaction-with-pagination"
    level = Level.LIBRARY
    kinds = (kinds.OBSERVED,)
    reports = ("updated",)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._held: dict[tuple[str, str], int] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        client, fields = self.client, event.data[1]
        asked = client.first(fields)
        server = None if asked is None else self.ledger.server_of(asked.link)
        if asked is None or server is None or not _whole(fields, asked) or not self.ledger.honest:
            return None
        key = event.node, server.name
        items = items_of(fields["items"])
        found = [at for at, version in enumerate(server.versions) if version.items == items]
        held = self._held.get(key, 0)
        later = [at for at in found if at >= held]
        if found and not later:
            return f"state {found[-1]} of {server.name} comes after state {held}"
        self._held[key] = later[0] if later else held
        return None


def _whole(fields: dict[str, Any], asked: Asked) -> bool:
    """Whether a list is of one state of the server: of several pages, only if it is said to be."""
    return fields["verified"] or (asked.walk is not None and len(asked.walk.pages) == 1)


class WholeOrFlagged(Checker):
    """A list that is called verified is one that the server had while it was being read."""

    id = "C7"
    title = "whole or flagged"
    anchor = "server/utilities/caching#interaction-with-pagination"
    level = Level.LIBRARY
    kinds = (kinds.OBSERVED,)
    reports = ("updated", "listed", "gone")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._judged: dict[str, Asked] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        client, fields = self.client, event.data[1]
        asked = client.first(fields)
        if asked is None or not fields["verified"] or not self.ledger.honest:
            return None
        server = self.ledger.server_of(asked.link)
        if server is None or self._judged.get(event.node) is asked:
            return None
        self._judged[event.node] = asked
        items = items_of(fields["items"])
        if not server.known:
            return self._disturbed(client, asked)
        if items in _between(server, asked, event.index):
            return None
        return f"the verified list of request {asked.id} was never the server's: {items}"

    def _disturbed(self, client: ClientParty, asked: Asked) -> str | None:
        """Of a server whose states nobody knows: whether a change was announced between two pages."""
        walk = asked.walk
        if walk is None or not walk.pages or walk.one_digest:
            return None
        if asked.index < client.marks.get("list_changed", -1) < walk.pages[-1].index:
            return f"the list of request {asked.id} is verified, though a change was announced under it"
        return None


def _between(server: ServerParty, asked: Asked, now: int) -> list[Items]:
    """The states that a server had while a list was read."""
    pages = asked.walk.pages if asked.walk is not None else []
    return server.between(asked.index, pages[-1].index if pages else now)
