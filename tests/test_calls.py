"""Requests of ours: their ids, their replies, and one end for each."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from calling import ask, progress
from clients import Peer, discovered, kinds, legacy, modern
from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio import (
    Call,
    CallFailed,
    CallId,
    CallSucceeded,
    Cancelled,
    ClientLayer,
    Closed,
    Diagnostic,
    InvalidReply,
    Limits,
    LocalProtocolError,
    Lost,
    Op,
    Outcome,
    ProgressReported,
    Reply,
    RpcError,
    TimedOut,
)

# --- replies ----------------------------------------------------------------------------------------


def test_answers_in_any_order_find_their_requests_and_extra_ones_are_reported() -> None:
    peer = modern()
    calls = [ask(peer) for _ in range(3)]
    (first, one), (second, two), (third, three) = calls
    for wire_id in (three, one, one, two, 77):
        peer.reply(wire_id, {"id": wire_id})
    assert peer.events() == [
        CallSucceeded(third, {"id": three}),
        CallSucceeded(first, {"id": one}),
        Diagnostic("unknown-reply", f"a reply to {one}, which nobody waits for"),
        CallSucceeded(second, {"id": two}),
        Diagnostic("unknown-reply", "a reply to 77, which nobody waits for"),
    ]


@pytest.mark.parametrize("wire_id", [2**53 + 1, 10**100, -1, "2", "x" * 200, 2.5, True, None])
def test_a_reply_to_nothing_is_an_event(wire_id: Any) -> None:
    """In the official SDK a reply to "2" answers the request 2."""
    peer = modern()
    call, mine = ask(peer)
    assert mine == 2
    peer.reply(wire_id, {})
    peer.error(wire_id, -32603)
    assert all(isinstance(event, Diagnostic) for event in peer.events())
    peer.reply(mine, {})
    assert peer.events() == [CallSucceeded(call, {})]


def test_an_integral_float_is_its_integer() -> None:
    peer = modern()
    call, wire_id = ask(peer)
    peer.raw(b'{"jsonrpc":"2.0","id":%d.0,"result":{}}\n' % wire_id)
    assert peer.events() == [CallSucceeded(call, {})]


def test_large_integers_are_exact() -> None:
    peer = modern()
    call, wire_id = ask(peer)
    peer.reply(wire_id, {"n": 2**53 + 1})
    assert peer.events() == [CallSucceeded(call, {"n": 9007199254740993})]


def test_an_error_is_an_outcome() -> None:
    peer = modern()
    call, wire_id = ask(peer)
    peer.error(wire_id, -32000, "not now", data={"again": "later"})
    assert peer.events() == [CallFailed(call, RpcError(-32000, "not now", {"again": "later"}))]


def test_an_error_without_an_id_is_reported_and_the_request_goes_on() -> None:
    peer = modern()
    call, wire_id = ask(peer)
    peer.error(None, -32603, "broken")
    assert peer.events() == [Diagnostic("error-without-id", "the server reports -32603: broken")]
    peer.say(error={"code": -32603, "message": "broken"})
    assert kinds(peer.events()) == ["error-without-id"]
    peer.wait(60.0)
    assert peer.events() == [CallFailed(call, TimedOut("quiet", 60.0))]
    assert wire_id == 2


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"result": {}, "error": {"code": 1, "message": "both"}},
        {"result": None},
        {"result": []},
        {"error": "text"},
        {"error": {"code": "1", "message": "x"}},
        {"error": {"code": 1}},
        {"jsonrpc": "1.0", "result": {}},
    ],
)
def test_a_reply_that_is_neither_result_nor_error_fails_its_request(reply: dict[str, Any]) -> None:
    peer = modern()
    call, wire_id = ask(peer)
    peer.raw(json.dumps({"jsonrpc": "2.0", "id": wire_id, **reply}).encode() + b"\n")
    [event] = peer.events()
    assert isinstance(event, CallFailed)
    assert event.call == call
    assert isinstance(event.failure, InvalidReply)


def test_a_result_that_cannot_be_decoded_fails_its_request() -> None:
    peer = legacy()
    call, wire_id = ask(peer)
    peer.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"n":1e999}}\n' % wire_id)
    [event] = peer.events()
    assert isinstance(event, CallFailed)
    assert event.call == call
    assert isinstance(event.failure, InvalidReply)


def test_a_reply_to_what_has_not_left_is_to_nothing() -> None:
    peer = modern()
    call = peer.client.request("x/ask", None, peer.now)
    peer.reply(2, {})
    assert kinds(peer.events()) == ["unknown-reply"]
    assert peer.last()["id"] == 2
    peer.reply(2, {})
    assert peer.events() == [CallSucceeded(call, {})]


def test_ids_are_never_used_twice() -> None:
    peer = modern()
    seen: list[int] = []
    for _ in range(3):
        _, wire_id = ask(peer)
        peer.reply(wire_id, {})
        seen.append(wire_id)
    peer.wire.receive_eof(peer.now)
    peer.reconnect()
    seen += peer.ids("server/discover")
    assert len(set(seen)) == len(seen)


# --- what is sent -----------------------------------------------------------------------------------


def test_params_and_meta_travel_as_given() -> None:
    peer = modern()
    peer.client.request("x/ask", {"a": [1, None, {"b": "ü"}]}, peer.now, meta={"traceparent": "00-1"})
    params = peer.last()["params"]
    meta = params.pop("_meta")
    assert params == {"a": [1, None, {"b": "ü"}]}
    assert meta["traceparent"] == "00-1"
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"] == {"name": "test-client", "version": "1.0"}
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {}


def test_a_legacy_request_has_no_meta_unless_there_is_some() -> None:
    peer = legacy()
    peer.client.request("x/ask", None, peer.now)
    assert peer.last() == {"jsonrpc": "2.0", "id": 3, "method": "x/ask"}
    peer.client.request("x/ask", {}, peer.now, meta={"a": 1}, progress=True)
    assert peer.last() == {
        "jsonrpc": "2.0",
        "id": 4,
        "method": "x/ask",
        "params": {"_meta": {"progressToken": 4, "a": 1}},
    }


@pytest.mark.parametrize(
    "misuse",
    [
        {"method": "\ud83d"},
        {"method": 5},
        {"method": "initialize"},
        {"method": "subscriptions/listen"},
        {"params": {"a": math.nan}},
        {"params": {"_meta": {}}},
        {"meta": {"progressToken": 1}},
        {"meta": {"io.modelcontextprotocol/clientInfo": {}}},
        {"meta": {"a": object()}},
    ],
)
def test_what_cannot_be_sent_is_refused_at_once_and_changes_nothing(misuse: dict[str, Any]) -> None:
    peer = modern()
    given = {"method": "x", "params": None, "now": 1000.0, **misuse}
    with pytest.raises(LocalProtocolError):
        peer.client.request(**given)
    assert peer.sent() == []
    assert peer.client.next_timeout() is None
    assert peer.client.tick(0.0) == 0.0  # not even the clock has moved
    assert ask(peer) == (CallId(2), 2)


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_a_limit_is_a_number_of_seconds(seconds: float) -> None:
    with pytest.raises(LocalProtocolError):
        Limits(quiet=seconds)
    with pytest.raises(LocalProtocolError):
        Limits(total=seconds)


# --- owners -----------------------------------------------------------------------------------------


class Owner(ClientLayer):
    """A layer that asks, and writes down how its calls ended."""

    def __init__(self) -> None:
        self.ended: list[tuple[Call, Outcome, float]] = []

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        self.ended.append((call, outcome, now))


def test_a_layer_is_told_of_its_calls_and_the_application_is_not() -> None:
    owner = Owner()
    peer = modern(owner)
    op = Op(1, "ask")
    call, wire_id = ask(peer, layer=owner, op=op, progress=True)
    progress(peer, wire_id, 1)
    peer.now = 3.0
    peer.reply(wire_id, {"a": 1})
    assert peer.events() == [ProgressReported(call, 1, None, None, op)]
    [(ended, outcome, now)] = owner.ended
    assert (ended.id, ended.method, ended.op, ended.rounds, now) == (call, "x/ask", op, 0, 3.0)
    assert isinstance(outcome, Reply)
    assert outcome.decode() == {"a": 1}


def test_a_layer_hears_of_every_kind_of_end() -> None:
    owner = Owner()
    peer = modern(owner)
    cancelled, _ = ask(peer, layer=owner)
    ask(peer, layer=owner, limits=Limits(1.0))
    _, refused = ask(peer, layer=owner)
    ask(peer, layer=owner)
    peer.client.cancel(cancelled, peer.now)
    peer.wait(1.0)
    peer.error(refused, -1)
    peer.wire.receive_eof(peer.now, "gone")
    peer.client.request("x/ask", None, peer.now, layer=owner)
    peer.client.close(peer.now, "enough")
    assert [outcome for _, outcome, _ in owner.ended] == [
        Cancelled(),
        TimedOut("quiet", 1.0),
        RpcError(-1, "no"),
        Lost("gone"),
        Closed("enough"),
    ]


# --- each exactly once ------------------------------------------------------------------------------


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "pull", "reply", "error", "cancel", "wait", "lose", "again", "ask more"]),
        st.integers(0, 9),
    ),
    max_size=40,
)


class Life:
    """A client's life in random steps, and the requests made in it."""

    def __init__(self) -> None:
        self.peer = Peer(capabilities={"elicitation": {}})
        self.calls: list[CallId] = []

    def step(self, kind: str, number: int) -> None:
        peer, client = self.peer, self.peer.client
        now = peer.now
        if kind == "ask":
            self.calls.append(client.request("tools/call", None, now, limits=Limits(3.0, 9.0)))
        elif kind == "pull":
            peer.sent()
        elif kind == "reply":
            peer.reply(number, discovered())
        elif kind == "error":
            peer.error(number, (-32022, -32601, -32603)[number % 3])
        elif kind == "ask more":
            peer.reply(number, {"resultType": "input_required", "requestState": "s"})
        elif kind == "cancel" and number < len(self.calls):
            client.cancel(self.calls[number], now)
        elif kind == "wait":
            peer.wait(number / 3)
        elif kind == "lose":
            peer.wire.abort(now)
        elif kind == "again" and peer.wire.closed:
            peer.reconnect()


@given(STEPS)
def test_each_call_ends_exactly_once(steps: list[tuple[str, int]]) -> None:
    life = Life()
    for kind, number in steps:
        if life.peer.client.done:
            break
        life.step(kind, number)
    life.peer.client.close(life.peer.now)
    events = life.peer.events()
    ended = [event.call.number for event in events if isinstance(event, CallSucceeded | CallFailed)]
    assert sorted(ended) == [call.number for call in life.calls]
    assert life.peer.client.next_timeout() is None
