"""What an inspection has to tell: what the server is, what its list is like, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from mcp_sansio import Negotiated, Snapshot
from mcp_sansio._plain import member
from mcp_sansio._versions import era_of

from .conversation import Conversation, Entry
from .judges_prompts import walks
from .rule import Finding, judged
from .rules import RULES


@attrs.frozen
class Listed:
    """The list: how many prompts in how many pages, and whether it was the `same` when it was read again, if
    it was. The hints are those of the first page, as they were.
    """

    count: int
    pages: int
    same: bool | None
    ttl_ms: Any
    cache_scope: Any


@attrs.frozen
class Report:
    """What is known of a server; `agreed` is None if nothing was agreed on, `listed` if it has no list."""

    agreed: Negotiated | None
    version: str | None
    listed: Listed | None
    findings: tuple[Finding, ...]


def reported(
    agreed: Negotiated | None, snapshots: Sequence[Snapshot], talks: Sequence[Conversation]
) -> Report:
    """The report on what was said; the first conversation is the one in which the list was read."""
    listed = _listed(snapshots, talks[0]) if snapshots else None
    return Report(agreed, talks[0].version, listed, judged(RULES, talks))


def _listed(snapshots: Sequence[Snapshot], talk: Conversation) -> Listed:
    names = [tuple(prompt.name for prompt in each) for each in snapshots]
    first = next(walks(talk), [None])[0]
    result = {} if first is None else first.result
    return Listed(
        len(snapshots[0]),
        snapshots[0].pages,
        None if len(names) == 1 else all(each == names[0] for each in names),
        member(result, "ttlMs"),
        member(result, "cacheScope"),
    )


def version_of(entries: Sequence[Entry]) -> str | None:
    """The revision that was spoken when nobody agreed: what the server chose, or was last asked for."""
    talk = Conversation(entries, "stdio", None)
    for asked in reversed(talk.requests):
        for version in (
            member(asked.result, "protocolVersion"),
            asked.params.get("protocolVersion"),
            asked.version,
        ):
            if isinstance(version, str) and era_of(version) is not None:
                return version
    return None
