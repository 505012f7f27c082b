"""Worlds that ask more of a server than a day at the office does: storms, strangers, and its end."""

from __future__ import annotations

from functools import partial

from mcp_sansio._client_config import ClientConfig
from mcp_sansio._listing import ListingConfig
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._server_config import ServerConfig
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._faults import ALL, STRIKES
from mcp_sansio.simulation._group import Leader, ServerGroup
from mcp_sansio.simulation._scenarios import CLIENT, KEYS, SERVER, SPOKEN, TORTURE, Scenario
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._workload import Workload
from mcp_sansio.simulation._world import World

from .prober import Loot, Prober


def storm(world: World, until: float) -> None:
    """Something changes all the time, for as long as it lasts, and nothing goes wrong."""
    serving = PromptServerConfig(keys=KEYS, page_size=world.tape.one_of("page size", (50, 2)))
    config = ServerConfig(info=SERVER, quiet=world.tape.one_of("server quiet", (0.05, 0.0)))
    world.add("s1", ServerNode(config, serving))
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(5)
    patience = world.tape.one_of("patience", (ListingConfig(quiet=10.0, max_wait=10.0), ListingConfig()))
    world.add("c1", ClientNode("s1", ClientConfig(info=CLIENT), patience))
    every = world.tape.one_of("every", (8.0, 0.04))
    for number in range(1, int(until / every)):
        change = {"put": [(f"p{number % 5:03}", f"s{number}")]}
        world.at(number * every, partial(world.command, "s1", "edit", **change))


def principals(world: World, until: float) -> None:
    """Two callers whose principals differ, and a third without one, try whatever any of them has seen."""
    tape = world.tape
    asks = tape.one_of("asks", (1, 3))
    node = ServerNode(
        ServerConfig(info=SERVER),
        PromptServerConfig(keys=KEYS, page_size=2, state_ttl=tape.one_of("state ttl", (600.0, 3.0))),
        asks=lambda: tape.chance("ask", asks),
        principals={"a1": "alice", "b1": "bob"},
    )
    world.add("s1", node)
    load = Workload(world, "s1", [], until)
    load.prompts(5)
    load.changes(4.0)
    loot = Loot()
    for name in ("a1", "b1", "x1"):
        world.add(name, Prober("s1", loot))
        load.repeat(f"{name} probes", 0.3, partial(_probe, world, name))


def _probe(world: World, name: str, choice: int) -> None:
    world.command(name, "probe", choice=choice)


def replicas(world: World, until: float) -> None:
    """Two or three servers behind one name, which hear of changes up to five seconds late."""
    tape = world.tape
    world.latency = tape.one_of("latency", ((40, 0.001), (16, 0.05)))
    config = ServerConfig(info=SERVER, quiet=tape.one_of("server quiet", (0.05, 0.0)))
    serving = PromptServerConfig(keys=KEYS, page_size=tape.one_of("page size", (50, 2, 1)), ttl=60.0)
    followers = [ServerNode(config, serving) for _ in range(tape.one_of("followers", (1, 2)))]
    group = ServerGroup(world, "s", Leader(config, serving), followers, tape.one_of("lag", (1.0, 5.0)))
    load = Workload(world, group.leader, ["c1", "c2"], until)
    load.prompts(5)
    for name in ("c1", "c2"):
        versions = tape.one_of(f"{name} versions", SPOKEN)
        world.add(name, ClientNode("s", ClientConfig(info=CLIENT, versions=versions)))
    for kind in (load.changes, load.reads, load.gets):
        kind(tape.one_of(f"swarm {kind.__name__}", (2.0, 8.0)))


REPLICAS = Scenario("replicas", 20.0, replicas)
STORM = Scenario("storm", 64.0, storm, faults=())
PRINCIPALS = Scenario(
    "principals", 10.0, principals, faults=[f for f in ALL if f.name in ("rubbish", "cut-reset", "crash")]
)
SHUTDOWN = Scenario(
    "shutdown", TORTURE.seconds, TORTURE.build, faults=[f for f in STRIKES if f.name == "shutdown"]
)
