"""The same seed makes the same trace, whatever interpreter and hash seed; and the tape replays it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_sansio.simulation import TORTURE, replay, run_seed
from mcp_sansio.simulation._tape import Deviated

ROOT = Path(__file__).parent.parent
CHILD = """
from mcp_sansio.simulation import OFFICE_HOUR, TORTURE, run_seed
print(*[run_seed(TORTURE, seed).digest for seed in range(20)], run_seed(OFFICE_HOUR, 1).digest)
"""


def digests(hash_seed: int) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(hash_seed)}
    return subprocess.run(
        [sys.executable, "-c", CHILD], env=env, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def test_the_hash_seed_changes_nothing() -> None:
    assert digests(0) == digests(1)


@pytest.mark.parametrize("seed", range(10))
def test_a_tape_replays_its_run(seed: int) -> None:
    explored = run_seed(TORTURE, seed)
    assert replay(TORTURE, explored.record).digest == explored.digest
    assert replay(TORTURE, explored.record, strict=False).digest == explored.digest


def test_a_strict_replay_names_the_first_difference() -> None:
    record = list(run_seed(TORTURE, 3).record)
    record[5] = ("something else", 2, 0)
    with pytest.raises(Deviated, match="draw 6"):
        replay(TORTURE, record)
