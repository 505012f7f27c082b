"""The published protocol revisions and what each of them can express.

Revisions are dates, but nothing here compares them as strings: their order is their position in
`ALL_VERSIONS`. Two eras divide them. The *legacy* era negotiates a session by `initialize`; the *modern*
era is stateless, and every request carries its own version. What came or went between revisions stands
in one table, `FEATURES`; fields that came with a revision say so in their own metadata (`_types`).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from ._errors import LocalProtocolError

V2024_11_05: Final = "2024-11-05"
V2025_03_26: Final = "2025-03-26"
V2025_06_18: Final = "2025-06-18"
V2025_11_25: Final = "2025-11-25"
V2026_07_28: Final = "2026-07-28"

LEGACY_VERSIONS: Final[tuple[str, ...]] = (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25)
"""The revisions with an `initialize` handshake, oldest first."""
MODERN_VERSIONS: Final[tuple[str, ...]] = (V2026_07_28,)
"""The revisions in which every request stands for itself, oldest first."""
ALL_VERSIONS: Final[tuple[str, ...]] = LEGACY_VERSIONS + MODERN_VERSIONS
"""Every known revision, oldest first."""

_POSITIONS = {version: position for position, version in enumerate(ALL_VERSIONS)}


class Era(enum.Enum):
    """The two ways in which client and server agree on a revision."""

    if not TYPE_CHECKING:  # pragma: no branch
        __hash__ = object.__hash__  # that of `Enum` is a call

    LEGACY = "legacy"
    MODERN = "modern"


Feature = Literal[
    "audio",
    "batching",
    "completions_capability",
    "progress_message",
    "title",
    "meta_on_prompts",
    "resource_link",
    "completion_context",
    "icons",
    "error_id_omitted",
    "result_type",
    "cache_hints",
    "input_required",
]

FEATURES: Final[Mapping[Feature, tuple[str, str]]] = {
    "audio": (V2025_03_26, V2026_07_28),
    "batching": (V2025_03_26, V2025_03_26),
    "completions_capability": (V2025_03_26, V2026_07_28),
    "progress_message": (V2025_03_26, V2026_07_28),
    "title": (V2025_06_18, V2026_07_28),
    "meta_on_prompts": (V2025_06_18, V2026_07_28),
    "resource_link": (V2025_06_18, V2026_07_28),
    "completion_context": (V2025_06_18, V2026_07_28),
    "icons": (V2025_11_25, V2026_07_28),
    "error_id_omitted": (V2025_11_25, V2026_07_28),
    "result_type": (V2026_07_28, V2026_07_28),
    "cache_hints": (V2026_07_28, V2026_07_28),
    "input_required": (V2026_07_28, V2026_07_28),
}
"""The first and the last revision that has each feature."""

_PROMPT_FEATURES: tuple[Feature, ...] = ("title", "meta_on_prompts", "icons")
_PROMPT_SHAPES = {V2024_11_05} | {FEATURES[feature][0] for feature in _PROMPT_FEATURES}


def era_of(version: str) -> Era | None:
    """The era that `version` belongs to; None if no published revision has that name."""
    if version in LEGACY_VERSIONS:
        return Era.LEGACY
    return Era.MODERN if version in MODERN_VERSIONS else None


@functools.cache
def newest_first(versions: tuple[str, ...], era: Era) -> tuple[str, ...]:
    """Those of `versions` that belong to one era, the newest first."""
    return tuple(v for v in reversed(ALL_VERSIONS) if v in versions and era_of(v) is era)


def at_least(version: str, other: str) -> bool:
    """Whether `version` is `other` or a later revision. Raises `LocalProtocolError` for unknown names."""
    try:
        return _POSITIONS[version] >= _POSITIONS[other]
    except KeyError as unknown:
        raise LocalProtocolError(f"unknown protocol version {unknown.args[0]!r}") from None


@functools.cache
def supports(version: str, feature: Feature) -> bool:
    """Whether `feature` exists in `version`. Raises `LocalProtocolError` for an unknown version."""
    first, last = FEATURES[feature]
    return at_least(version, first) and at_least(last, version)


@functools.cache
def wire_shape(version: str) -> str:
    """The oldest revision that encodes a prompt in a list exactly as `version` does.

    Encoded prompts can be shared by all revisions of one shape. Raises `LocalProtocolError` for an
    unknown version.
    """
    return max((shape for shape in _PROMPT_SHAPES if at_least(version, shape)), key=ALL_VERSIONS.index)
