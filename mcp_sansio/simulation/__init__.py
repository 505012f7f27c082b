"""Deterministic simulation: clients and servers in worlds of virtual time, with faults, and what must hold.

A seed makes a world; the same seed makes the same trace, byte for byte. See `docs/simulation.md`.
"""

from ._properties import PROPERTIES
from ._run import campaign, replay, run, run_seed
from ._scenarios import OFFICE_HOUR, TORTURE

__all__ = ["OFFICE_HOUR", "PROPERTIES", "TORTURE", "campaign", "replay", "run", "run_seed"]
