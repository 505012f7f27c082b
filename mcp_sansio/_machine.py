"""What a client and a server have in common as machines: one event queue, one timer table, one list
of wires with something to do, one clock.

Time is the argument `now`: float seconds, monotonic, of any origin. A `now` that goes backwards is
clamped. A timer is a bound method and an argument, kept under exactly that key, so that whoever set
it can cancel it and nobody has to look up what a name means.

A queue is there only while something is in it: an empty `deque` occupies 760 bytes, and whoever keeps
many connections keeps many idle ones.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable
from typing import cast

from ._contract import Port
from ._events import CallId, Event, Op
from ._timers import Timers

Handler = Callable[[Hashable, float], None]


class MachineBase:
    """The queues and the clock of a machine."""

    def __init__(self) -> None:
        self._events: deque[Event] | None = None
        self._timers = Timers()
        self._ready: deque[Port] | None = None
        self._awake: set[Port] = set()
        self._clock = -math.inf
        self._ops = 0
        self._calls_made = 0

    def next_ready(self) -> Port | None:
        """A wire with output, or whose `closed` changed; None when every wire has been seen."""
        if not self._ready:
            self._ready = None
            return None
        wire = self._ready.popleft()
        self._awake.discard(wire)
        return wire

    def next_event(self) -> Event | None:
        """The next event, in the order in which things happened."""
        if self._events:
            return self._events.popleft()
        self._events = None
        return None

    def next_timeout(self) -> float | None:
        """The earliest moment at which `handle_timeout` has something to do."""
        return self._timers.next()

    def handle_timeout(self, now: float) -> None:
        """Run what is due at `now`; early and repeated calls do nothing."""
        now = self.tick(now)
        while (key := self._timers.pop(now)) is not None:
            handler, argument = cast("tuple[Handler, Hashable]", key)  # set by `set_timer` alone
            handler(argument, now)

    def tick(self, now: float) -> float:
        """`now`, clamped so that time never goes backwards."""
        if now > self._clock:  # noqa: PLR1730 - `max` would be another call
            self._clock = now
        return self._clock

    def wake(self, wire: Port) -> None:
        """Have `wire` returned by `next_ready`, once."""
        if wire not in self._awake:
            self._awake.add(wire)
            if self._ready is None:
                self._ready = deque()
            self._ready.append(wire)

    def emit(self, event: Event) -> None:
        """Queue an event for the application."""
        if self._events is None:
            self._events = deque()
        self._events.append(event)

    def set_timer(self, handler: Handler, when: float, argument: Hashable = None) -> None:
        """Call `handler(argument, now)` at `when`; a timer set before under the same key is moved."""
        self._timers.set((handler, argument), when)

    def cancel_timer(self, handler: Handler, argument: Hashable = None) -> None:
        """Forget a timer; no harm if there is none."""
        self._timers.cancel((handler, argument))

    def new_call_id(self) -> CallId:
        """A handle for a request of ours."""
        self._calls_made += 1
        return CallId(self._calls_made)

    def new_op(self, kind: str) -> Op:
        """A handle for a command of a layer."""
        self._ops += 1
        return Op(self._ops, kind)
