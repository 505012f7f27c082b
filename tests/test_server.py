"""The verbs of a server, what belongs to the protocol itself, and that nothing is remembered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair import KEYS, SERVER, catalogue
from serving import (
    CAPABILITIES,
    ECHO,
    EVERY,
    FORM,
    LEGACY,
    LIST_CHANGED,
    MODERN,
    SERVER_INFO,
    SUBSCRIPTION,
    VERSION,
    Peer,
    answering,
    received,
)

from mcp_sansio import (
    HandlerFailed,
    Icon,
    Implementation,
    IncomingRequest,
    InputRequired,
    LocalProtocolError,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    RequestReceived,
    RpcError,
    Server,
    ServerConfig,
    ServerLayer,
)

# --- configuration ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"quiet": -1},
        {"max_wait": float("inf")},
        {"max_wait": float("nan")},
        {"discover_ttl": -0.001},
        {"max_in_flight": 0},
        {"max_subscriptions": -1},
        {"max_listens": -1},
        {"max_pending": -1},
        {"quiet_timeout": -1},
        {"total_timeout": -1},
        {"versions": ()},
        {"versions": ("2026-07-28", "2099-01-01")},
    ],
    ids=repr,
)
def test_a_configuration_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError, match=next(iter(wrong))):
        ServerConfig(info=SERVER, **wrong)


def test_a_timeout_may_be_none() -> None:
    assert ServerConfig(info=SERVER, quiet_timeout=None, total_timeout=None).quiet_timeout is None


def test_a_server_must_know_its_name() -> None:
    with pytest.raises(LocalProtocolError):
        Server(ServerConfig(info=Implementation("s", 5)))  # type: ignore[arg-type]  # the mistake


# --- discovery --------------------------------------------------------------------------------------


def test_discovery() -> None:
    peer = Peer(instructions="be nice", discover_ttl=1.5, capabilities={"logging": {}})
    result = peer.call("d", "server/discover")["result"]
    assert result == {
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": {"logging": {}, "prompts": {"listChanged": True}, "completions": {}},
        "instructions": "be nice",
        "ttlMs": 1500,
        "cacheScope": "public",
        "_meta": {SERVER_INFO: {"name": "test-server", "version": "2.0"}},
    }


def test_discovery_needs_no_instructions() -> None:
    assert "instructions" not in Peer().call("d", "server/discover")["result"]


@pytest.mark.parametrize("serving", [{"list_changed": False}, {"completions": False}])
def test_only_what_is_offered_is_declared(serving: dict[str, Any]) -> None:
    peer = Peer(serving=serving)
    declared = peer.call("d", "server/discover")["result"]["capabilities"]
    assert declared["prompts"] == ({"listChanged": True} if "completions" in serving else {})
    assert ("completions" in declared) is ("completions" not in serving)


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_client_is_welcomed_in_its_revision(version: str) -> None:
    info = Implementation("s", "1", "Title", "what it does", "https://s", (Icon("data:,"),))
    peer = Peer(info=info, instructions="be nice")
    result = peer.initialize(version)
    declared = {"prompts"} if version == "2024-11-05" else {"prompts", "completions"}
    assert set(result["capabilities"]) == declared
    assert result["capabilities"]["prompts"] == {"listChanged": True}
    assert result["instructions"] == "be nice"
    shown = {"name", "version"}
    shown |= {"title"} if version >= "2025-06-18" else set()
    shown |= {"description", "websiteUrl", "icons"} if version >= "2025-11-25" else set()
    assert set(result["serverInfo"]) == shown
    assert set(Peer().initialize(version)) == {"protocolVersion", "capabilities", "serverInfo"}


# --- a server without prompts -----------------------------------------------------------------------


@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize("method", ["prompts/list", "prompts/get", "completion/complete"])
def test_a_server_without_prompts_has_no_prompts_methods(version: str, method: str) -> None:
    peer = Peer()
    peer.server = Server(ServerConfig(info=SERVER))
    peer.machine = peer.server
    peer.reconnect()
    peer.speak(version)
    assert peer.use(1, method, {"name": "p"})["error"]["code"] == -32601
    assert peer.server.capabilities(version) == {}


# --- answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", EVERY)
def test_a_method_of_the_application(version: str) -> None:
    peer = answering(version)
    request = received(peer, params={"a": [1]})
    peer.server.respond(request, {"b": 2, "_meta": {"k": 1}}, 0.0)
    (reply,) = peer.sent()
    if version == MODERN:
        assert reply["result"] == {
            "resultType": "complete",
            "b": 2,
            "_meta": {"k": 1, SERVER_INFO: {"name": "test-server", "version": "2.0"}},
        }
    else:
        assert reply["result"] == {"b": 2, "_meta": {"k": 1}}


def test_the_params_of_a_request_are_without_its_metadata() -> None:
    peer = answering(MODERN)
    peer.say_modern(1, "x/echo", {"a": [1]}, traceparent="00-1")
    (event,) = peer.of(RequestReceived)
    assert event.params == {"a": [1]}
    assert event.request.meta["traceparent"] == "00-1"


def test_a_server_that_does_not_name_itself() -> None:
    peer = Peer(name_itself=False, methods=ECHO)
    assert "_meta" not in peer.call(1, "server/discover")["result"]
    peer.server.respond(received(peer), {}, 0.0)
    assert peer.sent()[0]["result"] == {"resultType": "complete"}


def test_an_extension_may_have_result_types_and_names_of_its_own() -> None:
    peer = answering(MODERN)
    peer.server.respond(received(peer), {"resultType": "task", "_meta": {SERVER_INFO: "other"}}, 0.0)
    assert peer.sent()[0]["result"] == {"resultType": "task", "_meta": {SERVER_INFO: "other"}}


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
@pytest.mark.parametrize(
    "result", [{"x": float("nan")}, {"x": "\ud83d"}, {"x": object()}, {"resultType": "input_required"}]
)
def test_a_result_that_cannot_be_sent_has_no_effect(version: str, result: Any) -> None:
    peer = answering(version)
    request = received(peer)
    with pytest.raises(LocalProtocolError):
        peer.server.respond(request, result, 0.0)
    assert peer.sent() == []
    peer.server.respond(request, {}, 0.0)
    assert peer.sent()[0]["id"] == 1


def test_metadata_of_a_result_is_a_mapping() -> None:
    peer = answering(MODERN)
    with pytest.raises(LocalProtocolError, match="_meta"):
        peer.server.respond(received(peer), {"_meta": [1]}, 0.0)


@pytest.mark.parametrize(
    "code", [-32000, -32001, -32019, -32100, -32020, -32021, -32022, -32602, 0, 1, 2**40]
)
def test_an_error_of_the_application(code: int) -> None:
    peer = answering(MODERN)
    peer.server.refuse(received(peer), RpcError(code, "no", {"a": 1}), 0.0)
    assert peer.sent()[0]["error"] == {"code": code, "message": "no", "data": {"a": 1}}


@pytest.mark.parametrize("code", [-32002, -32042, -32023, -32050, -32099])
@pytest.mark.parametrize("version", ["2025-06-18", MODERN])
def test_reserved_error_codes_do_not_leave_us(code: int, version: str) -> None:
    peer = answering(version)
    request = received(peer)
    with pytest.raises(LocalProtocolError, match="reserved"):
        peer.server.refuse(request, RpcError(code, "no"), 0.0)
    assert peer.sent() == []
    peer.server.refuse(request, RpcError(-1, "no"), 0.0)
    assert peer.sent()[0]["error"]["code"] == -1


def test_a_failure_is_told_to_us_and_not_to_the_client() -> None:
    peer = answering(MODERN)
    request = received(peer)
    peer.server.fail(request, "KeyError: 'password'", 0.0)
    assert peer.sent()[0]["error"] == {"code": -32603, "message": "Internal error"}
    assert peer.events() == [HandlerFailed(request, "KeyError: 'password'")]


# --- layers -----------------------------------------------------------------------------------------


class Tools(ServerLayer):
    """Something else that a server may offer."""

    methods = ("tools/list",)
    topics: Mapping[str, str] = {"toolsListChanged": "notifications/tools/list_changed"}

    def requested(self, request: IncomingRequest, params: dict[str, Any], now: float) -> None:
        self.server.respond(request, {"tools": [], "ttlMs": 0, "cacheScope": "public"}, now)


def test_layers_share_a_server() -> None:
    peer = Peer(layers=(Tools(),))
    assert peer.call(1, "tools/list")["result"]["tools"] == []
    acknowledged, *_ = peer.listen("l", toolsListChanged=True, promptsListChanged=True)
    assert acknowledged["params"]["notifications"] == {"promptsListChanged": True, "toolsListChanged": True}
    peer.server.changed("toolsListChanged", 0.0)
    peer.edit("new")
    methods = [message["method"] for message in peer.sent()]
    assert methods == ["notifications/tools/list_changed", LIST_CHANGED]
    peer.server.changed("toolsListChanged", 0.01)
    peer.say_modern(2, "prompts/list")
    assert [message.get("id") for message in peer.sent()] == [2]  # another layer's list brings no tools


# --- statelessness ----------------------------------------------------------------------------------

REQUESTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("server/discover", {}, {}),
    ("server/discover", {}, {VERSION: "2099-01-01"}),
    ("prompts/list", {}, {}),
    ("prompts/list", {"cursor": "x"}, {}),
    ("prompts/get", {"name": "ghost"}, {}),
    ("prompts/get", {"name": 5}, {}),
    ("prompts/get", {"name": "p0001"}, {}),
    ("prompts/get", {"name": "asks"}, {CAPABILITIES: {}}),
    ("prompts/get", {"name": "asks"}, {CAPABILITIES: {"elicitation": {}}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p0001"}}, {}),
    ("initialize", {"protocolVersion": "2025-11-25"}, {}),
    ("ping", {}, {}),
    ("nonsense", {}, {}),
]


def serve(peer: Peer) -> None:
    for event in peer.of(PromptRequested):
        if event.prompt.name == "asks":
            peer.server.ask(event.request, InputRequired({"a": FORM}, "s"), 0.0)
        else:
            peer.prompts.answer(event, "text", 0.0)


@settings(max_examples=50)
@given(st.permutations(range(len(REQUESTS))), st.data())
def test_an_answer_depends_on_its_request_alone(order: list[int], data: st.DataObject) -> None:
    """Nothing is inferred from earlier requests: order and channel change no answer, nor does a session."""

    def answer(peer: Peer, number: int) -> str:
        method, params, meta = REQUESTS[number]
        request = {**params, "_meta": {VERSION: MODERN, CAPABILITIES: {}, **meta}}
        peer.request(number, method, request)
        serve(peer)
        (reply,) = peer.sent()
        return json.dumps(reply, sort_keys=True)

    def fresh() -> Peer:
        peer = Peer()
        peer.edit("asks")
        return peer

    alone = [answer(fresh(), number) for number in range(len(REQUESTS))]
    first = fresh()
    peers = [first, first.another(), first.another()]
    peers[1].initialize(data.draw(st.sampled_from(LEGACY)))
    for number in order:
        assert answer(data.draw(st.sampled_from(peers)), number) == alone[number]


def test_a_subscription_is_tied_to_its_request_and_not_to_what_came_before() -> None:
    peer = Peer()
    peer.call(1, "prompts/list")
    (acknowledged,) = peer.listen("l")
    assert acknowledged["params"]["_meta"] == {SUBSCRIPTION: "l"}


def test_two_servers_of_the_same_prompts_give_the_same_bytes() -> None:
    def talk() -> list[bytes]:
        peer = Peer()
        peer.initialize()
        peer.listen("l")
        peer.edit("new")
        for version in EVERY:
            peer.say_modern(f"m{version}", "prompts/list", version=version)
        peer.request(2, "prompts/list")
        return peer.wire.data_to_send()

    assert talk() == talk()


def test_a_layer_is_bound_to_its_server() -> None:
    prompts = PromptServer(catalogue(1), PromptServerConfig(keys=KEYS))
    server = Server(ServerConfig(info=SERVER), prompts)
    assert prompts.server is server
    assert list(server.topics) == ["promptsListChanged"]


@pytest.mark.parametrize("wrong", [{"capabilities": {"x": float("nan")}}, {"instructions": b"x"}])
def test_a_configuration_that_cannot_be_sent_is_refused_before_a_client_asks(wrong: Any) -> None:
    with pytest.raises(LocalProtocolError):
        Server(ServerConfig(info=SERVER, **wrong))
