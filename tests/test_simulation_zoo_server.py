"""Every bug of servers, and of what should come to an end, is found by the property that it is named for."""

from __future__ import annotations

import pytest

from mcp_sansio.simulation import TORTURE, run_seed
from mcp_sansio.simulation._checks.properties import LIVE_CHECKS, PROPERTIES, SERVER_CHECKS
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation._zoo.liveness import LIVE_ZOO
from mcp_sansio.simulation._zoo.scenes_live import FLOOD, IDLE_DAY, REFUSED
from mcp_sansio.simulation._zoo.scenes_server import PRINCIPALS, REPLICAS, SHUTDOWN, STORM
from mcp_sansio.simulation._zoo.servers import SERVER_ZOO
from mcp_sansio.simulation._zoo.variant import Variant

CHECKS = {check.id: check for check in (*SERVER_CHECKS, *LIVE_CHECKS)}
ZOO = (*SERVER_ZOO, *LIVE_ZOO)
SEEDS = 1000
SCENES: tuple[tuple[Scenario, int], ...] = (
    (TORTURE, 300),
    (PRINCIPALS, 60),
    (REPLICAS, 60),
    (SHUTDOWN, 60),
    (STORM, 4),
    (IDLE_DAY, 20),
    (REFUSED, 20),
    (FLOOD, 2),
)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ZOO, ids=lambda variant: variant.name)
def test_the_bug_is_found(variant: Variant) -> None:
    checks = (CHECKS[variant.found_by],)
    for seed in range(SEEDS):
        violation = run_seed(variant.altered, seed, checks).violation
        if violation is not None:
            assert violation.property == variant.found_by
            print(f"{variant.name}: {variant.found_by} after {seed + 1} seeds")
            return
    raise AssertionError(f"not found in {SEEDS} seeds")


def test_every_property_has_a_bug() -> None:
    assert {variant.found_by for variant in ZOO} == set(CHECKS)
    assert all(variant.about for variant in ZOO)
    assert len({variant.name for variant in ZOO}) == len(ZOO)


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "seeds"), SCENES, ids=[scenario.name for scenario, _ in SCENES])
def test_without_a_bug_nothing_is_found(scenario: Scenario, seeds: int) -> None:
    found = {seed: run_seed(scenario, seed, PROPERTIES).violation for seed in range(seeds)}
    assert {seed: str(violation) for seed, violation in found.items() if violation} == {}


@pytest.mark.parametrize(
    "scenario", [PRINCIPALS, REPLICAS, SHUTDOWN, IDLE_DAY, REFUSED], ids=lambda s: s.name
)
def test_one_world_of_each_kind(scenario: Scenario) -> None:
    assert run_seed(scenario, 1, PROPERTIES).violation is None


def test_replicas_hear_of_changes_late_and_agree_in_the_end() -> None:
    outcome = run_seed(REPLICAS, 1, PROPERTIES)
    rests = [
        e.data[1]["items"]
        for e in outcome.trace
        if e.kind == "obs" and e.data[0] == "rest" and e.node[0] == "s"
    ]
    assert any(event.kind == "fault" and event.data[0] == "replica-lag" for event in outcome.trace)
    assert len(rests) >= 4
    assert all(rest == rests[-1] for rest in rests)
