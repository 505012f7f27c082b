"""Starts a server and passes bytes between it and whoever started us, as if we were not there.

One thread and one `select`, which any descriptor can be waited for with, be it a pipe, a terminal or a file.
A `Flow` holds the bytes of one read at most and does not read before they are written: so a slow reader slows
the writer, as a pipe does. What ends on one side is closed on the other. Signals arrive as bytes in a pipe
that the same `select` waits for, and those that end a program are passed on.

The server stays in our process group, so that whoever signals the group reaches it also if he kills us.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, TypeAlias

from mcp_sansio_adapters._fds import READ_SIZE, read_some, write_some
from mcp_sansio_adapters._stdio import SIGNALS

from .records import CHILD_ERRORS, FROM_SERVER, TO_SERVER

Hear: TypeAlias = Callable[[str, bytes], None]
"""Hears which way some bytes went, and the bytes; must neither block nor raise."""


class Flow:
    """Bytes on their way from one descriptor to another; both belong to it."""

    def __init__(self, direction: str, reading: int, writing: int, hear: Hear) -> None:
        self.reading = reading
        self.writing = writing
        self.rest = memoryview(b"")
        self.closed = False
        self._direction = direction
        self._hear = hear

    @property
    def waits_for(self) -> tuple[list[int], list[int]]:
        """What is to become readable, and what writable, for this to go on."""
        if self.closed:
            return [], []
        return ([], [self.writing]) if self.rest else ([self.reading], [])

    def read(self) -> None:
        """Take in what there is; at its end, close the other side."""
        try:
            data = read_some(self.reading)
        except OSError:  # a terminal that was hung up, for one
            data = b""
        if data:
            self.rest = memoryview(data)
            self._hear(self._direction, data)
        elif data is not None:
            self.close()

    def write(self) -> None:
        """Pass on what can be written; if nobody reads any more, whoever writes is to notice."""
        try:
            self.rest = self.rest[write_some(self.writing, self.rest) :]
        except OSError:
            self.close()

    def close(self) -> None:
        """Let go of both sides."""
        if not self.closed:
            self.closed = True
            self.rest = memoryview(b"")
            os.close(self.reading)
            os.close(self.writing)


def relay(command: Sequence[str], hear: Hear, started: Callable[[], None]) -> int:
    """Run `command` in our place; its exit code, negative for a signal, when it has exited and all that it
    wrote is delivered. Raises `OSError` if it cannot be started. To be called in the main thread.

    stdin and stdout are taken away, stderr remains.
    """
    _fill_gaps()
    with _signals() as told:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        started()
        with process:
            _Relay(process, told, hear).run()
            return process.wait()


class _Relay:
    """The flows of one process."""

    def __init__(self, process: subprocess.Popen[bytes], told: socket.socket, hear: Hear) -> None:
        self._process = process
        self._told = told
        self._hurried = False
        stdin, stdout, stderr = (_own(pipe) for pipe in (process.stdin, process.stdout, process.stderr))
        self._in = Flow(TO_SERVER, _taken(0), stdin, hear)
        self._outs = (
            Flow(FROM_SERVER, stdout, _taken(1), hear),
            Flow(CHILD_ERRORS, stderr, os.dup(2), hear),
        )

    def run(self) -> None:
        """Pass bytes on until the process has exited, and there are no more of its own."""
        while True:
            exited = self._process.poll() is not None
            if exited:
                self._in.close()
                if self._hurried:
                    break
            empty = not any(flow.rest for flow in self._outs)
            if not self._step(0 if exited and empty else None) and exited and empty:
                break
        for flow in (self._in, *self._outs):
            flow.close()

    def _step(self, patience: float | None) -> bool:
        """Do what can be done; whether there was anything."""
        flows = (self._in, *self._outs)
        wanted = [flow.waits_for for flow in flows]
        readable = [self._told.fileno(), *(fd for fds, _ in wanted for fd in fds)]
        writable = [fd for _, fds in wanted for fd in fds]
        can_read, can_write, _ = select.select(readable, writable, [], patience)
        if self._told.fileno() in can_read:
            self._signalled()
        for flow, (reads, writes) in zip(flows, wanted, strict=True):
            if any(fd in can_write for fd in writes):
                flow.write()
            elif any(fd in can_read for fd in reads):
                flow.read()
        return bool(can_read or can_write)

    def _signalled(self) -> None:
        """Pass signals on. A terminal has sent its own to the whole process group already; whoever sends
        one after the server has exited does not want to wait for a slow reader.
        """
        for number in self._told.recv(READ_SIZE):
            if number not in SIGNALS:
                continue
            self._hurried = self._hurried or self._process.poll() is not None
            if number != signal.SIGINT or not _in_foreground():
                self._process.send_signal(number)


@contextmanager
def _signals() -> Generator[socket.socket]:
    """For the block, signals that end a program become bytes to be read here, and so does the end of a child.

    Those that are ignored stay so, for us and for the child.
    """
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    before = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGCHLD)}
    woken = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    for number, handler in before.items():
        if handler is not signal.SIG_IGN or number == signal.SIGCHLD:
            signal.signal(number, _nothing)  # a handler there must be
    try:
        yield reading
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(woken)
        reading.close()
        writing.close()


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """The number has been written to the pipe already."""


def _own(pipe: IO[bytes] | None) -> int:
    """The descriptor of a pipe to a child, which never blocks, without the object that would close it."""
    if pipe is None:
        raise ValueError("there is no pipe")
    fd = os.dup(pipe.fileno())
    pipe.close()
    os.set_blocking(fd, False)
    return fd


def _fill_gaps() -> None:
    """Open what is closed of stdin, stdout and stderr on nothing, lest something else takes its place."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one


def _taken(fd: int) -> int:
    """The only descriptor for what is open on `fd`, which itself is open on nothing then."""
    taken = os.dup(fd)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, fd)
    os.close(nothing)
    return taken


def _in_foreground() -> bool:
    """Whether a Ctrl-C on our terminal, if we have one, goes to our process group."""
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    return False
