"""Our client and our server as nodes that speak HTTP/1.1, byte for byte, over the connections of a world.

Each connection of a world is one of TCP, on which one exchange comes after the other. In the trace an
exchange is a link of its own, named by its connection and its number on it ("c1-2.3"), so that what was asked
and what was answered belong together: its heads, its messages, and its end at the client. A request that is
sent once more, since an old connection was closed under it, is another exchange.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import partial
from typing import Any

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._h11_client import H11ClientWire
from mcp_sansio._h11_pool import H11Pool, H11PoolConfig
from mcp_sansio._h11_server import H11ServerWire
from mcp_sansio._h11_visit import H11Config
from mcp_sansio._http_reply import ClientExchange
from mcp_sansio._http_server import HttpServer, HttpServerConfig
from mcp_sansio._passing import HeadPassed, MessagePassed
from mcp_sansio._trace import HTTP, text_of
from mcp_sansio._url import HttpUrl
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._links import EOF, REFUSED
from mcp_sansio.simulation._node import Action, Dial, Hangup, Write
from mcp_sansio.simulation._server_node import ServerNode

URL = HttpUrl.parse("http://localhost/mcp")
EVENT_END = b"\n\n"


@attrs.define(eq=False)
class Visit:
    """A connection of a client, and the exchange that is under way on it, by its name in the trace."""

    wire: H11ClientWire
    conn: str
    opened: bool = False
    exchange: ClientExchange | None = None
    made: int = 0

    @property
    def link(self) -> str:
        """The name of the exchange."""
        return f"{self.conn}.{self.made}"


class HttpClientNode(ClientNode):
    """A client of one server node over HTTP."""

    tells = True
    speaks: str | None = HTTP
    unit = EVENT_END

    def __init__(self, *args: Any, pool: H11PoolConfig | None = None, **options: Any) -> None:
        """`pool` is how it treats its connections, the rest is `ClientNode`'s."""
        self._pooling = pool
        super().__init__(*args, **options)

    def _boot(self) -> None:
        super()._boot()
        self._pool: H11Pool | None = None
        self._visits: dict[str, Visit] = {}
        self._ready: dict[str, None] = {}
        self._hearing = ""

    def settings(self) -> dict[str, Any]:
        """A request that may have to wait for a connection is older than it looks: `waits`."""
        return {
            **super().settings(),
            "waits": self._pooling is not None and self._pooling.max_connections < 10,
        }

    # --- connections ---

    def start(self, now: float) -> None:
        super().start(now)
        self._dial_at = None
        self._pool = H11Pool(self.client, URL, now, self._pooling, on_message=self._passed)

    def opened(self, conn: str, now: float) -> None:
        self._visits[conn].opened = True
        self._visits[conn].wire.connected(now)

    def receive(self, conn: str, data: bytes, now: float) -> None:
        visit = self._visits.get(conn)
        if visit is not None:
            self._hearing = visit.link
            visit.wire.receive_data(data, now)
            self._over(visit, "complete")

    def closed(self, conn: str, how: str, now: float) -> None:
        visit = self._visits.get(conn)
        if visit is not None and how == EOF:
            self._hearing = visit.link
            visit.wire.receive_eof(now)
            self._over(visit, how)
        elif visit is not None:
            del self._visits[conn]
            visit.wire.abort(now, how)
            self._over(visit, how)

    @property
    def connected(self) -> bool:
        return not self.client.done

    # --- the pump ---

    def _pump(self, now: float, full: Container[str]) -> Iterable[Action]:
        fresh: list[Visit] = []
        while (port := self.client.next_ready()) is not None:
            if isinstance(port, H11Pool):
                fresh += [self._visit(wire) for wire in iter(port.next_wire, None)]
            else:
                self._ready[port.token] = None
        for conn in [conn for conn in self._ready if conn not in full]:
            del self._ready[conn]
            yield from self._flush(conn)
        for visit in fresh:
            self._say(visit)
            yield Dial(visit.conn, self._to)

    def _visit(self, wire: H11ClientWire) -> Visit:
        """A connection that is to be opened."""
        self._conns += 1
        wire.token = conn = f"{self.name}-{self._conns}"
        self._visits[conn] = Visit(wire, conn)
        return self._visits[conn]

    def _flush(self, conn: str) -> Iterable[Action]:
        visit = self._visits.get(conn)
        if visit is None:
            return
        data = b"".join(visit.wire.data_to_send())
        if data:
            self._say(visit)
            yield Write(conn, data)
        if visit.wire.closed:
            del self._visits[conn]
            self._over(visit, "hangup" if visit.opened else REFUSED)
            yield Hangup(conn)

    # --- the trace ---

    def _say(self, visit: Visit) -> None:
        """A request leaves, or will as soon as its connection is open."""
        exchange = visit.wire.exchange
        if exchange is not None and exchange is not visit.exchange:
            visit.exchange = exchange
            visit.made += 1
            self.note(kinds.HEAD_SENT, visit.link, [exchange.method, exchange.headers])
            if exchange.body:
                self.note(kinds.SENT, visit.link, text_of(exchange.body))

    def _passed(self, passed: MessagePassed | HeadPassed) -> None:
        if not passed.sent:
            _note(self, self._hearing, passed)

    def _over(self, visit: Visit, how: str) -> None:
        """An exchange has ended, if the wire has no more to do with it."""
        if visit.exchange is not None and visit.wire.exchange is not visit.exchange:
            self.note(kinds.ENDED, visit.link, how)
            visit.exchange = None


class HttpServerNode(ServerNode):
    """A server over HTTP. Whose requests they are, its `principals` say by the dialling node."""

    tells = True
    speaks: str | None = HTTP
    unit = b""

    def __init__(
        self, *args: Any, http: Mapping[str, Any] | None = None, h11: H11Config | None = None, **options: Any
    ) -> None:
        """`http` is for `HttpServerConfig`, `h11` for its connections, the rest is `ServerNode`'s."""
        self._http_options = http or {}
        self._h11 = h11
        self._sessions = 0
        super().__init__(*args, **options)

    def _boot(self) -> None:
        super()._boot()
        config = HttpServerConfig(new_session_id=self._new_session_id, **self._http_options)
        self.http: HttpServer = HttpServer(self.server, config)
        self._heads: dict[str, int] = {}

    def calm(self, now: float) -> None:
        """Streams need no signs of life any more, which would go on for ever."""
        self.http.config = attrs.evolve(self.http.config, keep_alive=None)

    def _new_session_id(self) -> str:
        self._sessions += 1
        return f"session-{self._sessions}"

    def opened(self, conn: str, now: float) -> None:
        heard = partial(self._passed, conn)
        ask = bool(self._principals)
        wire = H11ServerWire(self.http, now, self._h11, ask=ask, peer=conn, on_message=heard)
        wire.token = conn
        self._wires[conn] = wire
        self._heads[conn] = 0

    def receive(self, conn: str, data: bytes, now: float) -> None:
        super().receive(conn, data, now)
        wire = self._wires.get(conn)
        if isinstance(wire, H11ServerWire) and wire.pending is not None:
            principal = self._principals.get(conn.rpartition("-")[0])
            self.note(kinds.OBSERVED, f"{conn}.{self._heads[conn] + 1}", ["caller", {"principal": principal}])
            wire.admit(principal, now)

    def _passed(self, conn: str, passed: MessagePassed | HeadPassed) -> None:
        if isinstance(passed, HeadPassed) and not passed.sent:
            self._heads[conn] += 1
        _note(self, f"{conn}.{self._heads[conn]}", passed)


def _note(node: HttpClientNode | HttpServerNode, link: str, passed: MessagePassed | HeadPassed) -> None:
    if isinstance(passed, HeadPassed):
        kind = kinds.HEAD_SENT if passed.sent else kinds.HEAD_TAKEN
        node.note(kind, link, [passed.start, passed.headers])
    else:
        node.note(kinds.SENT if passed.sent else kinds.TAKEN, link, text_of(passed.data))
