"""Worlds of patience: nothing happens for a day, nothing is ever granted, more is sent than pipes hold."""

from __future__ import annotations

from functools import partial

from mcp_sansio._client_config import ClientConfig
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._server_config import ServerConfig
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._scenarios import CLIENT, KEYS, SERVER, SPOKEN, Scenario
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._workload import Workload
from mcp_sansio.simulation._world import World

DAY = 86400.0


def _pair(world: World, until: float, config: ServerConfig) -> Workload:
    tape = world.tape
    world.add("s1", ServerNode(config, PromptServerConfig(keys=KEYS, ttl=tape.one_of("ttl", (60.0, 600.0)))))
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(3)
    world.add("c1", ClientNode("s1", ClientConfig(info=CLIENT, versions=tape.one_of("versions", SPOKEN))))
    return load


def idle(world: World, until: float) -> None:
    """One change after a second, one list, and then nothing for a day."""
    _pair(world, until, ServerConfig(info=SERVER))
    world.at(1.0, partial(world.command, "s1", "edit", put=[("p000", "new")]))
    world.at(2.0, partial(world.command, "c1", "list"))


def refused(world: World, until: float) -> None:
    """Nobody is ever granted a subscription; the client has to do without."""
    load = _pair(world, until, ServerConfig(info=SERVER, max_subscriptions=0))
    load.changes(4.0)
    load.reads(4.0)


def flood(world: World, until: float) -> None:
    """So much is asked at once that neither direction holds it."""
    _pair(world, until, ServerConfig(info=SERVER))
    size = world.tape.one_of("size", (40_000, 400))
    for number in range(world.tape.between("gets", 1, 600)):
        get = {"name": f"p{number % 3:03}", "arguments": {"topic": "x" * size}}
        world.at(1.0, partial(world.command, "c1", "get", **get))


IDLE_DAY = Scenario("idle-day", DAY, idle, faults=())
REFUSED = Scenario("refused", 20.0, refused, faults=(), scarred=600.0)
FLOOD = Scenario("flood", 2.0, flood, faults=())
