"""List results: pages whose items stay raw, and hints that never cost a list."""

from __future__ import annotations

import json

import pytest
from json_values import deep

from mcp_sansio._errors import InvalidMessage
from mcp_sansio._json import MAX_DEPTH
from mcp_sansio._structure import (
    MAX_TTL,
    Page,
    result_head,
    structure,
    structure_page,
)
from mcp_sansio._types import Prompt


def test_a_page_leaves_its_items_raw() -> None:
    raw = (
        b'{"prompts":[{"name":"p"}, {"name" : 5},7,[]],"nextCursor":"c","ttlMs":1500,"cacheScope":"public",'
        b'"_meta":{"mcp-sansio/snapshot":"abc","k":1},"resultType":"complete"}'
    )
    page = structure_page(raw, "prompts")
    assert page == Page(
        (b'{"name":"p"}', b'{"name" : 5}', b"7", b"[]"),
        "c",
        1.5,
        "public",
        "abc",
        {"mcp-sansio/snapshot": "abc", "k": 1},
    )
    assert all(type(item) is bytes for item in page.items)


def test_a_page_of_anything_else_is_read_by_its_key() -> None:
    assert structure_page(b'{"tools":[1],"prompts":[2]}', "tools").items == (b"1",)


def test_a_bare_page() -> None:
    assert structure_page(b'{"prompts":[]}', "prompts") == Page((), None, None, None, None, None)


@pytest.mark.parametrize(
    ("raw", "cursor"),
    [
        (b'{"prompts":[],"nextCursor":null}', None),
        (b'{"prompts":[],"nextCursor":""}', ""),
        (rb'{"prompts":[],"nextCursor":" a/b?c=d&e \u00e9\u2028"}', " a/b?c=d&e é\u2028"),
        (b'{"prompts":[],"nextCursor":"null"}', "null"),
    ],
)
def test_a_cursor_is_a_string_or_absent(raw: bytes, cursor: str | None) -> None:
    assert structure_page(raw, "prompts").next_cursor == cursor


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"prompts":[],"nextCursor":5}', "$.nextCursor"),
        (b'{"prompts":[],"nextCursor":false}', "$.nextCursor"),
        (b'{"prompts":{}}', "$.prompts"),
        (b'{"prompts":""}', "$.prompts"),
        (b'{"prompts":null}', "$.prompts"),
        (b'{"prompts":[],"_meta":[]}', "$._meta"),
        (b'{"prompts":[],"_meta":"x"}', "$._meta"),
        (b'{"items":[]}', "$"),
        (b"[]", "$"),
        (b'{"prompts":[}', "$"),
    ],
)
def test_what_is_no_page_is_refused(raw: bytes, path: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        structure_page(raw, "prompts")
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("given_ms", "seconds"),
    [
        (b"0", 0.0),
        (b"1", 0.001),
        (b"300000", 300.0),
        (b"-1", 0.0),
        (b"1.5", 0.0),
        (b"1000.0", 0.0),
        (b'"300000"', 0.0),
        (b"null", 0.0),
        (b"true", 0.0),
        (b"[]", 0.0),
        (b"1e400", 0.0),
        (b"9007199254740993", MAX_TTL),
        (b"1" + b"0" * 400, MAX_TTL),
        (b"31536000000", MAX_TTL),
        (b"31535999999", 31535999.999),
    ],
)
def test_a_freshness_hint_never_costs_the_list(given_ms: bytes, seconds: float) -> None:
    page = structure_page(b'{"prompts":[1],"ttlMs":%b}' % given_ms, "prompts")
    assert page.ttl == seconds
    assert type(page.ttl) is float
    assert page.items == (b"1",)
    assert page.nonsense == (() if given_ms.isdigit() else ("ttlMs",))


@pytest.mark.parametrize(
    ("given", "scope"),
    [
        (b'"public"', "public"),
        (rb'"\u0070ublic"', "public"),
        (b'"private"', "private"),
        (b'"Public"', "private"),
        (b'"shared"', "private"),
        (b"null", "private"),
        (b"5", "private"),
        (b"1e999", "private"),
    ],
)
def test_an_unknown_scope_is_private(given: bytes, scope: str) -> None:
    page = structure_page(b'{"prompts":[],"cacheScope":%b}' % given, "prompts")
    assert page.scope == scope
    assert page.nonsense == (() if json.loads(given) in ("public", "private") else ("cacheScope",))


def test_the_depth_of_a_page_is_limited_exactly_outside_its_items() -> None:
    for member in (b'"_meta":{"k":%b}', b'"unknown":{"k":%b}'):
        raw = b'{"prompts":[],%b}'
        structure_page(raw % (member % deep(MAX_DEPTH - 2)), "prompts")
        with pytest.raises(InvalidMessage, match="nested deeper than 128"):
            structure_page(raw % (member % deep(MAX_DEPTH - 1)), "prompts")


def test_the_depth_of_a_page_is_limited_in_the_fewest_bytes() -> None:
    raw = b'{"prompts":[],"_meta":{"k":%b}}'
    structure_page(raw % (b"[" * 126 + b"]" * 126), "prompts")
    with pytest.raises(InvalidMessage, match="nested deeper than 128"):
        structure_page(raw % (b"[" * 127 + b"]" * 127), "prompts")


def test_a_deep_item_and_a_wide_page_do_not_make_a_deep_page() -> None:
    wide = b",".join([b"{}"] * (MAX_DEPTH - 4))  # with the page's own, as many brackets as could be nested
    raw = b'{"prompts":[%b],"_meta":{"k":[%b]}}' % (deep(300), wide)
    assert structure_page(raw, "prompts").items == (deep(300),)


def test_many_and_roomy_items_do_not_make_a_page_deep() -> None:
    items = [b'{"name":"p%d","arguments":[{"name":"a"}]}' % i for i in range(1000)]
    for separator in (b",", b" ,\n      "):
        assert structure_page(b'{"prompts":[%b]}' % separator.join(items), "prompts").items == tuple(items)
    wide = b'{"prompts":[],"_meta":{"k":[%b]}}' % b",".join([b"{}"] * 500)
    assert structure_page(wide, "prompts").items == ()


def test_a_deep_item_is_found_when_it_is_read() -> None:
    page = structure_page(b'{"prompts":[{"name":"p","_meta":{"k":%b}}]}' % deep(MAX_DEPTH), "prompts")
    with pytest.raises(InvalidMessage, match="nested deeper"):
        structure(Prompt, page.items[0])


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"{}", "complete"),
        (b'{"resultType":"complete","a":1}', "complete"),
        (b'{"a":1,"resultType":"input_required"}', "input_required"),
        (b'{"resultType":"deferred"}', "deferred"),
        (b'{"resultType":""}', ""),
    ],
)
def test_the_type_of_a_result_is_complete_unless_it_says_otherwise(raw: bytes, kind: str) -> None:
    assert result_head(raw) == kind


@pytest.mark.parametrize("raw", [b'{"resultType":null}', b'{"resultType":5}', b'{"resultType":["complete"]}'])
def test_a_type_that_is_no_string_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidMessage) as refused:
        result_head(raw)
    assert refused.value.path == "$.resultType"
