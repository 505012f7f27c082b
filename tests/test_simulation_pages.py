"""Pages that are drawn are read as what stands in them."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from mcp_sansio._errors import InvalidMessage
from mcp_sansio._structure import Page, structure_page
from mcp_sansio.simulation._bytes_pages import judge_page

SEEDS = range(400)


def test_the_library_has_it() -> None:
    assert [problem for seed in SEEDS if (problem := judge_page(seed)) is not None] == []


def without_hints(raw: bytes, key: str) -> Page:
    return attrs.evolve(structure_page(raw, key), ttl=None)


def fussy(raw: bytes, key: str) -> Page:
    page = structure_page(raw, key)
    if page.nonsense:
        raise InvalidMessage("a hint is nonsense")
    return page


def lenient(raw: bytes, key: str) -> Page:
    try:
        return structure_page(raw, key)
    except InvalidMessage:
        return Page((), None, None, None, None, None)


@pytest.mark.parametrize(
    ("read", "text"),
    [(without_hints, "as another one"), (fussy, "is refused: a hint"), (lenient, "and it is none")],
)
def test_a_bug_is_found(read: Callable[[bytes, str], Page], text: str) -> None:
    found = [judge_page(seed, read) for seed in SEEDS]
    assert any(text in problem for problem in found if problem is not None)
