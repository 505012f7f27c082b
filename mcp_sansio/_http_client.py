"""A client over HTTP: every message an exchange of its own, and what a session adds to that.

`HttpClient` is what the endpoint is attached to. It makes exchanges of what the endpoint wants to send, with
the headers that mirror the message, and keeps what belongs to all of them: the session id of a legacy
server, the push channel, and the rule that nothing may overtake `notifications/initialized`. What becomes of
a single exchange is decided by its errand (`_http_errands`). A lost exchange is not a lost connection: there
is no connection here, and only a session can be lost.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, cast

from ._client import Client
from ._contract import Abandon, Carrier, OpenPush, Port, Send
from ._errors import LocalProtocolError
from ._events import Diagnostic
from ._http_errands import Asking, ClientErrand, Pushing, Telling
from ._http_reply import ClientExchange, Headers
from ._http_rules import EVENT_STREAM, JSON, NAME_FIELDS, encode_value
from ._json import MAX_DEPTH, RequestId, decode
from ._meta import VERSION
from ._passing import HeadPassed, MessagePassed, OnMessage
from ._plain import member, text
from ._url import HttpUrl
from ._versions import Era

MAX_BODY = 32 * 1024 * 1024
NOWHERE = "http://unknown.invalid"
LINGER = 1.0
"""How long an exchange may go on after all that it was made for has come, in seconds."""

_SESSION_ID = re.compile(r"[\x21-\x7e]+")
_EVENT_ID = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")
_OURS = (
    *("accept", "content-type", "content-length", "last-event-id"),
    *("host", "connection", "transfer-encoding", "te", "upgrade", "expect", "accept-encoding"),
    *("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"),
)

RequestHeaders = Callable[[Send], Iterable[tuple[str, str]]]
"""More headers for the request that carries a message."""


class HttpClient:
    """The HTTP exchanges of one client with one server; attaches itself to the client.

    `target` is the path (and query) of the server's endpoint. `headers` go with every exchange
    (`Authorization` for one); `request_headers` gives more for one message (`Mcp-Param-…`), and a request for
    which it raises fails. `max_body` limits a body, or an event of a stream, in bytes. `port` is what
    `next_ready` returns in place of this, for whoever makes the exchanges. Redirects are followed within
    `origin` ("https://example.com"), without one only where they name no server. `on_message` hears of every
    head and message that passes. `token` is the adapter's.

    Whenever the machine's `next_ready` returns this, take `next_exchange` until it is None, and look whether
    an exchange that is under way has been `closed`. After `Client.close` there may be some more exchanges,
    the one that ends the session for example; then `closed` is true. Raises `LocalProtocolError` for headers
    that cannot be sent, or that this writes itself.
    """

    def __init__(
        self,
        client: Client,
        target: str,
        now: float,
        *,
        headers: Iterable[tuple[str, str]] = (),
        request_headers: RequestHeaders | None = None,
        max_body: int = MAX_BODY,
        port: Port | None = None,
        origin: str | None = None,
        on_message: OnMessage | None = None,
    ) -> None:
        self.token: Any = None
        self.port: Port = self if port is None else port
        self.client = client
        self.pushed: bool = False
        self.push_id: str | None = None
        self.target: str = target
        self._origin = origin
        self._headers = _checked(headers)
        self._request_headers = request_headers
        self._max_body = max_body
        self._on_message = on_message
        self._exchanges = 0
        self._session: str | None = None
        self._since = now
        self._sessions_lost = 0
        self._errands: dict[ClientErrand, ClientExchange | None] = {}
        self._asking: dict[RequestId, Asking] = {}
        self._again: deque[ClientErrand] = deque()
        self._barrier: Telling | None = None
        self._left = False
        self._carrier = Carrier(self.port, shared=False)
        client.attach(self._carrier, now)

    @property
    def closed(self) -> bool:
        """Whether there will be no more exchanges, and none is under way."""
        return self._left and not self._errands

    def next_exchange(self) -> ClientExchange | None:
        """The next request to be made, if there is one now."""
        errand = self._next_errand()
        if errand is None:
            return None
        self._exchanges += 1
        exchange = self.new_exchange(errand, self._exchanges)
        self._errands[errand] = exchange
        if self._on_message is not None:
            head = HeadPassed(True, exchange.method, exchange.headers, self._exchanges, exchange.target)
            self._on_message(head)
            if exchange.body:
                self._on_message(MessagePassed(True, exchange.body, self._exchanges))
        quiet = self.client.config.quiet_timeout
        if isinstance(errand, Telling) and quiet is not None:  # of requests, the calls keep the time
            self.client.set_timer(self._overdue, self._clock() + quiet, errand)
        return exchange

    def new_exchange(self, errand: ClientErrand, number: int) -> ClientExchange:
        """Make an exchange; whoever derives may have a kind of his own."""
        return ClientExchange(errand, self._max_body, self._on_message, number)

    def close(self, now: float, reason: str = "closed") -> None:
        """Let go of the client, which may go on elsewhere: what is under way is lost, the session ended."""
        self._leave()
        if self._carries:
            self.client.detach(reason, now)
        self.client.wake(self.port)

    # --- what leaves ---

    @property
    def _carries(self) -> bool:
        return self.client.carried_by(self._carrier)

    def _next_errand(self) -> ClientErrand | None:
        """What the endpoint wants; then what has to be done again. Nothing overtakes the barrier."""
        while (self._barrier is None or self.client.done) and self._carries:
            out = self.client.next_outgoing()
            if out is None:
                break
            if isinstance(out, Send):
                return self._errand(out)
            if isinstance(out, OpenPush):
                return Pushing(self, self.stream_headers(self.push_id))
            self._abandon(out)
        if self.client.done:
            self._leave()
        while self._again:
            errand = self._again.popleft()
            if errand in self._errands:
                return errand
        return None

    def _errand(self, message: Send) -> ClientErrand:
        session = () if message.method == "initialize" else self._session_headers()
        headers = (
            ("Accept", f"{JSON}, {EVENT_STREAM}"),
            ("Content-Type", JSON),
            *self._mirrored(message),
            *session,
            *self._headers,
            *self._more(message),
        )
        if message.method is not None and message.id is not None:
            asking = Asking(self, message.id, message.method, headers, message.data)
            self._asking[message.id] = asking
            return asking
        telling = Telling(self, "POST", headers, message.data, message.method or "a response")
        if message.method == "notifications/initialized":
            self._barrier = telling
        return telling

    def _mirrored(self, message: Send) -> Headers:
        """Streamable HTTP "mirrors selected JSON-RPC body fields into HTTP headers" in the modern era. In the
        legacy one there is the negotiated version only.
        """
        if self.client.era is Era.LEGACY:
            return self._version_header(self.client.version)
        params = member(decode(message.data, max_depth=2 * MAX_DEPTH), "params")
        version = text(member(member(params, "_meta"), VERSION)) or self.client.version
        if version is None or message.method is None:
            return ()
        name = text(member(params, NAME_FIELDS.get(message.method, "")))
        named = () if name is None else (("Mcp-Name", encode_value(name)),)
        return (*self._version_header(version), ("Mcp-Method", encode_value(message.method)), *named)

    def _more(self, message: Send) -> Headers:
        """What the application adds. If that fails, the server will say what it lacks."""
        if self._request_headers is None:
            return ()
        try:
            return _checked(self._request_headers(message))
        except Exception as error:  # noqa: BLE001  # it is not ours, and must not break the pump
            self.client.emit(Diagnostic("request-headers", f"{message.method}: {error!r}"))
            return ()

    def stream_headers(self, last_id: str | None) -> Headers:
        """The headers of a GET, which goes on after an event if one is known that a header can name."""
        known = last_id is not None and _EVENT_ID.fullmatch(last_id) is not None
        resumed = (("Last-Event-ID", last_id),) if known and last_id is not None else ()
        version = self._version_header(self.client.version)
        return (("Accept", EVENT_STREAM), *version, *self._session_headers(), *resumed, *self._headers)

    def _version_header(self, version: str | None) -> Headers:
        return () if version is None else (("MCP-Protocol-Version", version),)

    def _session_headers(self) -> Headers:
        return () if self._session is None else (("Mcp-Session-Id", self._session),)

    # --- for errands ---

    def finish(self, errand: ClientErrand) -> None:
        """Nothing more is expected of an errand; an exchange that is under way for it is of no use."""
        exchange = self._errands.pop(errand, None)
        if exchange is not None:
            exchange.closed = True
        if isinstance(errand, Asking):
            self._asking.pop(errand.id, None)
        self.client.cancel_timer(self._overdue, errand)
        self.client.cancel_timer(self._due, errand)
        self.passed(errand)
        self.client.wake(self.port)

    def resolve(self, target: str, location: str) -> str | None:
        """The target that a redirect of `target` leads to, if that is the same server's."""
        try:
            here = HttpUrl.parse((self._origin or NOWHERE) + target)
            there = here.join(location)
        except LocalProtocolError:
            return None
        return there.target if there.origin == here.origin else None

    def linger(self, errand: ClientErrand, now: float) -> None:
        """All that was wanted has come: the reply may end as it should, so that the connection can be used
        again, but not take its time.
        """
        self.client.set_timer(self._overdue, now + LINGER, errand)

    def run_again(self, errand: ClientErrand, when: float) -> None:
        """Make another exchange for an errand, at `when`."""
        self._errands[errand] = None
        self.client.cancel_timer(self._overdue, errand)
        self.client.set_timer(self._due, when, errand)

    def passed(self, errand: ClientErrand) -> None:
        """The server has seen a message: what waited for that may leave."""
        if errand is self._barrier:
            self._barrier = None
            self.client.wake(self.port)

    def waits_for(self, errand: ClientErrand) -> bool:
        """Whether nothing leaves before the server has seen this message."""
        return errand is self._barrier

    @property
    def in_session(self) -> bool:
        """Whether the server has given a session id, which goes with every request."""
        return self._session is not None

    def session_given(self, session: str | None, now: float) -> None:
        """A session begins. Its id "MUST only contain visible ASCII characters"."""
        if session is not None and _SESSION_ID.fullmatch(session) is None:
            self.client.emit(Diagnostic("bad-session-id", f"the session id {session!r} cannot be sent"))
            session = None
        self._session, self._since = session, now

    def session_gone(self, now: float) -> None:
        """The server has forgotten the session: begin a new one, at once if this one has lasted."""
        config = self.client.config
        if now - self._since >= config.backoff_max:
            self._sessions_lost = 0
        for errand in [*self._errands]:
            self.finish(errand)
        self._session, self.push_id = None, None
        self.pushed = False
        if self._sessions_lost == 0:
            self.client.session_lost(now)
        else:
            self.client.detach("the session is lost", now)
            self.client.set_timer(self._renew, now + config.delay(self._sessions_lost - 1))
        self._sessions_lost += 1

    # --- inside ---

    def _clock(self) -> float:
        return self.client.tick(-math.inf)

    def _abandon(self, out: Abandon) -> None:
        asking = self._asking.get(out.id)
        if asking is not None:
            self.finish(asking)

    def _overdue(self, key: Hashable, now: float) -> None:
        errand = cast("ClientErrand", key)
        exchange = self._errands[errand]
        self.passed(errand)  # it may have been seen all the same
        cast("ClientExchange", exchange).abort(now, "no answer in time")  # the timer runs while there is one

    def _due(self, key: Hashable, now: float) -> None:
        self._again.append(cast("ClientErrand", key))
        self.client.wake(self.port)

    def _renew(self, _: Hashable, now: float) -> None:
        if self.client.done:
            self.client.wake(self.port)
        else:
            self.client.attach(self._carrier, now)

    def _leave(self) -> None:
        """Nobody waits for replies any more; "clients that no longer need a particular session SHOULD send an
        HTTP DELETE".
        """
        if self._left:
            return
        self._left = True
        self.client.cancel_timer(self._renew)
        for errand, exchange in [*self._errands.items()]:
            if exchange is None or not isinstance(errand, Telling):
                self.finish(errand)
        if self._session is not None:
            version = self._version_header(self.client.version)
            headers = (*version, *self._session_headers(), *self._headers)
            errand = Telling(self, "DELETE", headers, b"", "the end of the session")
            self._errands[errand] = None
            self._again.append(errand)


def _checked(headers: Iterable[tuple[str, str]]) -> Headers:
    """Headers of the application's that can be sent; `LocalProtocolError` for others."""
    checked = tuple(headers)
    for name, value in checked:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise LocalProtocolError(f"the header {name!r} cannot be sent")  # its value may be a secret
        if name.lower() in _OURS:
            raise LocalProtocolError(f"the header {name!r} is written by the library")
    return checked
