"""One wire on one stream: bytes in, bytes out, for both ends and both loops.

The reader feeds the wire and stops while no input is wanted. The writer pulls only when the previous write
is done, so what waits stays in the machine. The machine is called between awaits, never across one. When a
write fails or is cancelled half-way the wire is at its end, which is for the owner to tell it: he may know
more of the reason.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp_sansio import Wire

from ._defaults import now
from ._exceptions import CLOSED
from ._loop import Bell, ByteStream, Loop
from ._pump import Traffic


class Link:
    """Carries the bytes of `wire`. `over` is set when either direction has come to its end, which `reason`
    tells; `read` and `write` each run in a task. `broken`: a write is, or was left, half done.
    """

    def __init__(
        self,
        loop: Loop,
        wire: Wire,
        stream: ByteStream,
        turn: Callable[[], None],
        traffic: Traffic | None = None,
    ) -> None:
        wire.token = self
        self.wire = wire
        self.stream = stream
        self.reason = CLOSED
        self.broken = False
        self.over = loop.event()
        self.read_over = loop.event()
        self.write_over = loop.event()
        self._loop = loop
        self._turn = turn
        self._traffic = traffic or Traffic()
        self._input = Bell(loop)
        self._output = Bell(loop)
        self._idle = loop.event()

    def flush(self) -> None:
        """The machine says that the wire has something to do."""
        self._idle = self._loop.event() if self._idle.is_set() else self._idle
        self._input.ring()
        self._output.ring()

    async def drained(self) -> None:
        """Return when all that could be written has been."""
        await self._idle.wait()

    def end(self, reason: str) -> None:
        """It is over, for a reason of somebody else's."""
        if not self.over.is_set():
            self.reason = reason
            self.over.set()

    async def read(self) -> None:
        """Feed the wire until the stream ends."""
        try:
            await self._read()
        except OSError as error:
            self.end(f"reading failed: {error}")
        finally:
            self.read_over.set()

    async def _read(self) -> None:
        while await self._welcome():
            data = await self.stream.receive()
            if not data:
                self.end("end of input")
                return
            self._traffic.received(data)
            self.wire.receive_data(data, now())
            self._turn()

    async def _welcome(self) -> bool:
        """Wait until input is wanted; false if it never will be again."""
        while not self.wire.want_read and not self.wire.closed:
            await self._input.wait()
        return not self.wire.closed

    async def write(self) -> None:
        """Write what the wire has until it is closed."""
        try:
            await self._write()
        except OSError as error:
            self.end(f"writing failed: {error}")
        finally:
            self._idle.set()
            self.write_over.set()

    async def _write(self) -> None:
        while True:
            chunks = self.wire.data_to_send()
            self._turn()
            if chunks:
                self._traffic.sent(chunks)
                self.broken = True
                await self.stream.send(chunks)
                self.broken = False
            elif self.wire.closed:
                self.end(CLOSED)
                return
            else:
                self._idle.set()
                await self._output.wait()

    def settle(self, reason: str) -> None:
        """Tell the wire that its stream is at an end."""
        if self.broken:
            self.wire.abort(now(), reason)
        else:
            self.wire.receive_eof(now(), reason)
        self._turn()
