"""What a walk makes of pages: the whole list, how fresh and how private it is, and what was left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import DIGEST, LEGACY, MODERN, SILENT, Asking, names

from mcp_sansio import Diagnostic, Listed, ListingConfig, OpFailed, Prompt, PromptArgument, Updated

A, B = {"name": "a"}, {"name": "b"}


def walk(asking: Asking, *pages: list[Any], **members: Any) -> Any:
    """Have these pages listed; the event that ended the command."""
    op = asking.prompts.refresh(asking.now)
    for number, items in enumerate(pages):
        asking.page(items, None if items is pages[-1] else f"after {number}", **members)
    return asking.end(op)


# --- content ----------------------------------------------------------------------------------------


def test_the_pages_of_a_walk_are_one_list_in_their_order() -> None:
    snapshot = walk(Asking(), ["c", "a"], ["b"]).snapshot
    assert names(snapshot) == ["c", "a", "b"]
    assert len(snapshot) == 3
    assert snapshot.pages == 2
    assert snapshot.by_name["b"] == Prompt("b")
    assert snapshot.problems == ()


def test_a_list_cannot_be_changed_by_who_reads_it() -> None:
    snapshot = walk(Asking(), ["a"]).snapshot
    with pytest.raises(TypeError):
        snapshot.by_name["x"] = Prompt("x")


def test_a_page_without_prompts_does_not_end_a_walk() -> None:
    assert names(walk(Asking(), [], ["a"]).snapshot) == ["a"]


def test_of_an_empty_list_nothing_is_wrong() -> None:
    ended = walk(Asking(), [])
    assert isinstance(ended, Listed)
    assert len(ended.snapshot) == 0


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"title": "no name"}, "prompts[1] of page 1: "),
        ({"name": 5}, "$.name"),
        ({"name": "x", "arguments": "none"}, "$.arguments"),
        ("a string", "expected"),
        (None, "expected"),
    ],
)
def test_one_malformed_prompt_costs_that_prompt(bad: Any, reason: str) -> None:
    """The official SDK validates a page as a whole, so that one bad prompt costs the page."""
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.result(asking.one("prompts/list"), prompts=[A, bad, B])
    snapshot = asking.end(op).snapshot
    assert names(snapshot) == ["a", "b"]
    (problem,) = snapshot.problems
    assert problem.startswith("prompts[1] of page 1: ")
    assert reason.lower() in problem.lower()


def test_what_is_malformed_on_a_later_page_is_reported_with_that_page() -> None:
    snapshot = walk(Asking(), ["a"], ["b", {"name": None}]).snapshot
    assert [problem.split(":")[0] for problem in snapshot.problems] == ["prompts[1] of page 2"]


def test_the_first_of_two_prompts_with_one_name_wins_and_the_second_is_reported() -> None:
    snapshot = walk(
        Asking(), [{"name": "d", "title": "first"}], [{"name": "d", "title": "second"}, "e"]
    ).snapshot
    assert names(snapshot) == ["d", "e"]
    assert snapshot.by_name["d"].title == "first"
    assert snapshot.problems == ("prompts: a second 'd' is ignored",)


@pytest.mark.parametrize("prompts", [None, {}, "a", 5])
def test_a_result_without_an_array_of_prompts_is_no_page(prompts: Any) -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.result(asking.one("prompts/list"), prompts=prompts)
    ended = asking.end(op)
    assert isinstance(ended, OpFailed)
    assert "$.prompts" in ended.failure.failure.reason  # type: ignore[union-attr]  # a walk that failed


def test_a_cursor_that_is_no_string_is_an_error_and_no_end() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.page(["a"], nextCursor=5)
    ended = asking.end(op)
    assert isinstance(ended, OpFailed)
    assert "$.nextCursor" in ended.failure.failure.reason  # type: ignore[union-attr]  # a walk that failed
    assert asking.prompts.snapshot is None


# --- differences ------------------------------------------------------------------------------------


def updates(asking: Asking) -> list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    return [(update.added, update.removed, update.changed) for update in asking.every(Updated)]


def test_an_update_tells_what_was_added_removed_and_changed() -> None:
    asking = Asking()
    walk(asking, ["a", "b", {"name": "c", "title": "old"}])
    walk(asking, ["b", {"name": "c", "title": "new"}, "d"])
    assert updates(asking) == [(("a", "b", "c"), (), ()), (("d",), ("a",), ("c",))]


def test_a_change_below_the_name_is_a_change() -> None:
    asking = Asking()
    walk(asking, [{"name": "a", "arguments": [{"name": "x"}]}])
    walk(asking, [{"name": "a", "arguments": [{"name": "x", "required": True}]}])
    assert updates(asking)[-1] == ((), (), ("a",))
    snapshot = asking.prompts.snapshot
    assert snapshot is not None
    assert snapshot.by_name["a"].arguments == (PromptArgument("x", required=True),)


def test_the_same_content_in_other_bytes_and_pages_is_unchanged() -> None:
    asking = Asking()
    walk(asking, [{"name": "a", "title": "t"}, "b"])
    walk(asking, [{"title": "t", "name": "a"}], ["b"])
    last = asking.every(Updated)[-1]
    assert last.unchanged
    assert not asking.every(Updated)[0].unchanged


def test_what_is_known_by_its_bytes_is_the_same_object_in_the_next_list() -> None:
    asking = Asking()
    before = walk(asking, ["a", "b"], ["c"]).snapshot
    after = walk(asking, ["a", "x"], ["c"]).snapshot
    assert after.by_name["a"] is before.by_name["a"]
    assert after.by_name["c"] is before.by_name["c"]


def test_a_page_that_is_read_from_memory_has_its_own_receipt_and_its_problems_again() -> None:
    asking = Asking()
    first = walk(asking, ["a", {"name": 5}], ttlMs=1000).snapshot
    asking.wait(10.0)
    second = walk(asking, ["a", {"name": 5}], ttlMs=1000).snapshot
    assert second.problems == first.problems != ()
    assert (first.expires, second.expires) == (1.0, 11.0)
    assert (first.received, second.received) == (0.0, 10.0)


# --- freshness --------------------------------------------------------------------------------------


def fresh(asking: Asking, now: float) -> bool:
    """Whether a list command is answered from the cache at that time."""
    before = asking.pages()
    op = asking.prompts.list(now)
    (asked, ended) = asking.pages() - before, asking.ends(op)
    if not ended:
        asking.prompts.cancel(op, now)
    assert asked == (0 if ended else 1)
    return bool(ended) and ended[0].fresh


def test_a_list_is_stale_exactly_when_its_time_is_over() -> None:
    """The official SDK compares the same way."""
    asking = Asking()
    asking.listed(ttlMs=1500)
    assert fresh(asking, 1.4375)
    assert not fresh(asking, 1.5)


def test_each_page_has_its_own_clock_and_the_list_is_as_fresh_as_its_least_fresh_page() -> None:
    """The official SDK caches the first page alone, with the first page's time."""
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1", ttlMs=4000)
    asking.wait(1.0)
    asking.page(["b"], "2", ttlMs=2000)
    asking.wait(2.0)
    asking.page(["c"], ttlMs=60_000)
    ended = asking.end(op)
    assert ended.snapshot.expires == 3.0
    assert not ended.fresh  # it took longer than its second page lasts


@pytest.mark.parametrize("ttl", [-1, 0, -(2**70), 1.5, "300000", None, True, [], {"ms": 5}], ids=json.dumps)
def test_a_negative_or_nonsensical_time_is_none_at_all_and_costs_no_list(ttl: Any) -> None:
    """The official SDK takes a negative time for 0 as well."""
    asking = Asking()
    snapshot = asking.listed(["a"], ttlMs=ttl)
    assert names(snapshot) == ["a"]
    assert snapshot.expires == 0.0
    assert not fresh(asking, 0.0)
    told = [event.text for event in asking.every(Diagnostic)]
    assert told == ([] if ttl == 0 and type(ttl) is int else ["prompts/list: ttlMs is nonsense"])


def test_a_number_beyond_every_float_is_nonsense_too() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    wire_id = asking.one("prompts/list")["id"]
    asking.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"prompts":[],"ttlMs":1e400}}\n' % wire_id)
    assert asking.end(op).snapshot.expires == 0.0


@pytest.mark.parametrize("ttl", [9_007_199_254_740_993, 2**200])
def test_a_huge_time_is_a_year(ttl: int) -> None:
    asking = Asking()
    assert asking.listed(ttlMs=ttl).expires == 365 * 24 * 3600.0


def test_without_a_time_a_modern_list_is_stale_at_once() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.result(asking.one("prompts/list"), prompts=[A])
    assert not asking.end(op).fresh
    assert not fresh(asking, 0.0)


def test_without_a_time_a_legacy_list_is_fresh_while_changes_would_be_announced() -> None:
    asking = Asking(LEGACY, listing=ListingConfig(eager=False))
    asking.listed()
    assert fresh(asking, 1e9)
    asking.changed()
    assert not fresh(asking, 1e9)


def test_without_a_time_and_a_channel_a_legacy_list_is_fresh_for_the_configured_time() -> None:
    asking = Asking(LEGACY, declared=SILENT, listing=ListingConfig(heuristic=8.0))
    asking.listed()
    assert fresh(asking, 7.9375)
    assert not fresh(asking, 8.0)


def test_the_configured_time_is_a_minute_by_default() -> None:
    assert Asking(LEGACY, declared=SILENT).listed().expires == 60.0


@pytest.mark.parametrize("declared", [SILENT, {"prompts": {"listChanged": True}}])
def test_an_explicit_zero_is_stale_in_the_legacy_era_too(declared: dict[str, Any]) -> None:
    """The official SDK takes a legacy server's hints for absent."""
    asking = Asking(LEGACY, declared=declared)
    asking.listed(ttlMs=0)
    assert not fresh(asking, 0.0)


def test_expiry_alone_sends_nothing() -> None:
    asking = Asking()
    asking.listed(ttlMs=1000)
    pages = asking.pages()
    asking.wait(100_000.0)
    assert asking.sent() == []
    assert asking.pages() == pages
    assert asking.client.next_timeout() is None


def test_a_list_inside_its_time_is_stale_after_a_change_is_announced() -> None:
    asking = Asking(listing=ListingConfig(eager=False))
    asking.listed(ttlMs=300_000)
    asking.wait(1.0)
    asking.changed()
    assert not fresh(asking, 2.0)


# --- privacy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scopes", "private"),
    [
        (["public", "public"], False),
        (["private", "private"], True),
        (["public", "private"], True),
        (["private", "public"], True),
        (["public", "shared"], True),
        (["public", None], True),
        (["public", 5], True),
        ([None, None], True),
    ],
)
def test_a_list_is_private_if_any_page_is_or_says_nothing_known(scopes: list[Any], private: bool) -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1", cacheScope=scopes[0])
    asking.page(["b"], cacheScope=scopes[1])
    assert asking.end(op).snapshot.private is private


def test_without_a_scope_a_list_is_private() -> None:
    for version in (MODERN, LEGACY):
        asking = Asking(version)
        op = asking.prompts.list(0.0)
        asking.result(asking.one("prompts/list"), prompts=[A])
        assert asking.end(op).snapshot.private


# --- digests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("digests", "verified"),
    [
        (["d", "d"], True),
        (["d", "e"], False),
        (["d", None], False),
        ([None, "d"], False),
        ([5, 5], False),
        ([None, None], False),
    ],
)
def test_without_a_channel_only_one_digest_on_all_pages_verifies(digests: list[Any], verified: bool) -> None:
    """The official SDK has no walk, and nothing to say whether pages fit together."""
    asking = Asking(declared=SILENT)
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1", _meta={DIGEST: digests[0]})
    asking.page(["b"], _meta={DIGEST: digests[1]})
    assert asking.end(op).snapshot.verified is verified


@pytest.mark.parametrize(
    ("digests", "verified"),
    [(["d", "d"], True), (["d", "e"], False), (["d", None], True), ([None, None], True)],
)
def test_two_digests_say_what_a_slow_channel_has_not_said_yet(digests: list[Any], verified: bool) -> None:
    asking = Asking(listing=ListingConfig(eager=False))
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1", _meta={DIGEST: digests[0]})
    asking.page(["b"], _meta={DIGEST: digests[1]})
    assert asking.end(op).snapshot.verified is verified


def test_a_digest_verifies_a_walk_that_was_disturbed_but_it_is_stale() -> None:
    asking = Asking(listing=ListingConfig(eager=False))
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1", _meta={DIGEST: "d"})
    asking.changed()
    asking.page(["b"], _meta={DIGEST: "d"})
    ended = asking.end(op)
    assert ended.snapshot.verified
    assert not ended.fresh
