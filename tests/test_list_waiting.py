"""Who waits for which walk, through changes, cancellations, lost connections and changes of context."""

from __future__ import annotations

from asking import (
    LAZY,
    SILENT,
    Asking,
    both_eras,
    failure,
    names,
)

from mcp_sansio import (
    Cancelled,
    Diagnostic,
    Listed,
    Lost,
    Updated,
)

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
