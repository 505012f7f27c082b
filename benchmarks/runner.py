"""The runner: who does a row, how often, in which order, and whether what they say is right.

For each row every contestant makes ready and shows one answer, which is compared with what it must be. Then they take turns,
round by round, so that a busy neighbour is everybody's. One turn is as many steps as take `turn` seconds. Every turn is
followed by the same comparison, outside the time that counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from benchmarks import environments, work
from benchmarks.contestant import Contestant, Failed, NotSupported, Refused
from benchmarks.figures import QuestionResult, Report, Result, RowResult, machine
from benchmarks.row import Question, Row

MOST_STEPS = 200_000


@attrs.frozen
class Mode:
    """How thorough a run is: rounds, seconds that a turn should take, and whether only rows marked `quick` count."""

    name: str
    rounds: int
    turn: float
    quick: bool


QUICK = Mode("quick", rounds=5, turn=0.03, quick=True)
FULL = Mode("full", rounds=15, turn=0.2, quick=False)


class Turns(Protocol):
    """One contestant at one row: `turn` returns what it spent per unit. Both raise `Failed`."""

    def calibrate(self, seconds: float) -> None:
        """Find out how many steps take so long."""
        ...

    def turn(self) -> float:
        """Take them, once."""
        ...

    def finish(self) -> None:
        """Clear up."""
        ...


class Teller(Protocol):
    """Who is told how far the run is."""

    def stage(self, text: str) -> None:
        """What is being done now."""
        ...

    def advance(self) -> None:
        """One turn is over."""
        ...


def check(row: Row, answer: Mapping[str, Any]) -> None:
    """What a contestant has seen must be what was asked for. Raises `Failed`."""
    if answer.get("digest") != work.digest(row.expected(answer.get("revision", 0))):
        raise Failed(f"a wrong answer, which begins with {answer.get('begins')!r}")


def prepare(row: Row, contestant: Contestant, **params: Any) -> dict[str, Any]:
    """Have a contestant make ready; its answer, which is right. Raises `Failed` and `NotSupported`."""
    answer = contestant.say(do="prepare", job=row.job, params={**row.params, **params})
    if "refused" in answer:
        raise NotSupported(answer["refused"])
    check(row, answer)
    return answer


class Steps:
    """A contestant that counts its own CPU time, of the steps of its job; its children's is read from outside."""

    def __init__(self, row: Row, contestant: Contestant) -> None:
        """Make ready. Raises `Failed` for a wrong answer."""
        self._row = row
        self._contestant = contestant
        self._times = 1
        self._took = 0.0
        prepare(row, contestant)

    def calibrate(self, seconds: float) -> None:
        self.turn()
        while self._took < seconds / 2 and self._times < MOST_STEPS:
            self._times *= 2
            self.turn()
        self._times = max(1, round(self._times * seconds / self._took))

    def turn(self) -> float:
        before = self._contestant.cpu_of_children
        answer = self._contestant.say(do="run", times=self._times)
        children = self._contestant.cpu_of_children - before
        check(self._row, answer)
        self._took = float(answer["took"])
        return (float(answer["cpu"]) + children) / float(answer["units"])

    def finish(self) -> None:
        self._contestant.say(do="finish")


METHODS: dict[str, Callable[[Row, Contestant], Turns]] = {"steps": Steps}


class Runner:
    """All contestants, for as long as the block lasts."""

    def __init__(self, mode: Mode, names: Sequence[str], teller: Teller) -> None:
        self._mode = mode
        self._names = names
        self._teller = teller
        self._contestants: dict[str, Contestant | Refused] = {}

    def __enter__(self) -> Runner:
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
        return sum(
            len(self._who(row)) * self._mode.rounds for question in questions for row in self.rows(question)
        )

    def _who(self, row: Row) -> list[str]:
        return [name for name in self._names if name in row.contestants]

    # --- a row ---

    def measure(self, row: Row) -> RowResult:
        """Have everybody do it."""
        self._teller.stage(row.work)
        results: dict[str, Result] = {}
        ready: dict[str, Turns] = {}
        for name in self._who(row):
            prepared = self._prepare(row, name)
            if isinstance(prepared, Result):
                results[name] = prepared
            else:
                ready[name] = prepared
        values = self._rounds(ready, results)
        for name, turns in ready.items():
            if name not in results:
                results[name] = Result(tuple(values[name]))
            self._finish(name, turns)
        return RowResult.of(row, {name: results[name] for name in self._who(row)})

    def _prepare(self, row: Row, name: str) -> Turns | Result:
        contestant = self._contestant(name)
        if isinstance(contestant, Refused):
            return Result(refused=f"not measured: {contestant.reason}")
        try:
            turns = METHODS[row.method](row, contestant)
            turns.calibrate(self._mode.turn)
        except NotSupported as refusal:
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

    def _rounds(self, ready: Mapping[str, Turns], results: dict[str, Result]) -> dict[str, list[float]]:
        """What everybody spent in each round; one who fails is out."""
        values: dict[str, list[float]] = {name: [] for name in ready}
        for number in range(self._mode.rounds):
            names = [name for name in ready if name not in results]
            for name in names if number % 2 == 0 else reversed(names):
                try:
                    values[name].append(ready[name].turn())
                except Failed as failure:
                    results[name] = Result(failed=str(failure))
                self._teller.advance()
        return values
