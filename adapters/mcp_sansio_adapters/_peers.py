"""What a client can be connected to: a stream that is there already, or a child process to be started.

A peer has the stream to talk to, may watch for its own end meanwhile, and knows how to part: a stream is
closed; a child climbs down the ladder while what it still says is read, so that its exit code and its last
words are known when the operations that it leaves behind are told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ._exceptions import CLOSED, Ending
from ._link import Link
from ._loop import ByteStream, FdStream, Loop, Tasks
from ._process import Child, ProcessSpec

GRACE = 2.0
PIECE = 1 << 20


class Peer(Protocol):
    """The other end of one connection."""

    @property
    def stream(self) -> ByteStream:
        """What to read from and write to."""
        ...

    def watch(self, link: Link, tasks: Tasks) -> None:
        """Start what has to run beside reading and writing."""

    async def part(self, link: Link, stop_writing: Callable[[], object]) -> Ending:
        """End the connection in good order."""
        ...

    async def close(self) -> None:
        """Let go of everything, in any order; never raises."""


class StreamPeer:
    """A stream that somebody else has opened."""

    def __init__(self, loop: Loop, stream: ByteStream) -> None:
        self.stream = stream
        self._loop = loop

    def watch(self, link: Link, tasks: Tasks) -> None:
        """Nothing to watch."""

    async def part(self, link: Link, stop_writing: Callable[[], object]) -> Ending:
        """What was pulled is written, if the other end takes it in time."""
        await self._loop.wait(link.write_over, GRACE if link.reason == CLOSED else 0)
        return Ending(link.reason)

    async def close(self) -> None:
        """Close the stream."""
        await self.stream.close()


class ChildPeer:
    """A child process. Raises `OSError` if it cannot be started."""

    def __init__(self, loop: Loop, spec: ProcessSpec) -> None:
        self._loop = loop
        self._child = Child(spec)
        self.stream = FdStream(loop, self._child.stdout, self._child.stdin, PIECE)
        self._errors = FdStream(loop, self._child.stderr, self._child.stdin)
        self._exited = loop.event()
        self._errors_over = loop.event()

    def watch(self, link: Link, tasks: Tasks) -> None:
        """Drain stderr, and notice the exit even if the pipes stay open."""
        tasks.start(self._drain_errors)
        tasks.start(self._notice_exit, link)

    async def part(self, link: Link, stop_writing: Callable[[], object]) -> Ending:
        """Down the ladder; then the rest of what was said, for as long as a grandchild may hold the pipes."""
        grace = self._child.spec.policy.close_grace
        await self._loop.wait(link.write_over, grace if link.reason == CLOSED else 0)
        stop_writing()
        await self._loop.wait(link.write_over, None)
        await self._climb_down()
        for over in (link.read_over, self._errors_over):
            await self._loop.wait(over, grace)
            if not over.is_set():
                self._child.kill()
        return self._child.ending(link.reason)

    async def _climb_down(self) -> None:
        for rung, patience in self._child.ladder():
            rung()
            await self._loop.wait(self._exited, patience)
            if self._exited.is_set():
                return

    async def close(self) -> None:
        """Let go of the process; if it still runs, it is killed."""
        self._child.close()

    async def _drain_errors(self) -> None:
        try:
            while data := await self._errors.receive():
                self._child.heard(data)
        finally:
            self._errors_over.set()

    async def _notice_exit(self, link: Link) -> None:
        await self._loop.readable(self._child.exited)
        self._exited.set()
        link.end("the server exited")
