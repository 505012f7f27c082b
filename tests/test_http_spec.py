"""What the transport pages demand of both ends over HTTP, where no other test has said it already.

Each test quotes the sentence that it is about; those without a revision are of 2026-07-28.
"""

from __future__ import annotations

from typing import Any

import pytest
from clients import LEGACY, MODERN
from http_asking import SESSION, Asker, body, header
from http_asking import legacy as legacy_client
from http_asking import modern as modern_client
from serving import ACKNOWLEDGED, LIST_CHANGED
from web import Reply, Web

from mcp_sansio import (
    CallFailed,
    Diagnostic,
    Era,
    IncomingRequest,
    LocalProtocolError,
    RequestReceived,
    SessionStarted,
    TimedOut,
)

ECHO = ("x/echo",)
PROGRESS = "notifications/progress"


def echo(web: Web, reply: Reply) -> tuple[Reply, IncomingRequest]:
    """The reply to a request that the application has to answer, and that request."""
    (event,) = web.of(RequestReceived)
    return reply, event.request


def spoken(reply: Reply) -> list[Any]:
    """The methods and ids of the messages of a stream."""
    return [message.get("method", message.get("id")) for message in reply.take().events]


# --- the server: which stream a message takes -----------------------------------------------------------


def test_a_response_never_takes_the_stream_of_a_get() -> None:
    """Demanded: "The server MUST NOT send a JSON-RPC response on the stream unless resuming" (2025-11-25)."""
    web = Web(methods=ECHO)
    session = web.session()
    push = session.open("GET")
    reply, request = echo(web, session.call("x/echo"))
    reply.exchange.abort(0.0)
    web.server.respond(request, {}, 0.0)
    assert push.take().events == []


def test_a_message_takes_one_stream_of_a_session() -> None:
    """Demanded: "It MUST NOT broadcast the same message across multiple streams" (2025-11-25)."""
    web = Web(methods=ECHO)
    session = web.session()
    (started,) = web.of(SessionStarted)
    push = session.open("GET")
    reply, request = echo(web, session.call("x/echo", {"_meta": {"progressToken": 1}}))
    web.server.progress(request, 1, 0.0)
    web.server.notify(started.stream, "x/apart", None, 0.0)
    web.edit("new")
    assert spoken(reply) == [PROGRESS]
    assert spoken(push) == ["x/apart", LIST_CHANGED]


def test_what_is_about_a_request_is_not_told_to_listeners_nor_the_other_way_round() -> None:
    """Demanded: notifications on the stream of a request "MUST relate to the originating client request", and
    such are "not delivered on the listen stream".
    """
    web = Web(methods=ECHO)
    listen = web.listen()
    reply, request = echo(web, web.call("x/echo", progressToken="t"))
    web.server.progress(request, 1, 0.0)
    web.edit("new")
    web.server.respond(request, {}, 0.0)
    assert spoken(reply) == [PROGRESS, 1]
    assert spoken(listen) == [ACKNOWLEDGED, LIST_CHANGED]


def test_a_modern_server_asks_nothing() -> None:
    """Demanded: "The server MUST NOT send independent JSON-RPC requests on this stream"."""
    web = Web(methods=ECHO)
    reply, request = echo(web, web.call("x/echo"))
    assert request.stream is not None
    with pytest.raises(LocalProtocolError):
        web.server.request(request.stream, "roots/list", None, 0.0)
    with pytest.raises(LocalProtocolError):
        web.server.notify(request.stream, "x/apart", None, 0.0)
    assert reply.take().heads == []


# --- the server: how a request is answered ----------------------------------------------------------------


@pytest.mark.parametrize("era", [LEGACY, MODERN])
def test_an_error_has_the_id_of_its_request(era: str) -> None:
    """Demanded: "Error responses MUST include the same ID as the request they correspond to". A server that
    shuts down before it has answered knows that id as well.
    """
    web = Web(methods=ECHO)
    if era == MODERN:
        reply, _ = echo(web, web.call("x/echo", id="mine"))
    else:
        reply, _ = echo(web, web.session().call("x/echo", id="mine"))
    web.server.close(0.0)
    assert (reply.take().status, reply.code, reply.json["id"]) == (503, -32603, "mine")


def test_the_end_of_a_session_is_told_to_the_request_that_waits() -> None:
    """The same sentence: what waits in a session that ends is answered as what comes after it."""
    web = Web(methods=ECHO)
    session = web.session()
    reply, _ = echo(web, session.call("x/echo", id="mine"))
    session.open("DELETE")
    assert (reply.take().status, reply.json["id"]) == (404, "mine")


@pytest.mark.parametrize(("accept", "status"), [("*/*", 200), ("application/json", 202)])
def test_a_request_that_was_cancelled_is_answered_by_a_stream_that_says_nothing(
    accept: str, status: int
) -> None:
    """Demanded: "If the input is a JSON-RPC request, the server MUST either return text/event-stream … or
    application/json" (2025-11-25). There is no response to a cancelled one, and to a client that reads no
    events nothing at all can be said.
    """
    web = Web(methods=ECHO)
    session = web.session("2025-03-26")
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    for message in ({"id": 1, "method": "x/echo"}, [{"id": 1, "method": "x/echo"}]):
        reply = session.post(message, {"Accept": accept})
        session.post(cancel)
        assert (reply.take().status, reply.body, reply.ended) == (status, b"", True)
        assert (reply.kind == "text/event-stream") is (status == 200)


def test_a_session_that_has_ended_is_not_found_whatever_is_asked() -> None:
    """Demanded: "it MUST respond to requests containing that session ID with HTTP 404" (2025-11-25)."""
    session = Web().session()
    session.open("DELETE")
    assert session.call("ping").status == 404
    assert session.post({"method": "notifications/initialized"}).status == 404
    assert session.open("GET").status == 404
    assert session.open("DELETE").status == 404


# --- the client ---------------------------------------------------------------------------------------------


def test_a_modern_request_that_times_out_is_cancelled_by_closing_its_stream() -> None:
    """Demanded: "The sender SHOULD cancel the request", and over HTTP "no notifications/cancelled message is
    required or expected".
    """
    web = modern_client(quiet_timeout=10.0)
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.wait(10.0)
    assert web.events() == [CallFailed(call, TimedOut("quiet", 10.0))]
    assert made.closed
    assert web.count("notifications/cancelled") == 0


def test_a_legacy_request_that_times_out_is_cancelled_in_its_session() -> None:
    """Demanded: "The sender SHOULD issue a cancellation notification for that request" (2025-11-25), since
    "disconnection SHOULD NOT be interpreted as the client cancelling its request".
    """
    web = legacy_client(quiet_timeout=10.0)
    web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.wait(10.0)
    cancelled = web.one("notifications/cancelled")
    assert body(cancelled)["params"]["requestId"] == body(made)["id"]
    assert header(cancelled, "Mcp-Session-Id") == SESSION
    assert made.closed


def test_a_modern_client_sends_no_responses() -> None:
    """Demanded: "The client MUST NOT send JSON-RPC responses", whatever a server asks for on a stream."""
    web = modern_client(answers=("roots/list",))
    web.client.request("x/y", None, 0.0)
    web.stream(web.one("x/y"), {"id": 5, "method": "roots/list"}, {"id": 6, "method": "ping"})
    assert len(web.of(Diagnostic)) == 2
    assert web.pull() == []


def test_a_new_session_is_begun_by_a_plain_handshake_with_a_server_that_is_known() -> None:
    """Demanded: "it MUST start a new session by sending a new InitializeRequest without a session ID
    attached" (2025-11-25). The era "is a property of the server", and is not asked for again.
    """
    web = Asker()
    web.say_legacy()
    web.client.request("x/y", None, 0.0)
    web.answer(web.one("x/y"), 404)
    hello = web.one("initialize")
    assert [name for name, _ in hello.headers] == ["Accept", "Content-Type"]
    assert web.count("server/discover") == 1
    web.say_legacy(session="s-2")
    assert web.client.era is Era.LEGACY
