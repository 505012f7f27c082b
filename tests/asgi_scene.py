"""An ASGI host that a test plays, message by message, on either loop, and a server for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import attrs
from asgi_hosts import BOTH, fields_of, heading, modern
from fronts import AsyncFront
from pair import KEYS, SERVER, prompt
from serving import TOPIC

from mcp_sansio import (
    Catalogue,
    HttpServerConfig,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import now
from mcp_sansio_adapters.asgi import AsgiApp, asgi_app

GONE = {"type": "http.disconnect"}
caller: ContextVar[str] = ContextVar("caller", default="nobody")


class Call:
    """One scope as a host has it: what the application receives, in turn, and what it has sent."""

    def __init__(self, front: AsyncFront, scope: Mapping[str, Any], *incoming: Any) -> None:
        self.scope = {**scope}
        self.sent: list[Any] = []
        self.taken = 0
        self.gate: Any = None  # a send waits for this event
        self.failure: Exception | None = None  # a send raises this
        self._front = front
        self._incoming = [*incoming]
        self._news = front.event()

    def put(self, message: Any) -> None:
        """Let the application receive a message, or an exception."""
        self._incoming.append(message)
        self._news.set()

    async def receive(self) -> Any:
        while not self._incoming:
            await self._news.wait()
            self._news = self._front.event()
        message = self._incoming.pop(0)
        if isinstance(message, Exception):
            raise message
        return message

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if self.failure is not None:
            raise self.failure
        if self.gate is not None:
            await self.gate.wait()
        self.taken += 1

    async def says(self, *events: str) -> None:
        """Wait until so many messages were sent, and see that they are these."""
        while len(self.events) < len(events):
            await self._front.checkpoint()
        assert self.events == [*events]

    async def made(self, app: AsgiApp) -> Call:
        """Have the application serve it."""
        await app(self.scope, self.receive, self.send)
        return self

    @property
    def kinds(self) -> list[str]:
        """The types of what was sent."""
        return [message["type"] for message in self.sent]

    @property
    def status(self) -> int:
        """The status; a head is followed by a body, for hosts keep it until then."""
        assert self.kinds[:2] == ["http.response.start", "http.response.body"]
        status: int = self.sent[0]["status"]
        return status

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The header fields."""
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        """The body so far."""
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def ended(self) -> bool:
        """Whether the response is complete; then nothing may follow."""
        return [message["more_body"] for message in self.sent[1:]] == [True] * (len(self.sent) - 2) + [False]

    @property
    def json(self) -> Any:
        """The body of a complete response."""
        assert self.ended
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """Messages of a stream of events, in short."""
        lines = [line for line in self.body.split(b"\n") if line.startswith(b"data: ")]
        return [message.get("method", "answer") for message in (json.loads(line[6:]) for line in lines)]


@attrs.define
class Scene:
    """A server, its application, and what its prompts do."""

    front: AsyncFront
    config: HttpServerConfig | None = None
    options: dict[str, Any] = attrs.field(factory=dict[str, Any])
    catalogue: Catalogue = attrs.field(factory=Catalogue)
    log: list[str] = attrs.field(factory=list[str])
    server: Server = attrs.field(init=False)
    app: AsgiApp = attrs.field(init=False)
    released: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        with self.catalogue.batch():
            self.catalogue.add(prompt("hello"), lambda: f"hello {caller.get()}")
            self.catalogue.add(prompt("wait"), self._wait)
        config = ServerConfig(info=SERVER, quiet=0, max_wait=0, methods=("x/echo",))
        self.server = Server(config, PromptServer(self.catalogue, PromptServerConfig(keys=KEYS)))
        self.app = asgi_app(self.server, self.config, **self.options)
        self.released = self.front.event()

    async def _wait(self, asked: PromptRequested) -> str:
        self.log.append("waiting")
        self.server.progress(asked.request, 1, now())
        self.app.turn()
        try:
            await self.released.wait()
        except BaseException:
            self.log.append("cancelled")
            raise
        self.log.append("waited")
        return "waited"

    async def until(self, *log: str) -> None:
        """Wait until this has happened, and nothing else."""
        while len(self.log) < len(log):
            await self.front.checkpoint()
        assert self.log == [*log]

    def call(self, headers: list[tuple[str, str]], body: bytes, *incoming: Any, **scope: Any) -> Call:
        """A request, its body in one piece, and what the application receives after it."""
        standard = [("host", "localhost"), ("accept", BOTH), *headers]
        whole = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in standard],
            **scope,
        }
        return Call(self.front, whole, {"type": "http.request", "body": body}, *incoming)

    def post(
        self, message: Mapping[str, Any], *incoming: Any, headers: list[tuple[str, str]] | None = None
    ) -> Call:
        """A POST of a message."""
        named = [("content-type", "application/json"), *(headers or [])]
        return self.call(named, json.dumps({"jsonrpc": "2.0", **message}).encode(), *incoming)

    def ask(self, method: str, params: Any = None, *incoming: Any, **scope: Any) -> Call:
        """A modern request, which wants to hear of its progress."""
        named = [("content-type", "application/json"), *fields_of(heading(method, params)).items()]
        body = json.dumps({"jsonrpc": "2.0", **modern(method, params, progressToken="t")})
        return self.call(named, body.encode(), *incoming, **scope)

    def listen(self) -> Call:
        """Open a subscription to changes of prompts."""
        return self.ask("subscriptions/listen", {"notifications": {TOPIC: True}})

    async def session(self) -> list[tuple[str, str]]:
        """Open a legacy session; what its requests say of it."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        opened = await self.post({"id": 0, "method": "initialize", "params": params}).made(self.app)
        named = [("mcp-session-id", opened.headers[b"mcp-session-id"].decode())]
        ready = await self.post({"method": "notifications/initialized"}, headers=named).made(self.app)
        assert ready.status == 202
        return named
