"""The client endpoint: verbs, results, batches and layers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from carriers import exchanging
from clients import (
    CHANGED,
    TAG,
    TOPIC,
    Peer,
    kinds,
    legacy,
    modern,
)
from pair import CLIENT, SERVER

from mcp_sansio import (
    Abandon,
    CallFailed,
    CallSucceeded,
    ChannelChanged,
    Client,
    ClientConfig,
    ClientLayer,
    Event,
    InvalidReply,
    LineWire,
    LocalProtocolError,
    Negotiated,
    Notification,
    NotificationReceived,
    RequestReceived,
    RpcError,
    Server,
    ServerConfig,
    ServerLayer,
)

# --- notifications and messages ---------------------------------------------------------------------


def test_any_notification_can_be_sent() -> None:
    peer = modern()
    peer.client.notify("notifications/x", {"a": 1}, peer.now)
    peer.client.notify("notifications/y", None, peer.now)
    assert peer.sent() == [
        {"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": 1}},
        {"jsonrpc": "2.0", "method": "notifications/y"},
    ]


def test_messages_are_counted_not_what_the_carrier_is_asked_to_do() -> None:
    client, _ = exchanging()
    sent, received = client.messages_sent, client.messages_received
    client.request("x/y", None, 0.0)
    given_up = client.request("x/z", None, 0.0)
    while client.next_outgoing() is not None:
        pass
    client.cancel(given_up, 0.0)
    assert isinstance(client.next_outgoing(), Abandon)
    client.receive(Notification("notifications/x", None), 0.0)
    assert (client.messages_sent - sent, client.messages_received - received) == (2, 1)


OWN_NOTIFICATIONS = ("notifications/initialized", "notifications/cancelled")


@pytest.mark.parametrize(
    ("method", "params"),
    [("\ud83d", None), (None, None), ("x", {"_meta": {}}), *[(method, None) for method in OWN_NOTIFICATIONS]],
)
def test_a_notification_that_cannot_be_sent_is_refused(method: Any, params: Any) -> None:
    peer = modern()
    with pytest.raises(LocalProtocolError):
        peer.client.notify(method, params, 1000.0)
    assert peer.sent() == []
    assert peer.client.tick(0.0) == 0.0


def test_unknown_notifications_are_the_applications() -> None:
    peer = modern()
    peer.notify("notifications/x", {"a": 1})
    peer.notify("notifications/y")
    assert peer.events() == [
        NotificationReceived("notifications/x", {"a": 1}),
        NotificationReceived("notifications/y", {}),
    ]


def test_a_notification_that_cannot_be_decoded_is_reported() -> None:
    peer = modern()
    peer.raw(b'{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1e999}}\n')
    assert kinds(peer.events()) == ["bad-notification"]


def test_cancellations_of_a_modern_server_mean_nothing_without_a_stream() -> None:
    peer = modern()
    call = peer.client.request("x/ask", None, peer.now)
    wire_id = peer.last()["id"]
    peer.notify("notifications/cancelled", {"requestId": wire_id})
    peer.reply(wire_id, {})
    assert peer.events() == [CallSucceeded(call, {})]


def test_malformed_messages_are_reported_and_answered_to_legacy_servers_only() -> None:
    for peer, answered in ((modern(), False), (legacy(), True), (Peer(), False)):
        peer.sent()
        peer.raw(b'{"jsonrpc":"2.0","id":5,"method":"x","params":[]}\n')
        peer.raw(b'{"jsonrpc":"2.0","id":6}\n')
        peer.raw(b'{"jsonrpc":"2.0","id":null,"method":"x"}\n')
        assert kinds(peer.events()) == ["bad-message"] * 3
        assert [message["id"] for message in peer.sent()] == ([5] if answered else [])


# --- results ----------------------------------------------------------------------------------------


def test_a_missing_result_type_means_complete() -> None:
    peer = modern()
    call = peer.client.request("x/ask", None, peer.now)
    peer.reply(peer.last()["id"], {"a": 1})
    assert peer.events() == [CallSucceeded(call, {"a": 1})]


@pytest.mark.parametrize("kind", ["deferred", "", "Complete", 5, None, ["complete"]])
def test_an_unknown_result_type_is_an_invalid_reply(kind: Any) -> None:
    peer = modern()
    call = peer.client.request("x/ask", None, peer.now)
    peer.reply(peer.last()["id"], {"resultType": kind})
    [event] = peer.events()
    assert isinstance(event, CallFailed)
    assert event.call == call
    assert isinstance(event.failure, InvalidReply)


def test_result_types_of_extensions_can_be_registered() -> None:
    peer = modern(result_types=("task",))
    call = peer.client.request("x/ask", None, peer.now)
    peer.reply(peer.last()["id"], {"resultType": "task", "id": 1})
    assert peer.events() == [CallSucceeded(call, {"resultType": "task", "id": 1})]


def test_a_legacy_result_has_no_type() -> None:
    peer = legacy()
    call = peer.client.request("prompts/get", None, peer.now)
    peer.reply(peer.last()["id"], {"resultType": "input_required"})
    assert peer.events() == [CallSucceeded(call, {"resultType": "input_required"})]


# --- batches ----------------------------------------------------------------------------------------


def batch(peer: Peer, *messages: Any) -> None:
    peer.raw(json.dumps([{"jsonrpc": "2.0", **message} for message in messages]).encode() + b"\n")


def test_a_batch_of_its_revision_is_its_messages() -> None:
    peer = legacy(version="2025-03-26", answers=("roots/list",))
    first = peer.client.request("x/ask", None, peer.now)
    second = peer.client.request("x/ask", None, peer.now)
    one, two = [message["id"] for message in peer.sent()]
    batch(
        peer,
        {"id": two, "result": {}},
        {"id": 17},
        {"method": "notifications/x"},
        {"id": 1, "method": "roots/list"},
        {"id": one, "error": {"code": -1, "message": "no"}},
    )
    assert kinds(peer.events()) == [
        "CallSucceeded",
        "bad-message",
        "NotificationReceived",
        "RequestReceived",
        "CallFailed",
    ]
    assert (first.number, second.number) == (3, 4)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_batch_of_another_revision_is_reported_and_dropped(version: str) -> None:
    peer = modern() if version == "2026-07-28" else legacy(version=version)
    peer.client.request("x/ask", None, peer.now)
    wire_id = peer.last()["id"]
    batch(peer, {"id": wire_id, "result": {}})
    assert kinds(peer.events()) == ["batch"]
    assert peer.sent() == []


def test_the_handshake_is_never_part_of_a_batch() -> None:
    peer = Peer(versions=("2025-03-26",))
    wire_id = peer.last()["id"]
    batch(peer, {"id": wire_id, "result": {"protocolVersion": "2025-03-26", "capabilities": {}}})
    assert kinds(peer.events()) == ["batch"]
    assert peer.client.era is None


# --- layers -----------------------------------------------------------------------------------------


def test_layers_hear_in_their_order() -> None:
    order: list[str] = []

    class Named(ClientLayer):
        def __init__(self, name: str) -> None:
            self.name = name

        def bind(self, client: Client) -> None:
            super().bind(client)
            order.append(f"{self.name} bound")

        def finished(self, reason: str, now: float) -> None:
            order.append(f"{self.name} finished")

    client = Client(ClientConfig(info=CLIENT), Named("first"), Named("second"))
    client.close(0.0)
    assert order == ["first bound", "second bound", "first finished", "second finished"]


def test_a_layer_needs_to_do_nothing() -> None:
    class Bare(ClientLayer):
        announcements: Mapping[str, str] = {CHANGED: TOPIC}

        def filter(self, capabilities: Any) -> Any:
            return {**super().filter(capabilities), TOPIC: True}

    layer = Bare()
    peer = modern(layer, ClientLayer())
    [listen] = peer.ids("subscriptions/listen")
    method = "notifications/subscriptions/acknowledged"
    peer.notify(method, {"_meta": {TAG: listen}, "notifications": {TOPIC: True}})
    peer.notify(CHANGED, {"_meta": {TAG: listen}})
    assert peer.events() == [ChannelChanged(TOPIC, live=True, reason="acknowledged")]
    peer.client.request("x/ask", None, peer.now, layer=layer)
    peer.reply(peer.last()["id"], {})
    peer.wire.receive_eof(peer.now, "gone")
    peer.client.close(peer.now)
    assert kinds(peer.events()) == ["Disconnected", "ChannelChanged"]


def test_a_layer_of_a_server_needs_to_say_only_what_it_has() -> None:
    class Silent(ServerLayer):
        methods = ("x/ask",)
        topics: Mapping[str, str] = {TOPIC: CHANGED}

    layer = Silent()
    server = Server(ServerConfig(info=SERVER), layer)
    assert layer.server is server
    peer = modern()
    call = peer.client.request("x/ask", None, peer.now)
    wire = LineWire(server.open(), peer.now)
    wire.receive_data(b"".join(peer.wire.data_to_send()), peer.now)
    assert server.capabilities("2026-07-28") == {}
    assert server.announced_topics("2026-07-28") == (TOPIC,)
    assert wire.data_to_send() == []  # the layer has been asked, and does not answer
    assert server.next_event() is None
    assert call.number == 2


# --- a real server ----------------------------------------------------------------------------------


@pytest.mark.parametrize("versions", [("2026-07-28",), ("2024-11-05",), ("2025-03-26",), ("2025-11-25",)])
def test_any_method_passes_through_to_a_server_and_back(versions: tuple[str, ...]) -> None:
    server = Server(ServerConfig(info=SERVER, methods=("x/ask",), versions=versions))
    client = Client(ClientConfig(info=CLIENT))
    left, right = LineWire(client, 0.0), LineWire(server.open(), 0.0)
    call = client.request("x/ask", {"q": "é\u2028"}, 0.0)
    events: list[Event] = []
    for _ in range(6):
        right.receive_data(b"".join(left.data_to_send()), 0.0)
        while (event := server.next_event()) is not None:
            if isinstance(event, RequestReceived):
                server.respond(event.request, {"a": event.params["q"]}, 0.0)
        left.receive_data(b"".join(right.data_to_send()), 0.0)
    while (event := client.next_event()) is not None:
        events.append(event)
    negotiated, succeeded = events
    assert isinstance(negotiated, Negotiated)
    assert negotiated.version == versions[0]
    assert isinstance(succeeded, CallSucceeded)
    assert (succeeded.call, succeeded.result["a"]) == (call, "é\u2028")


def test_an_unknown_method_is_the_failure_of_that_call_only() -> None:
    peer = modern()
    call = peer.client.request("completion/complete", None, peer.now)
    peer.error(peer.last()["id"], -32601)
    assert peer.events() == [CallFailed(call, RpcError(-32601, "no"))]
    assert not peer.client.done
