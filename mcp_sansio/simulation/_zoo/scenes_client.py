"""Worlds for bugs that the standard loads do not bring about: storms, two servers, odd channels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcp_sansio._client_config import ClientConfig
from mcp_sansio._listing import ListingConfig
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._server_config import ServerConfig
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._faults import Fault
from mcp_sansio.simulation._links import Arming, Pipe, Rule
from mcp_sansio.simulation._scenarios import CLIENT, KEYS, SERVER, SPOKEN, Scenario
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._workload import Workload
from mcp_sansio.simulation._world import World


def _server(page_size: int = 50, quiet: float = 0.05) -> ServerNode:
    return ServerNode(
        ServerConfig(info=SERVER, quiet=quiet, max_wait=4 * quiet),
        PromptServerConfig(keys=KEYS, page_size=page_size, ttl=60.0),
    )


def _client(world: World, to: str, ack_timeout: float = 10.0, quiet: float = 0.1) -> ClientNode:
    versions = world.tape.one_of("versions", SPOKEN)
    return ClientNode(
        to,
        ClientConfig(info=CLIENT, versions=versions, ack_timeout=ack_timeout),
        ListingConfig(quiet=quiet, max_wait=0.5),
    )


def storm(world: World, until: float) -> None:
    """A list of many pages changes all the time, and every change is announced at once."""
    world.latency = world.tape.one_of("latency", ((40, 0.001), (16, 0.05)))
    world.add("s1", _server(page_size=1, quiet=0.0))
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(world.tape.between("prompts", 1, 8))
    world.add("c1", _client(world, "s1", quiet=world.tape.one_of("quiet", (0.3, 0.1))))
    load.reads(2.0)
    load.changes(0.06)


def busy(world: World, until: float) -> None:
    """A long list changes while it is read, over a slow line, and then it changes no more."""
    world.latency = world.tape.one_of("latency", ((40, 0.001), (16, 0.05)))
    world.add("s1", _server(page_size=1))
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(world.tape.between("prompts", 1, 6))
    world.add("c1", _client(world, "s1"))
    load.reads(10.0)
    load.changes(4.0)


def two_servers(world: World, until: float) -> None:
    """Two servers of one name, and a client for each."""
    for number, server in enumerate(("s1", "s2"), 1):
        world.add(server, _server())
        load = Workload(world, server, [f"c{number}"], until, taint=f"{server}.")
        load.prompts(3)
        world.add(f"c{number}", _client(world, server))
        load.changes(5.0)
        load.reads(2.0)
        load.gets(5.0)


_TAG = re.compile(rb'"io\.modelcontextprotocol/subscriptionId":(\d+)')
_EARLY = (
    b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed",'
    b'"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%b}}}\n'
)


def _foreign(pipe: Pipe, data: bytes) -> bool:
    """An announcement bears the tag of a subscription that is not there."""
    if b"list_changed" not in data or _TAG.search(data) is None:
        return False
    pipe.send(_TAG.sub(rb'"io.modelcontextprotocol/subscriptionId":9\1', data))
    return True


def _early(pipe: Pipe, data: bytes) -> bool:
    """A change is announced before the acknowledgement."""
    tag = _TAG.search(data)
    if b"subscriptions/acknowledged" not in data or tag is None:
        return False
    pipe.send(_EARLY % tag[1] + data)
    return True


def _odd_channel(world: World, until: float, name: str, rule: Rule) -> None:
    armed = (Arming(name, name, 2, rule),)
    world.armings = lambda pipe: armed if pipe.sender == "s1" else ()
    world.add("s1", _server())
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(3)
    world.add("c1", _client(world, "s1", ack_timeout=0.5))
    load.changes(2.0)
    load.reads(1.0)


def foreign_tags(world: World, until: float) -> None:
    """Announcements of subscriptions that are not there."""
    _odd_channel(world, until, "peer-foreign-tag", _foreign)


def early_announcements(world: World, until: float) -> None:
    """Announcements before the acknowledgement."""
    _odd_channel(world, until, "peer-early", _early)


def goodbyes(world: World, until: float) -> None:
    """A client hangs up now and then, whatever is under way, and dials again."""
    world.add("s1", _server(page_size=2))
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(5)
    world.add("c1", _client(world, "s1"))
    load.repeat("leaves", 2.0, lambda _: world.command("c1", "leave"))
    for kind in (load.changes, load.reads, load.gets, load.completions):
        kind(0.5)


_CALM: Sequence[Fault] = ()

BUSY = Scenario("busy", 20.0, busy, _CALM)
STORM = Scenario("storm", 8.0, storm, _CALM)
TWO_SERVERS = Scenario("two servers", 20.0, two_servers, _CALM)
FOREIGN_TAGS = Scenario("foreign tags", 20.0, foreign_tags, _CALM)
GOODBYES = Scenario("goodbyes", 20.0, goodbyes, _CALM)
EARLY = Scenario("early announcements", 20.0, early_announcements, _CALM)
