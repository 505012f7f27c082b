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
    EVERY,
    LEGACY,
    LIST_CHANGED,
    MODERN,
    VERSION,
    Peer,
    envelope,
    spoken,
)

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Diagnostic,
    Era,
    Implementation,
    InvalidReply,
    NotificationReceived,
    PingAnswered,
    PromptRequested,
    RequestCancelled,
    RpcError,
    SessionStarted,
    SubscriptionEnded,
)


def code(reply: dict[str, Any]) -> int:
    found: int = reply["error"]["code"]
    return found


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
