"""The notification channel of a client: opened first, believed with care, opened again when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from clients import (
    CHANGED,
    LEGACY,
    MODERN,
    OTHER,
    OTHER_TOPIC,
    TAG,
    TOPIC,
    Peer,
    Topics,
    kinds,
    legacy,
    modern,
)

from mcp_sansio import ChannelChanged, Diagnostic, NotificationReceived

ACK = "notifications/subscriptions/acknowledged"
BOTH = {TOPIC: True, OTHER_TOPIC: True}


class Listening(Peer):
    """A client that listens, with the layer that hears it."""

    def __init__(self, **config: Any) -> None:
        self.topics = Topics()
        super().__init__(self.topics, **config)

    @property
    def listen(self) -> int:
        """The id of the newest listen request that has left."""
        wire_id = self.ids("subscriptions/listen")[-1]
        assert type(wire_id) is int
        return wire_id

    def acknowledge(self, wire_id: Any = None, **topics: Any) -> None:
        tag = self.listen if wire_id is None else wire_id
        self.notify(ACK, {"_meta": {TAG: tag}, "notifications": topics or {TOPIC: True}})

    def change(self, tag: Any, method: str = CHANGED) -> None:
        self.notify(method, {"_meta": {TAG: tag}})


def opening(offers: dict[str, Any] | None = None, **config: Any) -> Listening:
    """A client that has just sent its listen request."""
    peer = Listening(**config)
    peer.say_modern(**({TOPIC: True} if offers is None else offers))
    peer.sent()
    peer.events()
    peer.topics.lately()
    return peer


def live(offers: dict[str, Any] | None = None, **config: Any) -> Listening:
    """A client whose listen request is acknowledged."""
    peer = opening(offers, **config)
    peer.acknowledge(**(offers or {}))
    peer.events()
    peer.topics.lately()
    return peer


# --- opening ----------------------------------------------------------------------------------------


def test_listening_comes_before_everything_else() -> None:
    peer = Listening()
    peer.client.request("x/ask", None, 0.0)
    peer.sent()
    peer.say_modern(**BOTH)
    first, second = peer.sent()
    assert (first["method"], second["method"]) == ("subscriptions/listen", "x/ask")
    assert first["params"]["notifications"] == {TOPIC: True, OTHER_TOPIC: True}
    assert first["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN
    assert peer.client.channel(TOPIC) is None
    assert peer.topics.lately() == [("opened",)]


def test_an_acknowledgement_opens_the_channel() -> None:
    peer = opening(BOTH)
    peer.acknowledge(**BOTH)
    assert peer.events() == [
        ChannelChanged(TOPIC, live=True, reason="acknowledged"),
        ChannelChanged(OTHER_TOPIC, live=True, reason="acknowledged"),
    ]
    assert peer.topics.lately() == [("channel", TOPIC, True), ("channel", OTHER_TOPIC, True)]
    assert peer.client.channel(TOPIC) is True
    assert peer.client.channel("else") is False
    assert peer.client.next_timeout() is None  # only the acknowledgement has a timeout
    peer.wait(1e6)
    assert peer.client.channel(TOPIC) is True


def test_nothing_is_asked_of_a_server_that_declares_nothing() -> None:
    peer = opening({})
    assert peer.ids("subscriptions/listen") == []
    assert peer.client.channel(TOPIC) is False
    assert peer.client.next_timeout() is None


def test_part_of_the_filter_may_be_honoured() -> None:
    peer = opening(BOTH)
    peer.acknowledge(**{OTHER_TOPIC: True, TOPIC: False, "more": True})
    assert peer.events() == [ChannelChanged(OTHER_TOPIC, live=True, reason="acknowledged")]
    assert peer.topics.lately() == [("channel", TOPIC, False), ("channel", OTHER_TOPIC, True)]
    assert peer.client.channel(TOPIC) is False


@pytest.mark.parametrize("honoured", [{}, None, [TOPIC], "all", {TOPIC: False}, {TOPIC: None}])
def test_an_acknowledgement_of_nothing_ends_the_stream_for_good(honoured: Any) -> None:
    peer = opening()
    peer.notify(ACK, {"_meta": {TAG: peer.listen}, "notifications": honoured})
    [message] = peer.sent()
    assert message["method"] == "notifications/cancelled"
    assert message["params"] == {"requestId": peer.listen}
    assert kinds(peer.events()) == ["no-channel"]
    assert peer.topics.lately() == [("channel", TOPIC, False)]
    assert peer.client.channel(TOPIC) is False
    peer.wait(1e6)
    assert peer.sent() == []


def test_a_second_acknowledgement_is_one_of_nothing() -> None:
    peer = live()
    peer.acknowledge(**BOTH)
    assert kinds(peer.events()) == ["unknown-acknowledgement"]
    assert peer.client.channel(OTHER_TOPIC) is False


@pytest.mark.parametrize("tag", ["text", 99, True, None, [2]])
def test_ids_of_acknowledgements_match_by_type_and_value(tag: Any) -> None:
    peer = opening()
    tag = str(peer.listen) if tag == "text" else tag
    peer.notify(ACK, {"_meta": {TAG: tag}, "notifications": {TOPIC: True}})
    assert kinds(peer.events()) == ["unknown-acknowledgement"]
    assert peer.client.channel(TOPIC) is None
    peer.change(tag if tag is not None else 99)
    assert kinds(peer.events()) == ["foreign-subscription"]
    assert peer.topics.lately() == []
    peer.wait(10.0)
    assert kinds(peer.events()) == ["no-acknowledgement"]


def test_what_has_not_left_is_not_acknowledged() -> None:
    peer = Listening()
    peer.say_modern(**{TOPIC: True})
    peer.notify(ACK, {"_meta": {TAG: 2}, "notifications": {TOPIC: True}})
    peer.notify("notifications/cancelled", {"requestId": 2})
    assert kinds(peer.events()) == ["Negotiated", "unknown-acknowledgement"]
    assert peer.listen == 2
    peer.acknowledge()
    assert peer.client.channel(TOPIC) is True


# --- no acknowledgement -----------------------------------------------------------------------------


def test_without_an_acknowledgement_in_time_things_go_on_without_a_channel() -> None:
    peer = opening()
    assert peer.client.next_timeout() == 10.0
    peer.wait(10.0)
    assert kinds(peer.events()) == ["no-acknowledgement"]
    assert peer.topics.lately() == [("channel", TOPIC, False)]
    assert peer.client.channel(TOPIC) is False
    assert peer.sent() == []  # the stream is not given up


def test_a_late_acknowledgement_opens_the_channel_after_all() -> None:
    peer = opening(ack_timeout=1.0)
    peer.wait(5.0)
    peer.events()
    peer.topics.lately()
    peer.acknowledge()
    assert peer.events() == [ChannelChanged(TOPIC, live=True, reason="acknowledged")]
    assert peer.topics.lately() == [("channel", TOPIC, True)]


def test_a_late_acknowledgement_of_nothing_ends_the_stream() -> None:
    peer = opening()
    peer.wait(10.0)
    peer.acknowledge(**{TOPIC: False})
    assert kinds(peer.events()) == ["no-acknowledgement", "no-channel"]
    assert [message["method"] for message in peer.sent()] == ["notifications/cancelled"]


@pytest.mark.parametrize("late", [False, True])
def test_a_server_that_does_not_know_the_method_is_asked_once(late: bool) -> None:
    peer = opening()
    if late:
        peer.wait(10.0)
        peer.events()
        peer.topics.lately()
    peer.error(peer.listen, -32601)
    assert kinds(peer.events()) == ["no-channel"]
    assert peer.topics.lately() == [("channel", TOPIC, False)]
    peer.wait(1e6)
    assert peer.sent() == []
    assert peer.client.next_timeout() is None


def test_what_one_connection_refused_the_next_is_asked_again() -> None:
    peer = opening()
    peer.error(peer.listen, -32601)
    peer.wire.receive_eof(peer.now)
    peer.reconnect()
    peer.say_modern(**{TOPIC: True})
    assert len(peer.ids("subscriptions/listen")) == 2


# --- notifications ----------------------------------------------------------------------------------


def test_a_tagged_notification_is_heard_by_its_layer_alone() -> None:
    peer = live(BOTH)
    peer.change(peer.listen)
    peer.change(peer.listen, OTHER)
    assert peer.topics.lately() == [("announced", TOPIC), ("announced", OTHER_TOPIC)]
    assert peer.events() == []


class Else(Topics):
    """A layer with a topic of its own."""

    announcements: Mapping[str, str] = {"notifications/z": "z"}

    def filter(self, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"z": ["a", "b"]}


def test_each_layer_hears_of_its_own_topics_only() -> None:
    first, second = Topics(), Else()
    peer = modern(first, second, offers={TOPIC: True})
    [wire_id] = peer.ids("subscriptions/listen")
    assert peer.log[-1]["params"]["notifications"] == {TOPIC: True, "z": ["a", "b"]}
    peer.notify(ACK, {"_meta": {TAG: wire_id}, "notifications": {TOPIC: True, "z": ["a"]}})
    peer.notify("notifications/z", {"_meta": {TAG: wire_id}})
    assert first.lately() == [("opened",), ("channel", TOPIC, True)]
    assert second.lately() == [("opened",), ("channel", "z", True), ("announced", "z")]


def test_an_untagged_notification_counts_and_is_reported() -> None:
    peer = live()
    untagged: tuple[Any, ...] = (None, {}, {"_meta": {}}, {"_meta": None}, {"_meta": {TAG: None}})
    for params in untagged:
        peer.notify(CHANGED, params)
    assert peer.topics.lately() == [("announced", TOPIC)] * 5
    assert kinds(peer.events()) == ["untagged"] * 5


def test_a_notification_of_another_subscription_means_nothing() -> None:
    peer = live()
    peer.change(99)
    peer.change(str(peer.listen))
    assert peer.topics.lately() == []
    assert kinds(peer.events()) == ["foreign-subscription"] * 2


def test_a_notification_before_the_acknowledgement_counts_and_is_reported() -> None:
    peer = opening()
    peer.change(peer.listen)
    assert peer.topics.lately() == [("announced", TOPIC)]
    assert kinds(peer.events()) == ["before-acknowledgement"]


def test_a_notification_that_was_not_honoured_means_nothing() -> None:
    peer = live()
    peer.change(peer.listen, OTHER)
    assert peer.topics.lately() == []
    assert peer.events() == [Diagnostic("not-asked-for", f"{OTHER}: not asked for")]


def test_other_notifications_are_the_applications() -> None:
    peer = live()
    peer.notify("notifications/message", {"level": "info"})
    assert peer.events() == [NotificationReceived("notifications/message", {"level": "info"})]


# --- the end of a stream ----------------------------------------------------------------------------


def end(peer: Listening, how: str) -> None:
    if how == "result":
        peer.reply(peer.listen, {"resultType": "complete", "_meta": {TAG: peer.listen}})
    elif how == "cancelled":
        peer.notify("notifications/cancelled", {"requestId": peer.listen})
    elif how == "both":
        wire_id = peer.listen
        peer.reply(wire_id, {"resultType": "complete", "_meta": {TAG: wire_id}})
        peer.notify("notifications/cancelled", {"requestId": wire_id})
    else:
        peer.error(peer.listen, -32603)


@pytest.mark.parametrize("how", ["result", "cancelled", "both", "error"])
def test_a_stream_that_ends_is_opened_again_after_a_while(how: str) -> None:
    peer = live()
    old = peer.listen
    end(peer, how)
    assert peer.events() == [ChannelChanged(TOPIC, live=False, reason="the stream ended")]
    assert peer.topics.lately() == [("channel", TOPIC, False)]
    assert peer.client.channel(TOPIC) is False
    assert peer.client.next_timeout() == peer.now + 0.25
    assert peer.sent() == []
    peer.wait(0.25)
    assert peer.listen != old
    assert peer.client.channel(TOPIC) is None
    peer.change(old)
    assert kinds(peer.events()) == ["foreign-subscription"]
    peer.acknowledge()
    assert peer.client.channel(TOPIC) is True


@pytest.mark.parametrize("late", [False, True])
def test_a_stream_that_ends_before_its_acknowledgement_is_opened_again(late: bool) -> None:
    peer = opening()
    if late:
        peer.wait(10.0)
    peer.topics.lately()
    end(peer, "error")
    assert peer.topics.lately() == [("channel", TOPIC, False)]
    peer.wait(0.25)
    assert len(peer.ids("subscriptions/listen")) == 2


def test_the_method_going_away_under_a_live_stream_is_an_end_like_another() -> None:
    peer = live()
    peer.error(peer.listen, -32601)
    peer.wait(0.25)
    assert len(peer.ids("subscriptions/listen")) == 2


def test_waiting_doubles_up_to_a_limit() -> None:
    peer = opening(backoff=1.0, backoff_max=5.0)
    waits: list[float] = []
    for _ in range(6):
        end(peer, "error")
        due = peer.client.next_timeout()
        assert due is not None
        waits.append(due - peer.now)
        peer.wait(due - peer.now)
    assert waits == [1.0, 2.0, 4.0, 5.0, 5.0, 5.0]


def test_jitter_shortens_the_wait_by_half_at_most() -> None:
    peer = live(jitter=lambda: 0.0)
    end(peer, "result")
    assert peer.client.next_timeout() == peer.now + 0.125


def test_a_stream_that_lasted_is_forgiven() -> None:
    peer = live(backoff=1.0, backoff_max=5.0)
    for lasted, wait in ((0.0, 1.0), (4.9, 2.0), (5.0, 1.0), (0.0, 2.0)):
        peer.wait(lasted)
        end(peer, "result")
        assert peer.client.next_timeout() == peer.now + wait
        peer.wait(wait)
        peer.acknowledge()


def test_only_our_own_stream_is_ended_by_a_cancellation() -> None:
    peer = live()
    call = peer.client.request("x/ask", None, peer.now)
    wire_id = peer.last()["id"]
    for wrong in (99, str(peer.listen), None, True, [peer.listen], wire_id):
        peer.notify("notifications/cancelled", {"requestId": wrong})
    assert peer.events() == []
    assert peer.client.channel(TOPIC) is True
    assert call.number == 3


# --- losing and closing -----------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["opening", "late", "live", "waiting", "refused", "cancelled"])
def test_the_channel_goes_with_its_carrier_and_comes_again(state: str) -> None:
    peer = live() if state in ("live", "waiting") else opening()
    if state == "late":
        peer.wait(10.0)
    elif state == "waiting":
        end(peer, "result")
    elif state == "refused":
        peer.error(peer.listen, -32601)
    elif state == "cancelled":
        peer.acknowledge(**{TOPIC: False})
    peer.events()
    peer.topics.lately()
    peer.wire.receive_eof(peer.now, "gone")
    told = [("channel", TOPIC, False)] if state == "live" else []
    assert peer.topics.lately() == [("closed", "gone"), *told]
    assert len(peer.of(ChannelChanged)) == len(told)
    assert peer.client.channel(TOPIC) is False
    assert peer.client.next_timeout() is None
    before = len(peer.ids("subscriptions/listen"))
    peer.reconnect()
    peer.say_modern(**{TOPIC: True})
    assert len(peer.ids("subscriptions/listen")) == before + 1
    peer.acknowledge()
    assert peer.client.channel(TOPIC) is True


def test_closing_ends_the_channel() -> None:
    peer = live()
    peer.client.close(peer.now, "enough")
    assert peer.events() == [ChannelChanged(TOPIC, live=False, reason="disconnected")]
    assert peer.topics.lately() == [("finished", "enough"), ("channel", TOPIC, False)]
    assert peer.client.channel(TOPIC) is False


def test_closing_while_a_stream_waits_leaves_no_timer() -> None:
    peer = live()
    end(peer, "result")
    peer.client.close(peer.now)
    assert peer.client.next_timeout() is None


# --- the legacy era ---------------------------------------------------------------------------------


def test_a_legacy_session_announces_what_it_declared() -> None:
    topics = Topics()
    peer = Peer(topics)
    peer.say_legacy(LEGACY, **{TOPIC: True})
    assert peer.ids("subscriptions/listen") == []
    assert peer.of(ChannelChanged) == [
        ChannelChanged(TOPIC, live=True, reason="the session announces changes")
    ]
    assert topics.lately() == [("channel", TOPIC, True), ("opened",)]
    peer.notify(CHANGED)
    peer.notify(CHANGED, {"_meta": {}})
    assert topics.lately() == [("announced", TOPIC)] * 2
    assert peer.events() == []
    peer.wire.receive_eof(peer.now, "gone")
    assert topics.lately() == [("closed", "gone"), ("channel", TOPIC, False)]


def test_what_was_not_declared_is_ignored_with_a_remark() -> None:
    topics = Topics()
    peer = legacy(topics)
    assert topics.lately() == [("opened",)]
    assert peer.client.channel(TOPIC) is False
    peer.notify(CHANGED)
    assert topics.lately() == []
    assert peer.events() == [Diagnostic("not-negotiated", f"{CHANGED}: not negotiated")]
    assert peer.sent() == []


def test_what_was_not_declared_may_be_configured_to_count() -> None:
    topics = Topics()
    peer = legacy(topics, unnegotiated="invalidate")
    topics.lately()
    peer.notify(CHANGED)
    assert topics.lately() == [("announced", TOPIC)]
    assert kinds(peer.events()) == ["not-negotiated"]


def test_an_acknowledgement_in_the_legacy_era_is_one_of_nothing() -> None:
    peer = legacy(Topics())
    peer.notify(ACK, {"_meta": {TAG: 1}, "notifications": {TOPIC: True}})
    assert kinds(peer.events()) == ["unknown-acknowledgement"]


def test_a_change_announced_before_the_era_is_known_is_not_negotiated() -> None:
    topics = Topics()
    peer = Peer(topics)
    peer.notify(CHANGED)
    assert kinds(peer.events()) == ["not-negotiated"]
    assert topics.lately() == []


def test_without_topics_there_is_no_channel() -> None:
    peer = modern(offers={TOPIC: True})
    assert peer.ids("subscriptions/listen") == []
