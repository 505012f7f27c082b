"""Coalescing: the first change acts at once, a storm acts every `max_wait`, the last change always."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio._coalescer import Coalescer

QUIET, MAX_WAIT = 0.125, 1.0  # exact in binary, as is everything that the tests add to them


def actions(changes: list[float], quiet: float = QUIET, max_wait: float = MAX_WAIT) -> list[float]:
    """When a coalescer acts on changes at these times, its caller keeping the timer."""
    coalescer, acted = Coalescer(quiet, max_wait), []
    for now in [*changes, math.inf]:
        while (due := coalescer.due) is not None and due < now:
            assert coalescer.fire(due)
            acted.append(due)
        if now < math.inf and coalescer.hit(now):
            acted.append(now)
    return acted


def test_a_single_change_acts_at_once() -> None:
    coalescer = Coalescer(QUIET, MAX_WAIT)
    assert coalescer.due is None
    assert coalescer.hit(5.0)
    assert coalescer.due is None


def test_a_second_change_waits_for_quiet() -> None:
    assert actions([0.0, 0.0625]) == [0.0, 0.0625 + QUIET]


def test_exactly_one_quiet_period_later_a_change_is_the_first_again() -> None:
    assert actions([0.0, QUIET]) == [0.0, QUIET]


def test_what_comes_soon_after_acting_on_held_changes_is_held() -> None:
    assert actions([0.0, 0.0625, 0.25]) == [0.0, 0.1875, 0.375]


def test_each_change_puts_quiet_off_until_the_maximum_wait_is_over() -> None:
    storm = [step / 16 for step in range(64)]
    held = [step / 16 + step * MAX_WAIT for step in range(1, 4)]
    assert actions(storm) == [0.0, *held, 63 / 16 + QUIET]


def test_nothing_held_is_nothing_to_fire() -> None:
    coalescer = Coalescer(QUIET, MAX_WAIT)
    assert not coalescer.fire(0.0)
    assert coalescer.hit(0.0)
    assert not coalescer.fire(1.0)
    assert coalescer.hit(1.0)
    assert coalescer.due is None


def test_while_busy_even_the_first_change_is_held() -> None:
    coalescer = Coalescer(QUIET, MAX_WAIT)
    assert not coalescer.hit(5.0, busy=True)
    assert coalescer.due == 5.0 + QUIET
    assert coalescer.fire(5.0 + QUIET)
    assert coalescer.due is None


def test_acting_early_takes_what_was_held_and_begins_a_quiet_period() -> None:
    coalescer = Coalescer(QUIET, MAX_WAIT)
    coalescer.hit(0.0)
    coalescer.hit(0.0625)
    assert coalescer.fire(0.09375)
    assert not coalescer.hit(0.125)
    assert coalescer.due == 0.125 + QUIET


@pytest.mark.parametrize(("quiet", "max_wait"), [(0.0, 1.0), (0.0, 0.0)])
def test_without_a_quiet_period_every_change_acts(quiet: float, max_wait: float) -> None:
    assert actions([0.0, 0.0, 1.0], quiet, max_wait) == [0.0, 0.0, 1.0]


times = st.lists(st.integers(0, 640).map(lambda tick: tick / 64), min_size=1).map(sorted)


@given(times)
def test_every_change_is_acted_on_within_the_bounds(changes: list[float]) -> None:
    """Each change is followed by an action within `max_wait`, within `quiet` if nothing comes after it; and
    there are no more actions than changes, nor more than one for each quiet period.
    """
    acted = actions(changes)
    assert acted[0] == changes[0]
    for change in changes:
        assert any(change <= action <= change + MAX_WAIT for action in acted)
    assert changes[-1] <= acted[-1] <= changes[-1] + QUIET
    assert len(acted) <= len(changes)
    assert all(later - earlier >= QUIET for earlier, later in pairwise(acted))
