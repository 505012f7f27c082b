"""One connection to an HTTP server, from the client's side of the bytes, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from serving import MODERN, TOPIC, envelope
from web import Web

from mcp_sansio import PromptRequested
from mcp_sansio.h11 import H11Config, H11ServerWire


def http(method: str, body: bytes = b"", *fields: str, version: str = "1.1") -> bytes:
    """A request with the header fields that every request has."""
    lines = [
        f"{method} /mcp HTTP/{version}",
        "Host: localhost",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        *fields,
    ]
    if body and not any(field.lower().startswith("transfer-encoding") for field in fields):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def message(method: str, params: Any = None, id: Any = 1) -> bytes:
    """The body of a modern request."""
    whole = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**(params or {}), "_meta": envelope()}}
    return json.dumps(whole).encode()


def call(method: str, params: Any = None, *fields: str, id: Any = 1, version: str = "1.1") -> bytes:
    """A modern request."""
    named = (f"Mcp-Name: {params['name']}",) if method == "prompts/get" else ()
    modern = (f"MCP-Protocol-Version: {MODERN}", f"Mcp-Method: {method}", *named)
    return http("POST", message(method, params, id), *modern, *fields, version=version)


def oversized(size: int) -> bytes:
    """The head of a request whose body is too large."""
    return http("POST", b"", f"Content-Length: {size}")


LIST = call("prompts/list")
LISTEN = call("subscriptions/listen", {"notifications": {TOPIC: True}})


class Line:
    """A connection; `sent` is all that has come over it."""

    def __init__(self, web: Web, config: H11Config | None = None, *, ask: bool = False) -> None:
        self.web = web
        self.wire = H11ServerWire(web.http, web.now, config, ask=ask, peer="peer")
        self.sent = b""

    def say(self, data: bytes, cut: Callable[[bytes], Iterable[bytes]] | None = None) -> bytes:
        """Send bytes; what comes back."""
        for part in (data,) if cut is None else cut(data):
            self.wire.receive_data(part, self.web.now)
        return self.take()

    def take(self) -> bytes:
        """What has come since the last look, prompts rendered, and things done that are due now."""
        before = len(self.sent)
        while True:
            self.sent += b"".join(self.wire.data_to_send())
            for asked in self.web.of(PromptRequested):
                self.web.prompts.answer(asked, f"this is {asked.prompt.name}", self.web.now)
            due = self.web.server.next_timeout()
            if due is not None and due <= self.web.now:
                self.web.server.handle_timeout(self.web.now)
            elif self.wire not in self.web.woken():
                return self.sent[before:]

    def over(self) -> bool:
        """Whether the connection is closed, to whoever writes and whoever reads."""
        self.take()
        return self.wire.closed

    @property
    def statuses(self) -> list[int]:
        """The status of every reply so far."""
        heads = self.sent.split(b"HTTP/1.1 ")[1:]
        return [int(head[:3]) for head in heads]
