"""One run of a scenario: chaos, calm, rest, verdict; and many of them.

Chaos is when faults strike and the workload works. Then every fault is off and the world must come to rest by
itself; what must hold when all is quiet is judged; each client asks for the list once more; and it is judged
again. A run is known by its tape: a seed draws one, a record replays it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import attrs

from mcp_sansio._trace import VERDICT, Header, Trace

from ._checking import Auditor, Checker, Level, Violated
from ._faults import Swarm
from ._scenarios import Scenario
from ._tape import Draw, Lenient, Seeded, Source, Strict, Tape
from ._world import Broken, Unsettled, World

CALM = 3600.0
"""Seconds within which a world must come to rest once nothing goes wrong any more."""


class Quiescence(Checker):
    """Once nothing goes wrong any more, a world comes to rest."""

    id = "L0"
    title = "quiescence"
    anchor = "basic/transports"
    level = Level.LIBRARY


class NothingRaises(Checker):
    """Whatever it is told, no exception leaves a node."""

    id = "B3"
    title = "nothing raises"
    anchor = "basic/transports/stdio#receiving-messages"
    level = Level.LIBRARY


@attrs.frozen(eq=False)
class Outcome:
    """What came of a run: `violation` is None if every property held; `messages` were taken in."""

    scenario: Scenario
    seed: int | None
    trace: Trace
    record: tuple[Draw, ...]
    violation: Violated | None
    situations: Counter[str]
    messages: int

    @property
    def digest(self) -> str:
        """What identifies everything that happened."""
        return self.trace.digest()


def run(
    scenario: Scenario,
    source: Source,
    checks: Iterable[type[Checker]] = (),
    *,
    seed: int | None = None,
) -> Outcome:
    """Run a scenario with the draws of a source."""
    tape = Tape(source)
    auditor = Auditor(checks, watch=True)
    world = World(tape, audit=auditor)
    violation: Violated | None = None
    try:
        _live(world, scenario)
        auditor.finish()
    except Violated as violated:
        violation = violated
    except Unsettled as unsettled:
        violation = Violated(Quiescence, str(unsettled), len(world.trace) - 1)
    except Broken as broken:
        violation = Violated(NothingRaises, str(broken), len(world.trace) - 1)
        violation.__cause__ = broken.__cause__
    trace = world.trace
    if violation is not None:
        trace.add(world.now, VERDICT, data=[violation.property, violation.text], cause=violation.index)
    record = tuple(tape.record)
    trace.header = Header(scenario=scenario.name, seed=seed, tape=record)
    messages = sum(event.kind == "in" for event in trace)
    seen: Counter[str] = Counter() if auditor.witness is None else auditor.witness.seen
    situations = world.situations + seen
    return Outcome(scenario, seed, trace, record, violation, situations, messages)


def _live(world: World, scenario: Scenario) -> None:
    world.whole = scenario.whole
    swarm = Swarm(world, scenario.faults)
    scenario.build(world, scenario.seconds)
    swarm.unleash(scenario.seconds)
    world.run(scenario.seconds)
    if scenario.scarred:
        world.enter("scarred")
        world.run(scenario.seconds + scenario.scarred)
        return
    world.enter("calm")
    swarm.calm()
    for seat in world.seats.values():
        seat.node.calm(seat.clock.local(world.now))
    world.settle(CALM, scenario.silence)
    world.rest()
    world.enter("asked")
    for name, seat in world.seats.items():
        if seat.node.role == "client":
            world.command(name, "list")
    world.settle(CALM, scenario.silence)
    world.rest()


def run_seed(scenario: Scenario, seed: int, checks: Iterable[type[Checker]] = ()) -> Outcome:
    """Explore one seed."""
    return run(scenario, Seeded(seed), checks, seed=seed)


def replay(
    scenario: Scenario,
    record: Sequence[Draw],
    checks: Iterable[type[Checker]] = (),
    *,
    strict: bool = True,
) -> Outcome:
    """Run what a tape recorded. Strictly, `Deviated` is raised when a draw is not the recorded one."""
    return run(scenario, Strict(record) if strict else Lenient(record), checks)


def campaign(
    scenario: Scenario, seeds: Iterable[int], checks: Sequence[type[Checker]] = ()
) -> Iterator[Outcome]:
    """Explore one seed after the other."""
    for seed in seeds:
        yield run_seed(scenario, seed, checks)
