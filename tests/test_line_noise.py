"""Bytes of any kind on a wire of lines: each bad message costs that message, and no more."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from line_ends import DISCOVERED, MODERN, asked, heard, line, modern
from pair import CLIENT, SERVER
from script import Script

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Client,
    ClientConfig,
    Diagnostic,
    InvalidReply,
    LocalProtocolError,
    NotificationReceived,
    Server,
    ServerConfig,
)
from mcp_sansio._json import Malformed, Notification


def test_banners_and_log_lines_are_reported_and_skipped() -> None:
    """The official SDK's stdio client does the same: the parse error becomes a value for its session."""
    client = Client(ClientConfig(info=CLIENT))
    script = Script(client)
    wire_id = script.sent()[0]["id"]
    script.raw(b"My Server v1.2 started\n" + line(id=wire_id, result=DISCOVERED) + b"[db] connected\n")
    script.raw(b"\xf0\x9f\x9a\x80 ready\n\x1b[32mINFO\x1b[0m listening\n\n  \n")
    noise = [event for event in script.of(Diagnostic) if event.kind == "bad-message"]
    assert [event.data for event in noise] == [
        b"My Server v1.2 started",
        b"[db] connected",
        b"\xf0\x9f\x9a\x80 ready",
        b"\x1b[32mINFO\x1b[0m listening",
    ]
    call, wire_id = asked(script, client)
    script.reply(wire_id, {"a": 1})
    assert script.of(CallSucceeded) == [CallSucceeded(call, {"a": 1})]


def test_a_carriage_return_ends_no_line() -> None:
    script, client = modern()
    _, wire_id = asked(script, client)
    script.raw(b"10%\r20%\r" + line(id=wire_id, result={}))
    assert [event.kind for event in script.of(Diagnostic)] == ["bad-message"]


def test_what_a_client_reads_in_error_is_never_answered() -> None:
    script, _ = modern()
    script.raw(b"noise\n[1,2]\n[]\n17\n" + line(id=5, method="x", params=[]) + b"{" * 5 + b"\n")
    assert script.sent() == []


def test_a_server_answers_each_unreadable_line() -> None:
    script = Script(Server(ServerConfig(info=SERVER)))
    script.raw(b"noise\n" + line(id=5, method="x", params=[]) + b'{"id":6,"method":"x"}\nmore noise\n')
    answers = [(message.get("id"), message["error"]["code"]) for message in script.sent()]
    assert answers == [(None, -32700), (5, -32602), (6, -32600), (None, -32700)]
    script = Script(Server(ServerConfig(info=SERVER)), max_line=50)
    script.raw(b"w" * 99 + b"\n" + line(id=1, method="ping"))
    refusal, pong = script.sent()
    assert refusal["error"]["code"] == -32600
    assert "99 bytes" in refusal["error"]["message"]
    assert pong == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_only_newlines_split() -> None:
    text = "a\u2028b\u2029c\x85d"
    script, client = modern()
    call, wire_id = asked(script, client)
    data = line(id=wire_id, result={"text": text})
    assert text.encode() in data
    script.raw(data)
    assert script.events() == [CallSucceeded(call, {"text": text})]


def test_a_byte_order_mark_is_for_the_start_of_a_stream() -> None:
    note = line(method="notifications/x")
    at_start, later = heard([b"\xef\xbb\xbf" + note]), heard([note + b"\xef\xbb\xbf" + note])
    assert type(at_start[0]).__name__ == "Notification"
    assert [type(message).__name__ for message in later[:2]] == ["Notification", "Malformed"]


def test_bad_text_costs_its_own_request_only() -> None:
    """The official SDK's stdio client decodes the stream as text, strictly unless configured otherwise: such
    a byte ends its reader with a `UnicodeDecodeError`.
    """
    script, client = modern()
    first, first_id = asked(script, client)
    second, second_id = asked(script, client)
    script.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":"\x97"}}\n' % first_id)
    script.reply(second_id, {"x": "fine"})
    failed, succeeded = script.events()
    assert isinstance(failed, CallFailed)
    assert failed.call == first
    assert isinstance(failed.failure, InvalidReply)
    assert succeeded == CallSucceeded(second, {"x": "fine"})


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_what_is_no_json_number_fails_the_request_at_once(number: bytes) -> None:
    script, client = modern()
    call, wire_id = asked(script, client)
    script.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"ttlMs":%b}}\n' % (wire_id, number))
    [event] = script.of(CallFailed)
    assert event.call == call
    assert isinstance(event.failure, InvalidReply)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud83d", {1: 2}, object()])
def test_what_json_cannot_carry_is_refused_before_it_is_written(value: Any) -> None:
    script, client = modern()
    for action in (
        lambda: client.request("x", {"v": value}, 0.0),
        lambda: client.request("x", None, 0.0, meta={"v": value}),
        lambda: client.notify("x", {"v": value}, 0.0),
    ):
        with pytest.raises(LocalProtocolError):
            action()
    assert script.sent() == []


@pytest.mark.parametrize("size", [65_537, 1024 * 1024, 8 * 1024 * 1024])
def test_large_lines_arrive(size: int) -> None:
    script, client = modern()
    call, wire_id = asked(script, client)
    data = line(id=wire_id, result={"t": "t" * size})
    for at in range(0, len(data), 65_536):
        script.raw(data[at : at + 65_536])
    assert script.of(CallSucceeded) == [CallSucceeded(call, {"t": "t" * size})]


def test_a_good_message_before_an_overlong_line_is_delivered_first() -> None:
    script, client = modern(max_line=200)
    call, wire_id = asked(script, client)
    script.raw(line(id=wire_id, result={}) + b"x" * 300)
    assert script.events() == [CallSucceeded(call, {})]
    script.raw(b"x" * 300)
    assert script.events() == []
    script.raw(b"\n")
    assert script.events() == [Diagnostic("bad-message", "a line of 600 bytes is over the limit", b"x" * 200)]


def test_an_endless_line_takes_bounded_memory() -> None:
    """The official SDK's stdio client keeps such a line whole, whatever its size."""
    script, client = modern(max_line=1000)
    piece = b"x" * (1024 * 1024)
    tracemalloc.start()
    for _ in range(100):
        script.raw(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(piece)
    call, wire_id = asked(script, client)
    script.raw(b"\n" + line(id=wire_id, result={}))
    diagnostic, succeeded = script.events()
    assert isinstance(diagnostic, Diagnostic)
    assert len(diagnostic.data) == 200
    assert succeeded == CallSucceeded(call, {})


@pytest.mark.parametrize("open_bracket", [b"[", b'{"a":'])
def test_brackets_without_end_are_one_bad_message(open_bracket: bytes) -> None:
    script, client = modern()
    call, wire_id = asked(script, client)
    deep = open_bracket * 100_000
    script.raw(deep + b"\n")
    script.raw(b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":' + deep + b"}}\n")
    script.raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":%b}}\n' % (wire_id, b"[" * 129 + b"]" * 129))
    first, second, failed = script.events()
    assert isinstance(first, Diagnostic)
    assert isinstance(second, Diagnostic)
    assert isinstance(failed, CallFailed)
    assert failed.call == call


def test_the_depth_of_messages_can_be_limited_further() -> None:
    script, _ = modern(max_depth=4)
    script.notify("notifications/x", {"a": [[[1]]]})
    script.notify("notifications/x", {"a": [[[[1]]]]})
    assert [type(event) for event in script.events()] == [NotificationReceived, Diagnostic]


def test_unless_they_are_limited_further_params_nest_128_deep() -> None:
    def nested(levels: int) -> bytes:
        params = b'{"k":' + b"[" * levels + b"]" * levels + b"}"
        return b'{"jsonrpc":"2.0","method":"notifications/x","params":%b}\n' % params

    told = heard([nested(127), nested(128)])
    assert [type(message) for message in told[:-1]] == [Notification, Malformed]


@given(st.binary(max_size=300))
@example(b'{"jsonrpc":"2.0","id":true,"result":{}}')
@example(b'{"jsonrpc":"2.0","id":2,"error":{"code":1e999,"message":"x"}}')
@example(b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"result":{}}')
@example(b'[{"jsonrpc":"2.0","id":2,"result":{}}]')
@example(b"\x00\xff\xfe")
def test_no_bytes_raise_or_end_the_session(garbage: bytes) -> None:
    script, client = modern()
    call, wire_id = asked(script, client)
    script.raw(garbage + b"\n")
    script.events()
    call, wire_id = asked(script, client)
    script.reply(wire_id, {})
    assert CallSucceeded(call, {}) in script.events()


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


METHODS = st.sampled_from(
    [
        "notifications/cancelled",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/subscriptions/acknowledged",
        "ping",
        "roots/list",
    ]
)


MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "requestId": st.integers(0, 4) | JSON,
    "progressToken": st.integers(0, 4) | JSON,
    "progress": JSON,
    "inputRequests": st.dictionaries(
        st.text(max_size=2),
        st.fixed_dictionaries(
            {"method": st.sampled_from(["elicitation/create", "sampling/createMessage"]) | JSON},
            optional={"params": st.fixed_dictionaries({}, optional={"mode": JSON, "tools": JSON}) | JSON},
        ),
        max_size=2,
    ),
    "requestState": JSON,
    "resultType": st.sampled_from(["complete", "input_required"]) | JSON,
    "supportedVersions": st.lists(st.just(MODERN) | JSON, max_size=2),
    "protocolVersion": st.just("2025-06-18") | JSON,
    "capabilities": JSON,
    "notifications": JSON,
    "_meta": st.fixed_dictionaries({}, optional={"io.modelcontextprotocol/subscriptionId": JSON}) | JSON,
}


OBJECTS = st.fixed_dictionaries({}, optional=MEMBERS)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": st.integers(0, 4) | JSON,
        "method": METHODS | JSON,
        "params": OBJECTS | JSON,
        "result": OBJECTS | JSON,
        "error": st.fixed_dictionaries(
            {"code": st.sampled_from([-32022, -32021, -32602, -32601]), "message": st.just("no")},
            optional={"data": st.fixed_dictionaries({}, optional={"supported": JSON})},
        ),
    },
)


@given(
    st.lists(MESSAGES | st.lists(MESSAGES, max_size=2), max_size=8),
    st.lists(st.floats(0, 40), max_size=4),
)
def test_no_message_raises_whatever_it_holds(messages: list[Any], waits: list[float]) -> None:
    config = ClientConfig(info=CLIENT, capabilities={"elicitation": {}}, answers=("roots/list",))
    client = Client(config)
    script = Script(client)
    calls = [client.request("tools/call", {}, 0.0, progress=True) for _ in range(2)]
    for message in messages:
        script.sent()
        script.raw(json.dumps(message).encode() + b"\n")
    for seconds in waits:
        script.wait(seconds)
        script.sent()
    client.close(script.now)
    ended = [event.call for event in script.events() if isinstance(event, CallSucceeded | CallFailed)]
    assert sorted(call.number for call in ended) == sorted(call.number for call in calls)
