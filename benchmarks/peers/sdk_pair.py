"""The official SDK's server with the prompts of the benchmark, and its clients in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from benchmarks import work
from benchmarks.peers.job import Job

MODES = {"modern": "auto", "legacy": "legacy"}


class House:
    """A server with the prompts of the benchmark, and who listens to it."""

    def __init__(self, prompts: int, page: int = 100) -> None:
        self.prompts = [types.Prompt(**spec) for spec in work.specs(prompts)]
        self.names = {prompt.name for prompt in self.prompts}
        self.page = page
        self.revision = 0
        self.bus = InMemorySubscriptionBus()
        self.sessions: dict[object, Any] = {}
        self.server = Server(
            "benchmark",
            version="1",
            on_list_prompts=self.on_list,
            on_get_prompt=self.on_get,
            on_subscriptions_listen=ListenHandler(self.bus),
            cache_hints={"prompts/list": CacheHint(ttl_ms=60_000)},
        )

    async def on_list(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """One page."""
        self.sessions.setdefault(connection_of(ctx), ctx)
        begin = int(params.cursor) if params is not None and params.cursor else 0
        end = begin + self.page
        following = str(end) if end < len(self.prompts) else None
        return types.ListPromptsResult(prompts=self.prompts[begin:end], next_cursor=following)

    async def on_get(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """A rendered prompt; an argument edits it first, for clients in another process."""
        arguments = params.arguments or {}
        if params.name not in self.names:
            raise ValueError(params.name)
        if arguments.get("change") == work.EDIT:
            self.put(self.next_edit())
            await self.announce("legacy" if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else "modern")
        return rendered(work.render(arguments))

    def next_edit(self) -> types.Prompt:
        """The prompt as it will be after one more edit."""
        self.revision += 1
        return types.Prompt(**work.spec(work.EDITED, self.revision))

    def put(self, edited: types.Prompt) -> None:
        """Edit the list."""
        self.prompts[work.EDITED] = edited

    async def announce(self, era: str) -> None:
        """Tell everybody that it has changed."""
        if era == "modern":
            await self.bus.publish(PromptsListChanged())
        else:
            for ctx in [*self.sessions.values()]:
                await ctx.session.send_prompt_list_changed()

    async def client(self, stack: AsyncExitStack, era: str, **options: Any) -> Client:
        """A client that is connected in memory."""
        return await stack.enter_async_context(Client(self.server, mode=MODES[era], **options))


def connection_of(ctx: Any) -> object:
    """What tells connections apart: HTTP's session id, or else the lifespan. `ctx.session` is made for every
    request.
    """
    if ctx.request is None:
        return id(ctx.lifespan_context)
    return ctx.request.headers.get("mcp-session-id")


def rendered(text: str) -> types.GetPromptResult:
    """A result of `prompts/get`."""
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def walk(client: Client) -> list[types.Prompt]:
    """All pages, past the cache: this is what a list that changed costs."""
    page = await client.list_prompts(cache_mode="bypass")
    prompts = [*page.prompts]
    while page.next_cursor is not None:
        page = await client.list_prompts(cursor=page.next_cursor, cache_mode="bypass")
        prompts += page.prompts
    return prompts


class Listeners:
    """Clients that hear of changes, and fetch the list then if they are to."""

    def __init__(self, house: House, era: str, *, fetch: bool) -> None:
        self._house = house
        self._era = era
        self._fetch = fetch
        self.clients: list[Client] = []
        self.lists: list[list[types.Prompt]] = []
        self.heard: list[int] = []
        self._bells: list[asyncio.Event] = []
        self._busy = 0
        self._behind: set[int] = set()
        self._fresh = asyncio.Event()

    async def open(self, stack: AsyncExitStack, number: int) -> None:
        """Connect them, have them listen, and get the list."""
        await self.begin(stack)
        for _ in range(number):
            await self.add(stack)
            self.lists[-1] = await walk(self.clients[-1])

    async def begin(self, stack: AsyncExitStack) -> None:
        """Tasks run from now on."""
        self._group = await stack.enter_async_context(asyncio.TaskGroup())

    async def add(self, stack: AsyncExitStack) -> None:
        """Connect one, and have it listen."""
        each = len(self.clients)
        self.heard.append(0)
        self.lists.append([])
        self._bells.append(asyncio.Event())
        if self._era == "modern":
            client = await self._house.client(stack, self._era)
            subscription = await stack.enter_async_context(client.listen(prompts_list_changed=True))
            task = self._group.create_task(self._listen(each, subscription))
        else:
            client = await self._house.client(stack, self._era, message_handler=self._handler(each))
            task = self._group.create_task(self._wait(each))
        stack.callback(task.cancel)
        self.clients.append(client)

    def _handler(self, each: int) -> Callable[[Any], Any]:
        async def handle(message: Any) -> None:
            if isinstance(message, types.PromptListChangedNotification):
                self._bells[each].set()

        return handle

    async def _listen(self, each: int, subscription: Any) -> None:
        async for _ in subscription:
            await self._heard(each)

    async def _wait(self, each: int) -> None:
        """Legacy notifications come in a callback, in which a client would wait for itself."""
        while True:
            await self._bells[each].wait()
            self._bells[each].clear()
            await self._heard(each)

    async def _heard(self, each: int) -> None:
        self.heard[each] += 1
        if self._fetch:
            self._busy += 1
            self.lists[each] = await walk(self.clients[each])
            self._busy -= 1
        if not self._fetch or self.lists[each][work.EDITED] == self._house.prompts[work.EDITED]:
            self._behind.discard(each)
            if not self._behind:
                self._fresh.set()

    async def change(self, edits: Sequence[types.Prompt]) -> None:
        """Edits, until everybody has heard of the last one and done what there is to do."""
        self._behind = set(range(len(self.clients)))
        self._fresh.clear()
        for edited in edits:
            self._house.put(edited)
            await self._house.announce(self._era)
        await self._fresh.wait()
        while self._busy:  # noqa: ASYNC110 - an event would be one more thing to pay for
            await asyncio.sleep(0)


@asynccontextmanager
async def serving_bytes(server: Server[Any]) -> AsyncGenerator[Callable[..., Awaitable[bytes]]]:
    """A server, and how it is asked. Bytes are made into messages and back as its stdio transport does."""
    async with create_client_server_memory_streams() as (ours, theirs), asyncio.TaskGroup() as group:
        running = group.create_task(server.run(*theirs, server.create_initialization_options()))
        incoming, outgoing = ours

        async def ask(line: bytes, *, replies: bool = True) -> bytes:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            await outgoing.send(SessionMessage(message))
            if not replies:
                return b""
            received: Any = await incoming.receive()
            text: str = received.message.model_dump_json(by_alias=True, exclude_unset=True)
            return text.encode() + b"\n"

        yield ask
        running.cancel()


async def reply_job(ask: Callable[..., Awaitable[bytes]], method: str, era: str) -> Job:
    """The bytes of a request go in, those of a reply come out; a legacy session is begun before."""
    reply, line = b"", work.ask(method, era)

    async def step() -> None:
        nonlocal reply
        reply = await ask(line)

    if era == "legacy":
        asks, tells = work.initialize()
        await ask(asks)
        await ask(tells, replies=False)
    return Job(step, lambda: work.seen_reply(reply))
