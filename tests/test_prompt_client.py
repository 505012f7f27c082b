"""Gets and completions: what is asked, what comes back, and what an error says about a name."""

from __future__ import annotations

from typing import Any

import pytest
from asking import LEGACY, MODERN, SILENT, Asking, names

from mcp_sansio import (
    ALL_VERSIONS,
    ArgumentCompleted,
    AudioContent,
    BlobResource,
    Cancelled,
    Closed,
    Completion,
    EmbeddedResource,
    ImageContent,
    InputNeeded,
    InvalidReply,
    ListingConfig,
    LocalProtocolError,
    Lost,
    NotSupported,
    Op,
    OpFailed,
    ProgressReported,
    PromptClient,
    PromptGone,
    PromptMessage,
    PromptRendered,
    ResourceLink,
    RpcError,
    TextContent,
    TextResource,
    TimedOut,
    TooManyRounds,
)
from mcp_sansio._versions import V2024_11_05, V2025_03_26, V2025_06_18

LAZY = ListingConfig(eager=False)
GET, COMPLETE = "prompts/get", "completion/complete"
UNKNOWN = RpcError(-32602, "no")
both_eras = pytest.mark.parametrize("version", [MODERN, LEGACY])


def get(asking: Asking, name: str = "a", **arguments: str) -> Op:
    """Send a get."""
    op = asking.prompts.get(name, arguments, asking.now)
    asking.sent()
    return op


def text(of: str) -> dict[str, Any]:
    return {"role": "user", "content": {"type": "text", "text": of}}


def render(asking: Asking, *messages: dict[str, Any], **members: Any) -> None:
    asking.result(asking.one(GET), messages=[*messages], **members)


# --- get --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_get_needs_no_list(version: str) -> None:
    asking = Asking(version)
    op = get(asking, "User Summary", x="1")
    request = asking.one(GET)
    assert request["params"]["name"] == "User Summary"
    assert request["params"]["arguments"] == {"x": "1"}
    render(asking, text("hello"))
    result = asking.end(op).result
    assert result.messages == (PromptMessage("user", TextContent("hello")),)
    assert asking.pages() == 0


@pytest.mark.parametrize("arguments", [None, {}])
def test_without_arguments_none_are_sent(arguments: Any) -> None:
    asking = Asking()
    asking.prompts.get("a", arguments, 0.0)
    assert "arguments" not in asking.one(GET)["params"]


def test_an_empty_argument_is_an_argument() -> None:
    asking = Asking()
    get(asking, x="")
    assert asking.one(GET)["params"]["arguments"] == {"x": ""}


def test_a_get_does_not_wait_for_the_channel() -> None:
    asking = Asking(acknowledge=False)
    get(asking)
    asking.one(GET)


def test_every_message_comes_in_order_with_its_role() -> None:
    asking = Asking()
    op = get(asking)
    render(
        asking,
        text("a"),
        {"role": "assistant", "content": {"type": "text", "text": "b"}},
        text('c\n"d"'),
        description="three",
    )
    result = asking.end(op).result
    assert result.description == "three"
    assert [(message.role, message.content.text) for message in result.messages] == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", 'c\n"d"'),
    ]


def test_all_kinds_of_content_are_read() -> None:
    asking = Asking()
    op = get(asking)
    uri = "file:///a%20b"
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "t"},
        {"type": "image", "data": "aQ==", "mimeType": "image/png"},
        {"type": "audio", "data": "aQ==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": uri, "name": "n"},
        {"type": "resource", "resource": {"uri": uri, "text": "x"}},
        {"type": "resource", "resource": {"uri": uri, "blob": "aQ=="}},
    ]
    render(asking, *({"role": "user", "content": block} for block in blocks))
    assert [message.content for message in asking.end(op).result.messages] == [
        TextContent("t"),
        ImageContent("aQ==", "image/png"),
        AudioContent("aQ==", "audio/wav"),
        ResourceLink(uri, "n"),
        EmbeddedResource(TextResource(uri, "x")),
        EmbeddedResource(BlobResource(uri, "aQ==")),
    ]


def test_no_messages_are_a_result() -> None:
    asking = Asking()
    op = get(asking)
    render(asking)
    assert asking.end(op).result.messages == ()


@both_eras
@pytest.mark.parametrize(
    ("result", "path"),
    [
        ({}, "messages"),
        ({"messages": None}, "$.messages"),
        ({"messages": {}}, "$.messages"),
        ({"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]}, "$.messages[0].role"),
        ({"messages": [{"content": {"type": "text", "text": "x"}}]}, "role"),
        (
            {"messages": [text("a"), {"role": "user", "content": {"type": "text", "text": 5}}]},
            "$.messages[1]",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
            "$.messages[0].content",
        ),
        ({"messages": [{"role": "user", "content": "x"}]}, "$.messages[0].content"),
    ],
)
def test_a_result_of_the_wrong_form_fails_that_get_and_nothing_else(
    version: str, result: dict[str, Any], path: str
) -> None:
    asking = Asking(version)
    op = get(asking)
    asking.result(asking.one(GET), **result)
    failure = asking.end(op).failure
    assert isinstance(failure, InvalidReply)
    assert path in failure.reason
    op = get(asking)
    render(asking, text("still here"))
    assert isinstance(asking.end(op), PromptRendered)


@pytest.mark.parametrize(
    ("name", "arguments", "meta"),
    [
        (5, None, None),
        ("\ud800", None, None),
        ("a", {"x": 5}, None),
        ("a", {"x": None}, None),
        ("a", {"x": True}, None),
        ("a", {"x": ["y"]}, None),
        ("a", {5: "x"}, None),
        ("a", {"x": "\ud800"}, None),
        ("a", None, {"progressToken": 1}),
        ("a", None, {"x": float("nan")}),
        ("a", None, {"x": object()}),
    ],
)
@pytest.mark.parametrize("connect", [True, False])
def test_what_cannot_be_sent_is_refused_and_nothing_has_happened(
    name: Any, arguments: Any, meta: Any, connect: bool
) -> None:
    asking = Asking(connect=connect)
    asking.sent()
    timeout = asking.client.next_timeout()
    with pytest.raises(LocalProtocolError):
        asking.prompts.get(name, arguments, 0.0, meta=meta)
    assert asking.sent() == []
    assert asking.client.next_timeout() == timeout
    assert get(asking).number == 1


def test_meta_is_sent_as_it_was_when_the_command_was_given() -> None:
    asking = Asking(connect=False)
    meta: dict[str, Any] = {"traceparent": "00-1", "vendor/x": {"deep": [1]}}
    asking.prompts.get("a", None, 0.0, meta=meta)
    meta["vendor/x"]["deep"] = object()
    asking.open()
    sent = asking.one(GET)["params"]["_meta"]
    assert sent["traceparent"] == "00-1"
    assert sent["vendor/x"] == {"deep": [1]}


def test_progress_is_reported_with_the_command() -> None:
    asking = Asking()
    op = asking.prompts.get("a", None, 0.0, progress=True)
    token = asking.one(GET)["params"]["_meta"]["progressToken"]
    asking.notify("notifications/progress", {"progressToken": token, "progress": 1})
    assert [event.op for event in asking.every(ProgressReported)] == [op]


@both_eras
def test_a_get_is_not_sent_to_a_server_without_prompts(version: str) -> None:
    asking = Asking(version, connect=False)
    early = asking.prompts.get("a", None, 0.0)
    asking.open({"completions": {}})
    late = asking.prompts.get("a", None, 0.0)
    for op in (early, late):
        assert asking.end(op).failure == NotSupported("prompts")
    assert not any(message.get("method") == GET for message in asking.log)
    assert asking.client.next_timeout() is None


def test_a_get_that_had_not_left_is_not_sent_to_another_server_without_prompts() -> None:
    asking = Asking()
    op = asking.prompts.get("a", None, 0.0)  # in the outbox
    asking.cut(flushed=False)
    asking.again({"tools": {}})
    assert asking.end(op).failure == NotSupported("prompts")
    assert asking.asked(GET) == []


def test_a_get_that_had_not_left_is_sent_to_the_next_connection_once() -> None:
    asking = Asking()
    op = asking.prompts.get("a", None, 0.0)
    asking.cut(flushed=False)
    asking.again()
    render(asking, text("x"))
    asking.end(op)


def test_a_get_can_be_cancelled() -> None:
    for connect in (True, False):
        asking = Asking(connect=connect)
        op = get(asking)
        asking.prompts.cancel(op, 0.0)
        assert asking.end(op).failure == Cancelled()
        assert [message["method"] for message in asking.sent()] == (
            ["notifications/cancelled"] if connect else []
        )
        asking.prompts.cancel(op, 0.0)  # nothing more
        asking.end(op)


def test_closing_ends_gets_and_completions_that_wait_or_were_sent() -> None:
    for connect in (True, False):
        asking = Asking(connect=connect)
        ops = [get(asking), asking.prompts.complete("a", "x", "", 0.0)]
        asking.client.close(0.0, "bye")
        assert [asking.end(op).failure for op in ops] == [Closed("bye")] * 2
        with pytest.raises(LocalProtocolError):
            get(asking)
        assert asking.client.next_timeout() is None


# --- clocks -----------------------------------------------------------------------------------------


def test_before_the_era_is_known_the_clocks_run_from_the_command() -> None:
    asking = Asking(connect=False, quiet_timeout=8.0, total_timeout=16.0, probe_timeout=100.0)
    op = asking.prompts.get("a", None, 1.0)
    asking.wait(9.0)
    assert asking.end(op).failure == TimedOut("quiet", 8.0)


def test_the_total_clock_goes_on_when_the_request_is_sent_late() -> None:
    asking = Asking(connect=False, quiet_timeout=None, total_timeout=16.0, probe_timeout=100.0)
    op = asking.prompts.get("a", None, 0.0)
    asking.wait(10.0)
    asking.open()
    asking.one(GET)
    asking.wait(5.9375)
    assert asking.ends(op) == []
    asking.wait(0.0625)
    assert isinstance(asking.end(op).failure, TimedOut)
    assert asking.end(op).failure.limit == "total"


def test_what_was_sent_at_last_waits_no_longer_for_a_connection() -> None:
    asking = Asking(connect=False, quiet_timeout=8.0, probe_timeout=100.0)
    op = asking.prompts.get("a", None, 0.0)
    asking.wait(7.0)
    asking.open()
    asking.sent()
    asking.wait(7.9375)
    assert asking.ends(op) == []
    render(asking)
    asking.end(op)


def test_waiting_for_a_connection_can_end_by_the_total_clock_too() -> None:
    asking = Asking(connect=False, quiet_timeout=None, total_timeout=16.0, probe_timeout=100.0)
    op = asking.prompts.get("a", None, 0.0)
    asking.wait(16.0)
    assert asking.end(op).failure == TimedOut("total", 16.0)


def test_without_clocks_a_get_waits_for_ever() -> None:
    asking = Asking(connect=False, quiet_timeout=None, total_timeout=None, probe_timeout=1e12)
    op = asking.prompts.get("a", None, 0.0)
    asking.wait(1e9)
    assert asking.ends(op) == []
    asking.open()
    render(asking)
    asking.end(op)


def test_who_thinks_about_the_answer_has_all_the_time() -> None:
    asking = Asking()
    op = get(asking)
    ask(asking)
    asking.wait(100_000.0)
    assert asking.ends(op) == []
    answer(asking)
    render(asking)
    assert isinstance(asking.end(op), PromptRendered)


# --- multi round trips ------------------------------------------------------------------------------

QUESTION = {"q": {"method": "elicitation/create", "params": {"message": "?"}}}


def ask(asking: Asking, **members: Any) -> None:
    """Answer the get with a question."""
    asking.result(asking.one(GET), resultType="input_required", **(members or {"inputRequests": QUESTION}))


def answer(asking: Asking) -> dict[str, Any]:
    """Answer the question; the next leg."""
    needed = asking.every(InputNeeded)[-1]
    asking.client.provide_input(needed.call, {"q": {"action": "accept"}}, asking.now)
    return asking.one(GET)


def test_input_is_asked_for_under_the_command_and_each_leg_is_a_request_of_its_own() -> None:
    asking = Asking()
    op = get(asking, x="1")
    first = asking.one(GET)
    ask(asking, inputRequests=QUESTION, requestState="a\u2028==")
    assert [(event.op, event.round) for event in asking.every(InputNeeded)] == [(op, 1)]
    second = answer(asking)
    assert second["id"] != first["id"]
    assert second["params"]["arguments"] == {"x": "1"}
    assert second["params"]["requestState"] == "a\u2028=="
    assert second["params"]["inputResponses"] == {"q": {"action": "accept"}}
    ask(asking, requestState="only a state")
    third = asking.one(GET)
    assert third["params"]["requestState"] == "only a state"
    assert "inputResponses" not in third["params"]
    ask(asking)
    fourth = answer(asking)
    assert "requestState" not in fourth["params"]
    render(asking, text("done"))
    assert asking.end(op).result.messages[0].content == TextContent("done")


def test_questions_without_end_end_with_the_configured_round() -> None:
    asking = Asking(max_rounds=3)
    op = get(asking)
    for _ in range(3):
        ask(asking)
        answer(asking)
    ask(asking)
    assert asking.end(op).failure == TooManyRounds(3)


def test_between_rounds_a_get_can_be_cancelled_and_nothing_is_sent_about_it() -> None:
    asking = Asking()
    op = get(asking)
    ask(asking)
    asking.prompts.cancel(op, 0.0)
    assert asking.end(op).failure == Cancelled()
    assert asking.sent() == []


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"inputRequests": {}},
        {"inputRequests": {"q": {"method": "sampling/createMessage", "params": {}}}},
        {"inputRequests": {"q": {"method": "made/up", "params": {}}}},
        {"inputRequests": {"q": {"method": "elicitation/create", "params": {"mode": "url"}}}},
        {"inputRequests": 5},
    ],
)
def test_what_may_not_be_asked_for_is_no_result(members: dict[str, Any]) -> None:
    asking = Asking()
    op = get(asking)
    asking.result(asking.one(GET), resultType="input_required", **members)
    assert isinstance(asking.end(op).failure, InvalidReply)
    assert asking.every(InputNeeded) == []


def test_keys_of_questions_are_plain_data() -> None:
    asking = Asking()
    get(asking)
    ask(asking, inputRequests={"__proto__": QUESTION["q"], "__class__": QUESTION["q"]})
    (needed,) = asking.every(InputNeeded)
    assert [*needed.requests] == ["__proto__", "__class__"]


@pytest.mark.parametrize("kind", ["deferred", 5, None])
def test_an_unknown_kind_of_result_is_an_error(kind: Any) -> None:
    asking = Asking()
    op = get(asking)
    render(asking, text("x"), resultType=kind)
    assert isinstance(asking.end(op).failure, InvalidReply)


def test_a_result_without_a_kind_is_complete() -> None:
    asking = Asking()
    op = get(asking)
    asking.reply(asking.one(GET)["id"], {"messages": []})
    assert isinstance(asking.end(op), PromptRendered)


# --- stale names ------------------------------------------------------------------------------------


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


# --- losses -----------------------------------------------------------------------------------------


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


# --- completion -------------------------------------------------------------------------------------


def complete(asking: Asking, value: str = "v", **context: str) -> Op:
    return asking.prompts.complete("a", "x", value, asking.now, context)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_an_argument_is_completed(version: str) -> None:
    asking = Asking(version)
    op = complete(asking)
    params = asking.one(COMPLETE)["params"]
    assert params["ref"] == {"type": "ref/prompt", "name": "a"}
    assert params["argument"] == {"name": "x", "value": "v"}
    assert "context" not in params
    asking.result(asking.one(COMPLETE), completion={"values": ["va", "vb"], "total": 7, "hasMore": True})
    assert asking.end(op) == ArgumentCompleted(op, Completion(("va", "vb"), 7, True))


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_what_is_known_already_is_sent_where_the_revision_has_a_place_for_it(version: str) -> None:
    asking = Asking(version)
    complete(asking, y="known")
    context = asking.one(COMPLETE)["params"].get("context")
    assert context == (None if version in (V2024_11_05, V2025_03_26) else {"arguments": {"y": "known"}})


@pytest.mark.parametrize("declared", [SILENT, {"prompts": {}, "completions": None}])
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_completion_is_not_asked_of_a_server_that_did_not_declare_it(
    version: str, declared: dict[str, Any]
) -> None:
    asking = Asking(version, declared=declared)
    op = complete(asking)
    if version == V2024_11_05:  # has no such capability
        asking.refuse(-32601, COMPLETE)
        assert asking.end(op).failure == RpcError(-32601, "no")
    else:
        assert asking.asked(COMPLETE) == []
        assert asking.end(op).failure == NotSupported("completions")


def test_completion_of_prompts_needs_prompts() -> None:
    asking = Asking(declared={"completions": {}})
    assert asking.end(complete(asking)).failure == NotSupported("prompts")


def test_before_the_era_is_known_a_completion_waits_for_what_can_be_sent() -> None:
    for version, context in ((V2025_03_26, None), (V2025_06_18, {"arguments": {"y": "1"}})):
        asking = Asking(version, connect=False)
        op = complete(asking, y="1")
        asking.open()
        assert asking.one(COMPLETE)["params"].get("context") == context
        asking.result(asking.one(COMPLETE), completion={"values": []})
        assert asking.end(op).completion == Completion(())


def test_more_than_a_hundred_values_are_tolerated() -> None:
    asking = Asking()
    op = complete(asking)
    values = [str(number) for number in range(101)]
    asking.result(asking.one(COMPLETE), completion={"values": values})
    assert asking.end(op).completion.values == tuple(values)


@pytest.mark.parametrize(
    ("result", "path"),
    [
        ({}, "completion"),
        ({"completion": None}, "$.completion"),
        ({"completion": {}}, "$.completion"),
        ({"completion": {"values": "va"}}, "$.completion.values"),
        ({"completion": {"values": [5]}}, "$.completion.values[0]"),
    ],
)
def test_a_completion_of_the_wrong_form_fails(result: dict[str, Any], path: str) -> None:
    asking = Asking()
    op = complete(asking)
    asking.result(asking.one(COMPLETE), **result)
    failure = asking.end(op).failure
    assert isinstance(failure, InvalidReply)
    assert path in failure.reason


def test_an_error_to_a_completion_judges_no_name() -> None:
    asking = Asking()
    op = complete(asking)
    asking.refuse(-32602, COMPLETE)
    assert asking.end(op).failure == UNKNOWN
    assert asking.pages() == 0


def test_a_lost_completion_is_lost() -> None:
    asking = Asking()
    op = complete(asking)
    asking.cut()
    assert asking.end(op).failure == Lost("cut")


def test_a_completion_can_be_cancelled() -> None:
    asking = Asking()
    op = complete(asking)
    asking.sent()
    asking.prompts.cancel(op, 0.0)
    assert asking.end(op).failure == Cancelled()
    assert [message["method"] for message in asking.sent()] == ["notifications/cancelled"]


@pytest.mark.parametrize(
    ("name", "argument", "value", "context"),
    [
        (5, "x", "v", None),
        ("a", None, "v", None),
        ("a", "x", True, None),
        ("a", "x", "v", {"y": 5}),
        ("a", "x", "v", {"y": "\ud800"}),
        ("\ud800", "x", "v", {"ref": "y"}),
    ],
)
def test_a_completion_that_cannot_be_sent_is_refused_and_nothing_has_happened(
    name: Any, argument: Any, value: Any, context: Any
) -> None:
    asking = Asking()
    with pytest.raises(LocalProtocolError):
        asking.prompts.complete(name, argument, value, 0.0, context)
    assert asking.sent() == []
    assert complete(asking).number == 1


def test_what_a_layer_hears_of_a_call_that_has_ended_changes_nothing() -> None:
    asking = Asking()
    op = get(asking)
    request = asking.one(GET)
    asking.prompts.cancel(op, 0.0)
    asking.error(request["id"], -32602)
    asking.end(op)
    assert asking.pages() == 0
