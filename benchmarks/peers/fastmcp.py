"""FastMCP, as a contestant: its `FastMCP` server and its `Client`, as its documentation has them.

Prompts are instances of a class with a `render` of its own, which is less work for it than functions would
be. It stands on the official SDK, whose in-memory transports and whose uvicorn it uses.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.prompts import Prompt

from benchmarks import work
from benchmarks.peers import remote
from benchmarks.peers.footprint import grown, importing, measured
from benchmarks.peers.job import Job
from benchmarks.peers.sdk_pair import reply_job, serving_bytes

MODES = {"modern": "auto", "legacy": "legacy"}
SILENT = "it has no subscriptions, and announces changes to the one client only that is asking at the time"


class Review(Prompt):
    """A prompt of the benchmark."""

    async def render(self, arguments: dict[str, Any] | None = None) -> str:
        """What it says."""
        return work.render(arguments or {})


def prompt(number: int, revision: int = 0) -> Review:
    """A prompt of the benchmark."""
    return Review(**work.spec(number, revision))


class House:
    """A server with the prompts of the benchmark."""

    def __init__(self, prompts: int, page: int = 100) -> None:
        self.revision = 0
        self.server = FastMCP(
            "benchmark", version="1", list_page_size=page, on_duplicate="replace", cache_ttl=60
        )
        for number in range(prompts):
            self.server.add_prompt(prompt(number))

    def next_edit(self) -> Review:
        """The prompt as it will be after one more edit."""
        self.revision += 1
        return prompt(work.EDITED, self.revision)

    def client(self, era: str, **options: Any) -> Client[Any]:
        """A client that will be connected in memory."""
        return Client(self.server, mode=MODES[era], **options)


@asynccontextmanager
async def list_again(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A list; every time is like the first."""
    async with House(prompts).client(era) as client:
        listed: list[types.Prompt] = []

        async def step() -> None:
            nonlocal listed
            listed = await client.list_prompts()

        yield Job(step, lambda: work.seen(listed))


@asynccontextmanager
async def list_changed(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is edited, and the list asked for again. An edited prompt goes to the end of its list."""
    house = House(prompts)
    async with house.client(era) as client:
        edited = house.next_edit()
        listed: list[types.Prompt] = []

        def before() -> None:
            nonlocal edited
            edited = house.next_edit()

        async def step() -> None:
            nonlocal listed
            house.server.add_prompt(edited)
            listed = await client.list_prompts()

        def answer() -> list[Any]:
            return work.seen(sorted(listed, key=lambda each: each.name))

        yield Job(step, answer, before=before, revision=lambda: house.revision)


@asynccontextmanager
async def get(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is rendered, both ways."""
    async with House(prompts).client(era) as client:
        name = work.name(work.EDITED)
        messages: Sequence[types.PromptMessage] = []

        async def step() -> None:
            nonlocal messages
            messages = (await client.get_prompt(name, work.ARGUMENTS)).messages

        yield Job(step, lambda: work.seen_messages(messages))


@asynccontextmanager
async def cached_hit(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list is asked for while its response cache has it: one page, so that it is one entry."""
    async with House(prompts, page=prompts).client(era, cache=True) as client:
        page = await client.list_prompts_mcp()

        async def step() -> None:
            nonlocal page
            page = await client.list_prompts_mcp()

        yield Job(step, lambda: work.seen(page.prompts))


@asynccontextmanager
async def serving(house: House) -> AsyncGenerator[Callable[..., Awaitable[bytes]]]:
    """A server, and how it is asked with bytes: as its stdio transport, which is the official SDK's, does."""
    server = house.server
    low = server._mcp_server  # noqa: SLF001 - the server that its own stdio transport runs
    async with server._lifespan_manager(), serving_bytes(low) as ask:  # noqa: SLF001 - the same
        yield ask


@asynccontextmanager
async def server_reply(method: str, prompts: int, era: str) -> AsyncGenerator[Job]:
    """The bytes of a request go in, those of a reply come out."""
    async with serving(House(prompts, page=prompts)) as ask:
        yield await reply_job(ask, method, era)


# --- footprint ---

IMPORTS = {"core": "import fastmcp", "adapters": "from fastmcp import Client, FastMCP"}


@asynccontextmanager
async def session_memory(sessions: int, era: str) -> AsyncGenerator[Job]:
    """Clients of one server; it has nothing that listens in the modern era."""
    async with AsyncExitStack() as stack:
        house = House(100)

        async def make() -> Client[Any]:
            return await stack.enter_async_context(house.client(era))

        amount, made = await grown(sessions, make)
        yield measured(amount, lambda: ["connected" for each in made if each.is_connected()][:1])


@asynccontextmanager
async def list_memory(prompts: int, lists: int) -> AsyncGenerator[Job]:
    """Lists that a client has got."""
    async with House(prompts).client("modern") as client:
        amount, made = await grown(lists, client.list_prompts)
        yield measured(amount, lambda: work.seen(made[-1]))


# --- with a server elsewhere ---


class Remote:
    """A connected client."""

    def __init__(self, client: Client[Any]) -> None:
        self._client = client

    async def list(self) -> Sequence[types.Prompt]:
        return await self._client.list_prompts()

    async def get(self, arguments: Mapping[str, str]) -> Sequence[types.PromptMessage]:
        return (await self._client.get_prompt(work.name(work.EDITED), dict(arguments))).messages

    async def fresh(self, description: str) -> Sequence[types.Prompt]:
        raise NotImplementedError(SILENT)


@asynccontextmanager
async def connect(target: Any, era: str, *, follow: bool) -> AsyncGenerator[Remote]:
    """A client of the child process of a command, or of a URL."""
    where = target
    if not isinstance(target, str):
        where = StdioTransport(command=target[0], args=target[1:], cwd=str(Path.cwd()))
    async with Client(where, mode=MODES[era]) as client:
        yield Remote(client)


REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("fan_out", "churn", "churn_stdio", "churn_http", "http_listeners"), SILENT),
    "client_reply": "its client reads replies as the official SDK's does, by the same models",
    "server_edit": "it encodes as the official SDK does, by the same models",
}
JOBS: Mapping[str, Callable[..., AbstractAsyncContextManager[Job]]] = {
    "list_cold": list_again,
    "list_changed": list_changed,
    "list_unchanged": list_again,
    "get": get,
    "cached_hit": cached_hit,
    "server_reply": server_reply,
    "importing": importing(IMPORTS),
    "session_memory": session_memory,
    "list_memory": list_memory,
    **{name: job for name, job in remote.jobs("fastmcp", connect).items() if name not in REFUSED},
}
