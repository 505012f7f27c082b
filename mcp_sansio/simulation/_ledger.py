"""What a trace says so far, folded into what checkers ask about.

The ledger believes nothing that a library says of itself but what it reports to its application; epochs,
subscriptions and requests it works out from the messages that passed, by the rules of the specification. It
is fed one event after the other, from a live world or from a file, and is the only thing that decodes.
"""

from __future__ import annotations

from typing import Any

import msgspec

import mcp_sansio._trace as kinds
from mcp_sansio._meta import SUBSCRIPTION_ID
from mcp_sansio._plain import is_object, member
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._trace import TraceEvent, bytes_of
from mcp_sansio._types import LIST_CHANGED, TOPIC

from ._ledger_http import Exchanges
from ._listeners import CANCELLED, INITIALIZED
from ._parties import Asked, ClientParty, Owed, ServerParty, Version, key_of
from ._walks import answered

JUMPS = ("jump",)
CLOCKS = (*JUMPS, "back", "slow", "fast")
NEVER_AGAIN = 1 << 62
"""After which index the clock of a node can be relied on whose rate was changed."""

MOST_UNDER_WAY = 64
"""So many messages are remembered between their sending and their arrival."""

NOBODY = None, None, ""
"""Where nobody is whom properties are about."""


class Ledger:
    """All parties of a trace. `message` is the decoded message of the event just taken, if it was one, and
    `request` the one of a client that it is, answers or cancels (`was` says how that had ended before);
    `role`, `client` and `server` say at whom the event was. `faults` are the kinds that have struck, `clocks`
    the indexes at which nodes' clocks were set, `phases` those at which phases were entered, `where` the node
    of each event; `honest` is false once a peer was made to say what it should not.
    """

    def __init__(self) -> None:
        self.clients: dict[str, ClientParty] = {}
        self.servers: dict[str, ServerParty] = {}
        self.message: dict[str, Any] | None = None
        self.request: Asked | None = None
        self.was: str | None = None
        self.owed: Owed | None = None
        self.role: str = ""
        self.client: ClientParty | None = None
        self.server: ServerParty | None = None
        self.ends: dict[str, list[str]] = {}
        self._parties: dict[str, tuple[ClientParty | None, ServerParty | None, str]] = {}
        self.http: Exchanges = Exchanges()
        self.faults: dict[str, int] = {}
        self.honest: bool = True
        self.clocks: dict[str, int] = {}
        self.unsent: dict[str, int] = {}
        """How many bytes are under way from the server, by connection."""
        self.phase: str = "chaos"
        self.phases: dict[str, int] = {}
        self.where: list[str] = []
        self._decode = msgspec.json.Decoder().decode
        self._under_way: dict[str, Any] = {}
        self._object: Any = None
        self._take = {
            kinds.NODE: self._node,
            kinds.OPEN: self._open,
            kinds.SENT: self._sent,
            kinds.TAKEN: self._taken,
            kinds.HEAD_SENT: self._head_sent,
            kinds.HEAD_TAKEN: self._head_taken,
            kinds.ENDED: self._ended,
            kinds.COMMAND: self._command,
            kinds.OBSERVED: self._observed,
            kinds.FAULT: self._fault,
            kinds.PHASE: self._enter,
        }

    def take(self, event: TraceEvent) -> None:
        """Take the next event in."""
        self.message = self.request = self.owed = None
        self.where.append(event.node)
        self.client, self.server, self.role = self._parties.get(event.node, NOBODY)
        fold = self._take.get(event.kind)
        if fold is not None:
            fold(event)

    # --- parties ---

    def _node(self, event: TraceEvent) -> None:
        if self.client is not None:
            self.client.restart(event)
        elif self.server is not None:
            self.server.restart(event.index)
        elif event.data == "client":
            self.client = self.clients[event.node] = ClientParty(event.node)
            self._parties[event.node] = self.client, None, "client"
        elif event.data == "server":
            self.server = self.servers[event.node] = ServerParty(event.node)
            self._parties[event.node] = None, self.server, "server"
        self.role = self._parties.get(event.node, NOBODY)[2]

    def _open(self, event: TraceEvent) -> None:
        self.ends.setdefault(event.link, []).append(event.node)
        self.http.opened(event)
        if self.client is not None:
            self.client.link = event.link

    def server_of(self, link: str) -> ServerParty | None:
        """The server at an end of a connection."""
        ends = self.ends.get(self.http.conn_of(link), ())
        return next((self.servers[name] for name in ends if name in self.servers), None)

    def _fault(self, event: TraceEvent) -> None:
        kind = event.data[0]
        self.faults[kind] = self.faults.get(kind, 0) + 1
        self.honest = self.honest and not kind.startswith("peer")
        if kind in CLOCKS:
            until = event.index if kind in JUMPS else NEVER_AGAIN
            self.clocks[event.node] = max(until, self.clocks.get(event.node, 0))

    def _enter(self, event: TraceEvent) -> None:
        self.phase = event.data
        self.phases[event.data] = event.index

    def _command(self, event: TraceEvent) -> None:
        verb, data = event.data
        server, client = self.server, self.client
        if client is not None and verb == "principal":
            client.principal = data.get("who")
            client.invalidate(event, "principal")
        elif server is not None and verb == "edit":
            for name in data.get("remove", ()):
                server.items.pop(name, None)
            server.items.update(data.get("put", ()))
            server.ever.update((name, tag) for name, tag in data.get("put", ()))
            items = tuple(sorted(server.items.items()))
            if items != server.latest:
                server.versions.append(Version(event.index, event.time, items))

    def _observed(self, event: TraceEvent) -> None:
        kind, fields = event.data
        if kind == "rest":
            party = self.client or self.server
            if party is not None:
                party.rest = fields
        elif kind == "settings":
            settled = self.client or self.server
            if settled is not None:
                settled.settings = fields
        elif kind == "caller" and self.server is not None:
            self.server.principals[event.link] = fields["principal"]

    # --- messages ---

    def _read(self, event: TraceEvent) -> dict[str, Any] | None:
        """The message, decoded once for its sending and its arrival."""
        text, under_way = event.data, self._under_way
        if event.kind == kinds.TAKEN and isinstance(text, str) and text in under_way:
            self._object = under_way.pop(text)
        else:
            try:
                self._object = self._decode(bytes_of(text))
            except (msgspec.DecodeError, ValueError):
                self._object = None
            if event.kind == kinds.SENT and isinstance(text, str):
                under_way[text] = self._object
                if len(under_way) > MOST_UNDER_WAY:
                    under_way.clear()
        message = self._object
        self.message = message if is_object(message) and message.get("jsonrpc") == "2.0" else None
        return self.message

    def _sent(self, event: TraceEvent) -> None:
        if self.server is not None:
            self.unsent[event.link] = self.unsent.get(event.link, 0) + len(event.data) + 1
        message = self._read(event)
        if message is None:
            return
        client, server = self.client, self.server
        if client is not None:
            self._client_sent(client, message, event)
        elif server is not None:
            self._server_sent(server, message, event)

    def _taken(self, event: TraceEvent) -> None:
        if self.client is not None:
            self.unsent[event.link] = max(0, self.unsent.get(event.link, 0) - len(event.data) - 1)
        message = self._read(event)
        client, server = self.client, self.server
        if message is None:
            if client is not None and is_object(self._object) and "method" not in self._object:
                wire_id = self._object.get("id")
                if not self.http.is_foreign(event.link, client.asked.get(key_of(wire_id))):
                    self._conclude(client, wire_id, "malformed", event)
        elif client is not None:
            self._client_took(client, message, event)
        elif server is not None:
            self._server_took(server, message, event)

    def _head_sent(self, event: TraceEvent) -> None:
        if self.client is not None:
            self.http.sent(event)
        elif self.server is not None:
            self.http.answered(self.server, event)

    def _head_taken(self, event: TraceEvent) -> None:
        if self.client is not None:
            self.http.taken(self.client, event)
        elif self.server is not None:
            self.http.served(self.server, event)

    def _client_sent(self, client: ClientParty, message: dict[str, Any], event: TraceEvent) -> None:
        method, params = message.get("method"), params_of(message)
        if method is None:
            return
        if "id" in message and not self._once_more(client, message, event):
            asked = Asked(message["id"], method, params, event.index, event.time, event.link, client.epoch)
            asked.principal = client.principal
            client.asked[key_of(message["id"])] = self.request = asked
            self.http.asks(event.link, asked)
            if method == "subscriptions/listen":
                client.listen = asked
            elif method == "initialize" and self.http.carries(event.link):
                self._anew(client, event)
            elif method == "prompts/list":
                asked.walk = client.walks.asked(asked)
        elif method == CANCELLED:
            self._conclude(client, params.get("requestId"), "cancelled", event)
        elif method == INITIALIZED:
            self.http.tells(event.link)

    def _server_sent(self, server: ServerParty, message: dict[str, Any], event: TraceEvent) -> None:
        method, listeners = message.get("method"), server.listeners
        if method is None:
            key = key_of(message.get("id"))
            owed = self.owed = server.owed.get((event.link, key))
            if owed is not None:
                owed.answers.append(event.index)
                if not owed.open:
                    server.waiting.pop(owed, None)
            listeners.answered(event.link, key, message, event.index)
            if self.http.carries(event.link):
                self.http.welcomed(server, event.link)
        elif "id" not in message:
            listeners.notified(event.link, method, key_of(tag_of(message)), params_of(message), event.index)

    def _client_took(self, client: ClientParty, message: dict[str, Any], event: TraceEvent) -> None:
        method = message.get("method")
        if method == LIST_CHANGED:
            client.heard = event.index
            if self.accepts(client, message):
                client.invalidate(event, _announcement(client, message))
        elif method == ACKNOWLEDGED:
            listen = client.listen
            honoured = member(params_of(message).get("notifications"), TOPIC)
            if listen is not None and listen.over is None and tag_of(message) == listen.id:
                if not listen.acknowledged:
                    client.invalidate(event, "acknowledged")
                listen.acknowledged = listen.acknowledged or honoured is True
        elif method == CANCELLED:
            listen = client.listen
            if listen is not None and key_of(params_of(message).get("requestId")) == key_of(listen.id):
                self._conclude(client, listen.id, "ended", event)
        elif method is None and "id" in message:
            self._client_answered(client, message, event)

    def _client_answered(self, client: ClientParty, message: dict[str, Any], event: TraceEvent) -> None:
        asked = client.asked.get(key_of(message["id"]))
        if self.http.is_foreign(event.link, asked):
            return
        if asked is not None and asked.method == "initialize" and "result" in message:
            prompts = member(member(message["result"], "capabilities"), "prompts")
            client.declared = member(prompts, "listChanged") is True
            client.session = bool(client.declared) and not self.http.carries(event.link)
        how = "error" if "error" in message else "result"
        self._conclude(client, message["id"], "lost" if self.http.is_gone(event.link) else how, event)

    def _once_more(self, client: ClientParty, message: dict[str, Any], event: TraceEvent) -> bool:
        """Whether this is a request that was lost with its exchange, and is made in another one."""
        asked = client.asked.get(key_of(message["id"]))
        if asked is None or asked.over != "lost" or not self.http.carries(event.link):
            return False
        if (asked.method, asked.params) != (message["method"], params_of(message)):
            return False
        asked.over, asked.link, self.request = None, event.link, asked
        self.http.asks(event.link, asked)
        return True

    @staticmethod
    def _anew(client: ClientParty, event: TraceEvent) -> None:
        """Over HTTP no connection ends; a session does when another is begun."""
        client.session = False
        if client.declared is not None:
            client.invalidate(event, "disconnected")
        client.declared = client.initialized = False

    def accepts(self, client: ClientParty, message: dict[str, Any]) -> bool:
        """Whether a list_changed that arrives now means something to a client."""
        if client.session:
            return True
        listen, tag = client.listen, tag_of(message)
        if listen is None or listen.over is not None:
            return tag is None and listen is not None
        return tag is None or (type(tag) is type(listen.id) and tag == listen.id)

    def _conclude(self, client: ClientParty, wire_id: Any, how: str, event: TraceEvent) -> None:
        asked = self.request = client.asked.get(key_of(wire_id))
        self.was = None if asked is None or asked.over == "dropped" else asked.over
        if asked is None or self.was is not None:
            return
        asked.over = how
        if how == "error" and self.message is not None:
            asked.code = member(self.message["error"], "code")
        if how == "result" and asked.walk is not None and self.message is not None:
            answered(asked.walk, asked, self.message.get("result"), event)
        if asked is client.listen and asked.acknowledged:
            client.invalidate(event, "the listen stream ended")
        if how == "error" and asked.method == "prompts/list" and "cursor" in asked.params:
            client.invalidate(event, "a cursor was refused")

    def _server_took(self, server: ServerParty, message: dict[str, Any], event: TraceEvent) -> None:
        method, params = message.get("method"), params_of(message)
        if not isinstance(method, str):
            return
        key = key_of(message["id"] if "id" in message else params.get("requestId"))
        owed = server.owed.get((event.link, key))
        if "id" not in message:
            server.listeners.noticed(event.link, method, key, event.index)
            if method == CANCELLED and owed is not None and not owed.answers:
                owed.cancelled = True
            elif method == CANCELLED:
                self.http.cancelled(event.link, key)
            elif method == INITIALIZED:
                self.http.initialized(server, event.link, event.index)
        elif owed is not None and owed.open:
            owed.times += 1
        else:
            owed = Owed(message["id"], method, params, event.index, event.time, event.link)
            server.owed[event.link, key] = self.owed = owed
            server.waiting[owed] = None
            server.listeners.asked(event.link, key, message, event.index)
            self.http.owes(event.link, key, owed)

    def _ended(self, event: TraceEvent) -> None:
        client = self.client
        if self.server is not None and self.http.carries(event.link):
            self.http.left(self.server, event.link, event.index)
        elif self.server is not None:
            self._closed(self.server, event)
        if client is None:
            return
        if self.http.carries(event.link):
            self.request = self.http.ended(client, event)
            return
        lost = [a for a in client.asked.values() if a.link == event.link and a.over is None]
        for asked in lost:
            asked.over = "lost"
        if event.node in self.ends.get(event.link, ()):
            client.session = False
            client.invalidate(event, "disconnected")

    @staticmethod
    def _closed(server: ServerParty, event: TraceEvent) -> None:
        """A connection has ended at a server; who has only stopped writing may still be answered."""
        server.listeners.closed(event.link, event.index)
        if event.data != "eof":
            for owed in [owed for owed in server.waiting if owed.link == event.link and owed.open]:
                server.drop(owed)


def _announcement(client: ClientParty, message: dict[str, Any]) -> str:
    """Which kind of announcement: one without a tag, or before the acknowledgement, should not be."""
    if client.session:
        return "list_changed"
    if tag_of(message) is None:
        return "untagged list_changed"
    listen = client.listen
    return "list_changed" if listen is not None and listen.acknowledged else "early list_changed"


def params_of(message: dict[str, Any]) -> dict[str, Any]:
    """The params of a message; empty if there are none, or none that count."""
    params = message.get("params")
    return params if is_object(params) else {}


def tag_of(message: dict[str, Any]) -> Any:
    """The subscription that a notification says it belongs to."""
    return member(params_of(message).get("_meta"), SUBSCRIPTION_ID)
