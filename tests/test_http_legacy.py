"""A server of legacy sessions over HTTP: how they begin, what belongs to them, and batches."""

from __future__ import annotations

from typing import Any

import pytest
from serving import CAPABILITIES, LEGACY, MODERN, VERSION
from web import Web

from mcp_sansio import (
    NotificationReceived,
    PromptRequested,
    RequestReceived,
    SessionStarted,
    StreamEnded,
)

INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
HTTP_LEGACY = LEGACY[1:]


# --- the legacy era ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", HTTP_LEGACY)
def test_a_session(version: str) -> None:
    web = Web()
    session = web.session(version)
    assert [event.version for event in web.of(SessionStarted)] == [version]
    reply = session.call("prompts/list")
    assert reply.status == 200
    assert len(reply.json["result"]["prompts"]) == 2
    assert "mcp-session-id" not in reply.headers
    assert session.open("DELETE").status == 204
    assert session.call("prompts/list").status == 404
    assert session.open("DELETE").status == 404


def test_sessions_of_two_clients_are_two() -> None:
    web = Web()
    one, two = web.session(), web.session()
    assert one.id != two.id
    replies = [one.call("prompts/get", {"name": "p0000"}), two.call("prompts/get", {"name": "p0000"})]
    for asked, text in zip(web.of(PromptRequested), "ab", strict=True):
        web.prompts.answer(asked, text, 0.0)
    texts = [reply.take().json["result"]["messages"][0]["content"]["text"] for reply in replies]
    assert texts == ["a", "b"]


def test_an_initialize_that_fails_opens_no_session() -> None:
    web = Web()
    reply = web.post({"id": 0, "method": "initialize", "params": {}})
    assert (reply.status, reply.code) == (200, -32602)
    assert "mcp-session-id" not in reply.headers
    assert len(web.of(StreamEnded)) == 1


def test_a_second_initialize_is_refused() -> None:
    reply = Web().session().post(INITIALIZE)
    assert (reply.status, reply.code) == (400, -32600)


def test_an_initialize_in_a_session_that_is_not() -> None:
    assert Web().post(INITIALIZE, {"Mcp-Session-Id": "gone"}).status == 404


def test_an_initialize_with_a_modern_header_and_no_envelope_is_malformed() -> None:
    assert Web().post(INITIALIZE, {"MCP-Protocol-Version": MODERN}).status == 400


@pytest.mark.parametrize("version", ["2025-03-25", "x", "2024-11-05, 2025-03-26"])
def test_a_version_header_that_names_nothing_is_a_bad_request(version: str) -> None:
    session = Web().session()
    assert session.post({"id": 1, "method": "ping"}, {"MCP-Protocol-Version": version}).status == 400
    assert session.open("GET", {"MCP-Protocol-Version": version}).status == 400


@pytest.mark.parametrize("version", ["2025-11-25", "2099-01-01", "x"])
def test_a_version_is_agreed_upon_in_the_body(version: str) -> None:
    """A newer client may put its own into a header, and is answered by one that both have."""
    reply = Web(versions=("2025-06-18",)).post(INITIALIZE, {"MCP-Protocol-Version": version})
    assert (reply.status, reply.json["result"]["protocolVersion"]) == (200, "2025-06-18")
    assert Web().post(INITIALIZE, {"MCP-Protocol-Version": version}).status == 200


def test_a_session_needs_no_version_header() -> None:
    session = Web().session("2025-03-26")
    assert session.post({"id": 1, "method": "ping"}, {"MCP-Protocol-Version": None}).json["result"] == {}


def test_where_the_modern_era_is_not_served_its_members_mean_nothing() -> None:
    web = Web(versions=("2025-11-25",))
    session = web.session()
    params = {"_meta": {VERSION: MODERN, CAPABILITIES: {}}}
    assert session.post({"id": 1, "method": "prompts/list", "params": params}).status == 200
    headers = {"MCP-Protocol-Version": MODERN}
    assert session.post({"id": 2, "method": "prompts/list"}, headers).status == 400


def test_a_session_id_does_not_make_a_request_legacy() -> None:
    web = Web()
    session = web.session()
    headers: dict[str, str | None] = {"Mcp-Session-Id": session.id}
    reply = web.call("prompts/list", headers=headers)
    assert reply.json["result"]["resultType"] == "complete"
    reply = session.post({"id": 1, "method": "prompts/list"}, {"MCP-Protocol-Version": MODERN})
    assert (reply.status, reply.code) == (400, -32602)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"id": 1, "method": "ping"}, -32602),
        ({"method": "notifications/initialized"}, -32600),
        ({"id": 1, "result": {}}, -32600),
        ([{"id": 1, "method": "ping"}], -32600),
    ],
)
def test_without_a_session_there_is_no_legacy_traffic(message: Any, code: int) -> None:
    reply = Web().post(message)
    assert (reply.status, reply.code) == (400, code)
    assert "Mcp-Session-Id" in reply.json["error"]["message"]


@pytest.mark.parametrize("message", [{"id": 1, "method": "ping"}, {"method": "notifications/initialized"}])
def test_an_unknown_session_is_not_found(message: Any) -> None:
    reply = Web().post(message, {"Mcp-Session-Id": "s99"})
    assert (reply.status, reply.code) == (404, -32600)
    assert reply.json.get("id") == message.get("id")


def test_a_get_without_a_session_hears_of_the_transport_that_is_not_built() -> None:
    reply = Web().begin("GET").take()
    assert reply.status == 400
    assert "HTTP+SSE" in reply.json["error"]["message"]


def test_a_get_needs_a_client_that_reads_events() -> None:
    assert Web().session().open("GET", {"Accept": "application/json"}).status == 406


def test_a_delete_without_a_session() -> None:
    assert Web().begin("DELETE").take().status == 400


def test_legacy_errors_are_not_errors_of_http() -> None:
    session = Web().session()
    reply = session.call("x/unknown")
    assert (reply.status, reply.code) == (200, -32601)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}', 200, -32602),
        (b'{"jsonrpc":"2.0","method":"x/told","params":[]}', 400, -32602),
        (b'{"jsonrpc":"2.0","id":4,"result":5}', 400, -32600),
    ],
)
def test_what_is_no_message_in_a_session(body: bytes, status: int, code: int) -> None:
    reply = Web().session().raw(body)
    assert (reply.status, reply.code) == (status, code)


def test_notifications_and_responses_of_a_session_are_accepted() -> None:
    web = Web()
    session = web.session()
    for message in ({"method": "x/told"}, {"id": 9, "result": {}}):
        reply = session.post(message)
        assert (reply.status, reply.body, reply.kind) == (202, b"", None)
    assert len(web.of(NotificationReceived)) == 1


def test_a_session_is_asked_on_its_get_and_answers_by_post() -> None:
    web = Web()
    session = web.session()
    push = session.open("GET")
    assert (push.status, push.events) == (200, [])
    (started,) = web.of(SessionStarted)
    web.woken()
    call = web.server.request(started.stream, "roots/list", None, 0.0)
    assert web.woken() == [push.exchange]
    (question,) = push.take().events
    assert question["method"] == "roots/list"
    assert session.post({"id": question["id"], "result": {"roots": []}}).status == 202
    (event,) = [event for event in web.of(object) if getattr(event, "call", None) == call]
    assert type(event).__name__ == "CallSucceeded"


# --- batches ----------------------------------------------------------------------------------------

PAIR = [{"id": 1, "method": "ping"}, {"id": 2, "method": "x/echo"}, {"method": "x/told"}]


def test_a_batch_is_answered_by_a_batch() -> None:
    web = Web(methods=("x/echo",))
    reply = web.session("2025-03-26").post(PAIR)
    assert reply.status is None
    (asked,) = web.of(RequestReceived)
    web.server.respond(asked.request, {"a": 1}, 0.0)
    assert [part["id"] for part in reply.take().json] == [1, 2]


def test_a_batch_without_requests_is_accepted() -> None:
    reply = Web().session("2025-03-26").post([{"method": "x/told"}, {"id": 1, "result": {}}])
    assert (reply.status, reply.body) == (202, b"")


def test_what_is_wrong_with_a_batch_is_said_to_whom_sent_it() -> None:
    web = Web(max_in_flight=2)
    session = web.session("2025-03-26")
    push = session.open("GET")
    reply = session.post(PAIR)
    assert (reply.status, reply.code) == (400, -32600)
    reply = session.raw(b'[{"jsonrpc":"2.0","method":5}]')
    assert [part["error"]["code"] for part in reply.json] == [-32600]
    assert push.take().events == []


def test_what_is_answered_of_a_batch_is_sent_when_the_server_closes() -> None:
    web = Web(methods=("x/echo",), max_pending=0)
    session = web.session("2025-03-26")
    reply = session.post(PAIR)
    (asked,) = web.of(RequestReceived)
    assert asked.request.stream is not None
    assert asked.request.stream.want_read  # what waits is not for its carrier
    web.server.close(0.0)
    reply.take()
    assert ([part["id"] for part in reply.json], reply.ended) == ([1], True)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_later_revisions_have_no_batches(version: str) -> None:
    reply = Web().session(version).post(PAIR)
    assert (reply.status, reply.code) == (400, -32600)


@pytest.mark.parametrize("cancelled", [[1], [1, 2]])
def test_a_batch_of_which_requests_are_cancelled(cancelled: list[int]) -> None:
    web = Web(methods=("x/echo",))
    session = web.session("2025-03-26")
    push = session.open("GET")
    reply = session.post([{"id": 1, "method": "x/echo"}, {"id": 2, "method": "x/echo"}])
    asked = web.of(RequestReceived)
    for id in cancelled:
        session.post({"method": "notifications/cancelled", "params": {"requestId": id}})
    if cancelled == [1]:
        web.server.respond(asked[1].request, {}, 0.0)
        assert [part["id"] for part in reply.take().json] == [2]
    else:
        assert (reply.take().status, reply.body, reply.ended) == (200, b"", True)
    assert push.take().events == []
