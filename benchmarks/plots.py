"""The plots: how a cost grows with clients, prompts, edits, and the size of pages and of messages.

Each curve of a plot is one contestant. Both axes are logarithmic, so that a cost that grows in proportion is
a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.figures import Report, RowResult
from benchmarks.row import CONTESTANTS

TITLES = {
    "churn_clients": "Churn: 100 prompts, one edit, in memory",
    "churn_prompts": "Churn: one client, one edit, pages of 100, in memory",
    "churn_burst": "Churn: 50 clients, 100 prompts, in memory",
    "churn_pages": "Churn: one client, 1,000 prompts, one edit, in memory",
    "fan_out": "Fan-out in memory",
    "framing_line": "One line in chunks of 4 kB",
    "framing_event": "One event (SSE) in chunks of 4 kB",
}
Points = dict[str, list[tuple[float, float]]]


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw whatever has two points at least; the files, which are PNG."""
    files: list[Path] = []
    for plot, title in TITLES.items():
        rows = [row for row in report.rows() if any(curve.plot == plot for curve in row.curves)]
        if len(rows) > 1:
            file = folder / f"{plot}.png"
            figure_of(plot, title, rows).savefig(file, dpi=120)
            files.append(file)
    return files


def figure_of(plot: str, title: str, rows: list[RowResult]) -> Figure:
    """One plot."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, points in points_of(plot, rows).items():
        axes.plot(*zip(*points, strict=True), marker="o", label=CONTESTANTS[name])
    axes.set(xscale="log", yscale="log", title=title)
    axes.set_xlabel(next(curve.grows for curve in rows[0].curves if curve.plot == plot))
    axes.set_ylabel(f"CPU seconds per {rows[0].unit}")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    return figure


def points_of(plot: str, rows: list[RowResult]) -> Points:
    """The curve of each contestant that has one."""
    found: Points = {}
    for at, row in sorted(positions(plot, rows), key=lambda each: each[0]):
        for name, result in row.results.items():
            if result.values:
                found.setdefault(name, []).append((at, result.median))
    return found


def positions(plot: str, rows: list[RowResult]) -> Iterator[tuple[float, RowResult]]:
    """Where each row is on a plot."""
    for row in rows:
        for curve in row.curves:
            if curve.plot == plot:
                yield curve.at, row
