"""Every bug of the zoo is found by the property that it is named for, and a client without bugs by none."""

from __future__ import annotations

import pytest

from mcp_sansio.simulation import TORTURE, run_seed
from mcp_sansio.simulation._checking import recheck
from mcp_sansio.simulation._checks.client import CLIENT_CHECKS
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation._zoo.clients import CLIENT_ZOO
from mcp_sansio.simulation._zoo.scenes_client import (
    BUSY,
    EARLY,
    FOREIGN_TAGS,
    GOODBYES,
    STORM,
    TWO_SERVERS,
)
from mcp_sansio.simulation._zoo.variant import Variant

CHECKS = {check.id: check for check in CLIENT_CHECKS}
SEEDS = 1000


def first_found(variant: Variant) -> int | None:
    """The first seed whose run breaks the property that the variant is named for."""
    checks = (CHECKS[variant.found_by],)
    for seed in range(SEEDS):
        violation = run_seed(variant.altered, seed, checks).violation
        if violation is not None and violation.property == variant.found_by:
            return seed
    return None


@pytest.mark.slow
@pytest.mark.parametrize("variant", CLIENT_ZOO, ids=lambda variant: variant.name)
def test_the_bug_is_found(variant: Variant) -> None:
    seed = first_found(variant)
    assert seed is not None
    trace = run_seed(variant.altered, seed).trace
    found = [violated.property for violated in recheck(trace, CLIENT_CHECKS)]
    assert variant.found_by in found
    print(f"{variant.name}: {variant.found_by} after {seed + 1} seeds; broken there: {', '.join(found)}")


@pytest.mark.parametrize("variant", CLIENT_ZOO, ids=lambda variant: variant.name)
def test_a_world_with_a_bug_in_it_goes_on(variant: Variant) -> None:
    for seed in range(1 if variant.scenario is STORM else 3):
        assert len(run_seed(variant.altered, seed).trace)


def test_every_property_has_a_bug_of_its_own() -> None:
    assert {variant.found_by for variant in CLIENT_ZOO} == set(CHECKS)
    assert all(variant.about for variant in CLIENT_ZOO)
    names = [variant.name for variant in CLIENT_ZOO]
    assert len(names) == len(set(names))


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario", [TORTURE, BUSY, STORM, TWO_SERVERS, FOREIGN_TAGS, EARLY, GOODBYES], ids=lambda s: s.name
)
def test_without_a_bug_nothing_is_found(scenario: Scenario) -> None:
    seeds = 300 if scenario is TORTURE else 40
    found = {seed: run_seed(scenario, seed, CLIENT_CHECKS).violation for seed in range(seeds)}
    assert {seed: str(violation) for seed, violation in found.items() if violation} == {}
