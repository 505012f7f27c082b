"""Announcing changes: from "it changed" to one notification per listener.

A topic counts its changes and thins them out with a `Coalescer`. A listener (a legacy session, or one
`subscriptions/listen` stream) has one marker per topic, which is its dirty bit: announcing puts it into
the outbox of its stream unless it is there already, and it turns into bytes only when it is pulled. So a
reader that does not read costs one bit, and every change is followed by a notification that was written
after it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import attrs

from ._coalescer import Coalescer
from ._contract import Send
from ._json import RequestId, notification_bytes
from ._tables import SUBSCRIPTION, Subscription, SubscriptionInput

if TYPE_CHECKING:
    from ._stream import Stream


_CLEAN, _DIRTY = Subscription.CLEAN, Subscription.DIRTY  # an attribute of an enum costs as much as a call
_CHANGE, _PULL = SubscriptionInput.CHANGE, SubscriptionInput.PULL

MAX_SHARED = 100
"""How long a tag may be, in bytes, that may be shared: ids are counted, mostly."""


@functools.lru_cache(maxsize=1024)
def _tagged(method: str, tag: bytes) -> Send:
    return Send(notification_bytes(method, None, tag), method)


class Topic:
    """One thing that clients can listen to, and all who do."""

    def __init__(self, name: str, method: str, quiet: float, max_wait: float) -> None:
        self.name = name
        self.method = method
        self.changes: int = 0
        self.markers: dict[Marker, None] = {}
        self.burst: Coalescer = Coalescer(quiet, max_wait)
        self._plain = Send(notification_bytes(method, None, None), method)

    def announce(self) -> None:
        """Mark every listener that has not been told of the last change."""
        for marker in self.markers:
            marker.set()

    def notification(self, listener: Listener) -> Send:
        """The message for one listener; all legacy sessions share theirs, and so do all who chose one id."""
        if listener.id is None:
            return self._plain
        if len(listener.tag) > MAX_SHARED:
            return Send(notification_bytes(self.method, None, listener.tag), self.method)
        return _tagged(self.method, listener.tag)


@attrs.define(eq=False)
class Listener:
    """Somebody who listens: `id` is that of the listen request, None for a legacy session. `markers` are by
    the name of the topic.
    """

    stream: Stream
    id: RequestId | None
    tag: bytes = b""
    markers: dict[str, Marker] = attrs.field(factory=dict[str, "Marker"])

    def join(self, topic: Topic, told: int) -> None:
        """Listen to `topic` from now on, knowing of its first `told` changes."""
        marker = Marker(self.stream, topic, topic.notification(self), told)
        self.markers[topic.name] = marker
        topic.markers[marker] = None
        marker.set()

    def leave(self) -> None:
        """Listen no longer."""
        for marker in self.markers.values():
            marker.end()


@attrs.define(eq=False)
class Marker:
    """One listener's dirty bit for one topic. In the outbox it stands for a notification that will be written
    when its turn comes; `told` counts the changes that the listener knows of, or will.
    """

    stream: Stream
    topic: Topic
    notification: Send
    told: int
    state: Subscription = SUBSCRIPTION.start

    def set(self) -> None:
        """Have a notification written, unless the listener knows or will be told anyway."""
        if self.told == self.topic.changes:
            return
        self.told = self.topic.changes
        before, self.state = self.state, SUBSCRIPTION.next(self.state, _CHANGE)
        if before is _CLEAN:
            self.stream.post(self)

    def pull(self) -> Send | None:
        """The notification; None if the listener has left meanwhile."""
        if self.state is not _DIRTY:
            return None
        self.state = SUBSCRIPTION.next(self.state, _PULL)
        return self.notification

    def end(self) -> None:
        """The listener leaves; if this still waits in the outbox, it will be skipped."""
        del self.topic.markers[self]
        self.state = SUBSCRIPTION.next(self.state, SubscriptionInput.END)
