"""Many worlds, on all processors, for the commands `simulate` and `trace`.

A scenario is known by its place (`package.module:NAME`), so that other processes and the test files that are
written find it again. What fails is made small here and put into files: the trace, a diagram, a page, a test.
"""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import attrs
import msgspec

from mcp_sansio.simulation import (
    PROPERTIES,
    SCENARIOS,
    Checker,
    Outcome,
    Scenario,
    Shrunk,
    mermaid,
    page,
    regression_test,
    run_seed,
    shrink,
    tell,
)

CHUNK = 8
"""So many worlds are given to a process at once."""


class NoScenario(ValueError):
    """There is no scenario at this place."""


@attrs.frozen
class Result:
    """What came of one seed, small enough to be sent from one process to another."""

    seed: int
    messages: int
    situations: Mapping[str, int]
    violation: tuple[str, str] | None
    digest: str


def place_of(name: str) -> str:
    """The place of a scenario that is named on a command line; a name that is none of ours is a place."""
    return SCENARIOS.get(name, name)


def find_scenario(place: str) -> Scenario:
    """The scenario at a place. Raises `NoScenario`."""
    module, colon, name = place_of(place).partition(":")
    if not colon:
        known = ", ".join(SCENARIOS)
        raise NoScenario(f"no scenario {place!r}: one of {known}, or package.module:NAME")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise NoScenario(f"no scenario {place!r}: {error}") from None
    if not isinstance(found, Scenario):
        raise NoScenario(f"no scenario {place!r}: {module} has no scenario {name}")
    return found


def explore(place: str, seeds: Iterable[int], *, jobs: int = 1, digest: bool = False) -> Iterator[Result]:
    """What comes of each seed, in order, by so many processes. Raises `NoScenario`."""
    one = partial(_explore_one, place, digest=digest)
    find_scenario(place)
    if jobs == 1:
        gc.freeze()
        yield from map(one, seeds)
        return
    with ProcessPoolExecutor(jobs, initializer=gc.freeze) as pool:
        try:
            yield from pool.map(one, seeds, chunksize=CHUNK)
        finally:
            pool.shutdown(cancel_futures=True)


def _explore_one(place: str, seed: int, *, digest: bool) -> Result:
    outcome = run_seed(find_scenario(place), seed, PROPERTIES)
    violation = outcome.violation
    return Result(
        seed,
        outcome.messages,
        outcome.situations,
        None if violation is None else (violation.property, violation.text),
        outcome.digest if digest else "",
    )


@attrs.frozen(eq=False)
class Failure:
    """A failure that was made small, in `seconds` of this processor's time."""

    seed: int | None
    place: str
    shrunk: Shrunk
    seconds: float

    @property
    def checker(self) -> type[Checker]:
        """That of the property that broke."""
        violation = self.shrunk.outcome.violation
        assert violation is not None  # noqa: S101  # only failures shrink
        return violation.checker

    @property
    def line(self) -> str:
        """The failure in one line."""
        before, after = self.shrunk.before.messages, self.shrunk.outcome.messages
        seed = "tape" if self.seed is None else f"seed {self.seed}"
        checker = self.checker
        return (
            f"{seed} · {checker.id} {checker.title} ({checker.anchor}) · "
            f"{before}→{after} messages in {self.seconds:.1f} s"
        )

    def keep(self, directory: Path) -> Sequence[Path]:
        """Write the trace, the diagram, the page and the test into a directory; the files."""
        outcome, checker = self.shrunk.outcome, self.checker
        outcome.trace.header = msgspec.structs.replace(outcome.trace.header, scenario=self.place)
        story = tell(outcome.trace)
        known = f"{checker.id.lower()}_{'tape' if self.seed is None else self.seed}"
        files = {
            f"trace_{known}.jsonl": "".join(f"{line.decode()}\n" for line in outcome.trace.lines()),
            f"story_{known}.mmd": mermaid(story),
            f"story_{known}.html": page(story, checker=checker, needed=self.shrunk.needed),
            f"test_regression_{known}.py": regression_test(outcome, place_of(self.place)),
        }
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
        return [directory / name for name in files]


def small(
    failed: Outcome, place: str, checks: Iterable[type[Checker]] = PROPERTIES, *, seconds: float = 5.0
) -> Failure:
    """Make a failure small; it takes so many seconds at most."""
    begun = time.process_time()
    shrunk = shrink(failed, checks, spent=time.process_time, seconds=seconds)
    return Failure(failed.seed, place, shrunk, time.process_time() - begun)
