"""The tables, in Markdown: one for each question, and one that says which goals have been reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.figures import QuestionResult, Report, Result, RowResult
from benchmarks.row import CONTESTANTS, OURS, Goal

DASH = "–"


def page(report: Report) -> str:
    """The whole report."""
    machine = ", ".join(report.machine.values())
    how = f"medians of {report.rounds} rounds, contestants taking turns; CPU time"
    parts = [
        "# Benchmarks",
        f"Mode: {report.mode}; {how}. {machine}.",
        goals(report),
        *(table(question) for question in report.questions),
    ]
    return "\n\n".join(parts) + "\n"


def goals(report: Report) -> str:
    """What was to be reached, and what was."""
    rows = {row.name: row for row in report.rows()}
    head = header("work", "goal", "reached", "quartiles", "above the floor", "")
    lines = [goal_line(row, goal) for row in rows.values() for goal in row.goals]
    grown = [
        growth_line(row, rows[row.growth.half], row.growth.times)
        for row in rows.values()
        if row.growth is not None and row.growth.half in rows
    ]
    return "\n".join(["## Goals", "", *head, *lines, *grown])


def goal_line(row: RowResult, goal: Goal) -> str:
    """One goal: so many times less than a peer."""
    wanted = f"≥ {times(goal.times)} {CONTESTANTS[goal.over]}"
    ratio = row.ratio(goal.over)
    if ratio is None:
        results = [row.results.get(name) for name in (OURS, goal.over)]
        missing = next((result for result in results if result is None or not result.values), None)
        return line(row.work, wanted, DASH, DASH, distance(row), why(missing))
    low, high = row.ratio_spread(goal.over)
    mark = "yes" if ratio >= goal.times else "**no**"
    return line(row.work, wanted, times(ratio), f"{times(low)} to {times(high)}", distance(row), mark)


def growth_line(row: RowResult, half: RowResult, most: float) -> str:
    """One goal: at most so many times what half of it costs."""
    wanted = f"≤ {times(most)} half of it"
    whole, part = row.results[OURS], half.results[OURS]
    if not whole.values or not part.values:
        return line(row.work, wanted, DASH, DASH, distance(row), why(whole))
    ratio = whole.median / part.median
    mark = "yes" if ratio <= most else "**no**"
    return line(row.work, wanted, times(ratio), DASH, distance(row), mark)


def table(question: QuestionResult) -> str:
    """One question: what everybody spent, and how that compares with this library."""
    names = [name for name in CONTESTANTS if any(name in row.results for row in question.rows)]
    head = header("work", *(CONTESTANTS[name] for name in names))
    lines = [f"## {question.title}", "", question.text, "", *head]
    for row in question.rows:
        cells = (cell(row, name) for name in names)
        lines.append(line(f"{row.work}, per {row.unit}", *cells))
    return "\n".join(lines + notes(question.rows))


def cell(row: RowResult, name: str) -> str:
    """What a contestant spent, and how many times as much that is."""
    result = row.results.get(name)
    if result is None:
        return DASH
    if not result.values:
        return "failed" if result.failed is not None else (result.refused or DASH).partition(":")[0]
    ratio = row.ratio(name)
    amount = quantity(result.median, row.measure)
    return amount if name == OURS or ratio is None else f"{amount} ({times(ratio)})"


def brief(row: RowResult) -> str:
    """A row on a line, while the others are being measured."""
    cells = ", ".join(f"{name} {cell(row, name)}" for name in row.results)
    return f"{row.took:5.1f} s  {row.work}: {cells}"


def notes(rows: Sequence[RowResult]) -> list[str]:
    """Why cells are empty."""
    reasons = {
        f"- {CONTESTANTS[name]}: {why(result)}."
        for row in rows
        for name, result in row.results.items()
        if not result.values
    }
    return ["", *sorted(reasons)] if reasons else []


def why(result: Result | None) -> str:
    """Why there is nothing to be said."""
    if result is None:
        return "did not take part"
    return f"failed: {result.failed}" if result.failed is not None else result.refused or "measured"


def distance(row: RowResult) -> str:
    """How far above the floor this library is."""
    found = row.distance
    return DASH if found is None else times(found)


def header(*cells: str) -> list[str]:
    """The head of a table; figures stand to the right."""
    return [line(*cells), "|".join(["", "---", *["--:"] * (len(cells) - 1), ""])]


def line(*cells: str) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def times(ratio: float) -> str:
    """A ratio, as precise as is sensible."""
    return f"{ratio:,.0f}×" if ratio >= 20 else f"{ratio:.1f}×" if ratio >= 3 else f"{ratio:.2f}×"


def quantity(amount: float, measure: str) -> str:
    """Seconds or bytes, in a unit that suits them; other numbers as they are."""
    if measure == "count":
        return f"{amount:,g}"
    if measure == "bytes":
        return scaled(amount, ((1e6, "MB"), (1e3, "kB"), (1.0, "B")))
    return scaled(amount, ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")))


def scaled(amount: float, units: Iterable[tuple[float, str]]) -> str:
    """A number with three digits that count, in the first unit of which there is one at least."""
    known = [*units]
    size, unit = next((each for each in known if amount >= each[0]), known[-1])
    number = amount / size
    return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
