"""Requests that a legacy server makes of a client, and those that a modern one must not make."""

from __future__ import annotations

from typing import Any

import pytest
from clients import Peer, legacy, modern

from mcp_sansio import (
    LEGACY_VERSIONS,
    Diagnostic,
    Disconnected,
    Era,
    IncomingRequest,
    LocalProtocolError,
    PingAnswered,
    RequestCancelled,
    RequestReceived,
    RpcError,
)

ROOTS, SAMPLE = "roots/list", "sampling/createMessage"


def offering(*methods: str) -> Peer:
    return legacy(answers=methods)


def received(peer: Peer, id: Any = "r1", method: str = ROOTS, params: Any = None) -> IncomingRequest:
    """A request that has become an event."""
    peer.request(id, method, params)
    [event] = peer.of(RequestReceived)
    return event.request


def test_a_ping_is_answered_at_once() -> None:
    peer = legacy()
    peer.client.request("x/ask", None, peer.now)
    peer.request("p", "ping")
    assert peer.events() == [PingAnswered()]
    assert peer.sent()[0] == {"jsonrpc": "2.0", "id": "p", "result": {}}


def test_a_ping_is_answered_before_the_handshake_is_over() -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.request(0, "ping")
    assert [message.get("method", "pong") for message in peer.sent()] == ["initialize", "pong"]


def test_what_is_not_offered_is_refused() -> None:
    peer = offering(ROOTS)
    peer.request(7, SAMPLE, {})
    [refusal] = peer.sent()
    assert (refusal["id"], refusal["error"]["code"]) == (7, -32601)
    assert peer.events() == []


def test_an_offered_method_becomes_an_event_with_its_meta_apart() -> None:
    peer = offering(ROOTS, SAMPLE)
    peer.request(2**53 + 1, SAMPLE, {"a": 1, "_meta": {"progressToken": 5}})
    [event] = peer.events()
    assert isinstance(event, RequestReceived)
    assert event.params == {"a": 1}
    request = event.request
    assert (request.id, request.method, request.era) == (2**53 + 1, SAMPLE, Era.LEGACY)
    assert (request.version, request.meta) == ("2025-11-25", {"progressToken": 5})
    assert (request.stream, request.principal, request.client_info) == (None, None, None)
    peer.client.respond(request, {"role": "assistant"}, peer.now)
    assert peer.sent() == [{"jsonrpc": "2.0", "id": 9007199254740993, "result": {"role": "assistant"}}]


@pytest.mark.parametrize("meta", [None, 5, [], "x"])
def test_meta_of_any_other_shape_is_none(meta: Any) -> None:
    peer = offering(ROOTS)
    assert received(peer, params={"_meta": meta}).meta == {}


def test_an_error_is_an_answer() -> None:
    peer = offering(ROOTS)
    request = received(peer)
    peer.client.respond(request, RpcError(-1, "declined", {"by": "user"}), peer.now)
    assert peer.sent() == [
        {"jsonrpc": "2.0", "id": "r1", "error": {"code": -1, "message": "declined", "data": {"by": "user"}}}
    ]


def test_a_request_is_answered_once() -> None:
    peer = offering(ROOTS)
    request = received(peer)
    peer.client.respond(request, {}, peer.now)
    with pytest.raises(LocalProtocolError):
        peer.client.respond(request, {}, peer.now)
    assert len(peer.sent()) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"n": float("nan")},
        {"x": object()},
        RpcError(-1, "x", {1: 2}),
        RpcError(-32002, "retired"),
        RpcError(-32042, "retired"),
        RpcError(-32020 - 3, "undefined"),
        RpcError(-32099, "undefined"),
    ],
)
def test_an_answer_that_must_not_leave_has_no_effect(answer: Any) -> None:
    peer = offering(ROOTS)
    request = received(peer)
    with pytest.raises(LocalProtocolError):
        peer.client.respond(request, answer, 1000.0)
    assert peer.sent() == []
    assert peer.client.tick(0.0) == 0.0
    peer.client.respond(request, RpcError(-32021, "defined"), peer.now)
    assert len(peer.sent()) == 1


def test_params_that_cannot_be_decoded_are_refused() -> None:
    peer = offering(ROOTS)
    peer.raw(b'{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"n":1e999}}\n')
    peer.raw(b'{"jsonrpc":"2.0","id":2,"method":"roots/list","params":[]}\n')
    peer.raw(b'{"jsonrpc":"1.0","id":3,"method":"roots/list"}\n')
    answers = [(message["id"], message["error"]["code"]) for message in peer.sent()]
    assert answers == [(1, -32602), (2, -32602), (3, -32600)]
    assert [type(event) for event in peer.events()] == [Diagnostic, Diagnostic]


def test_there_is_room_for_so_many_requests() -> None:
    peer = legacy(answers=(ROOTS,), max_in_flight=2)
    first = received(peer, 1)
    received(peer, 2)
    peer.request(3, ROOTS)
    [refusal] = peer.sent()
    assert (refusal["id"], refusal["error"]["code"]) == (3, -32603)
    assert "in flight" in refusal["error"]["message"]
    assert peer.events() == []
    peer.client.respond(first, {}, peer.now)
    assert received(peer, 4).id == 4


def test_what_is_refused_is_not_quoted_at_any_length() -> None:
    peer = offering(ROOTS)
    peer.request("i" * 65536, ROOTS)
    peer.request("i" * 65536, ROOTS)
    peer.request(1, "m" * 100_000)
    in_use, unknown = peer.sent()
    assert len(in_use["error"]["message"]) < 200
    assert len(unknown["error"]["message"]) < 200


def test_an_id_in_use_is_refused() -> None:
    peer = offering(ROOTS)
    request = received(peer)
    peer.request("r1", ROOTS)
    assert peer.events() == []
    assert [message["error"]["code"] for message in peer.sent()] == [-32600]
    peer.client.respond(request, {}, peer.now)
    assert received(peer).id == "r1"


def test_the_server_may_give_up() -> None:
    peer = offering(ROOTS)
    request, other = received(peer, 1), received(peer, "1")
    peer.notify("notifications/cancelled", {"requestId": "1", "reason": "too late"})
    peer.notify("notifications/cancelled", {"requestId": 1, "reason": 5})
    assert peer.events() == [RequestCancelled(other, "too late"), RequestCancelled(request, None)]
    with pytest.raises(LocalProtocolError):
        peer.client.respond(request, {}, peer.now)
    assert peer.sent() == []


@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": [1]}, {"requestId": 99}])
def test_giving_up_on_nothing_means_nothing(params: Any) -> None:
    peer = offering(ROOTS)
    request = received(peer, 1)
    peer.notify("notifications/cancelled", params)
    assert peer.events() == []
    peer.client.respond(request, {}, peer.now)


def test_with_the_carrier_goes_whoever_wanted_an_answer() -> None:
    peer = offering(ROOTS)
    request = received(peer)
    peer.client.respond(received(peer, "r2"), {}, peer.now)
    peer.wire.receive_eof(peer.now, "gone")
    assert peer.events() == [RequestCancelled(request, "gone"), Disconnected("gone")]
    with pytest.raises(LocalProtocolError):
        peer.client.respond(request, {}, peer.now)
    peer.reconnect()
    assert [message["method"] for message in peer.sent()] == ["initialize"]


def test_closing_ends_what_was_asked_and_lets_out_what_was_answered() -> None:
    peer = offering(ROOTS)
    first, second = received(peer, 1), received(peer, 2)
    peer.client.respond(first, {}, peer.now)
    peer.client.close(peer.now, "enough")
    assert peer.events() == [RequestCancelled(second, "enough")]
    assert peer.sent() == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    assert peer.wire.closed


@pytest.mark.parametrize("method", ["ping", ROOTS, "x"])
def test_a_modern_server_gets_no_answers(method: str) -> None:
    peer = modern(answers=(ROOTS,))
    peer.request(1, method)
    assert peer.events() == [Diagnostic("server-request", f"a modern server sent the request {method}")]
    assert peer.sent() == []
    made_up = IncomingRequest(1, method, Era.MODERN, "2026-07-28", {})
    with pytest.raises(LocalProtocolError):
        peer.client.respond(made_up, {}, peer.now)


def test_what_was_asked_before_the_era_was_known_is_refused_in_the_legacy_era_only() -> None:
    for era in ("modern", "legacy"):
        peer = Peer(answers=(ROOTS,))
        peer.request(1, ROOTS)
        assert [message.get("method") for message in peer.sent()] == ["server/discover"]
        if era == "modern":
            peer.say_modern()
            assert peer.sent() == []
        else:
            peer.say_legacy()
            assert [message.get("method", message.get("id")) for message in peer.sent()] == [
                "notifications/initialized",
                1,
            ]
