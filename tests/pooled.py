"""A client whose connections are played by the test: bytes of HTTP/1.1 in virtual time."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs
from clients import MODERN, discovered
from clocked import Clocked
from pair import CLIENT

from mcp_sansio import Client, ClientConfig, ClientLayer, HttpUrl
from mcp_sansio.h11 import H11ClientWire, H11Pool, H11PoolConfig


@attrs.define(eq=False)
class Far:
    """The server's end of one connection: the messages that came (or the method of a request without a body),
    and the heads of the requests.
    """

    wire: H11ClientWire
    asked: list[Any] = attrs.field(factory=list[Any])
    heads: list[str] = attrs.field(factory=list[str])
    _data: bytes = b""

    def over(self) -> bool:
        """Whether the connection is closed."""
        return self.wire.closed

    def read(self) -> None:
        """Take in what the client has written."""
        self._data += b"".join(self.wire.data_to_send())
        while b"\r\n\r\n" in self._data:
            head, _, rest = self._data.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)\ncontent-length: (\d+)", head)
            size = 0 if length is None else int(length[1])
            self.heads.append(head.decode())
            self.asked.append(json.loads(rest[:size]) if size else head.split(b" ")[0].decode())
            self._data = rest[size:]


class Near(Clocked):
    """A client, its pool and the connections that it has asked for."""

    def __init__(
        self,
        *layers: ClientLayer,
        pool: H11PoolConfig | None = None,
        url: str = "http://localhost:8000/mcp",
        versions: tuple[str, ...] = (MODERN,),
        headers: tuple[tuple[str, str], ...] = (("X-Y", "z"),),
        **config: Any,
    ) -> None:
        self.now = 0.0
        self.client = Client(ClientConfig(info=CLIENT, versions=versions, **config), *layers)
        self.machine = self.client
        self.pool = H11Pool(self.client, HttpUrl.parse(url), self.now, pool, headers=headers)
        self.far: list[Far] = []

    def pull(self, *, connect: bool = True) -> list[Far]:
        """The connections that were asked for since the last look, and what was written to all of them."""
        new: list[Far] = []
        while self.client.next_ready() is not None:
            pass
        while (wire := self.pool.next_wire()) is not None:
            new.append(Far(wire))
            if connect:
                wire.connected(self.now)
        self.far += new
        for far in self.far:
            if not far.wire.closed:
                far.read()
        return new

    def answer(self, far: Far, data: bytes) -> None:
        """Have bytes come over a connection."""
        far.wire.receive_data(data, self.now)
        self.pull()

    def reply(self, far: Far, result: Any, *, close: bool = False) -> None:
        """Answer the last request with a result."""
        message = {"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": result}
        self.answer(far, ok(json.dumps(message).encode(), close=close))

    def welcomed(self) -> Far:
        """Let it find out what the server is; the connection on which it did, idle now."""
        (far,) = self.pull()
        self.reply(far, discovered())
        assert self.client.era is not None
        self.events()
        return far

    def look(self) -> None:
        self.pull()


def ok(body: bytes = b"", *fields: str, close: bool = False, status: int = 200) -> bytes:
    """A reply."""
    closing = ["Connection: close"] if close else []
    lines = [
        f"HTTP/1.1 {status} X",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *closing,
        *fields,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def asked(near: Near, method: str = "tools/list") -> Far:
    """Make a request; the connection that it goes over."""
    near.client.request(method, None, near.now)
    near.pull()
    (far,) = [far for far in near.far if not far.over() and waits_for(far, method)]
    return far


def waits_for(far: Far, method: str) -> bool:
    """Whether this is the last thing that was asked there, and not answered yet."""
    exchange = far.wire.exchange
    return exchange is not None and bool(far.asked) and far.asked[-1].get("method") == method
