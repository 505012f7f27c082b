"""What HTTP adds to a ledger: exchanges instead of connections, and a session that is no connection.

A connection that carries exchanges means nothing by itself: it may end at any time, and nobody has missed
anything. An exchange does: with it ends the request that it was made for, a modern one cancelled if its client
has closed it ("closing the SSE response stream is the cancellation signal"), and the stream on which changes
are announced. Of a legacy session that stream is the answer to a GET.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from ._trace import TraceEvent

if TYPE_CHECKING:
    from ._ledger import Asked, ClientParty

HTTP = "http"
"""What is noted of a connection that carries exchanges, as it opens."""

VERSION = "io.modelcontextprotocol/protocolVersion"


@attrs.define(eq=False)
class Exchange:
    """An exchange of a client: its `method`, the request that it was made for, and whether it is the stream on
    which a legacy server announces changes.
    """

    method: str
    asked: Asked | None = None
    pushes: bool = False


class Exchanges:
    """The exchanges of all clients that are under way, and the connections that carry any."""

    def __init__(self) -> None:
        self.conns: set[str] = set()
        self._known: set[str] = set()
        self._open: dict[str, Exchange] = {}

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

    # --- a client ---

    def sent(self, event: TraceEvent) -> None:
        """The head of a request has left."""
        self._open[event.link] = Exchange(event.data[0])
        self._known.add(event.link)

    def asks(self, link: str, asked: Asked) -> None:
        """A request has left in an exchange."""
        exchange = self._open.get(link)
        if exchange is not None:
            exchange.asked = asked

    def taken(self, client: ClientParty, event: TraceEvent) -> None:
        """The head of a reply is there: a GET that is answered by events is where changes are announced."""
        exchange, (status, fields) = self._open.get(event.link), event.data
        if exchange is None or exchange.method != "GET" or status != 200:
            return
        if any(name.lower() == "content-type" and value == "text/event-stream" for name, value in fields):
            exchange.pushes = True
            client.session = bool(client.declared)
            client.invalidate(event, "acknowledged")

    def ended(self, client: ClientParty, event: TraceEvent) -> None:
        """An exchange is over at its client."""
        exchange = self._open.pop(event.link, None)
        if exchange is None:
            return
        asked = exchange.asked
        if asked is not None and asked.over is None:
            asked.over = _how(asked, event.data)
            if asked is client.listen and asked.acknowledged:
                client.invalidate(event, "the listen stream ended")
        if exchange.pushes:
            client.session = False
            client.invalidate(event, "the listen stream ended")


def _how(asked: Asked, how: str) -> str:
    """What the end of its exchange means for a request. Where it is legacy, closing is not cancelling: that is
    said by a notification, which may follow.
    """
    if how != "hangup":
        return "lost"
    return "cancelled" if is_modern(asked.params) else "dropped"


def is_modern(params: dict[str, Any]) -> bool:
    """Whether a request is of the modern era."""
    meta: Any = params.get("_meta")
    return isinstance(meta, dict) and VERSION in meta
