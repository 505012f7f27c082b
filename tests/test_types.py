"""The values: immutable, comparable, filled by position, and described well enough for the codec."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from mcp_sansio import _types as types
from mcp_sansio._types import (
    Annotations,
    AudioContent,
    BlobResource,
    Completion,
    EmbeddedResource,
    GetPromptResult,
    Icon,
    ImageContent,
    Implementation,
    InputRequest,
    InputRequired,
    Prompt,
    PromptArgument,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResource,
)
from mcp_sansio._versions import ALL_VERSIONS

CLASSES: list[Any] = [value for value in vars(types).values() if isinstance(value, type) and attrs.has(value)]

FIELDS = {
    Annotations: "audience priority last_modified",
    Icon: "src mime_type sizes theme",
    Implementation: "name version title description website_url icons",
    TextContent: "text annotations meta",
    ImageContent: "data mime_type annotations meta",
    AudioContent: "data mime_type annotations meta",
    ResourceLink: "uri name title description mime_type size icons annotations meta",
    TextResource: "uri text mime_type meta",
    BlobResource: "uri blob mime_type meta",
    EmbeddedResource: "resource annotations meta",
    PromptMessage: "role content",
    PromptArgument: "name title description required",
    Prompt: "name title description arguments icons meta",
    GetPromptResult: "messages description meta extra",
    Completion: "values total has_more",
    InputRequest: "method params",
    InputRequired: "requests state",
}


def test_the_order_of_fields_is_part_of_the_interface() -> None:
    assert {cls: " ".join(field.name for field in attrs.fields(cls)) for cls in CLASSES} == FIELDS


@pytest.mark.parametrize("cls", CLASSES)
def test_values_are_frozen_and_compact(cls: Any) -> None:
    value = cls(*("x" for field in attrs.fields(cls)))
    name = attrs.fields(cls)[0].name
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(value, name, "y")
    assert not hasattr(value, "__dict__")
    assert value == cls(*("x" for field in attrs.fields(cls)))
    assert value != cls("y", *("x" for field in attrs.fields(cls)[1:]))


@pytest.mark.parametrize("cls", CLASSES)
def test_metadata_names_known_revisions_only(cls: Any) -> None:
    for field in attrs.fields(cls):
        assert set(field.metadata) <= {"since", "wire", "minimum", "maximum"}
        assert field.metadata.get("since", ALL_VERSIONS[0]) in ALL_VERSIONS


def test_content_blocks_carry_their_wire_type() -> None:
    blocks: list[Any] = [TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource]
    assert [block.type for block in blocks] == ["text", "image", "audio", "resource_link", "resource"]
    assert [block.since for block in blocks] == [
        "2024-11-05",
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2024-11-05",
    ]


def test_mappings_are_not_shared_between_values() -> None:
    assert GetPromptResult(()).extra is not GetPromptResult(()).extra
    assert InputRequired().requests is not InputRequired().requests
    assert InputRequest("m").params is not InputRequest("m").params


def test_optional_members_are_absent_unless_given() -> None:
    assert Prompt("p") == Prompt("p", None, None, (), (), None)
    assert GetPromptResult(()) == GetPromptResult((), None, None, {})


def test_a_prompt_without_meta_can_be_a_key() -> None:
    assert len({Prompt("p"), Prompt("p"), Prompt("q")}) == 2
