"""Gets that are lost with their connection: asked again once, where that is safe."""

from __future__ import annotations

from asking import (
    GET,
    UNKNOWN,
    Asking,
    answer,
    ask,
    both_eras,
    get,
    render,
    text,
)

from mcp_sansio import (
    Cancelled,
    Lost,
    NotSupported,
    PromptGone,
    PromptRendered,
    TimedOut,
)


@both_eras
def test_a_lost_get_is_sent_once_more_on_the_next_connection(version: str) -> None:
    asking = Asking(version)
    op = get(asking, x="1")
    before = asking.one(GET)
    asking.cut()
    assert asking.ends(op) == []
    asking.again()
    after = asking.one(GET)
    assert after["params"]["arguments"] == {"x": "1"}
    assert after["id"] != before["id"]
    render(asking, text("x"))
    assert isinstance(asking.end(op), PromptRendered)


def test_a_lost_get_is_not_sent_twice_where_the_next_connection_comes_before_the_next_turn() -> None:
    asking = Asking()
    get(asking)
    asking.cut()
    asking.again()
    asking.one(GET)
    asking.wait(0.0)
    asking.one(GET)


def test_a_get_that_was_asked_once_more_can_still_be_lost_once() -> None:
    asking = Asking()
    asking.listed(["b"])
    op = get(asking, "a")
    asking.refuse(-32602, GET)
    asking.page(["a"])
    asking.sent()
    asking.cut()
    asking.again()
    render(asking)
    assert isinstance(asking.end(op), PromptRendered)


def test_a_get_that_is_lost_twice_is_lost() -> None:
    asking = Asking()
    op = get(asking)
    asking.cut()
    asking.again()
    asking.sent()
    asking.cut()
    assert asking.end(op).failure == Lost("cut")


def test_the_clocks_of_a_lost_get_run_on() -> None:
    asking = Asking(quiet_timeout=None, total_timeout=16.0)
    op = get(asking)
    asking.wait(10.0)
    asking.cut()
    asking.wait(5.9375)
    assert asking.ends(op) == []
    asking.wait(0.0625)
    assert asking.end(op).failure == TimedOut("total", 16.0)


def test_a_lost_get_can_be_cancelled() -> None:
    asking = Asking()
    op = get(asking)
    asking.cut()
    asking.prompts.cancel(op, 0.0)
    assert asking.end(op).failure == Cancelled()
    asking.again()
    assert asking.asked(GET) == []


def test_a_lost_get_is_not_sent_to_a_server_without_prompts() -> None:
    asking = Asking()
    op = get(asking)
    asking.cut()
    asking.again({"tools": {}})
    assert asking.end(op).failure == NotSupported("prompts")


def test_a_later_leg_is_never_sent_again() -> None:
    asking = Asking()
    op = get(asking)
    ask(asking)
    answer(asking)
    asking.cut()
    assert asking.end(op).failure == Lost("cut")
    asking.again()
    assert asking.asked(GET) == []


def test_a_get_that_is_being_judged_is_not_sent_again_and_its_judge_moves() -> None:
    asking = Asking()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.sent()
    asking.cut()
    asking.again()
    assert asking.asked(GET) == []
    asking.page([])
    assert isinstance(asking.end(op), PromptGone)


def test_a_get_in_judgement_ends_with_its_error_on_a_server_without_prompts() -> None:
    asking = Asking()
    op = get(asking)
    asking.refuse(-32602, GET)
    asking.sent()
    asking.cut()
    asking.again({"tools": {}})
    assert asking.end(op).failure == UNKNOWN


def test_no_retry_runs_inside_the_loss() -> None:
    asking = Asking()
    get(asking)
    asking.wire.receive_eof(0.0, "cut")
    asking.reconnect()
    assert [message["method"] for message in asking.sent()] == ["server/discover"]
    assert asking.client.next_timeout() == 0.0  # what is left for the next turn
    asking.wait(0.0)
    assert asking.sent() == []
