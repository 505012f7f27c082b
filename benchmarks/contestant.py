"""The processes of the contestants, as the runner sees them: commands go in, answers come out, CPU time is
read.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import attrs

ROOT = Path(__file__).parent.parent
PATIENCE = 180.0
"""Seconds after which a contestant that does not answer is given up."""


class Failed(Exception):
    """A contestant did not do what it was told; the text says what it did instead."""


class NotSupported(Exception):
    """A contestant has nothing that would do this; the text says why."""


@attrs.frozen
class Refused:
    """A contestant is not here."""

    reason: str


class Contestant:
    """One worker process."""

    def __init__(self, name: str, command: list[str], environ: Mapping[str, str] | None = None) -> None:
        """Start it. `environ` is added to the environment."""
        self.name = name
        self._command = command
        self._environ = {**os.environ, **(environ or {})}
        self._process = self._start()
        self._rest = b""

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def say(self, **command: Any) -> dict[str, Any]:
        """Give a command; the answer to it. Raises `Failed`."""
        process = self._process
        if process.stdin is None:
            raise Failed("it has no stdin")
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(self._line())
        except OSError as error:
            raise Failed(f"its process has ended: {error}") from error
        if "failed" in answer:
            raise Failed(answer["failed"])
        return cast("dict[str, Any]", answer)

    def _line(self) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise Failed("it has no stdout")
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._rest:
            wait = deadline - time.monotonic()
            if wait <= 0 or not self._readable(stdout.fileno(), wait):
                raise Failed(f"it did not answer within {PATIENCE:.0f} s")
            data = os.read(stdout.fileno(), 1 << 20)
            if not data:
                raise Failed(f"its process has ended with exit code {self._process.wait()}")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    @staticmethod
    def _readable(fd: int, seconds: float) -> bool:
        poll = select.poll()  # `select` itself fails for descriptors beyond a thousand
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def restart(self) -> None:
        """Begin anew, for a job that must not be the second one of its process."""
        self.close()
        self._process, self._rest = self._start(), b""

    def close(self) -> None:
        """End it; it ends by itself when its stdin does, and is killed when it does not."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    # --- what the system says of it ---

    @property
    def cpu(self) -> float:
        """CPU seconds that it has spent, without its children."""
        return cpu_of(self._process.pid)

    @property
    def cpu_of_children(self) -> float:
        """CPU seconds that the processes have spent that it started and that are there."""
        return sum(cpu_of(pid) for pid in descendants(self._process.pid))

    @property
    def resident_of_children(self) -> int:
        """Bytes of memory that the processes occupy that it started and that are there."""
        return sum(resident(pid) for pid in descendants(self._process.pid))


def cpu_of(pid: int) -> float:
    """The CPU time of a process, in nanoseconds' precision: Linux makes a clock of every process id."""
    return time.clock_gettime(cast("Any", (~pid << 3) | 2))


def resident(pid: int) -> int:
    """Bytes of memory that a process occupies."""
    fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def descendants(pid: int) -> list[int]:
    """The processes below one."""
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        children += map(int, (task / "children").read_text(encoding="ascii").split())
    return children + [each for child in children for each in descendants(child)]
