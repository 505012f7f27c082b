"""Our client and our server on trio, in worlds: as `python tests/trio_worlds.py N` it prints N digests."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
import trio

from mcp_sansio import (
    Catalogue,
    ClientConfig,
    Implementation,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio._reports import items
from mcp_sansio.simulation._checks.client import CLIENT_CHECKS
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._run import Outcome, run_seed
from mcp_sansio.simulation._scenarios import KEYS, Scenario
from mcp_sansio.simulation._server_node import ServerNode, entry
from mcp_sansio.simulation._workload import Workload
from mcp_sansio.simulation._world import World
from mcp_sansio_adapters import ConnectionFailed, RequestFailed
from mcp_sansio_adapters._async_client import AsyncClient
from mcp_sansio_adapters.simulation_trio import Party, TrioNode
from mcp_sansio_adapters.trio import connect, open_service, serve_stream

CLIENT = ClientConfig(info=Implementation("on-trio", "1"), jitter=lambda: 0.5)
SERVER = ServerConfig(info=Implementation("simulated", "1"))
SERVING = PromptServerConfig(keys=KEYS, page_size=2)


async def client_of_s1(world: Party) -> None:
    """A client that does what the workload wants, and connects again when the connection is lost."""
    connected: list[AsyncClient] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(obey, world, connected, nursery)
        while True:
            world.anew()
            with suppress(OSError, ConnectionFailed):
                stream = await world.connect("s1")
                async with connect(stream, config=CLIENT, on_event=world.told) as client:
                    world.observe = partial(held, client)
                    connected.append(client)
                    async for _ in client.changes():
                        pass
            connected.clear()
            await trio.sleep(0.5)


def held(client: AsyncClient) -> dict[str, Any]:
    return {"connected": True, "items": items(client.snapshot)}


async def obey(world: Party, connected: list[AsyncClient], nursery: trio.Nursery) -> None:
    """Nobody can be asked while there is no connection."""
    async for verb, data in world.commands():
        if connected:
            nursery.start_soon(act, connected[0], verb, data)


async def act(client: AsyncClient, verb: str, data: Mapping[str, Any]) -> None:
    with suppress(RequestFailed, ConnectionFailed):
        match verb:
            case "list":
                await client.list_prompts()
            case "refresh":
                await client.refresh_prompts()
            case _:
                await client.get_prompt(data["name"])


async def server(catalogue: Catalogue, world: Party) -> None:
    """A server for whoever connects; the workload edits its prompts, which outlive it."""
    machine = Server(SERVER, PromptServer(catalogue, SERVING))
    async with open_service(machine, on_event=world.told) as service, trio.open_nursery() as nursery:
        nursery.start_soon(edit, world, catalogue)
        async for stream in world.connections():
            nursery.start_soon(serve_stream, service, stream)


async def edit(world: Party, catalogue: Catalogue) -> None:
    async for _, data in world.commands():
        with catalogue.batch():
            for name in data.get("remove", ()):
                catalogue.remove(name)
            for name, tag in data.get("put", ()):
                catalogue.put(attrs.evolve(entry(name, tag), blocking=False))  # no threads


def with_client(seed: int, seconds: float = 20.0) -> Outcome:
    """One run with our client on trio, and a simulated server."""
    nodes: list[TrioNode] = []

    def scene(world: World, until: float) -> None:
        world.add("s1", ServerNode(SERVER, SERVING))
        load = Workload(world, "s1", ["c1"], until)
        load.prompts(5)
        nodes.append(TrioNode(client_of_s1, "client", seed=world.tape.draw("trio", 1 << 30)))
        world.add("c1", nodes[0])
        for kind in (load.changes, load.reads, load.gets, load.refreshes):
            kind(1.0)

    return run(scene, seed, seconds, nodes)


def with_server(seed: int, seconds: float = 20.0) -> Outcome:
    """One run with our server on trio, and a simulated client."""
    nodes: list[TrioNode] = []

    def scene(world: World, until: float) -> None:
        nodes.append(TrioNode(partial(server, Catalogue()), "server", seed=world.tape.draw("trio", 1 << 30)))
        world.add("s1", nodes[0])
        load = Workload(world, "s1", ["c1"], until)
        load.prompts(5)
        world.add("c1", ClientNode("s1", CLIENT))
        for kind in (load.changes, load.reads, load.gets, load.refreshes):
            kind(1.0)

    return run(scene, seed, seconds, nodes)


def run(scene: Any, seed: int, seconds: float, nodes: list[TrioNode]) -> Outcome:
    try:
        return run_seed(Scenario("trio", seconds, scene), seed, CLIENT_CHECKS)
    finally:
        for node in nodes:
            node.close()


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        print(with_client(number).digest)
