"""Mutation testing by simulation alone: a mutant is killed if some world shows that a property is broken.

No test is asked. All trials are run once as the library is; then each mutant is put in its place in a forked
process, which goes through the trials that reach the mutant, first those that have killed others of its
room, until a property is violated, something is raised that no world catches, or a trial does not end. A
mutant that passes all of them survives; if some world was another one with it, it was at least seen.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
from mutants import Mutant, function_mutants, row_mutants
from mutate_trials import Trial, all_trials, prepare

from mcp_sansio._tables import TABLES

MODULES = (
    *("_tables", "_timers", "_coalescer", "_lines", "_line_wire", "_structure", "_sse", "_listing"),
    *("_snapshot", "_memory", "_waiters", "_topics", "_subscription", "_calls", "_rounds"),
)
"""The rooms that keep a state, but for the tables themselves, which come after them."""

WORLDS = 25
"""So many trials has a mutant to pass at most."""

PATIENCE = 2.0
"""Seconds of a processor after which a trial is one that never ends, besides what it takes usually."""

TABLE_NAMES = {f"rows:{table.name}": table for table in TABLES}


@attrs.define(eq=False)
class Room:
    """What has become of the mutants of one room."""

    name: str
    ends: Counter[str] = attrs.field(factory=Counter[str])
    killers: Counter[str] = attrs.field(factory=Counter[str])
    survivors: list[str] = attrs.field(factory=list[str])

    def line(self) -> str:
        total, lived, ends = self.ends.total(), len(self.survivors), dict(self.ends.most_common())
        return f"{self.name}: {total} mutants, {total - lived} killed, {lived} not; {ends}"


def fate(mutant: Mutant, trials: Sequence[Trial]) -> tuple[str, str]:
    """What became of a mutant, and by which trial: a property, an exception, or time has killed it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _live(mutant, trials, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read().decode().splitlines()
    os.waitpid(child, 0)
    end: dict[str, Any] = json.loads(told[-1]) if told else {}
    return end.get("end", "never ends"), end.get("trial", "")


def _live(mutant: Mutant, trials: Sequence[Trial], writer: int) -> None:
    """In the child: pass the trials, and say what came of it."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    end, trial_name, seen = "", "", ""
    try:
        mutant.apply()
        for trial in trials:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE + 20 * trial.seconds)
            trial_name = trial.name
            wrong, digest = trial.run()
            if wrong is not None:
                end = wrong
                break
            if not seen and digest != trial.digest:
                seen = trial.name
    except BaseException as error:  # noqa: BLE001 - whatever it is, the library has shown that it is broken
        end = type(error).__name__
    signal.setitimer(signal.ITIMER_PROF, 0)
    if not end:
        end, trial_name = "survives, seen" if seen else "survives", seen
    os.write(writer, json.dumps({"end": end, "trial": trial_name}).encode())
    os._exit(0)


def fitting(mutant: Mutant, trials: Sequence[Trial], killers: Counter[str], limit: int) -> list[Trial]:
    """The trials that reach a mutant, the best first."""
    reach = [trial for trial in trials if mutant.place in trial.places]
    return sorted(reach, key=lambda trial: -killers[trial.name])[:limit]


def mutants(name: str) -> Iterator[Mutant]:
    """Every mutant of a room."""
    table = TABLE_NAMES.get(name)
    return function_mutants(name) if table is None else row_mutants(table)


def try_all(name: str, made: Iterable[Mutant], trials: Sequence[Trial], limit: int) -> Room:
    """Try every mutant of a room."""
    room = Room(name)
    for mutant in made:
        fit = fitting(mutant, trials, room.killers, limit)
        end, trial = fate(mutant, fit) if fit else ("survives, never reached", "")
        room.ends[end] += 1
        if end.startswith("survives"):
            room.survivors.append(mutant.text)
            print(f"  {end} ({len(fit)} trials; {trial}): {mutant.text}", flush=True)
        elif trial:
            room.killers[trial] += 1
    return room


def spent() -> float:
    """Seconds of a processor so far, those of the children included."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def main() -> None:
    """Try what is named; print how many were killed and by what, and those that were not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", default=[*MODULES, *TABLE_NAMES], metavar="room")
    parser.add_argument("--worlds", type=int, default=WORLDS, help="trials for each mutant at most")
    parser.add_argument("--explore", action="store_true", help="and a small exhaustive exploration")
    options = parser.parse_args()
    trials = list(all_trials(options.explore))
    for trial in trials:
        prepare(trial, MODULES)
    print(f"{len(trials)} trials, {spent():.0f} s", flush=True)
    gc.collect()
    gc.freeze()
    rooms = [_tried(name, trials, options.worlds) for name in options.rooms]
    total, lived = sum(room.ends.total() for room in rooms), sum(len(room.survivors) for room in rooms)
    print(f"all: {total} mutants, {total - lived} killed, {spent():.0f} s")


def _tried(name: str, trials: Sequence[Trial], limit: int) -> Room:
    room = try_all(name, mutants(name), trials, limit)
    print(f"{room.line()}; {spent():.0f} s so far", flush=True)
    return room


if __name__ == "__main__":
    main()
