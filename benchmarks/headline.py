"""The table that the README shows, written there from the results: `python -m benchmarks readme`."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks import tables
from benchmarks.contestant import ROOT
from benchmarks.figures import Report, RowResult
from benchmarks.row import CONTESTANTS, FASTMCP, OURS, SDK, TYPESCRIPT

README = ROOT / "README.md"
MARK = re.compile(r"(<!-- benchmarks: .* -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)
ROWS = (
    "list_cold/modern",
    "list_changed/modern",
    "list_unchanged/modern",
    "get/modern",
    "cached_hit/1000",
    "server/list/modern",
    "churn/memory/50/1000/100/1/modern",
    "fan_out/50/modern",
    "http/list/http",
    "http/get/http",
    "sse/1000/http",
    "stdio_list/modern",
    "stdio_get/modern",
    "http_client_list",
    "session/modern",
    "listener/http",
    "import/core",
)
PEERS = (SDK, FASTMCP, TYPESCRIPT)


def write(report: Report, file: Path = README) -> None:
    """Put the table into the README. Raises `ValueError` if it has no place for it."""
    text = file.read_text(encoding="utf-8")
    if MARK.search(text) is None:
        raise ValueError(f"{file} has no place for the table")
    table = headline(report)
    file.write_text(MARK.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", text), encoding="utf-8")


def headline(report: Report) -> str:
    """What counts most: what this library spends, and how many times as much the peers do."""
    rows = {row.name: row for row in report.rows()}
    lines = tables.header("", CONTESTANTS[OURS], *(CONTESTANTS[name] for name in PEERS))
    lines += [line_of(rows[name]) for name in ROWS if name in rows and rows[name].results[OURS].values]
    return "\n".join(lines)


def line_of(row: RowResult) -> str:
    """One row."""
    work = row.work.replace("… ", "`prompts/list`, ").removesuffix(" (modern)")
    ratios = (row.ratio(name) for name in PEERS)
    cells = (tables.DASH if ratio is None else tables.times(ratio) for ratio in ratios)
    return tables.line(work, tables.quantity(row.results[OURS].median, row.measure), *cells)
