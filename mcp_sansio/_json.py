"""JSON-RPC 2.0 envelopes: bytes to messages and back, knowing nothing of MCP's types.

`parse` reads the envelope only. Params and results stay raw bytes until somebody knows the method and so
the type they should have; `_structure` reads them then. Going out, encoded pieces are spliced together and
never parsed again, so that a page that was encoded once costs one copy per reply.

The fast path is one msgspec decode. Text that it refuses is read a second time, by the lenient decoder of
the standard library, only to find whose message it was: a sender gets the error for its own request, and
the caller of a spoilt reply hears of it at once instead of after its timeout.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any, TypeAlias, TypeGuard, cast

import attrs
import msgspec

from ._errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    InvalidMessage,
    LocalProtocolError,
    RpcError,
)

MAX_DEPTH = 128
"""How deep params, a result or error data may nest; the envelope itself is not counted."""

RequestId: TypeAlias = int | str
"""The id of a request, by exact type: `1` is not `"1"`, and a boolean is none."""


@attrs.frozen
class Request:
    """A request. `params` are the bytes of a JSON object; None when absent or null."""

    id: RequestId
    method: str
    params: bytes | None


@attrs.frozen
class Notification:
    """A notification. `params` as in `Request`."""

    method: str
    params: bytes | None


@attrs.frozen
class Response:
    """A successful reply. `result` are the bytes of a JSON object, not yet checked for depth and numbers."""

    id: RequestId
    result: bytes


@attrs.frozen
class ErrorResponse:
    """An error reply; `id` is None when the peer could not tell which request it answers."""

    id: RequestId | None
    error: RpcError


@attrs.frozen
class Malformed:
    """A message that breaks the rules.

    `code` is the JSON-RPC error that a server owes for it. `reply` says that it was meant as a response, so
    that nobody answers it and the request `id`, if that could be read, fails. `data` are its first bytes, for
    diagnostics.
    """

    code: int
    reason: str
    id: RequestId | None = None
    reply: bool = False
    data: bytes = b""


Recognizes: TypeAlias = Callable[[RequestId, bytes], bool]
"""Whether the result of a reply, by the id of the request and its bytes, is known to be well-formed."""

Message: TypeAlias = Request | Notification | Response | ErrorResponse
"""A message, as far as JSON-RPC knows it."""


@attrs.frozen
class Batch:
    """A JSON array of messages, which revision 2025-03-26 alone allows. Never empty."""

    messages: tuple[Message | Malformed, ...]


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: Any = None
    id: Any = msgspec.UNSET
    method: Any = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder().decode

_HEAD = 200
_ABSENT = (b"", b"null")


MAX_ID = 64 * 1024
"""How many characters an id may have: it is kept as long as its request is open."""

MAX_BATCH = 1000
"""How many messages a batch may have."""

_NO_ID = f"id is neither an integer nor a string of at most {MAX_ID} characters"

_MAX_COMMAS = 100_000  # in a whole batch line: what bounds the work of finding out how many messages it has


def parse(
    line: bytes, *, max_depth: int = MAX_DEPTH, recognizes: Recognizes | None = None
) -> Message | Batch | Malformed:
    """Read one message. Never raises: whatever is wrong with it comes back as `Malformed`.

    Extra members are ignored, of duplicates the last wins. A result is not looked into, which matters for
    large pages: `decode` and the typed readers of `_structure` check its depth and numbers. A compact reply
    whose result is known (`recognizes`) is not parsed at all.
    """
    if recognizes is not None and (reply := _recognized(line, recognizes)) is not None:
        return reply
    if not line.lstrip().startswith(b"["):
        return _parse_one(line, max_depth)
    return _parse_batch(line, max_depth)


def _parse_batch(line: bytes, max_depth: int) -> Batch | Malformed:
    if line.count(b",") > _MAX_COMMAS:
        return Malformed(INVALID_REQUEST, "a batch is too large", data=line[:_HEAD])
    try:
        items = _decode_items(line)
    except (msgspec.DecodeError, RecursionError) as error:
        return Malformed(PARSE_ERROR, _refusal(error), data=line[:_HEAD])
    if not items:
        return Malformed(INVALID_REQUEST, "an empty batch", data=line[:_HEAD])
    if len(items) > MAX_BATCH:
        return Malformed(INVALID_REQUEST, f"a batch may have {MAX_BATCH} messages", data=line[:_HEAD])
    return Batch(tuple(_parse_one(bytes(item), max_depth) for item in items))


_REPLY = re.compile(rb'\{"jsonrpc":"2\.0","id":(0|[1-9][0-9]{0,14}),"result":')


def _recognized(line: bytes, recognizes: Recognizes) -> Response | None:
    head = _REPLY.match(line)
    if head is None or not line.endswith(b"}"):
        return None
    wire_id, result = int(head[1]), line[head.end() : -1]
    return Response(wire_id, result) if recognizes(wire_id, result) else None


def _parse_one(line: bytes, max_depth: int) -> Message | Malformed:
    try:
        # msgspec.Raw skips over text without looking at its encoding.
        line.decode()
        envelope = _decode_envelope(line)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        return _salvage(line, error)
    if envelope.method is msgspec.UNSET:
        return _reply(envelope, line, max_depth)
    return _call(envelope, line, max_depth)


def _call(envelope: _Envelope, line: bytes, max_depth: int) -> Request | Notification | Malformed:
    """A message with a method: a request or, without an id, a notification."""
    known = envelope.id if _is_id(envelope.id) else None
    params = bytes(envelope.params)
    fault = _call_fault(envelope, known, params, max_depth)
    if fault is not None:
        return Malformed(*fault, known, data=line[:_HEAD])
    given = None if params in _ABSENT else params
    if known is None:
        return Notification(envelope.method, given)
    return Request(known, envelope.method, given)


def _call_fault(
    envelope: _Envelope, known: RequestId | None, params: bytes, max_depth: int
) -> tuple[int, str] | None:
    """The error code that is owed and why, if anything is wrong."""
    if known is None and envelope.id is not msgspec.UNSET:
        return INVALID_REQUEST, _NO_ID
    if envelope.jsonrpc != "2.0":
        return INVALID_REQUEST, "jsonrpc is not 2.0"
    if type(envelope.method) is not str:
        return INVALID_REQUEST, "method is no string"
    if params not in _ABSENT and not params.startswith(b"{"):
        return INVALID_PARAMS, "params is no object"
    if too_deep(params, max_depth):
        return INVALID_PARAMS, f"params nest deeper than {max_depth}"
    return None


def _reply(envelope: _Envelope, line: bytes, max_depth: int) -> Response | ErrorResponse | Malformed:
    """A message without a method: a result or an error."""
    known = _reply_id(envelope.id)
    result, error = bytes(envelope.result), bytes(envelope.error)
    fault = _reply_fault(envelope, result, error)
    if fault is None and error not in _ABSENT:
        try:
            return ErrorResponse(known, _read_error(error, max_depth))
        except InvalidMessage as unreadable:
            fault = str(unreadable)
    if fault is None and known is not None:
        return Response(known, result)
    reply = envelope.id is not msgspec.UNSET or bool(result or error)
    return Malformed(INVALID_REQUEST, fault or "a result needs an id", known, reply, line[:_HEAD])


def _reply_fault(envelope: _Envelope, result: bytes, error: bytes) -> str | None:
    """What is wrong, the members of the error aside. A null result or error counts as absent."""
    if envelope.jsonrpc != "2.0":
        return "jsonrpc is not 2.0"
    if (result in _ABSENT) == (error in _ABSENT):
        return "a reply has either a result or an error"
    if error in _ABSENT and not result.startswith(b"{"):
        return "result is no object"
    if envelope.id not in (None, msgspec.UNSET) and _reply_id(envelope.id) is None:
        return _NO_ID
    return None


def _read_error(raw: bytes, max_depth: int) -> RpcError:
    error = decode(raw, max_depth=max_depth)
    if type(error) is not dict:
        raise InvalidMessage("error is no object", "$.error")
    members = cast(dict[str, Any], error)
    code, message = members.get("code"), members.get("message")
    if type(code) is not int:
        raise InvalidMessage("expected an integer", "$.error.code")
    if type(message) is not str:
        raise InvalidMessage("expected a string", "$.error.message")
    return RpcError(code, message, members.get("data"))


def _is_id(value: Any) -> TypeGuard[RequestId]:
    return type(value) is int or (type(value) is str and len(value) <= MAX_ID)


def _reply_id(value: Any) -> RequestId | None:
    """The id that a reply carries. Some peers keep every number as a float, so 7.0 is their 7."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value if _is_id(value) else None


def _salvage(line: bytes, error: Exception) -> Malformed:
    """Find out whose message it was that the strict decoder refused."""
    reason, data = _refusal(error), line[:_HEAD]
    try:
        # Bytes that are no UTF-8 become lone surrogates here, so that an id that holds one is not trusted.
        value = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return Malformed(PARSE_ERROR, reason, data=data)
    if type(value) is not dict:
        no_json = not isinstance(error, msgspec.ValidationError)
        return Malformed(PARSE_ERROR if no_json else INVALID_REQUEST, reason, data=data)
    members = cast(dict[str, Any], value)
    reply = "method" not in members
    request_id = _reply_id(members.get("id")) if reply else members.get("id")
    if not _is_id(request_id) or not _encodable(str(request_id)):
        return Malformed(PARSE_ERROR, reason, data=data)
    return Malformed(INVALID_REQUEST if reply else INVALID_PARAMS, reason, request_id, reply, data)


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _refusal(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return str(error)  # for a lone surrogate at the end of a string: "Input data was truncated"


# Possessive, so that a long string leaves no trail of places to go back to.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def too_deep(raw: bytes, max_depth: int) -> bool:
    """Whether well-formed JSON nests deeper than `max_depth` arrays and objects.

    An array takes two bytes, an object with something in it five, and each a bracket: mostly that settles it.
    """
    if len(raw) <= 2 * max_depth:
        return False
    arrays = raw.count(b"[")
    if arrays + (len(raw) - 2 * arrays) // 5 < max_depth or raw.count(b"{") + arrays <= max_depth:
        return False
    brackets = _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > max_depth


def decode(raw: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Decode JSON without a type. Strict: UTF-8 only, no NaN, no lone surrogates, integers exact.

    Raises `InvalidMessage` for anything else, and for what nests deeper than `max_depth`.
    """
    try:
        value = _decode_any(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise invalid(error) from None
    if too_deep(raw, max_depth):
        raise InvalidMessage(f"nested deeper than {max_depth}")
    return value


_WITH_PATH = re.compile(r"(.*) - at `(\$.*)`", re.DOTALL)


def invalid(error: Exception) -> InvalidMessage:
    """A decoder's exception as ours, its JSON path kept apart from its reason."""
    text = _refusal(error)
    match = _WITH_PATH.fullmatch(text)
    return InvalidMessage(match[1], match[2]) if match else InvalidMessage(text)


def encode(value: Any) -> bytes:
    """Encode a JSON value compactly, as UTF-8 on one line.

    Takes None, bool, int, finite float, str, mappings with str keys, lists and tuples, and nothing else.
    Raises `LocalProtocolError` for other values, lone surrogates and nesting deeper than `MAX_DEPTH`.
    """
    _check(value, MAX_DEPTH)
    try:
        return _encode(value)
    except ValueError as error:  # lone surrogates, integers beyond the interpreter's limit of digits
        raise LocalProtocolError(f"JSON cannot carry this value: {error}") from None


_PLAIN = frozenset({str, int, bool, type(None)})
_SCALARS = (str, int, float, type(None))


def _check(value: Any, depth: int) -> None:
    """Refuse what msgspec would change: NaN to null, number keys to text, objects to a form of its own."""
    kind = value.__class__
    if kind is dict or not issubclass(kind, _SCALARS):  # the first for speed, here and below
        if depth == 0:
            raise LocalProtocolError(f"nested deeper than {MAX_DEPTH}")
        for item in value if issubclass(kind, (list, tuple)) else _values(value):
            if type(item) not in _PLAIN:  # most are, and a call for each would double the time
                _check(item, depth - 1)
    elif issubclass(kind, float) and not math.isfinite(value):
        raise LocalProtocolError(f"JSON has no {value}")


def _values(value: Any) -> Iterable[Any]:
    """What an object holds, after checking that its keys are strings."""
    if value.__class__ is not dict and not issubclass(type(value), Mapping):
        raise LocalProtocolError(f"JSON has no form for {type(value).__name__}")
    for key in value:
        if type(key) is not str and not isinstance(key, str):
            raise LocalProtocolError(f"a key in JSON is a string, not {key!r}")
    return value.values()  # type: ignore[no-any-return]


_SCALARS_AND_LISTS: tuple[type[Any], ...] = (str, int, float, list, tuple)


def _builtin(value: Any) -> Any:
    """The plain form of subclasses and mappings, which `_check` admits and msgspec does not know."""
    for kind in _SCALARS_AND_LISTS:
        if isinstance(value, kind):
            return kind(value)
    return dict(value)


_encode = msgspec.json.Encoder(enc_hook=_builtin).encode


def members(obj: Mapping[str, Any]) -> bytes:
    """The encoded members of an object without its braces: empty for an empty one.

    Raises as `encode`, and `LocalProtocolError` for what is no mapping.
    """
    if not isinstance(cast("object", obj), (dict, Mapping)):
        raise LocalProtocolError(f"expected a mapping, got {type(obj).__name__}")
    return encode(obj)[1:-1] if obj else b""


encode_name = functools.lru_cache(maxsize=256)(encode)
"""`encode` for strings of which there are few: the methods of messages."""


def _encode_id(id: RequestId | None) -> bytes:
    return b"%d" % id if type(id) is int else encode(id)


def request_bytes(id: RequestId, method: str, params: bytes | None, meta: bytes | None) -> bytes:
    """An encoded request. `params` are an encoded object without `_meta`, `meta` the `members` of it."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b%b}' % (
        _encode_id(id),
        encode_name(method),
        _params(params, meta),
    )


def notification_bytes(method: str, params: bytes | None, meta: bytes | None) -> bytes:
    """An encoded notification; `params` and `meta` as for `request_bytes`."""
    return b'{"jsonrpc":"2.0","method":%b%b}' % (encode_name(method), _params(params, meta))


def _params(params: bytes | None, meta: bytes | None) -> bytes:
    if meta is None:
        return b"" if params is None else b',"params":' + params
    if params is None or params == b"{}":
        return b',"params":{"_meta":{%b}}' % meta
    return b',"params":%b,"_meta":{%b}}' % (params[:-1], meta)


def result_bytes(id: RequestId, result: bytes, end: bytes = b"") -> bytes:
    """An encoded success reply around an encoded result, which may come in two parts."""
    # Joined, not formatted, which would copy a page twice.
    return b"".join((b'{"jsonrpc":"2.0","id":', _encode_id(id), b',"result":', result, end, b"}"))


def error_bytes(id: RequestId | None, error: RpcError, *, omit_null_id: bool) -> bytes:
    """An encoded error reply. Without an id, `omit_null_id` says whether to leave it out or write null."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    shown = b"" if id is None and omit_null_id else b'"id":%b,' % _encode_id(id)
    return b'{"jsonrpc":"2.0",%b"error":%b}' % (shown, encode(body))
