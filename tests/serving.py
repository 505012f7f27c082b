"""A server under test and the client that a test plays: `Script` with the envelopes of both eras."""

from __future__ import annotations

from typing import Any

from pair import KEYS, SERVER, catalogue, prompt
from script import Script

from mcp_sansio import (
    Catalogue,
    IncomingRequest,
    InputRequest,
    LineWire,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    RequestReceived,
    Server,
    ServerConfig,
    ServerLayer,
)

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
EVERY = (*LEGACY, MODERN)
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TOPIC = "promptsListChanged"
LIST_CHANGED = "notifications/prompts/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
ECHO = ("x/echo",)
FORM = InputRequest(
    "elicitation/create", {"mode": "form", "message": "who?", "requestedSchema": {"type": "object"}}
)


def envelope(version: Any = MODERN, capabilities: Any = None, **more: Any) -> dict[str, Any]:
    """The `_meta` of a modern request."""
    return {VERSION: version, CAPABILITIES: {} if capabilities is None else capabilities, **more}


class Peer(Script):
    """A client of a server that has prompts; `ask` and `call` make a request and return its reply."""

    def __init__(
        self,
        prompts: Catalogue | None = None,
        *,
        layers: tuple[ServerLayer, ...] = (),
        serving: dict[str, Any] | None = None,
        principal: str | None = None,
        wire: dict[str, Any] | None = None,
        **config: Any,
    ) -> None:
        """`config` goes into the `ServerConfig`, `serving` into the `PromptServerConfig`."""
        self.catalogue = catalogue(3) if prompts is None else prompts
        self.prompts = PromptServer(
            self.catalogue, PromptServerConfig(**{"keys": KEYS, "page_size": 2, **(serving or {})})
        )
        self.server = Server(ServerConfig(**{"info": SERVER, **config}), self.prompts, *layers)
        self.prompts.on_change = lambda topic: self.server.changed(topic, self.now)
        self.version: str | None = None
        super().__init__(self.server, principal=principal, **(wire or {}))

    def _connect(self, principal: str | None, options: dict[str, Any]) -> LineWire:
        self.stream = self.server.open(principal=principal)
        return LineWire(self.stream, self.now, **options)

    def another(self, *, principal: str | None = None) -> Peer:
        """A second client of the same server."""
        other = object.__new__(Peer)
        other.catalogue, other.prompts, other.server = self.catalogue, self.prompts, self.server
        other.version = None
        Script.__init__(other, self.server, principal=principal)
        return other

    def initialize(self, version: str = "2025-11-25", *, ready: bool = True, **params: Any) -> dict[str, Any]:
        """Open a legacy session; its result."""
        params = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
            **params,
        }
        reply = self.ask("init", "initialize", params)
        if ready:
            self.notify("notifications/initialized")
        self.version = version
        result: dict[str, Any] = reply["result"]
        return result

    def ask(self, id: Any, method: str, params: Any = None) -> dict[str, Any]:
        """Make a request as it stands; the reply, which must be all that comes."""
        self.request(id, method, params)
        (reply,) = self.sent()
        return reply

    def say_modern(self, id: Any, method: str, params: Any = None, **meta: Any) -> None:
        """Make a modern request; `meta` goes into `envelope`."""
        self.request(id, method, {**(params or {}), "_meta": envelope(**meta)})

    def call(self, id: Any, method: str, params: Any = None, **meta: Any) -> dict[str, Any]:
        """Make a modern request; the reply, which must be all that comes."""
        self.say_modern(id, method, params, **meta)
        (reply,) = self.sent()
        return reply

    def speak(self, version: str) -> None:
        """Talk in one revision from now on: `use` does."""
        self.version = version
        if version != MODERN:
            self.initialize(version)
            self.sent()
            self.events()

    def use(self, id: Any, method: str, params: Any = None, **meta: Any) -> dict[str, Any]:
        """Make a request in the revision of `speak`; the reply."""
        return (
            self.call(id, method, params, **meta) if self.version == MODERN else self.ask(id, method, params)
        )

    def listen(self, id: Any = "l", **notifications: Any) -> list[dict[str, Any]]:
        """Open a subscription, to changes of prompts unless told otherwise; what comes at once."""
        self.say_modern(id, "subscriptions/listen", {"notifications": notifications or {TOPIC: True}})
        return self.sent()

    def closed(self) -> bool:
        """Whether the wire is."""
        return self.wire.closed

    def read(self) -> bool:
        """Whether the server reads what this client says."""
        return self.wire.want_read

    def edit(self, name: str) -> None:
        """Change what the list shows."""
        self.catalogue.put(prompt(name, description=f"at {self.now}"), lambda: name)


def spoken(messages: list[dict[str, Any]]) -> list[Any]:
    """What messages are, in short: the method of a notification or request, the id of a reply."""
    return [message.get("method", message.get("id")) for message in messages]


def speaking(version: str, prompts: Catalogue | None = None, **config: Any) -> Peer:
    """A peer that has begun to talk in one revision."""
    peer = Peer(prompts, **config)
    peer.speak(version)
    return peer


def walk(peer: Peer, cursor: str | None = None) -> list[str]:
    """The names on all pages."""
    names: list[str] = []
    for number in range(10_000):
        params = {} if cursor is None else {"cursor": cursor}
        result = peer.use(f"walk {number}", "prompts/list", params)["result"]
        names += [item["name"] for item in result["prompts"]]
        cursor = result.get("nextCursor")
        if cursor is None:
            return names
    raise AssertionError("no end")


def refused(reply: dict[str, Any], code: int, *named: str) -> None:
    """The reply is this error, and names these things."""
    assert reply["error"]["code"] == code
    for name in named:
        assert name in reply["error"]["message"]


def completing(**config: Any) -> Peer:
    """A peer of a server with one prompt, whose arguments a and b can be completed."""
    prompts = Catalogue()
    prompts.add(
        prompt("p", "a", "b", "c"),
        completers={
            "a": ["one", "two", "three", "Tau"],
            "b": lambda value, context: [value, *context.values()],
        },
    )
    return Peer(prompts, **config)


def complete(argument: Any, ref: Any = None, **more: Any) -> dict[str, Any]:
    """The params of a completion."""
    return {"ref": {"type": "ref/prompt", "name": "p"} if ref is None else ref, "argument": argument, **more}


def code(reply: dict[str, Any]) -> int:
    """The error code of a reply."""
    found: int = reply["error"]["code"]
    return found


def received(peer: Peer, method: str = "x/echo", params: Any = None, **meta: Any) -> IncomingRequest:
    """A request that the application answers."""
    if peer.version is None or peer.version == MODERN:
        peer.say_modern(1, method, params, **meta)
    else:
        peer.request(1, method, {**(params or {}), "_meta": meta})
    (event,) = peer.of(RequestReceived)
    return event.request


def answering(version: str, **config: Any) -> Peer:
    """A peer of a server whose application answers `x/echo`."""
    return speaking(version, **{"methods": ECHO, **config})


def held(peer: Peer, *ids: Any) -> list[PromptRequested]:
    """Requests that wait for their answers."""
    for wire_id in ids:
        peer.say_modern(wire_id, "prompts/get", {"name": "p0000"})
    return peer.of(PromptRequested)


def legacy(**config: Any) -> Peer:
    peer = Peer(**config)
    peer.initialize(capabilities={"roots": {}, "sampling": {}})
    peer.events()
    return peer
