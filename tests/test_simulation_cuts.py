"""A session that is cut anywhere, in any way, ends well: at some offsets, and, slowly, at all of them."""

from __future__ import annotations

import os

import attrs
import pytest

from mcp_sansio.simulation._checks.properties import PROPERTIES
from mcp_sansio.simulation._exhaustive.cuts import (
    CANONICAL,
    ENDINGS,
    Cut,
    cuts,
    exhaust_cuts,
    lengths,
    run_cut,
)
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation._zoo.liveness import LIVE_ZOO

STEP = int(os.environ.get("CUT_STEP", "13"))

each = pytest.mark.parametrize("scenario", CANONICAL, ids=lambda scenario: scenario.name)


@each
def test_some_cuts(scenario: Scenario) -> None:
    report = exhaust_cuts(scenario, PROPERTIES, step=331)
    assert report.tried >= 30
    assert report.failures == []


@pytest.mark.slow
@pytest.mark.timeout(3600)  # thousands of worlds, on a machine that may have other work
@each
@pytest.mark.parametrize("ending", ENDINGS)
def test_cuts_at_every_few_bytes(scenario: Scenario, ending: str) -> None:
    """At every byte with CUT_STEP=1, which takes minutes."""
    report = exhaust_cuts(scenario, PROPERTIES, endings=(ending,), step=STEP)
    assert report.tried >= sum(lengths(scenario).values()) // STEP
    assert [str(outcome.violation) for outcome in report.failures] == []


@each
def test_the_session_has_everything_in_it(scenario: Scenario) -> None:
    ends = Cut("no such connection", "c1", 0, "eof")
    said = "".join(
        str(event.data) for event in run_cut(scenario, ends, PROPERTIES).trace if event.kind == "out"
    )
    wanted = ["prompts/list", "nextCursor", "prompts/get", "completion/complete", "list_changed"]
    assert [word for word in wanted if word not in said] == []
    assert ("input_required" in said) == ("subscriptions/listen" in said) == ("initialize" not in said)


@each
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_cut_strikes_where_it_should(scenario: Scenario, ending: str) -> None:
    cut = Cut("c1-1", "s1", 300, ending)
    outcome = run_cut(scenario, cut, PROPERTIES)
    faults = [event for event in outcome.trace if event.kind == "fault"]
    assert [(event.link, event.node, event.data[0]) for event in faults] == [("c1-1", "s1", f"cut-{ending}")]
    dialled = [event.link for event in outcome.trace if event.kind == "open" and event.node == "c1"]
    assert dialled == ["c1-1", "c1-2"]
    assert outcome.violation is None


def test_a_client_that_does_not_recover_is_found() -> None:
    late = next(variant for variant in LIVE_ZOO if variant.name == "dials late")
    broken = attrs.evolve(late, scenario=CANONICAL[0])
    report = exhaust_cuts(broken.altered, PROPERTIES, endings=("reset",), step=1999)
    assert {outcome.violation.property for outcome in report.failures if outcome.violation} == {"L2"}
    assert report.failures[0].scenario.name.endswith("c1 cut after 1999 bytes: reset")


def test_the_cuts_of_a_session_are_all_its_bytes() -> None:
    sizes = lengths(CANONICAL[1])
    assert set(sizes) == {("c1-1", "c1"), ("c1-1", "s1")}
    assert len(list(cuts(CANONICAL[1], ("eof",)))) == sum(sizes.values())


@each
def test_a_last_line_without_its_end_counts(scenario: Scenario) -> None:
    nothing = Cut("no such connection", "c1", 0, "eof")
    at, broken = 0, list[str]()
    for event in run_cut(scenario, nothing, ()).trace:
        if event.kind == "out" and event.node == "s1" and event.time <= scenario.seconds:
            at += len(str(event.data).encode()) + 1
            violation = run_cut(scenario, Cut("c1-1", "s1", at - 1, "eof"), PROPERTIES).violation
            broken += [] if violation is None else [str(violation)]
    assert broken == []
