"""The rules of HTTP and of Streamable HTTP that need no state: what a header says, and whether it may.

Header fields are looked at as one mapping of lower-case names. A field that comes twice is joined by a
comma, as RFC 9110 (section 5.3) has it, so that nothing which must equal one value can hide behind another.
Everything here answers a question about text, and whoever asked decides what follows.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._contract import Send
from ._errors import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from ._json import ErrorResponse, parse, result_bytes

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

NAME_FIELDS: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The requests that need `Mcp-Name`, and the member of their params that it repeats."""


def fields(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Header fields by lower-case name, their values without the white space around them."""
    found: dict[str, str] = {}
    for name, given in headers:
        key, value = name.lower(), given.strip(" \t")
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


# --- media types --------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def is_json(content_type: str | None) -> bool:
    """Whether a `Content-Type` is JSON in the one encoding that JSON has, however it is spelt."""
    media, *parameters = (content_type or "").lower().split(";")
    charsets = [value.strip() for value in parameters if value.strip().startswith("charset=")]
    utf8 = all(value[8:].strip('"') in ("utf-8", "utf8") for value in charsets)
    return media.strip() == JSON and utf8


@functools.lru_cache(maxsize=64)
def accepts(accept: str | None, media: str) -> bool:
    """Whether an `Accept` field welcomes a media type; the most specific range decides (RFC 9110, 12.5.1)."""
    if not accept:
        return True
    ranges: dict[str, bool] = {}
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        ranges[name] = not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
    for name in (media, media.partition("/")[0] + "/*", "*/*"):
        if name in ranges:
            return ranges[name]
    return False


# --- who is spoken to, and from where -----------------------------------------------------------------

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/@,\s]+)(?::([0-9]+))?")
_ORIGIN = re.compile(r"https?://(.+)")


def host_allowed(host: str | None, hosts: Sequence[str]) -> bool:
    """Whether a `Host` is a loopback name with any port, or one of `hosts`: a name, for any port, or a
    name with a port; "*" allows every host. DNS rebinding shows in this field.
    """
    match = _AUTHORITY.fullmatch((host or "").lower())
    if match is None:
        return False
    known = [*_LOOPBACK, *(allowed.lower() for allowed in hosts)]
    return match[0] in known or match[1] in known or "*" in known


def origin_allowed(origin: str | None, origins: Sequence[str]) -> bool:
    """Whether an `Origin` is absent, of a loopback name, or one of `origins`; "*" allows every origin.

    "If the `Origin` header is present and invalid, servers MUST respond with HTTP 403": "null" is.
    """
    if origin is None or "*" in origins or origin.lower() in [allowed.lower() for allowed in origins]:
        return True
    match = _ORIGIN.fullmatch(origin.lower())
    return match is not None and host_allowed(match[1], ())


def path_of(target: str) -> str:
    """The path of a request target, without a slash at its end; "/mcp" and "/mcp/" are one."""
    without_query = target.partition("?")[0]
    absolute = re.match(r"https?://[^/]*", without_query, re.IGNORECASE)
    return (without_query[absolute.end() :] if absolute else without_query).rstrip("/") or "/"


# --- Mcp-Name -----------------------------------------------------------------------------------------

_PREFIX, _SUFFIX = "=?base64?", "?="
_PLAIN_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")


def _is_encoded(value: str) -> bool:
    return len(value) >= len(_PREFIX + _SUFFIX) and value.startswith(_PREFIX) and value.endswith(_SUFFIX)


def encode_value(text: str) -> str:
    """A header value for `text`: itself, or the Base64 form where it is not "safely represented as a plain
    ASCII header value" or looks like that form. Raises `UnicodeEncodeError` for lone surrogates.
    """
    if _PLAIN_VALUE.fullmatch(text) and not _is_encoded(text):
        return text
    return _PREFIX + base64.b64encode(text.encode()).decode() + _SUFFIX


def decode_value(value: str) -> str:
    """What a header value stands for. Raises `ValueError` for characters that no header has, and for what
    has the Base64 form without being Base64 of UTF-8. The "markers are case-sensitive".
    """
    if _is_encoded(value):
        return base64.b64decode(value[len(_PREFIX) : -len(_SUFFIX)], validate=True).decode()
    if _PLAIN_VALUE.fullmatch(value):
        return value
    raise ValueError("invalid characters")


# --- headers and body ---------------------------------------------------------------------------------


def header_problem(
    headers: Mapping[str, str], method: str, params: Mapping[str, Any], version: str
) -> str | None:
    """Where the headers of a modern request and its body disagree ("servers MUST reject requests where the
    values specified in the headers do not match the corresponding values in the request body").
    """
    for name, expected in (("MCP-Protocol-Version", version), ("Mcp-Method", method)):
        given = headers.get(name.lower())
        if given is None:
            return f"Header mismatch: {name} is missing"
        if given != expected:
            return f"Header mismatch: {name} is {given!r}, the body has {expected!r}"
    return (
        _name_problem(headers.get("mcp-name"), params.get(NAME_FIELDS[method]))
        if method in NAME_FIELDS
        else None
    )


def _name_problem(given: str | None, expected: Any) -> str | None:
    if given is None:
        # Without a name in the body the request is refused for that, by whoever owns the method.
        return "Header mismatch: Mcp-Name is missing" if isinstance(expected, str) else None
    try:
        decoded = decode_value(given)
    except ValueError:
        return "Header mismatch: Mcp-Name is malformed"
    if decoded != expected:
        return f"Header mismatch: Mcp-Name is {decoded!r}, the body has {expected!r}"
    return None


# --- the status of a reply ----------------------------------------------------------------------------

_BAD_REQUEST = (
    PARSE_ERROR,
    INVALID_REQUEST,
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
)


def error_code(reply: Send) -> int | None:
    """The code of an encoded reply; None for a result, which is not read for that."""
    if reply.id is not None and reply.data.startswith(result_bytes(reply.id, b"")[:-1]):
        return None
    message = parse(reply.data)
    return message.error.code if isinstance(message, ErrorResponse) else None


def status_of(reply: Send, *, modern: bool) -> int:
    """The HTTP status for a reply. A legacy 404 would say that the session is lost, so that a method which
    does not exist is 404 in the modern era alone.
    """
    code = error_code(reply)
    if code in _BAD_REQUEST:
        return 400
    return 404 if modern and code == METHOD_NOT_FOUND else 200
