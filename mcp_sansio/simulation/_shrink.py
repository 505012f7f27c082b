"""Makes a failure small: the shortest story, told by the fewest draws, in which the same property breaks.

A greedy search over the tape. A candidate is replayed leniently, with zeros for what it lacks, and is taken
if it still fails and costs less: messages first, for they are what a person reads, then draws that are not 0.
First whole labels fall silent, which takes out a fault, a kind of act or a setting at once; then chunks of
what is left; then values grow small, and draws are left out, so that what strikes does so earlier, also
together with an act that they were drawn on account of. A replay
stops when it is longer than the best, so most candidates cost little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import TypeAlias, TypeVar

import attrs

import mcp_sansio._trace as trace_kinds
from mcp_sansio._trace import TraceEvent

from ._checking import Checker
from ._ledger import Ledger
from ._run import Outcome, replay
from ._tape import Draw

T = TypeVar("T")

SETTING = 16
"""A draw of so few possibilities chooses a setting rather than a time or a place."""

CHOICE = 3
"""Of so few possibilities each is tried, not the smaller ones alone."""

FEW = 2
"""Of more labels than that, not all combinations of gaps are tried."""

LONGEST_GAP = 12
"""Shorter gaps than that are closed."""

EXPLAINED = 40
"""With more draws than that left, which of them matter is not asked."""

Cost: TypeAlias = tuple[int, int, int]

Place: TypeAlias = tuple[str, int]
"""Which draw of its label it is: this stays the same whatever other labels do."""

Places: TypeAlias = dict[Place, Draw]


def cost(outcome: Outcome) -> Cost:
    """What a shorter story has less of: messages, then draws that are not 0, then draws."""
    return outcome.messages, sum(value > 0 for _, _, value in outcome.record), len(outcome.record)


@attrs.frozen(eq=False)
class Shrunk:
    """`outcome` is the smallest failure that was found, in `runs` replays; `before` is what it was made of.

    Without any one of the draws `needed` the property holds; of a failure that stayed large, none is named.
    """

    before: Outcome
    outcome: Outcome
    runs: int
    needed: tuple[Draw, ...]


def shrink(
    failed: Outcome,
    checks: Iterable[type[Checker]] = (),
    *,
    runs: int = 5000,
    spent: Callable[[], float] = lambda: 0.0,
    seconds: float = 5.0,
) -> Shrunk:
    """The smallest failure of the same property that can be found.

    It ends after so many `runs`, or when `spent`, a clock of the caller's, has gone on by `seconds`. Raises
    `ValueError` for a run that has not failed.
    """
    if failed.violation is None:
        raise ValueError("nothing to shrink: every property held")
    end = spent() + seconds
    search = _Search(failed, checks, runs, lambda: spent() >= end)
    search.improve()
    return Shrunk(failed, search.best, search.runs, search.explain())


class _Spent(Exception):
    """The budget is spent."""


class _Search:
    """The best so far, and the ways to a better one."""

    def __init__(
        self, failed: Outcome, checks: Iterable[type[Checker]], runs: int, late: Callable[[], bool]
    ) -> None:
        self.best = failed
        self.runs = 0
        self._property = "" if failed.violation is None else failed.violation.property
        self._checks = [check for check in checks if check.id == self._property]
        self._cost = cost(failed)
        self._tried: set[tuple[Draw, ...]] = {tuple(failed.record)}
        self._limit = runs
        self._late = late

    def improve(self) -> None:
        """Go through all the ways until none of them leads on; those that pair draws come last, for there are
        so many pairs.
        """
        one_by_one = (
            *(self._silence_labels, self._zero_chunks, self._lower),
            *(self._leave_out, self._close_gaps),
        )
        pairs = self._leave_out_together, self._change_together
        with suppress(_Spent):
            while self._better(one_by_one) or self._better((self._choose,)) or self._better(pairs):
                pass

    def _better(self, ways: Iterable[Callable[[], None]]) -> bool:
        before = self._cost
        for way in ways:
            way()
        return before != self._cost

    def explain(self) -> tuple[Draw, ...]:
        """The draws that the failure needs: it is gone when one of them is 0."""
        places = _places(self.best.record)
        if len(self._loud()) > EXPLAINED:
            return ()
        return tuple(
            draw
            for place, draw in places.items()
            if draw[2] and not self._fails(self._replay(_with(places, {place: 0})))
        )

    # --- one candidate ---

    def _replay(self, record: Sequence[Draw], most: int | None = None) -> Outcome:
        self.runs += 1
        checks = self._checks if most is None else [*self._checks, _longer_than(most)]
        return replay(self.best.scenario, record, checks, strict=False)

    def _fails(self, outcome: Outcome) -> bool:
        return outcome.violation is not None and outcome.violation.property == self._property

    def _try(self, record: Sequence[Draw]) -> bool:
        """Whether this is better; it is the best then. Raises `_Spent` when the budget is."""
        key = tuple(record)
        if key in self._tried:
            return False
        if self.runs >= self._limit or self._late():
            raise _Spent
        self._tried.add(key)
        outcome = self._replay(record, self._cost[0])
        if not self._fails(outcome) or cost(outcome) >= self._cost:
            return False
        self.best, self._cost = outcome, cost(outcome)
        return True

    # --- ways to a better one ---

    def _silence_labels(self) -> None:
        """Zero all draws of some labels: of half of them, of a quarter, …, of one."""
        for some in _chunks([*dict.fromkeys(label for label, _ in self._loud())]):
            self._zero([place for place in self._loud() if place[0] in some])

    def _zero_chunks(self) -> None:
        """Zero some of the draws, the last first: what came late was needed least."""
        for some in _chunks(self._loud()[::-1]):
            self._zero(some)

    def _loud(self) -> list[Place]:
        """The draws that are not 0."""
        return [place for place, draw in _places(self.best.record).items() if draw[2]]

    def _zero(self, some: Sequence[Place]) -> bool:
        places = _places(self.best.record)
        values = {place: 0 for place in some if place in places and places[place][2]}
        return bool(values) and self._try(_with(places, values))

    def _choose(self) -> None:
        """Have a setting be another one: the calmest of a few is not always that of the fewest messages."""
        for place, draw in _places(self.best.record).items():
            for value in range(draw[2] + 1, draw[1] if draw[1] <= CHOICE else 0):
                self._set({place: value})

    def _leave_out(self) -> None:
        """Leave draws out, alone or with the silence before them, so that what strikes strikes earlier."""
        for label, nth in self._loud()[::-1]:
            if self._omit(label, nth, 1):
                continue
            size = self._silence_before(label, nth)
            while size and not self._omit(label, nth - size, size):
                size //= 2

    def _leave_out_together(self) -> None:
        """Silence a draw and leave some out of another label: what is not said moves what strikes."""
        for quiet in self._loud()[::-1]:
            for label, nth in self._loud():
                for size in range(1, 1 + min(2, self._silence_before(label, nth))):
                    if label != quiet[0] and self._omit(label, nth - size, size, silence=quiet):
                        break

    def _close_gaps(self) -> None:
        """Silence a draw, or make a setting smaller, and leave out of others what was drawn on its account:
        a request that is not made takes away a draw for each of its messages, in either direction.
        """
        for place in self._loud()[::-1]:
            draw = _places(self.best.record).get(place, ("", 0, 0))
            values = _lower_than(draw[2]) if draw[1] <= SETTING else (0,)
            any(self._shift(place, value, sizes) for value in values[:2] for sizes in self._gaps(place[0]))

    def _gaps(self, but: str) -> Iterator[Mapping[Place, int]]:
        """How much silence may be left out before the first loud draw of each of a few labels."""
        first: dict[str, Place] = {}
        for label, nth in self._loud():
            if label != but and self._silence_before(label, nth):
                first.setdefault(label, (label, nth))
        if not 0 < len(first) <= FEW:
            return
        for size in range(1, LONGEST_GAP):
            for more in product((0, 1, -1), repeat=len(first) - 1):
                yield dict(zip(first.values(), (size, *(size + each for each in more)), strict=True))

    def _shift(self, place: Place, value: int, sizes: Mapping[Place, int]) -> bool:
        places = _places(self.best.record)
        if place not in places:
            return False
        places[place] = (*places[place][:2], value)
        gone = {(label, nth - by) for (label, nth), size in sizes.items() for by in range(1, 1 + size)}
        silent = all(place in places and not places[place][2] for place in gone)
        return silent and self._try([draw for place, draw in places.items() if place not in gone])

    def _silence_before(self, label: str, nth: int) -> int:
        places, size = _places(self.best.record), 0
        while nth > size and (label, nth - size - 1) in places and not places[label, nth - size - 1][2]:
            size += 1
        return size

    def _omit(self, label: str, first: int, size: int, silence: Place | None = None) -> bool:
        places = _places(self.best.record)
        if silence is not None:
            places[silence] = (*places.get(silence, ("", 0, 0))[:2], 0)
        gone = {(label, nth) for nth in range(first, first + size)}
        return self._try([draw for place, draw in places.items() if place not in gone])

    def _lower(self) -> None:
        """Make values smaller."""
        for place in self._loud():
            lowered = True
            while lowered:
                lowered = any(self._set({place: lower}) for lower in _lower_than(self._value(place)))

    def _change_together(self) -> None:
        """Make a setting smaller, or leave something out, and have something else happen at another time;
        once the story is shorter, there are quicker ways again.
        """
        loud, messages = self._loud(), self._cost[0]
        size = {place: draw[1] for place, draw in _places(self.best.record).items()}
        settings = [place for place in loud if size[place] <= SETTING]
        rest = [place for place in loud if size[place] > SETTING]
        for place in (*settings, *rest[::-1]):
            for lower in _lower_than(self._value(place)) if place in settings else (0,):
                for other in rest:
                    values = () if other == place else _other_than(self._value(other), size[other])
                    any(self._set({place: lower, other: value}) for value in values)
                    if self._cost[0] < messages:
                        return

    def _set(self, values: Mapping[Place, int]) -> bool:
        return self._try(_with(_places(self.best.record), values))

    def _value(self, place: Place) -> int:
        draw = _places(self.best.record).get(place)
        return 0 if draw is None else draw[2]


def _places(record: Iterable[Draw]) -> Places:
    seen: Counter[str] = Counter()
    places: Places = {}
    for draw in record:
        label = draw[0]
        places[label, seen[label]] = draw
        seen[label] += 1
    return places


def _with(places: Places, values: Mapping[Place, int]) -> Sequence[Draw]:
    """The tape with other values at some places."""
    return [(*draw[:2], values.get(place, draw[2])) for place, draw in places.items()]


def _lower_than(value: int) -> Sequence[int]:
    """What may do instead of a value, the smallest first."""
    return sorted({*range(min(value, 3)), *(value >> by for by in (1, 2, 3) if value), *(value - 1,)} - {-1})


def _other_than(value: int, n: int) -> Sequence[int]:
    """What may do instead of the time or the place that something else was there for."""
    return [*_lower_than(value), *(other for other in dict.fromkeys((value + 1, n - 1)) if value < other < n)]


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """All of them, halves, quarters, … and each by itself."""
    size = len(items)
    while size:
        for at in range(0, len(items), size):
            yield items[at : at + size]
        size //= 2


def _longer_than(most: int) -> type[Checker]:
    """A checker that ends a run with more messages than are worth having."""

    class Longer(Checker):
        id = "too long"
        title = "a shorter story is known"
        anchor = ""
        kinds = (trace_kinds.TAKEN,)

        def __init__(self, ledger: Ledger) -> None:
            super().__init__(ledger)
            self._taken = 0

        def on_event(self, event: TraceEvent) -> str | None:
            self._taken += 1
            return f"more than {most}" if self._taken > most else None

    return Longer
