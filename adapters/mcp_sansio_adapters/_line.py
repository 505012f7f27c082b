"""One wire on one stream: what comes in goes to the machine, what the machine has to say goes out.

A line never waits, and so needs no loop. Its stream tells it what has come and what has been written, its
machine that the wire has something to do. What there is to write is written at once, as long as the stream
has room for it; until the rest is written nothing more is pulled, so what waits stays in the machine. The
steps that end a connection (`parting`) are written against this, once for all front ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mcp_sansio import Wire

from ._defaults import now
from ._pump import Meter

CLOSED = "closed"
"""The reason where we are the ones who end a connection."""


class Flow(Protocol):
    """What a line needs of a stream."""

    def want(self, reading: bool) -> None:
        """Whether to read; not, before this has been called. It is called only where that changes."""

    def write(self, data: bytes) -> bool:
        """Write what can be written without waiting; whether that is all. If not, `Line.written` or
        `Line.writing_failed` follows, and must come before the next `write`.
        """
        ...

    def stop_writing(self) -> None:
        """Give up what is left."""


class Line:
    """Carries the bytes of `wire`.

    `reason` tells why it has to end, once it has to. `broken`: a write is, or was left, half done; then the
    wire is at its end, but what the peer has still to say is read all the same.
    """

    def __init__(self, wire: Wire, flow: Flow, turn: Callable[[], None], meter: Meter | None = None) -> None:
        wire.token = self
        self.wire = wire
        self.reason: str | None = None
        self.read_over = False
        self.write_over = False
        self.broken = False
        self.begun = False
        self._flow = flow
        self._reading = False
        self._turn = turn
        self._meter = meter or Meter()

    # --- for the machine ---

    def flush(self) -> None:
        """The wire has something to do, or has been closed."""
        if not self.begun:
            return
        if not (self.broken or self.write_over):
            data = self._pull()
            self.broken = bool(data) and not self._flow.write(data)
            if self.wire.closed and not self.broken:
                self.write_over = True
                self.end(CLOSED)
        self._regulate()

    # --- for the stream ---

    def begin(self) -> None:
        """The stream is there."""
        self.begun = True
        self.written()

    def feed(self, data: bytes) -> None:
        """Take in what was read; nothing is the end."""
        if data:
            self._meter.received += len(data)
            self.wire.receive_data(data, now())
            self._turn()
            self._regulate()
        else:
            self._stop_reading("end of input")

    def written(self) -> None:
        """What was to be written has been: go on."""
        self.broken = False
        self.flush()
        self._turn()  # what was pulled is in safe hands
        self.rested()

    def reading_failed(self, error: Exception) -> None:
        """Nothing more will come."""
        self._stop_reading(f"reading failed: {error}")

    def writing_failed(self, error: Exception) -> None:
        """Nothing more can be written."""
        self.write_over = True
        self.end(f"writing failed: {error}")

    # --- for those who end it ---

    def changed(self) -> None:
        """Something about the line, or the process behind it, has changed."""

    def rested(self) -> None:
        """A write has ended, one way or another."""

    def stop_writing(self) -> None:
        """Write nothing more."""
        self.write_over = True
        self._flow.stop_writing()
        self.changed()

    def end(self, reason: str) -> None:
        """It has to end; the first reason stands."""
        self.reason = self.reason or reason
        self.changed()

    def settle(self, reason: str | None = None) -> None:
        """Tell the wire that nothing more will come; what it still has to say may be written."""
        reason = reason or self.reason or CLOSED
        if self.broken and self.write_over:
            self.wire.abort(now(), reason)
        else:
            self.wire.receive_eof(now(), reason)
        self._turn()

    # --- inside ---

    def _regulate(self) -> None:
        """Read while input is wanted; after our own end too, so that the peer can finish what it says."""
        reading = not self.read_over and (self.wire.want_read or self.wire.closed)
        if reading is not self._reading:
            self._reading = reading
            self._flow.want(reading)

    def _stop_reading(self, reason: str) -> None:
        self.read_over = True
        self._regulate()
        self.end(reason)

    def _pull(self) -> bytes:
        chunks = self.wire.data_to_send()
        self._meter.sent += sum(map(len, chunks))
        return b"".join(chunks)
