"""Revisions: their order, their eras, and what each can express."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from mcp_sansio._errors import LocalProtocolError
from mcp_sansio._structure import unstructure
from mcp_sansio._types import Icon, Prompt, PromptArgument
from mcp_sansio._versions import (
    ALL_VERSIONS,
    FEATURES,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    Era,
    Feature,
    at_least,
    era_of,
    supports,
    wire_shape,
)


def test_the_revisions_are_those_published_oldest_first() -> None:
    assert ALL_VERSIONS == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
    assert LEGACY_VERSIONS + MODERN_VERSIONS == ALL_VERSIONS


def test_the_era_of_a_revision() -> None:
    assert [era.value for era in Era] == ["legacy", "modern"]
    assert [era_of(version) for version in ALL_VERSIONS] == [Era.LEGACY] * 4 + [Era.MODERN]


@pytest.mark.parametrize("name", ["", "2099-01-01", "2025-6-18", "DRAFT-2026-v1", "2025-11-25 "])
def test_a_name_that_is_no_revision_has_no_era_and_no_features(name: str) -> None:
    assert era_of(name) is None
    with pytest.raises(LocalProtocolError, match="unknown protocol version"):
        at_least(name, V2024_11_05)
    with pytest.raises(LocalProtocolError, match="unknown protocol version"):
        at_least(V2024_11_05, name)
    with pytest.raises(LocalProtocolError):
        supports(name, "title")
    with pytest.raises(LocalProtocolError):
        wire_shape(name)


def test_order_is_position() -> None:
    for i, version in enumerate(ALL_VERSIONS):
        assert [at_least(version, other) for other in ALL_VERSIONS] == [
            i >= j for j in range(len(ALL_VERSIONS))
        ]


@pytest.mark.parametrize(
    ("feature", "since"),
    [
        ("audio", V2025_03_26),
        ("completions_capability", V2025_03_26),
        ("progress_message", V2025_03_26),
        ("title", V2025_06_18),
        ("meta_on_prompts", V2025_06_18),
        ("resource_link", V2025_06_18),
        ("completion_context", V2025_06_18),
        ("icons", V2025_11_25),
        ("error_id_omitted", V2025_11_25),
        ("result_type", V2026_07_28),
        ("cache_hints", V2026_07_28),
        ("input_required", V2026_07_28),
    ],
)
def test_a_feature_came_with_a_revision_and_stayed(feature: Feature, since: str) -> None:
    assert [supports(version, feature) for version in ALL_VERSIONS] == [v >= since for v in ALL_VERSIONS]


def test_batches_came_and_went() -> None:
    assert [version for version in ALL_VERSIONS if supports(version, "batching")] == [V2025_03_26]


def test_every_feature_has_its_row() -> None:
    assert set(FEATURES) == set(get_args(Feature))


def test_a_wire_shape_is_the_oldest_revision_that_encodes_prompts_alike() -> None:
    assert {version: wire_shape(version) for version in ALL_VERSIONS} == {
        V2024_11_05: V2024_11_05,
        V2025_03_26: V2024_11_05,
        V2025_06_18: V2025_06_18,
        V2025_11_25: V2025_11_25,
        V2026_07_28: V2025_11_25,
    }


def test_revisions_of_one_wire_shape_encode_a_full_prompt_alike_and_others_do_not() -> None:
    full = Prompt("p", "P", "d", (PromptArgument("a", "A", "x", required=True),), (Icon("i"),), {"k": 1})
    forms: dict[str, list[Any]] = {}
    for version in ALL_VERSIONS:
        forms.setdefault(wire_shape(version), []).append(unstructure(full, version))
    assert all(form == alike[0] for alike in forms.values() for form in alike)
    distinct = [alike[0] for alike in forms.values()]
    assert all(one != other for i, one in enumerate(distinct) for other in distinct[:i])
