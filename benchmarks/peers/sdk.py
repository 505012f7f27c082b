"""The official Python SDK, `mcp`, as a contestant: its low-level `Server` and its `Client`, as its
documentation has them.

In memory the modern era is its direct dispatcher, where no bytes are made at all: the fastest way that it
has. The legacy era is its memory streams. Servers have their prompts as objects, ready to be sent, and send
pages by number.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.client import Client

from benchmarks import work
from benchmarks.peers import remote
from benchmarks.peers.footprint import grown, importing, measured
from benchmarks.peers.job import Job
from benchmarks.peers.sdk_pair import House, Listeners, rendered, reply_job, serving_bytes, walk
from benchmarks.peers.sdk_remote import connect

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
async def server_reply(method: str, prompts: int, era: str) -> AsyncGenerator[Job]:
    """The bytes of a request go in, those of a reply come out."""
    async with serving_bytes(House(prompts, page=prompts).server) as ask:
        yield await reply_job(ask, method, era)


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
            return work.agreed(everybody.lists)

        yield Job(step, answer, before=before, revision=lambda: house.revision, units=clients)


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
