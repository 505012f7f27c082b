"""Walks: cursors, limits, servers that mean "done" in ways of their own, restarts and failures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import (
    LAZY,
    LEGACY,
    MODERN,
    Asking,
    both_eras,
    failure,
    names,
)

from mcp_sansio import (
    Diagnostic,
    InvalidReply,
    Listed,
    ListingConfig,
    RpcError,
    TimedOut,
    WalkFailed,
)

# --- the walk ---------------------------------------------------------------------------------------


@both_eras
@pytest.mark.parametrize(
    "cursor", ["eyJwIjoyfQ==", " lead", "a/b?c=d&e", "\u00e9\u2028", "A" * 8192, "null", "0", ""]
)
def test_a_cursor_is_opaque_and_sent_back_as_it_came(version: str, cursor: str) -> None:
    asking = Asking(version)
    op = asking.prompts.list(0.0)
    assert "cursor" not in asking.one("prompts/list").get("params", {})
    asking.page(["p1"], cursor)
    assert asking.one("prompts/list")["params"]["cursor"] == cursor
    asking.page(["p2"])
    assert names(asking.end(op).snapshot) == ["p1", "p2"]


@both_eras
def test_a_null_cursor_is_none(version: str) -> None:
    asking = Asking(version)
    op = asking.prompts.list(0.0)
    asking.page(["p1"], nextCursor=None)
    assert names(asking.end(op).snapshot) == ["p1"]


@both_eras
def test_only_one_page_is_asked_for_at_a_time(version: str) -> None:
    asking = Asking(version)
    asking.prompts.list(0.0)
    for number in range(5):
        asking.prompts.refresh(0.0)
        asking.prompts.list(0.0)
        asking.page([f"p{number}"], str(number))
        asking.one("prompts/list")


@pytest.mark.parametrize("cursors", ["x", "ab", "abc"])
@both_eras
def test_cursors_without_end_or_progress_end_the_walk(version: str, cursors: str) -> None:
    asking = Asking(version)
    op = asking.prompts.list(0.0)
    for number in range(4):
        asking.page(["p"], cursors[number % len(cursors)])
    assert failure(asking, op) == WalkFailed("no-progress", None, asking.end(op).failure.partial)
    assert [prompt.name for prompt in failure(asking, op).partial] == ["p"]
    assert asking.asked("prompts/list") == []
    assert asking.prompts.snapshot is None


def test_pages_that_add_nothing_are_counted_only_in_a_row() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    for items in ([], [], ["a"], [], ["a"], ["b"], [], []):
        asking.page(items, "c")
    asking.page([])
    assert names(asking.end(op).snapshot) == ["a", "b"]


@pytest.mark.parametrize(
    ("limit", "reason"),
    [({"max_pages": 3}, "pages"), ({"max_items": 5}, "items"), ({"max_bytes": 300}, "bytes")],
)
def test_each_limit_ends_the_walk_in_its_own_way_with_the_pages_so_far(
    limit: dict[str, Any], reason: str
) -> None:
    asking = Asking(listing=ListingConfig(**limit))
    op = asking.prompts.list(0.0)
    for page in range(3):
        assert asking.ends(op) == []
        asking.page([f"p{page}{number}" for number in range(2)], str(page))
    failed = failure(asking, op)
    assert (failed.reason, failed.failure) == (reason, None)
    assert [prompt.name for prompt in failed.partial] == ["p00", "p01", "p10", "p11", "p20", "p21"]


def test_a_list_of_just_as_many_pages_and_prompts_as_allowed_is_whole() -> None:
    asking = Asking(listing=ListingConfig(max_pages=2, max_items=4))
    op = asking.prompts.list(0.0)
    asking.page(["a", "b"], "1")
    asking.page(["c", "d"])
    assert len(asking.end(op).snapshot) == 4


def test_a_list_of_just_as_many_bytes_as_allowed_is_whole() -> None:
    result = {"resultType": "complete", "prompts": [{"name": "a"}]}
    size = len(json.dumps(result))
    for limit, whole in ((size, True), (size - 1, False)):
        asking = Asking(listing=ListingConfig(max_bytes=limit))
        op = asking.prompts.list(0.0)
        asking.reply(asking.one("prompts/list")["id"], result)
        assert isinstance(asking.end(op), Listed) is whole


@pytest.mark.parametrize("limit", [{"max_items": 2}, {"max_bytes": 50}])
def test_the_limits_hold_for_the_last_page_too(limit: dict[str, Any]) -> None:
    asking = Asking(listing=ListingConfig(**limit))
    op = asking.prompts.list(0.0)
    asking.page(["a", {"name": 5}, "c"])
    assert isinstance(failure(asking, op), WalkFailed)


# --- servers that mean "done" by an empty cursor ----------------------------------------------------


def test_legacy_an_empty_cursor_that_brings_the_same_page_again_means_done() -> None:
    asking = Asking(LEGACY)
    op = asking.prompts.list(0.0)
    for _ in range(2):
        asking.page(["p1", "p2"], "")
    snapshot = asking.end(op).snapshot
    assert names(snapshot) == ["p1", "p2"]
    assert (snapshot.pages, snapshot.problems) == (1, ())
    assert snapshot.verified


def test_legacy_so_does_one_that_brings_the_first_of_several_pages_again() -> None:
    asking = Asking(LEGACY)
    op = asking.prompts.list(0.0)
    asking.page(["p1"], "1")
    asking.page(["p2"], "")
    asking.page(["p1"], "1")
    assert names(asking.end(op).snapshot) == ["p1", "p2"]


def test_legacy_an_empty_list_can_be_done_so_too() -> None:
    asking = Asking(LEGACY)
    op = asking.prompts.list(0.0)
    asking.page([], "")
    asking.page([], "")
    assert names(asking.end(op).snapshot) == []


def test_modern_an_empty_cursor_is_a_cursor_and_the_same_page_is_no_progress() -> None:
    asking = Asking(MODERN)
    op = asking.prompts.list(0.0)
    for _ in range(4):
        asking.page(["p1"], "")
    assert failure(asking, op).reason == "no-progress"


def test_legacy_the_same_page_at_another_cursor_is_no_end() -> None:
    asking = Asking(LEGACY)
    op = asking.prompts.list(0.0)
    asking.page(["p1"], "x")
    asking.page(["p1"], "x")
    assert asking.ends(op) == []


# --- expired cursors --------------------------------------------------------------------------------


@both_eras
@pytest.mark.parametrize("code", [-32602, -32600, -32601, -32002, 0, 1])
def test_a_refused_cursor_drops_the_pages_and_begins_once_from_the_first(version: str, code: int) -> None:
    """The official SDK forgets its first page on -32602 and raises; going on is the caller's."""
    asking = Asking(version)
    op = asking.prompts.list(0.0)
    asking.page(["old"], "expired")
    asking.refuse(code)
    assert "cursor" not in asking.one("prompts/list").get("params", {})
    asking.page(["new 1"], "good")
    asking.page(["new 2"])
    ended = asking.end(op)
    assert names(ended.snapshot) == ["new 1", "new 2"]
    assert ended.snapshot.verified
    assert asking.walks() == 2


def test_a_cursor_that_is_refused_again_is_a_failure_of_its_own() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    for _ in range(2):
        asking.page(["p"], "expired")
        asking.refuse()
    failed = failure(asking, op)
    assert (failed.reason, failed.failure) == ("cursor", RpcError(-32602, "no"))
    assert [prompt.name for prompt in failed.partial] == ["p"]
    asking.wait(1000.0)
    assert asking.walks() == 2


def test_after_a_restart_an_error_to_the_first_page_is_an_error() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.page(["p"], "expired")
    asking.refuse()
    asking.refuse()
    assert failure(asking, op) == WalkFailed("error", RpcError(-32602, "no"), ())


@pytest.mark.parametrize("cursor", [None, "c"])
def test_an_internal_error_fails_the_walk(cursor: str | None) -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    if cursor:
        asking.page(["p"], cursor)
    asking.refuse(-32603)
    assert (failure(asking, op).reason, failure(asking, op).failure.code) == ("error", -32603)
    assert asking.walks() == 1


def test_a_restart_takes_everybody_with_it_and_is_newer_than_every_change_before_it() -> None:
    asking = Asking(listing=LAZY)
    first = asking.prompts.list(0.0)
    asking.page(["p"], "expired")
    asking.changed()
    second = asking.prompts.list(0.0)
    asking.refuse()
    asking.page(["q"])
    for op in (first, second):
        assert asking.end(op).fresh
        assert names(asking.end(op).snapshot) == ["q"]
    assert asking.walks() == 2


def test_a_restart_of_an_eager_walk_is_eager() -> None:
    asking = Asking()
    asking.changed()
    asking.page(["p"], "expired")
    asking.refuse()
    asking.page(["q"])
    assert names(asking.prompts.snapshot) == ["q"]


def test_a_restart_of_an_eager_walk_is_eager_and_covers_the_change_that_came_meanwhile() -> None:
    asking = Asking()
    asking.changed()
    asking.page(["p"], "expired")
    asking.changed()
    asking.wait(0.1)
    asking.refuse()
    asking.page(["q"])
    asking.wait(1000.0)
    assert names(asking.prompts.snapshot) == ["q"]
    assert asking.walks() == 2


# --- failed walks -----------------------------------------------------------------------------------


def test_a_failed_walk_keeps_the_last_list_and_hands_it_out_with_the_error() -> None:
    asking = Asking()
    snapshot = asking.listed(["a"], ttlMs=1000)
    asking.wait(1.0)
    op = asking.prompts.list(1.0)
    asking.refuse(-32603)
    ended = asking.end(op)
    assert ended.snapshot is snapshot is asking.prompts.snapshot
    assert not asking.prompts.listing.fresh(1.0)
    assert asking.end(asking.prompts.list(1.0, stale_ok=True)).snapshot is snapshot


def test_a_page_that_does_not_come_in_time_fails_the_walk() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1")
    asking.sent()
    asking.wait(60.0)
    assert failure(asking, op).failure == TimedOut("quiet", 60.0)


def test_a_page_that_may_not_be_fails_the_walk() -> None:
    for kind in ("input_required", "deferred", 5, None):
        asking = Asking()
        op = asking.prompts.list(0.0)
        asking.page(["a"], resultType=kind, requestState="s")
        assert isinstance(failure(asking, op).failure, InvalidReply)
        assert asking.prompts.snapshot is None


def test_a_failed_walk_is_not_repeated_for_those_who_have_been_told() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.refuse(-32603)
    asking.end(op)
    asking.wait(1000.0)
    assert asking.walks() == 1


def test_eager_a_failed_walk_is_reported_and_repeated_with_backoff_until_it_succeeds() -> None:
    asking = Asking()
    asking.listed(["a"])
    asking.changed()
    starts = []
    for _ in range(4):
        asking.refuse(-32603)
        while not asking.asked("prompts/list"):
            asking.wait(0.125)
        starts.append(asking.now)
    assert starts == [0.25, 0.75, 1.75, 3.75]
    texts = [event.text for event in asking.every(Diagnostic) if event.kind == "walk-failed"]
    assert len(texts) == 4
    assert all("-32603" in text for text in texts)
    assert names(asking.prompts.snapshot) == ["a"]
    asking.page(["b"])
    asking.changed()
    asking.wait(0.1)
    asking.refuse(-32603)
    asking.wait(0.25)  # the backoff begins anew
    asking.one("prompts/list")


def test_eager_a_failed_walk_that_somebody_waits_for_tells_him() -> None:
    asking = Asking()
    asking.changed()
    op = asking.prompts.list(0.0)
    asking.refuse(-32603)
    assert failure(asking, op).failure == RpcError(-32603, "no")
    assert asking.every(Diagnostic) == []


def test_a_limit_that_ends_an_eager_walk_is_reported_by_its_name() -> None:
    asking = Asking(listing=ListingConfig(max_pages=1))
    asking.changed()
    asking.page(["a"], "1")
    (event,) = asking.every(Diagnostic)
    assert event == Diagnostic("walk-failed", "prompts/list: pages")


def test_a_walk_that_somebody_asks_for_takes_the_place_of_the_repetition() -> None:
    asking = Asking()
    asking.changed()
    asking.refuse(-32603)
    op = asking.prompts.list(0.125)
    asking.page(["a"])
    asking.end(op)
    asking.wait(1000.0)
    assert asking.walks() == 2


def test_a_repetition_whose_place_was_taken_by_a_walk_that_fails_is_not_forgotten() -> None:
    asking = Asking()
    asking.changed()
    asking.refuse(-32603)
    op = asking.prompts.list(0.125)
    asking.refuse(-32603)
    asking.end(op)
    asking.wait(1000.0)
    asking.page(["a"])
    assert names(asking.prompts.snapshot) == ["a"]
