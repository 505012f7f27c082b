"""The legacy session of a stream: the handshake, batches, and requests that go the other way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from serving import (
    EVERY,
    LEGACY,
    LIST_CHANGED,
    MODERN,
    Peer,
    code,
    envelope,
    spoken,
)

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Diagnostic,
    Implementation,
    InvalidReply,
    PingAnswered,
    PromptRequested,
    RequestCancelled,
    RpcError,
    SessionStarted,
)

# --- the legacy session -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_a_version_that_is_known_is_echoed(version: str) -> None:
    assert Peer().initialize(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", ["2099-01-01", "", "draft", MODERN])
def test_an_unknown_version_is_answered_by_our_newest(version: str) -> None:
    """The official Python SDK answers its own newest handshake version too, never what it does not know."""
    assert Peer().initialize(version)["protocolVersion"] == "2025-11-25"
    assert Peer(versions=("2024-11-05", MODERN)).initialize(version)["protocolVersion"] == "2024-11-05"


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": None}, {"protocolVersion": 20251125}])
@pytest.mark.parametrize("versions", [EVERY, (MODERN,)])
def test_a_version_that_is_no_string_is_refused(params: Any, versions: tuple[str, ...]) -> None:
    peer = Peer(versions=versions)
    reply = peer.ask(1, "initialize", params)
    assert code(reply) == -32602
    assert versions[-1] in reply["error"]["message"]
    assert peer.of(SessionStarted) == []


def test_a_modern_server_names_its_versions_to_a_legacy_client() -> None:
    reply = Peer(versions=(MODERN,)).ask(0, "initialize", {"protocolVersion": "2025-11-25"})
    assert code(reply) == -32022
    assert reply["error"]["data"] == {"supported": [MODERN], "requested": "2025-11-25"}
    assert MODERN in reply["error"]["message"]


def test_initialize_does_not_exist_in_the_modern_era() -> None:
    peer = Peer()
    reply = peer.call(0, "initialize", {"protocolVersion": "2025-11-25"})
    assert code(reply) == -32601
    assert MODERN in reply["error"]["message"]
    assert peer.initialize()["protocolVersion"] == "2025-11-25"


def test_a_second_initialize_is_refused_and_changes_nothing() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    reply = peer.ask(5, "initialize", {"protocolVersion": "2024-11-05"})
    assert code(reply) == -32600
    peer.raw(b"[]\n")
    assert spoken(peer.sent()) == [None]
    peer.raw(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n')  # the session is still one of 2025-03-26
    assert len(peer.sent()) == 1


def test_a_session_is_reported_once() -> None:
    peer = Peer()
    peer.initialize("2025-06-18", capabilities={"roots": {}})
    (started,) = peer.of(SessionStarted)
    assert started.version == "2025-06-18"
    assert started.client_info == Implementation("c", "1")
    assert started.capabilities == {"roots": {}}


@pytest.mark.parametrize("strange", [{"clientInfo": None}, {"clientInfo": 5}, {"capabilities": []}])
def test_a_sloppy_client_gets_its_session(strange: dict[str, Any]) -> None:
    peer = Peer()
    peer.initialize(**strange)
    (started,) = peer.of(SessionStarted)
    assert started.client_info in (None, Implementation("c", "1"))
    assert started.capabilities == {}


def test_a_client_that_never_says_initialized_is_served_but_not_notified() -> None:
    peer = Peer()
    peer.initialize(ready=False)
    assert "result" in peer.ask(1, "prompts/list")
    peer.edit("new")
    peer.wait(10)
    assert peer.sent() == []
    peer.notify("notifications/initialized")
    assert spoken(peer.sent()) == [LIST_CHANGED]


def test_initialized_without_a_session_means_nothing() -> None:
    peer = Peer()
    peer.notify("notifications/initialized")
    peer.edit("new")
    assert peer.sent() == []


def test_a_ping_is_answered_at_any_time() -> None:
    peer = Peer()
    assert peer.ask(9, "ping")["result"] == {}
    peer.notify("notifications/cancelled", {"requestId": 9})
    assert peer.sent() == []
    peer.initialize()
    assert peer.ask(10, "ping")["result"] == {}
    assert len(peer.of(PingAnswered)) == 2


def test_the_modern_era_has_no_ping() -> None:
    assert code(Peer().call(1, "ping")) == -32601


@pytest.mark.parametrize(
    "method", ["server/discover", "subscriptions/listen", "invalid/method", "tools/list", ""]
)
def test_an_unknown_method_is_method_not_found(method: str) -> None:
    peer = Peer()
    peer.initialize()
    assert code(peer.ask(1, method)) == -32601


# --- batches ----------------------------------------------------------------------------------------


def item(wire_id: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        **({} if wire_id is None else {"id": wire_id}),
        "method": method,
        **({} if params is None else {"params": params}),
    }


def batch(peer: Peer, *messages: Any) -> list[Any]:
    peer.raw(json.dumps(messages).encode() + b"\n")
    return batches(peer)


def batches(peer: Peer) -> list[Any]:
    """What was sent; a batch of replies is an array."""
    return list(peer.sent())


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_batch_belongs_to_one_revision_alone(version: str | None) -> None:
    peer = Peer()
    if version is not None:
        peer.initialize(version)
    (reply,) = batch(peer, item(1, "ping"), item(2, "ping"), item(3, "initialize", {}))
    assert code(reply) == -32600
    assert reply.get("id") is None


def test_the_replies_to_a_batch_come_in_one_array_when_all_are_there() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    sent = batch(
        peer,
        item(1, "prompts/get", {"name": "p0000"}),
        item(2, "ping"),
        item(3, "prompts/list"),
        item(4, "prompts/get", {"name": "ghost"}),
        item(None, "notifications/x"),
        {"id": 5},
        item(6, "initialize", {"protocolVersion": "2025-03-26"}),
        item(2, "prompts/get", {"name": "p0001"}),
        item(1, "ping"),
        7,
    )
    assert sent == []
    first, second = peer.of(PromptRequested)
    peer.prompts.answer(second, "two", peer.now)
    assert peer.sent() == []
    peer.prompts.answer(first, "one", peer.now)
    (replies,) = batches(peer)
    outcomes = [(reply.get("id"), reply.get("error", {}).get("code")) for reply in replies]
    assert sorted(outcomes, key=str) == sorted(
        [(1, None), (1, -32600), (2, None), (2, None), (3, None), (4, -32602), (6, -32600), (None, -32600)],
        key=str,
    )
    assert peer.ask(1, "ping")["result"] == {}


def test_a_batch_without_requests_is_not_answered() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    assert batch(peer, item(None, "notifications/x"), {"jsonrpc": "2.0", "id": 77, "result": {}}) == []


def test_a_batch_whose_requests_are_all_cancelled_is_not_answered() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    batch(peer, item(1, "prompts/get", {"name": "p0000"}), item(2, "prompts/get", {"name": "p0000"}))
    for wire_id in (1, 2):
        peer.notify("notifications/cancelled", {"requestId": wire_id})
    assert peer.sent() == []
    batch(peer, item(1, "prompts/get", {"name": "p0000"}), item(2, "ping"))
    peer.notify("notifications/cancelled", {"requestId": 1})
    ((pong,),) = batches(peer)
    assert pong["id"] == 2


def test_a_request_can_be_cancelled_inside_its_batch() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    cancelled = item(None, "notifications/cancelled", {"requestId": 1})
    assert batch(peer, item(1, "prompts/get", {"name": "p0000"}), cancelled) == []
    assert len(peer.of(RequestCancelled)) == 1


def test_a_batch_is_no_way_around_the_limits() -> None:
    peer = Peer(max_in_flight=3)
    peer.initialize("2025-03-26")
    (reply,) = batch(peer, *[item(number, "prompts/list") for number in range(4)])
    assert code(reply) == -32600
    (replies,) = batch(peer, *[item(number, "prompts/list") for number in range(3)])
    assert len(replies) == 3


def test_the_replies_to_a_batch_that_wait_for_others_are_output_that_waits() -> None:
    peer = Peer(max_pending=2000)
    peer.initialize("2025-03-26")
    batch(peer, item(1, "prompts/get", {"name": "p0000"}), item(2, "ping"), {"id": 3, "method": 5})
    assert peer.read()
    batch(peer, item("slow", "prompts/get", {"name": "p0000"}), *[item(n, "prompts/list") for n in range(9)])
    assert not peer.read()
    first, slow = peer.of(PromptRequested)
    peer.prompts.answer(first, "one", peer.now)
    assert [len(replies) for replies in batches(peer)] == [3]
    assert not peer.read()
    peer.prompts.answer(slow, "two", peer.now)
    assert not peer.read()
    assert [len(replies) for replies in batches(peer)] == [10]
    assert peer.read()


def test_what_is_answered_of_a_batch_is_sent_when_the_server_closes() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    batch(peer, item(1, "prompts/get", {"name": "p0000"}), item(2, "ping"), item(3, "prompts/list"))
    peer.server.close(peer.now)
    (replies,) = batches(peer)
    assert [reply["id"] for reply in replies] == [2, 3]
    assert peer.wire.closed


def test_what_is_answered_of_a_batch_is_lost_with_the_wire() -> None:
    peer = Peer(max_pending=0)
    peer.initialize("2025-03-26")
    batch(peer, item(1, "prompts/get", {"name": "p0000"}), item(2, "ping"))
    peer.wire.abort(peer.now)
    assert peer.sent() == []
    assert len(peer.of(RequestCancelled)) == 1
    assert peer.stream.done


def test_modern_requests_are_not_part_of_batches() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    ((modern, legacy),) = batch(
        peer, item(1, "prompts/list", {"_meta": envelope()}), item(2, "prompts/list", {})
    )
    assert code(modern) == -32600
    assert "result" in legacy


def test_an_empty_batch_is_one_error() -> None:
    peer = Peer()
    peer.initialize("2025-03-26")
    (reply,) = batch(peer)
    assert code(reply) == -32600


# --- replies of a legacy client ---------------------------------------------------------------------


def asking() -> tuple[Peer, int, Any]:
    peer = Peer()
    peer.initialize(capabilities={"roots": {}})
    peer.events()
    call = peer.server.request(peer.stream, "roots/list", None, peer.now)
    (request,) = peer.sent()
    return peer, request["id"], call


def test_a_reply_ends_the_request() -> None:
    peer, wire_id, call = asking()
    peer.reply(wire_id, {"roots": []})
    assert peer.events() == [CallSucceeded(call, {"roots": []})]


def test_an_integral_float_is_the_same_id() -> None:
    peer, wire_id, call = asking()
    peer.reply(float(wire_id), {"roots": []})
    assert peer.events() == [CallSucceeded(call, {"roots": []})]


def test_an_error_ends_the_request() -> None:
    peer, wire_id, call = asking()
    peer.error(wire_id, -1, "no", data=[1])
    assert peer.events() == [CallFailed(call, RpcError(-1, "no", [1]))]


@pytest.mark.parametrize(
    "members", [{}, {"result": {}, "error": {"code": 1, "message": ""}}, {"result": None}, {"error": "text"}]
)
def test_a_malformed_reply_ends_the_request_too(members: dict[str, Any]) -> None:
    peer, wire_id, call = asking()
    peer.say(id=wire_id, **members)
    diagnostic, failed = peer.events()
    assert isinstance(diagnostic, Diagnostic)
    assert isinstance(failed, CallFailed)
    assert failed.call == call
    assert isinstance(failed.failure, InvalidReply)
    assert peer.sent() == []


@pytest.mark.parametrize("wire_id", [77, "1", True, None])
def test_a_reply_to_nobody_is_an_event(wire_id: Any) -> None:
    peer, *_ = asking()
    peer.error(wire_id, -32603)
    (event,) = peer.events()
    assert isinstance(event, Diagnostic)
    assert peer.sent() == []


def test_a_result_for_nobody_is_an_event() -> None:
    peer, *_ = asking()
    peer.reply(99, {})
    (event,) = peer.events()
    assert isinstance(event, Diagnostic)
    assert event.kind == "unknown-reply"


def test_a_malformed_reply_to_nobody_is_not_answered() -> None:
    peer, *_ = asking()
    peer.say(id=99)
    assert [event.kind for event in peer.of(Diagnostic)] == ["bad-message"]
    assert peer.sent() == []


def test_strange_progress_is_an_event() -> None:
    peer, wire_id, _ = asking()
    peer.notify("notifications/progress", {"progressToken": wire_id, "progress": 1})  # it was not asked for
    assert [event.kind for event in peer.of(Diagnostic)] == ["bad-progress"]
