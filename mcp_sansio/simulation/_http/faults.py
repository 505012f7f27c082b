"""The faults of HTTP exchanges: what proxies, balancers and servers in trouble do to requests and replies.

They are rules of a connection as those of a stream are, but they know where a message of HTTP begins: our
ends write each request whole, and each reply up to its end or its first event. Who answers in the place of
the server closes the connection, as many a proxy does, so that both ends go on counting alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_sansio.simulation._faults import STREAM, STRIKES, Fault
from mcp_sansio.simulation._links import EOF, RESET, Arming, Pipe

REQUEST = (b"POST ", b"GET ", b"DELETE ")
REPLY = b"HTTP/1.1 "
HEAD_END = b"\r\n\r\n"


def _page(status: str, *fields: str) -> bytes:
    """A reply as proxies give them: a page for people."""
    body = f"<html><title>{status}</title></html>"
    lines = [
        f"HTTP/1.1 {status}",
        "content-type: text/html",
        f"content-length: {len(body)}",
        "connection: close",
        *fields,
        "",
        body,
    ]
    return "\r\n".join(lines).encode()


REFUSALS = (
    _page("503 Service Unavailable"),
    _page("503 Service Unavailable", "retry-after: 2"),
    _page("502 Bad Gateway"),
    _page("500 Internal Server Error"),
    _page("429 Too Many Requests", "retry-after: 1"),
    _page("404 Not Found"),
    _page("400 Bad Request"),
    _page("405 Method Not Allowed"),
    _page("413 Content Too Large"),
    _page("307 Temporary Redirect", "location: /mcp"),
    _page("308 Permanent Redirect", "location: /mcp"),
    _page("302 Found", "location: http://elsewhere.invalid/login"),
)
UNAUTHORIZED = _page("401 Unauthorized", 'www-authenticate: Bearer error="invalid_token"')


def _answer(pipe: Pipe, reply: bytes) -> None:
    """Somebody between the two ends answers; the server hears nothing."""
    back = pipe.link.pipes[pipe.receiver]
    back.send(reply)
    pipe.link.cut(EOF)


def _status(pipe: Pipe, data: bytes) -> bool:
    if not data.startswith(REQUEST):
        return False
    _answer(pipe, pipe.world.tape.one_of("status", REFUSALS))
    return True


def _unauthorized(pipe: Pipe, data: bytes) -> bool:
    if not (data.startswith(b"POST ") and b'"cursor"' in data):
        return False
    _answer(pipe, UNAUTHORIZED)
    return True


def _reply_lost(pipe: Pipe, data: bytes) -> bool:
    if not data.startswith(REPLY):
        return False
    pipe.link.cut(RESET)
    return True


def _reply_late(pipe: Pipe, data: bytes) -> bool:
    if not data.startswith(REPLY):
        return False
    pipe.send(data, pipe.world.tape.seconds("reply late", 8.0))
    return True


def _head_only(pipe: Pipe, data: bytes) -> bool:
    head, end, _ = data.partition(HEAD_END)
    if not (data.startswith(REPLY) and end):
        return False
    pipe.send(head + end)
    pipe.silence()
    return True


def _interim(pipe: Pipe, data: bytes) -> bool:
    if not data.startswith(REPLY):
        return False
    pipe.send(b"HTTP/1.1 100 Continue\r\n\r\n" * (1 + pipe.world.tape.draw("interim", 3)) + data)
    return True


def _buffered(pipe: Pipe, data: bytes) -> bool:
    """What an event stream says is kept for a while, as proxies do that wait for the end of a reply."""
    if b"text/event-stream" not in data[:1024]:
        return False
    pipe.merge(data, pipe.world.tape.seconds("buffered", 30.0))
    return True


def _silent_stream(_pipe: Pipe, data: bytes) -> bool:
    """Comments do not come through."""
    return b"\n:" in data and b"data:" not in data and not data.startswith(REPLY)


def _twice(pipe: Pipe, data: bytes) -> bool:
    """A request comes twice, since whoever passes it on believes that its reply is lost: the client sees the
    second one.
    """
    if not data.startswith(b"POST ") or b"subscriptions/listen" in data:
        return False
    back = pipe.link.pipes[pipe.receiver]
    back.rules = (Arming("request-twice", "request-twice", 0, _Second()),)
    pipe.send(data)
    pipe.send(data)
    return True


class _Second:
    """Lets the second of two replies through, and ends the connection."""

    def __init__(self) -> None:
        self._seen = 0

    def __call__(self, pipe: Pipe, data: bytes) -> bool:
        self._seen += data.startswith(REPLY)
        if self._seen > 1:
            pipe.send(data)
            pipe.link.cut(EOF)
        return True


EXCHANGES: Sequence[Fault] = (
    Fault("status", "exchange", "a proxy refuses a request", _status, rare=60, wild=6),
    Fault("unauthorized", "exchange", "credentials expire in the middle of a walk", _unauthorized, wild=4),
    Fault(
        "reply-lost", "exchange", "a request is served, its reply lost", _reply_lost, rare=60, replies=True
    ),
    Fault("reply-late", "exchange", "a reply is overtaken by others", _reply_late, wild=4, replies=True),
    Fault("head-only", "exchange", "a reply hangs after its head", _head_only, wild=20, replies=True),
    Fault("interim", "exchange", "a reply is announced", _interim, wild=4, replies=True),
    Fault(
        "buffered", "exchange", "a proxy keeps events for a while", _buffered, rare=8, wild=2, replies=True
    ),
    Fault("no-comments", "exchange", "comments are lost", _silent_stream, rare=2, wild=1, replies=True),
    Fault("request-twice", "exchange", "a request is served twice", _twice, rare=60, wild=8),
)

BYTES = tuple(fault for fault in STREAM if fault.name != "crlf")  # lines are no part of it

HTTP: Sequence[Fault] = (*BYTES, *STRIKES, *EXCHANGES)
