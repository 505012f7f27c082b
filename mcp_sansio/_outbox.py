"""What a client has to say, in the order in which it leaves.

What is urgent goes first, and it alone leaves before the era of the server is known: negotiation, and what
is owed whoever the server is. Everything else waits behind that barrier. A queue is there only while
something is in it: an empty `deque` occupies 760 bytes, and an idle client has nothing to say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TypeAlias, TypeGuard

from ._calls import Call
from ._contract import Outgoing
from ._tables import CallState

_QUEUED = CallState.QUEUED  # an attribute of an enum costs as much as a call

Entry: TypeAlias = Call | Outgoing


class Outbox:
    """The two queues of a client."""

    def __init__(self) -> None:
        self._urgent: deque[Entry] | None = None
        self._others: deque[Entry] | None = None

    def post(self, entry: Entry) -> None:
        """Queue something that waits for the era."""
        self._others = _with(self._others, entry)

    def post_urgent(self, entry: Entry) -> None:
        """Queue something that leaves ahead of everything that waits."""
        self._urgent = _with(self._urgent, entry)

    def next(self, *, era_known: bool) -> Entry | None:
        """What may leave now."""
        if self._urgent:
            return self._urgent.popleft()
        self._urgent = None
        if self._others and era_known:
            return self._others.popleft()
        self._others = self._others or None
        return None

    def detach(self) -> list[Call]:
        """The carrier is gone: calls wait for the next one, but for the urgent, which are returned; messages
        were meant for this one.
        """
        urgent = self._urgent or ()
        self._urgent, self._others = None, _queue(filter(waits, self._others or ()))
        return [*filter(waits, urgent)]

    def finish(self, *, era_known: bool) -> None:
        """Nothing more is asked; what asks for no reply still leaves, if it was free to."""
        left = (*(self._urgent or ()), *((self._others or ()) if era_known else ()))
        self._urgent, self._others = _queue(entry for entry in left if not isinstance(entry, Call)), None


def waits(entry: Entry) -> TypeGuard[Call]:
    """Whether an entry is a call that has neither left nor ended."""
    return isinstance(entry, Call) and entry.state is _QUEUED


def _with(queue: deque[Entry] | None, entry: Entry) -> deque[Entry]:
    if queue is None:
        return deque((entry,))
    queue.append(entry)
    return queue


def _queue(entries: Iterable[Entry]) -> deque[Entry] | None:
    return deque(entries) or None
