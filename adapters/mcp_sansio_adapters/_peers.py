"""What an asynchronous client can be connected to: a stream that is there already, or a child process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from selectors import EVENT_READ
from typing import Protocol

from ._exceptions import Ending
from ._line import CLOSED
from ._link import Link
from ._loop import ByteStream, Tasks
from ._process import EXITED, Child, ProcessSpec
from ._streams import FdStream

GRACE = 2.0
"""How long parting from a server may take that is no process of ours, in seconds."""


class Peer(Protocol):
    """The other end of one connection."""

    @property
    def stream(self) -> ByteStream:
        """What to read from and write to."""
        ...

    def watch(self, link: Link, tasks: Tasks) -> None:
        """Start what has to run beside reading and writing."""

    async def part(self, link: Link) -> Ending:
        """End the connection in good order; `link` has to end."""
        ...

    async def close(self) -> None:
        """Let go of everything; never raises."""


class StreamPeer:
    """A stream that somebody else has opened."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream

    def watch(self, link: Link, tasks: Tasks) -> None:
        """Nothing to watch."""

    async def part(self, link: Link) -> Ending:
        """What was pulled is written, if the other end takes it in time."""
        if link.reason == CLOSED:
            await link.until(lambda: link.write_over, GRACE)
        return Ending(link.reason or CLOSED)

    async def close(self) -> None:
        """Close the stream."""
        await self.stream.close()


class ChildPeer:
    """A child process. Raises `OSError` or `ValueError` if it cannot be started."""

    def __init__(self, spec: ProcessSpec) -> None:
        self._child = Child(spec)
        self.stream = FdStream(self._child.stdout, self._child.stdin)
        self._stop_draining: Callable[[], object] = _nothing
        self._stop_waiting: Callable[[], object] = _nothing

    def watch(self, link: Link, tasks: Tasks) -> None:
        """Drain stderr, and notice the exit even if the pipes stay open."""
        self._stop_draining = tasks.watch(self._child.stderr, EVENT_READ, partial(self._drain_errors, link))
        self._stop_waiting = tasks.watch(self._child.exited, EVENT_READ, partial(self._notice_exit, link))

    async def part(self, link: Link) -> Ending:
        """Down the ladder."""
        for condition, patience in self._child.parting(link):
            await link.until(condition, patience)
        return self._child.ending(link.reason)

    async def close(self) -> None:
        """Let go of the process; if it still runs, it is killed."""
        await self.stream.close()
        self._stop_draining()
        self._stop_waiting()
        self._child.close()

    def _drain_errors(self, link: Link) -> None:
        self._child.read_errors()
        if self._child.errors_over:
            self._stop_draining()
            link.changed()

    def _notice_exit(self, link: Link) -> None:
        self._child.gone = True
        self._stop_waiting()
        link.end(EXITED)


def _nothing() -> None:
    pass
