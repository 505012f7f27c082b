"""The official SDK's client of a server elsewhere: over stdio and HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks import work
from benchmarks.peers.sdk_pair import MODES, walk


class Remote:
    """A connected client; `_follow` runs beside it, if it is to follow, and fetches what has changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._listed: Sequence[types.Prompt] = []
        self._moved = asyncio.Event()

    async def list(self) -> Sequence[types.Prompt]:
        return await walk(self._client)

    async def get(self, arguments: Mapping[str, str]) -> Sequence[types.PromptMessage]:
        result = await self._client.get_prompt(work.name(work.EDITED), dict(arguments))
        return result.messages

    async def fresh(self, description: str) -> Sequence[types.Prompt]:
        while self._listed[work.EDITED].description != description:
            self._moved.clear()
            await self._moved.wait()
        return self._listed

    async def fetch(self) -> None:
        """The list is fetched as it is now."""
        self._listed = await walk(self._client)
        self._moved.set()

    async def follow(self, heard: AsyncIterator[Any]) -> None:
        """Fetch the list whenever something is heard."""
        async for _ in heard:
            await self.fetch()


async def ringing(bell: asyncio.Event) -> AsyncIterator[None]:
    """A bell as an iterator: rings that nobody has heard yet are one."""
    while True:
        await bell.wait()
        bell.clear()
        yield


@asynccontextmanager
async def connect(target: Any, era: str, *, follow: bool) -> AsyncGenerator[Remote]:
    """A client of the child process of a command, or of a URL."""
    bell = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, types.PromptListChangedNotification):
            bell.set()

    where = target
    if not isinstance(target, str):
        where = StdioServerParameters(command=target[0], args=target[1:], cwd=Path.cwd())
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(where, mode=MODES[era], message_handler=hear))
        made = Remote(client)
        if follow:
            heard: Any = ringing(bell)
            if era == "modern":
                heard = await stack.enter_async_context(client.listen(prompts_list_changed=True))
            await made.fetch()
            following = asyncio.create_task(made.follow(heard))
            stack.callback(following.cancel)
        yield made
