"""The benchmarks: contestants do what they are measured for, wrong answers are refused, figures make tables.

Contestants run in this process, without environments of their own, and for one round: how long anything takes
does not matter here.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import attrs
import pytest

sys.path.append(str(Path(__file__).parent.parent))  # at the end: what is installed goes first

from benchmarks import environments, headline, tables, work
from benchmarks.contestant import Contestant, Failed
from benchmarks.figures import QuestionResult, Report, Result, RowResult
from benchmarks.peers import floor, ours
from benchmarks.peers.job import Driver
from benchmarks.peers.worker import Worker
from benchmarks.questions import QUESTIONS
from benchmarks.row import FLOOR, OURS, SDK, Curve, Goal, Growth, Question, Row
from benchmarks.runner import Mode, Runner
from benchmarks.turns import check

DRIVERS: dict[str, Any] = {OURS: ours, FLOOR: floor}
ROWS = {row.name: row for question in QUESTIONS.values() for row in question.rows}
ONCE = Mode("test", rounds=1, turn=0.0001, warm=0.0, quick=True)


class InProcess(Contestant):
    """A contestant whose worker is in this process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._runner = asyncio.Runner()
        self._worker = Worker(cast("Driver", DRIVERS[name]))

    def say(self, **command: Any) -> dict[str, Any]:
        return self._runner.run(self._worker.obey(command))

    def close(self) -> None:
        self._runner.close()

    def restart(self) -> None:
        raise AssertionError("nothing should fail")

    @property
    def cpu_of_children(self) -> float:
        return 0.0


class Silent:
    """Nobody is told of the progress, but rows are kept."""

    def __init__(self) -> None:
        self.rows: list[RowResult] = []

    def stage(self, text: str) -> None:
        pass

    def advance(self) -> None:
        pass

    def done(self, row: RowResult) -> None:
        self.rows.append(row)


def run(monkeypatch: pytest.MonkeyPatch, *rows: Row) -> list[RowResult]:
    """Measure rows, once, by this library and the floor."""
    monkeypatch.setattr(environments, "start", lambda name, _: InProcess(name))
    silent = Silent()
    with Runner(ONCE, (OURS, FLOOR), silent) as runner:
        runner.run([Question("test", "Test", "A test.", rows)])
    return silent.rows


IN_MEMORY = [
    row
    for row in ROWS.values()
    if row.job in floor.JOBS
    and row.method == "steps"
    and row.name.startswith(("list", "get", "cached", "server", "decode", "encode", "fan_out/50/modern"))
]


@pytest.mark.parametrize("row", [row for row in IN_MEMORY if row.quick], ids=lambda row: row.name)
def test_a_row_is_measured(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """This library and the floor see what must be seen; otherwise they would have failed."""
    (measured,) = run(monkeypatch, row)
    assert {name: result.failed for name, result in measured.results.items()} == {OURS: None, FLOOR: None}
    assert all(len(result.values) == 1 for result in measured.results.values())
    assert measured.distance is not None


def test_churn_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every client has the list as it is now, after edits of which nobody was told one by one."""
    cell = attrs.evolve(
        ROWS["churn/memory/50/100/100/10/modern"],
        params={"clients": 3, "prompts": 20, "page": 6, "burst": 4, "era": "legacy"},
        expected=lambda revision: work.expected_list(20, revision),
        quick=True,
    )
    (measured,) = run(monkeypatch, cell)
    assert [result.failed for result in measured.results.values()] == [None, None]


@pytest.mark.parametrize("revision", [0, 3])
def test_a_wrong_answer_is_refused(revision: int) -> None:
    """A list that has not been fetched since the last edit is a wrong answer, and not measured."""
    row = ROWS["list_changed/modern"]
    right = {"digest": work.digest(work.expected_list(100, revision)), "revision": revision, "begins": "["}
    check(row, right)
    with pytest.raises(Failed, match="a wrong answer, which begins with '\\['"):
        check(row, {**right, "revision": revision + 1})
    with pytest.raises(Failed):
        check(row, {"begins": None})


def test_a_wrong_answer_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner says what was wrong instead of a figure."""
    monkeypatch.setattr(InProcess, "restart", lambda _: None)
    wrong = attrs.evolve(ROWS["get/modern"], expected=lambda _: [["user", "something else"]])
    (measured,) = run(monkeypatch, wrong)
    failed = measured.results[OURS]
    assert failed.values == ()
    assert failed.failed is not None
    assert failed.failed.startswith("a wrong answer")


def test_who_cannot_do_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that a driver refuses is not a failure."""
    row = attrs.evolve(ROWS["churn/stdio/1/100/100/1/modern"], contestants=(FLOOR,))
    (measured,) = run(monkeypatch, row)
    assert measured.results == {FLOOR: Result(refused=f"not supported: {floor.NOT_WRITTEN}")}


def test_every_row_has_a_driver() -> None:
    """This library takes part in every row, no two rows have the same name, and the grid keeps its size."""
    rows = [row for question in QUESTIONS.values() for row in question.rows]
    assert len({row.name for row in rows}) == len(rows)
    assert [row.name for row in rows if OURS not in row.contestants or row.job not in ours.JOBS] == []
    assert len(QUESTIONS["churn"].rows) <= 24


@pytest.fixture
def report() -> Report:
    """Two rows, with all that can happen in a table."""
    first = RowResult(
        name="list_cold/modern",
        work="`prompts/list` of 100 (modern)",
        unit="call",
        measure="seconds",
        goals=(Goal(5.0), Goal(2.0, FLOOR)),
        growth=None,
        curves=(Curve("fan_out", "subscribers", 1),),
        params={"prompts": 100},
        results={
            OURS: Result((1e-4, 3e-4, 2e-4)),
            SDK: Result((1e-3, 3e-3, 2e-3)),
            FLOOR: Result((1e-4, 1e-4, 1e-4)),
            "fastmcp": Result(refused="not supported: it cannot"),
            "typescript": Result(failed="ended | early"),
        },
        took=1.0,
    )
    second = attrs.evolve(
        first,
        name="whole",
        work="twice as much",
        unit="list",
        measure="bytes",
        goals=(),
        growth=Growth(2.3, "list_cold/modern"),
        curves=(),
        results={OURS: Result((2500.0,))},
    )
    question = QuestionResult("test", "A test", "What it costs.", (first, second))
    return Report({"python": "CPython 3.11"}, "quick", 3, 12.0, (question,))


def test_tables(report: Report) -> None:
    """Figures, ratios, goals, and why a cell is empty."""
    page = tables.page(report)
    assert (
        "| `prompts/list` of 100 (modern) | ≥ 5.0× mcp 2.3.0 | 10.0× | 10.0× to 10.0× | 2.00× | yes |" in page
    )
    assert "≥ 2.00× hand-written floor | 0.50×" in page
    assert "| **no** |" in page
    assert "| twice as much | ≤ 2.30× half of it |" in page
    assert "| 200 µs | 2 ms (10.0×) | not supported | failed | 100 µs (0.50×) |" in page
    assert "| twice as much, per list | 2.5 kB | – | – | – | – |" in page
    assert "- fastmcp 4.1.6: not supported: it cannot." in page
    assert "- TypeScript SDK 2.4.0: failed: ended | early." in page
    assert tables.brief(report.questions[0].rows[0]).startswith(
        "  1.0 s  `prompts/list` of 100 (modern): ours 200 µs"
    )


@pytest.mark.parametrize(
    ("amount", "measure", "text"),
    [
        (1.5e-9, "seconds", "1.5 ns"),
        (0.0, "seconds", "0 ns"),
        (2.5, "seconds", "2.5 s"),
        (123.4e-6, "seconds", "123 µs"),
        (56_789_000, "bytes", "56.8 MB"),
        (12, "bytes", "12 B"),
        (1234.5, "count", "1,234.5"),
    ],
)
def test_quantities(amount: float, measure: str, text: str) -> None:
    """Three digits that count, in a unit that suits them; counts are exact."""
    assert tables.quantity(amount, measure) == text


def test_results_are_kept(report: Report, tmp_path: Path) -> None:
    """What is read back is what was written."""
    report.save(tmp_path / "results.json")
    assert Report.load(tmp_path / "results.json") == report


def test_plots(report: Report, tmp_path: Path) -> None:
    """A plot for whatever has two points at least, and the figures in pyperf's form."""
    reason = "the extra bench is not installed"
    pytest.importorskip("matplotlib", reason=reason)
    pytest.importorskip("pyperf", reason=reason)
    from benchmarks import plots, suite  # noqa: PLC0415 - they are there now

    first = report.questions[0].rows[0]
    second = attrs.evolve(first, name="more", curves=(Curve("fan_out", "subscribers", 10),))
    question = attrs.evolve(report.questions[0], rows=(second, first))
    (file,) = plots.draw(attrs.evolve(report, questions=(question,)), tmp_path)
    assert file.name == "fan_out.png"
    assert file.read_bytes().startswith(b"\x89PNG")
    assert plots.points_of("fan_out", [second, first])[OURS] == [(1, 2e-4), (10, 2e-4)]
    assert plots.draw(report, tmp_path) == []
    suite.save(report, tmp_path / "pyperf.json")
    assert "list_cold/modern ours" in (tmp_path / "pyperf.json").read_text(encoding="utf-8")


def test_the_readme_gets_its_table(report: Report, tmp_path: Path) -> None:
    """The table goes where the marks are, and nowhere else."""
    readme = tmp_path / "README.md"
    text = headline.README.read_text(encoding="utf-8")
    readme.write_text(text, encoding="utf-8")
    headline.write(report, readme)
    written = readme.read_text(encoding="utf-8")
    assert "| `prompts/list` of 100 | 200 µs | 10.0× | – | – |" in written
    before, after = text.split("<!-- benchmarks:")[0], text.split("<!-- /benchmarks -->")[1]
    assert written.startswith(before)
    assert written.endswith(after)
    readme.write_text("nothing", encoding="utf-8")
    with pytest.raises(ValueError, match="no place"):
        headline.write(report, readme)
