"""Multi round-trips of `prompts/get`: what is asked for, what comes back, and whom a state belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair import KEYS, catalogue, prompt
from serving import LEGACY, Peer

from mcp_sansio import (
    AskInput,
    Catalogue,
    HandlerFailed,
    InputRequest,
    Keys,
    PromptRequested,
)

FORM = InputRequest("elicitation/create", {"message": "who?", "requestedSchema": {"type": "object"}})
ABLE: dict[str, Any] = {"elicitation": {}}
ROOM = {"name": "p", "arguments": {"a": "1", "b": "2"}}


def prompts() -> Catalogue:
    made = catalogue(1)
    made.add(prompt("p", optional=["a", "b"]))
    made.add(prompt("q", optional=["a", "b"]))
    return made


def world(principal: str | None = "ann", **serving: Any) -> Peer:
    return Peer(prompts(), principal=principal, serving=serving)


def asked(peer: Peer, params: Any = None, capabilities: Any = None) -> PromptRequested:
    peer.say_modern("g", "prompts/get", ROOM if params is None else params, capabilities=capabilities or ABLE)
    (event,) = peer.of(PromptRequested)
    return event


def ask(peer: Peer, what: AskInput, params: Any = None) -> dict[str, Any]:
    """Let the prompt ask; the result."""
    peer.prompts.answer(asked(peer, params), what, peer.now)
    (reply,) = peer.sent()
    result: dict[str, Any] = reply["result"]
    return result


def token_of(peer: Peer, state: Any = None, params: Any = None) -> str:
    token: str = ask(peer, AskInput({"who": FORM}, state), params)["requestState"]
    return token


def retry(peer: Peer, token: Any, **changed: Any) -> PromptRequested | dict[str, Any]:
    """Try again with a state: the event, or else the error."""
    peer.say_modern("r", "prompts/get", {**ROOM, "requestState": token, **changed}, capabilities=ABLE)
    events = peer.of(PromptRequested)
    if events:
        peer.notify("notifications/cancelled", {"requestId": "r"})
        peer.events()
        return events[0]
    (reply,) = peer.sent()
    error: dict[str, Any] = reply["error"]
    return error


def accepted(outcome: PromptRequested | dict[str, Any]) -> PromptRequested:
    assert isinstance(outcome, PromptRequested)
    return outcome


def refused(outcome: PromptRequested | dict[str, Any], named: str = "requestState") -> None:
    assert isinstance(outcome, dict)
    assert outcome["code"] == -32602
    assert named in outcome["message"]


# --- asking -----------------------------------------------------------------------------------------


def test_a_prompt_asks_and_is_asked_again() -> None:
    peer = world()
    result = ask(peer, AskInput({"who": FORM}, {"step": 1}))
    assert result["resultType"] == "input_required"
    assert result["inputRequests"] == {"who": {"method": FORM.method, "params": dict(FORM.params)}}
    assert "ttlMs" not in result
    responses = {"who": {"action": "accept", "content": {"name": "octocat"}}, "unasked": {}}
    event = accepted(retry(peer, result["requestState"], inputResponses=responses))
    assert event.state == {"step": 1}
    assert event.responses == responses
    assert event.arguments == ROOM["arguments"]


def test_a_prompt_may_ask_for_nothing_but_another_try() -> None:
    peer = world()
    result = ask(peer, AskInput(state="later"))
    assert "inputRequests" not in result
    assert accepted(retry(peer, result["requestState"])).state == "later"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=50)
@given(JSON)
def test_any_state_comes_back_as_it_was(state: Any) -> None:
    peer = world()
    assert accepted(retry(peer, token_of(peer, state))).state == state


def test_a_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    peer = world()
    peer.prompts.answer(asked(peer, capabilities={"roots": {}}), AskInput({"who": FORM}), 0.0)
    (reply,) = peer.sent()
    assert reply["error"]["code"] == -32021
    assert reply["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert peer.events() == []


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_client_cannot_be_asked(version: str) -> None:
    peer = world()
    peer.speak(version)
    peer.request(1, "prompts/get", ROOM)
    (event,) = peer.of(PromptRequested)
    peer.prompts.answer(event, AskInput({"who": FORM}), 0.0)
    assert peer.sent()[0]["error"] == {"code": -32603, "message": "Internal error"}
    (failed,) = peer.of(HandlerFailed)
    assert version in failed.reason


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_client_has_no_state(version: str) -> None:
    peer = world()
    token = token_of(peer, "mine")
    peer.speak(version)
    for strange in (token, "forged", 5):
        peer.request(1, "prompts/get", {**ROOM, "requestState": strange, "inputResponses": 5})
        (event,) = peer.of(PromptRequested)
        assert (event.state, event.responses) == (None, {})
        peer.notify("notifications/cancelled", {"requestId": 1})
        peer.events()


# --- what comes back --------------------------------------------------------------------------------


@pytest.mark.parametrize("responses", [{}, {"inputResponses": None}, {"inputResponses": {}}])
def test_answers_may_be_missing(responses: dict[str, Any]) -> None:
    """It is the function's business to ask again."""
    peer = world()
    assert accepted(retry(peer, token_of(peer), **responses)).responses == {}


def test_a_null_state_is_none() -> None:
    assert accepted(retry(world(), None)).state is None


@pytest.mark.parametrize(
    ("responses", "named"),
    [
        ([], "inputResponses"),
        ("x", "inputResponses"),
        ({"who": 5}, "inputResponses.who"),
        ({"who": None}, "inputResponses.who"),
    ],
)
def test_answers_of_the_wrong_form_are_refused(responses: Any, named: str) -> None:
    peer = world()
    refused(retry(peer, token_of(peer), inputResponses=responses), named)


@pytest.mark.parametrize("token", ["", "forged", 5, True, [], {}, "A" * 100_000])
def test_a_state_that_was_not_issued_is_refused(token: Any) -> None:
    refused(retry(world(), token))


def test_a_state_that_was_tampered_with_is_refused() -> None:
    peer = world()
    token = token_of(peer, {"admin": False})
    for position in range(0, len(token), 7):
        other = "A" if token[position] != "A" else "B"
        refused(retry(peer, token[:position] + other + token[position + 1 :]))
    refused(retry(peer, token[:-1]))
    assert accepted(retry(peer, token)).state == {"admin": False}


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "q"},
        {"arguments": {"a": "1", "b": "3"}},
        {"arguments": {"a": "1"}},
        {"arguments": {}},
        {"arguments": None},
        {"arguments": {"a": "2", "b": "1"}},
    ],
)
def test_a_state_belongs_to_its_request(changed: dict[str, Any]) -> None:
    peer = world()
    refused(retry(peer, token_of(peer), **changed))


def test_the_order_of_arguments_means_nothing() -> None:
    peer = world()
    accepted(retry(peer, token_of(peer), arguments={"b": "2", "a": "1"}))


@pytest.mark.parametrize(("issued", "used"), [("ann", "bob"), ("ann", None), (None, "ann"), (None, "")])
def test_a_state_belongs_to_its_principal(issued: str | None, used: str | None) -> None:
    refused(retry(world(used), token_of(world(issued))))


def test_a_state_belongs_to_its_catalogue() -> None:
    refused(retry(world(label="b"), token_of(world(label="a"))))
    accepted(retry(world(label="a"), token_of(world(label="a"))))


def test_a_state_is_good_on_every_node_with_the_same_keys_until_they_are_gone() -> None:
    """The official Python SDK encrypts states, by default with a key that each process makes anew."""
    new = ("new", b"n" * 32)
    token = token_of(world())
    accepted(retry(world(), token))
    rotated = world(keys=Keys(new, ("k1", b"0123456789abcdef0123456789abcdef")))
    accepted(retry(rotated, token))
    accepted(retry(world(keys=Keys(new)), token_of(rotated)))
    refused(retry(world(keys=Keys(new)), token))
    assert KEYS.current[0] == b"k1"


# --- how long ---------------------------------------------------------------------------------------


def test_a_state_expires() -> None:
    peer = world(state_ttl=10)
    peer.now = 100.0
    token = token_of(peer, "s")
    peer.now = 109.999
    assert accepted(retry(peer, token)).state == "s"
    peer.now = 110.0
    refused(retry(peer, token))


def test_expiry_is_in_unix_time() -> None:
    """The clocks of two processes have different origins; the configuration says how far off they are."""
    one = world(state_ttl=10, unix_offset=1_000_000)
    one.now = 5.0
    token = token_of(one)
    other = world(state_ttl=10, unix_offset=999_000)
    other.now = 1014.0
    accepted(retry(other, token))
    other.now = 1015.0
    refused(retry(other, token))
