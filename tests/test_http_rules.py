"""The rules of HTTP, each by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import CAPABILITIES, MODERN, VERSION

from mcp_sansio import RpcError, Send
from mcp_sansio._http_rules import (
    accepts,
    decode_value,
    encode_value,
    error_code,
    fields,
    header_problem,
    host_allowed,
    is_json,
    origin_allowed,
    path_of,
    status_of,
)
from mcp_sansio._json import error_bytes, result_bytes
from mcp_sansio._meta import is_modern, meta_problem

SSE = "text/event-stream"


def test_field_names_have_no_case_and_values_no_white_space_around_them() -> None:
    assert fields([("ACCEPT", " a\t"), ("Mcp-Name", "x"), ("mcp-NAME", "y")]) == {
        "accept": "a",
        "mcp-name": "x, y",
    }


# --- media types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; charset=utf8; profile=x",
    ],
)
def test_json_is_recognised_however_it_is_spelt(value: str) -> None:
    assert is_json(value)


@pytest.mark.parametrize(
    "value", [None, "", "text/plain", "application/json-seq", "application/json; charset=latin-1"]
)
def test_what_is_not_json(value: str | None) -> None:
    assert not is_json(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "*/*",
        "text/*",
        "application/json, Text/Event-Stream",
        "text/event-stream;q=0.1",
        "a,*/* ; q=1",
    ],
)
def test_a_media_type_is_welcome(value: str | None) -> None:
    assert accepts(value, SSE)


@pytest.mark.parametrize(
    "value", ["application/json", "text/event-stream;q=0", "*/*, text/*;q=0.000", "text/html, image/*", ","]
)
def test_a_media_type_is_not_welcome(value: str) -> None:
    assert not accepts(value, SSE)


# --- host, origin, path -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:6575", "LOCALHOST:80", "localhost", "[::1]:3000", "[::1]"]
)
def test_loopback_names_pass_with_any_port(host: str) -> None:
    assert host_allowed(host, ())


@pytest.mark.parametrize(
    "host",
    [
        *(None, "", "example.com", "localhost.evil.com", "evil.com:80", "localhost:x", "localhost:80:80"),
        *(
            "a@localhost",
            "localhost/",
            "localhost, localhost",
            "::1",
            "[::2]",
            "0.0.0.0:80",
            "127.0.0.1.nip.io",
        ),
    ],
)
def test_other_hosts_do_not(host: str | None) -> None:
    assert not host_allowed(host, ())


def test_hosts_can_be_allowed() -> None:
    assert host_allowed("Example.com:99", ["example.COM"])
    assert host_allowed("example.com:99", ["example.com:99"])
    assert not host_allowed("example.com", ["example.com:99"])
    assert host_allowed("anything", ["*"])


@pytest.mark.parametrize(
    "origin", [None, "http://localhost:3000", "https://127.0.0.1", "http://[::1]:1", "HTTP://LOCALHOST"]
)
def test_origins_that_pass(origin: str | None) -> None:
    assert origin_allowed(origin, ())


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://localhost.evil.com",
        "http://evil.com",
        "file://localhost",
        "http://localhost/",
        "http://",
    ],
)
def test_origins_that_do_not(origin: str) -> None:
    assert not origin_allowed(origin, ())


def test_origins_can_be_allowed() -> None:
    assert origin_allowed("https://Example.com", ["https://example.com"])
    assert not origin_allowed("http://example.com", ["https://example.com"])
    assert origin_allowed("null", ["*"])


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/mcp", "/mcp"),
        ("/mcp/", "/mcp"),
        ("/mcp?x=/y/", "/mcp"),
        ("http://h:1/mcp/?q", "/mcp"),
        ("http://h", "/"),
        ("/", "/"),
        ("", "/"),
    ],
)
def test_paths(target: str, path: str) -> None:
    assert path_of(target) == path


# --- Mcp-Name ---------------------------------------------------------------------------------------

ENCODED = [
    ("us-west1", "us-west1"),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ("", "=?base64??="),
    ("a b", "a b"),
    ("x", "x"),
    ("=?base64?=", "=?base64?="),
]


@pytest.mark.parametrize(("text", "value"), ENCODED)
def test_values_are_encoded_as_the_specification_shows(text: str, value: str) -> None:
    assert encode_value(text) == value
    assert decode_value(value) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_survives_a_header(text: str) -> None:
    value = encode_value(text)
    assert value.isascii()
    assert value == value.strip()
    assert not set(value) & {"\r", "\n", "\0"}
    assert decode_value(value) == text


@pytest.mark.parametrize(
    "value",
    ["世", "\xe4\xb8", "", "a\nb", " a", "\x7f", "=?base64?%%%?=", "=?base64?/w==?=", "=?base64?SGk?="],
)
def test_what_no_header_has_is_no_value(value: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # of several kinds, of which the caller makes one
        decode_value(value)


def test_the_markers_have_a_case() -> None:
    assert decode_value("=?BASE64?SGk=?=") == "=?BASE64?SGk=?="


# --- headers and body -------------------------------------------------------------------------------


def test_only_modern_members_make_a_request_modern() -> None:
    assert is_modern({VERSION: 5})
    assert is_modern({CAPABILITIES: None})
    for meta in (None, [VERSION], {}, {"progressToken": 1}):
        assert not is_modern(meta)


@pytest.mark.parametrize(
    ("meta", "lacking"),
    [
        (None, VERSION),
        ([], VERSION),
        ({CAPABILITIES: {}}, VERSION),
        ({VERSION: 5, CAPABILITIES: {}}, VERSION),
        ({VERSION: MODERN}, CAPABILITIES),
        ({VERSION: MODERN, CAPABILITIES: []}, CAPABILITIES),
    ],
)
def test_an_envelope_names_what_it_lacks(meta: Any, lacking: str) -> None:
    assert lacking in (meta_problem(meta) or "")


def test_an_envelope_that_lacks_nothing() -> None:
    assert meta_problem({VERSION: "any", CAPABILITIES: {}}) is None


def headers(method: str, name: str | None = None) -> dict[str, str]:
    given = {"mcp-protocol-version": MODERN, "mcp-method": method}
    return given if name is None else {**given, "mcp-name": name}


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/list", {}, None),
        ("prompts/list", {"name": "a"}, "b"),
        ("prompts/get", {"name": "Hello, 世界"}, "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ("prompts/get", {"name": "p"}, "p"),
        ("prompts/get", {}, None),
        ("prompts/get", {"name": 5}, None),
        ("tools/call", {"name": "t", "uri": "u"}, "t"),
        ("resources/read", {"name": "t", "uri": "u"}, "u"),
    ],
)
def test_headers_that_match(method: str, params: dict[str, Any], name: str | None) -> None:
    assert header_problem(headers(method, name), method, params, MODERN) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (None, "missing"),
        ("q", "'q'"),
        ("P", "'P'"),
        ("p, p", "p, p"),
        ("世", "malformed"),
        ("=?base64?%%%?=", "malformed"),
        ("=?base64?/w==?=", "malformed"),
        ("=?BASE64?cA==?=", "BASE64"),
    ],
)
def test_names_that_do_not_match(name: str | None, problem: str) -> None:
    found = header_problem(headers("prompts/get", name), "prompts/get", {"name": "p"}, MODERN)
    assert found is not None
    assert problem in found


def test_a_name_that_only_the_header_has() -> None:
    found = header_problem(headers("prompts/get", "p"), "prompts/get", {}, MODERN)
    assert found is not None
    assert "Mcp-Name" in found


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method"])
@pytest.mark.parametrize("value", [None, "PROMPTS/LIST"])
def test_version_and_method_are_in_both(name: str, value: str | None) -> None:
    given = headers("prompts/list")
    if value is None:
        del given[name]
    else:
        given[name] = value
    found = header_problem(given, "prompts/list", {}, MODERN)
    assert found is not None
    assert name in found.lower()


# --- status -----------------------------------------------------------------------------------------


def error(code: int, id: Any = 1) -> Send:
    return Send(error_bytes(id, RpcError(code, "no"), omit_null_id=True), id=id)


def test_codes_are_read_off_errors_only() -> None:
    assert error_code(error(-5)) == -5
    assert error_code(error(-5, None)) == -5
    assert error_code(Send(result_bytes("é", b'{"error":1}'), id="é")) is None
    assert error_code(Send(b"[" + error(-5).data + b"]")) is None


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("code", [-32700, -32600, -32020, -32021, -32022])
def test_bad_requests(code: int, modern: bool) -> None:
    assert status_of(error(code), modern=modern) == 400


def test_other_replies() -> None:
    assert status_of(error(-32601), modern=True) == 404
    assert status_of(error(-32601), modern=False) == 200
    for modern in (True, False):
        assert status_of(error(-32602), modern=modern) == 200
        assert status_of(error(-32603), modern=modern) == 200
        assert status_of(Send(result_bytes(1, b"{}"), id=1), modern=modern) == 200
