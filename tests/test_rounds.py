"""Multi round-trips: a request that is answered by a question, and goes out again with the answers."""

from __future__ import annotations

from typing import Any

import pytest
from clients import ELICIT, Peer, kinds, modern, wanted

from mcp_sansio import (
    CallFailed,
    CallId,
    CallSucceeded,
    Cancelled,
    Diagnostic,
    InputNeeded,
    InputRequest,
    InvalidReply,
    Limits,
    LocalProtocolError,
    ProgressReported,
    TimedOut,
    TooManyRounds,
)


def asking(method: str = "tools/call", **config: Any) -> tuple[Peer, CallId]:
    """A client that can be asked for input, with a request under way."""
    peer = modern(capabilities={"elicitation": {}}, **config)
    call = peer.client.request(method, {"name": "t"}, peer.now)
    peer.sent()
    return peer, call


def leg(peer: Peer) -> dict[str, Any]:
    """The one message that has left."""
    [message] = peer.sent()
    message["params"].pop("_meta")
    return message


def test_a_round_trip_asks_and_sends_the_request_again() -> None:
    peer, call = asking()
    first = peer.log[-1]
    peer.reply(first["id"], wanted("state", key=ELICIT))
    request = InputRequest("elicitation/create", {"message": "?", "mode": "form"})
    assert peer.events() == [InputNeeded(call, {"key": request}, 1, None)]
    assert peer.sent() == []
    peer.client.provide_input(call, {"key": {"action": "decline"}}, peer.now)
    again = leg(peer)
    assert again == {
        "jsonrpc": "2.0",
        "id": first["id"] + 1,
        "method": "tools/call",
        "params": {
            "name": "t",
            "inputResponses": {"key": {"action": "decline"}},
            "requestState": "state",
        },
    }
    peer.reply(first["id"], {})
    assert kinds(peer.events()) == ["unknown-reply"]
    peer.reply(again["id"], {"done": True})
    assert peer.events() == [CallSucceeded(call, {"done": True})]


@pytest.mark.parametrize("state", ["a\u2028==", "", " lead", "é\\u0000\n", "x" * 8192])
def test_the_state_goes_back_as_it_came(state: str) -> None:
    peer, call = asking()
    peer.reply(2, wanted(state, key=ELICIT))
    peer.client.provide_input(call, {"key": {}}, peer.now)
    assert leg(peer)["params"]["requestState"] == state


def test_without_a_state_none_goes_back_and_old_answers_are_forgotten() -> None:
    peer, call = asking()
    peer.reply(2, wanted("one", first=ELICIT))
    peer.client.provide_input(call, {"first": {"n": 1}}, peer.now)
    assert leg(peer)["params"]["requestState"] == "one"
    peer.reply(3, wanted(None, second=ELICIT))
    peer.client.provide_input(call, {"second": {"n": 2}}, peer.now)
    assert leg(peer)["params"] == {"name": "t", "inputResponses": {"second": {"n": 2}}}
    peer.reply(4, wanted("three"))
    assert leg(peer)["params"] == {"name": "t", "requestState": "three"}
    assert [event.round for event in peer.of(InputNeeded)] == [1, 2]


@pytest.mark.parametrize("empty", [{}, {"inputRequests": {}}, {"inputRequests": None}])
def test_a_state_alone_is_sent_back_at_once(empty: dict[str, Any]) -> None:
    """The official SDK waits for 50 to 250 ms first."""
    peer, call = asking()
    peer.reply(2, {**wanted("later"), **empty})
    assert peer.events() == []
    again = leg(peer)
    assert (again["id"], again["params"]) == (3, {"name": "t", "requestState": "later"})
    peer.reply(3, {})
    assert peer.events() == [CallSucceeded(call, {})]


@pytest.mark.parametrize("state_only", [False, True])
def test_rounds_are_limited(state_only: bool) -> None:
    peer, call = asking(max_rounds=3)
    for number in range(3):
        peer.reply(2 + number, wanted("s") if state_only else wanted(key=ELICIT))
        if not state_only:
            peer.client.provide_input(call, {"key": {}}, peer.now)
        peer.sent()
    peer.events()
    peer.reply(5, wanted("s", key=ELICIT))
    assert peer.events() == [CallFailed(call, TooManyRounds(3))]
    assert peer.sent() == []
    assert peer.client.next_timeout() is None
    ids = [message["id"] for message in peer.log if message.get("method") == "tools/call"]
    assert ids == [2, 3, 4, 5]


def test_whoever_is_asked_can_give_up_between_rounds() -> None:
    peer, call = asking()
    peer.reply(2, wanted("s", key=ELICIT))
    peer.events()
    peer.client.cancel(call, peer.now)
    assert peer.events() == [CallFailed(call, Cancelled())]
    assert peer.sent() == []  # nothing is in flight
    with pytest.raises(LocalProtocolError):
        peer.client.provide_input(call, {"key": {}}, peer.now)


def test_no_clock_runs_while_somebody_thinks_and_each_leg_has_its_own() -> None:
    peer = modern(capabilities={"elicitation": {}})
    call = peer.client.request("prompts/get", None, 0.0, limits=Limits(10.0, 20.0), progress=True)
    token = peer.last()["id"]
    peer.notify("notifications/progress", {"progressToken": token, "progress": 5})
    peer.now = 8.0
    peer.reply(token, wanted(key=ELICIT))
    assert peer.client.next_timeout() is None
    peer.wait(1000.0)
    assert kinds(peer.events()) == ["ProgressReported", "InputNeeded"]
    peer.client.provide_input(call, {"key": {}}, peer.now)
    again = peer.last()
    assert again["params"]["_meta"]["progressToken"] == again["id"]
    peer.notify("notifications/progress", {"progressToken": token, "progress": 9})
    peer.notify("notifications/progress", {"progressToken": again["id"], "progress": 1})
    assert peer.events() == [
        Diagnostic("bad-progress", "progress for no request in flight"),
        ProgressReported(call, 1, None, None),
    ]
    peer.wait(10.0)
    assert peer.events() == [CallFailed(call, TimedOut("quiet", 10.0))]
    assert peer.last()["params"] == {"requestId": again["id"]}


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_the_three_methods_may_ask(method: str) -> None:
    peer, _ = asking(method)
    peer.reply(2, wanted(key=ELICIT))
    assert kinds(peer.events()) == ["InputNeeded"]


def test_methods_of_extensions_may_ask_too() -> None:
    peer, _ = asking("x/ask", input_methods=("x/ask",))
    peer.reply(2, wanted(key=ELICIT))
    assert kinds(peer.events()) == ["InputNeeded"]


@pytest.mark.parametrize("method", ["prompts/list", "completion/complete", "x/ask"])
def test_other_methods_may_not_ask(method: str) -> None:
    peer, call = asking(method)
    peer.reply(2, wanted("s", key=ELICIT))
    [event] = peer.events()
    assert isinstance(event, CallFailed)
    assert event.call == call
    assert event.failure == InvalidReply(f"input_required is not allowed for {method} at $.resultType")
    assert peer.sent() == []


@pytest.mark.parametrize(
    "result",
    [
        wanted(),
        {"resultType": "input_required", "inputRequests": {}},
        wanted("s", a=ELICIT, b={"method": "sampling/createMessage", "params": {}}),
        wanted(key={"method": "roots/list"}),
        wanted(key={"method": "ping"}),
        wanted(key={"method": "elicitation/create", "params": {"mode": "url"}}),
        wanted(key={"method": "elicitation/create", "params": {"mode": []}}),
        wanted(key={"method": "elicitation/create", "params": []}),
        wanted(key={"method": 5}),
        wanted(key={}),
        wanted(key=None),
        wanted(5, key=ELICIT),
        {"resultType": "input_required", "inputRequests": [ELICIT]},
    ],
)
def test_what_may_not_be_asked_is_an_invalid_reply_and_nobody_sees_it(result: dict[str, Any]) -> None:
    peer, call = asking()
    peer.reply(2, result)
    [event] = peer.events()
    assert isinstance(event, CallFailed)
    assert event.call == call
    assert isinstance(event.failure, InvalidReply)
    assert peer.sent() == []
    assert peer.client.next_timeout() is None


def test_keys_are_plain_data() -> None:
    peer, call = asking()
    keys = ["__proto__", "", "é\u2028", "a.b[0]"]
    peer.reply(2, wanted(**dict.fromkeys(keys, ELICIT)))
    [event] = peer.of(InputNeeded)
    assert [*event.requests] == keys
    answers = {key: {"for": key} for key in keys}
    peer.client.provide_input(call, answers, peer.now)
    assert leg(peer)["params"]["inputResponses"] == answers


@pytest.mark.parametrize(
    "answers", [{}, {"key": {}, "more": {}}, {"Key": {}}, {"key": object()}, {"key": float("inf")}]
)
def test_answers_that_do_not_fit_are_refused_and_can_be_given_again(answers: dict[str, Any]) -> None:
    peer, call = asking()
    peer.reply(2, wanted("s", key=ELICIT))
    with pytest.raises(LocalProtocolError):
        peer.client.provide_input(call, answers, 1000.0)
    assert peer.client.tick(0.0) == 0.0
    peer.client.provide_input(call, {"key": {}}, peer.now)
    assert leg(peer)["params"]["inputResponses"] == {"key": {}}


def test_input_that_nobody_wants_is_refused() -> None:
    peer, call = asking()
    for misuse in (call, CallId(99)):
        with pytest.raises(LocalProtocolError):
            peer.client.provide_input(misuse, {}, peer.now)
    peer.reply(2, wanted("s", key=ELICIT))
    peer.client.provide_input(call, {"key": {}}, peer.now)
    with pytest.raises(LocalProtocolError):
        peer.client.provide_input(call, {"key": {}}, peer.now)
    assert len(peer.sent()) == 1
