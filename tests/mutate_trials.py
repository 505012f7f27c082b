"""The trials that a mutant has to pass: worlds, bytes and cuts, each with what it reaches of the library.

All trials are run once as the library is. That says which lines of functions and rows of tables each of them
reaches, so that a mutant is tried only by those that reach it, and what its digest is, so that it can be told
whether a mutant was seen at all.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import CodeType, FrameType
from typing import Any, TypeAlias

import attrs
from mutants import ROOM, Place, forget

from mcp_sansio._tables import Table
from mcp_sansio._trace import Trace
from mcp_sansio._versions import LEGACY_VERSIONS, MODERN_VERSIONS
from mcp_sansio.simulation import PROPERTIES, TORTURE, Lenient, Node, Outcome, Scenario, run, run_seed
from mcp_sansio.simulation._bytes import BYTE_CHECKS
from mcp_sansio.simulation._bytes_events import judge_events, judge_writing
from mcp_sansio.simulation._bytes_lines import LINE_CHECKS
from mcp_sansio.simulation._bytes_pages import judge_page
from mcp_sansio.simulation._exhaustive import cuts
from mcp_sansio.simulation._exhaustive.explore import SMALL, explore
from mcp_sansio.simulation._http.scenarios import TORTURE_HTTP
from mcp_sansio.simulation._zoo import scenes_client, scenes_live, scenes_server

SEEDS = 150
"""Worlds of torture."""

SEEDS_HTTP = 40
"""Worlds of torture over HTTP."""

SHORT_STORM = attrs.evolve(scenes_server.STORM, seconds=3.0)

SCENES: Sequence[tuple[Scenario, int]] = (
    (SHORT_STORM, 3),
    (scenes_client.BUSY, 6),
    (scenes_client.TWO_SERVERS, 2),
    (scenes_client.FOREIGN_TAGS, 4),
    (scenes_client.EARLY, 4),
    (scenes_server.REPLICAS, 4),
    (scenes_server.PRINCIPALS, 4),
    (scenes_server.SHUTDOWN, 6),
    (scenes_live.REFUSED, 2),
    (scenes_client.GOODBYES, 4),
    (scenes_client.STORM, 1),
    (scenes_server.STORM, 4),
    (scenes_live.FLOOD, 1),
)
"""Worlds of one kind, in which some properties are easier to break, and so many of each."""

EVENTS = 100
"""Streams of events."""

PAGES = 400
"""Pages of a list."""

CUTS = 16
"""Cuts of each canonical session."""

Verdict: TypeAlias = tuple[str | None, str]
"""The property that is broken, if any, and what tells a run from another one."""


@attrs.define(eq=False)
class Trial:
    """Something that a mutant has to pass. `run` is done with what the library is at the moment."""

    name: str
    run: Callable[[], Verdict]
    digest: str = ""
    places: frozenset[Place] = frozenset()
    seconds: float = 0.0


def _of(outcome: Outcome) -> Verdict:
    if outcome.violation is not None:
        return outcome.violation.property, ""
    return None, outcome.digest


def _world(scenario: Scenario, seed: int) -> Verdict:
    return _of(run_seed(scenario, seed, PROPERTIES))


def _cut(scenario: Scenario, cut: cuts.Cut) -> Verdict:
    return _of(cuts.run_cut(scenario, cut, PROPERTIES))


def _canonical(scenario: Scenario) -> Verdict:
    return _of(run(scenario, Lenient(()), PROPERTIES))


def _bytes(traces: Sequence[Trace], makes: dict[str, Callable[[], Node]]) -> Verdict:
    for trace in traces:
        for name, make in makes.items():
            for check in (*BYTE_CHECKS, *LINE_CHECKS):
                if check.judge(trace, name, make) is not None:
                    return check.id, ""
    return None, ""


def _events(seeds: Sequence[int]) -> Verdict:
    problems = [judge_writing(), *map(judge_events, seeds)]
    return (None if problems == [None] * len(problems) else "B1"), ""


def _pages(seeds: Sequence[int]) -> Verdict:
    return (None if all(judge_page(seed) is None for seed in seeds) else "B5"), ""


def _explored() -> Verdict:
    explored = explore(SMALL)
    if explored.violation is not None:
        return f"{explored.violation.property}", ""
    return None, f"{explored}"


def _canonicals() -> Iterator[Trial]:
    for scenario, versions in zip(cuts.CANONICAL, (MODERN_VERSIONS[-1:], LEGACY_VERSIONS[-1:]), strict=True):
        yield Trial(scenario.name, partial(_canonical, scenario))
        makes: dict[str, Callable[[], Node]] = {
            "c1": partial(cuts.canonical_client, versions),
            "s1": partial(cuts.canonical_server, versions),
        }
        trace = run(scenario, Lenient(())).trace
        yield Trial(f"bytes of {scenario.name}", partial(_bytes, [trace], makes))


def _cuts() -> Iterator[Trial]:
    for scenario in cuts.CANONICAL:
        every = list(cuts.cuts(scenario))
        for cut in islice(every, 0, None, len(every) // CUTS):
            name = f"{scenario.name} {cut.sender} {cut.offset} {cut.ending}"
            yield Trial(name, partial(_cut, scenario, cut))


def all_trials(explores: bool) -> Iterator[Trial]:
    """Every trial, those that find most and cost least first."""
    yield from _canonicals()
    for begin in range(0, EVENTS, 10):
        yield Trial(f"events {begin}", partial(_events, range(begin, begin + 10)))
    for begin in range(0, PAGES, 50):
        yield Trial(f"pages {begin}", partial(_pages, range(begin, begin + 50)))
    several = [(scene, seed) for scene, count in SCENES for seed in range(count)]
    seeds = [(TORTURE, seed) for seed in range(SEEDS)]
    for scene, seed in [*seeds[:10], *several[:3], *seeds[10:20], *several[3:], *seeds[20:]]:
        yield Trial(f"{scene.name} {seed}", partial(_world, scene, seed))
    yield from _cuts()
    for seed in range(SEEDS_HTTP):
        yield Trial(f"{TORTURE_HTTP.name} {seed}", partial(_world, TORTURE_HTTP, seed))
    if explores:
        yield Trial("explored", _explored)


# --- what is reached --------------------------------------------------------------------------------


@contextmanager
def reaching(modules: Sequence[str]) -> Iterator[set[Place]]:
    """What is reached meanwhile of some modules and of the tables."""
    found: set[Place] = set()
    lines: set[tuple[CodeType, int]] = set()
    files = {str(ROOM / f"{name}.py"): name for name in modules}

    def line(frame: FrameType, _event: str, _arg: Any) -> Any:
        lines.add((frame.f_code, frame.f_lineno))
        return line

    def call(frame: FrameType, _event: str, _arg: Any) -> Any:
        return line(frame, _event, _arg) if frame.f_code.co_filename in files else None

    plain = Table.next

    def following(self: Table[Any, Any], state: Any, event: Any) -> Any:
        found.add(Place(f"rows:{self.name}", (state, event)))
        return plain(self, state, event)

    Table.next = following  # type: ignore[method-assign]
    sys.settrace(call)
    try:
        yield found
    finally:
        sys.settrace(None)
        Table.next = plain  # type: ignore[method-assign]
        for code, number in lines:
            where = f"{files[code.co_filename]}.{code.co_qualname.partition('.<locals>')[0]}"
            found.update((Place(where, number), Place(where, None)))


def prepare(trial: Trial, modules: Sequence[str]) -> None:
    """Run a trial as the library is, and remember what came of it."""
    forget()
    with reaching(modules) as found:
        wrong, trial.digest = trial.run()
    if wrong is not None:
        sys.exit(f"the library itself is found to be broken: {wrong} in {trial.name}")
    begin = time.process_time()
    trial.run()
    trial.seconds = time.process_time() - begin
    trial.places = frozenset(found)
