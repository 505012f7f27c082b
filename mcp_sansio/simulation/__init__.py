"""Deterministic simulation: clients and servers in worlds of virtual time, with faults, and what must hold.

A seed makes a world; the same seed makes the same trace, byte for byte. See `docs/simulation.md`.
"""

from ._client_node import ClientNode
from ._node import Dial, Hangup, Node, Report, Write
from ._properties import PROPERTIES
from ._recorded import RecordedClient, RecordedServer
from ._reexecute import Difference, reexecute
from ._run import campaign, replay, run, run_seed
from ._scenarios import OFFICE_HOUR, TORTURE, Scenario
from ._server_node import ServerNode
from ._trace import Trace
from ._verdicts import Evidence, Verdict, both_ends, verdicts
from ._workload import Workload
from ._world import World

__all__ = [
    "OFFICE_HOUR",
    "PROPERTIES",
    "TORTURE",
    "ClientNode",
    "Dial",
    "Difference",
    "Evidence",
    "Hangup",
    "Node",
    "RecordedClient",
    "RecordedServer",
    "Report",
    "Scenario",
    "ServerNode",
    "Trace",
    "Verdict",
    "Workload",
    "World",
    "Write",
    "both_ends",
    "campaign",
    "reexecute",
    "replay",
    "run",
    "run_seed",
    "verdicts",
]
