"""A client over HTTP whose server is written by the test, exchange by exchange.

`Asker` pulls what the client wants to send, as an adapter does, and answers only what it is told to answer.
The exchanges that are under way are looked for by what they ask.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from clients import LEGACY, MODERN, discovered, welcome
from clocked import Clocked
from pair import CLIENT

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Client,
    ClientConfig,
    ClientExchange,
    ClientLayer,
    HttpClient,
)
from mcp_sansio._sse import encode_event

JSON = (("Content-Type", "application/json"),)
SSE = (("Content-Type", "text/event-stream"),)
SESSION = "s-1"


def error(code: int, message: str = "no", **more: Any) -> dict[str, Any]:
    """The members of an error reply."""
    return {"error": {"code": code, "message": message, **more}}


class Asker(Clocked):
    """A client, its exchanges, and its hand-written server."""

    def __init__(self, *layers: ClientLayer, http: Mapping[str, Any] | None = None, **config: Any) -> None:
        """`http` are options of the `HttpClient`."""
        self.now = 0.0
        self.client = Client(ClientConfig(info=CLIENT, **config), *layers)
        self.machine = self.client
        self.http = HttpClient(self.client, "/mcp", self.now, **(http or {}))
        self.made: list[ClientExchange] = []

    # --- what the client does ---

    def pull(self) -> list[ClientExchange]:
        """The exchanges that were begun since the last look; `made` has all of them."""
        while self.client.next_ready() is not None:
            pass
        new: list[ClientExchange] = []
        while (exchange := self.http.next_exchange()) is not None:
            new.append(exchange)
        self.made += new
        return new

    def open(self, what: str) -> list[ClientExchange]:
        """The exchanges under way for a JSON-RPC method, or for GET or DELETE."""
        self.pull()
        return [exchange for exchange in self.made if not exchange.closed and asks(exchange) == what]

    def one(self, what: str) -> ClientExchange:
        """The one exchange under way for that."""
        found = self.open(what)
        assert len(found) == 1, f"one {what} expected, there are {len(found)}"
        return found[0]

    def count(self, what: str) -> int:
        """How often that was asked so far."""
        self.pull()
        return sum(asks(exchange) == what for exchange in self.made)

    def look(self) -> None:
        self.pull()

    # --- what the server does ---

    def head(
        self, exchange: ClientExchange, status: int = 200, headers: Sequence[tuple[str, str]] = JSON
    ) -> None:
        """The beginning of a reply."""
        exchange.receive_head(status, headers, self.now)

    def answer(
        self,
        exchange: ClientExchange,
        status: int = 200,
        body: bytes = b"",
        headers: Sequence[tuple[str, str]] = JSON,
    ) -> None:
        """A complete reply."""
        self.head(exchange, status, headers)
        exchange.receive_data(body, self.now)
        exchange.receive_eof(self.now)

    def reply(
        self,
        exchange: ClientExchange,
        result: Mapping[str, Any],
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        """The result, as JSON."""
        message = {"jsonrpc": "2.0", "id": body(exchange)["id"], "result": result}
        self.answer(exchange, 200, json.dumps(message).encode(), (*JSON, *headers))

    def refuse(self, exchange: ClientExchange, status: int, **message: Any) -> None:
        """A message with any status; it has the id of the request by default."""
        whole = {"jsonrpc": "2.0", "id": body(exchange).get("id"), **message}
        self.answer(exchange, status, json.dumps(whole).encode())

    def stream(self, exchange: ClientExchange, *messages: Mapping[str, Any]) -> None:
        """The head of a stream, and some events; the stream stays open."""
        self.head(exchange, 200, SSE)
        self.say(exchange, *messages)

    def say(self, exchange: ClientExchange, *messages: Mapping[str, Any]) -> None:
        """More events."""
        for message in messages:
            event = encode_event(json.dumps({"jsonrpc": "2.0", **message}).encode())
            exchange.receive_data(event, self.now)

    # --- eras ---

    def say_modern(self, **capabilities: Any) -> None:
        """Answer the probe."""
        self.reply(self.one("server/discover"), discovered(**capabilities))

    def say_legacy(self, version: str = LEGACY, session: str | None = SESSION, **capabilities: Any) -> None:
        """Refuse the probe if there is one, answer the handshake and accept `initialized`."""
        for probe in self.open("server/discover"):
            self.answer(probe, 400, b"what?")
        given = () if session is None else (("mcp-session-id", session),)
        self.reply(self.one("initialize"), welcome(version, **capabilities), given)
        self.answer(self.one("notifications/initialized"), 202)


def body(exchange: ClientExchange) -> dict[str, Any]:
    """The message that an exchange carries; empty for none."""
    message: dict[str, Any] = json.loads(exchange.body) if exchange.body else {}
    return message


def asks(exchange: ClientExchange) -> str:
    """The method of its message, else that of the exchange."""
    method: str = body(exchange).get("method", exchange.method)
    return method


def header(exchange: ClientExchange, name: str) -> str | None:
    """The value of a header that may be there once."""
    found = [value for key, value in exchange.headers if key.lower() == name.lower()]
    assert len(found) < 2
    return found[0] if found else None


def modern(*layers: ClientLayer, offers: Mapping[str, Any] | None = None, **config: Any) -> Asker:
    """A client that has found a modern server; events so far are read."""
    web = Asker(*layers, versions=(MODERN,), **config)
    web.say_modern(**(offers or {}))
    web.events()
    return web


def legacy(
    *layers: ClientLayer,
    version: str = LEGACY,
    session: str | None = SESSION,
    offers: Mapping[str, Any] | None = None,
    **config: Any,
) -> Asker:
    """A client in a session with a legacy server."""
    web = Asker(*layers, versions=(version,), **config)
    web.say_legacy(version, session, **(offers or {}))
    web.events()
    return web


def asked(web: Asker | None = None, **config: Any) -> tuple[Asker, ClientExchange]:
    """A client that has asked for x/y, with the id 2; and the exchange."""
    web = web or modern(**config)
    web.client.request("x/y", None, web.now, progress=True)
    return web, web.one("x/y")


def outcome(web: Asker) -> Any:
    """What became of the call: its result, its failure, or None."""
    ends = [event for event in web.events() if isinstance(event, CallSucceeded | CallFailed)]
    assert len(ends) <= 1
    return None if not ends else ends[0].result if isinstance(ends[0], CallSucceeded) else ends[0].failure


def after(status: int, media: str | None, body: bytes, **config: Any) -> Any:
    """What a complete reply makes of the call."""
    web, made = asked(**config)
    web.answer(made, status, body, [] if media is None else [("content-type", media)])
    assert made.closed
    return outcome(web)
