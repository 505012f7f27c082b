"""What comes in: both eras on one channel, ids, sessions, batches, and what is no message at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import (
    CAPABILITIES,
    CLIENT_INFO,
    LEGACY,
    MODERN,
    VERSION,
    Peer,
    code,
    envelope,
    spoken,
)

from mcp_sansio import (
    Diagnostic,
    Era,
    Implementation,
    NotificationReceived,
    PromptRequested,
    RequestCancelled,
    SubscriptionEnded,
)

# --- which era --------------------------------------------------------------------------------------


def test_a_request_with_the_modern_members_needs_no_session() -> None:
    peer = Peer()
    reply = peer.call(1, "prompts/list")
    assert [prompt["name"] for prompt in reply["result"]["prompts"]] == ["p0000", "p0001"]


def test_both_eras_share_one_channel() -> None:
    """In the official Python SDK the first request decides: the other era is refused from then on."""
    peer = Peer()
    peer.initialize("2025-06-18")
    legacy = peer.ask(1, "prompts/list")["result"]
    modern = peer.call(2, "prompts/list")["result"]
    assert "resultType" not in legacy
    assert modern["resultType"] == "complete"
    assert legacy["prompts"] == modern["prompts"]
    assert "resultType" not in peer.ask(3, "prompts/list")["result"]


def test_an_initialize_may_come_after_modern_requests() -> None:
    peer = Peer()
    peer.call(1, "prompts/list")
    assert peer.initialize("2025-03-26")["protocolVersion"] == "2025-03-26"


def test_both_eras_share_one_id_space() -> None:
    peer = Peer()
    peer.initialize()
    peer.request(7, "prompts/get", {"name": "p0000"})
    reply = peer.call(7, "prompts/list")
    assert reply["id"] == 7
    assert code(reply) == -32600
    (asked,) = peer.of(PromptRequested)
    peer.prompts.answer(asked, "still open", peer.now)
    assert spoken(peer.sent()) == [7]


def test_an_open_listen_request_keeps_its_id() -> None:
    peer = Peer()
    peer.listen("l")
    assert code(peer.call("l", "prompts/list")) == -32600


def test_an_integer_and_a_string_are_different_ids() -> None:
    peer = Peer()
    for wire_id in (1, "1"):
        peer.say_modern(wire_id, "prompts/get", {"name": "p0000"})
    first, second = peer.of(PromptRequested)
    peer.prompts.answer(second, "b", peer.now)
    peer.prompts.answer(first, "a", peer.now)
    assert [message["id"] for message in peer.sent()] == ["1", 1]


@pytest.mark.parametrize(
    "params", [None, {}, {"_meta": {}}, {"_meta": None}, {"_meta": {"progressToken": 1}}]
)
def test_without_metadata_or_session_nothing_is_served(params: Any) -> None:
    reply = Peer().ask(1, "prompts/list", params)
    assert code(reply) == -32602
    assert VERSION in reply["error"]["message"]


def test_metadata_that_is_no_object_is_refused() -> None:
    peer = Peer()
    peer.initialize()
    assert code(peer.ask(1, "prompts/list", {"_meta": []})) == -32602


def test_metadata_that_is_null_is_absent() -> None:
    peer = Peer()
    peer.initialize()
    assert "result" in peer.ask(1, "prompts/list", {"_meta": None})


@pytest.mark.parametrize(
    ("meta", "named"),
    [
        ({VERSION: MODERN}, CAPABILITIES),
        ({VERSION: MODERN, CAPABILITIES: None}, CAPABILITIES),
        ({VERSION: MODERN, CAPABILITIES: []}, CAPABILITIES),
        ({CAPABILITIES: {}}, VERSION),
        ({VERSION: None, CAPABILITIES: {}}, VERSION),
        ({VERSION: 5, CAPABILITIES: {}}, VERSION),
    ],
)
def test_a_modern_request_that_lacks_a_required_member_is_malformed(meta: Any, named: str) -> None:
    """Even where a legacy session is there that could serve it."""
    peer = Peer()
    peer.initialize()
    reply = peer.ask(1, "prompts/list", {"_meta": meta})
    assert code(reply) == -32602
    assert named in reply["error"]["message"]


@pytest.mark.parametrize("version", ["2026-10-01", "2025-11-25", "1900-01-01", ""])
def test_an_unsupported_modern_version_is_named_with_those_that_are_supported(version: str) -> None:
    reply = Peer().call(1, "prompts/list", version=version)
    assert code(reply) == -32022
    assert reply["error"]["data"] == {"supported": [MODERN], "requested": version}


def test_a_server_of_legacy_revisions_alone_never_looks_modern() -> None:
    """-32022 would keep a client of both eras from `initialize`."""
    peer = Peer(versions=LEGACY)
    reply = peer.call(1, "server/discover")
    assert code(reply) == -32602
    assert "session" in reply["error"]["message"]
    peer.initialize(_meta=envelope())
    assert code(peer.call(2, "server/discover")) == -32601
    assert "resultType" not in peer.call(3, "prompts/list")["result"]


def test_who_asks_is_in_the_request() -> None:
    peer = Peer(principal="ann")
    meta = {CLIENT_INFO: {"name": "c", "version": "1"}, "traceparent": "00-1-2-03"}
    peer.say_modern(1, "prompts/get", {"name": "p0000"}, capabilities={"roots": {}}, **meta)
    request = peer.of(PromptRequested)[0].request
    assert (request.era, request.version) == (Era.MODERN, MODERN)
    assert request.client_info == Implementation("c", "1")
    assert request.client_capabilities == {"roots": {}}
    assert request.principal == "ann"
    assert request.meta["traceparent"] == "00-1-2-03"


def test_who_says_something_else_of_himself_is_asked_anew() -> None:
    peer = Peer()
    said: list[dict[str, Any]] = [{"roots": {}}, {"roots": {}}, {}]
    for number, capabilities in enumerate(said):
        peer.say_modern(number, "prompts/get", {"name": "p0000"}, capabilities=capabilities)
        assert peer.of(PromptRequested)[-1].request.client_capabilities == capabilities
    assert code(peer.call(3, "initialize")) == -32601
    assert code(peer.call(4, "prompts/list", version="2099-01-01")) == -32022


@pytest.mark.parametrize("info", [None, 5, {}, {"name": "c"}])
def test_nothing_depends_on_what_a_client_calls_itself(info: Any) -> None:
    peer = Peer()
    peer.say_modern(1, "prompts/get", {"name": "p0000"}, **{CLIENT_INFO: info})
    assert peer.of(PromptRequested)[0].request.client_info is None


# --- ids --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire_id", ["null", "true", "1.0", "1.5", "[]", "{}"])
def test_what_is_no_id_makes_no_request(wire_id: str) -> None:
    peer = Peer()
    peer.raw(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % wire_id.encode())
    (reply,) = peer.sent()
    assert code(reply) == -32600
    assert "id" not in reply


@pytest.mark.parametrize("wire_id", [0, -1, 2**53 + 1, 2**64, 10**300, "", "x" * 200, "é\u2028", "__proto__"])
def test_an_id_comes_back_as_it_was(wire_id: int | str) -> None:
    peer = Peer()
    assert peer.ask(wire_id, "ping") == {"jsonrpc": "2.0", "id": wire_id, "result": {}}
    assert peer.call(wire_id, "prompts/list")["id"] == wire_id


def test_an_integer_beyond_all_limits_is_unreadable() -> None:
    peer = Peer()
    peer.raw(b'{"jsonrpc":"2.0","id":1%s,"method":"ping"}\n' % (b"0" * 5000))
    (reply,) = peer.sent()
    assert code(reply) == -32700


@pytest.mark.parametrize(
    ("version", "shown"),
    [(None, False), ("2024-11-05", True), ("2025-06-18", True), ("2025-11-25", False)],
)
def test_an_id_that_cannot_be_read_is_null_or_omitted(version: str | None, shown: bool) -> None:
    peer = Peer()
    if version is not None:
        peer.initialize(version)
    peer.raw(b"this is no JSON\n")
    (reply,) = peer.sent()
    assert code(reply) == -32700
    assert ("id" in reply) is shown
    assert reply.get("id") is None


# --- messages that are none -------------------------------------------------------------------------


@pytest.mark.parametrize("jsonrpc", [{}, {"jsonrpc": "1.0"}, {"jsonrpc": 2.0}])
def test_a_request_of_another_protocol_is_answered_by_its_id(jsonrpc: dict[str, Any]) -> None:
    peer = Peer()
    peer.raw(json.dumps({**jsonrpc, "id": 99, "method": "prompts/list"}).encode() + b"\n")
    (reply,) = peer.sent()
    assert (reply["id"], code(reply)) == (99, -32600)


@pytest.mark.parametrize(
    "params", [b"[]", b'"x"', b"5", b'{"name":"\\ud83d"}', b'{"name":NaN}', b'{"x":1e400}']
)
def test_params_that_cannot_be_read_cost_that_request(params: bytes) -> None:
    peer = Peer()
    peer.raw(b'{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":%s}\n' % params)
    (reply,) = peer.sent()
    assert (reply["id"], code(reply)) == (4, -32602)
    assert peer.ask(5, "ping")["result"] == {}


def test_params_that_nest_too_deeply_cost_that_request() -> None:
    peer = Peer()
    deep = b'{"a":' * 200 + b"1" + b"}" * 200
    peer.raw(b'{"jsonrpc":"2.0","id":4,"method":"x","params":%s}\n' % deep)
    (reply,) = peer.sent()
    assert (reply["id"], code(reply)) == (4, -32602)


@pytest.mark.parametrize("params", [b"[]", b'"x"', b'{"x":1e400}'])
def test_a_notification_is_never_answered(params: bytes) -> None:
    """Whatever its params are: "the receiver MUST NOT send a response"."""
    peer = Peer()
    peer.raw(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}\n' % params)
    assert peer.sent() == []
    assert [event.kind for event in peer.of(Diagnostic)] in (["bad-message"], ["bad-notification"])


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}])
def test_the_params_of_a_notification_may_be_missing(params: Any) -> None:
    peer = Peer()
    peer.notify("notifications/roots/list_changed", params)
    peer.raw(b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":null}\n')
    first, second = peer.of(NotificationReceived)
    assert first.method == "notifications/roots/list_changed"
    assert first.params == (params or {})
    assert second.params == {}
    assert second.stream is first.stream is not None


def test_an_overlong_line_costs_that_line() -> None:
    peer = Peer(wire={"max_line": 300})
    peer.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * 300 + b'"}}\n')
    (reply,) = peer.sent()
    assert code(reply) == -32600
    assert peer.ask(2, "ping")["result"] == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["jsonrpc", "id", "method", "params", "result", "error", "_meta", "name", "cursor"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "server/discover",
        "subscriptions/listen",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
    ]
)
PARAMS = st.dictionaries(
    st.sampled_from(
        ["name", "arguments", "cursor", "ref", "argument", "context", "requestState", "inputResponses"]
    ),
    JSON,
    max_size=3,
)
CALLS = st.builds(
    lambda method, params, wire_id, meta: {
        "jsonrpc": "2.0",
        "method": method,
        "params": {**params, **({"_meta": envelope()} if meta else {})},
        **({} if wire_id is None else {"id": wire_id}),
    },
    METHODS,
    PARAMS,
    st.none() | st.integers(0, 3),
    st.booleans(),
)


@settings(max_examples=100)
@given(st.lists(CALLS | JSON, max_size=6), st.sampled_from([None, *LEGACY]))
def test_nothing_that_a_client_says_raises(messages: list[Any], version: str | None) -> None:
    peer = Peer()
    if version is not None:
        peer.initialize(version)
        peer.sent()
    for message in messages:
        peer.raw(json.dumps(message).encode() + b"\n")
    peer.sent()
    peer.events()
    assert peer.ask("alive", "ping")["result"] == {}


# --- cancellation -----------------------------------------------------------------------------------


def test_a_cancelled_request_is_not_answered() -> None:
    peer = Peer()
    peer.say_modern("a", "prompts/get", {"name": "p0000"})
    (asked,) = peer.of(PromptRequested)
    peer.notify("notifications/cancelled", {"requestId": "a", "reason": "bored"})
    (cancelled,) = peer.of(RequestCancelled)
    assert cancelled.request is asked.request
    assert cancelled.reason == "bored"
    assert peer.sent() == []
    assert peer.call("a", "prompts/list")["id"] == "a"  # the id is free again


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"requestId": None},
        {"requestId": True},
        {"requestId": 1.0},
        {"requestId": "1"},
        {"requestId": [1]},
    ],
)
def test_a_cancellation_of_nothing_is_ignored(params: Any) -> None:
    peer = Peer()
    peer.say_modern(1, "prompts/get", {"name": "p0000"})
    peer.notify("notifications/cancelled", params)
    assert peer.of(RequestCancelled) == []
    assert peer.sent() == []


def test_a_strange_reason_is_no_reason() -> None:
    peer = Peer()
    peer.say_modern(1, "prompts/get", {"name": "p0000"})
    peer.notify("notifications/cancelled", {"requestId": 1, "reason": 5})
    assert peer.of(RequestCancelled)[0].reason is None


def test_a_client_stops_listening_without_a_reply() -> None:
    peer = Peer()
    peer.listen("l")
    peer.notify("notifications/cancelled", {"requestId": "l"})
    (ended,) = peer.of(SubscriptionEnded)
    assert ended.id == "l"
    peer.edit("new")
    assert peer.sent() == []
    assert len(peer.listen("l")) == 1
