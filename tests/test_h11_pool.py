"""The connections of an HTTP client: which exchange goes over which, what is sent twice, and how they end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clients import LEGACY, discovered, welcome
from pooled import Far, Near, ok

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Diagnostic,
    HttpFailed,
    LocalProtocolError,
    Lost,
    NegotiationFailed,
    PromptClient,
)
from mcp_sansio.h11 import H11PoolConfig


def asked(near: Near, method: str = "tools/list") -> Far:
    """Make a request; the connection that it goes over."""
    near.client.request(method, None, near.now)
    near.pull()
    (far,) = [far for far in near.far if not far.over() and waits_for(far, method)]
    return far


def waits_for(far: Far, method: str) -> bool:
    """Whether this is the last thing that was asked there, and not answered yet."""
    exchange = far.wire.exchange
    return exchange is not None and bool(far.asked) and far.asked[-1].get("method") == method


# --- which connection ---


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
    assert "\r\nX-Y: z" in head


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


# --- what is lost, and what is sent twice ---


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


# --- what is no HTTP ---


@pytest.mark.parametrize(
    "garbage",
    [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000, b"HTTP/1.1 100 Continue\r\n\r\n" * 101],
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


def test_any_split_is_equal() -> None:
    near = Near()
    (far,) = near.pull()
    body = json.dumps({"jsonrpc": "2.0", "id": far.asked[-1]["id"], "result": discovered()}).encode()
    for byte in ok(body):
        near.answer(far, b"")
        near.answer(far, bytes([byte]))
    assert near.client.era is not None
    assert not far.over()


# --- redirects ---


def redirected(near: Near, far: Far, status: int, location: str | None) -> None:
    """Answer with a redirect, and let follow what follows."""
    fields = () if location is None else (f"Location: {location}",)
    near.answer(far, ok(b"", *fields, status=status))
    near.wait(0)


@pytest.mark.parametrize("location", ["/new?x", "http://localhost:8000/new?x", "new?x"])
def test_a_redirect_within_the_origin_is_followed(location: str) -> None:
    near = Near()
    far = near.welcomed()
    asked(near, "tools/call")
    redirected(near, far, 307, location)
    again = near.far[-1]
    assert again.heads[-1].startswith("POST /new?x ")
    assert again.asked[-1] == far.asked[-1]
    near.reply(again, {})
    assert len(near.of(CallSucceeded)) == 1
    assert asked(near).heads[-1].startswith("POST /mcp ")


def test_a_permanent_redirect_holds_for_what_follows() -> None:
    near = Near()
    redirected(near, near.pull()[0], 308, "/new")
    near.reply(near.far[-1], discovered())
    assert asked(near).heads[-1].startswith("POST /new ")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location", ["http://other.example/mcp?token=1", "https://localhost:8000/mcp", "x y", None]
)
def test_other_redirects_are_told_and_not_followed(status: int, location: str | None) -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    redirected(near, far, status, location)
    (failed,) = near.of(CallFailed)
    assert isinstance(failed.failure, HttpFailed)
    assert failed.failure.status == status
    assert "not followed" in failed.failure.reason
    assert "token" not in failed.failure.reason
    assert len(near.far) == 1


def test_a_loop_of_redirects_ends() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    for _ in range(5):
        redirected(near, far, 307, "/mcp")
        far = near.far[-1]
    redirected(near, far, 307, "/mcp")
    assert len(near.of(CallFailed)) == 1


def test_a_redirect_says_nothing_about_the_era() -> None:
    near = Near(versions=("2026-07-28", LEGACY))
    redirected(near, near.pull()[0], 301, "http://other.example/mcp")
    (failed,) = near.of(NegotiationFailed)
    assert "http://other.example/mcp" in failed.reason


def test_a_message_or_a_stream_that_is_redirected_elsewhere_is_refused() -> None:
    near = Near(PromptClient(), versions=(LEGACY,))
    (far,) = near.pull()
    near.reply(far, welcome(prompts={"listChanged": True}))
    redirected(near, far, 302, "/x")
    assert [each.kind for each in near.of(Diagnostic)] == ["message-refused"]
    (stream,) = [far for far in near.far if far.asked[-1] == "GET"]
    redirected(near, stream, 307, "http://other.example/x")
    near.wait(100)
    assert sum(far.asked.count("GET") for far in near.far) == 1


def test_a_connection_that_is_not_needed_any_more_is_not_opened() -> None:
    near = Near()
    near.welcomed()
    asked(near)
    near.client.request("x/a", None, 0.0)
    given_up = near.client.request("x/b", None, 0.0)
    first = near.pool.next_wire()
    near.client.cancel(given_up, 0.0)
    assert near.pool.next_wire() is None
    assert first is not None


# --- time and endings ---


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


def test_a_pool_that_is_closed_closes_everything_at_once() -> None:
    near = Near()
    near.welcomed()
    far = asked(near)
    far.wire.close(0.0)
    assert not far.over()
    near.pool.close(0.0)
    near.pull()
    assert near.pool.closed
    assert far.over()
    assert not near.client.done


@pytest.mark.parametrize(
    "wrong", [{"max_connections": 0}, {"idle_timeout": -1}, {"connect_timeout": float("inf")}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        H11PoolConfig(**wrong)
