"""Threads for functions that take their time: so many at most, and none that anybody waits for in the end.

They are daemons, which neither an event loop nor the interpreter joins, so a function that never returns
cannot keep a server from ending. A thread cannot be stopped: one whose work nobody wants any more counts
until its function returns. Work that finds no thread free waits in line, and leaves it when it is dropped.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import Context
from threading import Condition, Thread
from typing import Any

from mcp_sansio import LocalProtocolError


class Work:
    """A call to be made in a thread, and what came of it; `done` gets it there, unless it was dropped."""

    def __init__(self, context: Context, function: Callable[[], Any], done: Callable[[Work], None]) -> None:
        self._context = context
        self._function = function
        self._done = done
        self._value: Any = None
        self._error: BaseException | None = None
        self._dropped = False

    def run(self) -> None:
        """Make the call; what it raises is kept."""
        try:
            self._value = self._context.run(self._function)
        except BaseException as error:  # noqa: BLE001  # `result` raises it where somebody can handle it
            self._error = error

    def fail(self, error: Exception) -> None:
        """The call cannot be made."""
        self._error = error
        self._done(self)

    def tell(self) -> None:
        """Let whoever waits know that the call has been made."""
        if self._dropped:
            self._discard()
        else:
            self._done(self)

    def drop(self) -> None:
        """Nobody waits for it any more."""
        self._dropped = True
        self._discard()

    def result(self) -> Any:
        """What the call returned, to whoever asks first; raises what it raised."""
        if self._error is not None:
            raise self._error
        value, self._value = self._value, None
        return value

    def _discard(self) -> None:
        """Python complains of a coroutine that nobody awaits."""
        if inspect.iscoroutine(self._value):
            self._value.close()


class Threads:
    """Up to `limit` threads. Raises `LocalProtocolError` if that is none."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise LocalProtocolError("threads: there must be one at least")
        self._limit = limit
        self._count = 0
        self._busy = 0
        self._closed = False
        self._line: dict[Work, None] = {}
        self._changed = Condition()

    def start(self, work: Work) -> None:
        """Do some work, as soon as a thread is free."""
        with self._changed:
            if self._count - self._busy <= len(self._line) and self._count < self._limit:
                self._add_thread()
            if self._count:
                self._line[work] = None
                self._changed.notify()
                return
        work.fail(RuntimeError("the system has no thread for us"))

    def drop(self, work: Work) -> None:
        """Nobody waits for this work any more: it is not begun, or its result comes to nothing."""
        work.drop()
        with self._changed:
            self._line.pop(work, None)

    def close(self) -> None:
        """Begin nothing more; threads end when their functions return."""
        with self._changed:
            self._closed = True
            self._line.clear()
            self._changed.notify_all()

    def _add_thread(self) -> None:
        try:
            Thread(target=self._run, name="mcp_sansio handler", daemon=True).start()
        except RuntimeError:  # the system has no more; those that there are will do
            return
        self._count += 1

    def _run(self) -> None:
        while (work := self._take()) is not None:
            work.run()
            with self._changed:  # before it is told, so that who comes next finds this thread free
                self._busy -= 1
            work.tell()
            del work  # what it holds is not kept until then

    def _take(self) -> Work | None:
        """The next in line; None when there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._line or self._closed)
            if self._closed:
                return None
            work = next(iter(self._line))
            del self._line[work]
            self._busy += 1
            return work
