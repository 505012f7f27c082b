"""A client that listens, and the server that it listens to."""

from __future__ import annotations

from typing import Any

from clients import (
    CHANGED,
    TAG,
    TOPIC,
    Peer,
    Topics,
)

ACK = "notifications/subscriptions/acknowledged"


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
