"""One connection of an HTTP client: one exchange after the other as bytes of HTTP/1.1; h11 does the grammar.

Connections are made by the pool, which gives them exchanges and takes them back when a reply is complete. The
bytes of the first request wait here until the adapter has connected. What becomes of an exchange whose
connection broke is decided at one place: it goes over another one if the connection was an old one, and
nothing of the request has been written, or no reply had begun and repeating does no harm; else it is lost.
What an old connection says before a request has been written (408, for one, since it was idle for too long)
is no reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11

from ._events import Diagnostic
from ._http_reply import ClientExchange
from ._http_rules import fields as by_name
from ._version import __version__

if TYPE_CHECKING:
    from ._h11_pool import H11Pool

AGENT = ("User-Agent", f"mcp-sansio/{__version__}")
MAX_INTERIM = 100
"""How many interim replies (1xx) may come before a reply."""


class H11ClientWire:
    """A connection of an `H11Pool`: to be opened by the adapter, which then says `connected`, or `abort` if
    that cannot be. `token` is the adapter's own.
    """

    want_read = True

    def __init__(self, pool: H11Pool, max_head: int) -> None:
        self.token: Any = None
        self.closed: bool = False
        self.exchange: ClientExchange | None = None
        self._pool = pool
        self._max_head = max_head
        self._h11 = h11.Connection(h11.CLIENT, max_head - 1)
        self._out: list[bytes] = []
        self._connected = False
        self._closing = False
        self._reused = False
        self._written = False
        self._heard = False
        self._interim = 0

    # --- for the pool ---

    def start(self, exchange: ClientExchange) -> None:
        """Make a request."""
        self._reused = self._heard
        self.exchange = exchange
        self._written = False
        self._heard = False
        self._interim = 0
        fields = [
            ("Host", self._pool.url.authority),
            ("Accept-Encoding", "identity"),  # without it "any content coding is considered acceptable"
            *([] if "user-agent" in by_name(exchange.headers) else [AGENT]),
            *exchange.headers,
            *([("Content-Length", str(len(exchange.body)))] if exchange.method == "POST" else []),
        ]
        self._send(h11.Request(method=exchange.method, target=exchange.target, headers=_encoded(fields)))
        if exchange.body:
            self._send(h11.Data(data=exchange.body))
        self._send(h11.EndOfMessage())
        if self._connected:
            self._pool.wake(self)

    def drop_unwanted(self, now: float) -> None:
        """Close if nobody waits for the reply that is under way."""
        if self.exchange is not None and self.exchange.closed:
            self._lose("nobody waits for the reply", now)

    # --- the contract of a wire ---

    def connected(self, now: float) -> None:
        """The connection has been opened."""
        if not self.closed:
            self._connected = True
            self._pool.opened(self)

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes in; what they say is processed before this returns."""
        at = 0
        while at < len(data) and not self.closed:
            if self.exchange is None or not self._written:
                self._lose("the server spoke unasked", now)
            else:
                self._heard = True
                # No more at a time than a head may have, so that any split is equal.
                room = self._max_head - len(self._h11.trailing_data[0])
                self._feed(data[at : at + room], now)
                at += room

    def receive_eof(self, now: float, reason: str = "the server closed the connection") -> None:
        """The server has closed the connection, which may be the end of a reply."""
        if self.closed:
            return
        if self.exchange is not None:
            self._feed(b"", now, reason)
        self._lose(reason, now)

    def data_to_send(self) -> list[bytes]:
        """Everything that can be written now; nothing before the connection is open."""
        if not self._connected:
            return []
        chunks, self._out = self._out, []
        self._written = self._written or bool(chunks)
        return chunks

    def close(self, now: float) -> None:
        """Close, when the reply of the moment has come."""
        self._closing = True
        if self.exchange is None:
            self._lose("closed", now)

    def abort(self, now: float, reason: str = "the connection broke") -> None:
        """Close at once, or it could not be opened."""
        self._lose(reason, now)

    # --- inside ---

    def _send(self, event: Any) -> None:
        self._out += self._h11.send_with_data_passthrough(event) or ()

    def _feed(self, data: bytes, now: float, reason: str = "") -> None:
        try:
            self._h11.receive_data(data)
            while self.exchange is not None:
                event = self._h11.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    break
                self._handle(event, self.exchange, now)
                self.drop_unwanted(now)
        except h11.RemoteProtocolError as error:
            if data:
                self._pool.client.emit(Diagnostic("bad-http", f"{self._pool.url.origin}: {error}"))
            self._lose(reason or f"the reply is no HTTP: {error}", now)

    def _handle(self, event: Any, exchange: ClientExchange, now: float) -> None:
        if isinstance(event, h11.Response):
            exchange.receive_head(event.status_code, _decoded(event.headers), now)
        elif isinstance(event, h11.Data):
            exchange.receive_data(bytes(event.data), now)
        elif isinstance(event, h11.EndOfMessage):
            self.exchange = None
            exchange.receive_eof(now)
            self._go_on(now)
        else:
            self._interim += 1
            if self._interim > MAX_INTERIM:
                raise h11.RemoteProtocolError("too many interim replies")

    def _go_on(self, now: float) -> None:
        """The reply is complete: the connection can be used again, if both sides want that."""
        done = self._h11.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}
        if done and not (self._closing or self._h11.trailing_data[0]):
            self._h11.start_next_cycle()
            self._pool.returned(self, now)
        else:
            self._lose("closed", now)

    def _lose(self, reason: str, now: float) -> None:
        if self.closed:
            return
        exchange, self.exchange = self.exchange, None
        self.closed = True
        self._out.clear()
        self._pool.gone(self)
        if exchange is None or exchange.closed:
            return
        unsaid = not self._written or (exchange.repeatable and not self._heard)
        if self._reused and unsaid:
            self._pool.repeat(exchange)
        else:
            exchange.abort(now, reason)


def _encoded(fields: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in fields]


def _decoded(fields: Any) -> list[tuple[str, str]]:
    return [(name.decode("ascii"), value.decode("latin-1")) for name, value in fields]
