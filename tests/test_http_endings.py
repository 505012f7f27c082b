"""Connections that break, at any byte: the client ends with the server's list, and says what happened."""

from __future__ import annotations

from typing import Any

import pytest
from cutting import cutting
from fronts import ASYNC_FRONTS, AsyncFront
from pair import KEYS, SERVER, prompt
from stage import VERSIONS

from mcp_sansio import (
    Catalogue,
    ClientConfig,
    Event,
    Implementation,
    Invalidated,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio.h11 import H11Config
from mcp_sansio_adapters import ConnectionFailed, RequestFailed

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.parametrize("front", ASYNC_FRONTS, ids=lambda front: front.name),
]


def made(count: int = 30) -> tuple[Server, Catalogue]:
    """A server of some prompts in pages of ten."""
    catalogue = Catalogue()
    with catalogue.batch():
        for number in range(count):
            catalogue.add(prompt(f"p{number:04}", description="x" * 50), lambda: "text")
    layer = PromptServer(catalogue, PromptServerConfig(keys=KEYS, page_size=10))
    return Server(ServerConfig(info=SERVER, quiet=0.005, max_wait=0.05), layer), catalogue


def patient(era: str) -> ClientConfig:
    """A client that tries again soon."""
    return ClientConfig(
        info=Implementation("c", "1"), versions=(VERSIONS[era],), backoff=0.01, backoff_max=0.05
    )


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("era", VERSIONS)
@pytest.mark.parametrize("after", [1, 40, 200, 400, 700, 1100, 2000, 3500, 5500])
def test_whatever_breaks_the_client_ends_with_the_server_s_list(
    front: AsyncFront, era: str, after: int, reset: bool
) -> None:
    """Cut in the head of a reply, in a body, in a stream, between pages."""

    async def scenario(front: Any) -> None:
        server, catalogue = made()
        async with front.module.open_http_server(server) as running:
            with cutting(running.addresses[0][1], after, reset=reset) as cutter:
                url = f"http://127.0.0.1:{cutter.port}/mcp"
                async with front.module.open_http_client(url, config=patient(era)) as client:
                    catalogue.add(prompt("early"), lambda: "text")
                    await insisting(client)
                    while not cutter.cut.is_set():
                        await insisting(client)
                    catalogue.add(prompt("late"), lambda: "text")
                    while "late" not in (await insisting(client)).by_name:
                        await front.checkpoint()
                    assert len(client.snapshot) == 32
                    assert client.snapshot.verified

    front.run(scenario)


async def insisting(client: Any) -> Any:
    """The list, asked for until it comes."""
    while True:
        try:
            return await client.refresh_prompts()
        except (RequestFailed, ConnectionFailed):
            pass


@pytest.mark.parametrize("era", VERSIONS)
def test_a_lost_channel_is_told_and_makes_the_list_suspect(front: AsyncFront, era: str) -> None:
    events: list[Event] = []

    async def scenario(front: Any) -> None:
        server, catalogue = made()
        async with front.module.open_http_server(server) as running:
            with cutting(running.addresses[0][1], 10**9, reset=False) as cutter:
                url = f"http://127.0.0.1:{cutter.port}/mcp"
                opened = front.module.open_http_client(url, config=patient(era), on_event=events.append)
                async with opened as client:
                    changes = client.changes()
                    await client.list_prompts()
                    cutter._left = 1  # the next byte, whatever it belongs to  # noqa: SLF001
                    catalogue.add(prompt("missed"), lambda: "text")
                    while client.snapshot is None or "missed" not in client.snapshot.by_name:
                        await anext(changes)

    front.run(scenario)
    reasons = {event.reason for event in events if isinstance(event, Invalidated)}
    assert any("lost" in reason for reason in reasons), reasons


def test_a_server_that_closes_idle_connections_at_once_costs_nothing(front: AsyncFront) -> None:
    async def scenario(front: Any) -> None:
        server, _ = made()
        config = H11Config(idle_timeout=0.001)
        async with (
            front.module.open_http_server(server, h11=config) as running,
            front.module.open_http_client(running.url, config=patient("modern")) as client,
        ):
            for _ in range(50):
                await client.get_prompt("p0001")

    front.run(scenario)
