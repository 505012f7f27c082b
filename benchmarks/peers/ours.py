"""mcp-sansio, as a contestant: the public classes, and its adapters where something has to be moved."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any
from unittest import mock

from benchmarks import work
from benchmarks.peers import remote
from benchmarks.peers.footprint import grown, importing, measured
from benchmarks.peers.job import Job
from benchmarks.peers.ours_pair import VERSIONS, End, House, prompt
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
from mcp_sansio._lines import LineBuffer
from mcp_sansio._memory import Memory
from mcp_sansio._sse import SseDecoder, SseEvent
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
    edited = house.next_edit()

    def before() -> None:
        nonlocal edited
        edited = house.next_edit()

    def step() -> None:
        house.put(edited)
        end.prompts.refresh(house.now)
        house.settle(end)

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


ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "comparing": {"recognizes": mock.Mock(return_value=False)},
    "comparing or interning": {
        "recognizes": mock.Mock(return_value=False),
        "_known": mock.Mock(return_value={}),
    },
}
"""What is taken from a client's memory of the last walk, to see what it is worth."""


@asynccontextmanager
async def client_reply(state: str, prompts: int, without: str = "") -> AsyncGenerator[Job]:
    """The bytes of a reply become a list; the request before it is part of that."""
    with mock.patch.multiple(Memory, **ABLATIONS[without]) if without else nullcontext():
        yield client_reply_job(state, prompts)


def client_reply_job(state: str, prompts: int) -> Job:
    """A client that is given replies, and a server that made them before."""
    house = House(prompts, page=prompts, announce=False)
    end = house.ends[0]
    pages = {revision: reply_to_list(house, revision) for revision in (0, 1)}
    revision = 0

    def before() -> None:
        nonlocal revision
        if state == "cold":
            end.prompts.principal_changed(house.now)
        elif state == "changed":
            revision += 1
            pages[revision] = reply_to_list(house, revision)

    def step() -> None:
        end.prompts.refresh(house.now)
        end.client.next_ready()
        asked = end.near.data_to_send()[0]
        call = asked.partition(b'"id":')[2].partition(b",")[0]
        end.near.receive_data(b'{"jsonrpc":"2.0","id":%b,"result":%b' % (call, pages[revision]), house.now)
        while (event := end.client.next_event()) is not None:
            end.last = event

    return Job(step, lambda: end.listed, before=before, revision=lambda: revision)


def reply_to_list(house: House, revision: int) -> bytes:
    """What comes after `result` in the reply of a server, as bytes, with the newline."""
    if revision:
        house.put(prompt(work.EDITED, revision))
    wire = LineWire(house.server.open(), house.now)
    wire.receive_data(work.ask("prompts/list", "modern") + b"\n", house.now)
    house.server.next_ready()
    return b"".join(wire.data_to_send()).partition(b'"result":')[2]


@asynccontextmanager
async def server_edit(prompts: int) -> AsyncGenerator[Job]:
    """A prompt is edited, and a request for the list answered."""
    house = House(prompts, page=prompts, clients=0, announce=False)
    wire = LineWire(house.server.open(), house.now)
    line = work.ask("prompts/list", "modern") + b"\n"
    edited, replies = house.next_edit(), list[bytes]()

    def before() -> None:
        nonlocal edited
        edited = house.next_edit()

    def step() -> None:
        nonlocal replies
        house.put(edited)
        wire.receive_data(line, house.now)
        house.server.next_ready()
        replies = wire.data_to_send()

    def answer() -> list[Any]:
        return work.seen_reply(b"".join(replies))

    yield Job(step, answer, before=before, revision=lambda: house.revision)


@asynccontextmanager
async def framing(what: str, size: int, chunk: int) -> AsyncGenerator[Job]:
    """One long line or event, in chunks; it is only cut out."""
    whole = work.framed(what, size)
    chunks = [whole[at : at + chunk] for at in range(0, len(whole), chunk)]
    found: list[int] = []

    def step() -> None:
        nonlocal found
        if what == "line":
            lines = LineBuffer(size)
            found = [len(line) for each in chunks for line in lines.feed(each) if isinstance(line, bytes)]
        else:
            events = SseDecoder(2 * size)
            cut = [event for each in chunks for event in events.feed(each)]
            found = [len(event.data) for event in cut if isinstance(event, SseEvent)]

    yield Job(step, lambda: found)


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
        return work.agreed(
            [() if (kept := end.prompts.snapshot) is None else kept.items for end in house.ends]
        )

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
    """A client of the child process of a command, or of a URL. It fetches changes by itself if it is to
    follow.
    """
    config = ClientConfig(info=Implementation("benchmark", "1"), versions=VERSIONS[era])
    listing = ListingConfig(eager=follow)
    opening = open_http_client if isinstance(target, str) else open_stdio_client
    async with opening(target, config=config, listing=listing) as client:
        if follow:
            await client.list_prompts()
        yield Remote(client, client.changes())


# --- footprint ---

IMPORTS = {
    "core": "import mcp_sansio",
    "adapters": "import mcp_sansio, mcp_sansio_adapters.asyncio",
}


@asynccontextmanager
async def session_memory(sessions: int, era: str) -> AsyncGenerator[Job]:
    """Clients of one server."""
    house = House(100, era=era)

    async def make() -> End:
        end = End(house, era, None)
        house.settle(end)
        return end

    amount, made = await grown(sessions, make)
    yield measured(amount, lambda: ["connected" for end in made if end.client.era is not None][:1])


@asynccontextmanager
async def list_memory(prompts: int, lists: int) -> AsyncGenerator[Job]:
    """Clients that keep a list; connecting them is not counted."""
    house = House(prompts, clients=lists + 1)
    left = iter(house.ends)

    async def make() -> End:
        end = next(left)
        end.prompts.list(house.now)
        house.settle(end)
        return end

    amount, made = await grown(lists, make)
    yield measured(amount, lambda: made[-1].listed)


JOBS: Mapping[str, Callable[..., AbstractAsyncContextManager[Job]]] = {
    "list_cold": list_cold,
    "list_changed": list_changed,
    "list_unchanged": list_unchanged,
    "get": get,
    "cached_hit": cached_hit,
    "server_reply": server_reply,
    "fan_out": fan_out,
    "churn": churn,
    "client_reply": client_reply,
    "server_edit": server_edit,
    "framing": framing,
    "importing": importing(IMPORTS),
    "session_memory": session_memory,
    "list_memory": list_memory,
    **remote.jobs("ours", connect),
}
REFUSED: Mapping[str, str] = {}
