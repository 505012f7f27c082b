"""The jobs of the floor."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import attrs

from benchmarks import work
from benchmarks.peers import remote
from benchmarks.peers.floor_pair import Client, Message, Prompt, Server, notification_of
from benchmarks.peers.floor_remote import connect
from benchmarks.peers.footprint import grown, importing, measured
from benchmarks.peers.job import Job


@asynccontextmanager
async def list_cold(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A list of which nothing is known."""
    client = Client(Server(prompts, 100))
    yield Job(client.list_cold, lambda: work.seen(client.listed.values()))


@asynccontextmanager
async def list_changed(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is edited, and the list asked for again."""
    server = Server(prompts, 100)
    client = Client(server)
    revision, spec = 0, work.spec(work.EDITED)

    def before() -> None:
        nonlocal revision, spec
        revision += 1
        spec = work.spec(work.EDITED, revision)

    def step() -> None:
        server.put(spec)
        client.fetch()

    yield Job(step, lambda: work.seen(client.listed.values()), before=before, revision=lambda: revision)


@asynccontextmanager
async def list_unchanged(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list is asked for again."""
    client = Client(Server(prompts, 100))
    yield Job(client.fetch, lambda: work.seen(client.listed.values()))


@asynccontextmanager
async def get(prompts: int, era: str) -> AsyncGenerator[Job]:
    """A prompt is rendered, both ways."""
    client = Client(Server(prompts, 100))
    name = work.name(work.EDITED)
    messages: list[Message] = []

    def step() -> None:
        nonlocal messages
        messages = client.get(name, work.ARGUMENTS)

    yield Job(step, lambda: work.seen_messages(messages))


@attrs.frozen(weakref_slot=False)
class Listed:
    op: int
    listed: Mapping[str, Prompt]


@asynccontextmanager
async def cached_hit(prompts: int, era: str) -> AsyncGenerator[Job]:
    """The list that is there, if it is fresh, in an event that says which command it answers."""
    client = Client(Server(prompts, prompts))
    client.fetch()
    now, expires, events = 1.0, 60.0, deque[Listed]()
    op, last = 0, Listed(0, client.listed)

    def step() -> None:
        nonlocal op, last
        op += 1
        if now < expires:
            events.append(Listed(op, client.listed))
        last = events.popleft()

    yield Job(step, lambda: work.seen(last.listed.values()))


@asynccontextmanager
async def server_reply(method: str, prompts: int, era: str) -> AsyncGenerator[Job]:
    """The bytes of a request go in, those of a reply come out."""
    server = Server(prompts, prompts)
    reply = b""
    line = work.ask(method, era) + b"\n"

    def step() -> None:
        nonlocal reply
        reply = server.serve(line.split(b"\n")[0])

    yield Job(step, lambda: work.seen_reply(reply))


@asynccontextmanager
async def fan_out(listeners: int, era: str) -> AsyncGenerator[Job]:
    """Everybody gets the bytes of a notification, with the id of the request that asked for it, and reads
    them.
    """
    heads = [
        b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":'
        b'{"_meta":{"io.modelcontextprotocol/subscriptionId":%d}}}\n' % number
        for number in range(listeners)
    ]
    heard = [0] * listeners
    spec, server = work.spec(work.EDITED, 1), Server(100, 100)

    def before() -> None:
        heard[:] = [0] * listeners

    def step() -> None:
        server.put(spec)
        for number in range(listeners):
            notification = notification_of(heads[number].split(b"\n")[0])
            if notification.method == "notifications/prompts/list_changed":
                heard[notification.params.meta.subscription] += 1

    yield Job(step, lambda: [min(heard), max(heard)], before=before, units=listeners)


@asynccontextmanager
async def churn(clients: int, prompts: int, page: int, burst: int, era: str) -> AsyncGenerator[Job]:
    """Prompts are edited `burst` times; everybody is told once, and fetches the list."""
    server = Server(prompts, page)
    everybody = [Client(server) for _ in range(clients)]
    line = b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":%b}}\n' % (
        b'{"io.modelcontextprotocol/subscriptionId":1}'
    )
    edits: list[dict[str, Any]] = []
    revision = 0

    def before() -> None:
        nonlocal revision
        edits[:] = [work.spec(work.EDITED, revision + number + 1) for number in range(burst)]
        revision += burst

    def step() -> None:
        for spec in edits:
            server.put(spec)
        for client in everybody:
            if notification_of(line.split(b"\n")[0]).method == "notifications/prompts/list_changed":
                client.fetch()

    def answer() -> list[Any]:
        return work.agreed([[*client.listed.values()] for client in everybody])

    yield Job(step, answer, before=before, revision=lambda: revision, units=clients)


@asynccontextmanager
async def client_reply(state: str, prompts: int) -> AsyncGenerator[Job]:
    """The bytes of a reply become a list."""
    server = Server(prompts, prompts)
    client = Client(server)
    revision = 0
    asking = client.ask(b"prompts/list", b"")

    reply = server.serve(asking)

    def before() -> None:
        nonlocal revision, reply
        if state == "changed":
            revision += 1
            server.put(work.spec(work.EDITED, revision))
            reply = server.serve(asking)

    def step() -> None:
        client.call = 0
        client.ask(b"prompts/list", b"")
        if state == "cold":
            client.hear_cold(reply.split(b"\n")[0])
        else:
            client.only_page(bytes(client.hear(reply.split(b"\n")[0])))

    yield Job(step, lambda: work.seen(client.listed.values()), before=before, revision=lambda: revision)


@asynccontextmanager
async def server_edit(prompts: int) -> AsyncGenerator[Job]:
    """A prompt is edited, and a request for the list answered."""
    server = Server(prompts, prompts)
    revision, spec, reply = 0, work.spec(work.EDITED), b""
    line = work.ask("prompts/list", "modern") + b"\n"

    def before() -> None:
        nonlocal revision, spec
        revision += 1
        spec = work.spec(work.EDITED, revision)

    def step() -> None:
        nonlocal reply
        server.put(spec)
        reply = server.serve(line.split(b"\n")[0])

    yield Job(step, lambda: work.seen_reply(reply), before=before, revision=lambda: revision)


@asynccontextmanager
async def framing(what: str, size: int, chunk: int) -> AsyncGenerator[Job]:
    """Chunks are kept until the last one has come, and joined."""
    whole = work.framed(what, size)
    chunks = [whole[at : at + chunk] for at in range(0, len(whole), chunk)]
    end, head = (b"\n", 0) if what == "line" else (b"\n\n", len(b"data: "))
    found: list[int] = []

    def step() -> None:
        nonlocal found
        held: list[bytes] = []
        for each in chunks:
            held.append(each)
            if end in each:
                found = [len(b"".join(held)) - head - len(end)]

    yield Job(step, lambda: found)


@asynccontextmanager
async def list_memory(prompts: int, lists: int) -> AsyncGenerator[Job]:
    """Lists that clients keep, with the bytes that they need to compare."""
    server = Server(prompts, 100)

    async def make() -> Client:
        client = Client(server)
        client.fetch()
        return client

    amount, made = await grown(lists, make)
    yield measured(amount, lambda: work.seen(made[-1].listed.values()))


IMPORTS: Mapping[str, str] = dict.fromkeys(("core", "adapters"), "import asyncio, attrs, msgspec")
NOT_WRITTEN = "in memory it is the same work; only reading and writing would be added"
ELSEWHERE = {name: job for name, job in remote.jobs("floor", connect).items() if not name.startswith("churn")}
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
    "list_memory": list_memory,
    **ELSEWHERE,
}
REFUSED: Mapping[str, str] = dict.fromkeys(("churn_stdio", "churn_http"), NOT_WRITTEN)
