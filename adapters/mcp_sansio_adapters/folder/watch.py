"""Follows a folder of prompt files for as long as it is served, on asyncio.

The operating system says that something changed; what changed is found by reading the folder again, in a
thread, so that a large folder delays no reply. A burst of edits is one change: reading waits until the
folder has been quiet for `STEP`, but no longer than `MOST`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from watchfiles import awatch

from mcp_sansio import Catalogue

from .file import Problem
from .reader import PromptFolder

STEP = 50
MOST = 400
"""Milliseconds."""

_FIRST_LOOK = 1000


async def follow(
    folder: PromptFolder, catalogue: Catalogue, report: Callable[[tuple[Problem, ...]], object]
) -> None:
    """Keep the catalogue as the folder is, until cancelled.

    `report` is called with all problems of the folder whenever they are others than before. What was
    edited before the watch had begun is found by reading once more, soon after its beginning.
    """
    known = folder.problems
    looked = False
    watch = awatch(folder.root, debounce=MOST, step=STEP, rust_timeout=_FIRST_LOOK, yield_on_timeout=True)
    async for changes in watch:
        if changes or not looked:
            looked = True
            reading = await asyncio.to_thread(folder.read)
            catalogue.replace(reading.entries)
            if reading.problems != known:
                known = reading.problems
                report(known)
