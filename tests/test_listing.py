"""The cached list: commands, the gate, the channel, and the epochs that say what is fresh and verified."""

from __future__ import annotations

from typing import Any

import pytest
from asking import (
    DECLARED,
    DIGEST,
    LAZY,
    LEGACY,
    MODERN,
    SILENT,
    Asking,
    both_eras,
    failure,
    names,
)

from mcp_sansio import (
    Closed,
    Invalidated,
    ListingConfig,
    LocalProtocolError,
    NotSupported,
    TimedOut,
    Updated,
)

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


@both_eras
def test_a_change_that_a_callers_walk_was_to_bring_is_fetched_though_the_caller_gives_up(
    version: str,
) -> None:
    asking = Asking(version)
    asking.listed()
    asking.changed()
    asking.page(["a"], "1")
    asking.changed()  # held, for the walk that the first change caused is under way
    asking.page(["b"])
    op = asking.prompts.list(asking.now)
    asking.prompts.cancel(op, asking.now)
    asking.page(["a", "c"])
    assert names(asking.prompts.snapshot) == ["a", "c"]
    assert asking.prompts.listing.fresh(asking.now)


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
