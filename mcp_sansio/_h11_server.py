"""One connection of an HTTP server: bytes of HTTP/1.1 in, bytes out; h11 does the grammar.

Requests are answered one after the other, each by an `HttpExchange`. Those that come early wait, unparsed and
within a limit, but reading goes on while a reply is written, since the end of the input then says that the
peer is gone. A request that is refused before its body has come is answered at once; what is left of the
body is read and dropped, so that the peer sees the answer and not a reset.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable
from typing import Any

import attrs
import h11

from ._checks import from_
from ._errors import LocalProtocolError
from ._events import WireFailed
from ._http_exchange import Head, HttpExchange, RequestHead
from ._http_server import HttpServer
from ._tables import Table

_PHRASES = {
    200: b"OK",
    202: b"Accepted",
    204: b"No Content",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    406: b"Not Acceptable",
    408: b"Request Timeout",
    413: b"Content Too Large",
    415: b"Unsupported Media Type",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    501: b"Not Implemented",
    503: b"Service Unavailable",
    505: b"HTTP Version Not Supported",
}

SMALL_REST = 65_536
"""How many bytes of a body that nobody reads are better read than the connection given up."""


@attrs.frozen(kw_only=True)
class H11Config:
    """How patient the connections of a server are. Times are seconds, None for ever.

    `request_timeout` is what a request may take from its first byte, the first one from the connection's
    beginning, to the last; `idle_timeout` the time between requests; `write_timeout` what the peer may take
    to read what has been handed out. `linger` limits for how long the rest of a refused body is dropped.
    `max_head` limits the head of a request, `max_pipelined` what is kept of later ones, in bytes.
    """

    request_timeout: float | None = attrs.field(default=60.0, validator=from_(0))
    idle_timeout: float | None = attrs.field(default=75.0, validator=from_(0))
    write_timeout: float | None = attrs.field(default=60.0, validator=from_(0))
    linger: float = attrs.field(default=2.0, validator=from_(0))
    max_head: int = attrs.field(default=65_536, validator=from_(1))
    max_pipelined: int = attrs.field(default=65_536, validator=from_(1))


class Visit(enum.Enum):
    """How far a connection is with the request of the moment."""

    IDLE = "idle"
    ASKING = "asking"
    OPEN = "open"
    REST = "rest"
    LINGERING = "lingering"
    LAST = "last"
    CLOSED = "closed"


class VisitInput(enum.Enum):
    """What moves a connection."""

    ASK = "whose request"
    BEGIN = "request"
    DONE = "reply and body complete"
    EARLY = "reply complete, body short"
    LINGER = "reply complete, body dropped"
    END = "nothing more is read"
    DRAINED = "output taken"
    ABORT = "abort"


VISIT = Table(
    "visit",
    "A connection of an HTTP server: one request after the other, and a rest that nobody reads.",
    Visit.IDLE,
    {
        (Visit.IDLE, VisitInput.ASK): Visit.ASKING,
        (Visit.IDLE, VisitInput.BEGIN): Visit.OPEN,
        (Visit.ASKING, VisitInput.BEGIN): Visit.OPEN,
        (Visit.OPEN, VisitInput.DONE): Visit.IDLE,
        (Visit.OPEN, VisitInput.EARLY): Visit.REST,
        (Visit.REST, VisitInput.DONE): Visit.IDLE,
        **{
            (state, VisitInput.LINGER): Visit.LINGERING
            for state in (Visit.IDLE, Visit.ASKING, Visit.OPEN, Visit.REST)
        },
        **{
            (state, VisitInput.END): Visit.LAST
            for state in (Visit.IDLE, Visit.ASKING, Visit.OPEN, Visit.REST, Visit.LINGERING)
        },
        (Visit.LAST, VisitInput.DRAINED): Visit.CLOSED,
        **{(state, VisitInput.ABORT): Visit.CLOSED for state in Visit},
    },
)


class H11ServerWire:
    """A connection that an HTTP server has accepted. `token` is the adapter's own.

    With `ask`, each request waits until somebody has said whose it is: then `next_ready` returns this, and
    `pending` is its head, to be answered by `admit`, `deny` or `fail`. `peer` is for display. When the server
    is closed every connection is to be closed as well.
    """

    def __init__(
        self,
        http: HttpServer,
        now: float,
        config: H11Config | None = None,
        *,
        ask: bool = False,
        peer: object = None,
    ) -> None:
        self.token: Any = None
        self.pending: RequestHead | None = None
        self._http = http
        self._server = http.server
        self._config = config or H11Config()
        self._asks = ask
        self._peer = peer
        self._state = VISIT.start
        self._h11 = h11.Connection(h11.SERVER, self._config.max_head)
        self._exchange: HttpExchange | None = None
        self._out: list[bytes] = []
        self._complete = False  # the body of the request
        self._rest: int | None = 0  # what is to come of it, if that is known
        self._kept = 0
        self._closing = False
        self._begun = False  # the time of the request runs
        self._begin_time(self._server.tick(now))

    # --- the contract of a wire ---

    @property
    def closed(self) -> bool:
        """Whether nothing will be read or written any more."""
        return self._state is Visit.CLOSED

    @property
    def want_read(self) -> bool:
        """Whether input is welcome; not while too much of later requests is kept."""
        if self._state is Visit.ASKING or (self._state is Visit.OPEN and self._complete):
            return self._kept < self._config.max_pipelined
        return not self._over()

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes in; what they ask for happens before this returns."""
        if not data or self._over() or self._state is Visit.LINGERING:
            return
        now = self._server.tick(now)
        self._h11.receive_data(data)
        self._kept += len(data)
        self._read(now)

    def receive_eof(self, now: float, reason: str = "the peer is gone") -> None:
        """The peer has finished, which for HTTP means that it does not wait for anything any more; what
        has been said already is written.
        """
        if self._over():
            return
        self._pull()
        if not self._over():
            self._end(now, reason)

    def data_to_send(self) -> list[bytes]:
        """Everything that can be written now."""
        self._pull()
        chunks, self._out = self._out, []
        if chunks:
            self._time(self._stalled, self._config.write_timeout, self._clock())
        else:
            self._server.cancel_timer(self._stalled, self)
        if self._state is Visit.LAST:
            self._move(VisitInput.DRAINED)
            self._cancel_timers()
        return chunks

    def close(self, now: float) -> None:
        """Take no more requests, and close when the reply of the moment has been written."""
        self._closing = True
        if self._state in (Visit.IDLE, Visit.ASKING, Visit.REST):
            self._end(now, "closed")

    def abort(self, now: float, reason: str = "the connection broke") -> None:
        """Close at once."""
        if self.closed:
            return
        self._drop_exchange(now, reason)
        self._out.clear()
        self._move(VisitInput.ABORT)
        self._cancel_timers()
        self._server.wake(self)

    def _over(self) -> bool:
        return self._state in (Visit.LAST, Visit.CLOSED)

    # --- whose request it is ---

    def admit(self, principal: str | None, now: float) -> None:
        """The pending request comes on behalf of `principal`; None is nobody in particular."""
        head = self._answered()
        now = self._server.tick(now)
        self._begin(
            self._http.exchange(
                head.method, head.target, head.headers, now, principal=principal, peer=self._peer, port=self
            ),
            now,
        )

    def deny(self, challenge: str, now: float, *, status: int = 401, reason: str = "unauthorized") -> None:
        """The pending request has no right to be here: `challenge` is the `WWW-Authenticate` of the reply."""
        self._answered()
        refusal = self._http.unauthorized(challenge, status=status, reason=reason, port=self)
        self._begin(refusal, self._server.tick(now))

    def fail(self, now: float) -> None:
        """It could not be found out whose the pending request is."""
        self._answered()
        self._refuse(500, self._server.tick(now))

    def _answered(self) -> RequestHead:
        head, self.pending = self.pending, None
        if head is None:
            raise LocalProtocolError("no request is pending")
        return head

    # --- requests ---

    def _read(self, now: float) -> None:
        """Take in what has come, so far as its turn has come."""
        try:
            while self._state is Visit.IDLE or (
                self._state in (Visit.OPEN, Visit.REST) and not self._complete
            ):
                event = self._h11.next_event()
                if event is h11.NEED_DATA:
                    break
                self._kept = len(self._h11.trailing_data[0])
                self._handle(event, now)
        except h11.RemoteProtocolError as error:
            self._server.emit(WireFailed(self, f"HTTP: {error}"))
            self._refuse(error.error_status_hint, now)
        if self._state is Visit.IDLE and self._kept and not self._begun:
            self._begin_time(now)

    def _handle(self, event: Any, now: float) -> None:
        if isinstance(event, h11.Request):
            self._asked(event, now)
        elif isinstance(event, h11.Data):
            self._rest = None if self._rest is None else self._rest - len(event.data)
            if self._exchange is not None:
                self._exchange.receive_data(bytes(event.data), now)
        else:
            self._complete = True
            self._server.cancel_timer(self._too_slow, self)
            if self._exchange is not None:
                self._exchange.receive_eof(now)
            else:
                self._next_cycle()

    def _asked(self, request: h11.Request, now: float) -> None:
        fields = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers)
        head = RequestHead(request.method.decode(), request.target.decode("latin-1"), fields, self._peer)
        self._complete = False
        self._rest = _length(request)
        if not self._begun:
            self._begin_time(now)
        self.pending = head
        if not self._asks:
            self.admit(None, now)
            return
        self._move(VisitInput.ASK)
        self._server.wake(self)

    def _begin(self, exchange: HttpExchange, now: float) -> None:
        self._move(VisitInput.BEGIN)
        self._exchange = exchange
        if exchange.want_read and self._h11.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        self._server.wake(self)
        if self._asks:
            self._read(now)

    # --- replies ---

    def _pull(self) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        for out in exchange.outputs():
            if isinstance(out, Head):
                self._send(self._response(out.status, out.headers))
            elif isinstance(out, bytes):
                self._send(h11.Data(data=out))
            else:
                self._send(h11.EndOfMessage())
                self._exchange = None
                self._replied()

    def _response(self, status: int, headers: tuple[tuple[str, str], ...]) -> h11.Response:
        """A head, which says whether another request will be read: not after one of whose body there is more
        to come than is worth reading.
        """
        unread = not self._complete and (
            self._rest is None or self._rest > SMALL_REST or self._h11.they_are_waiting_for_100_continue
        )
        closing = [("connection", "close")] if self._closing or self._http.closed or unread else []
        fields = [*headers, *closing]
        return h11.Response(status_code=status, headers=fields, reason=_phrase(status))

    def _send(self, event: Any) -> None:
        self._out += self._h11.send_with_data_passthrough(event) or ()

    def _replied(self) -> None:
        """Go on with the next request, if there may be one."""
        if self._h11.our_state is not h11.DONE:
            self._leave()
        elif self._complete:
            self._next_cycle()
        else:
            self._move(VisitInput.EARLY)

    def _leave(self) -> None:
        """Close, when what comes of the body has been dropped."""
        if self._complete:
            self._move(VisitInput.END)
        else:
            self._move(VisitInput.LINGER)
            self._time(self._lingered, self._config.linger, self._clock())
        self._server.cancel_timer(self._too_slow, self)
        self._server.wake(self)

    def _next_cycle(self) -> None:
        """What has come early is not read here, for nothing happens while output is pulled."""
        self._move(VisitInput.DONE)
        self._begun = False
        self._h11.start_next_cycle()
        self._kept = len(self._h11.trailing_data[0])
        if self._kept:
            self._server.set_timer(self._go_on, self._clock(), self)
        else:
            self._time(self._idle, self._config.idle_timeout, self._clock())

    def _refuse(self, status: int, now: float) -> None:
        """Answer what is no request, or one that cannot be served."""
        self._drop_exchange(now, "refused")
        self.pending = None
        text = _phrase(status)
        fields = [("content-type", "text/plain"), ("content-length", str(len(text))), ("connection", "close")]
        for event in (
            h11.Response(status_code=status, headers=fields, reason=text),
            h11.Data(data=text),
            h11.EndOfMessage(),
        ):
            self._send(event)
        self._leave()

    def _end(self, now: float, reason: str) -> None:
        self._drop_exchange(now, reason)
        self.pending = None
        self._move(VisitInput.END)
        self._server.wake(self)

    def _drop_exchange(self, now: float, reason: str) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.abort(now, reason)

    def _move(self, event: VisitInput) -> None:
        self._state = VISIT.next(self._state, event)

    # --- time ---

    def _clock(self) -> float:
        return self._server.tick(-math.inf)

    def _time(self, handler: Any, seconds: float | None, now: float) -> None:
        if seconds is not None:
            self._server.set_timer(handler, now + seconds, self)

    def _begin_time(self, now: float) -> None:
        self._begun = True
        self._time(self._too_slow, self._config.request_timeout, now)
        self._server.cancel_timer(self._idle, self)

    def _cancel_timers(self) -> None:
        for handler in (self._too_slow, self._idle, self._stalled, self._lingered, self._go_on):
            self._server.cancel_timer(handler, self)

    def _too_slow(self, _: Hashable, now: float) -> None:
        if self._state is Visit.REST or (self._state is Visit.IDLE and not self._kept):
            self._end(now, "no request in time")
        else:
            self._refuse(408, now)

    def _idle(self, _: Hashable, now: float) -> None:
        self._end(now, "idle")

    def _stalled(self, _: Hashable, now: float) -> None:
        self.abort(now, "the peer does not read")

    def _lingered(self, _: Hashable, now: float) -> None:
        self._end(now, "refused")

    def _go_on(self, _: Hashable, now: float) -> None:
        self._read(now)


def _length(request: h11.Request) -> int | None:
    """How long the body will be; None if that is not said."""
    fields = dict(request.headers)
    if b"transfer-encoding" in fields:
        return None
    return int(fields.get(b"content-length", b"0"))


def _phrase(status: int) -> bytes:
    """What a status is called; it means nothing to anybody but people."""
    return _PHRASES.get(status, b"Error" if status >= 400 else b"")
