"""One turn of a machine: what an adapter does after any input, any command and any timeout.

Events are handled, wires with something to do are flushed, and whatever that brought about is handled, until
there is neither. Events come first: whoever is answered finds that what he said before has been heard. What
`flush` means is the adapter's own affair; it is called on the wire's token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from mcp_sansio import Machine


@attrs.frozen
class Traffic:
    """What has gone through a client's connections so far."""

    bytes_sent: int = 0
    bytes_received: int = 0
    messages_sent: int = 0
    messages_received: int = 0


@attrs.define
class Meter:
    """Counts the bytes that go over wires."""

    sent: int = 0
    received: int = 0


class Pump:
    """Drives one machine. `handle` gets every event, `rearm` the moment of the next timeout, if it moved."""

    def __init__(
        self, machine: Machine, handle: Callable[[Any], None], rearm: Callable[[float | None], None]
    ) -> None:
        self._machine = machine
        self._handle = handle
        self._rearm = rearm
        self._armed: float | None = None
        self._turning = False

    def turn(self) -> None:
        """Handle and flush until nothing is left. A turn inside a turn is the outer one's business."""
        if self._turning:
            return
        self._turning = True
        try:
            self._settle()
        finally:
            self._turning = False
        when = self._machine.next_timeout()
        if when != self._armed:
            self._armed = when
            self._rearm(when)

    def _settle(self) -> None:
        while True:
            while (event := self._machine.next_event()) is not None:
                self._handle(event)
            wire = self._machine.next_ready()
            if wire is None:
                return
            wire.token.flush()
