"""What there is: every checker, and where the standard scenarios are, by name.

A scenario is named by its place, a module and after a colon a name in it, since a process that takes a share of
a campaign, and a test that replays a failure, have to find it again. Those over HTTP are imported only when they
are asked for, for they need h11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._checking import Checker
from ._checks_announce import Announced, BoundedDelay, BoundedRate, OneBit
from ._checks_client import CLIENT_CHECKS
from ._checks_live import (
    BoundedStaleness,
    ConvergesInTime,
    EveryRequestEnds,
    IdleIsSilent,
    NoDeadlock,
    NoStorm,
    ProgressUnderChange,
)
from ._checks_pages import BoundState, GuardedState, Hinted, HonestPages, Stateless
from ._checks_server import AcknowledgedFirst, AnswerOnce, GracefulEnd, OnlyWhoAsked, SilentAfterCancel

SERVER_CHECKS: Sequence[type[Checker]] = (
    AcknowledgedFirst,
    Announced,
    BoundedDelay,
    BoundedRate,
    OnlyWhoAsked,
    HonestPages,
    Hinted,
    AnswerOnce,
    SilentAfterCancel,
    Stateless,
    GuardedState,
    BoundState,
    OneBit,
    GracefulEnd,
)

LIVE_CHECKS: Sequence[type[Checker]] = (
    EveryRequestEnds,
    ConvergesInTime,
    ProgressUnderChange,
    BoundedStaleness,
    NoStorm,
    NoDeadlock,
    IdleIsSilent,
)

CHECKS: Sequence[type[Checker]] = (*CLIENT_CHECKS, *SERVER_CHECKS, *LIVE_CHECKS)

SCENARIOS: Mapping[str, str] = {
    "torture": "mcp_sansio.simulation:TORTURE",
    "office-hour": "mcp_sansio.simulation:OFFICE_HOUR",
    "torture-http": "mcp_sansio.simulation._scenarios_http:TORTURE_HTTP",
    "office-hour-http": "mcp_sansio.simulation._scenarios_http:OFFICE_HOUR_HTTP",
}
