"""A server under test and the client that a test plays: `Script` with the envelopes of both eras."""

from __future__ import annotations

from typing import Any

from pair import KEYS, SERVER, catalogue, prompt
from script import Script

from mcp_sansio import (
    Catalogue,
    LineWire,
    PromptServer,
    PromptServerConfig,
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
