"""What a contestant does over and over, and how it is timed inside its own process.

A driver has `JOBS`, a table of jobs by name: each an async context manager that makes everything ready and
yields a `Job`. `REFUSED` says why the library cannot do a job that others can. CPU time of the whole process
counts, all of its threads, and nothing else: neither waiting nor what other processes do. The garbage
collector stays on; what was there before a job began is frozen, so that a library does not pay for the size
of its modules.
"""

from __future__ import annotations

import gc
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol


class Job:
    """Something to be done many times."""

    def __init__(
        self,
        step: Callable[[], Any],
        answer: Callable[[], Any],
        *,
        before: Callable[[], Any] | None = None,
        revision: Callable[[], int] = lambda: 0,
        units: int = 1,
        counts: bool = True,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """`step` does it, as a function or a coroutine function; `before` gets ready for one and is not
        timed.

        `answer` is what the last step came to, as plain lists, and `revision` how often the prompts had been
        edited by then; `units` is how many subscribers, say, were served by one step. Unless `counts`, it is
        not the CPU time of a step that counts but the number that it returns. `facts` are for whoever asked
        for the job: the address of a server, a number of bytes.
        """
        self.step = step
        self.answer = answer
        self.before = before
        self.revision = revision
        self.units = units
        self.counts = counts
        self.facts = dict(facts or {})

    async def repeat(self, times: int) -> tuple[float, float]:
        """Take so many steps: the CPU time of this process that they cost, and how long it all took, in
        seconds.
        """
        gc.collect()
        begin = time.monotonic()
        cpu = await self._repeat(times)
        return cpu, time.monotonic() - begin

    async def _repeat(self, times: int) -> float:
        if not self.counts:
            return sum([await _number(self.step()) for _ in range(times)])
        if self.before is not None:
            return await self._repeat_prepared(times, self.before)
        if inspect.iscoroutinefunction(self.step):
            return await timed_async(self.step, times)
        return timed(self.step, times)

    async def _repeat_prepared(self, times: int, before: Callable[[], Any]) -> float:
        spent = 0.0
        for _ in range(times):
            before()
            if inspect.iscoroutinefunction(self.step):
                spent += await timed_async(self.step, 1)
            else:
                spent += timed(self.step, 1)
        return spent


async def _number(returned: Any) -> float:
    found = await returned if inspect.isawaitable(returned) else returned
    return float(found)


def timed(step: Callable[[], Any], times: int) -> float:
    """CPU seconds of a function that is called so many times."""
    begin = time.process_time()
    for _ in range(times):
        step()
    return time.process_time() - begin


async def timed_async(step: Callable[[], Awaitable[Any]], times: int) -> float:
    """CPU seconds of a coroutine function that is awaited so many times."""
    begin = time.process_time()
    for _ in range(times):
        await step()
    return time.process_time() - begin


class Driver(Protocol):
    """What a driver's file has."""

    JOBS: Mapping[str, Callable[..., AbstractAsyncContextManager[Job]]]
    REFUSED: Mapping[str, str]
