"""Envelopes: whatever arrives becomes exactly one value."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from json_values import JSON, nested

from mcp_sansio._errors import InvalidMessage, RpcError
from mcp_sansio._json import (
    MAX_DEPTH,
    Batch,
    ErrorResponse,
    Malformed,
    Notification,
    Request,
    RequestId,
    Response,
    decode,
    parse,
    too_deep,
)

NO_ID = "id is neither an integer nor a string of at most 65536 characters"


def malformed(line: bytes, *, max_depth: int = MAX_DEPTH) -> Malformed:
    message = parse(line, max_depth=max_depth)
    assert isinstance(message, Malformed)
    return message


# --- reading: messages that are right ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(1, "ping", None)),
        (b'{"jsonrpc":"2.0","id":0,"method":"ping"}', Request(0, "ping", None)),
        (b'{"jsonrpc":"2.0","id":"","method":""}', Request("", "", None)),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}', Request(1, "m", None)),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params": {"a" : 1} }', Request(1, "m", b'{"a" : 1}')),
        (b'{"jsonrpc":"2.0","method":"n"}', Notification("n", None)),
        (b'{"jsonrpc":"2.0","method":"n","params":{}}', Notification("n", b"{}")),
        (b'{"jsonrpc":"2.0","id":1,"result":{"x":[]}}', Response(1, b'{"x":[]}')),
        (b'{"result":{},"id":1,"jsonrpc":"2.0"}', Response(1, b"{}")),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}', Response(1, b"{}")),
        (
            b'{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":""}}',
            ErrorResponse("a", RpcError(-1, "")),
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m","data":[1],"x":2}}',
            ErrorResponse(1, RpcError(1, "m", [1])),
        ),
        (
            b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}',
            ErrorResponse(None, RpcError(1, "m")),
        ),
        (b'{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}', ErrorResponse(None, RpcError(1, "m"))),
        (b' \t{"jsonrpc":"2.0","method":"n","extra":[{}]}\r', Notification("n", None)),
    ],
)
def test_a_message_is_read(line: bytes, message: object) -> None:
    assert parse(line) == message


def test_a_method_makes_it_a_call_whatever_else_is_there() -> None:
    assert parse(b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}') == Request(1, "m", None)


def test_raw_parts_do_not_keep_the_buffer() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{}}')
    assert isinstance(message, Request)
    assert type(message.params) is bytes


def test_a_reply_may_carry_an_integer_as_a_float_but_a_request_may_not() -> None:
    reply = parse(b'{"jsonrpc":"2.0","id":7.0,"result":{}}')
    assert reply == Response(7, b"{}")
    assert isinstance(reply, Response)
    assert type(reply.id) is int
    assert parse(b'{"jsonrpc":"2.0","id":-0.0,"error":{"code":1,"message":""}}') == ErrorResponse(
        0, RpcError(1, "")
    )
    assert malformed(b'{"jsonrpc":"2.0","id":7.0,"method":"m"}').id is None


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, -(2**70), 10**4000])
def test_integers_are_exact(number: int) -> None:
    assert parse(b'{"jsonrpc":"2.0","id":%d,"method":"m"}' % number) == Request(number, "m", None)
    assert parse(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number) == Response(number, b"{}")


def test_of_duplicate_members_the_last_wins() -> None:
    assert parse(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}') == Request(2, "b", None)
    assert decode(b'{"a":1,"a":2}') == {"a": 2}


# --- reading: messages that are wrong -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"m"}', -32600, None),
        (b'{"id":99,"method":"m"}', -32600, 99),
        (b'{"jsonrpc":"1.0","id":99,"method":"m"}', -32600, 99),
        (b'{"jsonrpc":2.0,"id":99,"method":"m"}', -32600, 99),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":"a","method":"m","params":5}', -32602, "a"),
        (b'{"jsonrpc":"2.0","method":"m","params":[]}', -32602, None),
        (b'{"jsonrpc":"2.0"}', -32600, None),
        (b"{}", -32600, None),
        (b"5", -32600, None),
        (b'"text"', -32600, None),
        (b"null", -32600, None),
        (b"[]", -32600, None),
        (b"", -32700, None),
        (b"My Server v1.2 started", -32700, None),
        (b"\x1b[32mINFO\x1b[0m ready", -32700, None),
        (b"\xf0\x9f\x9a\x80 ready", -32700, None),
        (b"NaN", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m"} {}', -32700, None),
        (b"{'jsonrpc':'2.0'}", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m",}', -32700, None),
        (b"[1,", -32700, None),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"m"}', -32700, None),
        ('{"jsonrpc":"2.0","id":1,"method":"m"}'.encode("utf-16"), -32700, None),
    ],
)
def test_a_broken_call_names_the_error_that_is_owed(
    line: bytes, code: int, request_id: RequestId | None
) -> None:
    message = malformed(line)
    assert (message.code, message.id, message.reply) == (code, request_id, False)
    assert message.reason
    assert message.data == line


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":null}', 1),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', 1),
        (b'{"jsonrpc":"2.0","id":1,"result":"x"}', 1),
        (b'{"jsonrpc":"2.0","id":"1","error":"text"}', "1"),
        (b'{"jsonrpc":"2.0","id":1,"error":[]}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":"m"}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"m"}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":1e999}}', 1),
        (b'{"id":1,"result":{}}', 1),
        (b'{"jsonrpc":"1.0","id":1,"error":{"code":1,"message":"m"}}', 1),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":"m"}}', None),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', None),
        (b'{"jsonrpc":"2.0","result":{}}', None),
        (b'{"jsonrpc":"2.0","id":null}', None),
    ],
)
def test_a_broken_reply_fails_its_request(line: bytes, request_id: RequestId | None) -> None:
    message = malformed(line)
    assert (message.code, message.id, message.reply) == (-32600, request_id, True)
    assert message.reason


SPOILT = {
    "invalid UTF-8": b'"\x97"',
    "a surrogate in bytes": b'"\xed\xa0\x80"',
    "a lone surrogate": rb'"\ud83d"',
    "a lone surrogate with text after it": rb'"\ud83d and more text"',
    "the first surrogate": rb'"\ud800"',
    "the last surrogate": rb'"\udfff"',
    "a lone low surrogate": rb'"\ude00"',
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
}


@pytest.mark.parametrize("value", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_value_costs_its_message_and_the_sender_is_told(value: bytes) -> None:
    request = malformed(b'{"jsonrpc":"2.0","id":3,"method":"m","params":{"x":%b}}' % value)
    assert (request.code, request.id, request.reply) == (-32602, 3, False)
    reply = malformed(b'{"jsonrpc":"2.0","id":"r","result":{"x":%b}}' % value)
    assert (reply.code, reply.id, reply.reply) == (-32600, "r", True)
    error = malformed(b'{"jsonrpc":"2.0","id":4.0,"error":{"code":1,"message":"m","data":%b}}' % value)
    assert (error.code, error.id, error.reply) == (-32600, 4, True)
    for request_id in (b"", b'"id":7.0,', b'"id":null,'):
        nameless = malformed(b'{"jsonrpc":"2.0",%b"method":"m","params":{"x":%b}}' % (request_id, value))
        assert (nameless.code, nameless.id, nameless.reply) == (-32700, None, False)


@pytest.mark.parametrize("value", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_id_belongs_to_nobody(value: bytes) -> None:
    for rest in (b'"method":"m"', b'"result":{}'):
        message = malformed(b'{"jsonrpc":"2.0","id":%b,%b}' % (value, rest))
        assert (message.code, message.id, message.reply) == (-32700, None, False)


def test_what_is_no_object_and_spoilt_besides_is_no_json() -> None:
    assert malformed(rb'"\ud800"').code == -32700


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"9" * 5000])
def test_a_number_beyond_all_limits_is_left_to_decode_in_values_and_refused_in_ids(number: bytes) -> None:
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":%b}}' % number)
    assert isinstance(message, Request)
    assert message.params is not None
    with pytest.raises(InvalidMessage) as refused:
        decode(message.params)
    assert refused.value.path == "$[...]"
    assert malformed(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % number).code == -32700


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id":1,"x":"\xff"}', "not UTF-8 at byte 13"),
        (b"hello", "JSON is malformed: invalid character (byte 0)"),
        (b"[]", "an empty batch"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', NO_ID),
        (b'{"id":1,"method":"m"}', "jsonrpc is not 2.0"),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', "method is no string"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', "params is no object"),
        (b'{"id":1,"result":{}}', "jsonrpc is not 2.0"),
        (b'{"jsonrpc":"2.0","id":1}', "a reply has either a result or an error"),
        (b'{"jsonrpc":"2.0","id":1,"result":5}', "result is no object"),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', NO_ID),
        (b'{"jsonrpc":"2.0","result":{}}', "a result needs an id"),
        (b'{"jsonrpc":"2.0","id":1,"error":[]}', "error is no object at $.error"),
        (b'{"jsonrpc":"2.0","id":1,"error":{}}', "expected an integer at $.error.code"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', "expected a string at $.error.message"),
    ],
)
def test_the_reason_says_what_was_wrong(line: bytes, reason: str) -> None:
    assert malformed(line).reason == reason


def test_an_id_has_a_length_that_may_be_kept() -> None:
    longest, longer = b"i" * 65536, b"i" * 65537
    assert parse(b'{"jsonrpc":"2.0","id":"%b","method":"m"}' % longest) == Request("i" * 65536, "m", None)
    assert parse(b'{"jsonrpc":"2.0","id":"%b","result":{}}' % longest) == Response("i" * 65536, b"{}")
    request = malformed(b'{"jsonrpc":"2.0","id":"%b","method":"m"}' % longer)
    assert (request.code, request.reason, request.id, request.reply) == (-32600, NO_ID, None, False)
    reply = malformed(b'{"jsonrpc":"2.0","id":"%b","result":{}}' % longer)
    assert (reply.reason, reply.id, reply.reply) == (NO_ID, None, True)
    assert malformed(b'{"id":"%b","method":"m","x":NaN}' % longer).id is None


def test_diagnostics_are_bounded() -> None:
    assert malformed(b"x" * 1000).data == b"x" * 200
    assert malformed(b'{"id":1,"method":"' + b"m" * 1000).data == b'{"id":1,"method":"' + b"m" * 182
    assert len(malformed(b'{"jsonrpc":"2.0","id":1,"x":"%b"}' % (b"x" * 1000)).data) == 200


# --- reading: depth ------------------------------------------------------------------------------------


def test_depth_is_counted_exactly_in_params() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":%b}}'
    assert isinstance(parse(line % nested(MAX_DEPTH - 1)), Request)
    message = malformed(line % nested(MAX_DEPTH))
    assert (message.code, message.id) == (-32602, 1)
    assert isinstance(parse(line % nested(3), max_depth=4), Request)
    assert isinstance(parse(line % nested(4), max_depth=4), Malformed)


def test_depth_is_counted_exactly_in_error_data() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":%b}}'
    assert isinstance(parse(line % nested(MAX_DEPTH - 1)), ErrorResponse)
    message = malformed(line % nested(MAX_DEPTH))
    assert (message.id, message.reply) == (1, True)


def test_a_deep_result_is_left_to_decode() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":1,"result":{"x":%b}}' % nested(MAX_DEPTH))
    assert isinstance(message, Response)
    with pytest.raises(InvalidMessage, match="nested deeper than 128"):
        decode(message.result)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"jsonrpc":"2.0","id":1,"result":', b'[{"method":'])
def test_bottomless_nesting_is_refused(opening: bytes) -> None:
    message = malformed(opening * 100_000)
    assert message.code == -32700
    assert "nested too deeply" in message.reason
    with pytest.raises(InvalidMessage, match="nested too deeply"):
        decode(opening * 100_000)


def test_brackets_in_strings_do_not_count() -> None:
    text = rb'"[[[{{{\"[[[\\"'
    raw = b"[" * 3 + text + b"," + text + b"]" * 3
    assert not too_deep(raw, 3)
    assert too_deep(raw, 2)
    wide = b"[" + b"{}," * 500 + b"{}]"
    assert not too_deep(wide, 2)
    assert too_deep(wide, 1)
    for sibling in (b"{}", b"[]"):
        late = b"[" + (sibling + b",") * 500 + b"[[{}]]]"
        assert not too_deep(late, 4)
        assert too_deep(late, 3)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(JSON, st.integers(0, 6))
def test_too_deep_agrees_with_the_decoded_value(value: Any, limit: int) -> None:
    assert too_deep(json.dumps(value, indent=1).encode(), limit) == (depth_of(value) > limit)


# --- reading: batches and properties ---------------------------------------------------------------------


def test_a_batch_holds_good_and_bad_messages_in_order() -> None:
    batch = parse(b' [{"jsonrpc":"2.0","method":"n"}, 5, [], {"jsonrpc":"2.0","id":1,"result":{"x":NaN}}]')
    assert isinstance(batch, Malformed)  # NaN spoils the whole text
    batch = parse(b' [{"jsonrpc":"2.0","method":"n"}, 5, [], {"jsonrpc":"2.0","id":1,"result":{"x":"\xff"}}]')
    assert isinstance(batch, Batch)
    first, *others = batch.messages
    assert first == Notification("n", None)
    assert [(bad.code, bad.id, bad.reply) for bad in others if isinstance(bad, Malformed)] == [
        (-32600, None, False),
        (-32600, None, False),
        (-32600, 1, True),
    ]


def test_a_batch_may_hold_one_message() -> None:
    assert parse(b'[{"jsonrpc":"2.0","method":"n"}]') == Batch((Notification("n", None),))


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
@example(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":1e999}}')
@example(b"[[")
def test_parse_never_raises(line: bytes) -> None:
    assert isinstance(parse(line), Request | Notification | Response | ErrorResponse | Batch | Malformed)


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_only_invalid_message_leaves_decode(raw: bytes) -> None:
    with contextlib.suppress(InvalidMessage):
        assert decode(raw) == json.loads(raw)


def test_decode_says_where() -> None:
    with pytest.raises(InvalidMessage, match=r"Number out of range at \$\[1\]") as refused:
        decode(b"[1,1e999]")
    assert (refused.value.reason, refused.value.path) == ("Number out of range", "$[1]")
    with pytest.raises(InvalidMessage) as refused:
        decode(b"[")
    assert refused.value.path == "$"


def test_a_compact_reply_whose_result_is_known_is_not_parsed() -> None:
    asked: list[tuple[int | str, bytes]] = []

    def recognizes(wire_id: int | str, result: bytes) -> bool:
        asked.append((wire_id, result))
        return result == b"known, whatever it is"

    def read(line: bytes) -> object:
        return parse(line, recognizes=recognizes)

    assert read(b'{"jsonrpc":"2.0","id":7,"result":known, whatever it is}') == Response(
        7, b"known, whatever it is"
    )
    assert read(b'{"jsonrpc":"2.0","id":7,"result":{}}') == Response(7, b"{}")
    assert asked == [(7, b"known, whatever it is"), (7, b"{}")]
    for line in (
        b'{"jsonrpc":"2.0","id":7,"result":known, whatever it is',
        b'{"jsonrpc":"2.0","id":07,"result":known, whatever it is}',
        b'{"jsonrpc":"2.0","id":"7","result":known, whatever it is}',
        b' {"jsonrpc":"2.0","id":7,"result":known, whatever it is}',
    ):
        assert isinstance(read(line), Malformed)
    assert len(asked) == 2
