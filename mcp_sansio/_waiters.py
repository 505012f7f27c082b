"""Who waits for a list: those who will get the walk that runs, and those who will get the next one.

Everybody waits for a time of their own, and gets one answer. When the connection is lost in the middle of
a walk, who waited for it waits for a walk on the next connection, once; who waited for a walk that had not
begun has lost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, cast

import attrs

from ._errors import Failure, Lost, TimedOut
from ._events import Op, WalkFailed
from ._snapshot import Snapshot

if TYPE_CHECKING:
    from ._client import Client

Result = Snapshot | Failure | WalkFailed
Answer = Callable[[Result, float], None]


@attrs.define(eq=False)
class _Waiter:
    answer: Answer
    limit: float | None
    moved: bool = False


class Waiters:
    """Everybody who waits for one list."""

    def __init__(self, left: Callable[[float], None]) -> None:
        """`left` is called when somebody has waited too long."""
        self._left = left
        self._joined: dict[int, _Waiter] = {}  # by the number of the op, whose own hash is a call
        self._queued: dict[int, _Waiter] = {}

    def bind(self, client: Client) -> None:
        """Called once, by the list."""
        self._client = client

    @property
    def joined(self) -> bool:
        """Whether somebody waits for the walk that runs."""
        return bool(self._joined)

    @property
    def queued(self) -> bool:
        """Whether somebody waits for the next walk."""
        return bool(self._queued)

    def join(self, op: Op, answer: Answer, now: float, limit: float | None) -> None:
        """Wait for the walk that runs, for `limit` seconds; None is for ever."""
        self._joined[op.number] = self._waiter(op.number, answer, now, limit)

    def queue(self, op: Op, answer: Answer, now: float, limit: float | None) -> None:
        """Wait for the next walk, for `limit` seconds; None is for ever."""
        self._queued[op.number] = self._waiter(op.number, answer, now, limit)

    def _waiter(self, op: int, answer: Answer, now: float, limit: float | None) -> _Waiter:
        if limit is not None:
            self._client.set_timer(self._late, now + limit, op)
        return _Waiter(answer, limit)

    def leave(self, op: Op) -> bool:
        """`op` waits no longer, if it did."""
        number = op.number
        self._client.cancel_timer(self._late, number)
        return (self._joined.pop(number, None) or self._queued.pop(number, None)) is not None

    def _give(self, op: int, result: Result, now: float) -> None:
        waiter = self._joined.pop(op, None) or self._queued.pop(op)
        if waiter.limit is not None:
            self._client.cancel_timer(self._late, op)
        waiter.answer(result, now)

    def _late(self, key: Hashable, now: float) -> None:
        op = cast("int", key)
        waiter = self._joined.get(op) or self._queued[op]
        self._give(op, TimedOut("total", waiter.limit or 0.0), now)
        self._left(now)

    def started(self) -> None:
        """A walk starts: everybody will get it."""
        self._joined, self._queued = {**self._joined, **self._queued}, {}

    def dropped(self) -> None:
        """The walk is dropped: everybody waits for the next one."""
        self._joined, self._queued = {}, {**self._joined, **self._queued}

    def lost(self, reason: str, now: float) -> None:
        """The connection is gone in the middle of a walk: who has lost one before waits no longer."""
        for op, waiter in [*self._joined.items()]:
            if waiter.moved:
                self._give(op, Lost(reason), now)
            waiter.moved = True

    def answer(self, result: Result, now: float) -> None:
        """The walk is over."""
        for op in [*self._joined]:
            self._give(op, result, now)

    def fail(self, failure: Failure, now: float) -> None:
        """There will be no walk."""
        for op in [*self._joined, *self._queued]:
            self._give(op, failure, now)
