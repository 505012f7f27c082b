"""What HTTP adds to a ledger: exchanges instead of connections, and a session that is no connection.

A connection that carries exchanges means nothing by itself: it may end at any time, and nobody has missed
anything. An exchange does: with it ends the request that it was made for, a modern one cancelled if its
client has closed it ("closing the SSE response stream is the cancellation signal"), and the stream on which
changes are announced. Of a legacy session that stream is the answer to a GET; its other messages come over
any number of exchanges, which the session id keeps together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from mcp_sansio._meta import VERSION
from mcp_sansio._trace import HTTP, TraceEvent

from ._listeners import Listener

if TYPE_CHECKING:
    from ._parties import Asked, ClientParty, Owed, ServerParty


@attrs.define(eq=False)
class Exchange:
    """An exchange at one end: its `method`, the request that it was made for, the legacy session that it
    belongs to; whether it says that a session is `initialized`, whether it is the stream on which a legacy
    server announces changes, and whether its reply says that the session is `gone`.
    """

    method: str
    link: str = ""
    asked: Asked | None = None
    owed: Owed | None = None
    session: str | None = None
    initialized: bool = False
    pushes: bool = False
    gone: bool = False


class Exchanges:
    """The exchanges that are under way, and the connections that carry any."""

    def __init__(self) -> None:
        self.conns: set[str] = set()
        self._known: set[str] = set()
        self._open: dict[str, Exchange] = {}
        self._served: dict[str, Exchange] = {}
        self._owed: dict[tuple[str | None, Any], list[Owed]] = {}
        self._granted: dict[str | None, bool] = {}
        self._initialized: set[str | None] = set()
        self._pushing: dict[str | None, Exchange] = {}

    def opened(self, event: TraceEvent) -> None:
        """A connection is there."""
        if event.data == HTTP:
            self.conns.add(event.link)

    def conn_of(self, link: str) -> str:
        """The connection that a link is, or is carried by."""
        conn = link.rpartition(".")[0]
        return conn if conn in self.conns else link

    def carries(self, link: str) -> bool:
        """Whether a link is an exchange, or the connection of some."""
        return link in self._known or self.conn_of(link) in self.conns

    def talk(self, link: str) -> str:
        """What a message at a server is part of: its legacy session, or the link that it came over."""
        exchange = self._served.get(self.conn_of(link))
        within = exchange is not None and exchange.link == link
        return link if exchange is None or not within or exchange.session is None else exchange.session

    # --- a client ---

    def sent(self, event: TraceEvent) -> None:
        """The head of a request has left."""
        self._open[event.link] = Exchange(event.data[0], event.link, session=_field(event, "mcp-session-id"))
        self._known.add(event.link)

    def asks(self, link: str, asked: Asked) -> None:
        """A request has left in an exchange."""
        exchange = self._open.get(link)
        if exchange is not None:
            exchange.asked = asked

    def tells(self, link: str) -> None:
        """That the session is initialized has left in an exchange."""
        if link in self._open:
            self._open[link].initialized = True

    def taken(self, client: ClientParty, event: TraceEvent) -> None:
        """The head of a reply is there: a GET that is answered by events is where changes are announced. That
        they are is certain only if the server has accepted that the session is initialized.
        """
        exchange = self._open.get(event.link)
        if exchange is None:
            return
        exchange.gone = event.data[0] == 404 and exchange.session is not None
        client.initialized = client.initialized or (exchange.initialized and 200 <= event.data[0] < 300)
        if exchange.method == "GET" and _is_stream(event):
            exchange.pushes = True
            client.session = bool(client.declared)
            client.invalidate(event, "acknowledged")

    def is_gone(self, link: str) -> bool:
        """Whether what comes in an exchange is about a session that is gone, and no answer to its request."""
        exchange = self._open.get(link)
        return exchange is not None and exchange.gone

    def is_foreign(self, link: str, asked: Asked | None) -> bool:
        """Whether an answer comes in the exchange of another request, where it is none."""
        exchange = self._open.get(link)
        return exchange is not None and exchange.asked is not None and exchange.asked is not asked

    def ended(self, client: ClientParty, event: TraceEvent) -> Asked | None:
        """An exchange is over at its client; the request that is over with it, if there is one."""
        exchange = self._open.pop(event.link, None)
        if exchange is None:
            return None
        asked = exchange.asked if exchange.asked is not None and exchange.asked.over is None else None
        if asked is not None:
            asked.over = _how(asked, event.data)
            if asked is client.listen and asked.acknowledged:
                client.invalidate(event, "the listen stream ended")
        if exchange.pushes:
            client.session = False
            client.invalidate(event, "the listen stream ended")
        return asked

    # --- a server ---

    def served(self, server: ServerParty, event: TraceEvent) -> None:
        """The head of a request is there; the exchange before it on the same connection is over."""
        conn = self.conn_of(event.link)
        self.left(server, conn, event.index)
        exchange = Exchange(event.data[0], event.link, session=_field(event, "mcp-session-id"))
        self._served[conn] = exchange

    def answered(self, server: ServerParty, event: TraceEvent) -> None:
        """The head of a reply has left: the newest GET of a session is where changes are announced."""
        exchange = self._served.get(self.conn_of(event.link))
        if exchange is None:
            return
        exchange.session = exchange.session or _field(event, "mcp-session-id")
        if exchange.method != "GET" or not _is_stream(event):
            return
        before, self._pushing[exchange.session] = self._pushing.get(exchange.session), exchange
        if before is not None:
            server.listeners.closed(before.link, event.index)
        ready = event.index if exchange.session in self._initialized else None
        granted = self._granted.get(exchange.session, False)
        server.listeners.open[event.link, None] = Listener(
            event.link, None, event.index, wanted=True, granted=granted, ready=ready
        )

    def owes(self, link: str, key: Any, owed: Owed) -> None:
        """A request was taken in."""
        exchange = self._served.get(self.conn_of(link))
        if exchange is not None:
            exchange.owed = owed
            if exchange.session is not None:
                self._owed.setdefault((exchange.session, key), []).append(owed)

    def cancelled(self, link: str, key: Any) -> None:
        """A legacy client has cancelled a request, which came in another exchange of the session."""
        exchange = self._served.get(self.conn_of(link))
        if exchange is not None and exchange.session is not None:
            for owed in self._owed.get((exchange.session, key), ()):
                owed.cancelled = owed.cancelled or not owed.answers

    def initialized(self, server: ServerParty, link: str, index: int) -> None:
        """A session is initialized: from now on changes are announced."""
        exchange = self._served.get(self.conn_of(link))
        if exchange is None:
            return
        self._initialized.add(exchange.session)
        pushing = self._pushing.get(exchange.session)
        listener = None if pushing is None else server.listeners.open.get((pushing.link, None))
        if listener is not None and listener.ready is None:
            listener.ready = index

    def welcomed(self, server: ServerParty, link: str) -> None:
        """A session has begun; nothing is announced in it before there is a stream for that."""
        session = server.listeners.open.pop((link, None), None)
        exchange = self._served.get(self.conn_of(link))
        if session is not None and exchange is not None:
            self._granted[exchange.session] = session.granted

    def left(self, server: ServerParty, conn: str, index: int) -> None:
        """A connection has ended at its server, or gone on to another exchange."""
        exchange = self._served.pop(conn, None)
        if exchange is None:
            return
        server.listeners.closed(exchange.link, index)
        owed = exchange.owed
        if owed is not None and owed.open:
            server.drop(owed)


def _is_stream(event: TraceEvent) -> bool:
    """Whether a reply has begun that is a stream of events."""
    return event.data[0] == 200 and _field(event, "content-type") == "text/event-stream"


def _field(event: TraceEvent, name: str) -> str | None:
    """A header field of a head."""
    return next((value for field, value in event.data[1] if field.lower() == name), None)


def _how(asked: Asked, how: str) -> str:
    """What the end of its exchange means for a request. Where it is legacy, closing is not cancelling: that
    is said by a notification, which may follow.
    """
    if how != "hangup":
        return "lost"
    return "cancelled" if is_modern(asked.params) else "dropped"


def is_modern(params: dict[str, Any]) -> bool:
    """Whether a request is of the modern era."""
    meta: Any = params.get("_meta")
    return isinstance(meta, dict) and VERSION in meta
