"""Requests of ours that take their time: clocks, progress, cancellation."""

from __future__ import annotations

from typing import Any

import pytest
from calling import ask, progress
from clients import Peer, kinds, modern

from mcp_sansio import (
    CallFailed,
    CallId,
    CallSucceeded,
    Cancelled,
    Limits,
    ProgressReported,
    TimedOut,
)

NO_LIMITS = Limits()


# --- clocks -----------------------------------------------------------------------------------------


def test_without_progress_the_quiet_clock_ends_a_call() -> None:
    peer = modern()
    call, wire_id = ask(peer, limits=Limits(10.0, 30.0))
    assert peer.client.next_timeout() == 10.0
    peer.client.handle_timeout(9.999)
    assert peer.events() == []
    peer.client.handle_timeout(10.0)
    assert peer.events() == [CallFailed(call, TimedOut("quiet", 10.0))]
    assert peer.client.next_timeout() is None
    cancelled = peer.last()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": wire_id}
    peer.reply(wire_id, {})
    assert kinds(peer.events()) == ["unknown-reply"]


def test_progress_restarts_the_quiet_clock_and_never_the_total_one() -> None:
    """In the official SDK a timeout runs from the write to the reply, progress or not."""
    peer = modern()
    call, wire_id = ask(peer, limits=Limits(10.0, 25.0), progress=True)
    for step in range(1, 4):
        peer.now = 8.0 * step
        progress(peer, wire_id, step)
    assert kinds(peer.events()) == ["ProgressReported"] * 3
    assert peer.client.next_timeout() == 25.0
    peer.wait(1.0)
    assert peer.events() == [CallFailed(call, TimedOut("total", 25.0))]


def test_when_both_clocks_end_together_it_is_the_total_one() -> None:
    peer = modern()
    call, _ = ask(peer, limits=Limits(5.0, 5.0))
    peer.wait(5.0)
    assert peer.events() == [CallFailed(call, TimedOut("total", 5.0))]


def test_a_call_with_one_limit_has_one_clock() -> None:
    peer = modern()
    quiet, _ = ask(peer, limits=Limits(quiet=5.0))
    total, wire_id = ask(peer, limits=Limits(total=6.0), progress=True)
    progress(peer, wire_id, 1)
    peer.events()
    peer.wait(10.0)
    assert peer.events() == [
        CallFailed(quiet, TimedOut("quiet", 5.0)),
        CallFailed(total, TimedOut("total", 6.0)),
    ]


def test_a_call_without_limits_waits_for_ever() -> None:
    peer = modern()
    call, wire_id = ask(peer, limits=NO_LIMITS)
    assert peer.client.next_timeout() is None
    peer.wait(1e9)
    peer.reply(wire_id, {})
    assert peer.events() == [CallSucceeded(call, {})]


def test_the_limits_of_the_configuration_are_the_default() -> None:
    peer = modern(quiet_timeout=7.0, total_timeout=None)
    call, _ = ask(peer)
    peer.wait(7.0)
    assert peer.events() == [CallFailed(call, TimedOut("quiet", 7.0))]


def test_data_that_arrives_at_the_deadline_wins() -> None:
    peer = modern()
    call, wire_id = ask(peer, limits=Limits(10.0))
    peer.now = 10.0
    peer.reply(wire_id, {})
    peer.client.handle_timeout(10.0)
    assert peer.events() == [CallSucceeded(call, {})]


def test_the_clocks_of_a_call_run_while_it_waits_for_the_era() -> None:
    peer = Peer()
    call = peer.client.request("x/ask", None, 1.0, limits=Limits(2.0))
    peer.now = 1.0
    peer.wait(2.0)
    assert peer.events() == [CallFailed(call, TimedOut("quiet", 2.0))]
    peer.say_modern()
    assert peer.sent() == []


def test_a_clock_that_goes_backwards_stands_still() -> None:
    peer = modern()
    peer.now = 100.0
    ask(peer, limits=Limits(10.0))
    peer.now = 50.0
    later, _ = ask(peer, limits=Limits(10.0))
    assert peer.client.next_timeout() == 110.0
    peer.client.handle_timeout(60.0)
    assert peer.events() == []
    peer.client.handle_timeout(110.0)
    assert len(peer.of(CallFailed)) == 2
    assert later == CallId(3)


# --- progress ---------------------------------------------------------------------------------------


def test_progress_is_reported_with_what_it_says() -> None:
    peer = modern()
    call, wire_id = ask(peer, progress=True)
    assert peer.log[-1]["params"]["_meta"]["progressToken"] == wire_id
    progress(peer, wire_id, 0.5, total=2, message="half")
    progress(peer, wire_id, 1, total="2", message=7)
    assert peer.events() == [
        ProgressReported(call, 0.5, 2, "half"),
        ProgressReported(call, 1, None, None),
    ]


@pytest.mark.parametrize("value", [None, "1", True, [], {}])
def test_progress_is_a_number(value: Any) -> None:
    peer = modern()
    _, wire_id = ask(peer, progress=True)
    progress(peer, wire_id, value)
    assert kinds(peer.events()) == ["bad-progress"]


def test_progress_that_does_not_increase_is_reported_and_restarts_nothing() -> None:
    peer = modern()
    call, wire_id = ask(peer, limits=Limits(10.0), progress=True)
    progress(peer, wire_id, 5)
    peer.now = 9.0
    progress(peer, wire_id, 5)
    progress(peer, wire_id, 4)
    assert kinds(peer.events()) == ["ProgressReported", "bad-progress", "bad-progress"]
    peer.wait(1.0)
    assert peer.events() == [CallFailed(call, TimedOut("quiet", 10.0))]


def test_progress_for_what_is_not_in_flight_means_nothing() -> None:
    peer = modern()
    _, silent = ask(peer)
    call, wire_id = ask(peer, progress=True)
    queued = peer.client.request("x/ask", None, peer.now, progress=True)
    for token in (silent, 4, 99, str(wire_id), True, None, [wire_id]):
        progress(peer, token, 1)
    assert kinds(peer.events()) == ["bad-progress"] * 7
    peer.reply(wire_id, {})
    progress(peer, wire_id, 1)
    assert kinds(peer.events()) == ["CallSucceeded", "bad-progress"]
    assert (call.number, queued.number) == (3, 4)


# --- cancelling -------------------------------------------------------------------------------------


def test_cancelling_tells_the_server_and_ends_the_call_at_once() -> None:
    peer = modern()
    call, wire_id = ask(peer)
    peer.client.cancel(call, peer.now)
    assert peer.events() == [CallFailed(call, Cancelled())]
    [message] = peer.sent()
    assert message == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": wire_id},
    }
    peer.client.cancel(call, peer.now)
    peer.reply(wire_id, {})
    assert kinds(peer.events()) == ["unknown-reply"]
    assert peer.sent() == []


def test_what_has_not_left_is_cancelled_without_a_word() -> None:
    peer = modern()
    call = peer.client.request("x/ask", None, peer.now)
    kept = peer.client.request("x/kept", None, peer.now)
    peer.client.cancel(call, peer.now)
    assert [message["method"] for message in peer.sent()] == ["x/kept"]
    assert peer.events() == [CallFailed(call, Cancelled())]
    assert kept != call


def test_what_was_answered_cannot_be_cancelled() -> None:
    peer = modern()
    call, wire_id = ask(peer)
    peer.reply(wire_id, {})
    peer.client.cancel(call, peer.now)
    assert peer.events() == [CallSucceeded(call, {})]
    assert peer.sent() == []
