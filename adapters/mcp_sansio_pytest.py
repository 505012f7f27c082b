"""The door for pytest, which looks in here in every project in whose environment this is installed.

So it is small, and imports what simulates only when a test is marked with `simulate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

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
    if not isinstance(obj, FunctionType) or not name.startswith("test"):
        return None
    marks: Sequence[pytest.Mark] = getattr(obj, "pytestmark", ())
    if all(mark.name != MARK for mark in marks):
        return None
    from mcp_sansio_adapters.pytest_simulation import simulations  # noqa: PLC0415  # for who simulates

    return simulations(collector, name, obj, marks)
