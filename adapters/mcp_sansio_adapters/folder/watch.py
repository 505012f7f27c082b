"""Follows a folder of prompt files for as long as it is served, on asyncio.

The operating system says that something changed; what changed is found by reading the folder again, in a
thread, so that a large folder delays no reply. A burst of edits is one change: reading waits until the
folder has been quiet for `STEP`, but no longer than `MOST`. Where a file is missing it waits once more, for
many editors save by taking the file away and putting another one in its place, and a rename is one change.

A folder that is deleted and made again is followed there. What the operating system watches is not a path
but the folder itself, so that one is held open, and now and then compared with what the path leads to.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from pathlib import Path

from watchfiles import awatch

from mcp_sansio import Catalogue

from .problem import Problem
from .reader import PromptFolder

STEP = 50
MOST = 400
LOOK = 500
"""Milliseconds. `LOOK` is how often the folder is compared with its path."""

GRACE = 0.2
"""Seconds that a file may be missing before that counts."""


async def follow(
    folder: PromptFolder, catalogue: Catalogue, report: Callable[[tuple[Problem, ...]], object]
) -> None:
    """Keep the catalogue as the folder is, until cancelled.

    `report` is called with all problems of the folder whenever they are others than before. What was
    edited before the watch had begun is found by reading once more, soon after its beginning.
    """
    known = folder.problems
    async with aclosing(_moments(folder.root)) as moments:
        async for _ in moments:
            if await asyncio.to_thread(folder.misses_files):
                await asyncio.sleep(GRACE)
            reading = await asyncio.to_thread(folder.read)
            catalogue.replace(reading.entries)
            if reading.problems != known:
                known = reading.problems
                report(known)


async def _moments(root: Path) -> AsyncGenerator[None]:
    """When to read the folder: it has changed, or has come or gone."""
    while True:
        try:
            with _held(root) as held:
                async with aclosing(_changes(root, held)) as changes:
                    async for _ in changes:
                        yield
        except FileNotFoundError:
            await asyncio.sleep(LOOK / 1000)
        yield


async def _changes(root: Path, held: int) -> AsyncGenerator[None]:
    """When to read the folder while it is the one that is held."""
    looked = False
    watch = awatch(
        root, watch_filter=None, debounce=MOST, step=STEP, rust_timeout=LOOK, yield_on_timeout=True
    )
    async with aclosing(watch):
        async for changes in watch:
            if not os.path.samestat(os.fstat(held), os.stat(root)):  # noqa: PTH116  # no waiting in a loop's time
                return
            if changes or not looked:
                looked = True
                yield


@contextmanager
def _held(root: Path) -> Generator[int]:
    """The folder, open: as long as it is, no other one can be taken for it."""
    held = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield held
    finally:
        os.close(held)
