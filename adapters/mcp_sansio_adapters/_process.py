"""A child process, without a loop: started, listened to, and ended by rungs of a ladder.

Its pipes are plain file descriptors that never block, and one more becomes readable when the process has
exited; so any loop that can wait for descriptors can drive it. A thread that does nothing but wait for the
process makes that last one: portable, and free of any loop's way of watching children. The child leads a
session of its own, so signals reach what it started too, and a terminal's Ctrl-C is for us to handle.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeAlias

import attrs

from ._exceptions import Ending
from ._fds import read_some
from ._hooks import OnStderr, tell
from ._line import CLOSED, Line

Pause: TypeAlias = tuple[Callable[[], bool], float | None]
"""A condition to be waited for, and at most how many seconds."""

EXITED = "the server exited"


@attrs.frozen(kw_only=True)
class ProcessPolicy:
    """How long things may take and how often they may be tried. Times are seconds.

    A server that dies is started again, at most `restarts` times within `window`. At the end its input is
    closed; if it has not exited after `close_grace` it is terminated, and killed after another
    `term_grace`. `tail` is how many bytes of its stderr are kept.
    """

    restarts: int = 3
    window: float = 60.0
    close_grace: float = 2.0
    term_grace: float = 2.0
    tail: int = 65536


@attrs.frozen(kw_only=True)
class ProcessSpec:
    """What to start. `env` is the whole environment; None inherits ours, and so does `cwd`."""

    command: Sequence[str]
    env: Mapping[str, str] | None = None
    cwd: str | os.PathLike[str] | None = None
    policy: ProcessPolicy = ProcessPolicy()
    on_stderr: OnStderr | None = None


class StderrTail:
    """The last bytes of what a process said on stderr, whatever it is, in bounded memory."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Take more in; the oldest bytes go."""
        self._data += data[-self._limit :]
        del self._data[: -self._limit]

    def __len__(self) -> int:
        return len(self._data)

    def text(self) -> str:
        """The tail as text; a character that was cut or is no UTF-8 is replaced."""
        return self._data.decode("utf-8", "replace")


class Restarts:
    """Whether and when a process that died is started again."""

    def __init__(self, policy: ProcessPolicy, delay: Callable[[int], float]) -> None:
        """`delay` is the backoff before restart number n, counted from 0."""
        self._policy = policy
        self._delay = delay
        self._times: deque[float] = deque()

    def take(self, now: float) -> float | None:
        """How long to wait before the next start; None if there have been too many."""
        while self._times and self._times[0] <= now - self._policy.window:
            self._times.popleft()
        if len(self._times) >= self._policy.restarts:
            return None
        self._times.append(now)
        return self._delay(len(self._times) - 1)


class Child:
    """A running process. Raises `OSError` if it cannot be started, `ValueError` for an impossible command.

    `stdin`, `stdout` and `stderr` are our ends of its pipes; `exited` becomes readable when it has exited,
    whereupon `gone` is to be set. `errors_over`: stderr has been read to its end.
    """

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec
        self.gone = False
        self.errors_over = False
        self.tail = StderrTail(spec.policy.tail)
        self._signalled = False
        self.exited, exiting = os.pipe()
        try:
            self._process = _start(spec)
        except BaseException:
            os.close(self.exited)
            os.close(exiting)
            raise
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._pipes = [pipe for pipe in pipes if pipe is not None]
        self.stdin, self.stdout, self.stderr = (pipe.fileno() for pipe in self._pipes)
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
        threading.Thread(target=_announce_exit, args=(self._process, exiting), daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._process.returncode

    def read_errors(self) -> None:
        """Keep what there is to read of stderr, and pass it on."""
        data = read_some(self.stderr)
        if data:
            self.tail.feed(data)
            tell(self.spec.on_stderr, data)
        self.errors_over = data == b""

    def parting(self, line: Line) -> Generator[Pause]:
        """End it in good order: what was pulled is written, then down the ladder, then the rest of what it
        said is read, for as long as something that it started may hold the pipes.

        Yields what is to be waited for, and how long, while everything else goes on.
        """
        grace = self.spec.policy.close_grace
        if line.reason == CLOSED:
            yield lambda: line.write_over, grace
        line.stop_writing()
        yield lambda: line.write_over, None
        for rung, patience in self._ladder():
            rung()
            yield lambda: self.gone, patience
            if self.gone:
                break
        yield lambda: line.read_over and self.errors_over, grace
        if not (line.read_over and self.errors_over):
            self.kill()
            yield lambda: line.read_over and self.errors_over, grace

    def _ladder(self) -> tuple[tuple[Callable[[], None], float | None], ...]:
        """Transports/stdio, "Shutdown": each rung, and how long to wait before the next."""
        policy = self.spec.policy
        return (
            (self.close_input, policy.close_grace),
            (self.terminate, policy.term_grace),
            (self.kill, None),
        )

    def close_input(self) -> None:
        """The polite way: "closing the input stream to the child process"; nobody may be writing."""
        self._pipes[0].close()

    def terminate(self) -> None:
        """SIGTERM, for the process and what it started."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, for the process and what it started."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Let go of everything; a process that still runs is killed."""
        if self.exit_code is None:
            self.kill()
        for pipe in self._pipes:
            pipe.close()
        if self.exited >= 0:
            os.close(self.exited)
            self.exited = -1

    def ending(self, reason: str | None) -> Ending:
        """How it ended, for people: that it exited says more than what we noticed of that first."""
        exited = self.exit_code is not None and not self._signalled and reason != CLOSED
        return Ending(EXITED if exited else reason or CLOSED, self.exit_code, self.tail.text())

    def _signal(self, number: signal.Signals) -> None:
        self._signalled = self._signalled or self.exit_code is None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _start(spec: ProcessSpec) -> subprocess.Popen[bytes]:
    if not spec.command:
        raise ValueError("the command is empty")
    return subprocess.Popen(
        spec.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=spec.env,
        cwd=spec.cwd,
        bufsize=0,
        start_new_session=True,
    )


def _announce_exit(process: subprocess.Popen[bytes], exiting: int) -> None:
    process.wait()
    os.close(exiting)
