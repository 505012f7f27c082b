"""Timers: one deadline per key, popped in order, in a table that does not grow with the moves."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio._errors import LocalProtocolError
from mcp_sansio._timers import Timers


def due(timers: Timers, now: float) -> list[Hashable]:
    keys: list[Hashable] = []
    while (key := timers.pop(now)) is not None:
        keys.append(key)
    return keys


def test_without_deadlines_nothing_is_due() -> None:
    timers = Timers()
    assert timers.next() is None
    assert timers.pop(inf) is None
    assert len(timers) == 0


def test_a_deadline_is_due_at_its_very_instant() -> None:
    timers = Timers()
    timers.set("a", 5.0)
    assert timers.pop(4.999) is None
    assert timers.next() == 5.0
    assert "a" in timers
    assert timers.pop(5.0) == "a"
    assert "a" not in timers
    assert timers.next() is None


def test_equal_deadlines_keep_the_order_of_setting() -> None:
    timers = Timers()
    for key in ("b", "a", ("c", 1), 7):  # of types that cannot be compared
        timers.set(key, 1.0)
    timers.set("b", 1.0)
    assert due(timers, 1.0) == ["a", ("c", 1), 7, "b"]


def test_setting_again_replaces_earlier_and_later_deadlines() -> None:
    timers = Timers()
    timers.set("a", 1.0)
    timers.set("b", 2.0)
    timers.set("a", 3.0)
    assert timers.next() == 2.0
    timers.set("b", 0.5)
    assert len(timers) == 2
    assert due(timers, 2.9) == ["b"]
    assert due(timers, 3.0) == ["a"]


def test_a_cancelled_deadline_is_never_due() -> None:
    timers = Timers()
    timers.set("a", 1.0)
    timers.set("b", 2.0)
    timers.cancel("a")
    timers.cancel("a")
    timers.cancel("never set")
    assert "a" not in timers
    assert timers.next() == 2.0
    assert due(timers, inf) == ["b"]


@pytest.mark.parametrize("kept", [2, 3, 5])
def test_order_survives_the_dropping_of_many_cancelled_deadlines(kept: int) -> None:
    timers = Timers()
    times = [number * 37 % 101 for number in range(101)]
    for time in times:
        timers.set(time, float(time))
    for time in times:
        if time % kept:
            timers.cancel(time)
    assert due(timers, inf) == [*range(0, 101, kept)]


def test_a_key_set_again_after_cancelling_counts_once() -> None:
    timers = Timers()
    timers.set("first", 0.0)
    timers.set("a", 1.0)
    timers.cancel("a")
    timers.set("a", 1.0)
    assert due(timers, 9.0) == ["first", "a"]


def test_a_nan_is_refused_and_changes_nothing() -> None:
    timers = Timers()
    timers.set("a", 1.0)
    with pytest.raises(LocalProtocolError, match=r"^a deadline must be a number of seconds, not NaN$"):
        timers.set("a", nan)
    assert timers.next() == 1.0


def test_an_infinite_deadline_waits_for_ever() -> None:
    timers = Timers()
    timers.set("a", inf)
    assert timers.pop(sys.float_info.max) is None
    assert timers.next() == inf


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 4), st.integers(0, 9)),
        st.tuples(st.just("cancel"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("pop"), st.just(0), st.integers(0, 9)),
        st.tuples(st.just("pop all"), st.just(0), st.integers(0, 9)),
    )
)


@given(OPERATIONS)
def test_behaves_like_a_dict_that_is_sorted_when_asked(operations: list[tuple[str, int, int]]) -> None:
    timers = Timers()
    model: dict[Hashable, float] = {}  # in the order of setting
    for operation, key, time in operations:
        if operation == "set":
            timers.set(key, time)
            model.pop(key, None)
            model[key] = time
        elif operation == "cancel":
            timers.cancel(key)
            model.pop(key, None)
        else:
            ordered = sorted((k for k in model if model[k] <= time), key=model.__getitem__)
            popped = due(timers, time) if operation == "pop all" else [timers.pop(time)]
            expected: list[Hashable] = [*ordered] if operation == "pop all" else [next(iter(ordered), None)]
            assert popped == expected
            for gone in ordered[: len(popped)]:
                del model[gone]
        assert len(timers) == len(model)
        assert timers.next() == min(model.values(), default=None)
        assert all((k in timers) == (k in model) for k in range(5))


@given(st.dictionaries(st.integers(), st.floats(allow_nan=False)), st.floats(allow_nan=False))
def test_once_all_that_is_due_was_popped_the_next_deadline_is_later(
    deadlines: dict[int, float], now: float
) -> None:
    timers = Timers()
    for key, when in deadlines.items():
        timers.set(key, when)
    assert len(due(timers, now)) == sum(when <= now for when in deadlines.values())
    later = timers.next()
    assert later is None or later > now


def references(keys: list[object]) -> int:
    return sum(sys.getrefcount(key) for key in keys)


def test_moved_deadlines_leave_no_more_dead_records_than_there_are_live_ones() -> None:
    timers = Timers()
    keys = [object() for _ in range(10)]
    before = references(keys)
    for step in range(10_000):
        timers.set(keys[step % 10], float(step))
        # a live key is held by the table and by its record, a dead record holds its key too
        assert references(keys) - before <= 3 * len(timers)


def test_cancelled_deadlines_behind_a_live_one_are_forgotten() -> None:
    timers = Timers()
    timers.set("soon", 0.0)
    keys = [object() for _ in range(1000)]
    before = references(keys)
    for place in range(1000):
        timers.set(keys[place], 1.0)
    for place in range(1000):
        timers.cancel(keys[place])
    assert references(keys) - before <= 1
    assert due(timers, 1.0) == ["soon"]


class CountingFloat(float):
    """A float that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: float) -> bool:
        CountingFloat.compared += 1
        return super().__lt__(other)


def test_moving_a_deadline_costs_about_the_same_however_many_there_are() -> None:
    def comparisons_per_move(size: int) -> float:
        timers = Timers()
        timers.set("soon", CountingFloat(-1))  # keeps the dead records behind it from coming to the top
        for key in range(size):
            timers.set(key, CountingFloat(key))
        CountingFloat.compared = 0
        for step in range(4 * size):
            timers.set(step % size, CountingFloat(size + step))
        return CountingFloat.compared / (4 * size)

    assert comparisons_per_move(4096) < comparisons_per_move(64) + 2 * 6  # 64 times as many: 6 levels
