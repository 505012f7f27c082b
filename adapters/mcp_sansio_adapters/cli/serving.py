"""Serves a folder of prompts over stdin and stdout or over HTTP, and keeps up with its files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

from mcp_sansio import (
    Catalogue,
    HttpServerConfig,
    Implementation,
    McpError,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
    __version__,
)
from mcp_sansio_adapters._defaults import new_keys, unix_offset
from mcp_sansio_adapters.asyncio import serve_http, serve_stdio
from mcp_sansio_adapters.folder import Problem, PromptFolder

Tell = Callable[[str], None]
Reply: TypeAlias = Literal["auto", "json", "sse"]
REPLIES = ("auto", "json", "sse")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@attrs.frozen
class Endpoint:
    """Where to serve HTTP, to whom besides callers on this machine, and in which form."""

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    reply: Reply = "auto"


def serve_folder(
    root: Path,
    versions: tuple[str, ...],
    *,
    page_size: int,
    watch: bool,
    http: Endpoint | None = None,
    tell: Tell,
) -> None:
    """Serve `root` until the client is done, or over HTTP until a signal comes. `tell` gets what is wrong
    with its files, a line each, and the URL.
    """
    folder, catalogue = PromptFolder(root), Catalogue()
    _report(folder.load(catalogue), tell)
    if http is None and sys.stdin.isatty():
        tell("this waits for an MCP client on stdin, and is for one to start; Ctrl-D ends it")
    prompts = PromptServer(
        catalogue,
        PromptServerConfig(
            keys=new_keys(),
            unix_offset=unix_offset(),
            page_size=page_size,
            list_changed=watch,
            completions=False,
        ),
    )
    info = Implementation("mcp-sansio", __version__, "Prompt folder")
    server = Server(ServerConfig(info=info, versions=versions), prompts)
    serving = partial(serve_stdio, server) if http is None else partial(_serve_http, server, http, tell)
    asyncio.run(_serve(serving, (folder, catalogue) if watch else None, tell))


async def _serve_http(server: Server, http: Endpoint, tell: Tell) -> None:
    config = HttpServerConfig(hosts=http.hosts, origins=http.origins, reply=http.reply)

    def started(url: str) -> None:
        tell(f"serving at {url}, Ctrl-C ends it")
        if not http.hosts and http.host not in LOOPBACK:
            tell("it answers to loopback names only: --allow-host adds those by which others reach it")

    await serve_http(server, http.host, http.port, config=config, started=started)


async def _serve(
    serving: Callable[[], Awaitable[None]], watched: tuple[PromptFolder, Catalogue] | None, tell: Tell
) -> None:
    """Serve, and follow the folder meanwhile."""
    if watched is None:
        await serving()
        return
    follower = asyncio.create_task(_follow(*watched, tell))
    try:
        await serving()
    finally:
        follower.cancel()
        await asyncio.wait((follower,))
    if not follower.cancelled():
        follower.result()


async def _follow(folder: PromptFolder, catalogue: Catalogue, tell: Tell) -> None:
    """Follow the folder; where that cannot be done, serving goes on with the prompts as they are."""
    from mcp_sansio_adapters.folder.watch import follow  # noqa: PLC0415  # a server that does not watch needs no watcher

    try:
        await follow(folder, catalogue, lambda problems: _report(problems, tell))
    except (OSError, RuntimeError, McpError) as error:
        tell(f"edits are not noticed any more, restart the server to see them: {error}")


def _report(problems: tuple[Problem, ...], tell: Tell) -> None:
    for problem in problems:
        tell(str(problem))
