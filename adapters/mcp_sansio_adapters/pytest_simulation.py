"""Simulated worlds as tests: a mark, and what a test says when a property breaks.

    @pytest.mark.simulate(seeds=200)
    def test_two_clients(world, until):
        world.add("s1", ...)

The function sets a world up, and is run for each seed, with faults, and judged by all checkers. With a
scenario,

    @pytest.mark.simulate(TORTURE, seeds=range(1000, 1200))
    def test_torture(outcome):
        assert outcome.messages < 5000

it is given what came of each seed, for assertions of its own. Each test takes `each` seeds (50), so that they
can be shared out. A failure is made small before it is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from mcp_sansio.simulation import (
    PROPERTIES,
    Checker,
    Fault,
    Outcome,
    Scenario,
    Shrunk,
    outline,
    run_seed,
    shrink,
    tell,
)
from mcp_sansio.simulation._faults import ALL


class PropertyBroken(Exception):
    """A property is broken in the world of a seed."""

    def __init__(self, failed: Outcome, shrunk: Shrunk) -> None:
        super().__init__(f"seed {failed.seed}: {shrunk.outcome.violation}")
        self.seed = failed.seed
        self.shrunk = shrunk

    def __str__(self) -> str:
        before, after = self.shrunk.before, self.shrunk.outcome
        violation = after.violation
        anchor = "" if violation is None else f"{violation.checker.level.value}: {violation.checker.anchor}"
        needed = "".join(f"\n    {label} = {value} of {n}" for label, n, value in self.shrunk.needed)
        return (
            f"seed {self.seed}: {violation}\n{anchor}\n"
            f"{before.messages} messages, made small: {after.messages}\n\n{outline(tell(after.trace))}\n"
            f"It takes these draws:{needed or ' none'}"
        )


@attrs.frozen
class Simulate:
    """What a mark asks for. `checks` are all properties if nothing is said; `shrink` is in seconds."""

    scenario: Scenario | None = None
    seeds: int | Sequence[int] = 100
    each: int = attrs.field(default=50, kw_only=True, validator=attrs.validators.ge(1))
    checks: Sequence[type[Checker]] = attrs.field(default=PROPERTIES, kw_only=True)
    seconds: float = attrs.field(default=20.0, kw_only=True)
    faults: Sequence[Fault] = attrs.field(default=ALL, kw_only=True)
    shrink: float = attrs.field(default=5.0, kw_only=True)

    def shares(self) -> Iterable[Sequence[int]]:
        """The seeds of each test."""
        seeds = range(self.seeds) if isinstance(self.seeds, int) else self.seeds
        return (seeds[at : at + self.each] for at in range(0, len(seeds), self.each))


class Simulation(pytest.Item):
    """Some seeds of one scenario."""

    def __init__(
        self, *, asked: Simulate, seeds: Sequence[int], function: Callable[..., Any], **options: Any
    ) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._asked = asked
        self._seeds = seeds
        self._function = function

    def runtest(self) -> None:
        """Simulate a world for each seed; raises `PropertyBroken` for the first that fails."""
        asked = self._asked
        scenario = asked.scenario or Scenario(self.name, asked.seconds, self._function, asked.faults)
        for seed in self._seeds:
            outcome = run_seed(scenario, seed, asked.checks)
            if outcome.violation is not None:
                spent = time.process_time
                small = shrink(outcome, asked.checks, spent=spent, seconds=asked.shrink)
                raise PropertyBroken(outcome, small)
            if asked.scenario is not None:
                self._function(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The story instead of a traceback, which would tell of the simulator."""
        if isinstance(excinfo.value, PropertyBroken):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the function is."""
        code = getattr(self._function, "__code__", None)
        return self.path, None if code is None else code.co_firstlineno - 1, self.name


def simulations(
    collector: pytest.Module | pytest.Class,
    name: str,
    function: Callable[..., Any],
    marks: Sequence[pytest.Mark],
) -> Sequence[pytest.Item]:
    """The tests that a marked function makes. Raises `CollectError` for a mark that is wrong."""
    mark = next(mark for mark in marks if mark.name == "simulate")
    if isinstance(collector, pytest.Class):
        raise collector.CollectError(f"@pytest.mark.simulate of {name}: it is for functions, not for methods")
    try:
        asked = Simulate(*mark.args, **mark.kwargs)
    except (TypeError, ValueError) as error:
        raise collector.CollectError(f"@pytest.mark.simulate of {name}: {error}") from None
    items: list[pytest.Item] = []
    for seeds in asked.shares():
        label = f"{name}[{seeds[0]}-{seeds[-1]}]"
        options: Any = {"name": label, "asked": asked, "seeds": seeds, "function": function}
        item: Simulation = Simulation.from_parent(collector, **options)  # pyright: ignore[reportUnknownMemberType]
        for each in marks:
            item.add_marker(getattr(pytest.mark, each.name)(*each.args, **each.kwargs))
        items.append(item)
    return items
