"""Streams that call a line back: file descriptors, and whatever has only functions that wait.

`FdStream` has its descriptors watched, by an event loop or by a selector. `Pulled` reads and writes in a
task each, for streams that offer nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import Protocol

from ._fds import has_room, read_some, write_some
from ._line import Line
from ._loop import Bell, ByteStream, Loop, Tasks, Watcher

AHEAD = 65536
"""How many bytes are written without asking the loop."""


class FdStream:
    """A stream over two file descriptors, which belong to whoever opened them."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._rest = memoryview(b"")
        self._line: Line | None = None
        self._watcher: Watcher | None = None
        self._stop_read: Callable[[], object] = _nothing
        self._stop_write: Callable[[], object] = _nothing

    def start(self, line: Line, tasks: Watcher) -> None:
        """From now on `line` is told of what happens."""
        self._line, self._watcher = line, tasks

    def want(self, reading: bool) -> None:
        """Whether to read."""
        self._stop_read()
        self._stop_read = self._watch(self._reading, EVENT_READ, self._read) if reading else _nothing

    def write(self, data: bytes) -> bool:
        """Mostly there is room for all of it, and the loop is not asked; but there is an end to that, so that
        others get their turn.
        """
        self._rest, ahead = memoryview(data), len(data) - AHEAD
        with suppress(OSError):  # it comes again when the loop is asked
            while len(self._rest) > max(ahead, 0) and has_room(self._writing):
                self._write_some()
        if self._rest:
            self._stop_write = self._watch(self._writing, EVENT_WRITE, self._write)
        return not self._rest

    def stop_writing(self) -> None:
        """Give up what is left."""
        self._stop_write()
        self._stop_write = _nothing

    def stop(self) -> None:
        """Neither read nor write any more."""
        self.want(False)
        self.stop_writing()

    async def close(self) -> None:
        """Let go of the descriptors."""
        self.stop()

    def _watch(self, fd: int, events: int, callback: Callable[[Line], None]) -> Callable[[], object]:
        line, watcher = self._line, self._watcher
        if line is None or watcher is None:
            return _nothing
        return watcher.watch(fd, events, lambda: callback(line))

    def _read(self, line: Line) -> None:
        try:
            data = read_some(self._reading)
        except OSError as error:
            line.reading_failed(error)
        else:
            if data is not None:
                line.feed(data)

    def _write(self, line: Line) -> None:
        try:
            self._write_some()
        except OSError as error:
            self.stop_writing()
            line.writing_failed(error)
        else:
            if not self._rest:
                self.stop_writing()
                line.written()

    def _write_some(self) -> None:
        self._rest = self._rest[write_some(self._writing, self._rest) :]


class Source(Protocol):
    """A stream that has to be asked. What goes wrong is an `OSError`."""

    async def receive(self) -> bytes:
        """Some bytes; none at the end."""
        ...

    def begin(self, data: bytes) -> bool:
        """Write what can be written without waiting; whether that is all. What is left, and what goes wrong,
        is for `finish`, which has to come before the next `begin`.
        """
        ...

    async def finish(self) -> None:
        """Write what is left."""

    async def close(self) -> None:
        """Let go of it; never raises."""


class Pulled(ByteStream):
    """A source, and two tasks that ask it."""

    def __init__(self, loop: Loop, source: Source) -> None:
        self._source = source
        self._reading = False
        self._input = Bell(loop)
        self._output = Bell(loop)
        self._stops: list[Callable[[], object]] = []

    def start(self, line: Line, tasks: Tasks) -> None:
        """From now on `line` is told of what happens."""
        self._stops = [tasks.start(self._read, line), tasks.start(self._write, line)]

    def want(self, reading: bool) -> None:
        """Whether to read."""
        self._reading = reading
        self._input.ring()

    def write(self, data: bytes) -> bool:
        """Write what can be written without waiting; the rest is for the writer."""
        done = self._source.begin(data)
        if not done:
            self._output.ring()
        return done

    def stop_writing(self) -> None:
        """Give up what is left."""
        for stop in self._stops[1:]:
            stop()

    async def close(self) -> None:
        """Let go of it; never raises."""
        for stop in self._stops:
            stop()
        await self._source.close()

    async def _read(self, line: Line) -> None:
        try:
            while not line.read_over:
                while not self._reading:
                    await self._input.wait()
                line.feed(await self._source.receive())
        except OSError as error:
            line.reading_failed(error)

    async def _write(self, line: Line) -> None:
        try:
            while True:
                await self._output.wait()
                await self._source.finish()
                line.written()
        except OSError as error:
            line.writing_failed(error)


def _nothing() -> None:
    pass
