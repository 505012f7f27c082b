"""mcp-sansio, as a contestant: the public classes, and its adapters where something has to be moved."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from benchmarks import work
from benchmarks.peers import remote
from benchmarks.peers.job import Job
from benchmarks.peers.ours_pair import VERSIONS, End, House
from mcp_sansio import (
    ClientConfig,
    Implementation,
    LineWire,
    ListingConfig,
    Prompt,
    PromptMessage,
    PromptRendered,
    PromptRequested,
)
from mcp_sansio_adapters.asyncio import AsyncClient, Changes, open_http_client, open_stdio_client

# --- in memory ---


@asynccontextmanager
async def list_cold(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A list, by a client that has forgotten everything: its memory is thrown away before each step."""
    house = House(prompts, era=era)
    end = house.ends[0]

    def step() -> None:
        end.prompts.list(house.now)
        house.settle(end)

    yield Job(step, lambda: end.listed, before=lambda: end.prompts.principal_changed(house.now))


@asynccontextmanager
async def list_changed(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is edited, and the list asked for again. Nothing is announced: the client just asks."""
    house = House(prompts, era=era, announce=False)
    end = house.ends[0]
    house.calm()

    def before() -> None:
        nonlocal edited
        edited = house.next_edit()

    def step() -> None:
        house.put(edited)
        end.prompts.refresh(house.now)
        house.settle(end)

    edited = house.next_edit()
    yield Job(step, lambda: end.listed, before=before, revision=lambda: house.revision)


@asynccontextmanager
async def list_unchanged(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list is asked for again, past the cache."""
    house = House(prompts, era=era)
    end = house.ends[0]

    def step() -> None:
        end.prompts.refresh(house.now)
        house.settle(end)

    yield Job(step, lambda: end.listed)


@asynccontextmanager
async def get(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is rendered, both ways."""
    house = House(prompts, era=era)
    end = house.ends[0]
    name = work.name(work.EDITED)

    def step() -> None:
        end.prompts.get(name, work.ARGUMENTS, house.now)
        house.settle(end)

    yield Job(step, lambda: _rendered(end))


def _rendered(end: End) -> list[Any]:
    return work.seen_messages(end.last.result.messages) if isinstance(end.last, PromptRendered) else []


@asynccontextmanager
async def cached_hit(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list is asked for while it is fresh: one command, one event."""
    house = House(prompts, era=era)
    end = house.ends[0]
    house.settle(end)
    prompts_client, client, now = end.prompts, end.client, house.now
    prompts_client.list(now)
    house.settle(end)

    def step() -> None:
        prompts_client.list(now)
        end.last = client.next_event()

    yield Job(step, lambda: end.listed)


# --- the server alone ---


@asynccontextmanager
async def server_reply(method: str, prompts: int, era: str) -> AsyncGenerator[Job]:
    """The bytes of a request go in, those of a reply come out."""
    house = House(prompts, era=era, clients=0)
    server, wire = house.server, LineWire(house.server.open(), house.now)
    replies: list[bytes] = []

    def ask(line: bytes) -> None:
        nonlocal replies
        wire.receive_data(line, house.now)
        while (event := server.next_event()) is not None:
            if isinstance(event, PromptRequested):
                house.prompt_server.answer(event, event.call(), house.now)
        while server.next_ready() is not None:
            replies = wire.data_to_send()

    for line in work.initialize() if era == "legacy" else []:
        ask(line + b"\n")
    line = work.ask(method, era) + b"\n"
    yield Job(lambda: ask(line), lambda: work.seen_reply(b"".join(replies)))


# --- changes ---


@asynccontextmanager
async def fan_out(listeners: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is edited, and everybody is told. Clients take note, and ask when they are asked."""
    house = House(100, era=era, clients=listeners, listing=ListingConfig(eager=False))
    house.calm()
    for end in house.ends:
        end.prompts.list(house.now)
        house.settle(end)
    edited = house.next_edit()

    def before() -> None:
        nonlocal edited
        edited = house.next_edit()
        for end in house.ends:
            end.prompts.list(house.now)
            house.settle(end)
            end.heard = 0

    def step() -> None:
        house.put(edited)
        house.calm()

    def heard() -> list[int]:
        return [min(end.heard for end in house.ends), max(end.heard for end in house.ends)]

    yield Job(step, heard, before=before, units=listeners)


@asynccontextmanager
async def churn(clients: int, prompts: int, page: int, burst: int, era: str) -> AsyncGenerator[Job]:
    """Prompts are edited `burst` times, and every client fetches the list. All times are the defaults."""
    house = House(prompts, page=page, era=era, clients=clients)
    for end in house.ends:
        end.prompts.list(house.now)
        house.settle(end)
    house.calm()
    edits: list[Prompt] = []

    def before() -> None:
        edits[:] = [house.next_edit() for _ in range(burst)]

    def step() -> None:
        for edited in edits:
            house.put(edited)
        house.calm()

    def answer() -> list[Any]:
        first, *others = [snapshot.items for end in house.ends if (snapshot := end.prompts.snapshot)]
        agree = len(others) + 1 == clients and all(other == first for other in others)
        return work.seen(first) if agree else ["they do not agree"]

    yield Job(step, answer, before=before, revision=lambda: house.revision, units=clients)


# --- with a server elsewhere ---


class Remote:
    """A connected client of the asyncio front end."""

    def __init__(self, client: AsyncClient, changes: Changes) -> None:
        self._client = client
        self._changes = changes

    async def list(self) -> Sequence[Prompt]:
        return (await self._client.refresh_prompts()).items

    async def get(self, arguments: Mapping[str, str]) -> Sequence[PromptMessage]:
        return (await self._client.get_prompt(work.name(work.EDITED), arguments)).messages

    async def fresh(self, description: str) -> Sequence[Prompt]:
        listed = await self._client.list_prompts(stale_ok=True)
        while listed.by_name[work.name(work.EDITED)].description != description:
            listed = (await anext(self._changes)).snapshot
        return listed.items


@asynccontextmanager
async def connect(target: Any, era: str, *, follow: bool) -> AsyncGenerator[Remote]:
    """A client of the child process of a command, or of a URL. It fetches changes by itself if it is to follow."""
    config = ClientConfig(info=Implementation("benchmark", "1"), versions=VERSIONS[era])
    listing = ListingConfig(eager=follow)
    opening = open_http_client if isinstance(target, str) else open_stdio_client
    async with opening(target, config=config, listing=listing) as client:
        if follow:
            await client.list_prompts()
        yield Remote(client, client.changes())


JOBS: Mapping[str, Callable[..., AbstractAsyncContextManager[Job]]] = {
    "list_cold": list_cold,
    "list_changed": list_changed,
    "list_unchanged": list_unchanged,
    "get": get,
    "cached_hit": cached_hit,
    "server_reply": server_reply,
    "fan_out": fan_out,
    "churn": churn,
    **remote.jobs("ours", connect),
}
REFUSED: Mapping[str, str] = {}
