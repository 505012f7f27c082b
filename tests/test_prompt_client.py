"""Gets: what is asked, what comes back, how long it may take, and questions on the way."""

from __future__ import annotations

from typing import Any

import pytest
from asking import (
    GET,
    QUESTION,
    Asking,
    answer,
    ask,
    both_eras,
    get,
    render,
    text,
)

from mcp_sansio import (
    ALL_VERSIONS,
    AudioContent,
    BlobResource,
    Cancelled,
    Closed,
    EmbeddedResource,
    ImageContent,
    InputNeeded,
    InvalidReply,
    LocalProtocolError,
    NotSupported,
    ProgressReported,
    PromptMessage,
    PromptRendered,
    ResourceLink,
    TextContent,
    TextResource,
    TimedOut,
    TooManyRounds,
)

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


def test_a_get_that_is_asked_once_more_when_its_time_is_over_ends_at_once() -> None:
    asking = Asking(quiet_timeout=None, total_timeout=16.0)
    asking.listed(["b"])
    op = get(asking, "a")
    asking.wait(1.0)
    asking.refuse(-32602, GET)
    asking.sent()
    asking.now = 16.0  # what comes at the deadline wins
    asking.page(["a"])
    assert asking.ends(op) == []
    asking.wait(0.0)
    assert asking.end(op).failure.limit == "total"


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
