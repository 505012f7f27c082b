"""Shrinking: a failure becomes a short story of the same failure, within a budget, and says what it needs."""

from __future__ import annotations

import itertools

import pytest
from simulated_variants import DIRTY, GAPLESS

from mcp_sansio.simulation import PROPERTIES, TORTURE, replay, run_seed
from mcp_sansio.simulation._run import Outcome
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation._shrink import Shrunk, cost, shrink
from mcp_sansio.simulation._world import World
from mcp_sansio.simulation._zoo.clients import CLIENT_ZOO
from mcp_sansio.simulation._zoo.liveness import LIVE_ZOO
from mcp_sansio.simulation._zoo.variant import Variant

STUBBORN = [
    each for each in (*CLIENT_ZOO, *LIVE_ZOO) if each.found_by in ("C3", "C10", "C18") or each in LIVE_ZOO
]


def failure(scenario: Scenario, seed: int) -> Outcome:
    """A failure that a seed is known to make, or the next one."""
    outcomes = (run_seed(scenario, each, PROPERTIES) for each in itertools.count(seed))
    return next(outcome for outcome in outcomes if outcome.violation is not None)


@pytest.fixture(scope="module")
def shrunk() -> Shrunk:
    return shrink(failure(GAPLESS, 15), PROPERTIES)


def same_property(shrunk: Shrunk) -> bool:
    before, after = shrunk.before.violation, shrunk.outcome.violation
    return before is not None and after is not None and before.property == after.property


def test_the_story_is_short_and_about_the_same(shrunk: Shrunk) -> None:
    assert same_property(shrunk)
    assert shrunk.outcome.messages <= 12
    assert cost(shrunk.outcome) < cost(shrunk.before)


def test_the_small_tape_replays(shrunk: Shrunk) -> None:
    again = replay(GAPLESS, shrunk.outcome.record, PROPERTIES)
    assert again.digest == shrunk.outcome.digest


def test_what_is_needed_is_needed(shrunk: Shrunk) -> None:
    record = list(shrunk.outcome.record)
    assert shrunk.needed
    assert all(draw in record and draw[2] for draw in shrunk.needed)
    for needed in shrunk.needed:
        at = record.index(needed)
        without = [*record[:at], (*needed[:2], 0), *record[at + 1 :]]
        assert replay(GAPLESS, without, PROPERTIES, strict=False).violation is None


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [DIRTY, GAPLESS], ids=["dirty", "gapless"])
def test_many_failures_become_short(scenario: Scenario) -> None:
    seed = 0
    for _ in range(6):
        failed = failure(scenario, seed)
        found = shrink(failed, PROPERTIES)
        assert same_property(found)
        assert found.outcome.messages <= 12
        seed = (failed.seed or 0) + 1


@pytest.mark.slow
@pytest.mark.parametrize("variant", STUBBORN, ids=lambda variant: variant.name)
def test_what_needs_patience_or_a_crowd_becomes_short_too(variant: Variant) -> None:
    """Failures at rest, after a storm, of full pipes: no more messages are left than a person reads."""
    check = [check for check in PROPERTIES if check.id == variant.found_by]
    outcomes = (run_seed(variant.altered, seed, check) for seed in itertools.count())
    failed = next(each for each in outcomes if each.violation is not None)
    assert shrink(failed, check, runs=1500).outcome.messages <= 12


def test_a_budget_of_runs_is_kept() -> None:
    found = shrink(failure(GAPLESS, 15), PROPERTIES, runs=10)
    assert found.runs == 10
    assert same_property(found)


def test_a_budget_of_time_is_kept() -> None:
    ticks = itertools.count()
    found = shrink(failure(GAPLESS, 15), PROPERTIES, spent=lambda: float(next(ticks)), seconds=20.0)
    assert found.runs < 20
    assert same_property(found)


def test_what_holds_cannot_be_shrunk() -> None:
    with pytest.raises(ValueError, match="every property held"):
        shrink(run_seed(TORTURE, 0, PROPERTIES), PROPERTIES)


def test_a_failure_that_needs_nothing_is_that_of_a_silent_tape() -> None:
    def restless(world: World, _until: float) -> None:
        def again() -> None:
            world.at(world.now + 1.0 + world.tape.seconds("more", 1.0), again)

        again()

    failed = run_seed(Scenario("restless", 1.0, restless, faults=()), 1)
    found = shrink(failed, runs=50)
    assert found.outcome.violation is not None
    assert (found.outcome.violation.property, found.needed) == ("L0", ())
    assert cost(found.outcome)[1] == 0
