"""The catalogue: paging by name, whatever changes between two pages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from catalogues import Watched
from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio._catalogue import Catalogue, CatalogueSnapshot
from mcp_sansio._entry import Entry
from mcp_sansio._types import Prompt


def names_of(page: Iterable[Entry]) -> list[str]:
    return [entry.prompt.name for entry in page]


def test_pages_start_after_a_name_that_need_not_exist() -> None:
    snapshot = Watched("b", "d", "f").catalogue.snapshot
    for after, expected in [(None, "bdf"), ("", "bdf"), ("a", "bdf"), ("b", "df"), ("c", "df"), ("f", "")]:
        assert names_of(snapshot.page_after(after, 9)[0]) == list(expected)


def test_more_is_said_only_if_more_is_there() -> None:
    snapshot = Watched("a", "b", "c").catalogue.snapshot
    assert [snapshot.page_after(None, size)[1] for size in (1, 2, 3, 4)] == [True, True, False, False]
    allowed = {"a", "b"}
    assert snapshot.page_after(None, 2, lambda prompt: prompt.name in allowed)[1] is False


def test_what_a_principal_may_not_see_is_not_there() -> None:
    def visible(principal: str | None, prompt: Prompt) -> bool:
        return principal is not None and prompt.name.startswith(principal)

    catalogue = Catalogue(visible=visible)
    catalogue.replace(Entry(Prompt(name)) for name in ("ann/1", "bob/1", "ann/2", "bob/2", "bob/3"))
    assert catalogue.visible is visible
    snapshot = catalogue.snapshot
    page, more = snapshot.page_after(None, 2, partial(visible, "bob"))
    assert (names_of(page), more) == (["bob/1", "bob/2"], True)
    page, more = snapshot.page_after("bob/2", 2, partial(visible, "bob"))
    assert (names_of(page), more) == (["bob/3"], False)
    assert snapshot.page_after(None, 2, partial(visible, None)) == ((), False)


def test_a_page_asks_only_for_prompts_up_to_the_one_that_proves_more() -> None:
    asked: list[str] = []

    def allowed(prompt: Prompt) -> bool:
        asked.append(prompt.name)
        return prompt.name != "b"

    snapshot = Watched(*"abcdef").catalogue.snapshot
    assert names_of(snapshot.page_after(None, 2, allowed)[0]) == ["a", "c"]
    assert asked == ["a", "b", "c", "d"]


NAME = st.sampled_from([a + b for a in "aBé\U0001f389" for b in ("", "1", "2")])


NO_EDITS: list[tuple[bool, str]] = []


EDITS = st.lists(st.tuples(st.booleans(), NAME), max_size=5)


@given(st.sets(NAME), st.lists(EDITS), st.integers(1, 4), st.sets(NAME))
def test_whatever_changes_between_pages_nothing_that_stays_is_skipped_and_nothing_is_repeated(
    start: set[str], edits: list[list[tuple[bool, str]]], size: int, hidden: set[str]
) -> None:
    catalogue = Catalogue()
    catalogue.replace(Entry(Prompt(name)) for name in start)
    always, ever = set(start), set(start)
    walked: list[str] = []
    waiting = iter(edits)
    more = True
    while more:
        after = walked[-1] if walked else None
        page, more = catalogue.snapshot.page_after(after, size, lambda prompt: prompt.name not in hidden)
        assert len(page) == size or not more
        walked += names_of(page)
        for put, name in next(waiting, NO_EDITS) if more else NO_EDITS:
            if put:
                catalogue.put(Prompt(name))
                ever.add(name)
            elif name in catalogue.snapshot.entries:
                catalogue.remove(name)
                always.discard(name)
    assert walked == sorted(set(walked))
    assert always - hidden <= set(walked) <= ever - hidden


@given(st.sets(NAME), st.integers(1, 4))
def test_a_walk_over_one_snapshot_gives_all_of_it_in_order(names: set[str], size: int) -> None:
    snapshot: CatalogueSnapshot = Watched(*names).catalogue.snapshot
    walked: list[str] = []
    more = True
    while more:
        page, more = snapshot.page_after(walked[-1] if walked else None, size)
        assert page or not walked  # no page is promised in vain
        walked += names_of(page)
    assert walked == list(snapshot.names) == sorted(names)
