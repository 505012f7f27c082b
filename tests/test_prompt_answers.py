"""Getting and completing: what is refused, what reaches the application, and what becomes of its answer."""

from __future__ import annotations

from typing import Any

import pytest
from pair import prompt
from serving import (
    EVERY,
    LEGACY,
    MODERN,
    Peer,
    complete,
    completing,
    refused,
    speaking,
)

from mcp_sansio import (
    AudioContent,
    Catalogue,
    Completion,
    CompletionRequested,
    EmbeddedResource,
    GetPromptResult,
    HandlerFailed,
    ImageContent,
    IncomingRequest,
    PromptMessage,
    PromptRequested,
    ResourceLink,
    TextContent,
    TextResource,
)

# --- get --------------------------------------------------------------------------------------------


def rich() -> Catalogue:
    prompts = Catalogue()
    prompts.add(prompt("build", "repository", "branch", optional=["note"]), lambda **given: repr(given))
    prompts.add(prompt("User Summary"))
    return prompts


def got(peer: Peer, params: Any) -> PromptRequested:
    peer.request(1, "prompts/get", params)
    (asked,) = peer.of(PromptRequested)
    return asked


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (None, ["name"]),
        ({}, ["name"]),
        ({"name": None}, ["name"]),
        ({"name": 5}, ["name"]),
        ({"name": ["build"]}, ["name"]),
        ({"name": "ghost"}, ["name", "'ghost'"]),
        ({"name": "Build"}, ["name"]),
        ({"name": "__class__"}, ["name"]),
        ({"name": "../../etc/passwd"}, ["name"]),
        ({"name": "x\0"}, ["name"]),
        ({"name": ""}, ["name"]),
        ({"name": "build"}, ["arguments", "repository", "branch"]),
        ({"name": "build", "arguments": {}}, ["arguments", "repository", "branch"]),
        ({"name": "build", "arguments": {"branch": "b"}}, ["arguments", "repository"]),
        ({"name": "build", "arguments": []}, ["arguments"]),
        ({"name": "build", "arguments": "x"}, ["arguments"]),
        ({"name": "build", "arguments": {"repository": True, "branch": ""}}, ["arguments.repository"]),
        ({"name": "build", "arguments": {"repository": 123, "branch": ""}}, ["arguments.repository"]),
        ({"name": "build", "arguments": {"repository": None, "branch": ""}}, ["arguments.repository"]),
        ({"name": "build", "arguments": {"repository": ["x"], "branch": ""}}, ["arguments.repository"]),
        ({"name": "build", "arguments": {"repository": "", "branch": "", "more": 1}}, ["arguments.more"]),
    ],
)
def test_a_get_that_cannot_be_answered_says_which_field_is_wrong(params: Any, named: list[str]) -> None:
    peer = speaking("2025-11-25", rich())
    refused(peer.ask(1, "prompts/get", params), -32602, *named)
    assert peer.events() == []  # none of this is the server's fault


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({"repository": "", "branch": ""}, {"repository": "", "branch": ""}),
        (
            {"repository": "r", "branch": "b", "note": "é\u2028"},
            {"repository": "r", "branch": "b", "note": "é\u2028"},
        ),
        ({"repository": '["a","b"]', "branch": "None"}, {"repository": '["a","b"]', "branch": "None"}),
    ],
)
def test_arguments_are_passed_as_they_are(arguments: dict[str, str], passed: dict[str, str]) -> None:
    """Present but empty is not missing, and no string is taken for anything else."""
    asked = got(speaking("2025-11-25", rich()), {"name": "build", "arguments": arguments})
    assert asked.arguments == passed
    assert asked.prompt.name == "build"
    assert (asked.responses, asked.state) == ({}, None)


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}])
def test_arguments_may_be_missing_where_none_is_required(arguments: dict[str, Any]) -> None:
    asked = got(speaking("2025-11-25", rich()), {"name": "User Summary", **arguments})
    assert asked.arguments == {}


@pytest.mark.parametrize("version", EVERY)
def test_a_rendered_prompt(version: str) -> None:
    peer = speaking(version, rich())
    params = {"name": "build", "arguments": {"repository": "r", "branch": "b"}}
    if version == MODERN:
        peer.say_modern(1, "prompts/get", params)
    else:
        peer.request(1, "prompts/get", params)
    (asked,) = peer.of(PromptRequested)
    assert asked.request.version == version
    messages = (
        PromptMessage("user", TextContent("a")),
        PromptMessage("assistant", TextContent('c\n"d"')),
        PromptMessage("user", ImageContent("ZA==", "image/png")),
        PromptMessage("user", EmbeddedResource(TextResource("file:///a%20b", "x"))),
    )
    peer.prompts.answer(asked, GetPromptResult(messages, "what it is", {"k": 1}, {"x/extra": [1]}), 0.0)
    result = peer.sent()[0]["result"]
    assert [message["role"] for message in result["messages"]] == ["user", "assistant", "user", "user"]
    assert result["messages"][1]["content"] == {"type": "text", "text": 'c\n"d"'}
    assert result["messages"][3]["content"]["resource"] == {"uri": "file:///a%20b", "text": "x"}
    assert result["description"] == "what it is"
    assert result["x/extra"] == [1]
    assert result["_meta"]["k"] == 1
    assert ("resultType" in result) is (version == MODERN)


@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize(
    ("block", "since"),
    [
        (AudioContent("ZA==", "audio/wav"), "2025-03-26"),
        (ResourceLink("file:///a", "a"), "2025-06-18"),
    ],
)
def test_what_a_revision_cannot_express_is_a_neutral_failure(version: str, block: Any, since: str) -> None:
    peer = speaking(version)
    if version == MODERN:
        peer.say_modern(1, "prompts/get", {"name": "p0000"})
    else:
        peer.request(1, "prompts/get", {"name": "p0000"})
    (asked,) = peer.of(PromptRequested)
    peer.prompts.answer(asked, ["hello", block], 0.0)
    (reply,) = peer.sent()
    if version >= since:
        assert reply["result"]["messages"][1]["content"]["type"] == block.type
        assert peer.events() == []
    else:
        assert reply["error"] == {"code": -32603, "message": "Internal error"}
        (failed,) = peer.events()
        assert isinstance(failed, HandlerFailed)
        assert version in failed.reason


# --- complete ---------------------------------------------------------------------------------------


def test_completion_from_a_list() -> None:
    peer = completing()
    result = peer.call(1, "completion/complete", complete({"name": "a", "value": "t"}))["result"]
    assert result["completion"] == {"values": ["two", "three"], "total": 2, "hasMore": False}
    assert result["resultType"] == "complete"
    assert peer.events() == []


def test_an_argument_that_has_no_completer_has_no_values() -> None:
    result = completing().call(1, "completion/complete", complete({"name": "c", "value": ""}))["result"]
    assert result["completion"]["values"] == []


@pytest.mark.parametrize(
    ("more", "context"),
    [
        ({}, {}),
        ({"context": None}, {}),
        ({"context": {}}, {}),
        ({"context": {"arguments": None}}, {}),
        ({"context": {"arguments": {"a": "x"}}}, {"a": "x"}),
    ],
)
def test_completion_by_the_application(more: dict[str, Any], context: dict[str, str]) -> None:
    peer = completing()
    peer.say_modern(1, "completion/complete", complete({"name": "b", "value": "v"}, **more))
    (asked,) = peer.of(CompletionRequested)
    assert (asked.argument, asked.value, asked.context) == ("b", "v", context)
    assert asked.prompt.name == "p"
    assert callable(asked.completer)
    peer.prompts.complete(asked, asked.completer(asked.value, asked.context), 0.0)
    assert peer.sent()[0]["result"]["completion"]["values"] == ["v", *context.values()]


@pytest.mark.parametrize("version", LEGACY)
def test_context_belongs_to_the_revisions_that_have_it(version: str) -> None:
    peer = completing()
    peer.speak(version)
    params = complete({"name": "b", "value": "v"}, context={"arguments": {"a": "x"}})
    peer.request(1, "completion/complete", params)
    (asked,) = peer.of(CompletionRequested)
    assert asked.context == ({"a": "x"} if version >= "2025-06-18" else {})


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "ref"),
        (complete({"name": "a", "value": ""}, ref="p"), "ref"),
        (complete({"name": "a", "value": ""}, ref={"type": "ref/resource", "uri": "file:///{a}"}), "ref"),
        (complete({"name": "a", "value": ""}, ref={"name": "p"}), "ref"),
        (complete({"name": "a", "value": ""}, ref={"type": "ref/prompt"}), "ref.name"),
        (complete({"name": "a", "value": ""}, ref={"type": "ref/prompt", "name": 5}), "ref.name"),
        (complete({"name": "a", "value": ""}, ref={"type": "ref/prompt", "name": "ghost"}), "ref.name"),
        (complete(None), "argument"),
        (complete("a"), "argument"),
        (complete({"name": "a"}), "argument"),
        (complete({"value": ""}), "argument"),
        (complete({"name": 5, "value": ""}), "argument"),
        (complete({"name": "a", "value": 5}), "argument"),
        (complete({"name": "x", "value": ""}), "argument.name"),
        (complete({"name": "a", "value": ""}, context=[]), "context"),
        (complete({"name": "a", "value": ""}, context={"arguments": []}), "context.arguments"),
        (complete({"name": "a", "value": ""}, context={"arguments": {"b": 1}}), "context.arguments.b"),
    ],
)
def test_a_completion_that_cannot_be_made_says_which_field_is_wrong(
    params: dict[str, Any], named: str
) -> None:
    peer = completing()
    refused(peer.call(1, "completion/complete", params), -32602, named)
    assert peer.events() == []


@pytest.mark.parametrize(
    ("values", "shown", "total", "more"),
    [
        ([], 0, 0, False),
        (["v"] * 100, 100, 100, False),
        (["v"] * 101, 100, 101, True),
        (("v",) * 250, 100, 250, True),
        (Completion(("v",)), 1, None, None),
        (Completion(("v",), 7, has_more=True), 1, 7, True),
        (Completion(("v",) * 100, 5000, has_more=False), 100, 5000, False),
        (Completion(("v",) * 101, 5000, has_more=False), 100, 5000, True),
        (Completion(["v"] * 3), 3, None, None),  # type: ignore[arg-type]  # as people write it
    ],
)
def test_at_most_100_values(values: Any, shown: int, total: int | None, more: bool | None) -> None:
    peer = completing()
    peer.say_modern(1, "completion/complete", complete({"name": "b", "value": ""}))
    peer.prompts.complete(peer.of(CompletionRequested)[0], values, 0.0)
    completion = peer.sent()[0]["result"]["completion"]
    assert len(completion["values"]) == shown
    assert (completion.get("total"), completion.get("hasMore")) == (total, more)


@pytest.mark.parametrize(
    "values",
    [None, 5, "text", {"a"}, {"a": 1}, [1], [None], ["\ud83d"], Completion(5), Completion(("a",), "7")],  # type: ignore[arg-type]  # mistakes
)
def test_a_completer_that_returns_something_else_is_a_neutral_failure(values: Any) -> None:
    peer = completing()
    peer.say_modern(1, "completion/complete", complete({"name": "b", "value": ""}))
    peer.prompts.complete(peer.of(CompletionRequested)[0], values, 0.0)
    assert peer.sent()[0]["error"] == {"code": -32603, "message": "Internal error"}
    assert len(peer.of(HandlerFailed)) == 1
    assert peer.call(2, "prompts/list")["id"] == 2


@pytest.mark.parametrize("version", EVERY)
def test_without_completions_there_is_no_such_method(version: str) -> None:
    peer = completing(serving={"completions": False})
    peer.speak(version)
    refused(peer.use(1, "completion/complete", complete({"name": "a", "value": ""})), -32601)


def test_the_oldest_revision_declares_no_completions_but_has_them() -> None:
    peer = completing()
    peer.speak("2024-11-05")
    assert peer.use(1, "completion/complete", complete({"name": "a", "value": "o"}))["result"] == {
        "completion": {"values": ["one"], "total": 1, "hasMore": False}
    }


def test_completions_can_be_limited() -> None:
    seen: list[tuple[str | None, float]] = []

    def allow(request: IncomingRequest, now: float) -> bool:
        seen.append((request.principal, now))
        return len(seen) < 3

    peer = completing(serving={"allow_completion": allow}, principal="ann")
    peer.now = 7.0
    params = complete({"name": "a", "value": ""})
    replies = [peer.call(number, "completion/complete", params) for number in range(3)]
    assert ["result" in reply for reply in replies] == [True, True, False]
    refused(replies[2], -32603, "too many")
    assert seen == [("ann", 7.0)] * 3
