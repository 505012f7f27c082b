"""A stream of a peer whose messages come one exchange each: outlets, and carriers that change."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from serving import LIST_CHANGED, Peer

from mcp_sansio import (
    Batch,
    Carrier,
    LineWire,
    LocalProtocolError,
    Malformed,
    Notification,
    Request,
    RequestCancelled,
    RequestReceived,
    Send,
    StreamEnded,
    WireFailed,
)
from mcp_sansio._json import parse


@attrs.define
class Post:
    """An outlet that keeps what it gets."""

    got: list[Send] = attrs.field(factory=list[Send])
    ends: int = 0

    def put(self, message: Send) -> None:
        self.got.append(message)

    def end(self) -> None:
        self.ends += 1

    @property
    def replies(self) -> list[Any]:
        return [message.id for message in self.got if message.method is None]


def legacy(version: str = "2025-11-25", **config: Any) -> Peer:
    peer = Peer(methods=("x/echo",), **config)
    peer.initialize(version)
    peer.events()
    return peer


ECHO = Request(1, "x/echo", b'{"_meta":{"progressToken":1}}')
CANCEL = Notification("notifications/cancelled", b'{"requestId":1}')


def test_a_stream_knows_the_revision_of_its_session() -> None:
    peer = Peer()
    assert peer.stream.version is None
    peer.initialize("2025-06-18")
    assert peer.stream.version == "2025-06-18"


def test_what_there_is_to_say_about_a_message_goes_to_its_outlet() -> None:
    peer, post = legacy(), Post()
    peer.stream.receive(ECHO, 0.0, post)
    (asked,) = peer.of(RequestReceived)
    peer.server.progress(asked.request, 1, 0.0)
    peer.server.notify(asked.request, "x/about", None, 0.0)
    peer.server.respond(asked.request, {}, 0.0)
    assert [message.method for message in post.got] == ["notifications/progress", "x/about", None]
    assert post.replies == [1]
    assert post.ends == 0
    assert peer.sent() == []


@pytest.mark.parametrize(
    ("message", "wire_id"),
    [
        (Request(5, "ping", None), 5),
        (Request(5, "x/unknown", None), 5),
        (Request(5, "initialize", None), 5),
        (Malformed(-32700, "no JSON"), None),
        (Malformed(-32600, "no method", 5), 5),
        (Batch((Request(5, "ping", None),)), None),
    ],
)
def test_what_is_answered_at_once_goes_there_too(message: Any, wire_id: Any) -> None:
    peer, post = legacy(), Post()
    peer.stream.receive(message, 0.0, post)
    assert post.replies == [wire_id]
    assert peer.sent() == []


def test_an_outlet_is_that_of_its_message_alone() -> None:
    peer, post = legacy(), Post()
    peer.stream.receive(Request(5, "ping", None), 0.0, post)
    peer.stream.receive(Request(6, "ping", None), 0.0)
    assert post.replies == [5]
    assert [message["id"] for message in peer.sent()] == [6]
    assert peer.stream.outlet is None


def test_an_outlet_hears_that_no_response_will_come() -> None:
    peer, post = legacy(), Post()
    peer.stream.receive(ECHO, 0.0, post)
    peer.stream.receive(CANCEL, 0.0, Post())
    assert (post.replies, post.ends) == ([], 1)


@pytest.mark.parametrize("how", ["detach", "close"])
def test_an_outlet_hears_of_the_end_of_its_stream(how: str) -> None:
    peer, post = legacy(), Post()
    peer.stream.receive(ECHO, 0.0, post)
    peer.events()
    if how == "detach":
        peer.stream.detach("gone", 0.0)
    else:
        peer.server.close(0.0, "gone")
    assert (post.replies, post.ends) == ([], 1)
    assert [event.reason for event in peer.of(RequestCancelled)] == ["gone"]


def test_a_batch_has_one_outlet() -> None:
    peer, post = legacy("2025-03-26"), Post()
    peer.stream.receive(Batch((ECHO, Request(2, "x/echo", None))), 0.0, post)
    one, two = peer.of(RequestReceived)
    peer.server.progress(one.request, 1, 0.0)
    peer.server.respond(two.request, {}, 0.0)
    assert post.replies == []
    peer.stream.receive(CANCEL, 0.0, Post())
    (_, reply) = post.got
    assert parse(reply.data) == Batch((parse(b'{"jsonrpc":"2.0","id":2,"result":{}}'),))  # type: ignore[arg-type]  # one message
    assert post.ends == 0


@pytest.mark.parametrize("messages", [(ECHO,), (Notification("x/told", None),)])
def test_a_batch_without_replies_ends_its_outlet(messages: tuple[Any, ...]) -> None:
    peer, post = legacy("2025-03-26"), Post()
    peer.stream.receive(Batch(messages), 0.0, post)
    peer.stream.receive(CANCEL, 0.0, Post())
    assert (post.got, post.ends) == ([], 1)


# --- carriers ---------------------------------------------------------------------------------------


def test_a_stream_without_a_carrier_waits_for_one() -> None:
    peer = legacy()
    peer.stream.receive(ECHO, 0.0)
    peer.stream.unplug(0.0)
    peer.edit("new")
    peer.wait(1.0)
    peer.edit("newer")
    assert [type(event) for event in peer.events()] == [RequestReceived]
    assert peer.server.next_ready() is None
    wire = LineWire(peer.stream, 1.0)
    assert peer.server.next_ready() is wire
    assert b"".join(wire.data_to_send()).count(LIST_CHANGED.encode()) == 1


def test_what_an_unplugged_wire_has_to_say_means_nothing() -> None:
    peer = legacy()
    peer.stream.unplug(0.0)
    peer.wire.abort(0.0)
    assert peer.events() == []
    assert not peer.stream.done


def test_a_stream_has_one_carrier_and_none_after_its_end() -> None:
    peer = legacy()
    with pytest.raises(LocalProtocolError, match="one carrier"):
        peer.stream.attach(Carrier(peer.wire), 0.0)
    peer.stream.unplug(0.0)
    peer.stream.detach("over", 0.0)
    assert [type(event) for event in peer.events()] == [StreamEnded]
    with pytest.raises(LocalProtocolError, match="one carrier"):
        peer.stream.attach(Carrier(peer.wire), 0.0)


def test_a_stream_without_a_carrier_can_fail() -> None:
    peer = legacy()
    peer.stream.unplug(0.0)
    peer.stream.fail("broken", 0.0)
    assert [type(event) for event in peer.events()] == [WireFailed, StreamEnded]
