"""The carriers of a client: one byte channel after the other, an exchange for each request, and its end."""

from __future__ import annotations

import json

import pytest
from carriers import exchanging
from clients import (
    ELICIT,
    TAG,
    Peer,
    Topics,
    modern,
    wanted,
    welcome,
)
from pair import CLIENT

from mcp_sansio import (
    Abandon,
    Call,
    CallFailed,
    CallId,
    CallSucceeded,
    Cancelled,
    Client,
    ClientConfig,
    ClientLayer,
    Closed,
    Disconnected,
    Limits,
    LocalProtocolError,
    Lost,
    Notification,
    Outcome,
    Send,
    WireFailed,
)

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
