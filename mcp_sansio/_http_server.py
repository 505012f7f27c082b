"""Streamable HTTP, the server's side: what a request means, in either era.

A request is judged twice. Its head decides whether it may be here at all: host, origin, method, media
types. Its body decides about the era, by `_meta` and the version header, never by what came before: a
modern request gets a stream of its own that ends with its answer; a legacy one belongs to a session, whose
stream outlives every exchange. Nothing here does HTTP/1.1 or any other I/O: headers and chunks of bodies
come in, and go out of each `HttpExchange`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, cast

import attrs

from ._checks import from_
from ._contract import Port, Wire
from ._errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    InvalidMessage,
    LocalProtocolError,
)
from ._events import Diagnostic
from ._http_exchange import HttpExchange, HttpRequest
from ._http_rules import (
    fields,
    header_problem,
    host_allowed,
    is_json,
    origin_allowed,
    path_of,
)
from ._http_sessions import Session, Sessions
from ._json import Batch, Malformed, Message, Notification, Request, RequestId, parse
from ._meta import VERSION, is_modern, meta_problem
from ._passing import HeadPassed, OnMessage
from ._plain import member, params_of
from ._server import Server
from ._stream import Stream
from ._versions import Era, era_of

_FIELD_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")

NO_HTTP_SSE = "Mcp-Session-Id is missing; the HTTP+SSE transport of 2024-11-05 is not supported"


@attrs.frozen(kw_only=True)
class HttpServerConfig:
    """How a server behaves over HTTP. Times are seconds.

    `new_session_id` makes the ids of legacy sessions, which should be "globally unique and
    cryptographically secure"; where legacy revisions are served there must be one. `hosts` and `origins`
    are allowed besides loopback names ("example.com" with any port, "example.com:8080",
    "https://example.com"; "*" for all), `path` is the only path served, None any. `reply` says how a request
    is answered whose answer could be one JSON body or a stream of events: "auto" streams only where there
    is something before the answer. `keep_alive`: how often a silent stream says that it lives; None for
    never. `session_timeout` ends idle sessions, `max_sessions` limits how many there are, `max_exchanges` how
    many exchanges are open, `max_body` the bytes of a request, `max_depth` how deep it nests. Raises
    `LocalProtocolError` for numbers out of range.
    """

    new_session_id: Callable[[], str] | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    path: str | None = None
    reply: Literal["auto", "json", "sse"] = "auto"
    keep_alive: float | None = attrs.field(default=15.0, validator=from_(1))
    session_timeout: float = attrs.field(default=1800.0, validator=from_(1))
    max_sessions: int = attrs.field(default=10_000, validator=from_(1))
    max_exchanges: int = attrs.field(default=100_000, validator=from_(1))
    max_body: int = attrs.field(default=32 * 1024 * 1024, validator=from_(1))
    max_depth: int = attrs.field(default=128, validator=from_(1))


class HttpServer:
    """A `Server` over HTTP; raises `LocalProtocolError` if sessions are served and nothing makes ids."""

    def __init__(self, server: Server, config: HttpServerConfig) -> None:
        self.config = config
        self._server = server
        self._exchanges: dict[HttpExchange, None] = {}
        self._wires: dict[Wire, None] = {}
        self._made = 0
        self._sessions: Sessions | None = None
        self._versions = server.config.of_era(Era.LEGACY)
        self._methods: tuple[str, ...] = ("POST",)
        if self._versions:
            if config.new_session_id is None:
                raise LocalProtocolError("legacy revisions need new_session_id")
            self._methods = ("GET", "POST", "DELETE")
            self._sessions = Sessions(
                server, config.new_session_id, config.session_timeout, config.max_sessions
            )
        server.on_close.append(self._close)

    @property
    def server(self) -> Server:
        """The machine behind it."""
        return self._server

    @property
    def closed(self) -> bool:
        """Whether the server has been closed; then every request is answered by 503."""
        return self._server.closed

    def exchange(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]],
        now: float,
        *,
        principal: str | None = None,
        peer: object = None,
        port: Port | None = None,
        on_message: OnMessage | None = None,
    ) -> HttpExchange:
        """A request whose head has come. `principal` is whom the adapter has authenticated, and `port` what
        `next_ready` returns in place of the exchange, for whoever carries one exchange after the other.
        `on_message` hears of every head and message of it; exchanges are counted from 1.

        What is wrong with the head is answered at once, whatever comes of the body.
        """
        now = self._server.tick(now)
        self._made += 1
        headers = tuple(headers)
        request = HttpRequest(method, target, fields(headers), principal, peer)
        exchange = self.new_exchange(request, port, self._made, on_message)
        if on_message is not None:
            on_message(HeadPassed(False, method, headers, self._made, target))
        problem = next(chain(self._misplaced(request), self._unreadable(exchange)), None)
        if problem is not None:
            allow = [("allow", ", ".join(self._methods))] if problem[0] == 405 else []
            exchange.refuse(*problem, headers=allow)
            return exchange
        self._exchanges[exchange] = None
        if method == "GET":
            self._get(exchange, now)
        elif method == "DELETE":
            self._delete(exchange, now)
        return exchange

    def unauthorized(
        self,
        challenge: str,
        *,
        status: int = 401,
        reason: str = "unauthorized",
        port: Port | None = None,
    ) -> HttpExchange:
        """The exchange of a request that has no right to be here: `challenge` is its `WWW-Authenticate`.

        Raises `LocalProtocolError` for a challenge that no header can have, and a status that is no error.
        """
        if not _FIELD_VALUE.fullmatch(challenge) or not 400 <= status <= 599:
            raise LocalProtocolError(f"{status} with the challenge {challenge!r} is no refusal")
        return self.refusal(status, reason, headers=[("www-authenticate", challenge)], port=port)

    def undecided(self, *, port: Port | None = None) -> HttpExchange:
        """The exchange of a request of which it could not be found out whose it is."""
        return self.refusal(500, "Internal error", INTERNAL_ERROR, port=port)

    def refusal(
        self,
        status: int,
        reason: str,
        code: int = INVALID_REQUEST,
        *,
        headers: Sequence[tuple[str, str]] = (),
        port: Port | None = None,
    ) -> HttpExchange:
        """The exchange of a request that is answered by an error, whatever it is."""
        exchange = self.new_exchange(HttpRequest("POST", "", {}), port)
        exchange.refuse(status, reason, code, headers=headers)
        return exchange

    def new_exchange(
        self,
        request: HttpRequest,
        port: Port | None = None,
        number: int = 0,
        on_message: OnMessage | None = None,
    ) -> HttpExchange:
        """Make an exchange; whoever derives may have a kind of his own."""
        return HttpExchange(self, request, port, number, on_message)

    # --- for connections ---

    def enter(self, wire: Wire) -> None:
        """A connection is there, to be closed when the server is."""
        self._wires[wire] = None

    def leave(self, wire: Wire) -> None:
        """A connection has closed."""
        del self._wires[wire]

    def _close(self, now: float) -> None:
        """The server is closed: what is open has ended, and nothing new will come."""
        if self._sessions is not None:
            self._sessions.forget()
        for wire in [*self._wires]:
            wire.close(now)

    # --- for exchanges and sessions ---

    def wake(self, exchange: HttpExchange) -> None:
        """Have `exchange`, or whoever carries it, returned by `next_ready`."""
        self._server.wake(exchange.port)

    def finished(self, exchange: HttpExchange) -> None:
        """An exchange is over."""
        self._server.cancel_timer(self._keep_alive, exchange)
        self._exchanges.pop(exchange, None)
        session = exchange.session
        if session is not None:
            session.exchanges.pop(exchange, None)
            session.push = None if session.push is exchange else session.push

    def received(self, exchange: HttpExchange, body: bytes, now: float) -> None:
        """The body of a POST is complete."""
        now = self._server.tick(now)
        if self.closed:
            exchange.end()
            return
        message = parse(body, max_depth=self.config.max_depth)
        exchange.asked = _asked(message)
        if isinstance(message, Request):
            self._requested(exchange, message, now)
        elif self._sessions is None or self._era(exchange) is Era.MODERN:
            self._told(exchange, message, now)
        elif isinstance(message, Malformed) and "mcp-session-id" not in exchange.request.fields:
            self._malformed(exchange, message)
        else:
            self._in_session(exchange, message, now)
        self._watch(exchange, now)

    # --- the head ---

    def _misplaced(self, request: HttpRequest) -> Iterator[tuple[int, str]]:
        """Why a request may not be here, the weightiest reason first."""
        if self.closed:
            yield 503, "the server is shutting down"
        if len(self._exchanges) >= self.config.max_exchanges:
            yield 503, "there are too many exchanges"
        if "host" not in request.fields:
            yield 400, "Host is missing"
        if not host_allowed(request.fields.get("host"), self.config.hosts):
            yield 403, "this Host is not allowed"
        if not origin_allowed(request.fields.get("origin"), self.config.origins):
            yield 403, "this Origin is not allowed"
        if self.config.path is not None and path_of(request.target) != path_of(self.config.path):
            yield 404, "there is nothing here"
        if request.method not in self._methods:
            yield 405, f"{request.method} is not allowed"

    def _unreadable(self, exchange: HttpExchange) -> Iterator[tuple[int, str]]:
        """Why a request, or the answer to it, could not be read."""
        request = exchange.request
        if request.method == "GET" and not exchange.reads_events:
            yield 406, "Accept must list text/event-stream"
        if request.method != "POST":
            return
        if exchange.reads_nothing:
            yield 406, "Accept must list application/json and text/event-stream"
        if request.fields.get("content-encoding", "identity").lower() != "identity":
            yield 415, "the body must not be encoded"
        if not is_json(request.fields.get("content-type")):
            yield 415, "Content-Type must be application/json"
        length = request.fields.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self.config.max_body):
            yield 413, f"the body has more than {self.config.max_body} bytes"

    def _era(self, exchange: HttpExchange) -> Era | None:
        """The era that the version header names, if that is a version that is served."""
        version = exchange.request.fields.get("mcp-protocol-version")
        return era_of(version) if version in self._server.config.versions else None

    # --- modern requests, and whatever else has no session ---

    def _requested(self, exchange: HttpExchange, message: Request, now: float) -> None:
        try:
            params = params_of(message.params)
        except InvalidMessage as error:
            exchange.refuse(400, str(error), INVALID_PARAMS, message.id)
            return
        if self._is_modern(exchange, message.method, params.get("_meta")):
            self._modern(exchange, message, params, now)
        elif message.method == "initialize":
            self._initialize(exchange, message, now)
        else:
            self._in_session(exchange, message, now)

    def _is_modern(self, exchange: HttpExchange, method: str, meta: Any) -> bool:
        """Whether a request is of the modern era; an `initialize` that does not say so is not."""
        if not self._server.config.of_era(Era.MODERN):
            return False
        told = is_modern(meta) or self._era(exchange) is Era.MODERN
        return told or (self._sessions is None and method != "initialize")

    def _modern(self, exchange: HttpExchange, message: Request, params: dict[str, Any], now: float) -> None:
        """Check the envelope, then the headers against it; then the request has a stream of its own."""
        meta = params.get("_meta")
        problem = meta_problem(meta)
        if problem is not None:
            exchange.refuse(400, problem, INVALID_PARAMS, message.id)
            return
        problem = header_problem(exchange.request.fields, message.method, params, member(meta, VERSION))
        if problem is not None:
            exchange.refuse(400, problem, HEADER_MISMATCH, message.id)
            return
        listening = message.method == "subscriptions/listen"
        if listening and not exchange.reads_events:
            exchange.refuse(406, "Accept must list text/event-stream", INVALID_REQUEST, message.id)
            return
        stream = self._open(exchange)
        exchange.ride(stream, now, listening=listening)
        stream.receive(message, now)

    def _told(self, exchange: HttpExchange, message: Message | Batch | Malformed, now: float) -> None:
        """Not a request, and of no session: "the body MUST be a single request or notification"."""
        match message:
            case Notification():
                stream = self._open(exchange)
                stream.receive(message, now)
                stream.detach("told", now)
                exchange.accept()
            case Malformed():
                self._malformed(exchange, message)
            case Batch():
                exchange.refuse(400, "batches are not part of this protocol revision")
            case _:
                exchange.refuse(400, "nobody waits for a response")

    def _malformed(self, exchange: HttpExchange, message: Malformed) -> None:
        self._server.emit(Diagnostic("bad-message", message.reason, message.data))
        exchange.refuse(400, message.reason, message.code, message.id)

    def _open(self, exchange: HttpExchange) -> Stream:
        return self._server.open(peer=exchange.request.peer, principal=exchange.request.principal)

    # --- legacy sessions ---

    def _initialize(self, exchange: HttpExchange, message: Request, now: float) -> None:
        """Open a session, if the core opens one; what it answers goes out in any case. The revision is agreed
        upon in the body: a version header is for "all subsequent requests".
        """
        sessions = self._sessions
        if "mcp-session-id" in exchange.request.fields and sessions is not None:
            self._in_session(exchange, message, now)
            return
        if sessions is not None and not sessions.make_room(now):
            exchange.refuse(503, "there are too many sessions", INTERNAL_ERROR, message.id)
            return
        session_id = "" if sessions is None else sessions.new_id()
        stream = self._open(exchange)
        stream.receive(message, now, exchange)
        if sessions is None or stream.version is None:
            stream.detach("no session", now)
        else:
            exchange.session_id = session_id
            sessions.add(Session(session_id, stream), now)

    def _in_session(self, exchange: HttpExchange, message: Message | Batch | Malformed, now: float) -> None:
        session = self._session(exchange, now, message.id if isinstance(message, Request) else None)
        if session is None:
            return
        self._join(exchange, session)
        session.stream.receive(message, now, exchange)
        if isinstance(message, Malformed) and exchange.unanswered:
            exchange.refuse(400, message.reason, message.code)
        elif not isinstance(message, (Request, Batch, Malformed)):
            exchange.accept()

    def _session(
        self, exchange: HttpExchange, now: float, wire_id: RequestId | None = None
    ) -> Session | None:
        """The session that a request names; without one, the request has been refused."""
        session_id = exchange.request.fields.get("mcp-session-id")
        if self._sessions is None or session_id is None:
            self._lacks_session(exchange, wire_id)
            return None
        if self._wrong_version(exchange, wire_id):
            return None
        session = self._sessions.find(session_id, exchange.request.principal, now)
        if session is None:
            exchange.refuse(404, "there is no such session", INVALID_REQUEST, wire_id)
        return session

    def _lacks_session(self, exchange: HttpExchange, wire_id: RequestId | None) -> None:
        """A server that requires a session ID "SHOULD respond to requests without" one with 400."""
        if exchange.request.method == "GET":
            exchange.refuse(400, NO_HTTP_SSE)
        elif wire_id is None:
            exchange.refuse(400, "Mcp-Session-Id is missing")
        else:
            lacking = f"_meta lacks {VERSION}, and Mcp-Session-Id is missing"
            exchange.refuse(400, lacking, INVALID_PARAMS, wire_id)

    def _wrong_version(self, exchange: HttpExchange, wire_id: RequestId | None) -> bool:
        """Whether a request has been refused: "an invalid or unsupported `MCP-Protocol-Version`" is 400."""
        version = exchange.request.fields.get("mcp-protocol-version")
        if version is None or version in self._versions or not self._versions:
            return False
        served = ", ".join(self._versions)
        exchange.refuse(400, f"MCP-Protocol-Version must be one of {served}", INVALID_REQUEST, wire_id)
        return True

    def _get(self, exchange: HttpExchange, now: float) -> None:
        """Open the stream of a session on which the server speaks unasked; the newest GET has it."""
        session = self._session(exchange, now)
        if session is not None:
            if session.push is not None:
                session.push.end()
            self._join(exchange, session)
            session.push = exchange
            exchange.push(session.stream, now)
            self._watch(exchange, now)

    def _delete(self, exchange: HttpExchange, now: float) -> None:
        session = self._session(exchange, now)
        if session is not None and self._sessions is not None:
            self._sessions.end(session, "the client has ended the session", now)
            exchange.accept(204)

    def _join(self, exchange: HttpExchange, session: Session) -> None:
        exchange.session = session
        session.exchanges[exchange] = None

    # --- time ---

    def _watch(self, exchange: HttpExchange, now: float) -> None:
        if self.config.keep_alive is not None and exchange.open:
            self._server.set_timer(self._keep_alive, now + self.config.keep_alive, exchange)

    def _keep_alive(self, key: Hashable, now: float) -> None:
        exchange = cast("HttpExchange", key)  # set by `_watch` alone
        exchange.keep_alive()
        self._watch(exchange, now)


def _asked(message: Message | Batch | Malformed) -> tuple[RequestId, ...]:
    """The ids of the requests in a body."""
    parts = message.messages if isinstance(message, Batch) else (message,)
    return tuple(part.id for part in parts if isinstance(part, Request))
