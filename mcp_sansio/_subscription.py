"""The notification channel of a client: how it learns that something changed.

One channel serves all layers. In the legacy era it is the session itself, for what the server declared
with `listChanged`; over HTTP, the exchange on which the session pushes. In the modern era it is one
`subscriptions/listen` stream, opened before anything else is asked; its id tags what belongs to it. A
channel that ends is opened again, with backoff; one that the server does not offer is not asked for
twice. Whenever the channel comes or goes the layers hear of it, since changes may have been missed in
between.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._calls import Call, Limits, Outcome, encode_members
from ._contract import OpenPush
from ._errors import METHOD_NOT_FOUND, HttpFailed, RpcError
from ._events import ChannelChanged, Diagnostic
from ._json import Notification
from ._layers import ClientLayer, owners
from ._meta import SUBSCRIPTION_ID
from ._plain import member
from ._tables import LISTEN, CallState, Listen, ListenInput
from ._versions import Era

if TYPE_CHECKING:
    from ._client import Client

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_OWN_NOTIFICATIONS = (ACKNOWLEDGED, "notifications/progress", "notifications/cancelled")


class Subscriptions:
    """Which topics are announced to a client, and by what."""

    def __init__(self, client: Client, layers: Sequence[ClientLayer]) -> None:
        self._client = client
        self._layers = layers
        self._announced = owners(layers, lambda layer: layer.announcements, _OWN_NOTIFICATIONS)
        owners(layers, lambda layer: layer.announcements.values())
        self._state = LISTEN.start
        self._call: Call | None = None
        self._filter: dict[str, Any] = {}
        self._live: tuple[str, ...] = ()
        self._attempts = 0
        self._since = 0.0
        self._last: tuple[Notification, ClientLayer, str] | None = None

    def state(self, topic: str) -> bool | None:
        """Whether `topic` is announced; None while the acknowledgement is awaited."""
        if topic in self._live:
            return True
        return None if self._state is Listen.OPENING and topic in self._filter else False

    def opened(self, now: float) -> None:
        """The era and the capabilities are known, or are others now."""
        wanted = {
            topic: value
            for layer in self._layers
            for topic, value in layer.filter(self._client.capabilities).items()
        }
        if self._state is not Listen.OFF:
            if wanted == self._filter:
                return
            self._stop("the server offers other topics", now)
        self._filter = wanted
        self._attempts = 0
        legacy = self._client.era is Era.LEGACY
        undeclared = legacy and self._client.config.unnegotiated == "invalidate"
        if legacy and self._client.shared:
            self._set_live(tuple(self._filter), "the session announces changes", now)
        elif self._filter or undeclared:
            self._open(None, now)

    def detach(self, now: float) -> None:
        """The carrier is gone."""
        self._call = None
        self._stop("disconnected", now)

    def again(self, message: Notification, now: float) -> bool:
        """Take in what a wire has recognized as the last announcement once more. That was in order, and the
        channel is as it was then.
        """
        if self._last is None or message is not self._last[0]:
            return False
        _, layer, topic = self._last
        layer.announced(topic, now)
        return True

    def notified(self, message: Notification, params: Mapping[str, Any], now: float) -> bool:
        """Take a notification in, if it is one of the channel's."""
        method = message.method
        if method == ACKNOWLEDGED:
            self._acknowledged(params, now)
            return True
        if method not in self._announced:
            return False
        layer = self._announced[method]
        topic = layer.announcements[method]
        problem, counts = self._judge(topic, params)
        if problem is not None:
            self._client.emit(Diagnostic(problem, f"{method}: {problem.replace('-', ' ')}"))
        if counts:
            self._last = (message, layer, topic) if problem is None else None
            layer.announced(topic, now)
        return True

    def cancelled(self, wire_id: object, now: float) -> None:
        """The server ended a stream by `notifications/cancelled`."""
        if self._call is not None and _belongs(wire_id, self._call):
            self._client.forget(self._call, now)

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """The listen request is over: gracefully, refused, or lost."""
        if call is not self._call:
            return
        self._call = None
        self._client.cancel_timer(self._unacknowledged)
        refused = isinstance(outcome, RpcError) and outcome.code == METHOD_NOT_FOUND
        if refused and self._state is not Listen.LIVE:
            self._refuse("the server has no subscriptions/listen", now)
        else:
            self._ended(now, outcome.retry_after if isinstance(outcome, HttpFailed) else None)

    def _move(self, event: ListenInput) -> None:
        self._last = None
        self._state = LISTEN.next(self._state, event)

    # --- a legacy server's push channel, where that is an exchange of its own ---

    def push_opened(self, now: float) -> None:
        """The channel that `OpenPush` asked for is open."""
        if self._state in (Listen.OPENING, Listen.LATE):
            self._client.cancel_timer(self._unacknowledged)
            self._move(ListenInput.ACK)
            now = self._since = self._client.tick(now)
            self._set_live(tuple(self._filter), "the push channel is open", now)

    def push_refused(self, now: float) -> None:
        """The server has no such channel ("or else return HTTP 405")."""
        if self._state in (Listen.OPENING, Listen.LATE):
            self._client.cancel_timer(self._unacknowledged)
            self._refuse("the server has no push channel", self._client.tick(now))

    def push_lost(self, now: float, retry: float | None) -> None:
        """The channel ended. It is opened again, not before `retry` seconds if the server has said so."""
        if self._state in (Listen.OPENING, Listen.LATE, Listen.LIVE):
            self._client.cancel_timer(self._unacknowledged)
            self._ended(self._client.tick(now), retry)

    # --- inside ---

    def _open(self, _: Hashable, now: float) -> None:
        self._move(ListenInput.OPEN)
        self._client.set_timer(self._unacknowledged, now + self._client.config.ack_timeout)
        if self._client.era is Era.LEGACY:
            self._client.post_urgent(OpenPush())
            return
        self._call = self._client.open_call(
            "subscriptions/listen",
            encode_members({"notifications": self._filter}),
            now,
            limits=Limits(),
            owner=self,
            urgent=True,
        )

    def _stop(self, reason: str, now: float) -> None:
        call, self._call = self._call, None
        self._move(ListenInput.DETACH)
        self._client.cancel_timer(self._unacknowledged)
        self._client.cancel_timer(self._open)
        self._set_live((), reason, now)
        if call is not None:
            self._client.cancel(call.id, now)

    def _unacknowledged(self, _: Hashable, now: float) -> None:
        self._move(ListenInput.SILENCE)
        self._client.emit(Diagnostic("no-acknowledgement", "the notification channel is not acknowledged"))
        self._tell(now)

    def _acknowledged(self, params: Mapping[str, Any], now: float) -> None:
        waiting = self._state in (Listen.OPENING, Listen.LATE)
        tag = member(params.get("_meta"), SUBSCRIPTION_ID)
        if not waiting or self._call is None or not _belongs(tag, self._call):
            self._client.emit(Diagnostic("unknown-acknowledgement", "an acknowledgement of nothing asked"))
            return
        self._client.cancel_timer(self._unacknowledged)
        honoured = params.get("notifications")
        wanted = self._filter.items()
        live = tuple(topic for topic, value in wanted if _grants(member(honoured, topic), value))
        if not live:
            call, self._call = self._call, None
            self._client.cancel(call.id, now)
            self._refuse("the server honours none of the topics", now)
            return
        self._move(ListenInput.ACK)
        self._since = now
        self._set_live(live, "acknowledged", now)

    def _refuse(self, reason: str, now: float) -> None:
        self._move(ListenInput.REFUSE)
        self._client.emit(Diagnostic("no-channel", reason))
        self._tell(now)

    def _ended(self, now: float, retry: float | None = None) -> None:
        lasted = self._state is Listen.LIVE and now - self._since >= self._client.config.backoff_max
        self._attempts = 0 if lasted else self._attempts
        self._move(ListenInput.END)
        delay = self._client.config.delay(self._attempts)
        self._client.set_timer(self._open, now + (delay if retry is None else max(delay, retry)))
        self._attempts += 1
        if self._live:
            self._set_live((), "the stream ended", now)
        else:
            self._tell(now)

    def _set_live(self, live: tuple[str, ...], reason: str, now: float) -> None:
        self._last = None
        before, self._live = self._live, live
        for topic in self._filter:
            if (topic in before) != (topic in live):
                self._client.emit(ChannelChanged(topic, topic in live, reason))
        if before or live:
            self._tell(now)

    def _tell(self, now: float) -> None:
        for topic in self._filter:
            for layer in self._layers:
                if topic in layer.announcements.values():
                    layer.channel(topic, topic in self._live, now)

    def _judge(self, topic: str, params: Mapping[str, Any]) -> tuple[str | None, bool]:
        """What is odd about an announcement, and whether it invalidates."""
        if self._client.era is not Era.MODERN:
            if topic in self._live:
                return None, True
            return "not-negotiated", self._client.config.unnegotiated == "invalidate"
        tag = member(params.get("_meta"), SUBSCRIPTION_ID)
        if tag is None:
            return "untagged", True
        if self._call is None or not _belongs(tag, self._call):
            return "foreign-subscription", False
        if self._state is not Listen.LIVE:
            return "before-acknowledgement", True
        return (None, True) if topic in self._live else ("not-asked-for", False)


def _grants(given: object, wanted: object) -> bool:
    """Whether a member of an acknowledged filter stands for what was asked for: a boolean by `true` alone."""
    return given is True if wanted is True else bool(given)


def _belongs(wire_id: object, call: Call) -> bool:
    """Whether an id is that of a call which has left. Type and value count, as for replies: "1" is not 1."""
    return type(wire_id) is int and wire_id == call.wire_id and call.state is CallState.SENT
