"""The figures in pyperf's own form, so that its tools can be used on them.

`python -m pyperf stats results.pyperf.json` says how far figures spread, `python -m pyperf compare_to`
whether two runs differ. The rounds are this benchmark's own: in pyperf, contestants do not take turns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyperf

from benchmarks.figures import Report


def save(report: Report, file: Path) -> None:
    """Write all CPU times of a report."""
    benchmarks: list[Any] = []
    for row in report.rows():
        for name, result in row.results.items():
            if result.values and row.measure == "seconds" and min(result.values) > 0:
                metadata = {"name": f"{row.name} {name}", "unit": "second", "description": row.work}
                run = pyperf.Run(result.values, metadata=metadata, collect_metadata=False)
                benchmarks.append(pyperf.Benchmark([run]))
    if benchmarks:
        pyperf.BenchmarkSuite(benchmarks).dump(str(file), replace=True)
