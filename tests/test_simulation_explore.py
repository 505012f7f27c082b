"""Exhaustive exploration: it is complete, finds what is wrong, and what it takes for one state is one."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import attrs
import pytest

from mcp_sansio._listing import Listing
from mcp_sansio._snapshot import Snapshot
from mcp_sansio._timers import Timers
from mcp_sansio._trace import Trace
from mcp_sansio._versions import LEGACY_VERSIONS
from mcp_sansio._waiters import Waiters
from mcp_sansio.simulation import PROPERTIES
from mcp_sansio.simulation._checking import recheck
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._exhaustive.explore import (
    MEDIUM,
    SMALL,
    Budget,
    Explorer,
    Scope,
    client_of,
    endless,
    explore,
    server_of,
)
from mcp_sansio.simulation._exhaustive.fork import Frozen
from mcp_sansio.simulation._exhaustive.pair import Pair
from mcp_sansio.simulation._exhaustive.state_key import StateKey, skeleton
from mcp_sansio.simulation._node import Node

TINY = Scope(changes=1, losses=0, lists=1, cancels=0, expiries=0, quiet=0.0)


def test_a_scope_is_explored_completely() -> None:
    explored = explore(TINY)
    assert explored.complete
    assert explored.violation is None
    assert explored.states < explored.transitions
    assert str(explored).startswith("complete for changes 1, losses 0")


def test_it_comes_out_the_same_every_time() -> None:
    assert str(explore(TINY, ())) == str(explore(TINY, ()))


@pytest.mark.parametrize(
    "scope",
    [
        attrs.evolve(TINY, losses=1, lists=0),
        attrs.evolve(TINY, lists=0, quiet=0.1),
        attrs.evolve(TINY, changes=0, gets=1, lists=0, cancels=1),
        attrs.evolve(TINY, eager=False),
        attrs.evolve(TINY, changes=0, expiries=1, lists=2),
        attrs.evolve(TINY, versions=LEGACY_VERSIONS[-1:]),
    ],
    ids=["losses", "quiet", "gets", "asked", "expiries", "legacy"],
)
def test_the_library_keeps_what_it_promises_in_every_order(scope: Scope) -> None:
    explored = explore(scope)
    assert str(explored).startswith("complete")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scope", [SMALL, MEDIUM])
def test_larger_scopes(scope: Scope) -> None:
    assert str(explore(scope)).startswith("complete")


def test_what_is_too_much_is_not_called_complete() -> None:
    explored = Explorer(TINY, (), most=5).run()
    assert not explored.complete
    assert str(explored).startswith("not complete")


# --- bugs are found -----------------------------------------------------------------------------------


class Overlooked(Listing):
    """What is announced while a walk runs is thought to be in it."""

    def _publish(self, walk: Any, now: float) -> None:
        walk.epoch = self.epoch
        super()._publish(walk, now)


class Impatient(Listing):
    """After every walk there is another one."""

    def _finish_walk(self, answer: Any, now: float) -> None:
        super()._finish_walk(answer, now)
        self._want_eagerly(now)


class Forgetful(Waiters):
    """Who waits for a walk that is dropped is forgotten."""

    def dropped(self) -> None:
        self._joined = {}


class Stubborn(Listing):
    """A lost connection is no reason to doubt a list."""

    def closed(self, reason: str, now: float) -> None:
        snapshot = self.snapshot
        super().closed(reason, now)
        if isinstance(snapshot, Snapshot):
            self.snapshot = attrs.evolve(snapshot, epoch=self.epoch)


def with_bug(bug: type, part: Callable[[ClientNode], object]) -> Callable[[Node], None]:
    def prepare(node: Node) -> None:
        if isinstance(node, ClientNode):
            object.__setattr__(part(node), "__class__", bug)

    return prepare


@pytest.mark.parametrize(
    ("bug", "scope", "found"),
    [
        (Overlooked, attrs.evolve(TINY, changes=2), "C1"),
        (Impatient, attrs.evolve(TINY, lists=0), "L0"),
        (Stubborn, attrs.evolve(TINY, changes=0, losses=1, lists=2), "C5"),
    ],
)
def test_a_bug_is_found_and_its_trace_is_like_any_other(bug: type, scope: Scope, found: str) -> None:
    checks = [check for check in PROPERTIES if check.id == found]
    explored = Explorer(scope, checks, prepare=with_bug(bug, attrgetter("prompts.listing"))).run()
    assert explored.violation is not None
    assert explored.violation.property == found
    assert explored.trace is not None
    assert str(explored).startswith(found)
    assert explored.trace.events[-1].data[0] == found
    assert [event.index for event in explored.trace] == [*range(len(explored.trace))]
    read = Trace.parse(explored.trace.lines())
    assert [violated.property for violated in recheck(read, checks)] == [v for v in [found] if v != "L0"]


def test_a_bug_that_shows_only_when_all_is_quiet() -> None:
    scope = attrs.evolve(TINY, changes=0, losses=1)
    prepare = with_bug(Forgetful, attrgetter("prompts.listing._waiters"))
    explored = Explorer(scope, PROPERTIES, prepare=prepare).run()
    assert explored.violation is not None


def test_what_goes_on_for_ever_is_on_a_cycle() -> None:
    edges = [(-1, 0), (0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (4, 5)]
    assert endless(6, edges) == [1, 2, 3, 4]
    assert endless(3, [(-1, 0), (0, 1), (0, 2), (1, 2)]) == []


# --- one state is one state ---------------------------------------------------------------------------


def key(pair: Pair) -> bytes:
    return pair.key(lambda _: None)


def messages(pair: Pair) -> list[tuple[str, str, str]]:
    return [(e.kind, e.node, skeleton(str(e.data))[0]) for e in pair.collect() if e.kind in ("in", "out")]


@pytest.mark.parametrize(
    "scope",
    [
        attrs.evolve(TINY, losses=1, lists=0),
        attrs.evolve(TINY, changes=2, quiet=0.1, lists=0),
        pytest.param(attrs.evolve(TINY, losses=1), marks=pytest.mark.slow),
        pytest.param(attrs.evolve(TINY, changes=2, quiet=0.1, expiries=1), marks=pytest.mark.slow),
        pytest.param(attrs.evolve(TINY, gets=1, cancels=1, expiries=1), marks=pytest.mark.slow),
    ],
    ids=["losses", "quiet", "more losses", "more quiet", "gets"],
)
def test_states_that_are_merged_go_on_alike(scope: Scope) -> None:
    """Other ways to states that are known already, and walks from there, side by side."""
    first: dict[int, Frozen[Pair]] = {}
    compared: list[int] = []

    def met(at: int, pair: Pair, budget: Budget) -> None:
        if at not in first:
            first[at] = Frozen(pair)
            return
        if at % 3:
            return
        one, other = first[at].thaw(), Frozen(pair).thaw()
        spent = budget, budget
        for turn in range(6):
            assert key(one) == key(other)
            steps = [*explorer.steps(one, spent[0])]
            assert steps == [*explorer.steps(other, spent[1])]
            if not steps:
                break
            step = steps[(at + turn * 7) % len(steps)]
            spent = explorer.take(one, *step, spent[0]), explorer.take(other, *step, spent[1])
            assert messages(one) == messages(other)
        compared.append(at)

    explorer = Explorer(scope, (), met=met)
    assert explorer.run().complete
    assert len(compared) > 5


def test_a_copy_goes_on_alone() -> None:
    pair = Pair(client_of(TINY), server_of(TINY))
    for name in ("s1", "c1"):
        pair.start(name, lambda _: None)
    copy = Frozen(pair).thaw()
    before = key(copy)
    assert key(pair) == before
    pair.deliver("s1")
    assert (key(copy), key(pair) == before) == (before, False)
    copy.deliver("s1")
    assert key(copy) == key(pair)
    assert [event.data for event in pair.collect()] == [event.data for event in copy.collect()]


def test_an_end_of_a_connection_that_a_node_wants_reaches_the_other() -> None:
    pair = Pair(client_of(TINY), server_of(TINY))
    for name in ("s1", "c1"):
        pair.start(name, lambda _: None)
    pair.command("c1", "principal", {})
    ends = [(event.node, event.data) for event in pair.collect() if event.kind == "end"]
    assert ends == [("c1", "hangup"), ("s1", "eof")]


def test_times_count_from_now_and_ids_by_their_order() -> None:
    def made(now: float, ids: tuple[int, ...], when: float) -> bytes:
        made = StateKey(now)
        made.walk({"a": when < now})
        for number in ids:
            made.rank("request", number)
        return made.digest()

    assert made(1.0, (3, 7), 0.0) == made(2.0, (4, 5), 1.0) != made(1.0, (7, 3), 0.0)


def test_a_deadline_that_was_moved_counts_once() -> None:
    def made(*deadlines: float) -> bytes:
        timers, key = Timers(), StateKey(0.0)
        timers.set("first", 0.5)
        for when in deadlines:
            timers.set("moved", when)
        key.walk(timers)
        return key.digest()

    assert made(2.0, 1.0) == made(1.0) != made(2.0)


def test_a_message_is_known_by_all_but_its_ids() -> None:
    assert skeleton('{"id":12,"d":"v3"}') == ('{#,"d":#}', (("request", 12), ("version", 3)))
