"""The notification channel of a client: opened first, believed with care."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from channel import ACK, Listening, live, opening
from clients import (
    CHANGED,
    MODERN,
    OTHER,
    OTHER_TOPIC,
    TAG,
    TOPIC,
    Topics,
    kinds,
    modern,
)

from mcp_sansio import ChannelChanged, Diagnostic, NotificationReceived

BOTH = {TOPIC: True, OTHER_TOPIC: True}


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


@pytest.mark.parametrize("ends", ["cancelled", "result"])
def test_an_announcement_that_is_known_again_is_judged_anew_once_the_channel_has_changed(ends: str) -> None:
    peer = live()
    tag = peer.listen
    for _ in range(3):
        peer.change(tag)
    assert peer.topics.lately() == [("announced", TOPIC)] * 3
    assert peer.events() == []
    if ends == "cancelled":
        peer.notify("notifications/cancelled", {"requestId": tag})
    else:
        peer.reply(tag, {"resultType": "complete"})
    assert peer.topics.lately() == [("channel", TOPIC, False)]
    peer.events()
    for _ in range(2):
        peer.change(tag)
    assert peer.topics.lately() == []
    assert kinds(peer.events()) == ["foreign-subscription"] * 2


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
