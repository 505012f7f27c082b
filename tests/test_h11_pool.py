"""The connections of an HTTP client: which exchange goes over which, what is sent twice, and how they end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clients import LEGACY, welcome
from pooled import Far, Near, asked, ok, waits_for

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    LocalProtocolError,
    Lost,
    NegotiationFailed,
)
from mcp_sansio.h11 import H11PoolConfig

# --- which connection ---------------------------------------------------------------------------------


def test_a_connection_is_used_again() -> None:
    near = Near()
    far = near.welcomed()
    for _ in range(3):
        assert asked(near) is far
        near.reply(far, {"tools": []})
    assert len(near.of(CallSucceeded)) == 3
    assert len(near.far) == 1


def test_what_is_asked_at_the_same_time_goes_over_several_and_the_last_idle_one_is_taken_first() -> None:
    near = Near()
    first = near.welcomed()
    assert asked(near, "tools/list") is first
    second = asked(near, "resources/list")
    assert second is not first
    near.reply(second, {})
    near.reply(first, {})
    assert asked(near, "x/y") is first


def test_a_connection_that_is_to_be_closed_is_not_used_again() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.reply(far, {}, close=True)
    assert far.over()
    assert asked(near) is not far


def test_requests_wait_where_there_are_too_many_but_not_what_asks_for_nothing() -> None:
    near = Near(pool=H11PoolConfig(max_connections=2))
    near.welcomed()
    first, second = asked(near, "x/a"), asked(near, "x/b")
    given_up = near.client.request("x/c", None, 0.0)
    near.client.request("x/d", None, 0.0)
    near.client.notify("notifications/x", None, 0.0)
    (urgent,) = near.pull()
    assert urgent.asked[-1]["method"] == "notifications/x"
    near.client.cancel(given_up, 0.0)
    near.reply(first, {})
    assert first.asked[-1]["method"] == "x/d"
    near.answer(urgent, ok(status=202))
    near.reply(second, {})
    assert {far.asked[-1]["method"] for far in near.far} == {"x/d", "x/b", "notifications/x"}


# --- what is lost, and what is sent twice -------------------------------------------------------------


def test_a_connection_that_cannot_be_opened_loses_its_exchange() -> None:
    near = Near()
    near.pull(connect=False)
    for attempt in range(4):
        near.far[attempt].wire.abort(near.now, "connection refused")
        near.wait(1)
    (failed,) = near.of(NegotiationFailed)
    assert "connection refused" in failed.reason
    assert near.pool.closed


def test_opening_a_connection_has_its_time() -> None:
    near = Near(pool=H11PoolConfig(connect_timeout=3.0))
    (far,) = near.pull(connect=False)
    near.wait(2.9)
    assert not far.over()
    near.wait(0.2)
    assert far.wire.data_to_send() == []
    far.wire.connected(near.now)
    assert far.wire.data_to_send() == []
    near = Near(pool=H11PoolConfig(connect_timeout=None), versions=(LEGACY,))
    (far,) = near.pull(connect=False)
    near.wait(8)
    assert not far.over()


def stale(near: Near, method: str) -> Far:
    """Ask over an old connection that turns out to be closed."""
    far = near.welcomed()
    assert asked(near, method) is far
    far.wire.receive_eof(near.now)
    near.pull()
    return far


def test_an_old_connection_that_was_closed_costs_no_safe_request() -> None:
    near = Near()
    stale(near, "tools/list")
    assert near.far[-1].asked[-1]["method"] == "tools/list"
    assert len(near.far) == 2
    near.reply(near.far[-1], {})
    assert len(near.of(CallSucceeded)) == 1


def test_a_request_that_is_not_known_to_be_safe_is_never_sent_twice() -> None:
    near = Near()
    stale(near, "tools/call")
    assert len(near.far) == 1
    (failed,) = near.of(CallFailed)
    assert isinstance(failed.failure, Lost)


def crossing(near: Near, method: str) -> Far:
    """Make a request over an old connection, of which nothing has been written yet."""
    far = near.welcomed()
    near.client.request(method, None, near.now)
    while near.client.next_ready() is not None:
        pass
    assert near.pool.next_wire() is None
    assert far.wire.exchange is not None
    return far


def test_a_request_of_which_nothing_was_written_goes_over_another_connection_safe_or_not() -> None:
    near = Near()
    far = crossing(near, "tools/call")
    far.wire.receive_eof(0.0)
    near.pull()
    assert near.far[-1].asked[-1]["method"] == "tools/call"
    near.reply(near.far[-1], {})
    assert len(near.of(CallSucceeded)) == 1


TOO_IDLE = ok(b'{"jsonrpc":"2.0","id":2,"result":{}}', status=408)


@pytest.mark.parametrize("size", [1, 20, len(TOO_IDLE)])
def test_what_comes_before_a_request_has_been_written_is_no_reply_to_it(size: int) -> None:
    near = Near()
    far = crossing(near, "tools/call")
    near.answer(far, TOO_IDLE[:size])
    assert far.over()
    far.wire.receive_data(TOO_IDLE[size:], 0.0)
    far.wire.receive_eof(0.0)
    assert near.events() == []
    near.reply(near.far[-1], {"done": True})
    assert len(near.of(CallSucceeded)) == 1
    assert len(near.far) == 2


def test_a_new_connection_on_which_the_server_speaks_first_is_not_tried_again() -> None:
    near = Near()
    near.welcomed()
    asked(near)
    near.client.request("x/y", None, 0.0)
    (far,) = near.pull(connect=False)
    far.wire.connected(0.0)
    near.answer(far, b"SSH-2.0-OpenSSH\r\n")
    assert [each.failure for each in near.of(CallFailed)] == [Lost("the server spoke unasked")]
    assert len(near.far) == 2


def test_nothing_is_sent_twice_when_the_connection_was_a_new_one_or_a_reply_had_begun() -> None:
    near = Near()
    first = near.welcomed()
    asked(near, "x/a")
    asked(near, "tools/list")
    second = near.far[1]
    second.wire.receive_eof(0.0)
    near.pull()
    near.reply(first, {})
    asked(near, "tools/list")
    near.answer(first, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
    first.wire.abort(0.0, "reset")
    near.pull()
    assert len(near.far) == 2
    assert [type(each.failure) for each in near.of(CallFailed)] == [Lost, Lost]


def test_a_reply_has_begun_with_its_first_byte() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    near.answer(far, b"H")
    far.wire.receive_eof(0.0, "the server hung up")
    assert [each.failure for each in near.of(CallFailed)] == [Lost("the server hung up")]
    assert near.pull() == []


def test_the_second_time_it_goes_over_a_new_connection_even_if_another_is_idle() -> None:
    near = Near()
    first = near.welcomed()
    asked(near, "x/a")
    second = asked(near, "x/b")
    near.reply(first, {})
    near.reply(second, {})
    assert asked(near, "tools/list") is second
    second.wire.abort(0.0)
    near.pull()
    assert waits_for(near.far[2], "tools/list")


def test_a_repetition_that_nobody_waits_for_any_more_is_not_made() -> None:
    near = Near()
    far = near.welcomed()
    call = near.client.request("tools/list", None, 0.0)
    near.pull()
    far.wire.receive_eof(0.0)
    near.client.cancel(call, 0.0)
    near.pull()
    assert len(near.far) == 1


def test_a_request_that_is_given_up_takes_its_connection_along() -> None:
    near = Near()
    far = near.welcomed()
    call = near.client.request("tools/list", None, 0.0)
    near.pull()
    near.client.cancel(call, 0.0)
    near.pull()
    assert far.over()
    far.wire.receive_data(b"x", 0.0)
    far.wire.receive_eof(0.0)
    far.wire.close(0.0)
    far.wire.abort(0.0)


# --- time and endings ---------------------------------------------------------------------------------


def test_an_idle_connection_is_closed_after_a_while() -> None:
    near = Near(pool=H11PoolConfig(idle_timeout=5.0))
    far = near.welcomed()
    near.wait(4)
    asked(near)
    near.wait(6)
    near.reply(far, {})
    near.wait(4.9)
    assert not far.over()
    near.wait(0.2)
    assert far.over()
    assert near.client.next_timeout() is None


def test_an_idle_connection_that_the_server_closes_costs_nothing() -> None:
    near = Near()
    far = near.welcomed()
    far.wire.receive_eof(0.0)
    assert far.over()
    near.reply(asked(near), {})
    assert len(near.of(CallSucceeded)) == 1


def test_a_closed_client_ends_its_session_and_then_its_connections() -> None:
    near = Near(versions=(LEGACY,))
    (far,) = near.pull()
    body = json.dumps({"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": welcome()}).encode()
    near.answer(far, ok(body, "Mcp-Session-Id: s"))
    assert far.asked[-1]["method"] == "notifications/initialized"
    near.answer(far, ok(status=202))
    near.client.close(0.0)
    near.pull()
    assert far.asked[-1] == "DELETE"
    assert "Mcp-Session-Id: s" in far.heads[-1]
    near.answer(far, ok())
    assert near.pool.closed
    assert far.over()


def test_a_pool_that_is_closed_lets_go_of_its_client() -> None:
    near = Near()
    near.welcomed()
    far = asked(near)
    asked(near, "x/a")
    opening = near.client.request("x/b", None, 0.0)
    near.pull(connect=False)
    near.pool.close(0.0, "moving")
    assert near.pull() == []
    assert near.pool.closed
    assert all(far.over() for far in near.far)
    assert far.wire.data_to_send() == []
    assert CallFailed(opening, Lost("moving")) in near.events()
    assert not near.client.done
    assert near.client.next_timeout() is None


def test_a_pool_that_is_closed_ends_its_session_over_the_connection_that_it_has() -> None:
    near = Near(versions=(LEGACY,))
    (far,) = near.pull()
    body = json.dumps({"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": welcome()}).encode()
    near.answer(far, ok(body, "Mcp-Session-Id: s"))
    near.answer(far, ok(status=202))
    near.pool.close(0.0)
    assert near.pull() == []
    assert far.asked[-1] == "DELETE"
    assert not near.pool.closed
    near.answer(far, ok())
    assert near.pool.closed


@pytest.mark.parametrize(
    "wrong", [{"max_connections": 0}, {"idle_timeout": -1}, {"connect_timeout": float("inf")}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        H11PoolConfig(**wrong)
