"""The memory of a walk: what it recognizes is what reading it anew would give; nothing else is recognized."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_sansio import Prompt
from mcp_sansio._memory import Memory, PageRead
from mcp_sansio._prompt_client import PROMPTS
from mcp_sansio._structure import result_head, structure_page

FRAME = b'{"_meta":{"a":[1]},"prompts":[%b],"resultType":"complete","ttlMs":5,"nextCursor":"%b"}'


def item(name: str, **members: Any) -> bytes:
    """A definition."""
    return json.dumps({"name": name, **members}).encode()


def page(*items: bytes, cursor: bytes = b"c") -> bytes:
    """A result."""
    return FRAME % (b",".join(items), cursor)


def remembering(*pages: bytes) -> Memory:
    """A memory of a walk."""
    memory = Memory(PROMPTS)
    memory.keep(tuple(memory.read(index, raw) for index, raw in enumerate(pages)))
    return memory


def content(read: PageRead) -> tuple[Any, ...]:
    """What a walk uses of a page."""
    return read.page, read.values, [*read.named.items()], read.problems


def anew(raw: bytes, index: int = 0) -> tuple[Any, ...]:
    """What reading a page gives that nobody knows."""
    return content(Memory(PROMPTS).read(index, raw))


A, B, C, D = (item(name, description=f"{name}, that is") for name in "abcd")
OLD = page(A, B, C)


@pytest.mark.parametrize(
    "raw",
    [
        OLD,
        page(A, B, C, cursor=b"another"),
        page(A, D, C),
        page(D, B, C),
        page(A, B, D),
        page(A, C),
        page(B, C),
        page(A, B),
        page(C),
        page(D),
        page(A, B, C, D),
        page(D, A, B, C),
        page(A, D, B, C),
        page(C, B, A),
        page(A, A, B, C),
        page(A, B, C, C),
        page(A, b" " + D + b" ", C),
        page(D, D, D, D, D, D),
        page(A, item("b", arguments=[{"name": "x"}]), C),
        page(A, b'{"name":5}', C),
    ],
)
def test_a_page_that_differs_in_some_items_is_recognized(raw: bytes) -> None:
    memory = remembering(OLD)
    assert memory.recognizes(0, raw)
    assert content(memory.read(0, raw)) == anew(raw)


@pytest.mark.parametrize(
    "raw",
    [
        page(),
        page(A, b"", C),
        page(A, B, b"", C),
        page(A, B, C, b""),
        page(b"", A, B, C),
        page(A, D + b"]", C),
        page(A, B, C + b"]" + D),
        page(A, B, C + b"],5"),
        page(A, B, C + b"]", D),
        page(A, b"", b"", C),
        page(A, b"\xff", C),
        page(A, b'{"name":"b","x":"\xff"}', C),
        page(A, D, C, cursor=b'","resultType":"input_required'),
        page(A, D, C, cursor=b'","prompts":[],"x":"'),
        page(A, D, C, cursor=b'","prompts":[{"name":"q"}],"x":"'),
        page(A, D, C, cursor=b'","x":"\xff'),
        page(A, D, C, cursor=b'","nextCursor":5,"x":"'),
        page(A, D, C, cursor=b'","resultType":5,"x":"'),
        page(A, D, C)[:-1],
        page(A, D, C) + b"}",
        page(A, D, C).replace(b"prompts", b"tools"),
        page(A, D, C).replace(b'"_meta":{"a":[1]},', b""),
        b"",
        b"{}",
    ],
)
def test_a_page_that_differs_otherwise_is_not(raw: bytes) -> None:
    assert not remembering(OLD).recognizes(0, raw)


@pytest.mark.parametrize(
    "old",
    [
        page(),
        FRAME % (A + b", " + B + b"," + C, b"c"),
        page(A, b"5", C),
        b'{"prompts":[%b,%b,%b],"resultType":"complete","x":{"prompts":[1]}}' % (A, B, C),
    ],
)
def test_only_what_could_be_read_and_found_again_is_compared_with(old: bytes) -> None:
    memory = remembering(old)
    assert memory.recognizes(0, old)
    assert content(memory.read(0, old)) == anew(old)
    changed = page(A, D, C)
    assert not memory.recognizes(0, changed)
    assert content(memory.read(0, changed)) == anew(changed)


def test_a_page_that_was_recognized_with_a_malformed_item_is_not_compared_with() -> None:
    memory = remembering(OLD)
    spoilt = page(A, b'{"name":1}', C)
    assert memory.recognizes(0, spoilt)
    memory.keep((memory.read(0, spoilt),))
    assert not memory.recognizes(0, page(A, b'{"name":1}', D))
    assert content(memory.read(0, page(A, D, C))) == anew(page(A, D, C))


@pytest.mark.parametrize("kind", [b'"input_required"', b"5"])
def test_a_result_that_is_not_complete_is_never_recognized(kind: bytes) -> None:
    for raw in (page(A, B).replace(b'"complete"', kind), page().replace(b'"complete"', kind)):
        assert not remembering(raw).recognizes(0, raw)


def test_a_look_alike_of_the_list_is_not_taken_for_it() -> None:
    frame = b'{"_meta":{"prompts":[%b,%b]},"prompts":[%b,%b],"resultType":"complete"}'
    memory = remembering(frame % (A, B, A, B))
    raw = frame % (A, C, A, B)
    assert not memory.recognizes(0, raw)
    assert content(memory.read(0, raw)) == anew(raw)


def test_pages_are_compared_with_those_in_their_place() -> None:
    memory = remembering(page(A), page(B))
    assert memory.recognizes(1, page(B))
    assert not memory.recognizes(2, page(B))
    assert memory.read(2, page(B)).named.keys() == {"b"}


def test_what_was_recognized_is_read_only_where_it_is_the_same() -> None:
    memory = remembering(OLD)
    assert memory.recognizes(0, page(A))
    assert memory.read(0, page(B)).named.keys() == {"b"}


def test_what_is_known_is_not_structured_again() -> None:
    memory = remembering(OLD)
    before = memory.read(0, OLD).values
    for raw in (page(A, D, C), page(C, B, A), page(A, D, C, b"5")):
        memory.recognizes(0, raw)
        values = memory.read(0, raw).values
        assert {prompt.name: prompt for prompt in values}["a"] is before[0]
        assert Prompt("d") not in values


def test_problems_are_numbered_as_they_stand() -> None:
    memory = remembering(page(A, B, C), page(A, B, C))
    raw = page(A, b'{"name":5}', C)
    assert memory.recognizes(1, raw)
    (problem,) = memory.read(1, raw).problems
    assert problem.startswith("prompts[1] of page 2: ")


def test_nesting_is_limited_as_anywhere() -> None:
    deep = b'{"a":' * 200 + b"1" + b"}" * 200
    memory = remembering(OLD)
    assert not memory.recognizes(0, page(A, D, C, cursor=b'","x":%b,"y":"' % deep))
    raw = page(A, b'{"name":"d","x":%b}' % deep, C)
    memory.recognizes(0, raw)
    assert content(memory.read(0, raw)) == anew(raw)


ITEMS = st.lists(st.sampled_from([A, B, C, D, b'{"name":"e"}', b"[]", b"7", b'"],"']), max_size=6)


@given(ITEMS, ITEMS, st.sampled_from([b"c", b"d", b"longer"]))
def test_whatever_is_recognized_is_read_as_if_nobody_knew_it(
    old: list[bytes], new: list[bytes], cursor: bytes
) -> None:
    memory = remembering(page(*old))
    raw = page(*new, cursor=cursor)
    memory.recognizes(0, raw)
    assert content(memory.read(0, raw)) == anew(raw)


SIGNS = [bytes([byte]) for byte in b'{}[],:"\\ 0a']
PIECES = st.sampled_from([*SIGNS, A, B, b'"prompts":', b'"resultType":"x"'])


@given(st.integers(0, len(OLD)), st.integers(0, 60), st.lists(PIECES, max_size=4))
@example(OLD.index(B), len(B) + 1, [])
@example(OLD.index(B), 0, [b","])
@example(OLD.index(B) - 1, 0, [b","])
def test_nothing_is_recognized_that_is_not_well_formed(at: int, cut: int, pieces: list[bytes]) -> None:
    raw = OLD[:at] + b"".join(pieces) + OLD[at + cut :]
    memory = remembering(OLD)
    if memory.recognizes(0, raw):
        json.loads(raw)
        assert result_head(raw) == "complete"
        assert content(memory.read(0, raw))[0] == structure_page(raw, "prompts")
        assert content(memory.read(0, raw)) == anew(raw)
