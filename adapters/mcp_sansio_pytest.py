"""The door for pytest, which looks in here in every project in whose environment this is installed.

So it is small, and imports what simulates only when a test is marked with `simulate`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

MARK = "simulate"


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(scenario=None, seeds=100, *, each=50, checks=PROPERTIES, seconds=20.0, faults=ALL): "
        "simulate a world for each seed; see mcp_sansio_adapters.pytest_simulation",
    )


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> Sequence[pytest.Item] | None:
    """Make tests of a function that is marked."""
    marks: object = getattr(obj, "pytestmark", None)
    if not isinstance(marks, list) or not any(getattr(mark, "name", "") == MARK for mark in marks):
        return None
    if not callable(obj) or isinstance(obj, type) or not name.startswith("test"):
        return None
    from mcp_sansio_adapters.pytest_simulation import simulations  # noqa: PLC0415  # for who simulates

    return simulations(collector, name, obj, marks)
