"""A server in a thread of its own, on any front end, and a client on asyncio; a socket pair is between them.

Nothing is timed: a function that is to be slow waits for what happens only if nobody waits for it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from fronts import ASYNC_FRONTS, FRONTS, PATIENCE, AsyncFront, Front, front_name

import mcp_sansio_adapters.asyncio as on_asyncio
import mcp_sansio_adapters.blocking as on_blocking
from mcp_sansio import (
    Catalogue,
    Implementation,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import new_keys

INFO = Implementation("test", "1")
Live = Callable[[Any], Coroutine[Any, Any, None]]

each_front = pytest.mark.parametrize("front", FRONTS, ids=front_name)
each_loop = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=front_name)


class Flag(threading.Event):
    """An event whose coming is relied on: to wait for it in vain is a failure, not a wait for ever."""

    def wait(self, timeout: float | None = PATIENCE) -> bool:
        assert super().wait(timeout)
        return True

    async def reached(self) -> None:
        """Wait in a loop."""
        await asyncio.to_thread(self.wait)


def together(front: Front, catalogue: Catalogue, live: Live, **options: Any) -> None:
    """Serve a catalogue for as long as `live` lasts, which gets the client."""
    server = Server(ServerConfig(info=INFO), PromptServer(catalogue, PromptServerConfig(keys=new_keys())))

    async def serve(front: Front, sock: socket.socket) -> None:
        if isinstance(front, AsyncFront):
            async with front.module.open_service(server, **options) as service:
                await front.serve(service, sock)
        else:
            on_blocking.serve_stream(server, sock, **options)

    async def main() -> None:
        ours, theirs = socket.socketpair()
        serving = asyncio.create_task(asyncio.to_thread(front.run, serve, ours))
        async with asyncio.timeout(PATIENCE):
            async with on_asyncio.connect(await asyncio.open_connection(sock=theirs)) as client:
                await client.list_prompts()
                await live(client)
            await serving

    asyncio.run(main())


async def given_up(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
