"""The runner: who does a row, how often, in which order, and whether what they say is right.

For each row every contestant makes ready and shows one answer, which is compared with what it must be. Then
they take turns, round by round, so that a busy neighbour is everybody's. One turn is as many steps as take
`turn` seconds. Every turn is followed by the same comparison, outside the time that counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Protocol, Self

import attrs

from benchmarks import environments
from benchmarks.contestant import Contestant, Failed, NotSupported, Refused
from benchmarks.figures import QuestionResult, Report, Result, RowResult, machine
from benchmarks.row import Question, Row
from benchmarks.turns import METHODS, Turns


@attrs.frozen
class Mode:
    """How thorough a run is: rounds, CPU seconds that a turn should take, seconds before the first one that
    do not count (just-in-time compilers need them), and whether only rows marked `quick` are measured.
    """

    name: str
    rounds: int
    turn: float
    warm: float
    quick: bool


QUICK = Mode("quick", rounds=3, turn=0.05, warm=0.1, quick=True)
FULL = Mode("full", rounds=15, turn=0.2, warm=1.0, quick=False)


class Teller(Protocol):
    """Who is told how far the run is."""

    def stage(self, text: str) -> None:
        """What is being done now."""
        ...

    def advance(self) -> None:
        """One turn is over."""
        ...

    def done(self, row: RowResult) -> None:
        """A row is over."""
        ...


class Runner:
    """All contestants, for as long as the block lasts."""

    def __init__(self, mode: Mode, names: Sequence[str], teller: Teller) -> None:
        self._mode = mode
        self._names = names
        self._teller = teller
        self._contestants: dict[str, Contestant | Refused] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._contestants.values():
            if isinstance(each, Contestant):
                each.close()

    def run(self, questions: Sequence[Question]) -> Report:
        """Ask all questions."""
        begin = time.monotonic()
        answered = [
            QuestionResult.of(question, [self.measure(row) for row in rows])
            for question in questions
            if (rows := self.rows(question))
        ]
        seconds = time.monotonic() - begin
        return Report(machine(), self._mode.name, self._mode.rounds, seconds, tuple(answered))

    def rows(self, question: Question) -> list[Row]:
        """The rows that this mode measures."""
        return [row for row in question.rows if row.quick or not self._mode.quick]

    def turns(self, questions: Sequence[Question]) -> int:
        """How many turns there will be."""
        rows = [row for question in questions for row in self.rows(question)]
        return sum(len(self._who(row)) * self._how_often(row) for row in rows)

    def _how_often(self, row: Row) -> int:
        return min(self._mode.rounds, row.rounds or self._mode.rounds)

    def _who(self, row: Row) -> list[str]:
        return [name for name in self._names if name in row.contestants]

    # --- a row ---

    def measure(self, row: Row) -> RowResult:
        """Have everybody do it."""
        self._teller.stage(row.work)
        begin = time.monotonic()
        results: dict[str, Result] = {}
        ready: dict[str, Turns] = {}
        for name in self._who(row):
            prepared = self._prepare(row, name)
            if isinstance(prepared, Result):
                results[name] = prepared
            else:
                ready[name] = prepared
        values = self._rounds(self._how_often(row), ready, results)
        for name, turns in ready.items():
            if name not in results:
                results[name] = Result(tuple(values[name]))
            self._finish(name, turns)
        who = {name: results[name] for name in self._who(row)}
        measured = RowResult.of(row, who, time.monotonic() - begin)
        self._teller.done(measured)
        return measured

    def _prepare(self, row: Row, name: str) -> Turns | Result:
        contestant = self._contestant(name)
        if isinstance(contestant, Refused):
            return Result(refused=f"not measured: {contestant.reason}")
        try:
            turns = METHODS[row.method](row, contestant, self._other)
            begin = time.monotonic()
            turns.calibrate(self._mode.turn)
            while row.rounds is None and time.monotonic() - begin < self._mode.warm:
                turns.turn()
        except (NotSupported, environments.Missing) as refusal:
            return Result(refused=f"not supported: {refusal}")
        except Failed as failure:
            contestant.restart()
            return Result(failed=str(failure))
        return turns

    def _finish(self, name: str, turns: Turns) -> None:
        contestant = self._contestant(name)
        try:
            turns.finish()
        except Failed:
            if isinstance(contestant, Contestant):
                contestant.restart()

    def _contestant(self, name: str) -> Contestant | Refused:
        if name not in self._contestants:
            try:
                self._contestants[name] = environments.start(name, self._teller.stage)
            except environments.Missing as missing:
                self._contestants[name] = Refused(str(missing))
        return self._contestants[name]

    def _other(self, name: str) -> Contestant:
        """A process beside the contestants, for what is everybody's: a second one of the first word."""
        if name not in self._contestants:
            self._contestants[name] = environments.start(name.partition(" ")[0], self._teller.stage)
        found = self._contestants[name]
        if isinstance(found, Refused):
            raise Failed(found.reason)
        return found

    def _rounds(
        self, often: int, ready: Mapping[str, Turns], results: dict[str, Result]
    ) -> dict[str, list[float]]:
        """What everybody spent in each round; one who fails is out."""
        values: dict[str, list[float]] = {name: [] for name in ready}
        for number in range(often):
            names = [name for name in ready if name not in results]
            for name in names if number % 2 == 0 else reversed(names):
                try:
                    values[name].append(ready[name].turn())
                except Failed as failure:
                    results[name] = Result(failed=str(failure))
                self._teller.advance()
        return values
