"""Gets that fail: what an error says about a name, judged by a newer list."""

from __future__ import annotations

import pytest
from asking import (
    GET,
    LAZY,
    LEGACY,
    UNKNOWN,
    Asking,
    answer,
    ask,
    both_eras,
    get,
    names,
    render,
    text,
)

from mcp_sansio import (
    Cancelled,
    ListingConfig,
    OpFailed,
    PromptClient,
    PromptGone,
    PromptRendered,
    RpcError,
    TimedOut,
)


@both_eras
def test_a_name_that_the_newer_list_lacks_is_gone(version: str) -> None:
    """The official SDK raises the server's error; whether the name is gone, the caller has to find out."""
    asking = Asking(version)
    asking.listed(["a", "b"])
    op = get(asking, "a")
    asking.refuse(-32602, GET)
    assert asking.ends(op) == []
    asking.page(["b", "c"])
    gone = asking.end(op)
    assert isinstance(gone, PromptGone)
    assert (gone.name, gone.error) == ("a", UNKNOWN)
    assert gone.snapshot is asking.prompts.snapshot
    assert names(gone.snapshot) == ["b", "c"]


def test_a_name_that_nobody_ever_listed_is_gone_as_well() -> None:
    asking = Asking()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.page([])
    assert isinstance(asking.end(op), PromptGone)


def test_a_redefined_prompt_is_asked_for_once_more() -> None:
    asking = Asking()
    asking.listed(["a"])
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.page([{"name": "a", "arguments": [{"name": "x", "required": True}]}])
    assert asking.ends(op) == []
    render(asking, text("x"))
    assert isinstance(asking.end(op), PromptRendered)


def test_a_prompt_that_is_new_since_the_list_that_the_caller_saw_is_asked_for_once_more() -> None:
    asking = Asking()
    asking.listed(["b"])
    op = get(asking, "a")
    asking.refuse(-32602, GET)
    asking.page(["a", "b"])
    render(asking, text("x"))
    assert isinstance(asking.end(op), PromptRendered)


@pytest.mark.parametrize("listing", [LAZY, ListingConfig()])
def test_after_another_invalidation_a_get_is_asked_once_more(listing: ListingConfig) -> None:
    asking = Asking(listing=listing)
    asking.listed(["a"])
    op = get(asking)
    asking.changed()
    asking.refuse(-32602, GET)
    asking.page(["a"])
    render(asking, text("x"))
    assert isinstance(asking.end(op), PromptRendered)
    assert asking.walks() == 2


def test_a_present_name_and_nothing_moved_is_the_original_error() -> None:
    asking = Asking()
    asking.listed(["a"])
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.page(["a"])
    ended = asking.end(op)
    assert ended == OpFailed(op, UNKNOWN, asking.prompts.snapshot)
    assert asking.asked(GET) == []


def test_without_a_list_to_compare_with_the_original_error_stands() -> None:
    asking = Asking()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.page(["a"])
    assert asking.end(op).failure == UNKNOWN


def test_what_moved_before_the_get_was_sent_is_no_reason_to_ask_again() -> None:
    asking = Asking(LEGACY, listing=LAZY)
    asking.listed(["a"])
    asking.changed()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.page(["a"])
    assert asking.end(op).failure == UNKNOWN


def test_the_doubt_of_one_get_is_no_reason_for_another_to_ask_again() -> None:
    asking = Asking()
    asking.listed(["a", "b"])
    ops = [asking.prompts.get(name, None, 0.0) for name in ("a", "b")]
    for request in asking.asked(GET):
        asking.error(request["id"], -32602)
    asking.page(["a", "b"])
    assert [asking.end(op).failure for op in ops] == [UNKNOWN, UNKNOWN]
    assert asking.walks() == 2


def test_never_twice() -> None:
    asking = Asking()
    asking.listed(["a"])
    op = get(asking)
    asking.changed()
    asking.refuse(-32602, GET)
    asking.page(["a"])
    asking.changed()
    asking.refuse(-32602, GET)
    asking.wait(0.1)
    asking.page(["a"])
    assert asking.end(op).failure == UNKNOWN
    assert sum(message.get("method") == GET for message in asking.log) == 2


def test_a_second_refusal_can_still_say_that_the_name_is_gone() -> None:
    asking = Asking()
    asking.listed(["a"])
    op = get(asking)
    asking.changed()
    asking.refuse(-32602, GET)
    asking.page(["a"])
    asking.changed()
    asking.refuse(-32602, GET)
    asking.wait(0.1)
    asking.page(["b"])
    assert isinstance(asking.end(op), PromptGone)


def test_a_list_that_was_asked_for_after_the_get_judges_without_another() -> None:
    asking = Asking(listing=LAZY)
    asking.listed(["a"])
    op = get(asking)
    asking.prompts.refresh(0.0)
    asking.page(["b"])
    asking.refuse(-32602, GET)
    assert isinstance(asking.end(op), PromptGone)
    assert asking.walks() == 2


def test_a_walk_that_began_before_the_get_is_too_old_to_judge_it() -> None:
    asking = Asking()
    asking.prompts.list(0.0)
    asking.sent()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.page(["a"])
    assert asking.ends(op) == []
    asking.page([])
    assert isinstance(asking.end(op), PromptGone)
    assert asking.walks() == 2


def test_a_walk_that_began_after_the_get_is_joined() -> None:
    asking = Asking()
    op = get(asking)
    asking.prompts.list(0.0)
    asking.page(["b"], "1")
    asking.refuse(-32602, GET)
    asking.page(["c"])
    assert isinstance(asking.end(op), PromptGone)
    assert asking.walks() == 1


def test_bad_arguments_walk_at_most_once_per_maximum_wait() -> None:
    asking = Asking()
    asking.listed(["a"])
    for _ in range(50):
        op = get(asking)
        asking.refuse(-32602, GET)
        if asking.asked("prompts/list"):
            asking.page(["a"])
        assert asking.end(op).failure == UNKNOWN
        asking.wait(0.125)
    assert asking.walks() == 1 + 7  # 50 gets in 6.25 s


def test_bad_arguments_make_no_storm_where_there_is_no_list_either() -> None:
    asking = Asking()
    for _ in range(50):
        op = get(asking)
        asking.refuse(-32602, GET)
        if asking.asked("prompts/list"):
            asking.refuse(-32603)
        assert asking.end(op).failure == UNKNOWN
        asking.wait(0.125)
    assert asking.walks() == 7


def test_inside_the_maximum_wait_the_walk_that_is_running_judges_or_the_one_that_is_wanted() -> None:
    asking = Asking(listing=LAZY)
    asking.listed(["a"])
    first = get(asking, "gone 1")
    asking.refuse(-32602, GET)
    asking.sent()  # the walk for that
    second = get(asking, "new")
    asking.refuse(-32602, GET)
    asking.prompts.refresh(0.0)
    third = get(asking, "newer")
    asking.refuse(-32602, GET)
    asking.page(["a", "new"])
    assert isinstance(asking.end(first), PromptGone)
    asking.refuse(-32602, GET)  # "new" is asked for once more
    asking.page(["a", "new", "newer"])
    assert asking.end(second).failure == UNKNOWN
    render(asking)  # and so is "newer"
    assert isinstance(asking.end(third), PromptRendered)
    assert asking.walks() == 3


@pytest.mark.parametrize("error", [-32603, -32602])
def test_when_the_judging_walk_fails_the_original_error_stands(error: int) -> None:
    asking = Asking()
    snapshot = asking.listed(["a"])
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.refuse(error)
    assert asking.end(op) == OpFailed(op, UNKNOWN, snapshot)


def test_when_the_judging_walk_takes_too_long_the_original_error_stands() -> None:
    asking = Asking(listing=ListingConfig(wait=8.0))
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.sent()
    asking.wait(8.0)
    assert asking.end(op).failure == UNKNOWN


def test_closing_while_a_get_is_judged_is_the_original_error() -> None:
    asking = Asking()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.client.close(0.0)
    assert asking.end(op).failure == UNKNOWN


def test_cancelling_while_a_get_is_judged_gives_the_walk_up() -> None:
    asking = Asking()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.one("prompts/list")
    asking.prompts.cancel(op, 0.0)
    assert asking.end(op).failure == Cancelled()
    assert asking.asked("prompts/list") == []


@both_eras
@pytest.mark.parametrize("code", [-32602, -32603, -32002, -32001, -32601, 0])
def test_what_real_servers_answer_to_an_unknown_name_is_judged(version: str, code: int) -> None:
    asking = Asking(version)
    op = get(asking)
    asking.refuse(code, GET)
    asking.page(["b"])
    assert isinstance(asking.end(op), PromptGone)


@pytest.mark.parametrize("code", [-32600, -32700, -32021, 1, -32000])
def test_other_errors_are_just_errors(code: int) -> None:
    asking = Asking()
    op = get(asking)
    asking.refuse(code, GET)
    assert asking.end(op).failure == RpcError(code, "no")
    assert asking.pages() == 0


def test_what_may_mean_an_unknown_name_can_be_configured() -> None:
    asking = Asking(prompts=PromptClient(classify=lambda error: error.code == 404))
    plain, judged = get(asking), get(asking)
    first, second = asking.asked(GET)
    asking.error(first["id"], -32602)
    asking.error(second["id"], 404)
    asking.page([])
    assert asking.end(plain).failure == UNKNOWN
    assert isinstance(asking.end(judged), PromptGone)


def test_a_timeout_is_no_evidence() -> None:
    asking = Asking()
    op = get(asking)
    asking.wait(60.0)
    assert asking.end(op).failure == TimedOut("quiet", 60.0)
    assert asking.pages() == 0


def test_on_a_later_leg_the_list_is_renewed_but_nothing_is_sent_again() -> None:
    asking = Asking()
    asking.listed(["a"])
    op = get(asking)
    ask(asking)
    asking.prompts.refresh(0.0)
    asking.page(["a"])  # after the first leg, but before the second
    answer(asking)
    asking.changed()
    asking.refuse(-32602, GET)
    asking.page([{"name": "a", "title": "redefined"}])
    ended = asking.end(op)
    assert ended.failure == UNKNOWN
    assert ended.snapshot.by_name["a"].title == "redefined"
    assert asking.asked(GET) == []


def test_on_a_later_leg_a_list_from_between_the_legs_does_not_judge() -> None:
    asking = Asking(listing=LAZY)
    op = get(asking)
    ask(asking)
    asking.listed(["a"])
    answer(asking)
    asking.refuse(-32602, GET)
    asking.page(["b"])
    assert isinstance(asking.end(op), PromptGone)
