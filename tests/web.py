"""A server over HTTP and the clients that a test plays: requests in, replies out, no bytes between."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any, Literal

import attrs
from clocked import Clocked
from pair import KEYS, SERVER, catalogue, prompt
from serving import MODERN, TOPIC, envelope

from mcp_sansio import (
    Catalogue,
    End,
    Head,
    HttpExchange,
    HttpServer,
    HttpServerConfig,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)

BOTH = "application/json, text/event-stream"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@attrs.define
class Reply:
    """What has come of an exchange so far."""

    exchange: HttpExchange
    heads: list[Head] = attrs.field(factory=list[Head])
    body: bytes = b""
    ended: bool = False

    def take(self) -> Reply:
        """Take what there is."""
        for part in self.exchange.outputs():
            assert not self.ended
            if isinstance(part, Head):
                self.heads.append(part)
            elif isinstance(part, End):
                self.ended = True
            else:
                assert self.heads
                self.body += part
        return self

    @property
    def status(self) -> int | None:
        """The status, if there is one."""
        return self.heads[0].status if self.heads else None

    @property
    def headers(self) -> dict[str, str]:
        """The header fields."""
        (head,) = self.heads
        return dict(head.headers)

    @property
    def kind(self) -> str | None:
        """The media type."""
        return self.headers.get("content-type")

    @property
    def json(self) -> Any:
        """The body of a reply that is one JSON text."""
        assert self.ended
        assert self.kind == "application/json"
        assert self.headers["content-length"] == str(len(self.body))
        return json.loads(self.body)

    @property
    def code(self) -> int:
        """The code of an error in a JSON body."""
        found: int = self.json["error"]["code"]
        return found

    @property
    def events(self) -> list[Any]:
        """The messages of a stream of events, comments left out."""
        assert self.kind == "text/event-stream"
        blocks = self.body.decode().split("\n\n")
        assert blocks.pop() == ""
        lines = [block.removeprefix("event: message\n") for block in blocks if block != ":"]
        return [json.loads(line.removeprefix("data: ")) for line in lines]

    @property
    def comments(self) -> int:
        """How many comments there are."""
        return self.body.decode().split("\n\n").count(":")


class Web(Clocked):
    """A server that has prompts, over HTTP; time is whatever `now` was last set to."""

    def __init__(
        self,
        prompts: Catalogue | None = None,
        *,
        serving: dict[str, Any] | None = None,
        http: dict[str, Any] | None = None,
        **config: Any,
    ) -> None:
        """`config` goes into the `ServerConfig`, `serving` and `http` into the other two."""
        self.now = 0.0
        self.catalogue = catalogue(3) if prompts is None else prompts
        self.prompts = PromptServer(
            self.catalogue, PromptServerConfig(**{"keys": KEYS, "page_size": 2, **(serving or {})})
        )
        self.server = Server(ServerConfig(**{"info": SERVER, **config}), self.prompts)
        self.machine = self.server
        self.prompts.on_change = lambda topic: self.server.changed(topic, self.now)
        numbers = itertools.count(1)
        options: dict[str, Any] = {"new_session_id": lambda: f"s{next(numbers)}", **(http or {})}
        self.http = HttpServer(self.server, HttpServerConfig(**options))

    # --- requests ---

    def begin(
        self,
        method: str = "POST",
        headers: Mapping[str, str | None] | None = None,
        *,
        target: str = "/mcp",
        principal: str | None = None,
    ) -> Reply:
        """A request without its body; a header of None is left out."""
        standard = {"Host": "localhost:8000", "Accept": BOTH, "Content-Type": "application/json"}
        given = [
            (name, value) for name, value in {**standard, **(headers or {})}.items() if value is not None
        ]
        return Reply(self.http.exchange(method, target, given, self.now, principal=principal, peer="peer"))

    def raw(self, body: bytes, headers: Mapping[str, str | None] | None = None, **more: Any) -> Reply:
        """A POST of bytes."""
        reply = self.begin("POST", headers, **more)
        reply.exchange.receive_data(body, self.now)
        reply.exchange.receive_eof(self.now)
        return reply.take()

    def post(self, message: Any, headers: Mapping[str, str | None] | None = None, **more: Any) -> Reply:
        """A POST of a message or several, without their `jsonrpc`."""
        if isinstance(message, list):
            whole: Any = [{"jsonrpc": "2.0", **part} for part in message]
        else:
            whole = {"jsonrpc": "2.0", **message}
        return self.raw(json.dumps(whole).encode(), headers, **more)

    def call(
        self,
        method: str,
        params: Any = None,
        headers: Mapping[str, str | None] | None = None,
        *,
        id: Any = 1,
        principal: str | None = None,
        **meta: Any,
    ) -> Reply:
        """A modern request with the headers that it needs; `meta` goes into `envelope`."""
        params = {**(params or {}), "_meta": envelope(**meta)}
        needed: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if method in NAMED:
            needed["Mcp-Name"] = params[NAMED[method]]
        message = {"id": id, "method": method, "params": params}
        return self.post(message, {**needed, **(headers or {})}, principal=principal)

    def listen(self, headers: Mapping[str, str | None] | None = None, *, id: Any = "l") -> Reply:
        """Open a subscription to changes of prompts."""
        return self.call("subscriptions/listen", {"notifications": {TOPIC: True}}, headers, id=id)

    def session(self, version: str = "2025-11-25", *, ready: bool = True, **more: Any) -> Session:
        """Open a legacy session."""
        params = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        reply = self.post({"id": 0, "method": "initialize", "params": params}, **more)
        assert reply.status == 200
        session = Session(self, reply.headers["mcp-session-id"], version, **more)
        if ready:
            assert session.post({"method": "notifications/initialized"}).status == 202
        return session

    # --- what the server does ---

    def woken(self) -> list[Any]:
        """The exchanges with something to say since the last look."""
        found: list[Any] = []
        while (port := self.server.next_ready()) is not None:
            found.append(port)
        return found

    def edit(self, name: str) -> None:
        """Change what the list shows."""
        self.catalogue.put(prompt(name, description=f"at {self.now}"), lambda: name)


@attrs.define
class Session:
    """A legacy session, from its client's side."""

    web: Web
    id: str
    version: str
    principal: str | None = None

    def _headers(self, headers: Mapping[str, str | None] | None) -> dict[str, str | None]:
        return {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.version, **(headers or {})}

    def post(self, message: Any, headers: Mapping[str, str | None] | None = None) -> Reply:
        """A POST."""
        return self.web.post(message, self._headers(headers), principal=self.principal)

    def raw(self, body: bytes, headers: Mapping[str, str | None] | None = None) -> Reply:
        """A POST of bytes."""
        return self.web.raw(body, self._headers(headers), principal=self.principal)

    def call(self, method: str, params: Any = None, *, id: Any = 1, **headers: Any) -> Reply:
        """A request."""
        message = {"id": id, "method": method, **({} if params is None else {"params": params})}
        return self.post(message, headers)

    def open(
        self, method: Literal["GET", "DELETE"], headers: Mapping[str, str | None] | None = None
    ) -> Reply:
        """A GET or DELETE."""
        return self.web.begin(method, self._headers(headers), principal=self.principal).take()
