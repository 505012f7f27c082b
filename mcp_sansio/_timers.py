"""One table for every deadline of an endpoint.

Keys name what waits; each has at most one deadline. The table is a heap with lazy deletion: setting
a key again or cancelling it leaves a dead record behind, which is dropped when it comes to the top,
or with all others once the dead outnumber the living. The top is always alive, so that asking for the
next deadline changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from math import isnan
from typing import final

from ._errors import LocalProtocolError


@final
class Timers:
    """Deadlines by key, in absolute seconds of the clock that `now` is read from.

    `None` is no key, for `pop` answers it when nothing is due.
    """

    __slots__ = ("_heap", "_live", "_serial")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Hashable]] = []  # the serial is unique: keys are never compared
        self._live: dict[Hashable, int] = {}
        self._serial = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._live

    def set(self, key: Hashable, when: float) -> None:
        """Let `key` fall due at `when`, in place of any deadline that it had.

        Raises `LocalProtocolError` for a NaN, which has no place in any order.
        """
        if isnan(when):
            raise LocalProtocolError("a deadline must be a number of seconds, not NaN")
        self._serial += 1
        moved = key in self._live
        self._live[key] = self._serial
        heapq.heappush(self._heap, (when, self._serial, key))
        if moved:
            self._drop_dead()

    def cancel(self, key: Hashable) -> None:
        """Forget `key`; one that is not set is fine."""
        serial = self._live.pop(key, None)
        if serial is not None and (self._heap[0][1] == serial or len(self._heap) > 2 * len(self._live)):
            self._drop_dead()

    def next(self) -> float | None:
        """The earliest deadline, or None when nothing waits."""
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> Hashable | None:
        """Take one key that is due (`when <= now`), or None.

        Earlier deadlines come first, equal ones in the order in which they were set.
        """
        if not self._heap or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._live[key]
        self._drop_dead()
        return key

    def _drop_dead(self) -> None:
        heap, live = self._heap, self._live
        while heap and live.get(heap[0][2]) != heap[0][1]:
            heapq.heappop(heap)
        if len(heap) > 2 * len(live):
            self._heap = [record for record in heap if live.get(record[2]) == record[1]]
            heapq.heapify(self._heap)
