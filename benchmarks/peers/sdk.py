"""The official Python SDK, `mcp`, as a contestant: its low-level `Server` and its `Client`, as its
documentation has them.

In memory the modern era is its direct dispatcher, where no bytes are made at all: the fastest way that it
has. The legacy era is its memory streams. Servers have their prompts as objects, ready to be sent, and send
pages by number.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from benchmarks import work
from benchmarks.peers import remote
from benchmarks.peers.footprint import grown, importing, measured
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


# --- in memory ---


@asynccontextmanager
async def list_again(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A list; every time is like the first."""
    async with AsyncExitStack() as stack:
        client = await House(prompts).client(stack, era)
        listed: list[types.Prompt] = []

        async def step() -> None:
            nonlocal listed
            listed = await walk(client)

        yield Job(step, lambda: work.seen(listed))


@asynccontextmanager
async def list_changed(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is edited, and the list asked for again."""
    async with AsyncExitStack() as stack:
        house = House(prompts)
        client = await house.client(stack, era)
        edited = house.next_edit()
        listed: list[types.Prompt] = []

        def before() -> None:
            nonlocal edited
            edited = house.next_edit()

        async def step() -> None:
            nonlocal listed
            house.put(edited)
            listed = await walk(client)

        yield Job(step, lambda: work.seen(listed), before=before, revision=lambda: house.revision)


@asynccontextmanager
async def get(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is rendered, both ways."""
    async with AsyncExitStack() as stack:
        client = await House(prompts).client(stack, era)
        name = work.name(work.EDITED)
        result = rendered("")

        async def step() -> None:
            nonlocal result
            result = await client.get_prompt(name, work.ARGUMENTS)

        yield Job(step, lambda: work.seen_messages(result.messages))


@asynccontextmanager
async def cached_hit(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list is asked for while its response cache has it: one page, so that it is one entry."""
    async with AsyncExitStack() as stack:
        client = await House(prompts, page=prompts).client(stack, era)
        page = await client.list_prompts()

        async def step() -> None:
            nonlocal page
            page = await client.list_prompts()

        yield Job(step, lambda: work.seen(page.prompts))


# --- the server alone ---


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


@asynccontextmanager
async def server_reply(method: str, prompts: int, era: str) -> AsyncGenerator[Job]:
    """The bytes of a request go in, those of a reply come out."""
    async with serving_bytes(House(prompts, page=prompts).server) as ask:
        reply, line = b"", work.ask(method, era)

        async def step() -> None:
            nonlocal reply
            reply = await ask(line)

        if era == "legacy":
            asks, tells = work.initialize()
            await ask(asks)
            await ask(tells, replies=False)
        yield Job(step, lambda: work.seen_reply(reply))


@asynccontextmanager
async def client_reply(state: str, prompts: int) -> AsyncGenerator[Job]:
    """The bytes of a reply become a list, by the models that its transports and its session use."""
    house = House(prompts, page=prompts)
    listed: list[types.Prompt] = []
    reply, revision = b"", 0

    def encoded() -> bytes:
        result = types.ListPromptsResult(prompts=house.prompts)
        body = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        message = types.JSONRPCResponse(jsonrpc="2.0", id=1, result=body)
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()

    def before() -> None:
        nonlocal reply, revision
        if state == "changed":
            revision += 1
            house.put(types.Prompt(**work.spec(work.EDITED, revision)))
            reply = encoded()

    def step() -> None:
        nonlocal listed
        request = types.ListPromptsRequest(params=types.PaginatedRequestParams())
        asked = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        types.JSONRPCRequest(jsonrpc="2.0", id=1, **asked).model_dump_json(by_alias=True, exclude_unset=True)
        message: Any = types.jsonrpc_message_adapter.validate_json(reply, by_name=False)
        listed = types.ListPromptsResult.model_validate(message.result, by_name=False).prompts

    reply = encoded()
    yield Job(step, lambda: work.seen(listed), before=before, revision=lambda: revision)


@asynccontextmanager
async def server_edit(prompts: int) -> AsyncGenerator[Job]:
    """A prompt is edited, and a request for the list answered, as in `server_reply`."""
    house = House(prompts, page=prompts)
    async with serving_bytes(house.server) as ask:
        edited, reply, line = house.next_edit(), b"", work.ask("prompts/list", "modern")

        def before() -> None:
            nonlocal edited
            edited = house.next_edit()

        async def step() -> None:
            nonlocal reply
            house.put(edited)
            reply = await ask(line)

        yield Job(step, lambda: work.seen_reply(reply), before=before, revision=lambda: house.revision)


# --- changes ---


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
async def fan_out(listeners: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is edited, and everybody is told."""
    async with AsyncExitStack() as stack:
        house = House(100)
        everybody = Listeners(house, era, fetch=False)
        await everybody.open(stack, listeners)
        edits: list[types.Prompt] = []

        def before() -> None:
            edits[:] = [house.next_edit()]
            everybody.heard = [0] * listeners

        async def step() -> None:
            await everybody.change(edits)

        def heard() -> list[int]:
            return [min(everybody.heard), max(everybody.heard)]

        yield Job(step, heard, before=before, units=listeners)


@asynccontextmanager
async def churn(clients: int, prompts: int, page: int, burst: int, era: str) -> AsyncGenerator[Job]:
    """Prompts are edited `burst` times, and every client fetches the list when it hears of that.

    Events of a subscription that nobody has taken yet are one; in the legacy era, so is a bell.
    """
    async with AsyncExitStack() as stack:
        house = House(prompts, page)
        everybody = Listeners(house, era, fetch=True)
        await everybody.open(stack, clients)
        edits: list[types.Prompt] = []

        def before() -> None:
            edits[:] = [house.next_edit() for _ in range(burst)]

        async def step() -> None:
            await everybody.change(edits)

        def answer() -> list[Any]:
            first, *others = everybody.lists
            return work.seen(first) if all(other == first for other in others) else ["they do not agree"]

        yield Job(step, answer, before=before, revision=lambda: house.revision, units=clients)


# --- with a server elsewhere ---


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


# --- footprint ---

IMPORTS = {"core": "import mcp", "adapters": "import mcp, mcp.client, mcp.server"}


@asynccontextmanager
async def session_memory(sessions: int, era: str) -> AsyncGenerator[Job]:
    """Clients of one server, which listen to changes."""
    async with AsyncExitStack() as stack:
        everybody = Listeners(House(100), era, fetch=False)
        await everybody.begin(stack)

        async def make() -> Client:
            await everybody.add(stack)
            return everybody.clients[-1]

        amount, made = await grown(sessions, make)
        yield measured(amount, lambda: ["connected" for each in made if each.protocol_version][:1])


@asynccontextmanager
async def list_memory(prompts: int, lists: int) -> AsyncGenerator[Job]:
    """Lists that a client has got."""
    async with AsyncExitStack() as stack:
        client = await House(prompts).client(stack, "modern")
        amount, made = await grown(lists, lambda: walk(client))
        yield measured(amount, lambda: work.seen(made[-1]))


JOBS: Mapping[str, Callable[..., AbstractAsyncContextManager[Job]]] = {
    "list_cold": list_again,
    "list_changed": list_changed,
    "list_unchanged": list_again,
    "get": get,
    "cached_hit": cached_hit,
    "server_reply": server_reply,
    "fan_out": fan_out,
    "churn": churn,
    "client_reply": client_reply,
    "server_edit": server_edit,
    "importing": importing(IMPORTS),
    "session_memory": session_memory,
    "list_memory": list_memory,
    **remote.jobs("sdk", connect),
}
REFUSED: Mapping[str, str] = {}
