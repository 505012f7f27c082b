"""The one call table: requests of ours, from the command to the last reply.

A call is opened with its parameters encoded at once, waits in the endpoint's outbox, leaves with an
id, and ends exactly once: with a reply, or with a `Failure`. Two clocks run while the peer owes a
reply: a quiet one, which progress restarts, and a total one, which nothing does ("implementations
SHOULD always enforce a maximum timeout, regardless of progress notifications"). Ids are counted and
never used twice in the life of an endpoint, so a late reply can never be taken for another one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol, TypedDict, TypeGuard, cast

import attrs

from ._checks import from_
from ._contract import Send
from ._errors import Failure, InvalidMessage, InvalidReply, LocalProtocolError, TimedOut
from ._events import CallFailed, CallId, CallSucceeded, Op, ProgressReported
from ._json import RequestId, decode, encode, encode_name, notification_bytes, request_bytes
from ._json import members as object_members
from ._machine import MachineBase
from ._meta import CLIENT_CAPABILITIES, CLIENT_INFO, VERSION
from ._tables import CALL, CallInput, CallState

_SENT = CallState.SENT  # an attribute of an enum costs as much as a call
_PULL, _ANSWER = CallInput.PULL, CallInput.ANSWER

RESERVED_META = ("progressToken", VERSION, CLIENT_INFO, CLIENT_CAPABILITIES)
"""`_meta` members of a request that only the endpoint itself writes."""


@attrs.frozen
class Reply:
    """A result, as its raw JSON object."""

    raw: bytes

    def decode(self) -> dict[str, Any]:
        """The result as plain values; `InvalidMessage` for what an envelope scan cannot see."""
        value: dict[str, Any] = decode(self.raw)
        return value


Outcome = Reply | Failure
"""What became of a call."""


class Owner(Protocol):
    """Who is told how a call ended; without one, the application is, by an event."""

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """The call is over; `call` is to be read only."""


Recognizes = Callable[[bytes], bool]
"""Whether a result is known to be well-formed and complete."""


@attrs.frozen
class Limits:
    """How long a call may take, in seconds; None is for ever. `quiet` is without progress, `total` in all."""

    quiet: float | None = attrs.field(default=None, validator=from_(0))
    total: float | None = attrs.field(default=None, validator=from_(0))


@attrs.define(eq=False)
class Call:
    """One request of ours. Layers read `id`, `method`, `op`, `rounds` (how often input was asked for) and
    `wire_id` (that of the last leg; what is asked later has a higher one). `recognizes` tells whether a
    result is for certain well-formed and complete, without reading it; `recognized` is the one that was.
    """

    id: CallId
    wire_id: int
    method: str
    members: bytes
    meta: bytes
    limits: Limits
    owner: Owner | None
    op: Op | None
    wants_progress: bool
    urgent: bool
    recognizes: Recognizes | None
    state: CallState = CALL.start
    quiet_at: float | None = None
    total_at: float | None = None
    progress: float | None = None
    rounds: int = 0
    asked: Mapping[str, Any] | None = None
    answers: bytes = b""
    request_state: str | None = None
    recognized: bytes | None = None

    def message(self, protocol_meta: bytes = b"") -> Send:
        """The request of the next leg; `protocol_meta` are the `_meta` members that the era asks for."""
        progress = b'"progressToken":%d' % self.wire_id if self.wants_progress else b""
        params, meta = _joined(self.members, self.answers), _joined(protocol_meta, progress, self.meta)
        data = request_bytes(self.wire_id, self.method, _object(params), meta or None)
        return Send(data, self.method, self.wire_id)


def _object(members: bytes) -> bytes | None:
    return b"{" + members + b"}" if members else None


def _joined(*members: bytes) -> bytes:
    return b",".join(filter(None, members))


def cancellation(wire_id: RequestId) -> Send:
    """The message that a request is over for whoever sends this."""
    method = "notifications/cancelled"
    return Send(notification_bytes(method, encode({"requestId": wire_id}), None), method)


def check_method(method: str) -> None:
    """Raise `LocalProtocolError` for a method that cannot be sent, before anything has happened."""
    if not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # the caller may be untyped
        raise LocalProtocolError(f"a method is a string, not {method!r}")
    encode_name(method)


def encode_members(value: Mapping[str, Any] | None) -> bytes:
    """Encoded members of a params object; `LocalProtocolError` if it cannot be sent."""
    if not value:
        return b""
    if "_meta" in value:
        raise LocalProtocolError("pass _meta with the `meta` argument")
    return object_members(value)


def encode_meta(meta: Mapping[str, Any] | None) -> bytes:
    """Encoded `_meta` members of the caller's own, trace context for example."""
    if not meta:
        return b""
    for key in meta:
        if key in RESERVED_META:
            raise LocalProtocolError(f"_meta member {key!r} is set by the library")
    return object_members(meta)


def encode_notification(
    method: str, params: Mapping[str, Any] | None, meta: Mapping[str, Any] | None = None
) -> Send:
    """A notification of the caller's own; `LocalProtocolError` if it cannot be sent."""
    check_method(method)
    members, extra = encode_members(params), encode_meta(meta)
    return Send(notification_bytes(method, _object(members), extra or None), method)


class CallOptions(TypedDict, total=False):
    """What a call may be opened with, as `Calls.open` has it."""

    meta: bytes
    limits: Limits | None
    owner: Owner | None
    op: Op | None
    progress: bool
    urgent: bool
    recognizes: Recognizes | None


class Calls:
    """All calls of an endpoint that have not ended."""

    def __init__(self, machine: MachineBase, limits: Limits, abandoned: Callable[[Call], None]) -> None:
        """`limits` are those of calls without their own. `abandoned` is called for a call that ends while
        the peer still owes its reply.
        """
        self._machine = machine
        self._limits = limits
        self._abandoned = abandoned
        self._by_id: dict[int, Call] = {}
        self._by_wire: dict[int, Call] = {}
        self._wire_ids = 0

    def open(
        self,
        method: str,
        members: bytes,
        now: float,
        *,
        meta: bytes = b"",
        limits: Limits | None = None,
        owner: Owner | None = None,
        op: Op | None = None,
        progress: bool = False,
        urgent: bool = False,
        recognizes: Recognizes | None = None,
    ) -> Call:
        """A new call, its clocks running: `members` and `meta` are those of its params, as `encode_members`
        and `encode_meta` make them. `LocalProtocolError`, with no effect, for a method that cannot be sent.
        """
        check_method(method)
        limits, identity = limits or self._limits, self._machine.new_call_id()
        call = Call(identity, 0, method, members, meta, limits, owner, op, progress, urgent, recognizes)
        self._by_id[identity.number] = call
        self._start_leg(call, self._machine.tick(now))
        return call

    def _start_leg(self, call: Call, now: float) -> None:
        """Each leg of a multi round-trip is a request of its own: a new id, and clocks of its own."""
        self._wire_ids += 1
        self._by_wire.pop(call.wire_id, None)
        call.wire_id = self._wire_ids
        self._by_wire[call.wire_id] = call
        call.progress = None
        call.quiet_at = None if call.limits.quiet is None else now + call.limits.quiet
        call.total_at = None if call.limits.total is None else now + call.limits.total
        self._arm(call)

    def _arm(self, call: Call) -> None:
        quiet, total = call.quiet_at, call.total_at
        end = quiet if total is None or (quiet is not None and quiet < total) else total
        if end is not None:
            self._machine.set_timer(self._timed_out, end, call)

    def _timed_out(self, key: Hashable, now: float) -> None:
        call = cast("Call", key)  # set by `_arm` alone
        if call.total_at is not None and call.total_at <= now:
            failure = TimedOut("total", call.limits.total or 0.0)
        else:
            failure = TimedOut("quiet", call.limits.quiet or 0.0)
        self.end(call, CallInput.TIMEOUT, failure, now)

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, identity: CallId) -> Call | None:
        """The call, unless it has ended."""
        return self._by_id.get(identity.number)

    def answered(self, wire_id: RequestId | None) -> Call | None:
        """The call that a reply with this id is for; None for an unknown or late one."""
        call = self._by_wire.get(wire_id) if type(wire_id) is int else None
        return call if call is not None and call.state is _SENT else None

    def recognizes(self, wire_id: RequestId, result: bytes) -> bool:
        """Whether `result` is known to be a well-formed and complete reply to this request."""
        call = self.answered(wire_id)
        if call is None or call.recognizes is None or not call.recognizes(result):
            return False
        call.recognized = result
        return True

    def pulled(self, call: Call) -> None:
        """The wire has taken the call's current leg."""
        call.state = CALL.next(call.state, _PULL)

    def ask(self, call: Call, requests: Mapping[str, Any] | None, request_state: str | None) -> None:
        """The peer wants input before it goes on; the clocks stop while somebody thinks."""
        call.state = CALL.next(call.state, CallInput.ASK)
        call.rounds += 1
        call.asked = requests
        call.request_state = request_state
        self._machine.cancel_timer(self._timed_out, call)

    def resume(self, call: Call, answers: bytes, now: float) -> None:
        """The next leg; `answers` are the encoded members that it adds to the params."""
        call.state = CALL.next(call.state, CallInput.RESUME)
        call.answers = answers
        call.asked = None
        self._start_leg(call, now)

    def progressed(self, params: Mapping[str, Any], now: float) -> str | None:
        """Take a progress notification in; a sentence if it was out of order."""
        token = params.get("progressToken")
        call = self._by_wire.get(token) if type(token) is int else None
        if call is None or not call.wants_progress or call.state is not CallState.SENT:
            return "progress for no request in flight"
        value, total, message = params.get("progress"), params.get("total"), params.get("message")
        if not _is_number(value):
            return "progress is not a number"
        if call.progress is not None and value <= call.progress:
            return "progress does not increase"
        call.progress = value
        if call.limits.quiet is not None:
            call.quiet_at = now + call.limits.quiet
            self._arm(call)
        self._machine.emit(
            ProgressReported(
                call.id,
                value,
                total if _is_number(total) else None,
                message if isinstance(message, str) else None,
                call.op,
            )
        )
        return None

    def end(self, call: Call, how: CallInput, outcome: Outcome, now: float) -> None:
        """End a call, once, and tell whoever owns it."""
        owed = how is not _ANSWER and call.state is _SENT and how in (CallInput.CANCEL, CallInput.TIMEOUT)
        call.state = CALL.next(call.state, how)
        del self._by_id[call.id.number]
        del self._by_wire[call.wire_id]
        self._machine.cancel_timer(self._timed_out, call)
        if owed:
            self._abandoned(call)
        if call.owner is not None:
            call.owner.concluded(call, outcome, now)
        else:
            self._machine.emit(_generic(call.id, outcome))

    def end_all(self, how: CallInput, failure: Failure, now: float) -> None:
        """End what the loss of a carrier, or the end of the endpoint, ends."""
        for call in list(self._by_id.values()):
            if CALL.next(call.state, how) is CallState.DONE:
                self.end(call, how, failure, now)


def _is_number(value: object) -> TypeGuard[float]:
    return type(value) in (int, float)


def _generic(call: CallId, outcome: Outcome) -> CallSucceeded | CallFailed:
    """The event for a call that belongs to no layer."""
    if not isinstance(outcome, Reply):
        return CallFailed(call, outcome)
    try:
        return CallSucceeded(call, outcome.decode())
    except InvalidMessage as error:
        return CallFailed(call, InvalidReply(str(error)))
