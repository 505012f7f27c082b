"""The process of a contestant: `python -m benchmarks.peers.worker DRIVER`, with commands on stdin, answers on
stdout.

A command is a line of JSON: `prepare` a job with its parameters, `run` it so many times, `finish` it. Each is
answered by one line. After `prepare` and after every `run` the answer has the digest of what was seen, and
how often the prompts had been edited by then, so that the runner can tell whether it is right. What the
library prints goes to stderr.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import sys
from contextlib import AsyncExitStack
from typing import Any, TextIO, cast

from benchmarks import work
from benchmarks.peers.job import Driver, Job


class Worker:
    """One job at a time."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._stack = AsyncExitStack()
        self._job: Job | None = None

    async def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do what one command says; the answer to it."""
        match command:
            case {"do": "prepare", "job": job, "params": params}:
                return await self._prepare(job, params)
            case {"do": "run", "times": times} if self._job is not None:
                cpu, took = await self._job.repeat(times)
                return {"cpu": cpu, "took": took, "units": self._job.units * times, **self._seen()}
            case {"do": "look"}:
                return self._seen()
            case {"do": "finish"}:
                await self._finish()
                return {}
            case _:
                return {"failed": f"there is no such command now: {command}"}

    async def _prepare(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        await self._finish()
        if name not in self._driver.JOBS:
            return {"refused": self._driver.REFUSED.get(name, "there is no driver for it")}
        self._job = await self._stack.enter_async_context(self._driver.JOBS[name](**params))
        gc.collect()
        gc.freeze()
        await self._job.repeat(1)
        return {**self._job.facts, **self._seen()}

    def _seen(self) -> dict[str, Any]:
        if self._job is None:
            return {}
        answer = self._job.answer()
        begins = json.dumps(answer)[:200]
        return {"digest": work.digest(answer), "begins": begins, "revision": self._job.revision()}

    async def _finish(self) -> None:
        self._job = None
        await self._stack.aclose()
        gc.unfreeze()
        gc.collect()


async def serve(driver: Driver, output: TextIO) -> None:
    """Obey until stdin ends."""
    worker = Worker(driver)
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        try:
            answer = await worker.obey(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever a library raises is an answer, too
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=output, flush=True)
    await worker.obey({"do": "finish"})


def main() -> None:
    """The process."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    driver = importlib.import_module(f"benchmarks.peers.{sys.argv[1]}")
    asyncio.run(serve(cast("Driver", driver), output))


if __name__ == "__main__":
    main()
