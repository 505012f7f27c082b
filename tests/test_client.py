"""The client endpoint: verbs, results, batches, carriers that come and go, and its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from clients import (
    CHANGED,
    ELICIT,
    MODERN,
    TAG,
    TOPIC,
    Peer,
    Topics,
    discovered,
    kinds,
    legacy,
    modern,
    wanted,
    welcome,
)
from pair import CLIENT, SERVER

from mcp_sansio import (
    Abandon,
    Call,
    CallFailed,
    CallId,
    CallSucceeded,
    Cancelled,
    Carrier,
    ChannelChanged,
    Client,
    ClientConfig,
    ClientLayer,
    Closed,
    Disconnected,
    Event,
    InvalidReply,
    Limits,
    LineWire,
    LocalProtocolError,
    Lost,
    Negotiated,
    Notification,
    NotificationReceived,
    Outcome,
    RequestReceived,
    Response,
    RpcError,
    Send,
    Server,
    ServerConfig,
    ServerLayer,
    WireFailed,
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


# --- carriers that come and go ----------------------------------------------------------------------


@pytest.mark.parametrize("lose", ["eof", "abort", "close"])
def test_what_had_left_is_lost_and_what_had_not_waits(lose: str) -> None:
    peer = modern(capabilities={"elicitation": {}})
    sent = peer.client.request("x/sent", None, peer.now)
    asked = peer.client.request("tools/call", {"name": "t"}, peer.now)
    wire_id = peer.last()["id"]
    peer.reply(wire_id, wanted("s", key=ELICIT))
    peer.events()
    if lose == "eof":
        waiting = peer.client.request("x/waiting", None, peer.now)
        peer.wire.receive_eof(peer.now, "gone")
    elif lose == "abort":
        waiting = peer.client.request("x/waiting", None, peer.now)
        peer.wire.abort(peer.now, "gone")
    else:
        peer.wire.close(peer.now)
        waiting = peer.client.request("x/waiting", None, peer.now)
    reason = "closed" if lose == "close" else "gone"
    failed = [WireFailed(peer.wire, reason)] if lose == "abort" else []
    assert peer.events() == [*failed, Disconnected(reason), CallFailed(sent, Lost(reason))]
    assert peer.sent() == []
    peer.client.provide_input(asked, {"key": {"n": 1}}, peer.now)  # nobody has to be connected for that
    peer.reconnect()
    peer.say_modern()
    first, second = peer.sent()
    assert first["method"] == "x/waiting"
    assert second["params"]["requestState"] == "s"
    peer.reply(first["id"], {})
    peer.reply(second["id"], {})
    assert peer.of(CallSucceeded) == [CallSucceeded(waiting, {}), CallSucceeded(asked, {})]


def test_the_next_carrier_hears_nothing_of_the_last_one() -> None:
    peer = modern()
    sent = peer.client.request("x/sent", None, peer.now)
    cancelled = peer.client.request("x/cancelled", None, peer.now)
    peer.sent()
    peer.client.cancel(cancelled, peer.now)
    peer.client.notify("notifications/x", None, peer.now)
    unsent = peer.client.request("x/unsent", None, peer.now)
    peer.client.cancel(unsent, peer.now)
    peer.wire.receive_eof(peer.now, "gone")
    peer.client.cancel(sent, peer.now)
    peer.reconnect()
    peer.say_modern()
    assert [message["method"] for message in peer.sent()] == []
    assert [message["method"] for message in peer.log].count("server/discover") == 2


def test_a_handshake_that_was_not_finished_on_the_wire_begins_anew() -> None:
    peer = Peer(versions=("2025-11-25",))
    peer.reply(peer.last()["id"], welcome())
    assert peer.client.version == "2025-11-25"
    peer.wire.receive_eof(peer.now, "gone")  # before `notifications/initialized` has left
    peer.reconnect()
    assert [message["method"] for message in peer.sent()] == ["initialize"]


class GivesUp(ClientLayer):
    """A layer that cancels its call when the carrier is lost, and asks again when it hears of the end."""

    call: CallId
    again = 0

    def ask(self, now: float) -> None:
        self.call = self.client.request("x/ask", None, now, layer=self)

    def closed(self, reason: str, now: float) -> None:
        self.client.cancel(self.call, now)

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        if isinstance(outcome, Cancelled | Lost):
            self.again += 1
            self.ask(now)


def test_a_layer_may_give_up_and_ask_again_while_the_carrier_is_lost() -> None:
    layer = GivesUp()
    peer = modern(layer)
    layer.ask(peer.now)
    old = peer.last()["id"]
    peer.wire.receive_eof(peer.now, "gone")
    assert layer.again == 1
    peer.reconnect()
    peer.say_modern()
    [message] = peer.sent()
    assert (message["method"], message["id"] > old) == ("x/ask", True)


def test_a_client_that_nobody_carries_has_nothing_to_lose() -> None:
    client = Client(ClientConfig(info=CLIENT))
    client.detach("gone", 0.0)
    client.fail("broken", 0.0)
    assert client.next_event() is None
    client.close(0.0)
    client.close(0.0)
    assert client.done
    assert client.next_event() is None


# --- carriers with an exchange for each request -----------------------------------------------------


class Exchanges:
    """What carries each request in an exchange of its own; only its name is needed here."""

    token: Any = None
    closed = False
    want_read = True

    def receive_data(self, data: bytes, now: float) -> None:
        raise NotImplementedError

    def receive_eof(self, now: float, reason: str = "") -> None:
        raise NotImplementedError

    def data_to_send(self) -> list[bytes]:
        raise NotImplementedError

    def close(self, now: float) -> None:
        raise NotImplementedError

    def abort(self, now: float, reason: str = "") -> None:
        raise NotImplementedError


def exchanging(*layers: ClientLayer, era: str = "modern") -> tuple[Client, Carrier]:
    """A client on a carrier that is not shared, its era known; the server declares one topic."""
    client = Client(ClientConfig(info=CLIENT), *layers)
    carrier = Carrier(Exchanges(), shared=False)
    client.attach(carrier, 0.0)
    probe = client.next_outgoing()
    assert isinstance(probe, Send)
    assert probe.id == 1
    if era == "modern":
        client.receive(Response(1, json.dumps(discovered((MODERN,), **{TOPIC: True})).encode()), 0.0)
    else:
        client.receive(Response(1, b"{}"), 0.0)
        assert isinstance(client.next_outgoing(), Send)
        client.receive(Response(2, b'{"protocolVersion":"2025-11-25","capabilities":{}}'), 0.0)
        assert isinstance(client.next_outgoing(), Send)
    return client, carrier


def test_a_cancelled_exchange_is_abandoned() -> None:
    client, carrier = exchanging()
    assert client.next_ready() is carrier.wire
    call = client.request("x/ask", None, 0.0)
    sent = client.next_outgoing()
    assert isinstance(sent, Send)
    assert (sent.method, sent.id) == ("x/ask", 2)
    client.cancel(call, 0.0)
    assert client.next_outgoing() == Abandon(2)
    assert client.next_outgoing() is None


def test_an_exchange_that_timed_out_is_abandoned() -> None:
    client, _ = exchanging()
    client.request("x/ask", None, 0.0, limits=Limits(1.0))
    client.next_outgoing()
    client.handle_timeout(1.0)
    assert client.next_outgoing() == Abandon(2)


def test_a_stream_that_announces_nothing_is_abandoned() -> None:
    client, _ = exchanging(Topics())
    listen = client.next_outgoing()
    assert isinstance(listen, Send)
    assert listen.method == "subscriptions/listen"
    params = {"_meta": {TAG: 2}, "notifications": {}}
    method = "notifications/subscriptions/acknowledged"
    client.receive(Notification(method, json.dumps(params).encode()), 0.0)
    assert client.next_outgoing() == Abandon(2)


def test_a_legacy_server_is_told_on_any_carrier() -> None:
    """Legacy HTTP: "Disconnection SHOULD NOT be interpreted as the client cancelling its request"."""
    client, _ = exchanging(era="legacy")
    call = client.request("x/ask", None, 0.0)
    client.next_outgoing()
    client.cancel(call, 0.0)
    told = client.next_outgoing()
    assert isinstance(told, Send)
    assert told.method == "notifications/cancelled"


# --- the end ----------------------------------------------------------------------------------------


def test_closing_ends_every_call_once_and_tells_the_wire() -> None:
    peer = modern(capabilities={"elicitation": {}})
    sent = peer.client.request("x/sent", None, peer.now)
    asked = peer.client.request("tools/call", None, peer.now)
    peer.reply(peer.last()["id"], wanted(key=ELICIT))
    peer.events()
    queued = peer.client.request("x/queued", None, peer.now)
    peer.client.close(peer.now, "enough")
    assert peer.events() == [CallFailed(call, Closed("enough")) for call in (sent, asked, queued)]
    assert peer.client.next_ready() is peer.wire
    assert peer.sent() == []
    assert peer.wire.closed
    assert peer.client.next_timeout() is None
    peer.client.close(peer.now, "again")
    peer.client.detach("gone", peer.now)
    peer.client.fail("broken", peer.now)
    peer.client.handle_timeout(1e9)
    assert peer.events() == []


def test_closing_lets_out_what_asks_for_no_reply() -> None:
    peer = modern()
    call = peer.client.request("x/ask", None, peer.now)
    peer.sent()
    peer.client.cancel(call, peer.now)
    peer.client.request("x/never", None, peer.now)
    peer.client.notify("notifications/last", None, peer.now)
    peer.client.close(peer.now)
    assert [message["method"] for message in peer.sent()] == ["notifications/cancelled", "notifications/last"]
    assert peer.wire.closed


def test_closing_before_the_era_is_known_lets_nothing_out() -> None:
    peer = Peer()
    peer.client.notify("notifications/x", None, peer.now)
    peer.client.close(peer.now)
    assert peer.sent() == []
    assert peer.wire.closed


def test_a_closed_client_refuses_every_verb() -> None:
    peer = modern()
    peer.client.close(peer.now)
    with pytest.raises(LocalProtocolError):
        peer.client.request("x", None, peer.now)
    with pytest.raises(LocalProtocolError):
        peer.client.notify("x", None, peer.now)
    with pytest.raises(LocalProtocolError):
        peer.client.provide_input(CallId(1), {}, peer.now)
    with pytest.raises(LocalProtocolError):
        peer.reconnect()
    peer.client.cancel(CallId(1), peer.now)
    assert peer.events() == []


def test_nothing_can_be_asked_by_a_layer_that_hears_of_the_end() -> None:
    class Insists(ClientLayer):
        refused = False

        def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
            try:
                self.client.request("x/again", None, now, layer=self)
            except LocalProtocolError:
                self.refused = True

    layer = Insists()
    peer = modern(layer)
    peer.client.request("x/ask", None, peer.now, layer=layer)
    peer.client.close(peer.now)
    assert layer.refused
    assert peer.sent() == []


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
