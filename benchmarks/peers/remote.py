"""Jobs whose server is another process: over stdio, where the client starts it, and over HTTP.

The server of a driver is the module beside it whose name ends in `_server`; the driver says how its client
connects, as a `Connect`. All the rest is the same for everybody. CPU time of the server is read from outside
by the runner.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Protocol

from benchmarks import work
from benchmarks.peers.job import Job


class Remote(Protocol):
    """A connected client."""

    async def list(self) -> Sequence[Any]:
        """Typed prompts, asked for now."""
        ...

    async def get(self, arguments: Mapping[str, str]) -> Sequence[Any]:
        """The typed messages of the prompt that changes."""
        ...

    async def fresh(self, description: str) -> Sequence[Any]:
        """The list, once that is the description of the prompt that changes, fetched by a client that hears
        of it.
        """
        ...


Connect = Callable[..., AbstractAsyncContextManager[Remote]]
"""Called with what to connect to (a command or a URL), `era`, and `follow`: whether to hear of changes."""


def command(driver: str, over: str, prompts: int, page: int, era: str) -> list[str]:
    """What starts a server."""
    return [sys.executable, "-m", f"benchmarks.peers.{driver}_server", over, str(prompts), str(page), era]


@asynccontextmanager
async def serving(words: Sequence[str]) -> AsyncGenerator[str]:
    """A server over HTTP, in a process of its own; its URL, which is the first line that it prints."""
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    try:
        line = await process.stdout.readline() if process.stdout is not None else b""
        yield json.loads(line)["url"]
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def http_server(driver: str, over: str, prompts: int, era: str) -> AsyncGenerator[Job]:
    """A server that others ask: there is nothing to be done here."""
    async with serving(command(driver, over, prompts, 100, era)) as url:
        yield Job(lambda: None, list, facts={"url": url})


@asynccontextmanager
async def connected(
    stack: AsyncExitStack, driver: str, connect: Connect, over: str, number: int, server: tuple[int, int, str]
) -> AsyncGenerator[list[Remote]]:
    """So many clients that follow changes. Over stdio each has a server of its own."""
    words = command(driver, over, *server)
    target: Any = words if over == "stdio" else await stack.enter_async_context(serving(words))
    era = server[2]
    yield [await stack.enter_async_context(connect(target, era=era, follow=True)) for _ in range(number)]


@asynccontextmanager
async def listing(connect: Connect, target: Any, era: str) -> AsyncGenerator[Job]:
    """The list is asked for again and again, past the cache."""
    async with connect(target, era=era, follow=False) as remote:
        listed: Sequence[Any] = []

        async def step() -> None:
            nonlocal listed
            listed = await remote.list()

        yield Job(step, lambda: work.seen(listed))


@asynccontextmanager
async def getting(connect: Connect, target: Any, era: str) -> AsyncGenerator[Job]:
    """A prompt is rendered again and again."""
    async with connect(target, era=era, follow=False) as remote:
        messages: Sequence[Any] = []

        async def step() -> None:
            nonlocal messages
            messages = await remote.get(work.ARGUMENTS)

        yield Job(step, lambda: work.seen_messages(messages))


def stdio(driver: str, connect: Connect, what: Any, prompts: int, era: str) -> Any:
    """A job over stdio."""
    return what(connect, command(driver, "stdio", prompts, 100, era), era)


def http(connect: Connect, what: Any, url: str, prompts: int, era: str) -> Any:
    """A job of a client, whose server somebody else has started."""
    return what(connect, url, era)


@asynccontextmanager
async def churn(
    driver: str, connect: Connect, over: str, clients: int, prompts: int, page: int, burst: int, era: str
) -> AsyncGenerator[Job]:
    """Rendering a prompt with a certain argument edits it; then every client must have the list as it is now.

    Over stdio every client edits in its own server, over HTTP the first one edits for all.
    """
    revision = 0
    async with AsyncExitStack() as stack:
        server = (prompts, page, era)
        group = connected(stack, driver, connect, over, clients, server)
        everybody = await stack.enter_async_context(group)
        editors = everybody if over == "stdio" else everybody[:1]
        lists: list[Sequence[Any]] = []

        async def step() -> None:
            nonlocal revision, lists
            for _ in range(burst):
                await asyncio.gather(*(each.get({"change": work.EDIT}) for each in editors))
            revision += burst
            wanted = work.spec(work.EDITED, revision)["description"]
            lists = await asyncio.gather(*(each.fresh(wanted) for each in everybody))

        yield Job(step, lambda: work.agreed(lists), revision=lambda: revision, units=clients)


def jobs(driver: str, connect: Connect) -> dict[str, Callable[..., AbstractAsyncContextManager[Job]]]:
    """The jobs of a driver that have a server elsewhere."""
    return {
        "http_server": partial(http_server, driver),
        "http_listeners": partial(http_server, driver),
        "stdio_list": partial(stdio, driver, connect, listing),
        "stdio_get": partial(stdio, driver, connect, getting),
        "http_client_list": partial(http, connect, listing),
        "http_client_get": partial(http, connect, getting),
        "churn_stdio": partial(churn, driver, connect, "stdio"),
        "churn_http": partial(churn, driver, connect, "http"),
    }
