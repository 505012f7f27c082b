"""Situations: the standard loads reach them."""

from __future__ import annotations

from collections import Counter

import pytest

from mcp_sansio.simulation._run import campaign
from mcp_sansio.simulation._scenarios import TORTURE
from mcp_sansio.simulation._situations import Situation


@pytest.mark.slow
def test_torture_reaches_every_situation() -> None:
    seen: Counter[str] = Counter()
    for outcome in campaign(TORTURE, range(1500)):
        seen += outcome.situations
    assert [situation.value for situation in Situation if not seen[situation]] == []
