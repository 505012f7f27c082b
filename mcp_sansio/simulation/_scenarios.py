"""The standard loads, so that numbers mean something.

Torture: 20 seconds under everything that the swarm draws, faults, load and the settings of the library.
Office hour: an hour of one client and one server as they are on a usual day, on a network with its usual
hiccups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import attrs

from mcp_sansio._client_config import ClientConfig
from mcp_sansio._listing import ListingConfig
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._sealing import Keys
from mcp_sansio._server_config import ServerConfig
from mcp_sansio._types import Implementation
from mcp_sansio._versions import ALL_VERSIONS, LEGACY_VERSIONS, MODERN_VERSIONS

from ._client_node import ClientNode
from ._faults import ALL, STREAM, Fault
from ._faults_peer import PEER
from ._links import Arming
from ._server_node import ServerNode
from ._tape import Tape
from ._workload import NEVER, OFTEN, RARE, Workload
from ._world import World
from ._zoo.odd_prompts import Oddities, OddPrompts

KEYS = Keys(("k", bytes(range(32))))
CLIENT = Implementation("simulated-client", "1")
SERVER = Implementation("simulated-server", "1")
SPOKEN = (ALL_VERSIONS, MODERN_VERSIONS, LEGACY_VERSIONS)


Scene: TypeAlias = Callable[[World, float], None]
"""Sets a world up, and a workload that ends at a time: nodes are added, commands scheduled."""


@attrs.frozen
class Scenario:
    """What a run is made of: who is there and what they do (`build`), for how long, and what may go wrong.

    A world is at rest when nothing is left to be done; where something always is (keep-alive comments), when
    nothing but timers has been seen for `silence` seconds. What never gets better, and never comes to rest,
    goes on for `scarred` seconds more. `whole`: messages pass as such, not as bytes that can come apart.
    """

    name: str
    seconds: float
    build: Scene
    faults: Sequence[Fault] = ALL
    silence: float = math.inf
    scarred: float = 0.0
    whole: bool = False


def torture(
    world: World,
    until: float,
    server: Callable[..., ServerNode] = ServerNode,
    client: Callable[..., ClientNode] = ClientNode,
) -> None:
    """One server, a client or two, everything drawn. `server` and `client` make the nodes."""
    tape = world.tape
    world.ties = tape.one_of("ties", (1, 4))
    world.latency = tape.one_of("latency", ((1, 0.001), (40, 0.001), (16, 0.05)))
    clients = [f"c{number + 1}" for number in range(tape.one_of("clients", (1, 1, 1, 2)))]
    world.add("s1", _server(world, server))
    load = Workload(world, "s1", clients, until)
    load.prompts(tape.one_of("prompts", (1, 3, 0, 6, 12)))
    for name in clients:
        world.add(name, _client(world, name, client))
    for kind in (load.changes, load.reads, load.gets, load.refreshes, load.completions, load.cancels):
        kind(tape.one_of(f"swarm {kind.__name__}", (NEVER, RARE, OFTEN, NEVER)))
    for kind in (load.bounds, load.principals):
        kind(tape.one_of(f"swarm {kind.__name__}", (NEVER, NEVER, NEVER, OFTEN)))


def _server(world: World, make: Callable[..., ServerNode]) -> ServerNode:
    tape = world.tape
    quiet = tape.one_of("server quiet", (0.05, 0.0, 0.5))
    slow = tape.one_of("slow handlers", (0.0, 0.5, 5.0))
    asks = tape.one_of("asks", (0, 3))
    return make(
        ServerConfig(info=SERVER, quiet=quiet, max_wait=4 * quiet),
        PromptServerConfig(
            keys=KEYS,
            page_size=tape.one_of("page size", (50, 5, 1)),
            ttl=tape.one_of("ttl", (60.0, 0.0, 1.0, 3600.0)),
            list_changed=tape.one_of("listChanged", (True, True, True, False)),
        ),
        pace=lambda: tape.seconds("handler", slow) if slow else 0.0,
        asks=lambda: tape.chance("ask", asks),
        make=partial(OddPrompts, oddities=_oddities(tape)),
    )


def _oddities(tape: Tape) -> Oddities:
    slow = tape.one_of("slow lists", (0.0, 0.0, 0.3))
    return Oddities(
        pace=(lambda: tape.seconds("list", slow)) if slow else None,
        plain_cursors=tape.one_of("plain cursors", (False, False, False, True)),
        uneven=tape.one_of("uneven", (False, False, False, True)),
    )


def _client(world: World, name: str, make: Callable[..., ClientNode]) -> ClientNode:
    tape = world.tape
    quiet = tape.one_of(f"{name} quiet", (0.1, 0.0, 1.0))
    return make(
        "s1",
        ClientConfig(
            info=CLIENT,
            versions=tape.one_of(f"{name} versions", SPOKEN),
            capabilities={"elicitation": {}},
            probe_timeout=tape.one_of(f"{name} probe", (5.0, 0.5)),
            ack_timeout=tape.one_of(f"{name} ack", (10.0, 0.5)),
            quiet_timeout=tape.one_of(f"{name} timeout", (60.0, 5.0)),
        ),
        ListingConfig(eager=tape.one_of(f"{name} eager", (True, False)), quiet=quiet, max_wait=5 * quiet),
    )


def office_hour(
    world: World,
    until: float,
    server: Callable[..., ServerNode] = ServerNode,
    client: Callable[..., ClientNode] = ClientNode,
) -> None:
    """One client, one server with 8 prompts in pages of 5: one of them changes every minute, a read every ten
    seconds, a get for every fourth of them. `server` and `client` make the nodes.
    """
    hiccups = {"long-tail": 20, "split": 4, "cut-reset": 1000}
    armed = tuple(
        Arming(fault.name, fault.name, hiccups[fault.name], fault.rule)
        for fault in STREAM
        if fault.name in hiccups and fault.rule is not None
    )
    world.armings = lambda _: armed
    serving = PromptServerConfig(keys=KEYS, page_size=5, ttl=300.0)
    world.add("s1", server(ServerConfig(info=SERVER), serving))
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(8)
    world.add("c1", client("s1", ClientConfig(info=CLIENT)))
    load.redefinitions(60.0)
    load.reads(10.0)
    load.gets(40.0)


TORTURE = Scenario("torture", 20.0, torture, faults=(*ALL, *PEER))
"""Everything at once: faults, load, and the settings of the library."""

OFFICE_HOUR = Scenario("office-hour", 3600.0, office_hour, faults=())
"""An hour of a usual day: one client, one server, a network with its usual hiccups."""
