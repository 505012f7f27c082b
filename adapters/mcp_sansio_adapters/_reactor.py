"""A pump without an event loop: plain `selectors`, and a thread that waits in `step`.

This is all that a foreign loop has to do, too: watch descriptors for its lines (`_line`), call
`handle_timeout` when it is due, and turn the machine after each of these.
"""

from __future__ import annotations

import math
import selectors
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from mcp_sansio import Machine

from ._defaults import now
from ._fds import READ_SIZE
from ._pump import Pump


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
            if self._selector.get_map().get(key.fd) is key:  # not, if one before it has ended that
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

    def watch(self, fd: int, events: int, callback: Callable[[], None]) -> Callable[[], object]:
        """Call `callback` whenever `fd` is ready, until what is returned is called. A selector takes a
        descriptor once, so those for reading and for writing must differ.
        """
        key = self._selector.register(fd, events, callback)
        return partial(self._unwatch, key)

    def _unwatch(self, key: selectors.SelectorKey) -> None:
        """Watch no more, unless that is so already."""
        if self._selector.get_map().get(key.fd) is key:
            self._selector.unregister(key.fd)

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
