"""The official SDK's types as a second opinion: what we write they read, and what they write we read."""

from __future__ import annotations

from typing import Any

import mcp_types as sdk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types.methods import parse_server_result, serialize_server_result
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_sansio._errors import InvalidMessage
from mcp_sansio._json import decode, encode
from mcp_sansio._structure import (
    encode_typed,
    result_head,
    structure,
    structure_page,
    structure_value,
    unstructure,
)
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
from mcp_sansio._versions import ALL_VERSIONS, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28

NOTES = Annotations(("user", "assistant"), 0.25, "2025-01-01T00:00:00Z")
ICONS = (Icon("data:image/png;base64,ZA==", "image/png", ("48x48", "any"), "dark"), Icon("https://i"))
PROMPT = Prompt(
    "p", "P", "d", (PromptArgument("a", "A", "x", required=True), PromptArgument("b")), ICONS, {"v/k": [1]}
)
BLOCKS: list[Any] = [
    TextContent("t", NOTES, {"k": 1}),
    ImageContent("ZA==", "image/png", NOTES),
    AudioContent("ZA==", "audio/wav", NOTES),
    ResourceLink("file:///a", "n", "T", "d", "text/plain", 5, ICONS, NOTES, {"k": 1}),
    EmbeddedResource(TextResource("file:///a%20b", "x", "text/plain", {"k": 1}), NOTES, {"k": 2}),
    EmbeddedResource(BlobResource("file:///b", "ZA==", "image/png"), NOTES),
]


def dump(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def result(version: str, members: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
    """A whole result of `version` around `members`."""
    if version < V2026_07_28:
        return members
    hints = {"ttlMs": 1500, "cacheScope": "public"} if cacheable else {}
    return {**members, "resultType": "complete", **hints}


def test_both_know_the_same_revisions() -> None:
    assert set(KNOWN_PROTOCOL_VERSIONS) == set(ALL_VERSIONS)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_they_read_our_lists(version: str) -> None:
    ours = decode(encode_typed(PROMPT, version))
    theirs = parse_server_result(
        "prompts/list", version, result(version, {"prompts": [ours]}, cacheable=True)
    )
    assert dump(theirs)["prompts"] == [ours]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_we_read_their_lists(version: str) -> None:
    model = sdk.ListPromptsResult(
        prompts=[
            sdk.Prompt(
                name="p",
                title="P",
                arguments=[sdk.PromptArgument(name="a", required=False)],
                icons=[sdk.Icon(src="s", sizes=["any"])],
                _meta={"k": 1},
            ),
            sdk.Prompt(name="q", description="d"),
        ],
        next_cursor="c",
        ttl_ms=1500,
        cache_scope="public",
    )
    raw = encode(serialize_server_result("prompts/list", version, dump(model)))
    page = structure_page(raw, "prompts")
    first, second = (structure(Prompt, item) for item in page.items)
    assert first == Prompt(
        "p", "P", None, (PromptArgument("a", required=False),), (Icon("s", sizes=("any",)),), {"k": 1}
    )
    assert second == Prompt("q", description="d")
    modern = version == V2026_07_28
    assert (page.next_cursor, page.ttl, page.scope) == ("c", *((1.5, "public") if modern else (None, None)))
    assert result_head(raw) == "complete"


@pytest.mark.parametrize(
    ("block", "version"),
    [(block, version) for block in BLOCKS for version in ALL_VERSIONS if version >= block.since],
)
def test_they_read_our_rendered_prompts_and_we_read_them_back(block: Any, version: str) -> None:
    ours = GetPromptResult((PromptMessage("user", block), PromptMessage("assistant", block)), "d", {"k": 1})
    plain = decode(encode_typed(ours, version))
    theirs = dump(parse_server_result("prompts/get", version, result(version, plain)))
    assert theirs["messages"] == plain["messages"]
    assert theirs["description"] == "d"
    back = structure_value(GetPromptResult, serialize_server_result("prompts/get", version, theirs))
    if version >= V2025_11_25:
        assert back.messages == ours.messages
    assert unstructure(back, version)["messages"] == plain["messages"]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_completions_go_both_ways(version: str) -> None:
    ours = Completion(("a", "é"), 7, has_more=True)
    members = {"completion": decode(encode_typed(ours, version))}
    theirs = parse_server_result("completion/complete", version, result(version, members))
    assert dump(theirs)["completion"] == members["completion"]
    assert structure_value(Completion, dump(theirs)["completion"]) == ours


def test_we_read_what_they_ask_for() -> None:
    model = sdk.InputRequiredResult(
        input_requests={"r": sdk.ListRootsRequest(), "e": sdk.CreateMessageRequest(params=SAMPLING)},
        request_state="opaque \u2028==",
    )
    raw = encode(serialize_server_result("prompts/get", V2026_07_28, dump(model)))
    assert result_head(raw) == "input_required"
    read = structure(InputRequired, raw)
    assert read.state == "opaque \u2028=="
    assert read.requests["r"] == InputRequest("roots/list")
    assert read.requests["e"].method == "sampling/createMessage"
    assert read.requests["e"].params["maxTokens"] == 5


SAMPLING = sdk.CreateMessageRequestParams(
    messages=[sdk.SamplingMessage(role="user", content=sdk.TextContent(text="t"))], max_tokens=5
)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_implementations_go_both_ways(version: str) -> None:
    ours = Implementation("n", "1", "T", "d", "https://w", ICONS)
    plain = decode(encode_typed(ours, version))
    theirs = dump(sdk.Implementation.model_validate(plain, by_name=False))
    assert theirs == plain
    assert unstructure(structure_value(Implementation, theirs), version) == plain


REFUSED_BY_BOTH: list[dict[str, Any]] = [
    {},
    {"messages": None},
    {"messages": {}},
    {"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]},
    {"messages": [{"role": "user"}]},
    {"messages": [{"content": {"type": "text", "text": "x"}}]},
    {"messages": [{"role": "user", "content": "x"}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
    {"messages": [{"role": "user", "content": {"type": "text", "text": 5}}]},
    {"messages": [{"role": "user", "content": {"type": "video"}}]},
    {"messages": [{"role": "user", "content": {"type": "image", "data": "ZA=="}}]},
    {"messages": [{"role": "user", "content": {"type": "resource", "resource": {"uri": "u"}}}]},
    {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "x", "annotations": {"priority": 1.5}}},
        ]
    },
    {"messages": [], "description": 5},
    {"messages": [], "_meta": []},
]


@pytest.mark.parametrize("members", REFUSED_BY_BOTH, ids=repr)
def test_both_refuse_what_is_no_rendered_prompt(members: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage):
        structure_value(GetPromptResult, members)
    with pytest.raises(ValidationError):
        parse_server_result("prompts/get", V2026_07_28, result(V2026_07_28, members))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MAYBE = st.none() | TEXT
PROMPTS = st.builds(
    Prompt,
    TEXT,
    MAYBE,
    MAYBE,
    st.lists(st.builds(PromptArgument, TEXT, MAYBE, MAYBE, st.none() | st.booleans()), max_size=3).map(tuple),
    st.lists(st.builds(Icon, TEXT, MAYBE), max_size=2).map(tuple),
    st.none() | st.dictionaries(TEXT, st.booleans() | st.integers() | TEXT, max_size=3),
)


@settings(max_examples=50)
@given(PROMPTS, st.sampled_from(ALL_VERSIONS))
def test_any_prompt_survives_the_journey(prompt: Prompt, version: str) -> None:
    ours = decode(encode_typed(prompt, version))
    theirs = parse_server_result(
        "prompts/list", version, result(version, {"prompts": [ours]}, cacheable=True)
    )
    (back,) = dump(theirs)["prompts"]
    assert unstructure(structure_value(Prompt, back), version) == ours


def test_what_an_older_revision_lacks_is_not_written() -> None:
    assert "title" not in unstructure(PROMPT, V2025_03_26)
    assert "icons" not in unstructure(PROMPT, V2025_06_18)
