"""Envelopes that leave: each is one line of strict JSON."""

from __future__ import annotations

import enum
import json
import sys
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from json_values import JSON, TEXT, nested

from mcp_sansio._errors import LocalProtocolError, RpcError
from mcp_sansio._json import (
    MAX_DEPTH,
    ErrorResponse,
    Malformed,
    Notification,
    Request,
    RequestId,
    Response,
    decode,
    encode,
    error_bytes,
    members,
    notification_bytes,
    parse,
    request_bytes,
    result_bytes,
)

OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)


IDS: st.SearchStrategy[RequestId] = st.integers() | TEXT


@given(JSON)
def test_what_is_encoded_decodes_to_the_same(value: Any) -> None:
    raw = encode(value)
    assert b"\n" not in raw
    assert decode(raw) == value
    assert json.loads(raw) == value


def test_text_is_written_as_compact_utf_8() -> None:
    assert encode({"a": ["é\u2028\n", True, None, 1.5]}) == '{"a":["é\u2028\\n",true,null,1.5]}'.encode()


class Shade(enum.StrEnum):
    DARK = "dark"


class Name(str):
    __slots__ = ()


class Count(int):
    pass


class Share(float):
    pass


class Items(list[int]):
    pass


def test_subclasses_and_mappings_are_written_as_what_they_extend() -> None:
    value = {
        Name("a"): Name("b"),
        "c": Count(3),
        "d": Share(0.5),
        "e": Shade.DARK,
        "f": MappingProxyType({"g": (1, 2)}),
        "h": Items([1]),
    }
    assert decode(encode(value)) == {"a": "b", "c": 3, "d": 0.5, "e": "dark", "f": {"g": [1, 2]}, "h": [1]}


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        Share("nan"),
        "\ud83d",
        {"\ud83d": 1},
        {1: 2},
        {None: 2},
        {True: 2},
        MappingProxyType({1: 2}),
        b"bytes",
        {1, 2},
        object(),
        RpcError(1, "m"),
        range(3),
    ],
)
def test_what_json_cannot_carry_is_refused(value: object) -> None:
    for place in (value, [1, value], {"a": {"b": value}}):
        with pytest.raises(LocalProtocolError):
            encode(place)


def test_an_integer_longer_than_the_interpreter_writes_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="cannot carry"):
        encode(10 ** sys.get_int_max_str_digits())


def test_nesting_is_limited_when_writing_too() -> None:
    assert encode(json.loads(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(LocalProtocolError, match="nested deeper"):
        encode(json.loads(nested(MAX_DEPTH + 1)))
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(LocalProtocolError, match="nested deeper"):
        encode(circle)


def test_members_are_an_object_without_its_braces() -> None:
    assert members({"a": 1, "b": [2]}) == b'"a":1,"b":[2]'
    assert members({}) == b""


@given(IDS, TEXT, st.none() | OBJECTS.filter(lambda params: "_meta" not in params), st.none() | OBJECTS)
@example(1, "m", {}, {})
@example(1, "m", None, {})
@example(1, "m", {"a": 1}, {})
def test_a_spliced_call_reads_as_if_encoded_whole(
    request_id: RequestId, method: str, params: dict[str, Any] | None, meta: dict[str, Any] | None
) -> None:
    encoded = None if params is None else encode(params)
    spliced = None if meta is None else members(meta)
    whole = params if meta is None else {**(params or {}), "_meta": meta}
    request = parse(request_bytes(request_id, method, encoded, spliced))
    notification = parse(notification_bytes(method, encoded, spliced))
    assert isinstance(request, Request)
    assert isinstance(notification, Notification)
    assert (request.id, request.method, notification.method) == (request_id, method, method)
    for raw in (request.params, notification.params):
        assert (None if raw is None else decode(raw)) == whole


@given(IDS, OBJECTS)
def test_a_result_reads_as_it_was_written(request_id: RequestId, result: dict[str, Any]) -> None:
    assert parse(result_bytes(request_id, encode(result))) == Response(request_id, encode(result))


@given(st.none() | IDS, st.integers(), TEXT, JSON, st.booleans())
def test_an_error_reads_as_it_was_written(
    request_id: RequestId | None, code: int, message: str, data: Any, omit: bool
) -> None:
    error = RpcError(code, message, data)
    assert parse(error_bytes(request_id, error, omit_null_id=omit)) == ErrorResponse(request_id, error)


def test_an_unknown_id_is_omitted_or_null() -> None:
    error = RpcError(-32700, "m")
    assert (
        error_bytes(None, error, omit_null_id=True)
        == b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}'
    )
    assert b'"id":null' in error_bytes(None, error, omit_null_id=False)
    assert b'"id":0' in error_bytes(0, error, omit_null_id=True)


def test_an_id_or_method_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        request_bytes("\ud800", "m", None, None)
    with pytest.raises(LocalProtocolError):
        notification_bytes("\ud800", None, None)


def test_a_batch_has_bounds_that_hold_before_it_is_read() -> None:
    many = parse(b"[" + b"1," * 1000 + b"1]")
    assert isinstance(many, Malformed)
    assert many.reason == "a batch may have 1000 messages"
    huge = parse(b"[" + b"1," * 100_001 + b"1]")
    assert isinstance(huge, Malformed)
    assert (huge.code, huge.reason) == (-32600, "a batch is too large")


@pytest.mark.parametrize("wrong", [[1, 2], "ab", 5])
def test_members_are_those_of_a_mapping(wrong: Any) -> None:
    with pytest.raises(LocalProtocolError):
        members(wrong)
