"""All properties, in the order of their ids: of clients, of servers, of what lives on."""

from __future__ import annotations

from mcp_sansio.simulation._checking import Checker

from .announce import Announced, AtOnce, BoundedDelay, BoundedRate, OneBit
from .client import CLIENT_CHECKS
from .live import (
    BoundedStaleness,
    ConvergesInTime,
    EveryRequestEnds,
    IdleIsSilent,
    NoDeadlock,
    NoStorm,
    ProgressUnderChange,
)
from .pages import BoundState, GuardedState, Hinted, HonestPages, Stateless
from .server import AcknowledgedFirst, AnswerOnce, GracefulEnd, OnlyWhoAsked, SilentAfterCancel

SERVER_CHECKS: tuple[type[Checker], ...] = (
    AcknowledgedFirst,
    Announced,
    BoundedDelay,
    AtOnce,
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
