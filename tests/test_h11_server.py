"""One connection of an HTTP server: requests in turn, streams, refusals, and what is no HTTP."""

from __future__ import annotations

import json

import pytest
from serving import MODERN, TOPIC
from visits import LIST, LISTEN, Line, call, http, message, oversized
from web import Web

from mcp_sansio import RequestCancelled, WireFailed
from mcp_sansio.h11 import H11Config, H11ServerWire


@pytest.fixture
def web() -> Web:
    return Web()


# --- requests and replies ---


def test_a_request_is_answered_and_the_connection_lives(web: Web) -> None:
    line = Line(web)
    reply = line.say(LIST)
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"connection: close" not in head.lower()
    assert len(json.loads(body)["result"]["prompts"]) == 2
    assert line.say(call("server/discover")).startswith(b"HTTP/1.1 200 ")
    assert not line.over()
    assert line.wire.want_read


def test_the_wire_is_what_is_woken(web: Web) -> None:
    wire = H11ServerWire(web.http, 0.0)
    wire.receive_data(LIST, 0.0)
    assert web.woken() == [wire]
    assert web.http.server is web.server


def test_early_requests_are_answered_in_their_order_and_not_while_output_is_pulled(web: Web) -> None:
    wire = H11ServerWire(web.http, 0.0)
    wire.receive_data(LIST + call("server/discover"), 0.0)
    first = b"".join(wire.data_to_send())
    assert first.count(b"HTTP/1.1 ") == 1
    assert wire.data_to_send() == []
    assert web.server.next_timeout() == 0.0
    web.server.handle_timeout(0.0)
    assert b"supportedVersions" in b"".join(wire.data_to_send())


def test_early_requests_wait_within_a_limit(web: Web) -> None:
    line = Line(web, H11Config(max_pipelined=len(LIST)))
    wanted: list[bool] = []
    for data in (LISTEN, LIST):
        line.say(data)
        wanted.append(line.wire.want_read)
    assert wanted == [True, False]
    assert line.statuses == [200]


def test_a_body_may_come_in_chunks(web: Web) -> None:
    body = message("prompts/list")
    fields = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: prompts/list", "Transfer-Encoding: chunked")
    chunked = b"5\r\n" + body[:5] + b"\r\n" + f"{len(body) - 5:x}\r\n".encode() + body[5:] + b"\r\n0\r\n\r\n"
    line = Line(web)
    assert line.say(http("POST", b"", *fields) + chunked).startswith(b"HTTP/1.1 200 ")
    assert line.say(LIST).startswith(b"HTTP/1.1 200 ")


def test_a_peer_of_http_1_0_is_answered_and_left(web: Web) -> None:
    line = Line(web)
    assert b"connection: close" in line.say(call("prompts/list", version="1.0")).lower()
    assert line.over()


def test_a_peer_that_wants_to_leave_may(web: Web) -> None:
    line = Line(web)
    line.say(call("prompts/list", None, "Connection: close"))
    assert line.statuses == [200]
    assert line.over()
    assert line.say(LIST) == b""


def test_a_head_is_answered_without_a_body(web: Web) -> None:
    line = Line(web)
    assert line.say(http("HEAD")).endswith(b"\r\n\r\n")
    assert line.statuses == [405]
    assert line.say(LIST).startswith(b"HTTP/1.1 200 ")


def test_an_empty_line_before_a_request_is_ignored(web: Web) -> None:
    line = Line(web)
    line.say(b"\r\n" + LIST + b"\r\n\r\n" + LIST + b"\r\n")
    assert line.statuses == [200, 200]
    web.wait(74.9)
    assert not line.over()  # nothing has begun with it
    web.wait(0.1)
    assert line.over()
    assert line.statuses == [200, 200]


def test_who_waits_to_send_a_body_that_is_wanted_is_told_to(web: Web) -> None:
    line = Line(web)
    whole = call("prompts/list", None, "Expect: 100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    assert line.say(head + b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert line.say(body).startswith(b"HTTP/1.1 200 ")
    assert not line.over()


def test_who_waits_to_send_a_body_that_is_not_wanted_is_refused_at_once(web: Web) -> None:
    line = Line(web)
    reply = line.say(http("POST", b"", "Expect: 100-continue", "Content-Encoding: gzip", "Content-Length: 5"))
    assert reply.startswith(b"HTTP/1.1 415 Unsupported Media Type\r\n")
    assert b"connection: close" in reply.lower()
    web.wait(3)
    assert line.over()


def test_who_sends_a_body_unasked_that_is_not_wanted_keeps_its_connection(web: Web) -> None:
    line = Line(web)
    reply = line.say(http("POST", b"x" * 5, "Expect: 100-continue", "Content-Encoding: gzip"))
    assert line.statuses == [415]
    assert b"connection: close" not in reply.lower()
    assert line.say(LIST).startswith(b"HTTP/1.1 200 ")


# --- streams ---


def test_a_stream_goes_on_until_the_peer_is_gone_which_cancels_it(web: Web) -> None:
    line = Line(web)
    reply = line.say(LISTEN)
    assert b"transfer-encoding: chunked" in reply.lower()
    assert b"acknowledged" in reply
    web.edit("p0001")
    web.wait(1)
    assert b"list_changed" in line.take()
    web.wait(20)
    assert line.take() == b"3\r\n:\n\n\r\n"
    line.wire.receive_eof(web.now)
    web.edit("p0002")
    web.wait(5)
    assert line.take() == b""
    assert line.over()


def test_a_stream_to_a_peer_of_http_1_0_ends_with_its_connection(web: Web) -> None:
    line = Line(web)
    reply = line.say(call("subscriptions/listen", {"notifications": {TOPIC: True}}, version="1.0"))
    assert b"connection: close" in reply.lower()
    assert b"transfer-encoding" not in reply.lower()
    web.edit("p0001")
    web.wait(1)
    assert line.take().startswith(b"event: message\ndata: {")
    assert not line.over()
    web.server.close(web.now)
    assert line.over()


def test_a_stream_that_is_read_lives_longer_than_a_write_may_take(web: Web) -> None:
    line = Line(web)
    line.say(LISTEN)
    for _ in range(20):
        web.wait(15)
        assert line.take() == b"3\r\n:\n\n\r\n"
    assert not line.over()


def test_a_legacy_request_goes_on_without_its_peer_and_is_answered_to_nobody(web: Web) -> None:
    session = web.session()
    line = Line(web)
    fields = (f"Mcp-Session-Id: {session.id}", f"MCP-Protocol-Version: {session.version}")
    get = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "p0001"}}
    line.wire.receive_data(http("POST", json.dumps(get).encode(), *fields), 0.0)
    line.wire.receive_eof(0.0)
    assert web.of(RequestCancelled) == []
    assert line.take() == b""
    assert line.over()


def test_a_peer_that_leaves_before_its_answer_has_cancelled(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(call("prompts/get", {"name": "p0001"}), 0.0)
    line.wire.receive_eof(0.0)
    assert len(web.of(RequestCancelled)) == 1
    assert line.take() == b""
    assert line.over()


def test_what_has_been_said_is_written_when_the_peer_has_finished(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(LIST, 0.0)
    line.wire.receive_eof(0.0)
    line.take()
    assert line.statuses == [200]
    assert line.over()


def test_a_last_reply_is_written_though_the_peer_has_finished(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(call("prompts/list", None, "Connection: close"), 0.0)
    line.wire.receive_eof(0.0)
    line.take()
    assert line.statuses == [200]
    assert line.over()


def test_a_reader_that_does_not_read_costs_one_notification(web: Web) -> None:
    line = Line(web, H11Config(write_timeout=None))
    line.say(LISTEN)
    for _ in range(10_000):
        web.edit("p0001")
        web.wait(0.6)
    assert b"".join(line.wire.data_to_send()).count(b"list_changed") == 1


def test_a_legacy_session_is_pushed_to(web: Web) -> None:
    session = web.session()
    line = Line(web)
    fields = (f"Mcp-Session-Id: {session.id}", f"MCP-Protocol-Version: {session.version}")
    line.say(http("GET", b"", *fields))
    web.edit("p0001")
    web.wait(1)
    assert b"list_changed" in line.take()
    web.server.close(web.now)
    assert line.take().endswith(b"0\r\n\r\n")


# --- refusals before the body ---


def test_a_small_rest_of_a_refused_body_is_read_and_the_connection_lives() -> None:
    line = Line(Web(http={"max_body": 10}))
    assert line.say(oversized(1000)).startswith(b"HTTP/1.1 413 ")
    assert line.wire.want_read
    assert line.say(b"x" * 999) == b""
    assert line.say(b"x" + http("PUT")).startswith(b"HTTP/1.1 405 ")


def test_a_large_rest_is_dropped_and_then_the_connection() -> None:
    web = Web(http={"max_body": 10})
    line = Line(web)
    assert b"connection: close" in line.say(oversized(10_000_000)).lower()
    assert line.wire.want_read
    assert line.say(b"x" * 100_000) == b""
    assert not line.over()
    web.wait(2)
    assert line.over()


def test_a_chunked_body_that_grows_too_large_is_refused_while_it_comes() -> None:
    web = Web(http={"max_body": 10})
    line = Line(web)
    line.say(http("POST", b"", "Transfer-Encoding: chunked"))
    assert line.say(b"ff\r\n" + b"x" * 255).startswith(b"HTTP/1.1 413 ")
    line.wire.receive_eof(web.now)
    assert line.over()


def test_a_body_that_had_been_sent_whole_costs_no_connection() -> None:
    line = Line(Web(http={"max_body": 10}))
    line.say(http("POST", b"x" * 100_000))
    assert line.statuses == [413]
    assert line.say(http("PUT")).startswith(b"HTTP/1.1 405 ")


# --- what is no HTTP, or none that is spoken here ---

HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b" GET / HTTP/1.1\r\n\r\n", 400),
        (b"POST /mcp HTTP/1.1\r\n\r\n", 400),
        (HEAD + b"Host: b\r\n\r\n", 400),
        (HEAD + b"Space : x\r\n\r\n", 400),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (HEAD.replace(b"/1.1", b"/1.0") + b"Transfer-Encoding: chunked\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 501),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (HEAD + b"X: " + b"x" * 70_000, 431),
        (HEAD.replace(b"/1.1", b"/0.9") + b"\r\n", 505),
        (HEAD.replace(b"/1.1", b"/2.0") + b"\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ],
)
def test_what_is_no_request_is_told_so_and_reported(web: Web, garbage: bytes, status: int) -> None:
    line = Line(web)
    line.wire.receive_data(garbage, 0.0)
    (failed,) = web.of(WireFailed)
    assert failed.wire is line.wire
    reply = line.take()
    assert line.statuses == [status]
    assert b"connection: close" in reply.lower()
    assert line.say(LIST) == b""
    assert not line.over()
    web.wait(2)
    assert line.over()
    assert web.server.next_timeout() is None


@pytest.mark.parametrize("request_line", [b"CONNECT localhost:80 HTTP/1.1", b"TRACE /mcp HTTP/1.1"])
def test_other_methods_are_refused(web: Web, request_line: bytes) -> None:
    line = Line(web)
    reply = line.say(request_line + b"\r\nHost: localhost\r\n\r\n")
    assert b"allow: GET, POST, DELETE\r\n" in reply
    assert line.statuses == [405]
    assert line.say(LIST).startswith(b"HTTP/1.1 200 ")


def test_another_protocol_is_not_switched_to(web: Web) -> None:
    line = Line(web)
    line.say(call("prompts/list", None, "Connection: Upgrade", "Upgrade: h2c") + LIST)
    assert line.statuses == [200, 200]


def test_a_body_that_breaks_costs_its_request(web: Web) -> None:
    line = Line(web)
    line.say(http("POST", b"", "Transfer-Encoding: chunked"))
    line.wire.receive_data(b"not a size\r\n", 0.0)
    assert [event.wire for event in web.of(WireFailed)] == [line.wire]
    line.take()
    assert line.statuses == [400]
