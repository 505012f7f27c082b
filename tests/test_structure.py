"""Attrs values and the wire: strict reading with paths, writing per revision."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import deep

from mcp_sansio import _types as types
from mcp_sansio._errors import Inexpressible, InvalidMessage, LocalProtocolError
from mcp_sansio._json import MAX_DEPTH, decode, encode
from mcp_sansio._structure import (
    SharingReader,
    encode_typed,
    result_head,
    split_extra,
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
from mcp_sansio._versions import (
    ALL_VERSIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)

NEWEST = ALL_VERSIONS[-1]


# --- reading -------------------------------------------------------------------------------------------


def test_a_prompt_with_everything_is_read() -> None:
    raw = (
        b'{"name":"p","title":"P","description":"d","arguments":[{"name":"a","title":"A","description":"x",'
        b'"required":false}],"icons":[{"src":"s","mimeType":"m","sizes":["48x48","any"],"theme":"dark"}],'
        b'"_meta":{"k":[1,{"l":null}]},"unknown":{"a":1}}'
    )
    assert structure(Prompt, raw) == Prompt(
        "p",
        "P",
        "d",
        (PromptArgument("a", "A", "x", required=False),),
        (Icon("s", "m", ("48x48", "any"), "dark"),),
        {"k": [1, {"l": None}]},
    )


def test_null_for_an_optional_member_is_absence() -> None:
    raw = b'{"name":"p","title":null,"description":null,"arguments":null,"icons":null,"_meta":null}'
    assert structure(Prompt, raw) == structure(Prompt, b'{"name":"p"}') == Prompt("p")


def test_an_untyped_value_is_read_alike() -> None:
    value = {"name": "p", "arguments": [{"name": "a"}], "other": 1}
    assert structure_value(Prompt, value) == structure(Prompt, encode(value))
    with pytest.raises(InvalidMessage) as refused:
        structure_value(Completion, None)
    assert (refused.value.reason, refused.value.path) == ("Expected `object`, got `null`", "$")
    with pytest.raises(InvalidMessage) as refused:
        structure_value(Completion, {"values": ["a", 5]})
    assert refused.value.path == "$.values[1]"


def test_members_without_a_field_are_kept_where_there_is_a_place_for_them() -> None:
    raw = b'{"messages":[],"resultType":"complete","_meta":{"a":1},"x-vendor":{"b":[2]},"ttlMs":5}'
    expected = GetPromptResult((), None, {"a": 1}, {"x-vendor": {"b": [2]}, "ttlMs": 5})
    assert structure(GetPromptResult, raw) == expected
    assert structure_value(GetPromptResult, decode(raw)) == expected
    assert split_extra(GetPromptResult, decode(raw)) == {"x-vendor": {"b": [2]}, "ttlMs": 5}
    assert split_extra(InputRequired, {"inputRequests": {}, "requestState": "", "a": 1}) == {"a": 1}


def test_what_a_server_asks_for_is_read() -> None:
    requests = b'{"__proto__":{"method":"m","params":{"a":1}},"b":{"method":"n"}}'
    raw = b'{"inputRequests":%b,"requestState":"s"}' % requests
    assert structure(InputRequired, raw) == InputRequired(
        {"__proto__": InputRequest("m", {"a": 1}), "b": InputRequest("n")}, "s"
    )
    assert structure(InputRequired, b'{"resultType":"input_required"}') == InputRequired()


@pytest.mark.parametrize(
    "raw", [b"", b"[", b'"', b'{"name":"p"} x', b'{"name":"\xff"}', rb'{"name":"\ud800"}']
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidMessage):
        structure(Prompt, raw)


def test_depth_is_limited_exactly() -> None:
    for member in (b'"_meta":{"k":%b}', b'"unknown":{"k":%b}'):
        structure(Prompt, b'{"name":"p",%b}' % (member % deep(MAX_DEPTH - 2)))
        with pytest.raises(InvalidMessage, match="nested deeper than 128"):
            structure(Prompt, b'{"name":"p",%b}' % (member % deep(MAX_DEPTH - 1)))
        with pytest.raises(InvalidMessage, match="nested"):
            structure(Prompt, b'{"name":"p",%b}' % (member % deep(100_000)))
    structure(GetPromptResult, b'{"messages":[],"extra":%b}' % deep(MAX_DEPTH - 1))
    with pytest.raises(InvalidMessage, match="nested deeper than 128"):
        structure(GetPromptResult, b'{"messages":[],"extra":%b}' % deep(MAX_DEPTH))


# --- writing -------------------------------------------------------------------------------------------


PROMPT = Prompt("p", "P", "d", (PromptArgument("a", "A", "x", required=True),), (Icon("s"),), {"k": 1})


def test_a_prompt_is_written_as_each_revision_knows_it() -> None:
    old_argument = {"name": "a", "description": "x", "required": True}
    argument = {"name": "a", "title": "A", "description": "x", "required": True}
    oldest = {"name": "p", "description": "d", "arguments": [old_argument]}
    titled = {"name": "p", "title": "P", "description": "d", "arguments": [argument], "_meta": {"k": 1}}
    full = {**titled, "icons": [{"src": "s"}]}
    expected = dict(zip(ALL_VERSIONS, [oldest, oldest, titled, full, full], strict=True))
    assert {version: unstructure(PROMPT, version) for version in ALL_VERSIONS} == expected
    assert {version: decode(encode_typed(PROMPT, version)) for version in ALL_VERSIONS} == expected


def test_an_implementation_is_written_as_each_revision_knows_it() -> None:
    full = Implementation("n", "1", "T", "d", "https://w", (Icon("s"),))
    oldest = {"name": "n", "version": "1"}
    titled = {**oldest, "title": "T"}
    newest = {**titled, "description": "d", "websiteUrl": "https://w", "icons": [{"src": "s"}]}
    expected = [oldest, oldest, titled, newest, newest]
    assert [unstructure(full, version) for version in ALL_VERSIONS] == expected


def test_annotations_and_meta_of_content_came_with_their_revision() -> None:
    block = TextContent("t", Annotations(("user",), 0.5, "2025-01-01"), {"k": 1})
    old = {"type": "text", "text": "t", "annotations": {"audience": ["user"], "priority": 0.5}}
    assert unstructure(block, V2025_03_26) == old
    assert unstructure(block, V2025_06_18) == {
        **old,
        "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-01"},
        "_meta": {"k": 1},
    }


CONTENT: list[tuple[Any, str]] = [
    (TextContent("t"), V2024_11_05),
    (ImageContent("ZA==", "image/png"), V2024_11_05),
    (EmbeddedResource(TextResource("file:///a%20b", "x")), V2024_11_05),
    (EmbeddedResource(BlobResource("u", "ZA==", "m")), V2024_11_05),
    (AudioContent("ZA==", "audio/wav"), V2025_03_26),
    (ResourceLink("u", "n", "T", "d", "m", 2**60, (Icon("i"),), Annotations(("assistant",))), V2025_06_18),
]


@pytest.mark.parametrize(("block", "since"), CONTENT)
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_content_round_trips_from_its_revision_on(block: Any, since: str, version: str) -> None:
    result = GetPromptResult((PromptMessage("user", block), PromptMessage("assistant", block)), "d")
    if version < since:
        for write in (unstructure, encode_typed):
            with pytest.raises(Inexpressible, match=version):
                write(result, version)
        return
    read = structure(GetPromptResult, encode_typed(result, version))
    if version >= V2025_11_25:
        assert read == result
    assert read.messages[0].content.type == block.type


def test_unnamed_members_are_written_beside_the_named() -> None:
    result = GetPromptResult((), "d", {"a": 1}, {"x-vendor": [1]})
    assert unstructure(result, V2024_11_05) == {
        "messages": [],
        "description": "d",
        "_meta": {"a": 1},
        "x-vendor": [1],
    }
    assert structure(GetPromptResult, encode_typed(result, NEWEST)) == result


def test_unnamed_members_are_a_mapping() -> None:
    with pytest.raises(LocalProtocolError, match="expected mapping, got list"):
        unstructure(GetPromptResult((), extra=[]), NEWEST)  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize("name", ["messages", "description", "_meta", "resultType"])
def test_unnamed_members_may_not_pose_as_named(name: str) -> None:
    with pytest.raises(LocalProtocolError, match=name):
        unstructure(GetPromptResult((), extra={name: "x"}), NEWEST)


def test_each_unnamed_member_that_poses_is_told() -> None:
    with pytest.raises(LocalProtocolError, match=r"^extra may not hold _meta, messages$"):
        unstructure(GetPromptResult((), extra={"_meta": 1, "x": 2, "messages": 3}), NEWEST)


def test_absent_members_are_omitted_and_given_ones_are_not() -> None:
    assert unstructure(Prompt("p"), NEWEST) == {"name": "p"}
    assert unstructure(Prompt("p", "", "", (), (), {}), NEWEST) == {
        "name": "p",
        "title": "",
        "description": "",
        "_meta": {},
    }
    assert unstructure(Completion((), 0, has_more=False), NEWEST) == {
        "values": [],
        "total": 0,
        "hasMore": False,
    }
    assert unstructure(Annotations((), 0.0), NEWEST) == {"audience": [], "priority": 0.0}


def test_any_mapping_serves_as_an_object_and_a_list_as_a_tuple() -> None:
    arguments: Any = [PromptArgument("a")]
    prompt = Prompt("p", arguments=arguments, meta=MappingProxyType({"k": MappingProxyType({})}))
    assert encode_typed(prompt, NEWEST) == b'{"name":"p","arguments":[{"name":"a"}],"_meta":{"k":{}}}'


loose: Any = types  # the fields below hold the wrong things on purpose


MISTAKES: list[Any] = [
    loose.Prompt(5),
    loose.Prompt(None),
    loose.Prompt(b"p"),
    pytest.param(loose.Prompt("\ud800"), id="a lone surrogate"),
    loose.Prompt("p", title=5),
    loose.Prompt("p", description=["d"]),
    loose.Prompt("p", arguments="ab"),
    loose.Prompt("p", arguments={}),
    loose.Prompt("p", arguments=5),
    loose.Prompt("p", arguments=("a",)),
    loose.Prompt("p", arguments=(loose.PromptArgument("a", required=1),)),
    loose.Prompt("p", icons=(loose.Icon("s", sizes="48x48"),)),
    loose.Prompt("p", icons=(loose.Icon("s", theme="blue"),)),
    loose.Prompt("p", meta=5),
    loose.Prompt("p", meta={1: 2}),
    loose.Prompt("p", meta={"k": {1: 2}}),
    loose.Prompt("p", meta={"k": float("nan")}),
    loose.Prompt("p", meta={"k": {1, 2}}),
    loose.Prompt("p", meta={"k": loose.Prompt("q")}),
    loose.PromptMessage("system", loose.TextContent("t")),
    loose.PromptMessage("user", "t"),
    loose.PromptMessage("user", (loose.TextContent("t"),)),
    loose.PromptMessage("user", loose.Prompt("p")),
    loose.PromptMessage("user", loose.EmbeddedResource(loose.TextContent("t"))),
    loose.TextContent("t", loose.Annotations(priority=1.5)),
    loose.TextContent("t", loose.Annotations(priority=-0.1)),
    loose.TextContent("t", loose.Annotations(priority=float("nan"))),
    loose.TextContent("t", loose.Annotations(audience=("system",))),
    loose.Completion("abc"),
    loose.Completion((), total=1.0),
    loose.Completion((), total=True),
    loose.GetPromptResult((), extra={"k": ...}),
    loose.GetPromptResult((), extra=5),
    loose.GetPromptResult(None),
    5,
    None,
    "text",
    {"name": "p"},
    Prompt,
]


@pytest.mark.parametrize("version", [V2024_11_05, V2025_11_25, V2026_07_28])
@pytest.mark.parametrize("value", MISTAKES, ids=repr)
def test_a_field_that_holds_something_else_is_refused_in_every_revision(value: Any, version: str) -> None:
    with pytest.raises(LocalProtocolError):
        encode_typed(value, version)


def test_a_refusal_names_the_class_and_what_is_wrong() -> None:
    with pytest.raises(LocalProtocolError, match=r"^expected an attrs value, got int$"):
        encode_typed(5, NEWEST)
    with pytest.raises(LocalProtocolError, match=r"^not a valid Prompt: .*\$\.title"):
        encode_typed(loose.Prompt("p", title=5), NEWEST)


def test_an_unknown_revision_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="unknown protocol version"):
        encode_typed(Prompt("p"), "2099-01-01")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MAYBE = st.none() | TEXT
OBJECT = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT), max_size=3)
ICON = st.builds(
    Icon, TEXT, MAYBE, st.lists(TEXT, max_size=2).map(tuple), st.sampled_from([None, "light", "dark"])
)


ARGUMENT = st.builds(PromptArgument, TEXT, MAYBE, MAYBE, st.none() | st.booleans())
PROMPTS = st.builds(
    Prompt,
    TEXT,
    MAYBE,
    MAYBE,
    st.lists(ARGUMENT, max_size=3).map(tuple),
    st.lists(ICON, max_size=2).map(tuple),
    st.none() | OBJECT,
)


def is_part(part: Any, whole: Any) -> bool:
    """Whether `part` is `whole` with nothing but members of objects left out."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(is_part, part, whole))
    return bool(part == whole)


@given(PROMPTS, st.sampled_from(ALL_VERSIONS))
def test_prompts_round_trip_and_older_revisions_only_lose_members(prompt: Prompt, version: str) -> None:
    raw = encode_typed(prompt, version)
    read = structure(Prompt, raw)
    assert encode_typed(read, version) == raw
    if version >= V2025_11_25:
        assert read == prompt
    assert is_part(decode(raw), decode(encode_typed(prompt, NEWEST)))


@given(OBJECT.map(encode) | st.binary(max_size=40), st.sampled_from([Prompt, GetPromptResult, InputRequired]))
def test_only_invalid_message_leaves_structure(raw: bytes, cls: Any) -> None:
    for read in (
        lambda: structure(cls, raw),
        lambda: structure_page(raw, "prompts"),
        lambda: result_head(raw),
    ):
        try:
            assert read() is not None
        except InvalidMessage as refused:
            assert refused.reason  # noqa: PT017  # either outcome is right, no other exception is


# --- many of a kind -----------------------------------------------------------------------------------

ALIKE = b'{"name": "language", "description": "of the answer", "unknown": 1}'


def test_items_that_are_alike_to_the_byte_are_one_object() -> None:
    read = SharingReader(Prompt, "arguments")
    raws = [b'{"name": "%d", "arguments": [%b, {"name": "%d"}]}' % (n, ALIKE, n) for n in range(2)]
    one, other = map(read, raws)
    assert [one, other] == [structure(Prompt, raw) for raw in raws]
    assert one.arguments[0] is other.arguments[0]
    assert one.arguments[1] is not other.arguments[1]


@pytest.mark.parametrize("member", ["", ', "arguments": null', ', "arguments": []'])
def test_items_that_are_not_there_are_none(member: str) -> None:
    raw = f'{{"name": "a"{member}}}'.encode()
    assert SharingReader(Prompt, "arguments")(raw) == structure(Prompt, raw) == Prompt("a")


@pytest.mark.parametrize(
    "raw",
    [
        b'{"name": "a", "arguments": {}}',
        b'{"name": "a", "arguments": [{"name": "b"}, {"name": 1}]}',
        b'{"name": 1, "arguments": [{"name": "b"}]}',
        b'{"name": "a", "arguments": [{"name": "b", "unknown": %b}]}' % (b"[" * 200 + b"]" * 200),
    ],
)
def test_who_shares_is_as_strict_and_says_the_same(raw: bytes) -> None:
    with pytest.raises(InvalidMessage) as expected:
        structure(Prompt, raw)
    with pytest.raises(InvalidMessage) as said:
        SharingReader(Prompt, "arguments")(raw)
    assert str(said.value) == str(expected.value)
