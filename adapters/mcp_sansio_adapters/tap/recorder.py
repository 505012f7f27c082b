"""Records a conversation in a thread of its own, so that nobody who talks waits for that.

What passes is copied into a queue. The thread makes records of it and writes them, and may take its time. A
queue that is full is not waited for: what came meanwhile is counted, and the count is recorded. The same
goes for what cannot be written.
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import stat
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

from mcp_sansio_adapters._defaults import now
from mcp_sansio_adapters._fds import write_some

from .records import Lines, Record, note

Format: TypeAlias = Callable[[Record], Iterable[bytes]]
"""What is written for a record."""

MAX_WAITING = 8 * 1024 * 1024
"""How many bytes may wait to be recorded."""

PATIENCE = 1.0
"""How long the end waits for what is still to be written, and how often a full pipe is looked at at least, in
seconds."""

NAP = 0.02
CROWDED = 16 * 1024
"""How many unread bytes of a pipe leave too little room for us. Who reads nothing of it must not have the
server wait that writes there, too."""


class Recorder:
    """Writes what it hears to a descriptor, which it never closes. `limit` is that of the queue, in bytes."""

    def __init__(self, fd: int, write: Format, limit: int = MAX_WAITING) -> None:
        self._fd = fd
        self._format = write
        self._limit = limit
        self._lines = Lines()
        self._queue: deque[tuple[str, bytes | int | dict[str, Any], float]] = deque()
        self._waiting = 0
        self._news = threading.Condition()
        self._closing = False
        self._last: dict[str, Any] = {}
        self._hurried = threading.Event()
        self.unwritten = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def hear(self, direction: str, data: bytes) -> None:
        """Bytes went this way."""
        with self._news:
            if self._waiting + len(data) > self._limit:
                self._lose(direction, len(data))
            else:
                self._waiting += len(data)
                self._queue.append((direction, data, now()))
            self._news.notify()

    def note(self, **what: Any) -> None:
        """Something about the conversation."""
        with self._news:
            self._queue.append(("", what, now()))
            self._news.notify()

    def close(self, **what: Any) -> int:
        """It is over, and how: write what there is, as far as that can be done soon.

        How many records were not written.
        """
        with self._news:
            self._last = what
            self._closing = True
            self._news.notify()
        self._thread.join(PATIENCE)
        self._hurried.set()
        self._thread.join(PATIENCE)
        return self.unwritten

    # --- inside ---

    def _lose(self, direction: str, count: int) -> None:
        """Count what does not fit; a direction that loses is a single entry, so that losses take no room."""
        for at in range(len(self._queue) - 1, max(len(self._queue) - 4, -1), -1):
            of, lost, when = self._queue[at]
            if isinstance(lost, int) and of == direction:
                self._queue[at] = direction, lost + count, when
                return
        self._queue.append((direction, count, now()))

    def _run(self) -> None:
        while True:
            with self._news:
                while not (self._queue or self._closing):
                    self._news.wait()
                if not self._queue:
                    break
                direction, what, when = self._queue.popleft()
                self._waiting -= len(what) if isinstance(what, bytes) else 0
            self._write_all(self._records(direction, what, when))
        self._write_all((*self._lines.finish(now()), note(self._last, now())))

    def _records(self, direction: str, what: bytes | int | dict[str, Any], when: float) -> Iterable[Record]:
        if isinstance(what, bytes):
            return self._lines.feed(direction, what, when)
        return self._lines.lose(direction, what, when) if isinstance(what, int) else (note(what, when),)

    def _write_all(self, records: Iterable[Record]) -> None:
        for record in records:
            for piece in self._format(record):
                self._write(piece)

    def _write(self, piece: bytes) -> None:
        """Write one piece as a whole, unless the descriptor fails, or all is to end and it is not ready."""
        rest = memoryview(piece)
        try:
            while rest:
                if _ready(self._fd):
                    rest = rest[write_some(self._fd, rest) :]
                elif self._hurried.is_set():
                    break
        except OSError:
            pass
        self.unwritten += bool(rest)


def _ready(fd: int) -> bool:
    """Wait a little for a descriptor that has room for us; whether it has."""
    _, ready, _ = select.select([], [fd], [], NAP)
    if ready and _unread(fd) < CROWDED:
        return True
    if ready:
        time.sleep(NAP)
    return False


def _unread(fd: int) -> int:
    """How many bytes of a pipe or socket wait for its reader, as far as that can be known."""
    mode = os.fstat(fd).st_mode
    asked = termios.FIONREAD if stat.S_ISFIFO(mode) else termios.TIOCOUTQ if stat.S_ISSOCK(mode) else None
    count = array.array("i", [0])
    if asked is not None:
        with suppress(OSError):
            fcntl.ioctl(fd, asked, count)
    return count[0]
