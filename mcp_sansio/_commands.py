"""Commands of a layer that are one request each: a get, a completion, a page by hand.

A command that is given before the era is known waits for that, its clocks running; so does one that has
lost its request with the carrier and may be repeated. Nothing is ever asked of a server that has not
declared what the command needs. Each command ends once, by an event.
"""

from __future__ import annotations

import abc
from collections.abc import Hashable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, cast

import attrs

from ._calls import Limits, Outcome, Owner, Reply
from ._errors import Failure, InvalidMessage, InvalidReply, NotSupported, TimedOut
from ._events import CallId, Event, Op, OpFailed
from ._listing import Listing

if TYPE_CHECKING:
    from ._client import Client


@attrs.define(eq=False, kw_only=True)
class Command(abc.ABC):
    """A command under way: `began` is when it was given, `members` and `meta` are those of its params,
    encoded, and `limits` are its own, if it has any; `op` is its handle, `call` its request, if it has had
    one, `timed` whether a timer has been set for it, and `late` what becomes of it if it waits too long for a
    request.
    """

    method: str
    began: float
    members: bytes = b""
    limits: Limits | None = None
    meta: bytes = b""
    progress: bool = False
    op: Op = attrs.field(init=False)
    call: CallId | None = None
    timed: bool = False
    late: TimedOut = attrs.field(default=TimedOut("total", 0.0))

    def gate(self, client: Client) -> NotSupported | None:
        """What the server has not declared, besides what is listed."""
        return None

    def prepare(self, client: Client) -> bytes:
        """The request is about to be made: its params in the form that the negotiated revision has."""
        return self.members

    @abc.abstractmethod
    def read(self, op: Op, raw: bytes) -> Event:
        """The event that a result means; `InvalidMessage` if it has not the right form."""


class Commands:
    """The commands of a layer that have not ended."""

    def __init__(self, listing: Listing, owner: Owner) -> None:
        self._listing = listing
        self._owner = owner
        self._commands: dict[int, Command] = {}  # by the number of the op, whose own hash is a call

    def bind(self, client: Client) -> None:
        """Called once, by the layer."""
        self._client = client

    def __iter__(self) -> Iterator[Op]:
        return iter([command.op for command in self._commands.values()])

    def find(self, op: Op | None) -> Command | None:
        """The command, unless it has ended."""
        return None if op is None else self._commands.get(op.number)

    def begin(self, op: Op, command: Command, now: float) -> None:
        """Carry a command out."""
        command.op = op
        self._commands[op.number] = command
        self.send(op, now)

    def send(self, op: Op, now: float) -> None:
        """Make the request of a command, for the first time or again; wait if that cannot be now."""
        command, client = self._commands[op.number], self._client
        gate = self._gate(command)
        if gate is not None and not client.recheck(now):
            self.fail(op, gate, now)
        elif gate is not None or client.era is None:
            self._wait(op, command, now)
        else:
            if command.timed:
                self._untimed(op, command)
            command.call = client.open_call(
                command.method,
                command.prepare(client),
                now,
                meta=command.meta,
                limits=self._limits(command, now),
                progress=command.progress,
                owner=self._owner,
                op=op,
            ).id

    def send_again(self, op: Op, now: float) -> None:
        """Have the request made once more, but not now, inside its loss."""
        command = self._commands[op.number]
        command.call, command.timed = None, True
        self._client.set_timer(self._send_again, now, op)

    def opened(self, now: float) -> None:
        """The era is known: go on with what waited for it."""
        for command in [*self._commands.values()]:
            op = command.op
            if command.call is None or self._gate(command) is not None:
                self._client.cancel_timer(self._send_again, op)
                self.send(op, now)

    def settle(self, op: Op, outcome: Outcome, now: float) -> None:
        """End a command by what became of its request."""
        if not isinstance(outcome, Reply):
            self.fail(op, outcome, now)
            return
        try:
            command = self._commands[op.number]
            event = command.read(op, outcome.raw)
        except InvalidMessage as error:
            self.fail(op, InvalidReply(str(error)), now)
            return
        command.call = None  # which has ended
        self.end(op, event, now)

    def fail(self, op: Op, failure: Failure, now: float) -> None:
        """End a command without its answer."""
        self.end(op, OpFailed(op, failure, self._listing.snapshot), now)

    def end(self, op: Op, event: Event, now: float) -> None:
        """End a command by `event`, and its request with it."""
        command = self._commands.pop(op.number)
        if command.timed:
            self._untimed(op, command)
        if command.call is not None:
            self._client.cancel(command.call, now)
        self._client.emit(event)

    def _untimed(self, op: Op, command: Command) -> None:
        for timer in (self._expired, self._send_again):
            self._client.cancel_timer(timer, op)
        command.timed = False

    def _gate(self, command: Command) -> NotSupported | None:
        return self._listing.gate() or (None if self._client.era is None else command.gate(self._client))

    def _limits(self, command: Command, now: float) -> Limits:
        """The total clock runs from the command on, the quiet one from the request."""
        given = self._given(command)
        if given.total is None or now == command.began:
            return given
        return Limits(given.quiet, max(0.0, given.total - (now - command.began)))

    def _given(self, command: Command) -> Limits:
        return command.limits or self._client.limits

    def _wait(self, op: Op, command: Command, now: float) -> None:
        limits = self._limits(command, now)
        ends: list[tuple[float, TimedOut]] = []
        if limits.quiet is not None:
            ends.append((limits.quiet, TimedOut("quiet", limits.quiet)))
        if limits.total is not None:
            ends.append((limits.total, TimedOut("total", self._given(command).total or 0.0)))
        if ends:
            seconds, command.late = min(ends, key=itemgetter(0))
            command.timed = True
            self._client.set_timer(self._expired, now + seconds, op)

    def _expired(self, key: Hashable, now: float) -> None:
        op = cast("Op", key)
        self.fail(op, self._commands[op.number].late, now)

    def _send_again(self, key: Hashable, now: float) -> None:
        self.send(cast("Op", key), now)
