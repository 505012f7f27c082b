"""One connection of an HTTP server: bytes of HTTP/1.1 in, bytes out; h11 does the grammar.

Requests are answered one after the other, each by an `HttpExchange`. Those that come early wait, unparsed and
within a limit, but reading goes on while a reply is written, since the end of the input then says that the
peer is gone. A request that is refused before its body has come is answered at once; what is left of the
body is read and dropped, so that the peer sees the answer and not a reset.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import h11

from ._errors import INTERNAL_ERROR, LocalProtocolError
from ._events import WireFailed
from ._h11_visit import PHRASES, VISIT, H11Config, Visit, VisitInput
from ._http_exchange import Head, HttpExchange, RequestHead
from ._http_server import HttpServer
from ._passing import OnMessage

SMALL_REST = 65_536
"""How many bytes of a body that nobody reads are better read than the connection given up."""

_OVER = (Visit.LAST, Visit.CLOSED)


class H11ServerWire:
    """A connection that an HTTP server has accepted. `token` is the adapter's own.

    With `ask`, each request waits until somebody has said whose it is: then `next_ready` returns this, and
    `pending` is its head, to be answered by `admit`, `deny` or `fail`. `peer` is for display, `on_message`
    that of its exchanges. When the server is closed, so is every connection that has nothing to say any more.
    """

    def __init__(
        self,
        http: HttpServer,
        now: float,
        config: H11Config | None = None,
        *,
        ask: bool = False,
        peer: object = None,
        on_message: OnMessage | None = None,
    ) -> None:
        self.token: Any = None
        self.pending: RequestHead | None = None
        self._http = http
        self._server = http.server
        self._config = config or H11Config()
        self._asks = ask
        self._peer = peer
        self._on_message = on_message
        self._state = VISIT.start
        self._input = bytearray()
        self._out: list[bytes] = []
        self._closing = False
        self._prepare()
        http.enter(self)
        self._time(self._too_slow, self._config.request_timeout, self._server.tick(now))

    def _prepare(self) -> None:
        """Be ready to read a request."""
        self._h11 = h11.Connection(h11.SERVER, self._config.max_head - 1)
        self._exchange: HttpExchange | None = None
        self._method = ""
        self._complete = False  # the body of the request
        self._rest: int | None = 0  # what is to come of it, if that is known

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
        return self._state not in _OVER

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes in; what they ask for happens before this returns."""
        now = self._server.tick(now)
        if self._state is not Visit.LINGERING and self._state not in _OVER:
            self._input += data
            self._read(now)

    def receive_eof(self, now: float, reason: str = "the peer is gone") -> None:
        """The peer has finished, which for HTTP means that it does not wait for anything any more; what
        has been said already is written.
        """
        now = self._server.tick(now)
        self._pull()
        if self._state not in _OVER:
            self._end(now, reason)

    def data_to_send(self) -> list[bytes]:
        """Everything that can be written now; to be asked again when that has been written."""
        self._pull()
        chunks, self._out = self._out, []
        if chunks:
            self._time(self._stalled, self._config.write_timeout, self._clock())
            self._server.wake(self)
            return chunks
        self._server.cancel_timer(self._stalled, self)
        if self._state is Visit.LAST:
            self._leave(VisitInput.DRAINED)
        return chunks

    def close(self, now: float) -> None:
        """Take no more requests, and close when the reply of the moment has been written."""
        now = self._server.tick(now)
        self._closing = True
        if self._state is Visit.ASKING:
            refusal = self._http.refusal(503, "the server is shutting down", INTERNAL_ERROR, port=self)
            self._begin(refusal, now)
        elif self._state in (Visit.DUE, Visit.IDLE, Visit.REST):
            self._end(now, "closed")

    def abort(self, now: float, reason: str = "the connection broke") -> None:
        """Close at once."""
        if self.closed:
            return
        self._drop_exchange(self._server.tick(now), reason)
        self._out.clear()
        self._server.emit(WireFailed(self, reason))
        self._leave(VisitInput.ABORT)
        self._server.wake(self)

    # --- whose request it is ---

    def admit(self, principal: str | None, now: float) -> None:
        """The pending request comes on behalf of `principal`; None is nobody in particular.

        This, `deny` and `fail` do nothing if the request is gone meanwhile, and raise `LocalProtocolError`
        if there is none.
        """
        head = self._asked_about()
        if head is None:
            return
        now = self._server.tick(now)
        asked = head.method, head.target, head.headers, now
        exchange = self._http.exchange(
            *asked, principal=principal, peer=self._peer, port=self, on_message=self._on_message
        )
        self._begin(exchange, now)

    def deny(self, challenge: str, now: float, *, status: int = 401, reason: str = "unauthorized") -> None:
        """The pending request has no right to be here: `challenge` is the `WWW-Authenticate` of the reply."""
        if self._asked_about() is not None:
            refusal = self._http.unauthorized(challenge, status=status, reason=reason, port=self)
            self._begin(refusal, self._server.tick(now))

    def fail(self, now: float) -> None:
        """It could not be found out whose the pending request is."""
        if self._asked_about() is not None:
            self._begin(self._http.undecided(port=self), self._server.tick(now))

    def _asked_about(self) -> RequestHead | None:
        if self.pending is None and self._state is not Visit.LINGERING and self._state not in _OVER:
            raise LocalProtocolError("no request is pending")
        return self.pending

    # --- requests ---

    @property
    def _kept(self) -> int:
        """How many bytes wait to be read."""
        return len(self._h11.trailing_data[0]) + len(self._input)

    def _read(self, now: float) -> None:
        """Take in what has come, so far as its turn has come."""
        try:
            while self._reads and (event := self._next(now)) is not h11.NEED_DATA:
                self._handle(event, now)
        except h11.RemoteProtocolError as error:
            self._server.emit(WireFailed(self, f"HTTP: {error}"))
            self._refuse(error.error_status_hint, now)

    @property
    def _reads(self) -> bool:
        """Whether there is something to be read that belongs to the request of the moment."""
        body = self._state in (Visit.OPEN, Visit.REST) and not self._complete
        return body or self._state in (Visit.DUE, Visit.IDLE)

    def _next(self, now: float) -> Any:
        """What h11 makes of the input."""
        event = self._h11.next_event()
        while event is h11.NEED_DATA and self._feed(now):
            event = self._h11.next_event()
        return event

    def _feed(self, now: float) -> bool:
        """Give h11 no more input at a time than a head may have, so that any split of it is equal."""
        kept = len(self._h11.trailing_data[0])
        if self._h11.their_state is h11.IDLE and not kept:
            # "A server that is expecting to receive and parse a request-line SHOULD ignore at least one
            # empty line (CRLF) received prior to the request-line" (RFC 9112, 2.2).
            self._input = self._input.lstrip(b"\r\n")
        piece = bytes(self._input[: self._config.max_head - kept])
        if not piece:
            return False
        del self._input[: len(piece)]
        self._h11.receive_data(piece)
        if self._state is Visit.IDLE:
            self._move(VisitInput.BYTES)
            self._server.cancel_timer(self._idle, self)
            self._time(self._too_slow, self._config.request_timeout, now)
        return True

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
        given = [(name.lower(), value) for name, value in request.headers.raw_items()]  # at once, not by one
        known = dict(given)
        _check_framing(request.http_version, known)
        fields = tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in given])
        self._method = request.method.decode()
        self._rest = _length(known)
        self.pending = RequestHead(self._method, request.target.decode("latin-1"), fields, self._peer)
        if self._asks:
            self._move(VisitInput.ASK)
            self._server.wake(self)
        else:
            self.admit(None, now)

    def _begin(self, exchange: HttpExchange, now: float) -> None:
        self.pending = None
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
        closing = [("connection", "close")] if unread or self._parting else []
        reason = PHRASES.get(status, b"")
        return h11.Response(status_code=status, headers=[*headers, *closing], reason=reason)

    @property
    def _parting(self) -> bool:
        return self._closing or self._http.closed

    def _send(self, event: Any) -> None:
        """Write something; but no reply to a HEAD has a body."""
        if not (isinstance(event, h11.Data) and self._method == "HEAD"):
            self._out += self._h11.send_with_data_passthrough(event) or ()

    def _replied(self) -> None:
        """Go on with the next request, if there may be one.

        One that has come early is not read here, for nothing happens while output is pulled.
        """
        if self._h11.our_state is not h11.DONE or self._parting:
            self._part()
        elif self._complete:
            self._next_cycle()
            if self._input:
                self._server.set_timer(self._go_on, self._clock(), self)
        else:
            self._move(VisitInput.EARLY)

    def _next_cycle(self) -> None:
        """The request of the moment is over; what came after it is the beginning of the next one."""
        self._move(VisitInput.DONE)
        self._input[:0] = self._h11.trailing_data[0]
        self._prepare()
        self._time(self._idle, self._config.idle_timeout, self._clock())

    def _refuse(self, status: int, now: float) -> None:
        """Answer what is no request, or one that cannot be served, unless there is an answer already."""
        self._drop_exchange(now, "refused")
        self.pending = None
        if self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self._end(now, "refused")
            return
        text = PHRASES.get(status, b"")
        fields = [("content-type", "text/plain"), ("content-length", str(len(text))), ("connection", "close")]
        self._send(h11.Response(status_code=status, headers=fields, reason=text))
        self._send(h11.Data(data=text))
        self._send(h11.EndOfMessage())
        self._part()

    def _part(self) -> None:
        """Close, when what comes of the body has been dropped."""
        if self._complete:
            self._end(self._clock(), "no more requests")
            return
        self._move(VisitInput.LINGER)
        self._server.cancel_timer(self._too_slow, self)
        self._time(self._lingered, self._config.linger, self._clock())
        self._server.wake(self)

    def _end(self, now: float, reason: str) -> None:
        """Read nothing more; what has been said is still written."""
        self._drop_exchange(now, reason)
        self.pending = None
        self._move(VisitInput.END)
        self._cancel(self._too_slow, self._idle, self._lingered, self._go_on)
        self._server.wake(self)

    def _leave(self, event: VisitInput) -> None:
        self.pending = None
        self._move(event)
        self._cancel(self._too_slow, self._idle, self._lingered, self._go_on, self._stalled)
        self._http.leave(self)

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

    def _cancel(self, *handlers: Any) -> None:
        for handler in handlers:
            self._server.cancel_timer(handler, self)

    def _too_slow(self, _: Hashable, now: float) -> None:
        if self._state is Visit.DUE and not self._kept:
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


def _check_framing(version: bytes, fields: Mapping[bytes, bytes]) -> None:
    """Raise `h11.RemoteProtocolError` for what h11 accepts and a server must not: another HTTP, and a body
    whose length is told in two ways, or in a way that is younger than the request (RFC 9112, 6.1).
    """
    if not version.startswith(b"1."):
        raise h11.RemoteProtocolError("only HTTP/1.1 is spoken here", error_status_hint=505)
    if b"transfer-encoding" in fields and (b"content-length" in fields or version == b"1.0"):
        raise h11.RemoteProtocolError("how long is the body?", error_status_hint=400)


def _length(fields: Mapping[bytes, bytes]) -> int | None:
    """How long the body will be; None if that is not said."""
    if b"transfer-encoding" in fields:
        return None
    return int(fields.get(b"content-length", b"0"))
