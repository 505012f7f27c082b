"""The properties of a client, C1 to C25, in that order."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_sansio.simulation._checking import Checker

from .apart import PrincipalsApart, ServersApart
from .believed import AnswersTold, HintsBelieved
from .calls import IdDiscipline, LateResponses, NoLeak, RoundTripsApart, UnknownPrompt
from .channel import AcknowledgedFirst, CapabilityGate, TeardownOnce
from .fresh import (
    CoverageStarts,
    FreshnessArithmetic,
    ReadYourNotifications,
    Reconnect,
    StaleOnlyOnError,
)
from .list import Convergence, MonotonicVersions, NoLateOverwrite, WholeOrFlagged
from .walk import CursorHygiene, Progress, RequestBound, TtlIsNoTimer

CLIENT_CHECKS: Sequence[type[Checker]] = (
    ReadYourNotifications,
    CoverageStarts,
    Convergence,
    NoLateOverwrite,
    Reconnect,
    MonotonicVersions,
    WholeOrFlagged,
    CursorHygiene,
    RequestBound,
    Progress,
    FreshnessArithmetic,
    TtlIsNoTimer,
    StaleOnlyOnError,
    ServersApart,
    PrincipalsApart,
    RoundTripsApart,
    TeardownOnce,
    IdDiscipline,
    LateResponses,
    CapabilityGate,
    AcknowledgedFirst,
    UnknownPrompt,
    NoLeak,
    HintsBelieved,
    AnswersTold,
)
