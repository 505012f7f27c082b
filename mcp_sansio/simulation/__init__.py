"""Deterministic simulation: clients and servers in worlds of virtual time, with faults, and what must hold.

A seed makes a world; the same seed makes the same trace, byte for byte. See `docs/simulation.md`.
"""

from mcp_sansio._reports import Report
from mcp_sansio._trace import Header, Trace, TraceEvent

from ._checking import Auditor, Checker, Level, Violated, recheck
from ._checks.properties import PROPERTIES
from ._client_node import ClientNode
from ._exhaustive.cuts import CANONICAL, Cut, CutReport, exhaust_cuts
from ._exhaustive.explore import Explored, Scope, explore
from ._faults import FAULTS, Fault, Swarm
from ._ledger import Ledger
from ._links import Link, Pipe
from ._node import Action, Dial, Hangup, Node, Write
from ._recordings.recorded import RecordedClient, RecordedServer
from ._recordings.reexecute import Difference, reexecute
from ._recordings.verdicts import Evidence, Verdict, both_ends, verdicts
from ._run import Outcome, campaign, replay, run, run_seed
from ._scenarios import OFFICE_HOUR, TORTURE, Scenario
from ._server_node import ServerNode
from ._shrink import Shrunk, shrink
from ._situations import Situation
from ._standard import SCENARIOS
from ._stories.mermaid import mermaid
from ._stories.outline import outline
from ._stories.page import page
from ._stories.regression import regression_test
from ._stories.story import Story, tell
from ._tape import Deviated, Draw, Lenient, Seeded, Strict, Tape
from ._workload import Workload
from ._world import Clock, Unsettled, World

__all__ = [
    "CANONICAL",
    "FAULTS",
    "OFFICE_HOUR",
    "PROPERTIES",
    "SCENARIOS",
    "TORTURE",
    "Action",
    "Auditor",
    "Checker",
    "ClientNode",
    "Clock",
    "Cut",
    "CutReport",
    "Deviated",
    "Dial",
    "Difference",
    "Draw",
    "Evidence",
    "Explored",
    "Fault",
    "Hangup",
    "Header",
    "Ledger",
    "Lenient",
    "Level",
    "Link",
    "Node",
    "Outcome",
    "Pipe",
    "RecordedClient",
    "RecordedServer",
    "Report",
    "Scenario",
    "Scope",
    "Seeded",
    "ServerNode",
    "Shrunk",
    "Situation",
    "Story",
    "Strict",
    "Swarm",
    "Tape",
    "Trace",
    "TraceEvent",
    "Unsettled",
    "Verdict",
    "Violated",
    "Workload",
    "World",
    "Write",
    "both_ends",
    "campaign",
    "exhaust_cuts",
    "explore",
    "mermaid",
    "outline",
    "page",
    "recheck",
    "reexecute",
    "regression_test",
    "replay",
    "run",
    "run_seed",
    "shrink",
    "tell",
    "verdicts",
]
