"""A line that tasks can wait for."""

from __future__ import annotations

import math
from collections.abc import Callable

from mcp_sansio import Wire

from ._defaults import now
from ._line import Line
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
        super().__init__(wire, stream, turn, meter)
        self.stream = stream
        self.on_end: Callable[[], object] | None = None
        """Called once, when the line has to end."""
        self._loop = loop
        self._change: Bell | None = None  # while somebody waits for it
        self._idle: Event | None = None  # likewise

    def start(self, tasks: Tasks) -> None:
        """Begin to read and to write, unless that has been done."""
        if not self.begun:
            self.stream.start(self, tasks)
            self.begin()

    def end(self, reason: str) -> None:
        """It has to end; the first reason stands."""
        super().end(reason)
        if self.on_end is not None:
            told, self.on_end = self.on_end, None
            told()

    def changed(self) -> None:
        """Something about the line, or the process behind it, has changed."""
        if self._change is not None:
            self._change.ring()
        if self.write_over:
            self.rested()

    def rested(self) -> None:
        """A write has ended, one way or another."""
        if self._idle is not None and not self._writes:
            self._idle.set()
            self._idle = None

    async def close(self) -> None:
        """Let go of the stream."""
        await self.stream.close()

    async def drained(self) -> None:
        """Return when all that could be written has been."""
        if self._writes:
            self._idle = self._idle or self._loop.event()
            await self._idle.wait()

    async def until(self, condition: Callable[[], bool], patience: float | None = None) -> None:
        """Return when `condition` holds, or after so many seconds."""
        deadline = math.inf if patience is None else now() + patience
        while not condition() and now() < deadline:
            self._change = Bell(self._loop)
            await self._change.wait(None if patience is None else deadline - now())
        self._change = None

    @property
    def _writes(self) -> bool:
        """Whether there is, or will be, something to be waited for."""
        return not self.write_over and (self.broken or not self.begun)
