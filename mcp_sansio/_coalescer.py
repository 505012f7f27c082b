"""Many changes, few actions: how both ends thin out a storm.

The first change after quiet acts at once. Those that follow are held until either nothing has
happened for `quiet` seconds or the oldest held one has waited `max_wait` seconds, whichever comes
first; so a storm cannot starve the action, and the last change is always followed by one. The server
thins its notifications with this, the client its refetches.
"""

from __future__ import annotations

import math

from ._tables import COALESCER, Burst, BurstInput


class Coalescer:
    """When to act on a stream of changes. Pure: the caller keeps the timer."""

    def __init__(self, quiet: float, max_wait: float) -> None:
        self._quiet = quiet
        self._max_wait = max_wait
        self._state = COALESCER.start
        self._first = -math.inf
        self._last = -math.inf

    @property
    def due(self) -> float | None:
        """When to call `fire`; None while nothing is held."""
        if self._state is Burst.QUIET:
            return None
        return min(self._last + self._quiet, self._first + self._max_wait)

    def hit(self, now: float, *, busy: bool = False) -> bool:
        """Record a change; true if it is to be acted on at once. A change that comes while the action that
        an earlier one caused is still under way (`busy`) is held, too.
        """
        leads = self._state is Burst.QUIET and now >= self._last + self._quiet and not busy
        self._state = COALESCER.next(self._state, BurstInput.LEAD if leads else BurstInput.HIT)
        if self._state is Burst.HOLDING and self._first == -math.inf:
            self._first = now
        self._last = now
        return leads

    def fire(self, now: float) -> bool:
        """Whether something was held; it is to be acted on now, and `now` begins a new quiet period."""
        if self._state is Burst.QUIET:
            return False
        self._state = COALESCER.next(self._state, BurstInput.FIRE)
        self._first = -math.inf
        self._last = now
        return True
