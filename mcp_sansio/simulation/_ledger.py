"""What a trace says so far, folded into what checkers ask about.

The ledger believes nothing that a library says of itself but what it reports to its application; epochs,
subscriptions and requests it works out from the messages that passed, by the rules of the specification. It
is fed one event after the other, from a live world or from a file, and is the only thing that decodes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs
import msgspec

from mcp_sansio._plain import is_object, member

from . import _trace as kinds
from ._trace import TraceEvent, bytes_of

LIST_CHANGED = "notifications/prompts/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
TOPIC = "promptsListChanged"

Id: TypeAlias = "int | str"
Items: TypeAlias = tuple[tuple[str, str], ...]


@attrs.define(eq=False)
class Asked:
    """A request that a client has sent. `epoch` is the client's when it left; `over` how it ended."""

    id: Any
    method: str
    params: dict[str, Any]
    index: int
    time: float
    link: str
    epoch: int
    over: str | None = None
    acknowledged: bool = False


@attrs.define(eq=False)
class ClientParty:
    """A client, as the messages show it. `epoch` rises with every invalidation that it must have noticed."""

    name: str
    epoch: int = 0
    since: int = -1
    reason: str = ""
    asked: dict[Any, Asked] = attrs.field(factory=dict[Any, Asked])
    listen: Asked | None = None
    session: bool = False
    initialize: dict[str, Any] | None = None
    rest: dict[str, Any] | None = None

    def invalidate(self, event: TraceEvent, reason: str) -> None:
        """What it knew before is stale from here on."""
        self.epoch += 1
        self.since = event.index
        self.reason = reason

    @property
    def covered(self) -> bool:
        """Whether changes are announced to it."""
        return self.session or (self.listen is not None and self.listen.acknowledged)


@attrs.define(eq=False)
class Owed:
    """A request that a server has taken in. `answers` are the indexes of its responses."""

    id: Any
    method: str
    params: dict[str, Any]
    index: int
    time: float
    link: str
    answers: list[int] = attrs.field(factory=list[int])
    cancelled: bool = False


@attrs.define(eq=False)
class Version:
    """A state of a server's list, from an index and time of the trace on."""

    index: int
    time: float
    items: Items


@attrs.define(eq=False)
class ServerParty:
    """A server, as the messages show it, and all the states of its list."""

    name: str
    items: dict[str, str] = attrs.field(factory=dict[str, str])
    versions: list[Version] = attrs.field(factory=list[Version])
    owed: dict[tuple[str, Any], Owed] = attrs.field(factory=dict[tuple[str, Any], Owed])
    rest: dict[str, Any] | None = None

    def between(self, first: int, last: int) -> list[Items]:
        """The states that the list had between two indexes, both ends included."""
        found: list[Items] = []
        for at, version in enumerate(self.versions):
            ends = self.versions[at + 1].index if at + 1 < len(self.versions) else last + 1
            if version.index <= last and ends > first:
                found.append(version.items)
        return found


class Ledger:
    """All parties of a trace. `message` is the decoded message of the event just taken, if it was one;
    `faults` are the kinds that have struck, `honest` is false once a peer was made to say what it should not.
    """

    def __init__(self) -> None:
        self.clients: dict[str, ClientParty] = {}
        self.servers: dict[str, ServerParty] = {}
        self.message: dict[str, Any] | None = None
        self.ends: dict[str, list[str]] = {}
        self.faults: dict[str, int] = {}
        self.phase: str = "chaos"
        self.time: float = 0.0
        self._decode = msgspec.json.Decoder().decode
        self._text: str | None = None
        self._object: Any = None
        self._take = {
            kinds.NODE: self._node,
            kinds.OPEN: self._open,
            kinds.SENT: self._sent,
            kinds.TAKEN: self._taken,
            kinds.ENDED: self._ended,
            kinds.COMMAND: self._command,
            kinds.OBSERVED: self._observed,
            kinds.FAULT: self._fault,
            kinds.PHASE: self._enter,
        }

    @property
    def honest(self) -> bool:
        """Whether every peer has said only what it should."""
        return not any(kind.startswith("peer") for kind in self.faults)

    def take(self, event: TraceEvent) -> None:
        """Take the next event in."""
        self.message = None
        self.time = event.time
        fold = self._take.get(event.kind)
        if fold is not None:
            fold(event)

    # --- parties ---

    def _node(self, event: TraceEvent) -> None:
        if event.data == "client":
            self.clients.setdefault(event.node, ClientParty(event.node))
        elif event.data == "server":
            self.servers.setdefault(event.node, ServerParty(event.node))

    def _open(self, event: TraceEvent) -> None:
        self.ends.setdefault(event.link, []).append(event.node)

    def server_of(self, link: str) -> ServerParty | None:
        """The server at an end of a connection."""
        return next((self.servers[name] for name in self.ends.get(link, ()) if name in self.servers), None)

    def _fault(self, event: TraceEvent) -> None:
        kind = event.data[0]
        self.faults[kind] = self.faults.get(kind, 0) + 1

    def _enter(self, event: TraceEvent) -> None:
        self.phase = event.data

    def _command(self, event: TraceEvent) -> None:
        verb, data = event.data
        server = self.servers.get(event.node)
        if server is not None and verb == "edit":
            for name in data.get("remove", ()):
                server.items.pop(name, None)
            server.items.update(data.get("put", ()))
            items = tuple(sorted(server.items.items()))
            server.versions.append(Version(event.index, event.time, items))

    def _observed(self, event: TraceEvent) -> None:
        kind, fields = event.data
        party = self.clients.get(event.node) or self.servers.get(event.node)
        if kind == "rest" and party is not None:
            party.rest = fields

    # --- messages ---

    def _read(self, event: TraceEvent) -> dict[str, Any] | None:
        """The message, decoded once for its sending and its arrival."""
        if event.data is not self._text:
            self._text = event.data
            try:
                self._object = self._decode(bytes_of(event.data))
            except (msgspec.DecodeError, ValueError):
                self._object = None
        self.message = self._object if is_object(self._object) else None
        return self.message

    def _sent(self, event: TraceEvent) -> None:
        message = self._read(event)
        if message is None:
            return
        client, server = self.clients.get(event.node), self.servers.get(event.node)
        if client is not None:
            self._client_sent(client, message, event)
        elif server is not None and "method" not in message:
            owed = server.owed.get((event.link, key_of(message.get("id"))))
            if owed is not None:
                owed.answers.append(event.index)

    def _taken(self, event: TraceEvent) -> None:
        message = self._read(event)
        if message is None:
            return
        client, server = self.clients.get(event.node), self.servers.get(event.node)
        if client is not None:
            self._client_took(client, message, event)
        elif server is not None:
            self._server_took(server, message, event)

    def _client_sent(self, client: ClientParty, message: dict[str, Any], event: TraceEvent) -> None:
        method, params = message.get("method"), params_of(message)
        if method is None:
            return
        if "id" in message:
            asked = Asked(message["id"], method, params, event.index, event.time, event.link, client.epoch)
            client.asked[key_of(message["id"])] = asked
            if method == "subscriptions/listen":
                client.listen = asked
        elif method == "notifications/cancelled":
            self._conclude(client, params.get("requestId"), "cancelled", event)

    def _client_took(self, client: ClientParty, message: dict[str, Any], event: TraceEvent) -> None:
        method = message.get("method")
        if method == LIST_CHANGED:
            if self.accepts(client, message):
                client.invalidate(event, "list_changed")
        elif method == ACKNOWLEDGED:
            listen = client.listen
            honoured = member(params_of(message).get("notifications"), TOPIC)
            if listen is not None and listen.over is None and tag_of(message) == listen.id:
                if honoured is True:
                    listen.acknowledged = True
                client.invalidate(event, "acknowledged")
        elif method is None and "id" in message:
            asked = client.asked.get(key_of(message["id"]))
            if asked is not None and asked.method == "initialize" and "result" in message:
                prompts = member(member(message["result"], "capabilities"), "prompts")
                client.session = member(prompts, "listChanged") is True
            self._conclude(client, message["id"], "error" if "error" in message else "result", event)

    def accepts(self, client: ClientParty, message: dict[str, Any]) -> bool:
        """Whether a list_changed that arrives now means something to a client."""
        if client.session:
            return True
        listen, tag = client.listen, tag_of(message)
        if listen is None or listen.over is not None:
            return tag is None and listen is not None
        return tag is None or (type(tag) is type(listen.id) and tag == listen.id)

    def _conclude(self, client: ClientParty, wire_id: Any, how: str, event: TraceEvent) -> None:
        asked = client.asked.get(key_of(wire_id))
        if asked is None or asked.over is not None:
            return
        asked.over = how
        if asked is client.listen and asked.acknowledged:
            client.invalidate(event, "the listen stream ended")
        if how == "error" and asked.method == "prompts/list" and "cursor" in asked.params:
            client.invalidate(event, "a cursor was refused")

    def _server_took(self, server: ServerParty, message: dict[str, Any], event: TraceEvent) -> None:
        method, params = message.get("method"), params_of(message)
        if not isinstance(method, str):
            return
        if "id" in message:
            owed = Owed(message["id"], method, params, event.index, event.time, event.link)
            server.owed[event.link, key_of(message["id"])] = owed
        elif method == "notifications/cancelled":
            found = server.owed.get((event.link, key_of(params.get("requestId"))))
            if found is not None and not found.answers:
                found.cancelled = True

    def _ended(self, event: TraceEvent) -> None:
        client = self.clients.get(event.node)
        if client is None:
            return
        lost = [a for a in client.asked.values() if a.link == event.link and a.over is None]
        for asked in lost:
            asked.over = "lost"
        if event.node in self.ends.get(event.link, ()):
            client.session = False
            client.invalidate(event, "disconnected")


def key_of(wire_id: Any) -> Any:
    """An id as a key: the string "1" is not the number 1."""
    return (type(wire_id).__name__, wire_id) if isinstance(wire_id, int | str) else None


def params_of(message: dict[str, Any]) -> dict[str, Any]:
    """The params of a message; empty if there are none, or none that count."""
    params = message.get("params")
    return params if is_object(params) else {}


def tag_of(message: dict[str, Any]) -> Any:
    """The subscription that a notification says it belongs to."""
    return member(params_of(message).get("_meta"), SUBSCRIPTION_ID)


def items_of(value: Any) -> Items | None:
    """A list as it was reported, in the form that versions have."""
    return None if value is None else tuple((name, tag) for name, tag in value)
