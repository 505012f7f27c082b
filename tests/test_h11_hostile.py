"""One connection of an HTTP server and a peer that means it no good, or just cannot do better.

Nothing that comes in may raise, nothing may be kept without limit, and how the bytes are cut makes no
difference.
"""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import MODERN
from visits import LIST, LISTEN, Line, call, http, message
from web import Web

from mcp_sansio import PromptRequested, WireFailed
from mcp_sansio.h11 import H11Config, H11ServerWire

GET = call("prompts/get", {"name": "p0001"}, id="g")
NAMES = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: prompts/list")


def chunked(body: bytes, *sizes: int) -> bytes:
    """A request whose body comes in chunks of these sizes, and a rest, with an extension and a trailer."""
    cuts = [0, *itertools.accumulate(sizes), len(body)]
    parts = [body[start:end] for start, end in itertools.pairwise(cuts)]
    chunks = b"".join(b"%x;a=b\r\n%b\r\n" % (len(part), part) for part in parts)
    return http("POST", b"", *NAMES, "Transfer-Encoding: chunked") + chunks + b"0\r\nTrailer: t\r\n\r\n"


def pushed(web: Web, *fields: str) -> bytes:
    """The head of a request for the stream of a new legacy session."""
    session = web.session()
    named = (f"Mcp-Session-Id: {session.id}", f"MCP-Protocol-Version: {session.version}")
    return http("GET", b"", *named, *fields)


# --- cuts ---------------------------------------------------------------------------------------------

TALK = b"".join(
    (
        LIST,
        b"\r\n",  # "some HTTP/1.0 user agents … generate an extra CRLF after a POST request"
        chunked(message("prompts/list"), 1, 30),
        call("prompts/get", {"name": "p0002"}, "Expect: 100-continue"),
        http("HEAD"),
        http("PUT", b"x" * 50),
        GET,
        b"no request at all\r\n\r\n",
        LIST,
    )
)


def said(data: bytes, cuts: list[int], config: H11Config | None = None) -> tuple[bytes, bool]:
    """What is answered to data that is cut so, and whether the peer is left for it."""
    line = Line(Web(), config)
    for start, end in itertools.pairwise([0, *sorted(cuts), len(data)]):
        line.wire.receive_data(data[start:end], 0.0)
    line.take()
    line.web.wait(2.5)
    return line.sent, line.over()


def test_a_talk_is_the_same_byte_by_byte() -> None:
    whole = said(TALK, [])
    assert [int(part[:3]) for part in whole[0].split(b"HTTP/1.1 ")[1:]] == [
        *(200, 200, 100, 200, 405, 405, 200, 400),
    ]
    assert whole[1]
    assert said(TALK, [*range(len(TALK))]) == whole


@given(st.lists(st.integers(0, len(TALK)), max_size=30))
def test_a_talk_is_the_same_however_it_is_cut(cuts: list[int]) -> None:
    assert said(TALK, cuts) == said(TALK, [])


PADDED = [
    *(http("PUT", b"", "X: " + "x" * size) for size in (10, 20)),
    *(b"PUT /" + b"x" * size for size in (300, 3000)),
    *(
        http("POST", b"", "Transfer-Encoding: chunked") + rest
        for rest in (b"1;" + b"x" * 300 + b"\r\n", b"0\r\nX: " + b"x" * 300 + b"\r\n\r\n", b"1\r\nxyz")
    ),
]


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("data", PADDED, ids=range(len(PADDED)))
def test_a_limit_is_the_same_however_the_input_is_cut(data: bytes, over: int) -> None:
    head = data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    config = H11Config(max_head=min(len(head), 200) + over)
    assert said(data, [*range(len(data))], config) == said(data, [], config)


@pytest.mark.parametrize(("over", "status"), [(0, b"405"), (1, b"431")])
def test_a_head_has_a_limit(over: int, status: bytes) -> None:
    data = http("PUT")
    assert said(data, [], H11Config(max_head=len(data) - over))[0].startswith(b"HTTP/1.1 " + status)


# --- bodies where there should be none, and replies that have begun ------------------------------------


@pytest.mark.parametrize("ending", ["deny", "fail", "too late"])
def test_a_head_is_never_answered_with_a_body(ending: str) -> None:
    web = Web()
    line = Line(web, ask=True)
    line.say(http("HEAD"))
    if ending == "deny":
        line.wire.deny("Bearer", 0.0)
    elif ending == "fail":
        line.wire.fail(0.0)
    else:
        web.wait(60)
    assert line.take().endswith(b"\r\n\r\n")
    assert len(line.statuses) == 1


def test_a_stream_ends_where_the_body_of_its_request_breaks() -> None:
    web = Web()
    line = Line(web)
    line.say(pushed(web, "Transfer-Encoding: chunked"))
    assert line.statuses == [200]
    line.wire.receive_data(b"no size\r\n", 0.0)
    assert len(web.of(WireFailed)) == 1
    assert line.take() == b""
    assert line.over()


def test_a_stream_ends_where_the_body_of_its_request_does_not_come() -> None:
    web = Web()
    line = Line(web)
    reply = line.say(pushed(web, "Content-Length: 70000"))
    assert b"connection: close" in reply
    web.wait(60)
    line.take()
    assert line.statuses == [200]
    assert line.over()


def test_the_body_of_a_request_for_a_stream_is_dropped() -> None:
    web = Web()
    line = Line(web)
    line.say(pushed(web, "Content-Length: 1000"))
    line.say(b"x" * 1000)
    web.wait(70)
    web.edit("p0001")
    web.wait(1)
    assert b"list_changed" in line.take()
    assert not line.over()


# --- anything at all ----------------------------------------------------------------------------------

PIECES = [
    *(LIST, LISTEN, GET, TALK, LIST[:100], LIST[100:], b"\r\n", b"\n", b"POST ", b" HTTP/1.1\r\n"),
    *(b"Host: localhost\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n"),
    *(b"5\r\nabcde\r\n", b"0\r\n\r\n"),
]
PARTS = st.binary(max_size=60) | st.sampled_from(PIECES)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A talk with some bytes that are others, too many, or missing."""
    data = bytearray(TALK)
    for _ in range(draw(st.integers(0, 8))):
        at = draw(st.integers(0, len(data) - 1))
        data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data)


@given(
    parts=st.lists(PARTS | mutated(), max_size=6),
    waits=st.lists(st.sampled_from([0.0, 0.0, 1.0, 30.0, 61.0, 80.0]), min_size=6, max_size=6),
    ask=st.booleans(),
    pull=st.booleans(),
)
def test_whatever_comes_there_is_silence_a_reply_or_the_end(
    parts: list[bytes], waits: list[float], ask: bool, pull: bool
) -> None:
    line = Line(Web(), H11Config(write_timeout=None), ask=ask)
    for part, wait in zip(parts, waits, strict=False):
        line.wire.receive_data(part, line.web.now)
        if line.wire.pending is not None:
            line.wire.admit(None, line.web.now)
        if pull:
            line.take()
        line.web.wait(wait)
        due = line.web.server.next_timeout()
        assert due is None or due > line.web.now
    line.wire.receive_eof(line.web.now)
    line.web.of(PromptRequested)  # cancelled, whatever was still open
    assert line.over()
    assert line.sent == b"" or line.sent.startswith(b"HTTP/1.1 ")
    assert all(status in range(100, 600) for status in line.statuses)


@pytest.mark.parametrize("data", [b"\r\n", b"x", b"X: y\r\n", b"\x00"])
def test_input_without_end_ends(data: bytes) -> None:
    line = Line(Web())
    for _ in range(20_000):
        line.wire.receive_data(data * 10, 0.0)
    line.web.wait(62)
    assert line.over()
    assert line.statuses in ([], [400], [431])


def test_a_body_in_small_pieces_costs_what_a_body_costs() -> None:
    """A hundred thousand chunks of two bytes each: a quarter of an hour if each looked at all the others."""
    body = message("prompts/list") + b" " * 1_000_000
    data = chunked(body, *[2] * 100_000)
    line = Line(Web())
    line.say(data)
    assert line.statuses == [200]


def test_many_requests_at_once_are_answered_one_by_one() -> None:
    line = Line(Web())
    line.say(http("PUT") * 500)
    assert line.statuses == [405] * 500


def test_one_reader_that_does_not_read_delays_nobody() -> None:
    web = Web()
    slow, quick = Line(web), Line(web)
    slow.say(LISTEN)
    quick.say(LISTEN)
    for _ in range(50):
        web.edit("p0001")
        web.wait(1)
        assert quick.take().count(b"list_changed") == 1
    assert slow.take().count(b"list_changed") == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_damaged_talks_one_after_the_other(seed: int) -> None:
    chance = random.Random(seed)
    web = Web()
    for _ in range(200):
        data = bytearray(TALK)
        for _ in range(chance.randrange(1, 10)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        wire = H11ServerWire(web.http, web.now)
        for start in range(0, len(data), step := chance.randrange(1, 400)):
            wire.receive_data(bytes(data[start : start + step]), web.now)
            wire.data_to_send()
            web.wait(0.0)
        wire.receive_eof(web.now)
        while wire.data_to_send():
            pass
        assert wire.closed
    web.wait(100)
    web.of(PromptRequested)
    assert web.server.next_timeout() is None
    assert json.loads(Line(web).say(LIST).partition(b"\r\n\r\n")[2])["id"] == 1
