"""What a prompt's function may return, and what is a mistake."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import Peer

from mcp_sansio import (
    AskInput,
    AudioContent,
    EmbeddedResource,
    GetPromptResult,
    HandlerFailed,
    ImageContent,
    InputRequest,
    PromptMessage,
    PromptRequested,
    ResourceLink,
    TextContent,
    TextResource,
    assistant,
    user,
)


def rendered(value: Any) -> tuple[dict[str, Any], Peer]:
    """The reply to a get whose function returned `value`."""
    peer = Peer()
    peer.say_modern(1, "prompts/get", {"name": "p0000"})
    peer.prompts.answer(peer.of(PromptRequested)[0], value, 0.0)
    (reply,) = peer.sent()
    return reply, peer


TEXT = {"role": "user", "content": {"type": "text", "text": "a"}}
SAID = PromptMessage("assistant", TextContent("b"))
SAID_WIRE = {"role": "assistant", "content": {"type": "text", "text": "b"}}


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("a", [TEXT]),
        ("", [{"role": "user", "content": {"type": "text", "text": ""}}]),
        (TextContent("a"), [TEXT]),
        (SAID, [SAID_WIRE]),
        ([user("a"), user(TextContent("a"))], [TEXT, TEXT]),
        (assistant(TextContent("a")), [{**TEXT, "role": "assistant"}]),
        (assistant("a"), [{**TEXT, "role": "assistant"}]),
        (["a", SAID, TextContent("a")], [TEXT, SAID_WIRE, TEXT]),
        (("a",), [TEXT]),
        ([], []),
        (GetPromptResult(()), []),
        (GetPromptResult((SAID,)), [SAID_WIRE]),
        (GetPromptResult([SAID]), [SAID_WIRE]),  # type: ignore[arg-type]  # as people write it
    ],
)
def test_text_blocks_messages_and_sequences_of_them(value: Any, messages: list[Any]) -> None:
    reply, peer = rendered(value)
    assert reply["result"]["messages"] == messages
    assert peer.events() == []


@pytest.mark.parametrize(
    "block",
    [
        ImageContent("ZA==", "image/png"),
        AudioContent("ZA==", "audio/wav"),
        ResourceLink("file:///a", "a"),
        EmbeddedResource(TextResource("file:///a", "x")),
    ],
)
def test_every_block_is_a_message_of_the_user(block: Any) -> None:
    reply, _ = rendered(block)
    (message,) = reply["result"]["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", block.type)


def mistaken(value: Any) -> None:
    reply, peer = rendered(value)
    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    (failed,) = peer.events()
    assert isinstance(failed, HandlerFailed)
    assert failed.reason
    assert peer.call(2, "prompts/list")["id"] == 2


MISTAKES: list[Any] = [
    None,
    5,
    b"bytes",
    object(),
    {"analysis_prompt": "..."},
    {"error": "x"},
    {"messages": []},
    [None],
    [["a"]],
    ["a", 5],
    {"a"},
    iter(["a"]),
    PromptMessage("system", TextContent("x")),  # type: ignore[arg-type]
    PromptMessage("user", "x"),  # type: ignore[arg-type]
    PromptMessage("user", [TextContent("x")]),  # type: ignore[arg-type]
    TextContent(5),  # type: ignore[arg-type]
    TextContent("\ud83d"),
    GetPromptResult(None),  # type: ignore[arg-type]
    GetPromptResult("text"),  # type: ignore[arg-type]
    GetPromptResult(("text",)),  # type: ignore[arg-type]
    GetPromptResult((), 5),  # type: ignore[arg-type]
    GetPromptResult((), None, [1]),  # type: ignore[arg-type]
    GetPromptResult((), extra={"resultType": "task"}),
    GetPromptResult((), extra={"messages": []}),
    GetPromptResult((), extra={"x": float("nan")}),
    GetPromptResult((), extra={5: 1}),  # type: ignore[dict-item]
    AskInput({"a": 5}),  # type: ignore[dict-item]
    AskInput(["a"]),  # type: ignore[arg-type]
    AskInput({"a": InputRequest("tools/call")}),
    AskInput({"a": InputRequest("roots/list", 5)}),  # type: ignore[arg-type]
    AskInput(state=object()),
    AskInput(state=float("nan")),
    AskInput(state="x" * 100_000),
]


@pytest.mark.parametrize("value", MISTAKES, ids=lambda value: repr(value).split(" at 0x")[0][:50])
def test_anything_else_is_a_neutral_failure(value: Any) -> None:
    """No guessing, and no word of it to the client. The official Python SDK shows such values as JSON."""
    mistaken(value)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        | st.builds(TextContent, inner)
        | st.builds(PromptMessage, inner, inner)
        | st.builds(GetPromptResult, inner, inner, inner, inner)
        | st.builds(InputRequest, inner, inner)
        | st.builds(AskInput, inner, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(ANYTHING)
def test_whatever_is_returned_there_is_one_reply(value: Any) -> None:
    reply, peer = rendered(value)
    assert reply["id"] == 1
    if "error" in reply and reply["error"]["code"] == -32603:
        assert len(peer.of(HandlerFailed)) == 1
    else:
        assert peer.events() == []
