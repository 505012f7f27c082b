"""A pump without an event loop: plain `selectors`, and a thread that waits in `step`.

This is all that a foreign loop has to do, too: read when a wire wants to read, write when the last write is
done, call `handle_timeout` when it is due, and turn the machine after each of these.
"""

from __future__ import annotations

import math
import selectors
import socket
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from mcp_sansio import Machine, Wire

from ._defaults import now
from ._fds import READ_SIZE, read_some, write_some
from ._line import CLOSED, Line
from ._pump import Meter, Pump


class Reactor:
    """Drives one machine, which `due` tells the time: `step` waits for something to do, and does it."""

    def __init__(self, machine: Machine, handle: Callable[[Any], None], due: Callable[[], None]) -> None:
        self._machine = machine
        self._due = due
        self._pump = Pump(machine, handle, lambda _: None)
        self._selector = selectors.PollSelector()  # unlike epoll it takes regular files
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self.watch(self._ear.fileno(), selectors.EVENT_READ, self._called)

    def turn(self) -> None:
        """To be called after every command."""
        self._pump.turn()

    def step(self, patience: float | None = None) -> None:
        """Wait until something can be done, at most `patience` seconds, and do it."""
        self.turn()
        due = self._machine.next_timeout()
        waits = [max(0.0, due - now())] if due is not None else []
        waits += [max(0.0, patience)] if patience is not None else []
        for key, _ in self._selector.select(min(waits, default=None)):
            key.data()
        self._due()
        self.turn()

    def until(self, condition: Callable[[], bool], patience: float | None) -> None:
        """Step until `condition` holds, at most `patience` seconds."""
        deadline = math.inf if patience is None else now() + patience
        while not condition() and now() < deadline:
            self.step(None if patience is None else deadline - now())

    def call(self, function: Callable[[], None]) -> None:
        """Have `step` call a function; from any thread or signal handler."""
        self._calls.put(function)
        with suppress(OSError):  # the bell is ringing already, or nobody hears it any more
            self._bell.send(b"!")

    def watch(self, fd: int, events: int, callback: Callable[[], None]) -> None:
        """Call `callback` whenever `fd` is ready."""
        self._selector.register(fd, events, callback)

    def unwatch(self, fd: int) -> None:
        """No more; no harm if it was not watched."""
        with suppress(KeyError):
            self._selector.unregister(fd)

    def close(self) -> None:
        """Let go of everything."""
        self._selector.close()
        self._bell.close()
        self._ear.close()

    def _called(self) -> None:
        self._ear.recv(READ_SIZE)
        with suppress(Empty):
            while True:
                self._calls.get_nowait()()


class Channel(Line):
    """A line over two file descriptors, which must differ: a selector takes each once."""

    def __init__(
        self, reactor: Reactor, wire: Wire, fds: tuple[int, int], meter: Meter | None = None
    ) -> None:
        super().__init__(wire, reactor.turn, meter)
        self._reactor = reactor
        self._reading, self._writing = fds
        self._rest = memoryview(b"")
        self._watched: set[int] = set()

    def flush(self) -> None:
        """The machine says that the wire has something to do: pull, if the last write is done."""
        if not self._rest and not self.write_over:
            self._rest = memoryview(self.pull())
            if not self._rest and self.wire.closed:
                self.write_over = True
                self.end(CLOSED)
        self._rewatch()

    def stop_writing(self) -> None:
        """Write nothing more."""
        self.write_over = True
        self._rewatch()

    def release(self) -> None:
        """Neither read nor write any more."""
        self.read_over = self.write_over = True
        self._rewatch()

    def _rewatch(self) -> None:
        """Wait for what there is to do."""
        reading = self.wants_read and not self.read_over
        writing = bool(self._rest) and not self.write_over
        self._watch(self._reading, selectors.EVENT_READ, self._read, wanted=reading)
        self._watch(self._writing, selectors.EVENT_WRITE, self._write, wanted=writing)

    def _watch(self, fd: int, events: int, callback: Callable[[], None], *, wanted: bool) -> None:
        if wanted and fd not in self._watched:
            self._watched.add(fd)
            self._reactor.watch(fd, events, callback)
        elif not wanted and fd in self._watched:
            self._watched.remove(fd)
            self._reactor.unwatch(fd)

    def _read(self) -> None:
        try:
            data = read_some(self._reading)
        except OSError as error:
            self.read_over = True
            self.end(f"reading failed: {error}")
        else:
            self.read_over = data == b""
            if data is not None:
                self.feed(data)
        self._rewatch()

    def _write(self) -> None:
        try:
            self._rest = self._rest[write_some(self._writing, self._rest) :]
        except OSError as error:
            self.end(f"writing failed: {error}")
            self.stop_writing()
        else:
            self.flush()
