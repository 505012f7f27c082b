"""A line for event loops: a reader and a writer, each in a task.

The reader stops while no input is wanted. The writer pulls only when the previous write is done, so what
waits stays in the machine. The machine is called between awaits, never across one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mcp_sansio import Wire

from ._defaults import now
from ._line import CLOSED, Line
from ._loop import Bell, ByteStream, Loop, Tasks
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
        self._idle = loop.event()
        self._stop_writer: Callable[[], object] = _nothing

    def start(self, tasks: Tasks) -> None:
        """Begin to read and to write."""
        tasks.start(self._read)
        self._stop_writer = tasks.start(self._write)

    def flush(self) -> None:
        """The machine says that the wire has something to do, or has been closed."""
        if self._idle.is_set() and not self.write_over:
            self._idle = self._loop.event()
        self._input.ring()
        self._output.ring()

    def stop_writing(self) -> None:
        """Write nothing more; `write_over` will be true soon."""
        self._stop_writer()

    def changed(self) -> None:
        """Something about the line, or the process behind it, has changed."""
        self._change.ring()

    async def drained(self) -> None:
        """Return when all that could be written has been."""
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
            self._idle.set()
            self.changed()

    async def _write_all(self) -> None:
        while True:
            data = self.pull()
            self._turn()
            self._input.ring()  # what was pulled waits no longer, so input may be wanted again
            if data:
                await self.stream.send(data)
            elif self.wire.closed:
                self.end(CLOSED)
                return
            else:
                self._idle.set()
                await self._output.wait()


def _nothing() -> None:
    pass
