"""Exhaustive cuts: one session, cut at every byte of either direction, in each way that a connection can end.

The canonical session has everything that can be under way when a connection dies: the handshake, a list of
three pages, an announced change, a prompt that asks for input first, a completion. It runs on a tape of
zeros, so nothing differs between two runs but the cut. After the cut the client dials again, the world comes
to rest, and every property is judged: what had been read half is as if it had never been, and in the end the
client has what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import attrs

from mcp_sansio._client_config import ClientConfig
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._server_config import ServerConfig
from mcp_sansio._trace import SENT
from mcp_sansio._versions import LEGACY_VERSIONS, MODERN_VERSIONS
from mcp_sansio.simulation._checking import Checker
from mcp_sansio.simulation._checks.properties import PROPERTIES
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._links import EOF, RESET, Arming, Pipe
from mcp_sansio.simulation._run import Outcome, run
from mcp_sansio.simulation._scenarios import CLIENT, KEYS, SERVER, Scenario
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._tape import Lenient
from mcp_sansio.simulation._world import World

SILENCE: Final = "silence"
ENDINGS: Final = (EOF, RESET, SILENCE)
"""How a connection ends: both ends learn that it is over, or that it broke, or nothing at all for a while."""


def canonical(versions: Sequence[str]) -> Scenario:
    """A session in which something of everything happens, spoken in one of these revisions."""
    return Scenario(f"canonical {versions[-1]}", 1.0, partial(_canonical, versions), faults=())


def _canonical(versions: Sequence[str], world: World, _until: float) -> None:
    world.add("s1", canonical_server(versions))
    put = [(f"p{number:03}", "first") for number in range(5)]
    world.command("s1", "edit", put=put)
    world.add("c1", canonical_client(versions))
    for when, node, verb, data in (
        (0.02, "c1", "list", {}),
        (0.1, "s1", "edit", {"put": [("p002", "second")]}),
        (0.3, "c1", "get", {"name": "p001", "arguments": {"topic": "alpha"}}),
        (0.3, "c1", "list", {}),
        (0.4, "c1", "complete", {"name": "p003", "value": "b"}),
        (0.5, "s1", "edit", {"put": [("q", "third")], "remove": ["p000"]}),
    ):
        world.at(when, partial(world.command, node, verb, **data))


def canonical_server(versions: Sequence[str], make: type[ServerNode] = ServerNode) -> ServerNode:
    """The server of the session: of three pages, and asking for input once."""
    asked: list[bool] = []

    def asks() -> bool:
        asked.append(True)
        return len(asked) == 1

    config = ServerConfig(info=SERVER, versions=tuple(versions))
    return make(config, PromptServerConfig(keys=KEYS, page_size=2, ttl=3600.0), asks=asks)


def canonical_client(versions: Sequence[str], make: type[ClientNode] = ClientNode) -> ClientNode:
    """The client of the session."""
    able: dict[str, Any] = {"elicitation": {}}
    config = ClientConfig(info=CLIENT, versions=tuple(versions), capabilities=able, quiet_timeout=5.0)
    return make("s1", config)


CANONICAL: Final = (canonical(MODERN_VERSIONS[-1:]), canonical(LEGACY_VERSIONS[-1:]))
"""A session that has everything in it, in either era."""


@attrs.frozen
class Cut:
    """Where a connection ends: after so many bytes (`offset`) of what `sender` writes on `link`, and how."""

    link: str
    sender: str
    offset: int
    ending: str


@attrs.define(eq=False)
class _Knife:
    """A rule that passes `left` bytes on."""

    cut: Cut
    left: int

    def __call__(self, pipe: Pipe, data: bytes) -> bool:
        if len(data) <= self.left:
            self.left -= len(data)
            return False
        pipe.send(data[: self.left])
        if self.cut.ending == SILENCE:
            pipe.link.silence()
        else:
            pipe.link.cut(self.cut.ending)
        return True


def _armed(scenario: Scenario, cut: Cut, world: World, until: float) -> None:
    knife = (Arming(f"cut-{cut.ending}", "cut", 0, _Knife(cut, cut.offset)),)  # 0: without a draw, always

    def arm(pipe: Pipe) -> tuple[Arming, ...]:
        return knife if pipe.link.name == cut.link and pipe.sender == cut.sender else ()

    world.armings = arm
    scenario.build(world, until)


def run_cut(scenario: Scenario, cut: Cut, checks: Iterable[type[Checker]]) -> Outcome:
    """Run a scenario on a tape of zeros, with one cut; what came of it replays as any other run does."""
    name = f"{scenario.name}, {cut.sender} cut after {cut.offset} bytes: {cut.ending}"
    return run(attrs.evolve(scenario, name=name, build=partial(_armed, scenario, cut)), Lenient(()), checks)


def lengths(scenario: Scenario) -> dict[tuple[str, str], int]:
    """How many bytes each end of each connection writes, if nothing is cut, before the world is calm."""
    found: dict[tuple[str, str], int] = {}
    for event in run(scenario, Lenient(())).trace:
        if event.kind == SENT and event.time <= scenario.seconds:
            key = event.link, event.node
            found[key] = found.get(key, 0) + len(str(event.data).encode()) + 1
    return found


def cuts(scenario: Scenario, endings: Sequence[str] = ENDINGS, step: int = 1) -> Iterator[Cut]:
    """Every cut of a scenario, or one in `step`."""
    for (link, sender), size in lengths(scenario).items():
        for offset in range(0, size, step):
            for ending in endings:
                yield Cut(link, sender, offset, ending)


@attrs.define(eq=False)
class CutReport:
    """What came of all cuts: how many were `tried`, and the outcomes of those that broke a property."""

    tried: int = 0
    failures: list[Outcome] = attrs.field(factory=list[Outcome])


def exhaust_cuts(
    scenario: Scenario | Sequence[Scenario] = CANONICAL,
    checks: Sequence[type[Checker]] = PROPERTIES,
    endings: Sequence[str] = ENDINGS,
    step: int = 1,
) -> CutReport:
    """Cut every scenario at every byte (or at one in `step`), in every way, and judge what comes of it."""
    report = CutReport()
    for each in (scenario,) if isinstance(scenario, Scenario) else scenario:
        for cut in cuts(each, endings, step):
            outcome = run_cut(each, cut, checks)
            report.tried += 1
            if outcome.violation is not None:
                report.failures.append(outcome)
    return report
