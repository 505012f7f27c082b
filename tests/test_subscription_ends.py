"""The notification channel of a client when it ends: opened again with backoff, or not at all."""

from __future__ import annotations

import pytest
from channel import ACK, Listening, live, opening
from clients import (
    CHANGED,
    LEGACY,
    TAG,
    TOPIC,
    Peer,
    Topics,
    kinds,
    legacy,
    modern,
)

from mcp_sansio import ChannelChanged, Diagnostic

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
