"""Announced changes: which count, what they start, and how a storm of them is thinned out."""

from __future__ import annotations

from typing import Any

import pytest
from asking import (
    CHANGED,
    LAZY,
    LEGACY,
    SILENT,
    TAG,
    Asking,
    both_eras,
    names,
)

from mcp_sansio import (
    Diagnostic,
    ListingConfig,
    OpFailed,
    Updated,
)

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
