"""All properties, in the order of their ids: of clients, of servers, of what lives on."""

from __future__ import annotations

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

SERVER_CHECKS: tuple[type[Checker], ...] = (
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

LIVE_CHECKS: tuple[type[Checker], ...] = (
    EveryRequestEnds,
    ConvergesInTime,
    ProgressUnderChange,
    BoundedStaleness,
    NoStorm,
    NoDeadlock,
    IdleIsSilent,
)

PROPERTIES: tuple[type[Checker], ...] = (*CLIENT_CHECKS, *SERVER_CHECKS, *LIVE_CHECKS)
"""Every property of a conversation; those of bytes are in `_bytes`."""
