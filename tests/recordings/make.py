"""Makes the recordings of this folder anew: in `tests`, `python -m recordings.make [FOLDER]`.

A client and a server, each in a process of its own, hold one conversation in each era; either end is
recorded. Over HTTP both are in one process, and in one recording. The recordings are kept, so that later
versions of the library are held to what this one said.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from itertools import count
from pathlib import Path
from typing import Any

from mcp_sansio import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    ClientConfig,
    HttpServerConfig,
    Implementation,
    InputNeeded,
    PromptServer,
    Server,
)
from mcp_sansio_adapters import RequestFailed
from mcp_sansio_adapters.asyncio import AsyncClient, open_http_client, open_http_server, open_stdio_client
from mcp_sansio_adapters.recording import Recorder
from recordings import server

HERE = Path(__file__).parent
ERAS = {"modern": MODERN_VERSIONS, "legacy": LEGACY_VERSIONS}


def answers(needed: InputNeeded) -> dict[str, Any]:
    """Fills every form in the same way."""
    return {key: {"action": "accept", "content": {"which": "this"}} for key in needed.requests}


async def talk(client: AsyncClient) -> None:
    """Everything that a client does."""
    changes = client.changes()
    await client.list_prompts()
    await client.list_prompts()
    await client.get_prompt("add", {"name": "one"})
    await anext(changes)
    await client.get_prompt("slow", on_progress=lambda _: None)
    await client.complete("add", "name", "t")
    await client.complete("remove", "name", "o", {"name": "one"})
    for name in ("ask", "fail", "unknown"):
        with contextlib.suppress(RequestFailed):
            await client.get_prompt(name)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            await client.refresh_prompts()
    await client.refresh_prompts()
    await client.get_prompt("remove", {"name": "one"})
    await anext(changes)
    await client.notify("notifications/roots/list_changed")


async def record(folder: Path, era: str) -> None:
    """One conversation, from both ends."""
    config = ClientConfig(
        info=Implementation("recording", "1.0"), versions=ERAS[era], capabilities={"elicitation": {}}
    )
    command = [sys.executable, str(HERE / "server.py"), str(folder / f"{era}-server.jsonl")]
    with (folder / f"{era}-client.jsonl").open("wb") as file:
        recorder = Recorder(file.write)
        async with open_stdio_client(command, config=config, on_input=answers, recorder=recorder) as client:
            await talk(client)


async def record_http(folder: Path, era: str) -> None:
    """One conversation over HTTP."""
    info = Implementation("recording", "1.0")
    config = ClientConfig(info=info, versions=ERAS[era], capabilities={"elicitation": {}})
    ids = map("session-{}".format, count(1))
    http = HttpServerConfig(new_session_id=lambda: next(ids))
    served = Server(server.CONFIG, PromptServer(server.catalogue(), server.SERVING))
    with (folder / f"{era}-http.jsonl").open("wb") as file:
        recorder = Recorder(file.write)
        async with (
            open_http_server(served, config=http, recorder=recorder) as running,
            open_http_client(running.url, config=config, on_input=answers, recorder=recorder) as client,
        ):
            await talk(client)


def main(folder: Path = HERE) -> None:
    """Both eras."""
    for era in ERAS:
        asyncio.run(record(folder, era))
        asyncio.run(record_http(folder, era))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
