"""Newline framing in use: bytes of any kind, cut anywhere, into a client or a server."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pair import CLIENT, SERVER
from script import Script

from mcp_sansio import (
    Abandon,
    CallFailed,
    CallId,
    CallSucceeded,
    Carrier,
    Client,
    ClientConfig,
    Diagnostic,
    Disconnected,
    InvalidReply,
    LineWire,
    LocalProtocolError,
    Lost,
    NotificationReceived,
    Outgoing,
    RequestCancelled,
    RequestReceived,
    Send,
    Server,
    ServerConfig,
    StreamEnded,
    WireFailed,
)
from mcp_sansio._json import Malformed, Notification

MODERN = "2026-07-28"
DISCOVERED = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {}}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Listener:
    """An endpoint that only writes down what it is told, and sends what it was given."""

    def __init__(self, *outgoing: Outgoing) -> None:
        self.told: list[Any] = []
        self.outgoing = list(outgoing)
        self.done = False
        self.want_read = True
        self.carrier: Carrier | None = None

    def attach(self, carrier: Carrier, now: float) -> None:
        self.carrier = carrier

    def carried_by(self, carrier: Carrier) -> bool:
        return carrier is self.carrier

    def receive(self, message: Any, now: float) -> None:
        self.told.append(message)

    def receive_eof(self, reason: str, now: float) -> None:
        self.told.append(("eof", reason))

    def detach(self, reason: str, now: float) -> None:
        self.carrier = None

    def fail(self, reason: str, now: float) -> None:
        self.told.append(("fail", reason))
        self.carrier = None

    def next_outgoing(self) -> Outgoing | None:
        return self.outgoing.pop(0) if self.outgoing else None


def heard(pieces: Iterable[bytes], **options: Any) -> list[Any]:
    """What an endpoint is told when these pieces arrive, and then the end."""
    endpoint = Listener()
    wire = LineWire(endpoint, 0.0, **options)
    for piece in pieces:
        wire.receive_data(piece, 0.0)
    wire.receive_eof(0.0)
    return endpoint.told


def modern(**wire: Any) -> tuple[Script, Client]:
    """A client whose server has turned out to be modern."""
    client = Client(ClientConfig(info=CLIENT))
    script = Script(client, **wire)
    script.reply(script.sent()[0]["id"], DISCOVERED)
    script.events()
    return script, client


def asked(script: Script, client: Client) -> tuple[CallId, int]:
    """A request under way, and its id on the wire."""
    call = client.request("x/ask", None, script.now)
    return call, script.sent()[-1]["id"]


def closed(wire: LineWire) -> bool:
    return wire.closed


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"


# --- cuts -------------------------------------------------------------------------------------------

STREAM = (
    b"\xef\xbb\xbf"
    + line(id=1, result={"text": "a\u2014b\u8a9e\U0001f389 \u2028\u2029\x85\x0b\x0c"})
    + b"\r\n \t\r\n"
    + b"\x1b[32mINFO\x1b[0m ready\r\n"
    + line(method="notifications/x", params={"long": "y" * 60})
    + b"z" * 130
    + b"\n"
    + line(id="two", error={"code": -32000, "message": "no"})
    + b"\xf0\x9f\x9a\x80 started\n"
    + b'{"jsonrpc":"2.0","id":3,"result":{"last":true}}'
)
LIMIT = 110


def test_a_stream_is_the_same_byte_by_byte() -> None:
    whole = heard([STREAM], max_line=LIMIT)
    assert len(whole) == 8
    single = [STREAM[at : at + 1] for at in range(len(STREAM))]
    assert heard(single, max_line=LIMIT) == whole
    with_nothing = [piece for byte in single for piece in (b"", byte, b"")]
    assert heard(with_nothing, max_line=LIMIT) == whole


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_a_stream_is_the_same_however_it_was_cut(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(ends)]
    assert heard(pieces, max_line=LIMIT) == heard([STREAM], max_line=LIMIT)


@pytest.mark.parametrize("over", [-1, 0, 1, 2])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_the_limit_is_exact_wherever_the_line_is_cut(over: int, end: bytes) -> None:
    text = line(method="notifications/x", params={"t": "t" * 40})[:-1]
    limit = len(text) + len(end.rstrip(b"\n")) - over
    whole = heard([text + end], max_line=limit)
    assert (type(whole[0]).__name__ == "Malformed") is (over > 0)
    for cut in range(len(text + end) + 1):
        pieces = [(text + end)[:cut], (text + end)[cut:]]
        assert heard(pieces, max_line=limit) == whole
    assert heard([bytes([byte]) for byte in text + end], max_line=limit) == whole


# --- noise ------------------------------------------------------------------------------------------


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


# --- the end ----------------------------------------------------------------------------------------


def test_a_last_line_without_its_newline_counts_if_it_is_complete() -> None:
    script, client = modern()
    call, wire_id = asked(script, client)
    script.raw(line(id=wire_id, result={"a": 1})[:-1])
    assert script.events() == []
    script.wire.receive_eof(script.now, "gone")
    assert script.events() == [CallSucceeded(call, {"a": 1}), Disconnected("gone")]


def test_half_a_message_at_the_end_is_none() -> None:
    script, client = modern()
    call, wire_id = asked(script, client)
    script.raw(line(id=wire_id, result={"a": 1})[:-3])
    script.wire.receive_eof(script.now, "exit code 3: out of memory")
    diagnostic, disconnected, failed = script.events()
    assert isinstance(diagnostic, Diagnostic)
    assert disconnected == Disconnected("exit code 3: out of memory")
    assert failed == CallFailed(call, Lost("exit code 3: out of memory"))


def test_after_the_end_a_client_wire_is_closed_and_deaf() -> None:
    script, client = modern()
    wire = script.wire
    assert not closed(wire)
    wire.receive_eof(script.now)
    assert client.next_ready() is wire
    assert wire.data_to_send() == []
    assert closed(wire)
    assert not wire.want_read
    script.events()
    wire.receive_data(b"noise\n", script.now)
    wire.receive_eof(script.now)
    wire.abort(script.now)
    wire.close(script.now)
    assert script.events() == []
    assert wire.data_to_send() == []


def test_a_server_wire_closes_once_what_is_owed_is_written() -> None:
    server = Server(ServerConfig(info=SERVER, methods=("x/ask",)))
    script = Script(server)
    script.request(1, "x/ask", {"_meta": META})
    [received] = script.of(RequestReceived)
    script.wire.receive_eof(script.now)
    assert script.sent() == []
    assert not closed(script.wire)
    assert not script.wire.want_read
    server.respond(received.request, {"a": 1}, script.now)
    [answer] = script.sent()
    assert answer["result"]["a"] == 1
    assert closed(script.wire)


def test_closing_a_wire_writes_what_is_queued_first() -> None:
    script, client = modern()
    client.notify("notifications/last", None, script.now)
    script.wire.close(script.now)
    assert not script.wire.want_read
    assert not closed(script.wire)
    script.raw(line(method="notifications/too-late"))
    assert [message["method"] for message in script.sent()] == ["notifications/last"]
    assert closed(script.wire)
    assert script.events() == [Disconnected("closed")]


def test_the_end_comes_once_however_often_it_is_told() -> None:
    endpoint = Listener()
    wire = LineWire(endpoint, 0.0)
    wire.receive_eof(0.0, "gone")
    wire.receive_eof(0.0, "gone again")
    assert endpoint.told == [("eof", "gone")]


def test_an_end_without_a_reason_says_what_it_was() -> None:
    assert heard([]) == [("eof", "end of input")]
    endpoint = Listener()
    LineWire(endpoint, 0.0).abort(0.0)
    assert endpoint.told == [("fail", "aborted")]


def test_the_end_of_a_wire_that_was_let_go_is_not_the_end_of_the_next() -> None:
    script, client = modern()
    old = script.wire
    client.detach("moved", script.now)
    script.reconnect()
    script.events()
    old.receive_eof(script.now, "late")
    assert script.events() == []
    assert not closed(script.wire)


def test_what_is_queued_after_closing_is_not_written() -> None:
    endpoint = Listener(Send(b'{"a":1}'))
    wire = LineWire(endpoint, 0.0)
    wire.close(0.0)
    endpoint.outgoing.append(Send(b'{"b":2}'))
    wire.close(0.0)
    assert b"".join(wire.data_to_send()) == b'{"a":1}\n'
    assert closed(wire)


def test_closing_a_server_wire_drops_what_is_owed() -> None:
    server = Server(ServerConfig(info=SERVER, methods=("x/ask",)))
    script = Script(server)
    for number in (1, 2):
        script.request(number, "x/ask", {"_meta": META})
    first, second = script.of(RequestReceived)
    server.respond(first.request, {}, script.now)
    script.wire.close(script.now)
    cancelled, ended = script.events()
    assert cancelled == RequestCancelled(second.request, "closed")
    assert isinstance(ended, StreamEnded)
    assert [message["id"] for message in script.sent()] == [1]
    assert closed(script.wire)
    with pytest.raises(LocalProtocolError):
        server.respond(second.request, {}, script.now)


def test_closing_a_wire_twice_is_closing_it_once() -> None:
    script, client = modern()
    client.notify("notifications/last", None, script.now)
    script.wire.close(script.now)
    script.wire.close(script.now)
    assert len(script.sent()) == 1
    assert closed(script.wire)


def test_an_aborted_wire_writes_nothing_more() -> None:
    script, client = modern()
    client.notify("notifications/last", None, script.now)
    script.wire.close(script.now)
    script.wire.abort(script.now, "the write was cancelled")
    assert closed(script.wire)
    assert script.wire.data_to_send() == []


def test_a_failed_write_is_reported_once_and_ends_the_calls() -> None:
    script, client = modern()
    call, _ = asked(script, client)
    wire = script.wire
    wire.abort(script.now, "broken pipe")
    assert closed(wire)
    assert client.next_ready() is wire
    assert wire.data_to_send() == []
    assert script.events() == [
        WireFailed(wire, "broken pipe"),
        Disconnected("broken pipe"),
        CallFailed(call, Lost("broken pipe")),
    ]
    wire.abort(script.now, "again")
    assert script.events() == []
    assert client.next_timeout() is None


def test_the_bytes_of_an_old_wire_mean_nothing_to_the_new_one() -> None:
    script, client = modern()
    old = script.wire
    call = client.request("x/ask", None, script.now)
    old.receive_eof(script.now)
    script.reconnect()
    wire_id = script.sent()[0]["id"]
    late = line(id=wire_id, result=DISCOVERED)
    old.receive_data(late, script.now)
    old.receive_eof(script.now, "late")
    old.abort(script.now, "later")
    assert [type(event) for event in script.events()] == [Disconnected]
    script.raw(late)
    [waiting] = script.sent()
    script.reply(waiting["id"], {})
    assert CallSucceeded(call, {}) in script.events()


def test_a_client_has_one_carrier_at_a_time() -> None:
    script, client = modern()
    with pytest.raises(LocalProtocolError):
        LineWire(client, script.now)
    call, wire_id = asked(script, client)
    script.reply(wire_id, {})
    assert script.of(CallSucceeded) == [CallSucceeded(call, {})]


def test_back_pressure_is_the_endpoints() -> None:
    endpoint = Listener()
    wire = LineWire(endpoint, 0.0)
    assert wire.want_read
    endpoint.want_read = False
    assert not wire.want_read


def test_messages_leave_as_lines_in_their_order() -> None:
    endpoint = Listener(Send(b'{"a":1}'), Send(b'{"b":2}'))
    wire = LineWire(endpoint, 0.0)
    assert wire.token is None
    wire.token = slot = object()
    assert b"".join(wire.data_to_send()) == b'{"a":1}\n{"b":2}\n'
    assert wire.data_to_send() == []
    assert wire.token is slot


def test_abandoning_an_exchange_means_nothing_on_a_shared_channel() -> None:
    wire = LineWire(Listener(Abandon(1), Send(b"{}")), 0.0)
    assert b"".join(wire.data_to_send()) == b"{}\n"


def test_an_endpoint_that_has_let_go_hears_nothing() -> None:
    script, client = modern()
    client.detach("let go", script.now)
    script.raw(line(method="notifications/x"))
    script.wire.receive_eof(script.now, "late")
    assert script.events() == [Disconnected("let go")]
    assert script.sent() == []
    assert closed(script.wire)
