"""The process's own stdin and stdout as a channel, and its signals.

Nothing but the protocol may be written to stdout, so the channel is taken away from everybody else: it moves
to descriptors of its own, stdout becomes stderr, and stdin is empty. A stray `print` or a child process that
reads cannot do harm then. Bytes are bytes: no text layer, and so no locale, has a part in it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def claimed_stdio() -> Generator[tuple[int, int]]:
    """The descriptors of the channel, for the block; afterwards everything is as it was."""
    _flush()
    nothing = os.open(os.devnull, os.O_RDWR)  # takes the place of a closed stderr, before the others can
    reading, writing = os.dup(0), os.dup(1)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield reading, writing
    finally:
        _flush()
        os.dup2(reading, 0)
        os.dup2(writing, 1)
        for fd in (reading, writing, nothing):
            os.close(fd)


@contextmanager
def on_signals(callback: Callable[[], None]) -> Generator[None]:
    """Call `callback` on the signals that end a program, but for those that are ignored. Only the main
    thread can have signal handlers; elsewhere nothing happens.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_number: int, _frame: FrameType | None) -> None:
        callback()

    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in taken:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def _flush() -> None:
    with suppress(OSError, ValueError):
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]  # it is, under pythonw
            sys.stdout.flush()
