"""A line for event loops: a reader and a writer, each in a task.

The reader stops while no input is wanted. What there is to write is written at once, as long as the stream
has room for it; what it leaves is the writer's, and until that is done nothing more is pulled, so what waits
stays in the machine. The machine is called between awaits, never across one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mcp_sansio import Wire

from ._defaults import now
from ._line import CLOSED, Line
from ._loop import Bell, ByteStream, Event, Loop, Tasks
from ._pump import Meter


class Link(Line):
    """Carries the bytes of `wire` over `stream`. One task at a time waits with `until`."""

    def __init__(
        self,
        loop: Loop,
        wire: Wire,
        stream: ByteStream,
        turn: Callable[[], None],
        meter: Meter | None = None,
    ) -> None:
        super().__init__(wire, turn, meter)
        self.stream = stream
        self._loop = loop
        self._input = Bell(loop)
        self._output = Bell(loop)
        self._change = Bell(loop)
        self._busy = True  # the writer is at work, or has not begun
        self._idle: Event | None = None  # while somebody waits for it
        self._stop_writer: Callable[[], object] = _nothing

    def start(self, tasks: Tasks) -> None:
        """Begin to read and to write."""
        tasks.start(self._read)
        self._stop_writer = tasks.start(self._write)

    def flush(self) -> None:
        """The machine says that the wire has something to do, or has been closed."""
        if not (self._busy or self.write_over):
            self._busy = self._leaves_some(self.pull()) or self.wire.closed
        if self._busy:
            self._output.ring()
        self._input.ring()  # what was pulled waits no longer, so input may be wanted again

    def stop_writing(self) -> None:
        """Write nothing more; `write_over` will be true soon."""
        self._stop_writer()

    def changed(self) -> None:
        """Something about the line, or the process behind it, has changed."""
        self._change.ring()

    async def drained(self) -> None:
        """Return when all that could be written has been."""
        if self._busy and not self.write_over:
            self._idle = self._idle or self._loop.event()
            await self._idle.wait()

    async def until(self, condition: Callable[[], bool], patience: float | None = None) -> None:
        """Return when `condition` holds, or after so many seconds."""
        deadline = math.inf if patience is None else now() + patience
        while not condition() and now() < deadline:
            await self._change.wait(None if patience is None else deadline - now())

    async def _read(self) -> None:
        try:
            while not self.read_over:
                while not self.wants_read:
                    await self._input.wait()
                data = await self.stream.receive()
                self.read_over = not data
                self.feed(data)
        except OSError as error:
            self.end(f"reading failed: {error}")
        finally:
            self.read_over = True
            self.changed()

    async def _write(self) -> None:
        try:
            await self._write_all()
        except OSError as error:
            self.end(f"writing failed: {error}")
        finally:
            self.write_over = True
            self._rested()
            self.changed()

    async def _write_all(self) -> None:
        while True:
            if self.broken:
                await self.stream.finish()
            data = self.pull()
            self._turn()
            self._input.ring()
            if not (self._leaves_some(data) or data):
                if self.wire.closed:
                    self.end(CLOSED)
                    return
                self._rested()
                await self._output.wait()

    def _leaves_some(self, data: bytes) -> bool:
        """Write what was pulled; whether the writer has to go on with it."""
        self.broken = bool(data) and not self.stream.begin(data)
        return self.broken

    def _rested(self) -> None:
        self._busy = False
        if self._idle is not None:
            self._idle.set()
            self._idle = None


def _nothing() -> None:
    pass
