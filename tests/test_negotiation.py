"""Which era a server speaks: probes, errors of every kind, and what is asked meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clients import LEGACY, MODERN, SERVER_INFO, Peer, discovered, legacy, modern, welcome
from negotiating import CAPABILITY, HEADERS, OLD, UNSUPPORTED, failure, methods, overlap

from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    CallFailed,
    CallId,
    CallSucceeded,
    Client,
    ClientConfig,
    Disconnected,
    Era,
    Implementation,
    LocalProtocolError,
    Negotiated,
    NegotiationFailed,
    NotificationReceived,
    RpcError,
    TimedOut,
    Verdict,
)

# --- the plain ways ---------------------------------------------------------------------------------


def test_the_probe_is_a_complete_modern_request() -> None:
    peer = Peer(capabilities={"roots": {}})
    assert peer.sent() == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "server/discover",
            "params": {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1.0"},
                    "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
                }
            },
        }
    ]
    assert peer.client.era is None
    assert peer.client.version is None


def test_a_discover_result_means_modern() -> None:
    peer = Peer()
    result = {
        **discovered(prompts={"listChanged": True}),
        "instructions": "be kind",
        "_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO},
    }
    peer.reply(peer.last()["id"], result)
    server = Implementation("hand", "0")
    capabilities = {"prompts": {"listChanged": True}}
    [event] = peer.events()
    assert event == Negotiated(Era.MODERN, MODERN, capabilities, server, "be kind")
    assert isinstance(event, Negotiated)
    assert event.verdict == Verdict(Era.MODERN, MODERN)
    client = peer.client
    assert (client.era, client.version, client.capabilities) == (Era.MODERN, MODERN, capabilities)
    assert client.server_info == server
    assert peer.sent() == []
    assert client.next_timeout() is None


def test_any_other_answer_means_legacy() -> None:
    peer = Peer(capabilities={"roots": {}})
    peer.error(peer.last()["id"], -32601)
    assert peer.sent() == [
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "initialize",
            "params": {
                "protocolVersion": LEGACY,
                "capabilities": {"roots": {}},
                "clientInfo": {"name": "test-client", "version": "1.0"},
            },
        }
    ]
    peer.reply(2, {**welcome(prompts={}), "instructions": "be kind"})
    assert peer.sent() == [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    server = Implementation("hand", "0")
    assert peer.events() == [Negotiated(Era.LEGACY, LEGACY, {"prompts": {}}, server, "be kind")]
    assert peer.client.next_timeout() is None


def test_the_server_may_choose_an_older_legacy_version() -> None:
    peer = legacy(version="2024-11-05")
    assert (peer.client.era, peer.client.version) == (Era.LEGACY, "2024-11-05")


@pytest.mark.parametrize("version", ["2099-01-01", MODERN, ""])
def test_a_version_that_we_do_not_have_is_the_end(version: str) -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    peer.reply(peer.last()["id"], welcome(version))
    event = failure(peer)
    assert event.reason == f"the server answered with protocol version {version!r}"
    assert event.supported == (version,)


def test_a_legacy_client_starts_with_the_handshake() -> None:
    peer = Peer(versions=("2025-03-26", OLD))
    [message] = peer.sent()
    assert (message["method"], message["params"]["protocolVersion"]) == ("initialize", OLD)


def test_what_a_revision_does_not_have_is_left_out_of_the_handshake() -> None:
    info = Implementation("c", "1", title="C", description="d", website_url="https://c")
    script = Client(ClientConfig(info=info, versions=(OLD,)))
    peer = Peer(versions=(OLD,))
    assert script.config.of_era(Era.LEGACY) == (OLD,)
    assert "title" not in peer.last()["params"]["clientInfo"]


# --- what is no evidence of a modern server ---------------------------------------------------------


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32603, -32000, -32001, -32004, -32003, 0, 404])
@pytest.mark.parametrize("data", [{}, {"data": {"supported": [MODERN], "requested": "x"}}])
def test_every_error_that_is_not_modern_falls_back(code: int, data: dict[str, Any]) -> None:
    peer = Peer()
    peer.error(peer.last()["id"], code, "initialize first", **data)
    assert methods(peer) == ["initialize"]
    peer.reply(2, welcome())
    assert peer.client.era is Era.LEGACY


def test_the_error_that_meant_legacy_is_kept_if_the_handshake_fails_too() -> None:
    peer = Peer()
    peer.error(peer.last()["id"], -32004, "unsupported", data={"supported": [MODERN]})
    peer.error(peer.last()["id"], -32601, "what?")
    event = failure(peer)
    assert event.error == RpcError(-32601, "what?")
    assert event.reason == (
        "initialize failed: error -32601: what? (and server/discover: error -32004: unsupported)"
    )


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"supportedVersions": MODERN, "capabilities": {}},
        {"supportedVersions": [MODERN]},
        {"supportedVersions": [MODERN], "capabilities": None},
        {"supportedVersions": [MODERN], "capabilities": []},
        {"resultType": "input_required", "requestState": "s"},
        {"resultType": "deferred", "supportedVersions": [MODERN], "capabilities": {}},
        {"resultType": 5},
    ],
)
def test_a_result_that_is_none_falls_back(result: dict[str, Any]) -> None:
    peer = Peer()
    peer.reply(peer.last()["id"], result)
    assert methods(peer) == ["initialize"]


def test_a_reply_that_breaks_json_rpc_falls_back() -> None:
    peer = Peer()
    peer.say(id=peer.last()["id"])
    assert methods(peer) == ["initialize"]


def test_a_server_that_lists_legacy_versions_only_is_legacy() -> None:
    """The official SDK falls back here, too."""
    peer = Peer()
    peer.reply(peer.last()["id"], discovered(("2025-11-25", "2024-11-05")))
    assert methods(peer) == ["initialize"]


def test_a_server_without_any_common_version_is_none_of_ours() -> None:
    peer = Peer()
    peer.reply(peer.last()["id"], discovered(("2026-10-01", 5)))  # type: ignore[arg-type]  # what a peer may send
    event = failure(peer)
    assert (event.reason, event.error, event.supported) == (
        "no common protocol version",
        None,
        ("2026-10-01",),
    )


def test_what_is_for_display_only_may_have_any_shape() -> None:
    peer = Peer()
    result = {**discovered(), "instructions": 5, "_meta": {"io.modelcontextprotocol/serverInfo": ["x"]}}
    peer.reply(peer.last()["id"], result)
    assert peer.events() == [Negotiated(Era.MODERN, MODERN, {}, None, None)]


def test_a_modern_client_cannot_fall_back() -> None:
    peer = Peer(versions=(MODERN,))
    peer.error(peer.last()["id"], -32601, "what?")
    event = failure(peer)
    assert event.error == RpcError(-32601, "what?")
    assert event.reason == "the server is not modern: error -32601: what?"
    peer = Peer(versions=(MODERN,))
    peer.reply(peer.last()["id"], {})
    assert failure(peer).error is None
    peer = Peer(versions=(MODERN,))
    peer.sent()
    peer.wait(5.0)
    assert failure(peer).reason == "no answer to server/discover"


# --- modern errors ----------------------------------------------------------------------------------


def test_an_unsupported_version_is_tried_once_more_if_it_is_supported_after_all() -> None:
    peer = Peer()
    peer.error(peer.last()["id"], UNSUPPORTED, data={"supported": [MODERN], "requested": MODERN})
    assert methods(peer) == ["server/discover"]
    peer.error(2, UNSUPPORTED, "no", data={"supported": [MODERN], "requested": MODERN})
    event = failure(peer)
    assert (event.reason, event.supported) == ("no common protocol version", (MODERN,))
    assert event.error is not None
    assert event.error.code == UNSUPPORTED


@pytest.mark.parametrize(
    "data",
    [
        {"supported": ["2026-10-01"], "requested": MODERN},
        {"supported": [LEGACY], "requested": MODERN},
        {"supported": None},
        {"supported": MODERN},
        {"supported": []},
        {"supported": {MODERN: True}},
        {"supported": [[MODERN], 5]},
        {"current": MODERN},
        [MODERN],
        MODERN,
        None,
    ],
)
def test_without_a_mutual_modern_version_there_is_no_handshake(data: Any) -> None:
    """The official SDK goes on to `initialize` where the data cannot be read or lists a legacy version."""
    peer = Peer()
    peer.error(peer.last()["id"], UNSUPPORTED, data=data)
    event = failure(peer)
    assert event.reason == "no common protocol version"
    assert event.error == RpcError(UNSUPPORTED, "no", data)
    assert all(isinstance(version, str) for version in event.supported)
    assert methods(peer) == []


@pytest.mark.parametrize("code", [HEADERS, CAPABILITY])
def test_other_modern_errors_are_tried_once_more(code: int) -> None:
    peer = Peer()
    peer.error(peer.last()["id"], code)
    assert methods(peer) == ["server/discover"]
    peer.error(2, code, "still no")
    event = failure(peer)
    assert event.reason == f"server/discover failed: error {code}: still no"
    assert event.error == RpcError(code, "still no")


# --- commands while the era is unknown --------------------------------------------------------------


def test_commands_wait_for_the_era_and_then_leave_in_order() -> None:
    peer = Peer()
    peer.client.request("x/first", None, 0.0)
    peer.client.notify("notifications/second", None, 0.0)
    dropped = peer.client.request("x/dropped", None, 0.0)
    peer.client.request("x/third", None, 0.0)
    peer.client.cancel(dropped, 0.0)
    assert methods(peer) == ["server/discover"]
    peer.wait(5.0)
    assert methods(peer) == ["initialize"]
    peer.reply(peer.ids("initialize")[-1], welcome())
    assert methods(peer) == [
        "notifications/initialized",
        "x/first",
        "notifications/second",
        "x/third",
    ]


def test_commands_wait_for_a_wire_too() -> None:
    client = Client(ClientConfig(info=Implementation("c", "1")))
    call = client.request("x/ask", None, 0.0)
    assert client.next_outgoing() is None
    assert client.next_ready() is None
    client.handle_timeout(60.0)
    assert client.next_event() == CallFailed(call, TimedOut("quiet", 60.0))


def test_there_is_one_probe_at_a_time() -> None:
    peer = Peer()
    for number in range(3):
        peer.client.request("x/ask", {"n": number}, 0.0)
        assert len(peer.ids("server/discover")) == 1


def test_a_notification_with_the_welcome_is_read_too() -> None:
    peer = Peer(versions=LEGACY_VERSIONS)
    wire_id = peer.last()["id"]
    hello = {"jsonrpc": "2.0", "id": wire_id, "result": welcome()}
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}}
    peer.raw(f"{json.dumps(hello)}\n{json.dumps(note)}\n".encode())
    negotiated, received = peer.events()
    assert isinstance(negotiated, Negotiated)
    assert received == NotificationReceived("notifications/message", {"level": "info", "data": "hi"})


# --- losing and closing meanwhile -------------------------------------------------------------------


@pytest.mark.parametrize("state", ["unsent", "probing", "overlap", "shaking"])
def test_losing_the_wire_meanwhile_begins_anew_on_the_next(state: str) -> None:
    peer = overlap() if state == "overlap" else Peer()
    if state in ("probing", "shaking"):
        peer.sent()
    if state == "shaking":
        peer.error(1, -32601)
        peer.sent()
    call = peer.client.request("x/ask", None, peer.now)
    peer.wire.receive_eof(peer.now, "gone")
    assert peer.events() == [Disconnected("gone")]
    assert peer.client.next_timeout() == peer.now + 60.0  # of the call; nothing else waits
    peer.reconnect()
    assert methods(peer) == ["server/discover"]
    peer.say_modern()
    peer.reply(peer.last()["id"], {})
    assert CallSucceeded(call, {}) in peer.events()


@pytest.mark.parametrize("state", ["unsent", "probing", "overlap", "modern", "legacy"])
def test_closing_meanwhile_ends_everything(state: str) -> None:
    peer = {"overlap": overlap, "modern": modern, "legacy": legacy}.get(state, Peer)()
    if state == "probing":
        peer.sent()
    call = peer.client.request("x/ask", None, peer.now)
    peer.client.close(peer.now, "enough")
    assert [type(event) for event in peer.events()] == [CallFailed]
    assert peer.client.next_timeout() is None
    assert peer.sent() == []
    assert peer.wire.closed
    peer.raw(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert peer.events() == []
    with pytest.raises(LocalProtocolError):
        peer.reconnect()
    assert isinstance(call, CallId)


@pytest.mark.parametrize("how", ["eof", "abort", "data", "close", "timeout"])
def test_after_the_failure_nothing_more_happens(how: str) -> None:
    peer = Peer(versions=(MODERN,))
    peer.error(peer.last()["id"], -32601)
    assert [type(event) for event in peer.events()] == [NegotiationFailed]
    if how == "eof":
        peer.wire.receive_eof(peer.now)
    elif how == "abort":
        peer.wire.abort(peer.now)
    elif how == "data":
        peer.raw(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    elif how == "close":
        peer.client.close(peer.now)
    else:
        peer.wait(100.0)
    assert peer.events() == []
    assert peer.sent() == []
    assert peer.wire.closed


# --- configuration ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        {"versions": ()},
        {"versions": ("2099-01-01",)},
        {"versions": (*ALL_VERSIONS, "2025-06-19")},
        {"capabilities": {"a": object()}},
        {"info": Implementation("c", 1)},  # type: ignore[arg-type]  # the point of the test
        {"probe_timeout": -1.0},
        {"quiet_timeout": float("nan")},
        {"backoff_max": -0.1},
    ],
)
def test_a_configuration_that_cannot_work_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        ClientConfig(**{"info": Implementation("c", "1"), **config})
