"""The properties of a client, C1 to C23, in that order."""

from __future__ import annotations

from collections.abc import Sequence

from ._checking import Checker
from ._checks_apart import PrincipalsApart, ServersApart
from ._checks_calls import IdDiscipline, LateResponses, NoLeak, RoundTripsApart, UnknownPrompt
from ._checks_channel import AcknowledgedFirst, CapabilityGate, TeardownOnce
from ._checks_fresh import (
    CoverageStarts,
    FreshnessArithmetic,
    ReadYourNotifications,
    Reconnect,
    StaleOnlyOnError,
)
from ._checks_list import Convergence, MonotonicVersions, NoLateOverwrite, WholeOrFlagged
from ._checks_walk import CursorHygiene, Progress, RequestBound, TtlIsNoTimer

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
)
