"""What was measured, as figures: medians, how far they spread, ratios, and the file that they are kept in.

A ratio is that of two medians of one run; its spread is that of the ratios round by round, from the first
quartile to the third, since contestants take turns and what disturbs a round disturbs all of them.
"""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs

from benchmarks.row import FLOOR, OURS, Curve, Goal, Growth, Question, Row


@attrs.frozen
class Result:
    """What one contestant spent on one unit of work, round by round; or why there is nothing to be said."""

    values: tuple[float, ...] = ()
    refused: str | None = None
    failed: str | None = None

    @property
    def median(self) -> float:
        """The middle of all rounds."""
        return statistics.median(self.values)


@attrs.frozen(kw_only=True)
class RowResult:
    """A row that has been measured."""

    name: str
    work: str
    unit: str
    measure: str
    goals: tuple[Goal, ...]
    growth: Growth | None
    curves: tuple[Curve, ...]
    params: dict[str, Any]
    results: dict[str, Result]
    took: float

    @classmethod
    def of(cls, row: Row, results: dict[str, Result], took: float) -> RowResult:
        """What came out of a row."""
        return cls(
            name=row.name,
            work=row.work,
            unit=row.unit,
            measure=row.measure,
            goals=row.goals,
            growth=row.growth,
            curves=row.curves,
            params=dict(row.params),
            results=results,
            took=took,
        )

    def ratio(self, over: str, below: str = OURS) -> float | None:
        """So many times more than `below` does `over` spend; None if one of them was not measured."""
        high, low = self.results.get(over), self.results.get(below)
        if high is None or low is None or not high.values or not low.values:
            return None
        return high.median / low.median

    def ratio_spread(self, over: str, below: str = OURS) -> tuple[float, float]:
        """The quartiles of the ratio, round by round."""
        pairs = zip(self.results[over].values, self.results[below].values, strict=False)
        return quartiles([high / low for high, low in pairs])

    @property
    def distance(self) -> float | None:
        """How far above the floor this library is."""
        return self.ratio(OURS, FLOOR)

    @property
    def reached(self) -> bool | None:
        """Whether all goals are; None if that cannot be said."""
        ratios = [(self.ratio(goal.over), goal.times) for goal in self.goals]
        known = [ratio >= times for ratio, times in ratios if ratio is not None]
        return all(known) if known else None


@attrs.frozen
class QuestionResult:
    """A table that has been filled."""

    name: str
    title: str
    text: str
    rows: tuple[RowResult, ...]

    @classmethod
    def of(cls, question: Question, rows: Sequence[RowResult]) -> QuestionResult:
        """What came out of a question."""
        return cls(question.name, question.title, question.text, tuple(rows))


@attrs.frozen
class Report:
    """A run: on what, how, and what came out."""

    machine: dict[str, str]
    mode: str
    rounds: int
    seconds: float
    questions: tuple[QuestionResult, ...]

    def rows(self) -> Iterator[RowResult]:
        """All rows."""
        for question in self.questions:
            yield from question.rows

    def save(self, file: Path) -> None:
        """Write it as JSON."""
        file.write_text(json.dumps(cattrs.unstructure(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Report:
        """Read it back."""
        return cattrs.structure(json.loads(file.read_text(encoding="utf-8")), cls)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third one."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def machine() -> dict[str, str]:
    """What the figures depend on, apart from the code."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "compiler": platform.python_compiler(),
    }


def _processor() -> str:
    """The name of the processor, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"
