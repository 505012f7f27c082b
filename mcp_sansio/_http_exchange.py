"""One HTTP exchange of a server: a request body comes in, a status, headers and a body go out.

What a request means is decided by `HttpServer`; here is how it is answered. A reply that comes before
anything else is one JSON body, and anything that comes earlier opens a stream of server-sent events.
Modern messages stay in their stream until they are pulled here, so a reader that does not read costs what
the stream keeps, which for notifications of changes is one bit. Messages about a legacy request come
through `put`, for its exchange is one of many of its session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from ._contract import Carrier, Port, Send
from ._errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from ._http_rules import EVENT_STREAM, JSON, accepts, status_of
from ._json import RequestId, error_bytes
from ._passing import HeadPassed, MessagePassed, OnMessage
from ._sse import COMMENT, encode_event
from ._tables import Table, Word

if TYPE_CHECKING:
    from ._http_server import HttpServer
    from ._http_sessions import Session
    from ._stream import Stream


@attrs.frozen
class Head:
    """The status and the header fields of a reply; names are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]


@attrs.frozen
class End:
    """The body of a reply is complete."""


@attrs.frozen
class HttpRequest:
    """What is known of a request before its body: `fields` are its headers by lower-case name."""

    method: str
    target: str
    fields: Mapping[str, str]
    principal: str | None = None
    peer: object = None


@attrs.frozen
class RequestHead:
    """The head of a request, for whoever has to say on whose behalf it comes. `peer` is the adapter's own."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    peer: object = None


class Exchange(Word):
    """How far an exchange is."""

    RECEIVING = "receiving"
    ANSWERING = "answering"
    STREAMING = "streaming"
    ENDED = "ended"
    CLOSED = "closed"


class ExchangeInput(Word):
    """What moves an exchange."""

    RECEIVED = "request complete"
    HEAD = "events begin"
    END = "reply complete"
    DRAINED = "reply taken"
    ABORT = "abort"


EXCHANGE = Table(
    "exchange",
    "An HTTP exchange of a server: it may be refused before its body has come.",
    Exchange.RECEIVING,
    {
        (Exchange.RECEIVING, ExchangeInput.RECEIVED): Exchange.ANSWERING,
        (Exchange.RECEIVING, ExchangeInput.END): Exchange.ENDED,
        (Exchange.ANSWERING, ExchangeInput.HEAD): Exchange.STREAMING,
        (Exchange.ANSWERING, ExchangeInput.END): Exchange.ENDED,
        (Exchange.STREAMING, ExchangeInput.END): Exchange.ENDED,
        (Exchange.ENDED, ExchangeInput.DRAINED): Exchange.CLOSED,
        **{(state, ExchangeInput.ABORT): Exchange.CLOSED for state in Exchange},
    },
)


class HttpExchange:
    """One request of an HTTP server and its reply; made by `HttpServer.exchange`.

    Feed the body in, take `outputs` whenever `Server.next_ready` returns this exchange and the last output
    has been written. `token` is the adapter's own, `number` and `on_message` are the server's.
    """

    def __init__(
        self,
        http: HttpServer,
        request: HttpRequest,
        port: Port | None = None,
        number: int = 0,
        on_message: OnMessage | None = None,
    ) -> None:
        self.token: Any = None
        self.port: Port = self if port is None else port
        self.request = request
        self.session: Session | None = None
        self.session_id: str | None = None
        self.asked: tuple[RequestId, ...] = ()
        self._http = http
        self._number = number
        self._on_message = on_message
        self._state = EXCHANGE.start
        self._body = bytearray()
        self._out: list[Head | bytes | End] = []
        self._inbox: list[Send] = []
        self._stream: Stream | None = None
        self._pushes = False
        self._modern = False
        self._comment = False
        self._now = 0.0
        accept, reply = request.fields.get("accept"), http.config.reply
        self._reads_json, self._reads_events = accepts(accept, JSON), accepts(accept, EVENT_STREAM)
        self._whole = self._reads_json and reply != "sse"
        self._may_stream = self._reads_events and (reply != "json" or not self._reads_json)

    # --- for the adapter ---

    @property
    def closed(self) -> bool:
        """Whether the reply has been taken, or the exchange was aborted."""
        return self._state is Exchange.CLOSED

    @property
    def want_read(self) -> bool:
        """Whether the rest of the body is wanted; not once the request has been refused."""
        return self._state is Exchange.RECEIVING

    def receive_data(self, data: bytes, now: float) -> None:
        """Take a part of the request's body; ignored where the answer does not depend on it."""
        if self._state is not Exchange.RECEIVING:
            return
        self._body += data
        if len(self._body) > self._http.config.max_body:
            self._body.clear()
            self.refuse(413, f"the body has more than {self._http.config.max_body} bytes")

    def receive_eof(self, now: float) -> None:
        """The request's body is complete: what it asks for happens now."""
        if self._state is not Exchange.RECEIVING:
            return
        self._now = now
        self._move(ExchangeInput.RECEIVED)
        body = bytes(self._body)
        self._body.clear()
        self._note(body, sent=False)
        self._http.received(self, body, now)

    def abort(self, now: float, reason: str = "the peer is gone") -> None:
        """The peer is gone, or writing to it failed.

        In the modern era that "MUST be treated by the server as cancellation of that request"; in the
        legacy era "disconnection SHOULD NOT be interpreted as the client cancelling its request".
        """
        if self.closed:
            return
        self._move(ExchangeInput.ABORT)
        self._out.clear()
        self._inbox.clear()
        stream, self._stream = self._stream, None
        if stream is not None and self._pushes:
            stream.unplug(now)
        elif stream is not None:
            stream.detach(reason, now)
        self._http.finished(self)

    def outputs(self) -> list[Head | bytes | End]:
        """What can be written now, to be written in this order."""
        self._write_inbox()
        while self._stream is not None and isinstance(message := self._stream.next_outgoing(), Send):
            self._write(message)
        if self._stream is not None and self._stream.done:
            self.end()
        if self._comment and not self._out:
            self._out.append(COMMENT)
        self._comment = False
        out, self._out = self._out, []
        if self._state is Exchange.ENDED:
            self._move(ExchangeInput.DRAINED)
        return out

    # --- for the server: how a request is answered ---

    @property
    def reads_nothing(self) -> bool:
        """Whether the client takes none of the forms that a reply can have."""
        return not (self._reads_json or self._reads_events)

    @property
    def reads_events(self) -> bool:
        """Whether the client takes server-sent events."""
        return self._reads_events

    @property
    def open(self) -> bool:
        """Whether there is more to come than has been said."""
        return self._state in (Exchange.ANSWERING, Exchange.STREAMING)

    @property
    def unanswered(self) -> bool:
        """Whether nothing has been said yet."""
        return self._state is Exchange.ANSWERING and not self._inbox

    def refuse(
        self,
        status: int,
        reason: str,
        code: int = INVALID_REQUEST,
        wire_id: RequestId | None = None,
        *,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Answer with an error, before or instead of what the core would say."""
        body = error_bytes(wire_id, RpcError(code, reason), omit_null_id=True)
        self._reply(status, b"" if self.request.method == "HEAD" else body, headers)

    def accept(self, status: int = 202) -> None:
        """Answer that there is nothing to answer."""
        self._reply(status, b"")

    def ride(self, stream: Stream, now: float, *, listening: bool) -> None:
        """Carry a modern request, whose stream is its own; a subscription is answered by events always."""
        self._modern = True
        if listening:
            self._whole, self._may_stream = False, True
        self._stream = stream
        stream.attach(Carrier(self.port, shared=False), now)

    def push(self, stream: Stream, now: float) -> None:
        """Carry what a legacy session has to say apart from replies."""
        self._move(ExchangeInput.RECEIVED)
        self._now, self._pushes = now, True
        self._begin_events()
        self._stream = stream
        stream.attach(Carrier(self.port, shared=False), now)
        self._http.wake(self)

    def put(self, message: Send) -> None:
        """Take a message about a legacy request."""
        if self.open:
            self._inbox.append(message)
            self._http.wake(self)

    def withdraw(self, wire_id: RequestId) -> None:
        """Do not write the answer to a request, if it waits here."""
        kept = [message for message in self._inbox if message.method is not None or message.id != wire_id]
        if len(kept) < len(self._inbox):
            self._inbox = kept
            self.end()

    def end(self) -> None:
        """Nothing follows what there is: no response will come, or the client listens elsewhere now."""
        self._write_inbox()
        if self._state is Exchange.STREAMING:
            self._finish()
        elif self._state is Exchange.ANSWERING and self._http.closed:
            self._give_up(503, "the server is shutting down", INTERNAL_ERROR)
        elif self._state is Exchange.ANSWERING and self.asked and self._may_stream:
            self._begin_events()  # to a request "the server MUST either return" events or a JSON object
            self._finish()
        elif self._state is Exchange.ANSWERING:
            self.accept()

    def gone(self, reason: str) -> None:
        """The session is over."""
        self._write_inbox()
        if self._state is Exchange.ANSWERING:
            self._give_up(404, reason, INVALID_REQUEST)
        self.end()

    def keep_alive(self) -> None:
        """Write a comment, unless there is something to say anyway."""
        if self._state is Exchange.STREAMING:
            self._comment = True
            self._http.wake(self)

    # --- inside ---

    def _move(self, event: ExchangeInput) -> None:
        self._state = EXCHANGE.next(self._state, event)

    def _give_up(self, status: int, reason: str, code: int) -> None:
        """Answer with an error what was understood; it "MUST include the same ID as the request"."""
        self.refuse(status, reason, code, self.asked[0] if len(self.asked) == 1 else None)

    def _write_inbox(self) -> None:
        waiting, self._inbox = self._inbox, []
        for message in waiting:
            self._write(message)

    def _write(self, message: Send) -> None:
        final = message.method is None and not self._pushes
        if self._state is Exchange.ANSWERING:
            status = status_of(message, modern=self._modern) if final else 200
            if final and (status != 200 or self._whole or not self._may_stream):
                self._reply(status, message.data)
                return
            if not self._may_stream:
                return  # a notification to a client that reads JSON only
            self._begin_events()
        self._note(message.data)
        self._out.append(encode_event(message.data))
        if final:
            self._finish()

    def _begin_events(self) -> None:
        self._move(ExchangeInput.HEAD)
        self._head(
            200, ("content-type", EVENT_STREAM), ("cache-control", "no-cache"), ("x-accel-buffering", "no")
        )

    def _reply(self, status: int, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> None:
        """The whole reply at once."""
        described = [("content-type", JSON)] if body else []
        length = [] if status == 204 else [("content-length", str(len(body)))]
        self._head(status, *described, *length, *headers)
        if body:
            self._note(body)
            self._out.append(body)
        self._finish()

    def _head(self, status: int, *headers: tuple[str, str]) -> None:
        session = [] if self.session_id is None else [("mcp-session-id", self.session_id)]
        fields = (*headers, *session)
        if self._on_message is not None:
            self._on_message(HeadPassed(True, status, fields, self._number))
        self._out.append(Head(status, fields))

    def _note(self, data: bytes, *, sent: bool = True) -> None:
        if self._on_message is not None and data:
            self._on_message(MessagePassed(sent, data, self._number))

    def _finish(self) -> None:
        """Nothing follows; a modern stream ends with its one request."""
        self._move(ExchangeInput.END)
        self._out.append(End())
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.unplug(self._now)
            if not self._pushes:
                stream.receive_eof("answered", self._now)
        self._http.finished(self)
        self._http.wake(self)
