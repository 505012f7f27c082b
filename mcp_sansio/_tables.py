"""All state transitions of the library, as tables.

A table maps (state, input) to the next state. Whoever owns a state changes it through `Table.next`
alone, so what can happen is what stands here; a pair that is missing cannot happen, and asking for
it is a bug that raises. What is *done* on a transition belongs to the owner of the state; a comment
says why a row is there where that is not plain. The diagrams in `docs/` are generated from these
rows, and a test fails when they are stale.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from ._errors import LocalProtocolError

S = TypeVar("S", bound=enum.Enum)
I = TypeVar("I", bound=enum.Enum)  # noqa: E741


class Word(enum.Enum):
    """A state, or what moves one. Hashed by identity, as it is compared: the hash of an `Enum` is a call."""

    if not TYPE_CHECKING:  # pragma: no branch - for type checkers this is a method, as it is in `Enum`
        __hash__ = object.__hash__


@attrs.frozen
class Table(Generic[S, I]):
    """One state machine: its name, what it is about, its first state and its rows."""

    name: str
    about: str
    start: S
    rows: Mapping[tuple[S, I], S]

    def next(self, state: S, event: I) -> S:
        """The state after `event`; `LocalProtocolError` where the table has no such row."""
        try:
            return self.rows[state, event]
        except KeyError:
            raise LocalProtocolError(f"{self.name}: {event.value} is impossible in {state.value}") from None


# --- client: which era ------------------------------------------------------------------------------


class Negotiation(Word):
    """How far a client is in finding out which era its server speaks."""

    DOWN = "down"
    PROBING = "probing"
    SHAKING = "shaking hands"
    OVERLAP = "both asked"
    MODERN = "modern"
    LEGACY = "legacy"
    FAILED = "failed"
    CLOSED = "closed"


class NegotiationInput(Word):
    """What moves a negotiation."""

    PROBE = "send server/discover"
    SHAKE = "send initialize"
    SILENCE = "probe unanswered"
    DISCOVERED = "modern answer"
    WELCOMED = "initialize answered"
    GIVE_UP = "no common ground"
    DETACH = "carrier lost"
    CLOSE = "close"


_UP = (
    Negotiation.PROBING,
    Negotiation.SHAKING,
    Negotiation.OVERLAP,
    Negotiation.MODERN,
    Negotiation.LEGACY,
)

NEGOTIATION = Table(
    "negotiation",
    "How a client finds out which era its server speaks.",
    Negotiation.DOWN,
    {
        (Negotiation.DOWN, NegotiationInput.PROBE): Negotiation.PROBING,
        # Straight to the handshake: only legacy versions are configured, or a verdict was handed in.
        (Negotiation.DOWN, NegotiationInput.SHAKE): Negotiation.SHAKING,
        # "The client retries with a supported version rather than falling back."
        (Negotiation.PROBING, NegotiationInput.PROBE): Negotiation.PROBING,
        (Negotiation.PROBING, NegotiationInput.DISCOVERED): Negotiation.MODERN,
        # "Anything else identifies a legacy server."
        (Negotiation.PROBING, NegotiationInput.SHAKE): Negotiation.SHAKING,
        # The probe is never cancelled, so its answer may still come while the handshake runs.
        (Negotiation.PROBING, NegotiationInput.SILENCE): Negotiation.OVERLAP,
        (Negotiation.PROBING, NegotiationInput.GIVE_UP): Negotiation.FAILED,
        (Negotiation.SHAKING, NegotiationInput.WELCOMED): Negotiation.LEGACY,
        (Negotiation.SHAKING, NegotiationInput.SHAKE): Negotiation.SHAKING,
        # The verdict that was handed in has failed, or initialize was answered by a modern error.
        (Negotiation.SHAKING, NegotiationInput.PROBE): Negotiation.PROBING,
        (Negotiation.SHAKING, NegotiationInput.GIVE_UP): Negotiation.FAILED,
        (Negotiation.OVERLAP, NegotiationInput.WELCOMED): Negotiation.LEGACY,
        (Negotiation.OVERLAP, NegotiationInput.SHAKE): Negotiation.OVERLAP,
        # initialize failed, and the late answer to the probe says modern.
        (Negotiation.OVERLAP, NegotiationInput.DISCOVERED): Negotiation.MODERN,
        (Negotiation.OVERLAP, NegotiationInput.PROBE): Negotiation.PROBING,
        (Negotiation.OVERLAP, NegotiationInput.GIVE_UP): Negotiation.FAILED,
        # Asked again before something was refused, for the first answer had become stale.
        (Negotiation.MODERN, NegotiationInput.DISCOVERED): Negotiation.MODERN,
        **{(state, NegotiationInput.DETACH): Negotiation.DOWN for state in _UP},
        **{(state, NegotiationInput.CLOSE): Negotiation.CLOSED for state in (Negotiation.DOWN, *_UP)},
    },
)


# --- both: a request of ours ------------------------------------------------------------------------


class CallState(Word):
    """Where a request of ours is."""

    QUEUED = "queued"
    SENT = "sent"
    ASKED = "input asked for"
    DONE = "done"


class CallInput(Word):
    """What moves a request of ours."""

    PULL = "pulled by the wire"
    ANSWER = "answered"
    ASK = "input_required"
    RESUME = "input provided"
    CANCEL = "cancelled"
    TIMEOUT = "timed out"
    LOSE = "carrier lost"
    CLOSE = "endpoint closed"


CALL = Table(
    "call",
    "A request that we make, through all its round trips.",
    CallState.QUEUED,
    {
        (CallState.QUEUED, CallInput.PULL): CallState.SENT,
        (CallState.SENT, CallInput.ANSWER): CallState.DONE,
        (CallState.SENT, CallInput.ASK): CallState.ASKED,
        (CallState.ASKED, CallInput.RESUME): CallState.QUEUED,
        # What never left is not lost with the carrier, nor is a request that waits for a person.
        (CallState.QUEUED, CallInput.LOSE): CallState.QUEUED,
        (CallState.ASKED, CallInput.LOSE): CallState.ASKED,
        (CallState.SENT, CallInput.LOSE): CallState.DONE,
        # No clock runs while somebody thinks about the answer.
        (CallState.QUEUED, CallInput.TIMEOUT): CallState.DONE,
        (CallState.SENT, CallInput.TIMEOUT): CallState.DONE,
        **{
            (state, end): CallState.DONE
            for state in (CallState.QUEUED, CallState.SENT, CallState.ASKED)
            for end in (CallInput.CANCEL, CallInput.CLOSE)
        },
    },
)


# --- client: the notification channel ---------------------------------------------------------------


class Listen(Word):
    """A client's `subscriptions/listen` stream."""

    OFF = "off"
    OPENING = "opening"
    LATE = "unacknowledged"
    LIVE = "live"
    WAITING = "backing off"
    REFUSED = "refused"


class ListenInput(Word):
    """What moves a listen stream."""

    OPEN = "send subscriptions/listen"
    ACK = "acknowledged"
    SILENCE = "no acknowledgement in time"
    END = "ended"
    REFUSE = "not offered"
    DETACH = "carrier lost"


LISTEN = Table(
    "listen",
    "The channel on which a modern server announces changes.",
    Listen.OFF,
    {
        (Listen.OFF, ListenInput.OPEN): Listen.OPENING,
        (Listen.WAITING, ListenInput.OPEN): Listen.OPENING,
        (Listen.OPENING, ListenInput.ACK): Listen.LIVE,
        # The list is walked without a channel then; a late acknowledgement invalidates it.
        (Listen.OPENING, ListenInput.SILENCE): Listen.LATE,
        (Listen.LATE, ListenInput.ACK): Listen.LIVE,
        (Listen.OPENING, ListenInput.END): Listen.WAITING,
        (Listen.LATE, ListenInput.END): Listen.WAITING,
        (Listen.LIVE, ListenInput.END): Listen.WAITING,
        # -32601, or an acknowledgement without any of our topics: remembered, never asked again.
        (Listen.OPENING, ListenInput.REFUSE): Listen.REFUSED,
        (Listen.LATE, ListenInput.REFUSE): Listen.REFUSED,
        **{(state, ListenInput.DETACH): Listen.OFF for state in Listen},
    },
)


# --- client: walking a list -------------------------------------------------------------------------


class Walk(Word):
    """What a cached list is doing about its freshness."""

    IDLE = "idle"
    WANTED = "wanted"
    WALKING = "walking"
    AGAIN = "walking, one more wanted"


class WalkInput(Word):
    """What moves a cached list."""

    WANT = "somebody wants a newer list"
    START = "first page requested"
    FINISH = "walk over"
    ABORT = "walk dropped"
    UNWANT = "nobody wants it any more"


WALK = Table(
    "walk",
    "A client's cached list: at most one walk runs and at most one is queued, whatever the storm.",
    Walk.IDLE,
    {
        (Walk.IDLE, WalkInput.WANT): Walk.WANTED,
        (Walk.WANTED, WalkInput.WANT): Walk.WANTED,
        (Walk.WALKING, WalkInput.WANT): Walk.AGAIN,
        (Walk.AGAIN, WalkInput.WANT): Walk.AGAIN,
        (Walk.WANTED, WalkInput.START): Walk.WALKING,
        (Walk.WALKING, WalkInput.FINISH): Walk.IDLE,
        (Walk.AGAIN, WalkInput.FINISH): Walk.WANTED,
        (Walk.WALKING, WalkInput.ABORT): Walk.IDLE,
        (Walk.AGAIN, WalkInput.ABORT): Walk.WANTED,
        (Walk.WANTED, WalkInput.UNWANT): Walk.IDLE,
        (Walk.AGAIN, WalkInput.UNWANT): Walk.WALKING,
        (Walk.IDLE, WalkInput.UNWANT): Walk.IDLE,
        (Walk.WALKING, WalkInput.UNWANT): Walk.WALKING,
    },
)


# --- both: coalescing -------------------------------------------------------------------------------


class Burst(Word):
    """Whether a change waits to be acted on."""

    QUIET = "quiet"
    HOLDING = "holding"


class BurstInput(Word):
    """What moves a coalescer."""

    LEAD = "first change after quiet"
    HIT = "change"
    FIRE = "quiet period or maximum wait over"


COALESCER = Table(
    "coalescer",
    "Many changes, few actions: the first acts at once, the rest together, the last one always.",
    Burst.QUIET,
    {
        (Burst.QUIET, BurstInput.LEAD): Burst.QUIET,
        (Burst.QUIET, BurstInput.HIT): Burst.HOLDING,
        (Burst.HOLDING, BurstInput.HIT): Burst.HOLDING,
        (Burst.HOLDING, BurstInput.FIRE): Burst.QUIET,
    },
)


# --- server -----------------------------------------------------------------------------------------


class Session(Word):
    """The legacy handshake on a stream."""

    NONE = "no session"
    ANSWERED = "initialize answered"
    READY = "initialized"


class SessionInput(Word):
    """What moves a legacy session."""

    INITIALIZE = "initialize"
    INITIALIZED = "notifications/initialized"


SESSION = Table(
    "session",
    "A server's legacy session: requests are served once initialize is answered, notifications go out "
    "only after the client has said that it is ready.",
    Session.NONE,
    {
        (Session.NONE, SessionInput.INITIALIZE): Session.ANSWERED,
        (Session.NONE, SessionInput.INITIALIZED): Session.NONE,
        (Session.ANSWERED, SessionInput.INITIALIZED): Session.READY,
        (Session.READY, SessionInput.INITIALIZED): Session.READY,
    },
)


class Reply(Word):
    """A request of the peer's."""

    OWED = "reply owed"
    ANSWERED = "answered"
    CANCELLED = "cancelled"


class ReplyInput(Word):
    """What settles a request of the peer's."""

    ANSWER = "result or error"
    CANCEL = "cancelled by the peer"
    DROP = "stream ended"


REPLY = Table(
    "reply",
    "A request of the peer's: answered once, or not at all after a cancellation.",
    Reply.OWED,
    {
        (Reply.OWED, ReplyInput.ANSWER): Reply.ANSWERED,
        (Reply.OWED, ReplyInput.CANCEL): Reply.CANCELLED,
        (Reply.OWED, ReplyInput.DROP): Reply.CANCELLED,
    },
)


class Subscription(Word):
    """A listener of a server's: a listen stream, or a legacy session."""

    CLEAN = "up to date"
    DIRTY = "notification pending"
    ENDED = "ended"


class SubscriptionInput(Word):
    """What moves a listener."""

    CHANGE = "changed"
    PULL = "notification pulled"
    END = "ended"


SUBSCRIPTION = Table(
    "subscription",
    "A server's listener and topic: one dirty bit, so that a slow reader never queues two notifications.",
    Subscription.CLEAN,
    {
        (Subscription.CLEAN, SubscriptionInput.CHANGE): Subscription.DIRTY,
        (Subscription.DIRTY, SubscriptionInput.CHANGE): Subscription.DIRTY,
        (Subscription.DIRTY, SubscriptionInput.PULL): Subscription.CLEAN,
        (Subscription.CLEAN, SubscriptionInput.END): Subscription.ENDED,
        (Subscription.DIRTY, SubscriptionInput.END): Subscription.ENDED,
    },
)


# --- both: the byte channel -------------------------------------------------------------------------


class Channel(Word):
    """A wire with bytes on both sides."""

    OPEN = "open"
    HALF = "peer finished"
    CLOSING = "closing"
    CLOSED = "closed"


class ChannelInput(Word):
    """What moves a wire."""

    EOF = "end of input"
    CLOSE = "close"
    DRAINED = "output drained"
    ABORT = "abort"


CHANNEL = Table(
    "channel",
    "A byte channel: what was queued is still written after the last byte has been read.",
    Channel.OPEN,
    {
        (Channel.OPEN, ChannelInput.EOF): Channel.HALF,
        (Channel.OPEN, ChannelInput.CLOSE): Channel.CLOSING,
        (Channel.HALF, ChannelInput.CLOSE): Channel.CLOSING,
        (Channel.CLOSING, ChannelInput.CLOSE): Channel.CLOSING,
        (Channel.CLOSING, ChannelInput.DRAINED): Channel.CLOSED,
        (Channel.CLOSED, ChannelInput.CLOSE): Channel.CLOSED,
        **{(state, ChannelInput.ABORT): Channel.CLOSED for state in Channel},
    },
)


TABLES: tuple[Table[Any, Any], ...] = (
    NEGOTIATION,
    CALL,
    LISTEN,
    WALK,
    COALESCER,
    SESSION,
    REPLY,
    SUBSCRIPTION,
    CHANNEL,
)
"""Every table, in the order in which the documentation shows them."""
