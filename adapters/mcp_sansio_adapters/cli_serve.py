"""Serves a folder of prompts over stdin and stdout, and keeps up with its files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from mcp_sansio import (
    Catalogue,
    Implementation,
    McpError,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
    __version__,
)

from ._defaults import new_keys
from .asyncio import serve_stdio
from .folder import Problem, PromptFolder

Tell = Callable[[str], None]


def serve_folder(root: Path, versions: tuple[str, ...], *, page_size: int, watch: bool, tell: Tell) -> None:
    """Serve `root` until the client is done. `tell` gets what is wrong with its files, a line each."""
    folder, catalogue = PromptFolder(root), Catalogue()
    _report(folder.load(catalogue), tell)
    if sys.stdin.isatty():
        tell("this waits for an MCP client on stdin, and is for one to start; Ctrl-D ends it")
    prompts = PromptServer(
        catalogue,
        PromptServerConfig(keys=new_keys(), page_size=page_size, list_changed=watch, completions=False),
    )
    info = Implementation("mcp-sansio", __version__, "Prompt folder")
    server = Server(ServerConfig(info=info, versions=versions), prompts)
    asyncio.run(_serve(server, (folder, catalogue) if watch else None, tell))


async def _serve(server: Server, watched: tuple[PromptFolder, Catalogue] | None, tell: Tell) -> None:
    """Serve, and follow the folder meanwhile."""
    if watched is None:
        await serve_stdio(server)
        return
    async with asyncio.TaskGroup() as group:
        follower = group.create_task(_follow(*watched, tell))
        await serve_stdio(server)
        follower.cancel()


async def _follow(folder: PromptFolder, catalogue: Catalogue, tell: Tell) -> None:
    """Follow the folder; where that cannot be done, serving goes on with the prompts as they are."""
    from .folder_watch import follow  # noqa: PLC0415  # a server that does not watch needs no watcher

    try:
        await follow(folder, catalogue, lambda problems: _report(problems, tell))
    except (OSError, RuntimeError, McpError) as error:
        tell(f"edits are not noticed any more, restart the server to see them: {error}")


def _report(problems: tuple[Problem, ...], tell: Tell) -> None:
    for problem in problems:
        tell(str(problem))
