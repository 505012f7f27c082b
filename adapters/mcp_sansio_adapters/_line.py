"""One wire on one stream, as far as that needs no loop: what has become of either direction, and why.

The front ends move the bytes. Each of them derives its own kind of line from this one; the steps that end a
connection (`parting`) are written against it, once.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp_sansio import Wire

from ._defaults import now
from ._pump import Meter

CLOSED = "closed"
"""The reason where we are the ones who end a connection."""


class Line:
    """Carries the bytes of `wire`.

    `reason` tells why it has to end, once it has to. `broken`: a write is, or was left, half done; then the
    wire is at its end, but what the peer has still to say is read all the same.
    """

    def __init__(self, wire: Wire, turn: Callable[[], None], meter: Meter | None = None) -> None:
        wire.token = self
        self.wire = wire
        self.reason: str | None = None
        self.read_over = False
        self.write_over = False
        self.broken = False
        self._turn = turn
        self._meter = meter or Meter()

    @property
    def wants_read(self) -> bool:
        """Whether to read; after our own end too, so that the peer can finish what it is writing."""
        return self.wire.want_read or self.wire.closed

    def flush(self) -> None:
        """The machine says that the wire has something to do, or has been closed."""
        raise NotImplementedError

    def stop_writing(self) -> None:
        """Write nothing more; `write_over` will be true soon."""
        raise NotImplementedError

    def changed(self) -> None:
        """Something about the line, or the process behind it, has changed."""

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

    def feed(self, data: bytes) -> None:
        """Take in what was read; nothing is the end."""
        if data:
            self._meter.received += len(data)
            self.wire.receive_data(data, now())
            self._turn()
        else:
            self.end("end of input")

    def pull(self) -> bytes:
        """What can be written now; the last of it has been. A turn is due as soon as it is in safe hands, and
        no sooner: a turn may flush the line, which pulls again.
        """
        chunks = self.wire.data_to_send()
        self._meter.sent += sum(map(len, chunks))
        self.broken = bool(chunks)
        return b"".join(chunks)
