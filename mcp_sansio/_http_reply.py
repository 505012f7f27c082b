"""One HTTP exchange of a client: a request that is complete from the start, and its reply as it comes in.

The exchange reads the framing of the reply, a stream of events or one body, and tells the errand that it
runs about messages; what they mean is the errand's business. Whatever is wrong with the bytes becomes a
`Malformed` or the end of the exchange, never an exception.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Iterable
from typing import Any

import attrs

from ._errors import INVALID_REQUEST
from ._http_rules import EVENT_STREAM, fields, is_json
from ._json import Batch, Malformed, Message, Recognizes, parse
from ._lines import HEAD_SIZE, Overlong
from ._passing import HeadPassed, MessagePassed, OnMessage
from ._plain import shown
from ._sse import SseDecoder, SseEvent

MAX_ERROR_BODY = 65_536
MEANINGS = {
    401: "Unauthorized: credentials are missing, or not accepted",
    403: "Forbidden: not for this caller, or not from here",
    404: "Not Found: nothing is served at this URL",
    405: "Method Not Allowed: this URL is not made for messages",
    407: "Proxy Authentication Required",
    408: "Request Timeout",
    413: "Content Too Large: the message is too long for the server",
    415: "Unsupported Media Type: this URL is not made for JSON",
    421: "Misdirected Request: the server does not go by this name",
    429: "Too Many Requests: the server asks for patience",
    500: "Internal Server Error",
    502: "Bad Gateway: there is no sensible answer from the server behind it",
    503: "Service Unavailable: the server is overloaded or just starting",
    504: "Gateway Timeout: there is no answer from the server behind it",
}
"""What a status means, where nothing else is said."""

_PAGE_HEAD = 4096
_PAGE = re.compile(r"<(?:!doctype html|html)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]*>([^<]*)", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]+")

Incoming = Message | Batch | Malformed
Headers = tuple[tuple[str, str], ...]


@attrs.frozen
class Answer:
    """A reply that is one body. `message` is None if it is none of the protocol's, `text` how it began, for
    people. `retry_after`: for how many seconds the server asks to be left alone.
    """

    status: int
    message: Incoming | None
    text: str
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the status is one of success."""
        return is_ok(self.status)


class Errand(abc.ABC):
    """What an exchange is made for, and the request that the next one makes."""

    method: str
    headers: Headers
    body: bytes
    target: str
    urgent: bool = False
    repeatable: bool = True
    recognizes: Recognizes | None = None

    @abc.abstractmethod
    def heard(self, status: int, session: str | None, now: float, *, streams: bool) -> None:
        """The head of the reply is there: `streams` says that events follow, `session` is a session id."""

    @abc.abstractmethod
    def message(self, message: Incoming, now: float) -> None:
        """One event of a stream."""

    @abc.abstractmethod
    def answered(self, answer: Answer, now: float) -> None:
        """The reply was one body, which is complete; the exchange is over."""

    @abc.abstractmethod
    def redirected(self, status: int, location: str | None, now: float) -> None:
        """The server is, or says that it is, elsewhere; the exchange is over."""

    @abc.abstractmethod
    def ended(self, reason: str, events: SseDecoder | None, now: float) -> None:
        """The exchange is over: its stream has ended, or it broke."""


class ClientExchange:
    """One request to be made, and what comes back.

    The adapter writes the request (`method`, `target`, `headers`, `body`; `Host` and `Content-Length` are its
    own) and feeds the reply in: `receive_head`, `receive_data`, then `receive_eof` after a reply that was
    complete or `abort` when there will be none. As soon as `closed` is true nobody is interested any more: if
    the reply is not complete, the connection is to be dropped. `urgent` is what must not wait for the reply
    to another one: a message that asks for none, or a stream that is there to stay. `repeatable` is what
    does no harm if it comes twice. `token` is the adapter's own.
    """

    def __init__(
        self, errand: Errand, limit: int, on_message: OnMessage | None = None, number: int = 0
    ) -> None:
        self.token: Any = None
        self.method: str = errand.method
        self.target: str = errand.target
        self.urgent: bool = errand.urgent
        self.repeatable: bool = errand.repeatable
        self.headers: Headers = errand.headers
        self.body: bytes = errand.body
        self.closed: bool = False
        self._errand = errand
        self._limit = limit
        self._on_message = on_message
        self._number = number
        self._status = 0  # there is no head yet
        self._is_json = False
        self._retry_after: float | None = None
        self._events: SseDecoder | None = None
        self._received = bytearray()

    def receive_head(self, status: int, headers: Iterable[tuple[str, str]], now: float) -> None:
        """Take the status and the headers in; informational ones (1xx) mean nothing."""
        if self.closed or status < 200:
            return
        headers = tuple(headers)
        if self._on_message is not None:
            self._on_message(HeadPassed(False, status, headers, self._number))
        known = fields(headers)
        if 300 <= status < 400:  # whatever a body says, it is about another place
            self.closed = True
            self._errand.redirected(status, known.get("location"), now)
            return
        media, coding = known.get("content-type", ""), known.get("content-encoding") or "identity"
        encoded = coding.lower() != "identity"
        self._status = status
        self._is_json = is_json(media)
        self._retry_after = _seconds(known.get("retry-after"))
        if is_ok(status) and media.partition(";")[0].strip().lower() == EVENT_STREAM and not encoded:
            self._events = SseDecoder(self._limit)
        session = known.get("mcp-session-id")
        self._errand.heard(status, session, now, streams=self._events is not None)
        if encoded and not self.closed:
            self._answer(None, now, f"a body that is encoded ({shown(coding)}), which was not asked for")

    def receive_data(self, data: bytes, now: float) -> None:
        """Take some of the body in; what it says is processed before this returns."""
        if self.closed or not self._status:
            return
        if self._events is None:
            self._collect(data, now)
            return
        for event in self._events.feed(data):
            self._tell(event, now)

    def receive_eof(self, now: float) -> None:
        """The reply is complete. An event that lacks its blank line counts if it is a whole message."""
        if self._events is not None or not self._status:
            self._over("the stream ended" if self._status else "closed without an answer", now)
        elif not self.closed:
            body = bytes(self._received)
            self._note(body)
            self._answer(self._read(body), now)

    def abort(self, now: float, reason: str = "the connection broke") -> None:
        """The connection is gone, or there was none, and the reply is not complete."""
        self._over(reason, now)

    def _collect(self, data: bytes, now: float) -> None:
        self._received += data
        limit = self._limit if is_ok(self._status) else min(self._limit, MAX_ERROR_BODY)
        if len(self._received) > limit:
            reason, head = f"a body over the limit of {limit} bytes", bytes(self._received[:HEAD_SIZE])
            self._note(head)
            self._answer(_malformed(reason, head), now)

    def _read(self, body: bytes) -> Incoming | None:
        """The message in a body. An error may call itself anything: "the client SHOULD inspect" it."""
        if not body or (is_ok(self._status) and not self._is_json):
            return None
        return parse(body, recognizes=self._errand.recognizes)

    def _answer(self, message: Incoming | None, now: float, text: str = "") -> None:
        self.closed = True
        said = text or _readable(self._received[:_PAGE_HEAD].decode(errors="replace"))
        self._errand.answered(Answer(self._status, message, said, self._retry_after), now)

    def _over(self, reason: str, now: float) -> None:
        if self.closed:
            return
        rest = self._events.finish() if self._events is not None else None
        if isinstance(rest, Overlong) or (rest is not None and not isinstance(parse(rest.data), Malformed)):
            self._tell(rest, now)
        self.closed = True
        self._errand.ended(reason, self._events, now)

    def _note(self, data: bytes) -> None:
        if self._on_message is not None and data:
            self._on_message(MessagePassed(False, data, self._number))

    def _tell(self, event: SseEvent | Overlong, now: float) -> None:
        """Other events than messages are other people's."""
        if isinstance(event, Overlong):
            reason = f"an event of {event.size} bytes is over the limit"
            self._note(event.head)
            self._errand.message(_malformed(reason, event.head), now)
        elif event.event == "message":
            self._note(event.data)
            self._errand.message(parse(event.data, recognizes=self._errand.recognizes), now)


def is_ok(status: int) -> bool:
    """Whether a status is one of success."""
    return 200 <= status < 300


def _readable(body: str) -> str:
    """How a body began, on one line; of a web page its title, which says most."""
    if body.lstrip().startswith("<") and _PAGE.search(body):
        title = _TITLE.search(body)
        said = "" if title is None else " ".join(title[1].split())
        return f"a web page: {said[:HEAD_SIZE]}" if said else "a web page"
    return " ".join(body.split())[:HEAD_SIZE]


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After`, if it is a number of seconds; a date would need a clock."""
    return float(retry_after) if retry_after is not None and _SECONDS.fullmatch(retry_after) else None


def _malformed(reason: str, head: bytes) -> Malformed:
    return Malformed(INVALID_REQUEST, reason, reply=True, data=head)
