"""One peer of a server: what it is owed, what waits to be written, and how it all ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from serving import LIST_CHANGED, TOPIC, Peer, held, legacy, spoken

from mcp_sansio import (
    CallFailed,
    Carrier,
    Closed,
    IncomingRequest,
    LineWire,
    LocalProtocolError,
    Lost,
    Request,
    RequestCancelled,
    RpcError,
    Send,
    StreamEnded,
    SubscriptionEnded,
    WireFailed,
)

# --- what is owed -----------------------------------------------------------------------------------


def test_answers_leave_in_the_order_in_which_they_are_given() -> None:
    peer = Peer()
    first, second = held(peer, 1, 2)
    peer.prompts.answer(second, "b", 0.0)
    peer.prompts.answer(first, "a", 0.0)
    assert spoken(peer.sent()) == [2, 1]


def test_a_request_is_answered_once() -> None:
    peer = Peer()
    (asked,) = held(peer, 1)
    peer.prompts.answer(asked, "a", 0.0)
    attempts: list[Callable[[], None]] = [
        lambda: peer.prompts.answer(asked, "b", 0.0),
        lambda: peer.prompts.answer(asked, 5, 0.0),  # type: ignore[arg-type]  # a handler's mistake
        lambda: peer.server.respond(asked.request, {}, 0.0),
        lambda: peer.server.refuse(asked.request, RpcError(1, "no"), 0.0),
        lambda: peer.server.fail(asked.request, "late", 0.0),
    ]
    for again in attempts:
        with pytest.raises(LocalProtocolError, match="not open"):
            again()
    assert spoken(peer.sent()) == [1]
    assert peer.events() == []


def test_an_answer_to_an_older_request_of_the_same_id_is_refused() -> None:
    peer = Peer()
    (old,) = held(peer, 1)
    peer.notify("notifications/cancelled", {"requestId": 1})
    (new,) = held(peer, 1)
    with pytest.raises(LocalProtocolError, match="not open"):
        peer.prompts.answer(old, "old", 0.0)
    peer.prompts.answer(new, "new", 0.0)
    (reply,) = peer.sent()
    assert reply["result"]["messages"][0]["content"]["text"] == "new"


def test_an_answer_that_waits_is_withdrawn_by_a_cancellation() -> None:
    """Servers "MUST NOT send any further messages for it": not what they had not written yet either."""
    peer = legacy()
    peer.request(1, "ping", None)
    peer.request(2, "ping", None)
    peer.notify("notifications/cancelled", {"requestId": 1})
    peer.notify("notifications/cancelled", {"requestId": 1})
    assert [message["id"] for message in peer.sent()] == [2]
    peer.notify("notifications/cancelled", {"requestId": 2})  # too late
    peer.request(1, "ping", None)
    peer.request(2, "ping", None)
    assert [message["id"] for message in peer.sent()] == [1, 2]


def test_who_asks_twice_under_one_id_has_one_answer_withdrawn() -> None:
    peer = legacy()
    peer.request(1, "ping", None)
    peer.request(1, "ping", None)
    peer.notify("notifications/cancelled", {"requestId": 1})
    assert [message["id"] for message in peer.sent()] == [1]


def test_a_request_that_came_from_nowhere_cannot_be_answered() -> None:
    peer = Peer()
    (asked,) = held(peer, 1)
    stray = IncomingRequest(1, "prompts/get", asked.request.era, asked.request.version, {})
    with pytest.raises(LocalProtocolError, match="did not come from a client"):
        peer.server.respond(stray, {}, 0.0)
    assert peer.sent() == []


def test_more_requests_than_may_be_in_flight_are_refused_one_by_one() -> None:
    peer = Peer(max_in_flight=2)
    first, second = held(peer, 1, 2)
    reply = peer.call(3, "prompts/list")
    assert (reply["id"], reply["error"]["code"]) == (3, -32603)
    assert "in flight" in reply["error"]["message"]
    peer.prompts.answer(first, "a", 0.0)
    assert spoken(peer.sent()) == [1]
    assert "result" in peer.call(4, "prompts/list")
    peer.notify("notifications/cancelled", {"requestId": 2})
    assert len(held(peer, 5, 6)) == 2
    assert second.request.id == 2


def test_a_subscription_is_not_in_flight() -> None:
    peer = Peer(max_in_flight=1)
    for wire_id in ("a", "b", "c"):
        peer.listen(wire_id)
    assert "result" in peer.call(1, "prompts/list")


# --- what waits -------------------------------------------------------------------------------------


def test_a_peer_that_does_not_read_is_not_read() -> None:
    peer = Peer(max_pending=2000)
    wanted = []
    for number in range(20):
        peer.say_modern(number, "prompts/list")
        wanted.append(peer.read())
    assert wanted[0]
    assert not wanted[-1]
    assert wanted == sorted(wanted, reverse=True)
    assert len(peer.sent()) == 20  # what has been read is answered all the same
    assert peer.read()


def test_what_is_pulled_no_longer_counts() -> None:
    peer = Peer(max_pending=0)
    assert peer.read()
    peer.say_modern(1, "prompts/list")
    assert not peer.read()
    peer.sent()
    peer.edit("new")  # a notification that waits is a bit, not bytes
    assert peer.read()


def test_a_wire_with_output_is_ready_once() -> None:
    peer = Peer()
    assert peer.server.next_ready() is None
    peer.say_modern(1, "prompts/list")
    peer.say_modern(2, "prompts/list")
    assert peer.server.next_ready() is peer.wire
    assert peer.server.next_ready() is None


# --- the carrier ------------------------------------------------------------------------------------


def test_a_stream_has_one_carrier_in_its_life() -> None:
    peer = Peer()
    with pytest.raises(LocalProtocolError, match="one carrier"):
        LineWire(peer.stream, 0.0)
    ended = peer.server.open()
    peer.server.close(0.0)
    with pytest.raises(LocalProtocolError, match="one carrier"):
        LineWire(ended, 0.0)


def test_a_stream_knows_its_peer_and_its_carrier() -> None:
    peer = Peer()
    stream = peer.server.open(peer="pipe 7", principal="ann")
    assert (stream.peer, stream.principal) == ("pipe 7", "ann")
    shared = [stream.shared]
    wire = LineWire(stream, 0.0)
    assert [*shared, stream.shared] == [False, True]
    assert not stream.carried_by(Carrier(wire))


def test_what_is_said_before_there_is_a_carrier_waits_for_it() -> None:
    peer = Peer()
    stream = peer.server.open()
    stream.receive(Request(1, "ping", None), 0.0)
    assert peer.server.next_ready() is None
    wire = LineWire(stream, 0.0)
    assert peer.server.next_ready() is wire
    assert len(wire.data_to_send()) == 2


def test_a_stream_that_never_gets_a_carrier_ends_all_the_same() -> None:
    peer = Peer()
    for end in ("detach", "receive_eof", "close"):
        stream = peer.server.open()
        stream.receive(Request(1, "ping", None), 0.0)
        if end == "close":
            peer.server.close(0.0, "never came")
        else:
            getattr(stream, end)("never came", 0.0)
        assert [event.reason for event in peer.of(StreamEnded) if event.stream is stream] == ["never came"]
        assert stream.done
        stream.post(Send(b"{}"))
        assert stream.done


def test_a_notification_to_one_who_has_left_is_dropped() -> None:
    peer = legacy()
    peer.wire.abort(0.0)
    peer.server.notify(peer.stream, "notifications/message", None, 0.0)
    assert peer.sent() == []


# --- the end of input -------------------------------------------------------------------------------


def test_what_is_owed_at_the_end_of_input_is_still_written() -> None:
    peer = Peer()
    (asked,) = held(peer, 1)
    peer.say_modern(2, "prompts/list")
    peer.wire.receive_eof(0.0)
    assert spoken(peer.sent()) == [2]
    assert not peer.closed()
    assert peer.of(StreamEnded) == []
    peer.server.progress(asked.request, 1, 0.0)
    peer.prompts.answer(asked, "done", 0.0)
    assert peer.server.next_ready() is peer.wire
    assert spoken(peer.sent()) == [1]
    assert peer.closed()
    assert [event.reason for event in peer.of(StreamEnded)] == ["end of input"]


def test_an_idle_stream_ends_with_its_input() -> None:
    peer = Peer()
    peer.wire.receive_eof(0.0)
    assert peer.server.next_ready() is peer.wire
    assert peer.sent() == []
    assert peer.closed()
    assert len(peer.of(StreamEnded)) == 1


def test_a_request_that_is_cancelled_for_want_of_a_handler_lets_the_stream_end() -> None:
    peer = Peer()
    (asked,) = held(peer, 1)
    peer.wire.receive_eof(0.0)
    peer.server.fail(asked.request, "no time", 0.0)
    assert spoken(peer.sent()) == [1]
    assert peer.closed()


def test_nothing_is_heard_after_the_end_of_input() -> None:
    peer = Peer()
    held(peer, 1)
    peer.wire.receive_eof(0.0)
    peer.say_modern(2, "prompts/list")
    assert peer.sent() == []


def test_nobody_listens_after_the_end_of_input() -> None:
    peer = Peer()
    peer.initialize()
    peer.listen("l")
    held(peer, 1)
    peer.events()
    peer.wire.receive_eof(0.0)
    assert [event.id for event in peer.of(SubscriptionEnded)] == ["l"]
    peer.edit("new")
    peer.wait(5)
    assert peer.sent() == []


def test_a_pending_notification_is_not_written_to_one_who_has_left() -> None:
    peer = Peer()
    peer.listen("l")
    peer.edit("new")
    peer.notify("notifications/cancelled", {"requestId": "l"})
    assert peer.sent() == []


def test_a_listener_that_comes_back_under_its_old_id_is_a_new_one() -> None:
    peer = Peer()
    peer.listen("l")
    peer.edit("new")
    peer.notify("notifications/cancelled", {"requestId": "l"})
    assert spoken(peer.listen("l")) == ["notifications/subscriptions/acknowledged"]


# --- cut off ----------------------------------------------------------------------------------------


def test_an_aborted_wire_takes_everything_with_it() -> None:
    peer = Peer()
    peer.initialize()
    peer.listen("l")
    (asked,) = held(peer, 1)
    call = peer.server.request(peer.stream, "roots/list", None, 0.0)
    peer.events()
    peer.wire.abort(0.0, "broken pipe")
    failed, *events = peer.events()
    assert isinstance(failed, WireFailed)
    assert (failed.wire, failed.stream, failed.reason) == (peer.wire, peer.stream, "broken pipe")
    assert events == [
        RequestCancelled(asked.request, "broken pipe"),
        SubscriptionEnded(peer.stream, "l", "broken pipe"),
        CallFailed(call, Lost("broken pipe")),
        StreamEnded(peer.stream, "broken pipe"),
    ]
    assert peer.wire.data_to_send() == []
    with pytest.raises(LocalProtocolError, match="not open"):
        peer.prompts.answer(asked, "late", 0.0)
    peer.edit("new")
    peer.wait(5)
    assert peer.events() == []


def test_a_wire_that_is_lost_twice_ends_once() -> None:
    peer = Peer()
    peer.stream.detach("gone", 0.0)
    peer.stream.detach("gone again", 0.0)
    peer.stream.fail("and broken", 0.0)
    peer.wire.abort(0.0)
    assert [event.reason for event in peer.of(StreamEnded)] == ["gone"]


def test_a_wire_is_closed_by_us() -> None:
    peer = Peer()
    peer.say_modern(1, "prompts/list")
    peer.wire.close(0.0)
    assert spoken(peer.sent()) == [1]
    assert peer.closed()
    assert len(peer.of(StreamEnded)) == 1


# --- the server closes ------------------------------------------------------------------------------


def test_a_server_that_closes_ends_everything_in_order() -> None:
    peer = legacy()
    peer.listen("l")
    (asked,) = held(peer, 1)
    call = peer.server.request(peer.stream, "roots/list", None, 0.0)
    peer.sent()
    peer.edit("new")
    peer.edit("newer")
    peer.events()
    peer.server.close(0.0, "bye")
    assert peer.events() == [
        SubscriptionEnded(peer.stream, "l", "ended by the server"),
        RequestCancelled(asked.request, "bye"),
        CallFailed(call, Closed("bye")),
    ]
    assert peer.server.next_ready() is peer.wire
    result, cancelled = peer.sent()
    assert result["id"] == "l"
    assert cancelled["method"] == "notifications/cancelled"
    assert peer.closed()
    assert peer.of(StreamEnded) == [StreamEnded(peer.stream, "bye")]
    assert peer.server.next_timeout() is None


def test_nothing_follows_a_close() -> None:
    peer = Peer()
    peer.server.close(0.0)
    peer.server.close(0.0)
    assert peer.server.closed
    assert len(peer.of(StreamEnded)) == 1
    with pytest.raises(LocalProtocolError, match="closed"):
        peer.server.open()
    for _ in range(3):
        peer.server.changed(TOPIC, 0.0)
    assert peer.server.next_timeout() is None
    peer.say_modern(1, "prompts/list")
    assert peer.sent() == []


def test_streams_do_not_hear_of_each_other() -> None:
    one = Peer()
    two = one.another()
    one.initialize()
    two.say_modern("init", "prompts/get", {"name": "p0000"})
    one.edit("new")
    assert spoken(one.sent()) == [LIST_CHANGED]
    assert two.sent() == []
    one.wire.abort(0.0)
    two.events()
    assert two.call(1, "prompts/list")["id"] == 1
