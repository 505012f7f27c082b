"""Announcing changes: from "it changed" to one notification per listener.

A topic counts its changes and thins them out with a `Coalescer`. A listener (a legacy session, or one
`subscriptions/listen` stream) has one dirty bit per topic: announcing puts a marker into its stream's
outbox unless one is there already, and the marker turns into bytes only when it is pulled. So a reader
that does not read costs one bit, and every change is followed by a notification that was written after
it.
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
        self.listeners: dict[Listener, None] = {}
        self.burst: Coalescer = Coalescer(quiet, max_wait)
        self._plain = Send(notification_bytes(method, None, None), method)

    def announce(self) -> None:
        """Mark every listener that has not been told of the last change."""
        for listener in self.listeners:
            listener.mark(self)

    def notification(self, listener: Listener) -> Send:
        """The message for one listener; all legacy sessions share theirs, and so do all who chose one id."""
        if listener.id is None:
            return self._plain
        if len(listener.tag) > MAX_SHARED:
            return Send(notification_bytes(self.method, None, listener.tag), self.method)
        return _tagged(self.method, listener.tag)


@attrs.define(eq=False)
class Listener:
    """Somebody who listens: `id` is that of the listen request, None for a legacy session."""

    stream: Stream
    id: RequestId | None
    tag: bytes = b""
    told: dict[str, int] = attrs.field(factory=dict[str, int])
    states: dict[str, Subscription] = attrs.field(factory=dict[str, Subscription])

    def join(self, topic: Topic, told: int) -> None:
        """Listen to `topic` from now on, knowing of its first `told` changes."""
        topic.listeners[self] = None
        self.told[topic.name] = told
        self.states[topic.name] = SUBSCRIPTION.start

    def leave(self, topic: Topic) -> None:
        """Listen no longer; a marker that still waits will be skipped."""
        del topic.listeners[self]
        self.states[topic.name] = SUBSCRIPTION.next(self.states[topic.name], SubscriptionInput.END)

    def mark(self, topic: Topic) -> None:
        """Have a notification written, unless this listener knows or will be told anyway."""
        if self.told[topic.name] == topic.changes:
            return
        self.told[topic.name] = topic.changes
        before = self.states[topic.name]
        self.states[topic.name] = SUBSCRIPTION.next(before, SubscriptionInput.CHANGE)
        if before is Subscription.CLEAN:
            self.stream.post(Marker(self, topic))


@attrs.frozen(eq=False)
class Marker:
    """A notification that will be written when its turn comes."""

    listener: Listener
    topic: Topic

    def pull(self) -> Send | None:
        """The notification; None if the listener has left meanwhile."""
        states, name = self.listener.states, self.topic.name
        if states[name] is not Subscription.DIRTY:
            return None
        states[name] = SUBSCRIPTION.next(states[name], SubscriptionInput.PULL)
        return self.topic.notification(self.listener)
