"""Newline framing in use: lines that are cut anywhere, and how a wire ends."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from line_ends import DISCOVERED, MODERN, Listener, asked, heard, line, modern
from pair import SERVER
from script import Script

from mcp_sansio import (
    Abandon,
    CallFailed,
    CallSucceeded,
    Diagnostic,
    Disconnected,
    LineWire,
    LocalProtocolError,
    Lost,
    RequestCancelled,
    RequestReceived,
    Send,
    Server,
    ServerConfig,
    StreamEnded,
    WireFailed,
)

META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def closed(wire: LineWire) -> bool:
    return wire.closed


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


@pytest.mark.parametrize("size", [1, 5000])
def test_every_notification_is_heard_however_alike_they_are(size: int) -> None:
    *told, _ = heard([line(method="notifications/x", params={"a": "y" * size}), b"\n"] * 3)
    assert [message.method for message in told] == ["notifications/x"] * 3
    assert len({message.params for message in told}) == 1
