"""A server over HTTP: who may ask, and what a request means in either era."""

from __future__ import annotations

from typing import Any

import pytest
from pair import catalogue
from serving import ACKNOWLEDGED, CAPABILITIES, CLIENT_INFO, LIST_CHANGED, MODERN, TOPIC, VERSION
from web import BOTH, Web

from mcp_sansio import (
    Diagnostic,
    HttpServer,
    HttpServerConfig,
    LocalProtocolError,
    NotificationReceived,
    PromptRequested,
    RpcError,
    StreamEnded,
    SubscriptionEnded,
    SubscriptionOpened,
)

INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}


# --- the head ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": None}, 400),
        ({"Host": "evil.com"}, 403),
        ({"Host": "127.0.0.1:8000"}, None),
        ({"Host": "[::1]:3000"}, None),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.com"}, 403),
        ({"Origin": "http://localhost:3000"}, None),
        ({"Accept": "text/html"}, 406),
        ({"Accept": None}, None),
        ({"Content-Type": None}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "Application/JSON; charset=UTF-8"}, None),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Encoding": "Identity"}, None),
        ({"Content-Length": "101"}, 413),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "100"}, None),
        ({"Content-Length": "x"}, None),
    ],
)
def test_a_head_is_judged_before_its_body(headers: dict[str, str | None], status: int | None) -> None:
    web = Web(http={"max_body": 100})
    reply = web.begin("POST", headers).take()
    assert reply.status == status
    assert reply.exchange.want_read is (status is None)
    if status is not None:
        assert reply.ended
        assert "id" not in reply.json
        assert reply.code == -32600


@pytest.mark.parametrize("method", ["HEAD", "PUT", "OPTIONS", "PATCH", "post"])
def test_other_methods_are_not_allowed(method: str) -> None:
    reply = Web().begin(method).take()
    assert reply.status == 405
    assert reply.headers["allow"] == "GET, POST, DELETE"
    assert reply.ended
    assert (reply.body == b"") is (method == "HEAD")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_without_the_legacy_era_there_is_only_post(method: str) -> None:
    web = Web(versions=(MODERN,), http={"new_session_id": None})
    reply = web.begin(method, {"Mcp-Session-Id": "x"}).take()
    assert reply.status == 405
    assert reply.headers["allow"] == "POST"


def test_a_path_can_be_the_only_one() -> None:
    web = Web(http={"path": "/mcp"})
    assert web.begin(target="/mcp/").take().status is None
    assert web.begin(target="/other").take().status == 404


def test_hosts_and_origins_can_be_allowed() -> None:
    web = Web(http={"hosts": ("example.com",), "origins": ("https://example.com",)})
    assert web.begin(headers={"Host": "example.com:1", "Origin": "https://example.com"}).take().status is None
    assert web.begin(headers={"Host": "example.org"}).take().status == 403


def test_who_has_no_right_is_told_how_to_get_it() -> None:
    web = Web()
    exchange = web.http.unauthorized('Bearer realm="x"')
    assert web.woken() == [exchange]
    head, body, _ = exchange.outputs()
    assert head.status == 401  # type: ignore[union-attr]  # the first part is the head
    assert ("www-authenticate", 'Bearer realm="x"') in head.headers  # type: ignore[union-attr]  # as above
    assert b"unauthorized" in body  # type: ignore[operator]  # the second part is bytes
    assert exchange.closed


def test_sessions_need_ids() -> None:
    web = Web()
    with pytest.raises(LocalProtocolError, match="new_session_id"):
        HttpServer(web.server, HttpServerConfig())


@pytest.mark.parametrize("field", ["keep_alive", "session_timeout", "max_sessions", "max_body", "max_depth"])
def test_numbers_have_a_range(field: str) -> None:
    with pytest.raises(LocalProtocolError, match=field):
        HttpServerConfig(**{field: 0})  # type: ignore[arg-type]  # any of the numbers


# --- the modern era ---------------------------------------------------------------------------------


def test_a_modern_request_is_answered_at_once() -> None:
    web = Web()
    reply = web.call("prompts/list", id="é")
    assert reply.status == 200
    assert [item["name"] for item in reply.json["result"]["prompts"]] == ["p0000", "p0001"]
    assert reply.json["id"] == "é"
    assert reply.exchange.closed
    assert "mcp-session-id" not in reply.headers


def test_the_specification_calls_it_ignoring_a_session_id() -> None:
    reply = Web().call("server/discover", headers={"Mcp-Session-Id": "x", "Last-Event-ID": "5"})
    assert reply.json["result"]["supportedVersions"] == [MODERN]
    assert "mcp-session-id" not in reply.headers


def test_each_modern_request_has_a_stream_of_its_own() -> None:
    web = Web()
    first = web.call("prompts/get", {"name": "p0000"}, principal="a")
    second = web.call("prompts/get", {"name": "p0000"}, principal="b")
    one, two = web.of(PromptRequested)
    assert [one.request.principal, two.request.principal] == ["a", "b"]
    assert one.request.stream is not None
    assert one.request.stream.peer == "peer"
    web.prompts.answer(two, "second", 0.0)
    web.prompts.answer(one, "first", 0.0)
    for reply, text in ((first, "first"), (second, "second")):
        assert reply.take().json["result"]["messages"][0]["content"]["text"] == text
    assert len(web.of(StreamEnded)) == 2


@pytest.mark.parametrize(
    ("meta", "named"),
    [
        (None, VERSION),
        ({}, VERSION),
        ({CAPABILITIES: {}}, VERSION),
        ({VERSION: 5, CAPABILITIES: {}}, VERSION),
        ({VERSION: MODERN, CLIENT_INFO: {"name": "c", "version": "1"}}, CAPABILITIES),
    ],
)
@pytest.mark.parametrize("method", ["prompts/list", "initialize", "ping"])
def test_a_modern_request_without_its_envelope_is_malformed(
    meta: dict[str, Any] | None, named: str, method: str
) -> None:
    params = {} if meta is None else {"_meta": meta}
    message = {"id": 7, "method": method, "params": params}
    reply = Web().post(message, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "something else"})
    assert (reply.status, reply.code, reply.json["id"]) == (400, -32602, 7)
    assert named in reply.json["error"]["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": None},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"Mcp-Method": None},
        {"Mcp-Method": "prompts/list"},
        {"Mcp-Name": None},
        {"Mcp-Name": "p0001"},
        {"Mcp-Name": "\xe4\xb8\x96"},
    ],
)
def test_headers_and_body_have_to_match(headers: dict[str, str | None]) -> None:
    web = Web()
    reply = web.call("prompts/get", {"name": "p0000"}, headers)
    assert (reply.status, reply.code, reply.json["id"]) == (400, -32020, 1)
    assert web.of(PromptRequested) == []


def test_a_name_may_need_base64() -> None:
    reply = Web().call(
        "prompts/get", {"name": "Hello, 世界"}, {"Mcp-Name": "=?base64?SGVsbG8sIOS4lueVjA==?="}
    )
    assert (reply.status, reply.code) == (200, -32602)


def test_a_version_that_is_not_served() -> None:
    reply = Web().call("prompts/list", headers={"MCP-Protocol-Version": "2099-01-01"}, version="2099-01-01")
    assert (reply.status, reply.code) == (400, -32022)
    assert reply.json["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/call", "x/unknown"])
def test_an_unknown_method_is_not_found(method: str) -> None:
    reply = Web().call(method, {"name": "t"})
    assert (reply.status, reply.code, reply.json["id"]) == (404, -32601, 1)


def test_an_error_of_a_request_that_was_understood_is_no_error_of_http() -> None:
    web = Web()
    assert web.call("prompts/get", {"name": "gone"}).status == 200
    reply = web.call("prompts/get", {"name": "p0000"})
    (asked,) = web.of(PromptRequested)
    web.server.refuse(asked.request, RpcError(-32021, "no", {"requiredCapabilities": {}}), 0.0)
    assert reply.take().status == 400


def test_params_that_cannot_be_read() -> None:
    body = rb'{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{"a":1e999}}'
    reply = Web().raw(body, {"MCP-Protocol-Version": MODERN})
    assert (reply.status, reply.code, reply.json["id"]) == (400, -32602, 3)


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", -32700), (b"{", -32700), (b"5", -32600), (b"[]", -32600), (b'{"jsonrpc":"2.0"}', -32600)],
)
@pytest.mark.parametrize("version", [MODERN, None])
def test_what_is_no_message_is_a_bad_request(body: bytes, code: int, version: str | None) -> None:
    web = Web()
    reply = web.raw(body, {"MCP-Protocol-Version": version})
    assert (reply.status, reply.code) == (400, code)
    assert "id" not in reply.json
    assert [event.kind for event in web.of(Diagnostic)] == ["bad-message"]


def test_a_modern_notification_is_accepted() -> None:
    web = Web()
    reply = web.post({"method": "x/told", "params": {"a": 1}}, {"MCP-Protocol-Version": MODERN})
    assert (reply.status, reply.body, reply.ended) == (202, b"", True)
    assert reply.kind is None
    assert [event.method for event in web.of(NotificationReceived)] == ["x/told"]


@pytest.mark.parametrize("message", [{"id": 1, "result": {}}, [{"id": 1, "method": "ping"}]])
def test_modern_clients_send_neither_responses_nor_batches(message: Any) -> None:
    reply = Web().post(message, {"MCP-Protocol-Version": MODERN})
    assert (reply.status, reply.code) == (400, -32600)


def test_depth_is_limited() -> None:
    web = Web(http={"max_depth": 3})
    reply = web.call("prompts/list", {"a": [[[[]]]]})
    assert (reply.status, reply.code) == (400, -32602)


def test_a_subscription_is_a_stream_of_events() -> None:
    web = Web()
    reply = web.listen()
    assert reply.status == 200
    assert reply.headers["x-accel-buffering"] == "no"
    assert [event["method"] for event in reply.events] == [ACKNOWLEDGED]
    assert len(web.of(SubscriptionOpened)) == 1
    web.edit("new")
    assert web.woken() == [reply.exchange]
    assert [event["method"] for event in reply.take().events] == [ACKNOWLEDGED, LIST_CHANGED]
    assert not reply.ended
    reply.exchange.abort(web.now)
    assert len(web.of(SubscriptionEnded)) == 1
    assert reply.exchange.closed
    web.edit("newer")
    assert reply.take().events[2:] == []


def test_a_subscription_needs_a_client_that_reads_events() -> None:
    reply = Web().listen({"Accept": "application/json"})
    assert (reply.status, reply.json["id"]) == (406, "l")


def test_a_subscription_that_cannot_be_is_refused_by_json() -> None:
    params = {"notifications": {TOPIC: "yes"}}
    reply = Web(http={"reply": "json"}).call("subscriptions/listen", params)
    assert reply.status == 200
    assert reply.events[0]["error"]["code"] == -32602
    assert reply.ended


def test_a_subscription_is_ended_by_its_result_and_the_end_of_the_stream() -> None:
    web = Web()
    reply = web.listen()
    (opened,) = web.of(SubscriptionOpened)
    web.server.end_subscription(opened.stream, opened.id, 0.0)
    assert web.woken() == [reply.exchange]
    assert [event.get("id") for event in reply.take().events] == [None, "l"]
    assert reply.ended
    assert [type(event) for event in web.of(StreamEnded)] == [StreamEnded]


def test_without_the_legacy_era_an_initialize_hears_which_versions_there_are() -> None:
    web = Web(versions=(MODERN,), http={"new_session_id": None})
    reply = web.post(INITIALIZE, {"MCP-Protocol-Version": "2025-06-18"})
    assert (reply.status, reply.code) == (400, -32022)
    assert reply.json["error"]["data"]["supported"] == [MODERN]


@pytest.mark.parametrize("headers", [{}, {"Mcp-Session-Id": "x"}, {"MCP-Protocol-Version": "2025-11-25"}])
def test_without_the_legacy_era_every_request_is_modern(headers: dict[str, str | None]) -> None:
    web = Web(versions=(MODERN,), http={"new_session_id": None})
    reply = web.post({"id": 1, "method": "prompts/list"}, headers)
    assert (reply.status, reply.code) == (400, -32602)


# --- the end ----------------------------------------------------------------------------------------


def test_a_server_that_closes_ends_what_is_open() -> None:
    web = Web(catalogue(3))
    session = web.session()
    push, legacy = session.open("GET"), session.call("prompts/get", {"name": "p0000"})
    modern, listen = web.call("prompts/get", {"name": "p0000"}), web.listen()
    late = web.begin()
    web.woken()
    web.server.close(1.0)
    assert set(web.woken()) == {reply.exchange for reply in (push, legacy, modern, listen)}
    assert (push.take().events, push.ended) == ([], True)
    assert listen.take().events[-1]["id"] == "l"
    for reply in (legacy, modern):
        assert (reply.take().status, reply.code) == (503, -32603)
    late.exchange.receive_eof(1.0)
    assert late.take().status == 503
    assert web.begin(headers={"Accept": BOTH}).take().status == 503
