"""One connection of an HTTP client: what is written, what counts as a reply, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clients import LEGACY, welcome
from hypothesis import given
from hypothesis import strategies as st
from pooled import Far, Near, asked, ok

from mcp_sansio import CallFailed, CallSucceeded, Diagnostic, Event, HttpFailed, Lost
from mcp_sansio._version import __version__
from mcp_sansio.h11 import H11PoolConfig


def result(far: Far) -> bytes:
    """The reply to the last request, as JSON."""
    return json.dumps({"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": {}}).encode()


# --- requests -----------------------------------------------------------------------------------------


def test_nothing_is_written_before_there_is_a_connection() -> None:
    near = Near()
    (far,) = near.pull(connect=False)
    assert far.wire.data_to_send() == []
    far.wire.connected(0.0)
    near.pull()
    assert far.asked[0]["method"] == "server/discover"


def test_a_request_says_where_it_goes_and_how_long_it_is() -> None:
    near = Near(url="http://[::1]:8000/a/b?c=d")
    (far,) = near.pull()
    head = far.heads[0]
    assert head.startswith("POST /a/b?c=d HTTP/1.1\r\nHost: [::1]:8000\r\n")
    assert head.count("Content-Length: ") == 1
    assert head.count("Accept-Encoding: identity\r\n") == 1
    assert "\r\nX-Y: z" in head


@pytest.mark.parametrize("name", ["User-Agent", "user-agent"])
def test_a_request_says_who_asks_unless_the_application_says_it(name: str) -> None:
    (far,) = Near().pull()
    assert far.heads[0].count(f"\r\nUser-Agent: mcp-sansio/{__version__}\r\n") == 1
    (far,) = Near(headers=((name, "mine"),)).pull()
    assert f"\r\n{name}: mine" in far.heads[0]
    assert "mcp-sansio/" not in far.heads[0]


def test_a_request_without_a_body_has_no_length() -> None:
    near = Near(versions=(LEGACY,))
    (far,) = near.pull()
    result = json.dumps({"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": welcome()}).encode()
    near.answer(far, ok(result, "Mcp-Session-Id: s"))
    near.answer(far, ok(status=202))
    near.client.close(0.0)
    near.pull()
    assert far.heads[-1].startswith("DELETE /mcp HTTP/1.1\r\nHost: localhost:8000\r\n")
    assert "Content-Length" not in far.heads[-1]


# --- replies ------------------------------------------------------------------------------------------


def test_a_reply_may_end_with_its_connection() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    body = json.dumps({"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": {}}).encode()
    near.answer(far, b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)
    assert near.events() == []
    far.wire.receive_eof(0.0)
    assert len(near.of(CallSucceeded)) == 1
    assert far.over()


@pytest.mark.parametrize("fields", ["Content-Length: 99\r\n", "Transfer-Encoding: chunked\r\n"])
def test_a_body_that_breaks_off_is_lost(fields: str) -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{fields}\r\n".encode())
    far.wire.receive_eof(0.0, "the server hung up")
    assert [each.failure for each in near.of(CallFailed)] == [Lost("the server hung up")]
    assert near.pull() == []


def test_an_old_server_s_connection_is_used_once() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    reply = ok(result(far)).replace(b"HTTP/1.1", b"HTTP/1.0")
    near.answer(far, reply)
    assert len(near.of(CallSucceeded)) == 1
    assert far.over()


def chunked(body: bytes, media: str = "application/json") -> bytes:
    """A reply in chunks, with all that may be among them."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunks = [b"%x;name=value\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:])]
    return head + b"".join(chunks) + b"0\r\nTrailer: x\r\n\r\n"


def test_a_reply_in_chunks_leaves_its_connection_to_the_next_request() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, chunked(result(far)))
    assert len(near.of(CallSucceeded)) == 1
    assert asked(near) is far


def test_a_reply_may_have_no_body() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, b"HTTP/1.1 204 No Content\r\n\r\n")
    assert [each.failure for each in near.of(CallFailed)] == [HttpFailed(204, "no message")]
    assert asked(near) is far


def test_a_stream_that_has_said_all_gives_its_connection_back() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, chunked(b"data: " + result(far) + b"\n\n", "text/event-stream"))
    assert asked(near) is far


def test_one_that_does_not_end_takes_its_connection_along() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, chunked(b"data: " + result(far) + b"\n\n", "text/event-stream")[:-5])
    assert len(near.of(CallSucceeded)) == 1
    assert not far.over()
    near.wait(1)
    assert far.over()


def test_a_reply_that_is_an_encoded_stream_is_none() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: br\r\n\r\n"
    near.answer(far, head + b"\x1f")
    (failed,) = near.of(CallFailed)
    assert failed.failure == HttpFailed(
        200, "no message, but a body that is encoded ('br'), which was not asked for"
    )
    assert far.over()


def test_a_connection_that_is_to_close_does_so_after_its_reply() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    far.wire.close(0.0)
    assert not far.over()
    near.reply(far, {})
    assert len(near.of(CallSucceeded)) == 1
    assert far.over()


# --- what is no HTTP ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "garbage",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 101,
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\n",
    ],
)
def test_what_is_no_reply_ends_its_connection_alone(garbage: bytes) -> None:
    near = Near()
    far = near.welcomed()
    asked(near, "tools/call")
    other = asked(near, "x/a")
    near.answer(far, garbage)
    assert far.over()
    assert not other.over()
    failed, told = near.of(CallFailed | Diagnostic)  # type: ignore[arg-type]
    assert {type(failed), type(told)} == {CallFailed, Diagnostic}


def test_interim_replies_mean_nothing() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 3)
    near.reply(far, {})
    assert len(near.of(CallSucceeded)) == 1


def test_a_server_that_speaks_unasked_is_left() -> None:
    near = Near()
    far = near.welcomed()
    near.answer(far, ok(b"{}"))
    assert far.over()


def test_a_server_that_says_more_than_its_reply_is_left() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    body = json.dumps({"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": {}}).encode()
    near.answer(far, ok(body) + b"HTTP/1.1 200 OK\r\n")
    assert len(near.of(CallSucceeded)) == 1
    assert far.over()


def test_an_encoded_reply_is_refused_in_words() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, ok(b"\x1f\x8b", "Content-Encoding: gzip"))
    (failed,) = near.of(CallFailed)
    assert "encoded" in str(failed.failure)
    assert far.over()


# --- any split ----------------------------------------------------------------------------------------


def said(pieces: list[bytes], **pool: Any) -> tuple[list[Event], bool]:
    """What becomes of a request whose reply comes in these pieces, and whether the connection is over."""
    near = Near(pool=H11PoolConfig(**pool))
    far = near.welcomed()
    asked(near)
    for piece in pieces:
        near.answer(far, piece)
    return near.events(), far.over()


def every_byte(data: bytes) -> list[bytes]:
    return [b"", *(data[at : at + 1] for at in range(len(data)))]


ID = 2
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
RESULT = json.dumps({"jsonrpc": "2.0", "id": ID, "result": {"tools": []}}).encode()
STREAM = b"data: " + RESULT + b"\n\n"


@pytest.mark.parametrize(
    ("reply", "over"),
    [
        (ok(RESULT), False),
        (INTERIM + chunked(RESULT), False),
        (chunked(STREAM, "text/event-stream"), False),
        (chunked(STREAM, "text/event-stream") + b"HTTP", True),
        (ok(RESULT) + ok(RESULT), True),
        (ok(b"", status=503), False),
        (b"HTTP/1.1 nonsense\r\n\r\n", True),
    ],
)
def test_any_split_is_equal(reply: bytes, over: bool) -> None:
    whole = said([reply])
    assert whole[1] is over
    assert said(every_byte(reply)) == whole
    for at in range(1, len(reply)):
        assert said([reply[:at], reply[at:]]) == whole


@pytest.mark.parametrize(("size", "fits"), [(499, True), (500, True), (501, False), (1200, False)])
def test_a_head_is_too_long_or_not_however_it_comes(size: int, fits: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX: " % len(RESULT)
    reply = head + b"x" * (size - len(head) - 4) + b"\r\n\r\n" + RESULT
    for pieces in ([reply], every_byte(reply), [reply[:300], reply[300:]]):
        events, over = said(pieces, max_head=500)
        assert [type(event) for event in events] == ([CallSucceeded] if fits else [Diagnostic, CallFailed])
        assert over is not fits


FRAGMENTS = [
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 503 X\r\n", b"HTTP/1.1 307 X\r\nLocation: /y\r\n", INTERIM),
    *(b"Content-Length: 3\r\n", b"Content-Length: 44\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(
        b"Content-Type: application/json\r\n",
        b"Content-Type: text/event-stream\r\n",
        b"Connection: close\r\n",
    ),
    *(b"\r\n", b"\n", b"5\r\n", b"0\r\n\r\n", RESULT, STREAM, b"data: ", b"\0", ok(RESULT), chunked(RESULT)),
]


@given(st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=20), max_size=12), st.booleans())
def test_whatever_a_server_says_the_request_ends_once_and_nothing_else_with_it(
    pieces: list[bytes], eof: bool
) -> None:
    near = Near(quiet_timeout=10.0)
    far = near.welcomed()
    asked(near)
    for piece in pieces:
        near.answer(far, piece)
    if eof:
        far.wire.receive_eof(near.now)
    near.wait(60)
    assert far.over()
    assert sum(isinstance(event, CallSucceeded | CallFailed) for event in near.events()) == 1
    near.client.request("x/y", None, near.now)
    near.pull()
    near.reply(near.far[-1], {})
    assert len(near.of(CallSucceeded)) == 1
