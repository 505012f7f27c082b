"""The cached list: epochs, walks, who waits for which, and what a storm, a gap or an error does to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import CHANGED, DECLARED, DIGEST, LEGACY, MODERN, SILENT, TAG, Asking, names

from mcp_sansio import (
    Cancelled,
    Closed,
    Diagnostic,
    Invalidated,
    InvalidReply,
    Listed,
    ListingConfig,
    LocalProtocolError,
    Lost,
    NotSupported,
    Op,
    OpFailed,
    RpcError,
    TimedOut,
    Updated,
    WalkFailed,
)

LAZY = ListingConfig(eager=False)
both_eras = pytest.mark.parametrize("version", [MODERN, LEGACY])


def failure(asking: Asking, op: Op) -> Any:
    """Why a list command failed."""
    ended = asking.end(op)
    assert isinstance(ended, OpFailed)
    return ended.failure


# --- commands ---------------------------------------------------------------------------------------


@both_eras
def test_a_fresh_list_is_answered_from_the_cache_at_once(version: str) -> None:
    asking = Asking(version)
    snapshot = asking.listed(["a"])
    pages = asking.pages()
    ended = asking.end(asking.prompts.list(1.0))
    assert ended.snapshot is snapshot
    assert ended.fresh
    assert asking.pages() == pages


def test_a_stale_list_is_not_handed_out_unless_the_caller_says_so() -> None:
    asking = Asking()
    snapshot = asking.listed(["a"], ttlMs=1000)
    op = asking.prompts.list(1.0)
    assert asking.ends(op) == []
    stale = asking.end(asking.prompts.list(1.0, stale_ok=True))
    assert stale.snapshot is snapshot
    assert not stale.fresh
    asking.page(["b"])
    assert names(asking.end(op).snapshot) == ["b"]


def test_stale_is_good_enough_only_where_there_is_any() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0, stale_ok=True)
    assert asking.ends(op) == []
    asking.page(["a"])
    assert names(asking.end(op).snapshot) == ["a"]


def test_a_refresh_asks_whatever_the_cache_holds() -> None:
    asking = Asking()
    asking.listed(["a"])
    op = asking.prompts.refresh(1.0)
    assert [event.reason for event in asking.every(Invalidated)] == ["refresh"]
    asking.page(["b"])
    assert names(asking.end(op).snapshot) == ["b"]


def test_a_backward_clock_makes_nothing_fresh_again() -> None:
    asking = Asking()
    asking.listed(["a"], ttlMs=1000)
    asking.wait(2.0)
    asking.client.handle_timeout(2.0)
    op = asking.prompts.list(0.5)
    assert asking.ends(op) == []
    asking.one("prompts/list")


def test_nothing_can_be_asked_after_the_end() -> None:
    asking = Asking()
    asking.client.close(0.0)
    for command in (asking.prompts.list, asking.prompts.refresh):
        with pytest.raises(LocalProtocolError, match="closed"):
            command(0.0)


@pytest.mark.parametrize("limit", [8.0, None])
def test_who_waits_too_long_for_a_list_is_told(limit: float | None) -> None:
    asking = Asking(connect=False, listing=ListingConfig(wait=limit), probe_timeout=1e9)
    op = asking.prompts.list(0.0)
    asking.wait(7.9375)
    assert asking.ends(op) == []
    asking.wait(0.0625)
    assert [end.failure for end in asking.ends(op)] == ([] if limit is None else [TimedOut("total", 8.0)])


def test_a_walk_that_everybody_has_waited_too_long_for_is_given_up() -> None:
    asking = Asking(listing=ListingConfig(wait=8.0))
    asking.prompts.list(0.0)
    asking.one("prompts/list")
    asking.wait(8.0)
    assert asking.asked("prompts/list") == []
    assert asking.client.next_timeout() is None


def test_closing_ends_who_waits() -> None:
    asking = Asking()
    joined = asking.prompts.list(0.0)
    asking.sent()
    queued = asking.prompts.refresh(0.0)
    asking.client.close(0.0, "bye")
    assert [failure(asking, op) for op in (joined, queued)] == [Closed("bye"), Closed("bye")]
    assert asking.client.next_timeout() is None


def test_a_configured_time_must_be_one() -> None:
    wrongs: list[Any] = [{"quiet": -1.0}, {"max_wait": float("nan")}, {"wait": -0.5}, {"heuristic": -1.0}]
    for wrong in wrongs:
        with pytest.raises(LocalProtocolError):
            ListingConfig(**wrong)


# --- the gate ---------------------------------------------------------------------------------------


@both_eras
@pytest.mark.parametrize("declared", [{}, {"tools": {}}, {"prompts": None}])
def test_prompts_are_never_asked_of_a_server_that_did_not_declare_them(
    version: str, declared: dict[str, Any]
) -> None:
    asking = Asking(version, declared=declared)
    asking.sent()
    for op in (asking.prompts.list(0.0), asking.prompts.refresh(0.0)):
        assert failure(asking, op) == NotSupported("prompts")
    assert asking.sent() == []


@both_eras
def test_who_asked_before_that_was_known_is_told_then(version: str) -> None:
    asking = Asking(version, connect=False)
    op = asking.prompts.list(0.0)
    asking.open({"tools": {}})
    assert failure(asking, op) == NotSupported("prompts")
    assert asking.pages() == 0


def test_another_connection_is_asked_for_what_it_declares_itself() -> None:
    asking = Asking()
    snapshot = asking.listed(["a"])
    asking.cut()
    op = asking.prompts.list(0.0)
    asking.again({"tools": {}})
    ended = asking.end(op)
    assert ended.failure == NotSupported("prompts")
    assert ended.snapshot is snapshot
    assert asking.walks() == 1
    asking.cut()
    asking.again(DECLARED)
    assert asking.walks() == 2


# --- listen first, then list ------------------------------------------------------------------------


def test_the_channel_is_acknowledged_before_the_first_walk() -> None:
    asking = Asking(connect=False)
    op = asking.prompts.list(0.0)
    asking.open(acknowledge=False)
    assert [message["method"] for message in asking.log] == ["server/discover", "subscriptions/listen"]
    asking.acknowledge()
    asking.page(["a"])
    ended = asking.end(op)
    assert ended.snapshot.verified
    assert ended.fresh
    assert asking.walks() == 1


def test_connecting_alone_lists_nothing() -> None:
    asking = Asking()
    asking.wait(1000.0)
    assert asking.pages() == 0


def test_a_server_without_a_channel_is_walked_at_once() -> None:
    for version in (MODERN, LEGACY):
        asking = Asking(version, declared=SILENT)
        assert not asking.listed(["a"]).verified


def test_a_channel_that_does_not_cover_prompts_ends_and_time_alone_tells_what_is_fresh() -> None:
    asking = Asking(acknowledge=False)
    op = asking.prompts.list(0.0)
    asking.acknowledge(toolsListChanged=True)
    asking.page(["a"], ttlMs=2000)
    assert not asking.end(op).snapshot.verified
    assert asking.asked("subscriptions/listen") == []
    asking.wait(100.0)
    assert asking.asked("subscriptions/listen") == []
    asking.prompts.list(100.0)
    asking.one("prompts/list")


def test_without_an_acknowledgement_in_time_the_list_is_walked_and_a_late_one_invalidates() -> None:
    asking = Asking(acknowledge=False)
    op = asking.prompts.list(0.0)
    asking.wait(9.9375)
    assert asking.pages() == 0
    asking.wait(0.0625)
    asking.page(["a"])
    assert not asking.end(op).snapshot.verified
    asking.acknowledge()
    assert asking.every(Invalidated)[-1].reason == "notification channel opened"
    asking.page(["b"])
    snapshot = asking.prompts.snapshot
    assert names(snapshot) == ["b"]
    assert snapshot is not None
    assert snapshot.verified


def test_a_server_that_has_no_listen_is_walked_and_not_asked_again() -> None:
    asking = Asking(acknowledge=False)
    op = asking.prompts.list(0.0)
    asking.refuse(-32601, "subscriptions/listen")
    asking.page(["a"])
    assert not asking.end(op).snapshot.verified
    asking.wait(1000.0)
    assert asking.asked("subscriptions/listen") == []


# --- epochs -----------------------------------------------------------------------------------------


def test_every_invalidation_raises_the_epoch_and_is_told_once() -> None:
    asking = Asking(listing=LAZY)
    asking.listed(["a"])
    epochs = [asking.prompts.listing.epoch]
    for _ in range(3):
        asking.changed()
        epochs.append(asking.prompts.listing.epoch)
    assert epochs == [0, 1, 2, 3]
    assert asking.every(Invalidated) == [Invalidated("prompts", 1, "list_changed")]


@both_eras
def test_a_lost_and_a_new_connection_invalidate(version: str) -> None:
    """The official SDK keeps serving its cache until its time is over, whatever was lost meanwhile."""
    asking = Asking(version, listing=LAZY)
    asking.listed(["a"])
    asking.cut()
    assert asking.prompts.listing.epoch == 1
    assert not asking.prompts.listing.fresh(0.0)
    asking.again()
    assert asking.prompts.listing.epoch == 2
    assert asking.every(Invalidated) == [Invalidated("prompts", 1, "disconnected")]
    stale = asking.end(asking.prompts.list(0.0, stale_ok=True))
    assert not stale.fresh
    op = asking.prompts.list(0.0)
    asking.page(["b"])
    assert asking.end(op).snapshot.verified


def test_a_lost_and_a_reopened_channel_invalidate() -> None:
    asking = Asking()
    asking.listed(["a"])
    asking.reply(asking.subscription, {"resultType": "complete"})
    assert asking.every(Invalidated)[-1].reason == "notification channel lost"
    asking.page(["b"])
    lost = asking.prompts.snapshot
    assert lost is not None
    assert not lost.verified
    asking.wait(0.25)
    assert asking.pages() == 2  # not before the acknowledgement
    asking.acknowledge()
    assert asking.every(Invalidated)[-1].reason == "notification channel opened"
    asking.page(["c"])
    found = asking.prompts.snapshot
    assert names(found) == ["c"]
    assert found is not None
    assert found.verified


@both_eras
def test_a_changed_authorization_context_makes_the_cache_unreadable_at_once(version: str) -> None:
    asking = Asking(version)
    asking.listed(["a"])
    asking.prompts.principal_changed(0.0)
    assert asking.prompts.snapshot is None
    assert asking.every(Invalidated)[-1].reason == "the authorization context changed"
    op = asking.prompts.list(0.0, stale_ok=True)
    asking.page(["b"])
    assert names(asking.end(op).snapshot) == ["b"]
    assert asking.every(Updated)[-1].added == ("b",)


def test_nothing_that_was_read_in_the_old_context_is_used_in_the_new_one() -> None:
    asking = Asking()
    before = asking.listed(["a"])
    asking.prompts.principal_changed(0.0)
    after = asking.listed(["a"])
    assert after.by_name["a"] == before.by_name["a"]
    assert after.by_name["a"] is not before.by_name["a"]


def test_listeners_hear_of_a_change_when_the_cache_is_stale_already() -> None:
    asking = Asking(listing=LAZY)
    asking.listed(["a"])
    asking.seen_so_far()
    asking.changed()
    assert isinstance(asking.client.next_event(), Invalidated)
    assert not asking.prompts.listing.fresh(0.0)


@both_eras
def test_a_change_during_a_walk_leaves_its_list_stale_and_one_more_walk_follows(version: str) -> None:
    """The official SDK does not store a page that was asked for before an eviction, nor ask again."""
    asking = Asking(version)
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1")
    asking.changed()
    asking.page(["b"])
    ended = asking.end(op)
    assert names(ended.snapshot) == ["a", "b"]
    assert not ended.fresh
    assert not ended.snapshot.verified
    asking.wait(0.1)
    asking.page(["a", "b", "c"])
    snapshot = asking.prompts.snapshot
    assert snapshot is not None
    assert snapshot.verified
    assert asking.prompts.listing.fresh(asking.now)
    epochs = [update.epoch for update in asking.every(Updated)]
    assert epochs == sorted(epochs)
    asking.wait(1000.0)
    assert asking.walks() == 2


def test_the_epoch_of_a_walk_is_that_of_its_first_page_not_of_its_last() -> None:
    asking = Asking(listing=LAZY)
    op = asking.prompts.list(0.0)
    asking.changed()
    asking.page(["a"], "1")
    asking.page(["b"])
    ended = asking.end(op)
    assert (ended.snapshot.epoch, asking.prompts.listing.epoch) == (0, 1)
    assert not ended.fresh


def test_a_walk_that_the_wire_has_not_taken_yet_counts_from_the_outbox() -> None:
    asking = Asking(listing=LAZY)
    op = asking.prompts.list(0.0)  # in the outbox
    asking.changed()
    asking.page(["a"])
    assert not asking.end(op).fresh


# --- eager and lazy ---------------------------------------------------------------------------------


@both_eras
def test_eager_an_announced_change_starts_a_walk(version: str) -> None:
    asking = Asking(version)
    asking.listed(["a", "b"])
    asking.changed()
    asking.page(["b", "c"])
    assert names(asking.prompts.snapshot) == ["b", "c"]
    assert (asking.every(Updated)[-1].added, asking.every(Updated)[-1].removed) == (("c",), ("a",))


def test_eager_even_the_first_list_may_come_from_an_announcement() -> None:
    asking = Asking()
    asking.changed()
    asking.page(["a"])
    assert names(asking.prompts.snapshot) == ["a"]


@both_eras
def test_lazy_an_announced_change_marks_stale_and_the_next_list_walks(version: str) -> None:
    asking = Asking(version, listing=LAZY)
    asking.listed(["a"])
    asking.changed()
    asking.wait(1000.0)
    assert asking.pages() == 1
    op = asking.prompts.list(asking.now)
    asking.page(["b"])
    assert names(asking.end(op).snapshot) == ["b"]


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, "null"])
def test_an_announcement_may_have_any_params_that_mean_nothing(params: Any) -> None:
    asking = Asking(LEGACY, listing=LAZY)
    asking.listed(["a"])
    if params == "null":
        asking.say(method=CHANGED, params=None)
    else:
        asking.notify(CHANGED, params)
    assert not asking.prompts.listing.fresh(0.0)


def test_untagged_in_the_modern_era_a_change_still_invalidates_and_is_reported() -> None:
    asking = Asking(listing=LAZY)
    asking.listed(["a"])
    asking.notify(CHANGED)
    assert not asking.prompts.listing.fresh(0.0)
    assert [event.kind for event in asking.every(Diagnostic)] == ["untagged"]


def test_another_subscription_is_not_ours_to_hear() -> None:
    asking = Asking()
    asking.listed(["a"])
    for tag in (asking.subscription + 1, str(asking.subscription)):
        asking.notify(CHANGED, {"_meta": {TAG: tag}})
    assert asking.prompts.listing.fresh(0.0)
    assert [event.kind for event in asking.every(Diagnostic)] == ["foreign-subscription"] * 2


def test_a_change_that_was_not_negotiated_is_ignored_unless_configured() -> None:
    for policy, fresh in (("ignore", True), ("invalidate", False)):
        asking = Asking(LEGACY, declared=SILENT, listing=LAZY, unnegotiated=policy)
        asking.listed(["a"])
        asking.changed()
        assert asking.prompts.listing.fresh(0.0) is fresh
        assert [event.kind for event in asking.every(Diagnostic)] == ["not-negotiated"]


def test_an_old_connection_can_invalidate_nothing() -> None:
    asking = Asking(LEGACY)
    asking.listed(["a"])
    old = asking.wire
    asking.cut()
    asking.again()
    asking.page(["b"])
    epoch = asking.prompts.listing.epoch
    old.receive_data(b'{"jsonrpc":"2.0","method":"%s"}\n' % CHANGED.encode(), 0.0)
    assert asking.prompts.listing.epoch == epoch
    assert asking.prompts.listing.fresh(0.0)


def test_a_change_that_follows_the_answer_that_caused_it_counts() -> None:
    asking = Asking()
    asking.listed(["a"])
    op = asking.prompts.get("a", None, 0.0)
    asking.result(asking.one("prompts/get"), messages=[])
    asking.end(op)
    asking.wait(0.005)
    asking.changed()
    asking.page(["a", "b"])
    assert names(asking.end(asking.prompts.list(asking.now)).snapshot) == ["a", "b"]


# --- storms -----------------------------------------------------------------------------------------


def test_of_a_burst_the_first_change_asks_at_once_and_the_rest_together() -> None:
    """The official SDK only forgets its first page; it never asks by itself."""
    asking = Asking()
    asking.listed(["a"])
    for _ in range(12):
        asking.changed()
    asking.page(["b"])
    assert asking.asked("prompts/list") == []
    asking.wait(0.0999)
    assert asking.asked("prompts/list") == []
    asking.wait(0.0001)
    asking.page(["c"])
    asking.wait(1000.0)
    assert asking.walks() == 3
    assert names(asking.prompts.snapshot) == ["c"]
    assert asking.every(OpFailed) == []


def test_a_change_during_a_walk_waits_for_quiet_at_most_max_wait() -> None:
    asking = Asking(listing=ListingConfig(quiet=0.25, max_wait=1.0))
    asking.prompts.list(0.0)
    asking.sent()
    asking.now = 1.0
    for _ in range(10):
        asking.changed()
        asking.wait(0.125)
    assert asking.walks() == 1
    asking.page(["a"])  # at 2.25, later than the held changes may wait: at once
    asking.one("prompts/list")
    assert asking.walks() == 2


def test_even_the_first_change_is_held_while_a_walk_runs() -> None:
    asking = Asking()
    asking.prompts.list(0.0)
    asking.sent()
    asking.now = 1.0
    asking.changed()
    asking.page(["a"])
    assert asking.asked("prompts/list") == []
    asking.wait(0.1)
    asking.one("prompts/list")


def test_what_is_held_long_enough_during_a_walk_sets_no_clock_again() -> None:
    asking = Asking()
    asking.prompts.list(0.0)
    asking.sent()
    asking.now = 1.0
    asking.changed()
    asking.wait(2.0)
    asking.changed()
    due = asking.client.next_timeout()
    assert due is not None
    assert due > asking.now


def test_closing_leaves_no_clock_behind() -> None:
    held = Asking()
    held.changed()
    held.changed()
    failed = Asking()
    failed.changed()
    failed.refuse(-32603)
    for asking in (held, failed):
        assert asking.client.next_timeout() is not None
        asking.client.close(0.0)
        assert asking.client.next_timeout() is None


def test_changes_are_held_no_longer_than_the_maximum_wait_when_no_walk_runs() -> None:
    asking = Asking(listing=ListingConfig(quiet=0.25, max_wait=1.0))
    asking.changed()
    asking.page(["a"])
    asking.wait(0.125)
    starts = []
    for _ in range(32):
        asking.changed()
        if asking.asked("prompts/list"):
            starts.append(asking.now)
            asking.page(["a"])
        asking.wait(0.125)
    assert starts == [1.125, 2.125, 3.125]


def test_a_callers_own_list_does_not_wait_for_quiet_and_covers_what_was_held() -> None:
    asking = Asking()
    asking.changed()
    asking.page(["a"])
    asking.wait(0.05)
    asking.changed()
    assert asking.asked("prompts/list") == []
    op = asking.prompts.list(asking.now)
    asking.page(["b"])
    assert asking.end(op).fresh
    asking.wait(1000.0)
    assert asking.walks() == 2  # none for the change that the caller's walk has seen


def test_a_held_change_is_acted_on_after_a_reconnection_with_one_walk() -> None:
    asking = Asking()
    asking.listed(["a"])
    asking.changed()
    asking.page(["b"])
    asking.changed()
    asking.cut()
    asking.wait(1.0)
    asking.again()
    asking.page(["c"])
    asking.wait(1000.0)
    assert asking.walks() == 3


# --- verified ---------------------------------------------------------------------------------------


@both_eras
def test_a_quiet_walk_under_a_live_channel_is_verified(version: str) -> None:
    assert Asking(version).listed(["a"]).verified


def test_a_walk_under_a_channel_that_was_lost_and_came_back_is_not() -> None:
    asking = Asking(listing=LAZY)
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1")
    asking.reply(asking.subscription, {"resultType": "complete"})
    asking.wait(0.25)
    asking.acknowledge()
    asking.page(["b"])
    assert not asking.end(op).snapshot.verified


def test_a_walk_that_began_before_the_channel_was_lost_is_not() -> None:
    asking = Asking(listing=LAZY)
    op = asking.prompts.list(0.0)
    asking.page(["a"], "1")
    asking.reply(asking.subscription, {"resultType": "complete"})
    asking.page(["b"])
    assert not asking.end(op).snapshot.verified


def test_one_digest_verifies_without_any_channel() -> None:
    asking = Asking(LEGACY, declared=SILENT)
    assert asking.listed(["a"], _meta={DIGEST: "d"}).verified


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


# --- who waits for what -----------------------------------------------------------------------------


def test_everybody_who_asks_while_nothing_changes_gets_the_walk_that_runs() -> None:
    asking = Asking()
    ops = [asking.prompts.list(0.0) for _ in range(3)]
    asking.page(["a"], "1")
    ops.append(asking.prompts.list(0.0))
    asking.page(["b"])
    assert len({id(asking.end(op).snapshot) for op in ops}) == 1
    assert asking.walks() == 1


def test_who_asks_after_a_change_waits_for_the_next_walk_and_nobody_for_more_than_two() -> None:
    asking = Asking(listing=LAZY)
    first = asking.prompts.list(0.0)
    asking.sent()
    asking.changed()
    second = asking.prompts.list(0.0)
    third = asking.prompts.list(0.0)
    asking.page(["old"])
    assert not asking.end(first).fresh
    assert asking.ends(second) == asking.ends(third) == []
    asking.changed()
    fourth = asking.prompts.list(0.0)
    asking.page(["new"])
    for op in (second, third):
        assert names(asking.end(op).snapshot) == ["new"]
        assert not asking.end(op).fresh  # the marks of the walk that it joined
    asking.page(["newest"])
    assert asking.end(fourth).fresh
    assert asking.walks() == 3


def test_a_refresh_during_a_walk_waits_for_the_next() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.sent()
    refreshed = asking.prompts.refresh(0.0)
    asking.page(["a"])
    assert not asking.end(op).fresh
    asking.page(["b"])
    assert names(asking.end(refreshed).snapshot) == ["b"]


def test_of_several_who_wait_only_the_one_who_cancels_leaves() -> None:
    asking = Asking()
    stays, leaves = asking.prompts.list(0.0), asking.prompts.list(0.0)
    asking.sent()
    asking.prompts.cancel(leaves, 0.0)
    assert failure(asking, leaves) == Cancelled()
    assert asking.sent() == []
    asking.page(["a"])
    assert names(asking.end(stays).snapshot) == ["a"]
    asking.prompts.cancel(stays, 0.0)
    asking.end(stays)


@both_eras
def test_when_nobody_waits_any_more_the_request_is_cancelled(version: str) -> None:
    asking = Asking(version)
    ops = [asking.prompts.list(0.0) for _ in range(2)]
    request = asking.one("prompts/list")
    for op in ops:
        asking.prompts.cancel(op, 0.0)
    (cancelled,) = asking.sent()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == request["id"]
    asking.result(request, prompts=[{"name": "late"}])
    assert asking.prompts.snapshot is None
    assert [event.kind for event in asking.every(Diagnostic)] == ["unknown-reply"]
    assert asking.client.next_timeout() is None


def test_what_has_not_left_yet_is_taken_back_without_a_word() -> None:
    asking = Asking()
    asking.sent()
    asking.prompts.cancel(asking.prompts.list(0.0), 0.0)
    assert asking.sent() == []


def test_an_eager_walk_goes_on_when_nobody_waits() -> None:
    asking = Asking()
    asking.changed()
    op = asking.prompts.list(0.0)
    asking.sent()
    asking.prompts.cancel(op, 0.0)
    asking.page(["a"])
    assert names(asking.prompts.snapshot) == ["a"]


def test_a_walk_that_nobody_waits_for_gives_way_to_the_one_that_is_waited_for() -> None:
    asking = Asking()
    first = asking.prompts.list(0.0)
    stale = asking.one("prompts/list")
    second = asking.prompts.refresh(0.0)
    asking.prompts.cancel(first, 0.0)
    assert asking.one("prompts/list")["id"] != stale["id"]
    asking.page(["a"])
    assert asking.end(second).fresh


def test_who_waits_for_the_next_walk_can_leave_too() -> None:
    asking = Asking()
    first = asking.prompts.list(0.0)
    asking.sent()
    asking.prompts.cancel(asking.prompts.refresh(0.0), 0.0)
    asking.page(["a"])
    asking.end(first)
    assert asking.asked("prompts/list") == []


# --- connections ------------------------------------------------------------------------------------


@both_eras
def test_a_lost_connection_aborts_the_walk_and_its_waiters_get_one_on_the_next(version: str) -> None:
    asking = Asking(version)
    op = asking.prompts.list(0.0)
    asking.page(["old"], "cursor of old")
    asking.cut()
    assert asking.ends(op) == []
    asking.again()
    assert "cursor" not in asking.one("prompts/list").get("params", {})
    asking.page(["new"])
    assert names(asking.end(op).snapshot) == ["new"]


def test_a_page_that_had_not_left_does_not_reach_the_next_connection() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.page(["old"], "cursor of old")
    asking.cut(flushed=False)  # with the next page in the outbox
    asking.again()
    assert [message["params"].get("cursor") for message in asking.asked("prompts/list")] == [None]
    asking.page(["new"])
    assert names(asking.end(op).snapshot) == ["new"]


def test_who_waits_moves_once() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.cut()
    asking.again()
    asking.sent()
    late = asking.prompts.list(0.0)
    asking.cut()
    assert failure(asking, op) == Lost("cut")
    assert asking.ends(late) == []
    asking.again()
    asking.page(["a"])
    asking.end(late)


def test_who_waits_for_a_walk_that_has_not_begun_loses_nothing() -> None:
    asking = Asking(connect=False)
    op = asking.prompts.list(0.0)
    for _ in range(3):
        asking.cut()  # while the era is unknown
        asking.reconnect()
    asking.open()
    asking.page(["a"])
    assert names(asking.end(op).snapshot) == ["a"]


def test_eager_the_list_is_walked_again_on_the_next_connection() -> None:
    asking = Asking()
    asking.listed(["a"])
    asking.cut()
    asking.again()
    asking.page(["b"])
    assert names(asking.prompts.snapshot) == ["b"]
    asking.wait(1000.0)
    assert asking.walks() == 2


def test_eager_so_it_is_without_any_channel() -> None:
    asking = Asking(declared=SILENT)
    asking.listed(["a"])
    asking.cut()
    asking.again(SILENT)
    asking.page(["b"])
    assert names(asking.prompts.snapshot) == ["b"]


def test_eager_a_first_walk_that_is_lost_begins_anew() -> None:
    asking = Asking()
    asking.changed()
    asking.sent()
    asking.cut()
    asking.again()
    asking.page(["a"])
    assert names(asking.prompts.snapshot) == ["a"]


def test_lazy_the_list_stays_stale_until_somebody_asks() -> None:
    asking = Asking(listing=LAZY)
    snapshot = asking.listed(["a"])
    asking.cut()
    asking.again()
    asking.wait(1000.0)
    assert asking.walks() == 1
    assert asking.prompts.snapshot is snapshot


def test_a_walk_that_nobody_wants_is_not_made_on_the_next_connection() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0)
    asking.cut()
    asking.prompts.cancel(op, 0.0)
    asking.again()
    asking.wait(1000.0)
    assert asking.walks() == 1


def test_a_repetition_that_falls_due_between_connections_is_made_on_the_next() -> None:
    asking = Asking()
    asking.changed()
    asking.refuse(-32603)
    asking.cut()
    asking.wait(10.0)
    asking.again()
    asking.page(["a"])
    assert names(asking.prompts.snapshot) == ["a"]


@both_eras
def test_a_changed_authorization_context_aborts_the_walk_and_its_waiters_get_a_new_one(version: str) -> None:
    asking = Asking(version)
    op = asking.prompts.list(0.0)
    asking.page(["secret"], "cursor of the old context")
    old = asking.one("prompts/list")
    asking.prompts.principal_changed(0.0)
    new = asking.one("prompts/list")
    assert "cursor" not in new.get("params", {})
    asking.result(old, prompts=[{"name": "late secret"}])
    asking.page(["a"])
    assert names(asking.end(op).snapshot) == ["a"]
    assert [update.added for update in asking.every(Updated)] == [("a",)]


def test_an_eager_walk_stays_eager_through_a_change_of_context() -> None:
    asking = Asking()
    asking.changed()
    asking.sent()
    asking.prompts.principal_changed(0.0)
    op = asking.prompts.list(0.0)
    asking.sent()
    asking.prompts.cancel(op, 0.0)
    asking.page(["a"])
    assert names(asking.prompts.snapshot) == ["a"]


def test_a_list_that_waits_for_its_channel_is_in_the_new_context() -> None:
    asking = Asking(acknowledge=False)
    op = asking.prompts.list(0.0)
    asking.prompts.principal_changed(0.0)
    assert asking.walks() == 0
    asking.acknowledge()
    asking.page(["a"])
    assert isinstance(asking.end(op), Listed)
