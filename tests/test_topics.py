"""Announcing changes: who is told, when, how often, and what it costs when nothing happens."""

from __future__ import annotations

import itertools
import json
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair import prompt
from serving import ACKNOWLEDGED, EVERY, LEGACY, LIST_CHANGED, SUBSCRIPTION, TOPIC, Peer, envelope, spoken

from mcp_sansio import (
    Carrier,
    LineWire,
    LocalProtocolError,
    Request,
    Send,
    SubscriptionEnded,
    SubscriptionOpened,
)

LISTEN = Request(
    "l",
    "subscriptions/listen",
    json.dumps({"notifications": {TOPIC: True}, "_meta": envelope()}).encode(),
)


def listening(id: Any = "l", **config: Any) -> Peer:
    peer = Peer(**config)
    peer.listen(id)
    peer.events()
    return peer


def session(version: str = "2025-11-25", **config: Any) -> Peer:
    peer = Peer(**config)
    peer.initialize(version)
    peer.events()
    return peer


# --- who is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_session_gets_the_bare_notification(version: str) -> None:
    peer = session(version)
    peer.edit("new")
    assert peer.sent() == [{"jsonrpc": "2.0", "method": LIST_CHANGED}]


def test_all_legacy_sessions_share_the_bytes() -> None:
    peer = session()
    other = peer.another()
    other.initialize("2024-11-05")
    other.sent()
    peer.edit("new")
    (mine, _), (theirs, _) = peer.wire.data_to_send(), other.wire.data_to_send()
    assert mine is theirs


def test_all_subscriptions_of_one_id_share_the_bytes() -> None:
    peer = listening(7)
    other = peer.another()
    other.listen(7)
    other.sent()
    peer.sent()
    peer.edit("new")
    (mine, _), (theirs, _) = peer.wire.data_to_send(), other.wire.data_to_send()
    assert mine is theirs


@pytest.mark.parametrize("id", [1, "1", 2**53 + 1, "", "é", "long" * 100])
def test_a_subscription_gets_a_tagged_one(id: Any) -> None:
    """The tag is the id of the listen request, as the type that it has."""
    peer = listening(id)
    peer.edit("new")
    params = {"_meta": {SUBSCRIPTION: id}}
    assert peer.sent() == [{"jsonrpc": "2.0", "method": LIST_CHANGED, "params": params}]


def test_every_subscription_and_the_session_of_one_channel_get_one_each() -> None:
    peer = session()
    peer.listen("a")
    peer.listen("b")
    peer.edit("new")
    tags = [message.get("params", {}).get("_meta", {}).get(SUBSCRIPTION) for message in peer.sent()]
    assert tags == [None, "a", "b"]


def test_changes_come_from_any_place_at_any_time() -> None:
    """No request needs to be open."""
    peer = session()
    peer.now = 1000.0
    peer.server.changed(TOPIC, peer.now)
    assert spoken(peer.sent()) == [LIST_CHANGED]


@pytest.mark.parametrize("version", EVERY)
def test_what_is_not_declared_is_not_sent(version: str) -> None:
    peer = Peer(serving={"list_changed": False})
    peer.speak(version)
    if version in LEGACY:
        peer.edit("new")
    else:
        acknowledged, *_ = peer.listen("l")
        assert acknowledged["params"]["notifications"] == {}
        peer.edit("new")
        peer.use(1, "prompts/list")
    peer.wait(5)
    assert peer.sent() == []


def test_an_unknown_topic_is_a_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="toolsListChanged"):
        Peer().server.changed("toolsListChanged", 0.0)


# --- the acknowledgement ----------------------------------------------------------------------------


def test_the_acknowledgement_comes_first_whatever_happens() -> None:
    peer = Peer()
    peer.say_modern("l", "subscriptions/listen", {"notifications": {TOPIC: True}})
    peer.edit("new")
    assert spoken(peer.sent()) == [ACKNOWLEDGED, LIST_CHANGED]


@pytest.mark.parametrize(
    ("wanted", "agreed"),
    [
        ({TOPIC: True}, {TOPIC: True}),
        ({}, {}),
        ({TOPIC: False}, {}),
        ({TOPIC: None}, {}),
        ({"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}, {}),
        ({"toolsListChanged": True, TOPIC: True, "x": 5}, {TOPIC: True}),
    ],
)
def test_the_acknowledgement_says_what_was_agreed(wanted: dict[str, Any], agreed: dict[str, Any]) -> None:
    """The official Python SDK agrees to whatever was asked for, whether it is ever sent or not."""
    peer = Peer()
    peer.say_modern(7, "subscriptions/listen", {"notifications": wanted})
    (acknowledged,) = peer.sent()
    assert acknowledged["method"] == ACKNOWLEDGED
    assert acknowledged["params"] == {"notifications": agreed, "_meta": {SUBSCRIPTION: 7}}
    assert peer.of(SubscriptionOpened) == [SubscriptionOpened(peer.stream, 7, tuple(agreed))]
    peer.edit("new")
    assert len(peer.sent()) == len(agreed)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "notifications"),
        ({"notifications": None}, "notifications"),
        ({"notifications": [TOPIC]}, "notifications"),
        ({"notifications": {TOPIC: 1}}, f"notifications.{TOPIC}"),
        ({"notifications": {TOPIC: "true"}}, f"notifications.{TOPIC}"),
    ],
)
def test_a_filter_of_the_wrong_form_is_refused(params: dict[str, Any], named: str) -> None:
    peer = Peer()
    reply = peer.call("l", "subscriptions/listen", params)
    assert reply["error"]["code"] == -32602
    assert named in reply["error"]["message"]
    assert peer.events() == []
    assert spoken(peer.listen("l")) == [ACKNOWLEDGED]  # the id is free


def test_there_is_room_for_so_many_subscriptions() -> None:
    peer = Peer(max_subscriptions=2)
    other = peer.another()
    peer.listen("a")
    other.listen("a")
    reply = peer.call("b", "subscriptions/listen", {"notifications": {TOPIC: True}})
    assert reply["error"]["code"] == -32603
    assert "subscriptions" in reply["error"]["message"]
    other.wire.abort(0.0)
    assert spoken(peer.listen("b")) == [ACKNOWLEDGED]


def test_there_is_room_for_so_many_subscriptions_of_one_peer() -> None:
    peer = Peer(max_listens=2)
    other = peer.another()
    for wire_id in ("a", "b"):
        peer.listen(wire_id)
    reply = peer.call("c", "subscriptions/listen", {"notifications": {TOPIC: True}})
    assert reply["error"] == {"code": -32603, "message": "too many subscriptions"}
    assert spoken(other.listen("a")) == [ACKNOWLEDGED]
    peer.notify("notifications/cancelled", {"requestId": "a"})
    assert spoken(peer.listen("c")) == [ACKNOWLEDGED]


# --- the end of a subscription ----------------------------------------------------------------------


def test_the_server_ends_a_subscription_gracefully() -> None:
    """The tagged result, then the cancellation: the specification asks for both."""
    peer = listening(5)
    peer.server.end_subscription(peer.stream, 5, 0.0)
    result, cancelled = peer.sent()
    assert result["id"] == 5
    assert result["result"]["resultType"] == "complete"
    assert result["result"]["_meta"][SUBSCRIPTION] == 5
    assert cancelled == {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
    assert peer.of(SubscriptionEnded) == [SubscriptionEnded(peer.stream, 5, "ended by the server")]
    peer.edit("new")
    assert peer.sent() == []
    with pytest.raises(LocalProtocolError, match="no subscription 5"):
        peer.server.end_subscription(peer.stream, 5, 0.0)
    assert spoken(peer.listen(5)) == [ACKNOWLEDGED]


def test_where_each_request_has_a_channel_of_its_own_the_result_is_enough() -> None:
    peer = Peer()
    stream = peer.server.open()
    stream.attach(Carrier(peer.wire, shared=False), 0.0)
    stream.receive(LISTEN, 0.0)
    peer.server.end_subscription(stream, "l", 0.0)
    acknowledged, result, nothing = (stream.next_outgoing() for _ in range(3))
    assert isinstance(acknowledged, Send)
    assert isinstance(result, Send)
    assert (acknowledged.method, result.id, nothing) == (ACKNOWLEDGED, "l", None)


def test_a_pending_notification_is_not_written_after_the_end() -> None:
    peer = listening()
    peer.edit("new")
    peer.server.end_subscription(peer.stream, "l", 0.0)
    assert spoken(peer.sent()) == ["l", "notifications/cancelled"]


# --- before the client is ready ---------------------------------------------------------------------


def test_what_changed_between_initialize_and_initialized_is_told_then() -> None:
    peer = Peer()
    peer.edit("before")
    peer.initialize(ready=False)
    peer.edit("between")
    peer.wait(5)
    assert peer.sent() == []
    peer.notify("notifications/initialized")
    assert spoken(peer.sent()) == [LIST_CHANGED]
    peer.notify("notifications/initialized")
    assert peer.sent() == []


def test_what_changed_before_is_not_told() -> None:
    peer = Peer()
    peer.edit("one")
    peer.edit("two")  # held
    peer.initialize()
    peer.listen("l")
    peer.wait(5)
    assert peer.sent() == []


def test_a_listener_that_comes_during_a_storm_knows_what_was_before_it() -> None:
    peer = session()
    peer.edit("one")
    peer.edit("two")
    peer.sent()
    late = peer.another()
    late.listen("l")
    peer.wait(5)
    assert spoken(peer.sent()) == [LIST_CHANGED]
    assert late.sent() == []


# --- how often --------------------------------------------------------------------------------------


def times(peer: Peer, edits: list[float], *, until: float = 20.0) -> list[float]:
    """When notifications leave for a peer that reads at once, of edits at these times."""
    told = []
    for when in [*edits, until]:
        while (due := peer.server.next_timeout()) is not None and due < when:
            peer.wait(due - peer.now)
            told += [peer.now for message in peer.sent() if message.get("method") == LIST_CHANGED]
        peer.now = when
        if when is not until:
            peer.edit(f"at {when}")
            told += [peer.now for message in peer.sent() if message.get("method") == LIST_CHANGED]
    return told


def test_a_change_after_quiet_is_told_at_once() -> None:
    assert times(session(), [1.0, 2.0, 3.0]) == [1.0, 2.0, 3.0]


def test_a_burst_is_told_twice_at_its_start_and_after_its_end() -> None:
    assert times(session(), [1.0, 1.01, 1.02, 1.03]) == [1.0, pytest.approx(1.08)]


def test_a_storm_is_told_every_so_often() -> None:
    edits = [1.0 + number * 0.02 for number in range(100)]
    told = times(session(), edits)
    assert told[0] == 1.0
    assert all(0.4 < after - before < 0.56 for before, after in itertools.pairwise(told[:-1]))
    assert told[-1] > edits[-1]
    assert len(told) < 8


@settings(max_examples=50)
@given(st.lists(st.floats(0, 3), max_size=30).map(sorted), st.floats(0, 0.2), st.floats(0, 1))
def test_the_last_change_is_always_told(edits: list[float], quiet: float, max_wait: float) -> None:
    peer = session(quiet=quiet, max_wait=max_wait)
    told = times(peer, edits)
    assert len(told) <= len(edits)
    if edits:
        assert told[0] == edits[0]
        assert edits[-1] <= told[-1] <= edits[-1] + min(quiet, max_wait) + 1e-9
    assert peer.server.next_timeout() is None


def test_a_batch_of_edits_is_one_change() -> None:
    """The official Python SDK notifies of nothing by itself: one call is one notification."""
    peer = session()
    with peer.catalogue.batch():
        for name in peer.catalogue.snapshot.names:
            peer.catalogue.remove(name)
        for number in range(50):
            peer.catalogue.add(prompt(f"n{number:02}"))
    peer.wait(5)
    assert spoken(peer.sent()) == [LIST_CHANGED]


def test_an_edit_that_the_list_does_not_show_is_not_told() -> None:
    peer = session()
    entry = peer.catalogue.snapshot.entries["p0000"]
    peer.catalogue.put(entry.prompt, lambda: "another body")
    peer.wait(5)
    assert peer.sent() == []


# --- a slow reader ----------------------------------------------------------------------------------


def test_a_reader_that_does_not_read_has_one_notification_waiting() -> None:
    """The official Python SDK queues one event per change, up to 1,024, and then ends the stream."""
    peer = listening()
    for _ in range(1000):
        peer.now += 1.0
        peer.edit("same")
    peer.wait(5)
    assert spoken(peer.sent()) == [LIST_CHANGED]
    peer.edit("same")
    assert spoken(peer.sent()) == [LIST_CHANGED]


def test_a_notification_is_never_older_than_the_change_that_it_stands_for() -> None:
    """What is pulled after a change covers it; only then is the bit clean again."""
    peer = session()
    peer.edit("one")
    peer.now = 1.0
    peer.edit("two")
    assert spoken(peer.sent()) == [LIST_CHANGED]
    peer.wait(5)
    assert peer.sent() == []
    peer.edit("three")
    assert spoken(peer.sent()) == [LIST_CHANGED]


# --- before the list --------------------------------------------------------------------------------


def test_a_pending_notification_is_written_before_the_reply_to_a_list() -> None:
    peer = session()
    peer.edit("one")
    peer.sent()
    peer.edit("two")  # held for the quiet period
    assert peer.sent() == []
    peer.request(1, "prompts/list")
    assert spoken(peer.sent()) == [LIST_CHANGED, 1]
    peer.wait(5)
    assert peer.sent() == []  # nothing changed after that


def test_it_is_written_to_whoever_lists_and_only_to_them() -> None:
    peer = listening()
    other = peer.another()
    other.listen("o")
    peer.edit("one")
    peer.sent()
    other.sent()
    peer.edit("two")
    peer.listen("none", toolsListChanged=True)
    peer.say_modern(1, "prompts/list")
    assert spoken(peer.sent()) == [LIST_CHANGED, 1]
    assert other.sent() == []
    other.wait(5)
    assert spoken(other.sent()) == [LIST_CHANGED]


# --- what nothing costs -----------------------------------------------------------------------------


def crowd(peer: Peer, size: int) -> list[LineWire]:
    """Listeners on channels of their own, up to date."""
    wires = []
    for _ in range(size):
        stream = peer.server.open()
        wires.append(LineWire(stream, 0.0))
        stream.receive(LISTEN, 0.0)
        wires[-1].data_to_send()
    peer.sent()
    peer.events()
    return wires


def lines_of_an_idle_turn(listeners: int) -> int:
    """How many lines of Python a turn runs in which one peer asks something and nothing has changed."""
    peer = Peer()
    crowd(peer, listeners)
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        peer.request(1, "ping")
        peer.sent()
        peer.events()
        peer.server.next_timeout()
        peer.server.handle_timeout(1.0)
    finally:
        sys.settrace(before)
    return count


def test_a_turn_without_changes_touches_no_listener() -> None:
    assert lines_of_an_idle_turn(10_000) == lines_of_an_idle_turn(10)


def test_a_change_wakes_each_listener_once() -> None:
    peer = Peer()
    wires = crowd(peer, 100)
    peer.edit("one")
    peer.edit("two")
    ready = []
    while (wire := peer.server.next_ready()) is not None:
        ready.append(wire)
    assert ready == wires
    assert all(len(wire.data_to_send()) == 2 for wire in wires)  # a message and its newline
