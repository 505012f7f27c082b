"""Jobs that measure something else than the CPU time of their steps: memory, and what a new interpreter
spends.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.peers.job import Job

CHILD = "import time; begin = time.process_time(); {}; print(time.process_time() - begin)"


def resident() -> int:
    """Bytes of memory that this process occupies."""
    gc.collect()
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


async def grown(number: int, make: Callable[[], Awaitable[Any]]) -> tuple[float, list[Any]]:
    """How many bytes each of so many things takes, and the things. One is made before, and kept."""
    made = [await make()]
    before = resident()
    made += [await make() for _ in range(number)]
    return (resident() - before) / number, made


def measured(amount: float, answer: Callable[[], Any]) -> Job:
    """A job that has been done: every step comes to the same."""
    return Job(lambda: amount, answer, counts=False)


def importing(statements: Mapping[str, str]) -> Any:
    """The job of importing what these statements import, in a new interpreter."""

    @asynccontextmanager
    async def job(what: str) -> AsyncGenerator[Job]:
        words = [sys.executable, "-c", CHILD.format(statements[what])]

        async def step() -> float:
            process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
            output, _ = await process.communicate()
            return float(output)

        yield Job(step, lambda: ["imported"], counts=False)

    return job
