"""One connection of an HTTP server: requests in turn, early refusals, patience, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import MODERN, TOPIC
from visits import Line, call, http, message
from web import Web

from mcp_sansio import LocalProtocolError, RequestCancelled, WireFailed
from mcp_sansio.h11 import H11Config, H11ServerWire

LIST = call("prompts/list")
LISTEN = call("subscriptions/listen", {"notifications": {TOPIC: True}})


@pytest.fixture
def web() -> Web:
    return Web()


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    return [b"", *(data[at : at + 1] for at in range(len(data)))]


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


def test_any_split_is_equal_early_requests_included(web: Web) -> None:
    session = call("prompts/list") + call("prompts/get", {"name": "p0001"}, id=2) + http("PUT") + LIST
    whole, pieces = Line(web), Line(web)
    assert whole.say(session) == pieces.say(session, byte_by_byte)
    assert whole.statuses == [200, 200, 405, 200]


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


def oversized(size: int) -> bytes:
    """The head of a request whose body is too large."""
    return http("POST", b"", f"Content-Length: {size}")


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


# --- what is no HTTP ---


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
    ],
)
def test_what_is_no_request_is_told_so_and_reported(web: Web, garbage: bytes, status: int) -> None:
    line = Line(web)
    line.wire.receive_data(garbage, 0.0)
    (failed,) = web.of(WireFailed)
    assert failed.wire is line.wire
    reply = line.take()
    assert line.statuses in ([status], [400])
    assert b"connection: close" in reply.lower()
    line.say(LIST)
    web.wait(3)
    assert line.over()
    assert len(line.statuses) == 1


def test_another_version_of_http_is_not_spoken(web: Web) -> None:
    line = Line(web)
    line.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert line.statuses == [505]
    web.wait(2)
    assert line.over()


def test_a_body_that_breaks_costs_its_request(web: Web) -> None:
    line = Line(web)
    line.say(http("POST", b"", "Transfer-Encoding: chunked"))
    line.say(b"not a size\r\n")
    assert line.statuses == [400]
    assert len(web.of(WireFailed)) == 0  # taken by `say`


def test_a_body_that_breaks_after_its_refusal_is_the_end() -> None:
    line = Line(Web(http={"max_body": 10}))
    line.say(http("POST", b"", "Transfer-Encoding: chunked") + b"1\r\nx\r\n")
    line.wire.abort(0.0)
    line = Line(Web())
    line.say(http("PUT", b"", "Content-Length: 100"))
    assert line.statuses == [405]
    line.wire.receive_data(b"x" * 50, 0.0)
    line.wire.close(0.0)
    assert line.over()


@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([LIST, LISTEN, b"\r\n", b"POST ", LIST[:100], LIST[200:]])
    )
)
def test_whatever_comes_nothing_is_raised_and_little_is_kept(parts: list[bytes]) -> None:
    line = Line(Web())
    for part in parts:
        line.say(part)
    line.wire.receive_eof(0.0)
    assert line.over()


# --- whose request it is ---


def test_a_request_waits_until_somebody_says_whose_it_is(web: Web) -> None:
    line = Line(web, ask=True)
    assert line.say(LIST + LIST) == b""
    pending = line.wire.pending
    assert pending is not None
    assert (pending.method, pending.target, pending.peer) == ("POST", "/mcp", "peer")
    assert ("host", "localhost") in pending.headers
    assert line.wire.want_read
    line.wire.admit("ada", 0.0)
    line.take()
    assert line.statuses == [200]
    assert line.wire.pending is not None
    assert line.wire.pending is not pending
    line.wire.admit(None, 0.0)
    line.take()
    assert line.statuses == [200, 200]


def test_a_principal_is_whom_a_session_belongs_to(web: Web) -> None:
    session = web.session(principal="ada")
    fields = (f"Mcp-Session-Id: {session.id}", f"MCP-Protocol-Version: {session.version}")
    for principal, status in (("ada", 200), ("bob", 404)):
        line = Line(web, ask=True)
        line.say(http("POST", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', *fields))
        line.wire.admit(principal, 0.0)
        line.take()
        assert line.statuses == [status]


def test_a_request_may_be_denied(web: Web) -> None:
    line = Line(web, ask=True)
    line.say(LIST)
    line.wire.deny('Bearer realm="x"', 0.0)
    reply = line.take()
    assert reply.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b'www-authenticate: Bearer realm="x"' in reply
    line.say(LIST)
    line.wire.deny("Bearer", 0.0, status=403, reason="not you")
    assert b"not you" in line.take()
    assert line.statuses == [401, 403]


def test_nobody_can_tell_whose_request_it_is(web: Web) -> None:
    line = Line(web, ask=True)
    line.say(LIST)
    line.wire.fail(0.0)
    assert line.take().startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert not line.over()


def test_nothing_is_admitted_that_does_not_wait(web: Web) -> None:
    line = Line(web, ask=True)
    with pytest.raises(LocalProtocolError):
        line.wire.admit(None, 0.0)
    with pytest.raises(LocalProtocolError):
        line.wire.deny("Bearer", 0.0)
    with pytest.raises(LocalProtocolError):
        line.wire.fail(0.0)


def test_a_peer_that_leaves_while_it_is_asked_about_is_forgotten(web: Web) -> None:
    line = Line(web, H11Config(max_pipelined=10), ask=True)
    line.say(LIST)
    assert not line.wire.want_read
    line.wire.receive_eof(0.0)
    assert line.over()
    assert line.wire.pending is None


# --- patience ---


@pytest.mark.parametrize("begun", [b"", b"POST /mcp HT", LIST[:-1], http("POST", b"", "Content-Length: 9")])
def test_a_request_that_does_not_come_in_time(web: Web, begun: bytes) -> None:
    line = Line(web)
    line.say(begun)
    web.wait(59.9)
    assert not line.over()
    web.wait(3)
    line.take()
    assert line.statuses == ([408] if begun else [])
    web.wait(3)
    assert line.over()


def test_a_trickle_does_not_count_as_coming(web: Web) -> None:
    line = Line(web)
    line.say(LIST)
    for at in range(70):
        web.wait(1)
        line.say(LIST[at : at + 1])
    web.wait(3)
    line.take()
    assert line.statuses == [200, 408]
    assert line.over()


def test_an_idle_connection_is_closed(web: Web) -> None:
    line = Line(web, H11Config(idle_timeout=10))
    line.say(LIST)
    web.wait(9)
    line.say(LIST)
    web.wait(9.9)
    assert not line.over()
    web.wait(0.2)
    assert line.over()
    assert web.server.next_timeout() is None


def test_a_rest_that_does_not_come_ends_the_connection() -> None:
    web = Web(http={"max_body": 10})
    line = Line(web)
    line.say(oversized(1000))
    web.wait(61)
    line.take()
    assert line.statuses == [413]
    assert line.over()


def test_a_peer_that_does_not_read_is_left(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(LISTEN, 0.0)
    assert line.wire.data_to_send()
    web.wait(60)
    assert line.wire in web.woken()
    assert line.over()
    assert line.wire.data_to_send() == []


def test_patience_may_be_without_end(web: Web) -> None:
    line = Line(web, H11Config(request_timeout=None, idle_timeout=None, write_timeout=None))
    line.say(LIST)
    assert web.server.next_timeout() is None


@pytest.mark.parametrize(
    "wrong", [{"linger": -1}, {"max_head": 0}, {"max_pipelined": 1.5}, {"idle_timeout": float("nan")}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        H11Config(**wrong)


# --- endings ---


def test_closing_waits_for_the_reply_of_the_moment(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(LIST, 0.0)
    line.wire.close(0.0)
    assert not line.wire.closed
    assert b"connection: close" in line.take().lower()
    assert line.over()


def test_closing_drops_what_has_not_begun(web: Web) -> None:
    line = Line(web)
    line.say(LIST[:50])
    line.wire.close(0.0)
    assert line.over()
    line.wire.close(0.0)
    line.wire.receive_eof(0.0)
    line.wire.abort(0.0)
    assert line.sent == b""


def test_closing_refuses_what_is_asked_about(web: Web) -> None:
    line = Line(web, ask=True)
    line.say(LIST)
    line.wire.close(0.0)
    assert b"connection: close" in line.take().lower()
    assert line.statuses == [503]
    web.wait(2)
    assert line.over()


def test_a_server_that_is_closed_says_so_and_leaves(web: Web) -> None:
    line = Line(web)
    line.say(LISTEN)
    web.server.close(0.0)
    assert line.take().endswith(b"0\r\n\r\n")
    other = Line(web)
    assert b"connection: close" in other.say(LIST).lower()
    assert other.statuses == [503]
    assert other.wire.closed


def test_an_abort_is_the_end_at_once(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(call("prompts/get", {"name": "p0001"}), 0.0)
    line.wire.abort(0.0, "it broke")
    (cancelled,) = web.of(RequestCancelled)
    assert cancelled.request.method == "prompts/get"
    assert line.over()
    assert not line.wire.want_read
    assert line.take() == b""
    assert web.server.next_timeout() is None
