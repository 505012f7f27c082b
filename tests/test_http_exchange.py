"""One exchange: how a body comes in, which form the reply takes, and what an end means in either era."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import ACKNOWLEDGED, LIST_CHANGED, MODERN, TOPIC, envelope
from web import Reply, Web

from mcp_sansio import (
    LocalProtocolError,
    PromptRequested,
    RequestCancelled,
    RequestReceived,
    SessionStarted,
    StreamEnded,
)
from mcp_sansio._http_exchange import EXCHANGE, Exchange, ExchangeInput

ECHO = ("x/echo",)
JSON, SSE = "application/json", "text/event-stream"
PROGRESS = "notifications/progress"


def asked(web: Web, era: str, headers: dict[str, str | None] | None = None) -> tuple[Reply, RequestReceived]:
    """A request that waits for its answer, and wants progress."""
    meta: dict[str, Any] = {"progressToken": "t"}
    if era == MODERN:
        reply = web.call("x/echo", headers=headers, **meta)
    else:
        reply = web.session(era).call("x/echo", {"_meta": meta}, **(headers or {}))
    (event,) = web.of(RequestReceived)
    return reply, event


eras = pytest.mark.parametrize("era", ["2025-03-26", "2025-11-25", MODERN])


# --- states -----------------------------------------------------------------------------------------

ROWS = {
    ("receiving", "request complete"): "answering",
    ("receiving", "reply complete"): "ended",
    ("answering", "events begin"): "streaming",
    ("answering", "reply complete"): "ended",
    ("streaming", "reply complete"): "ended",
    ("ended", "reply taken"): "closed",
}


@pytest.mark.parametrize(("state", "event"), [*itertools.product(Exchange, ExchangeInput)])
def test_every_pair_of_state_and_input(state: Exchange, event: ExchangeInput) -> None:
    expected = "closed" if event is ExchangeInput.ABORT else ROWS.get((state.value, event.value))
    if expected is None:
        with pytest.raises(LocalProtocolError):
            EXCHANGE.next(state, event)
    else:
        assert EXCHANGE.next(state, event).value == expected


# --- the body ---------------------------------------------------------------------------------------

BODY = b'{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{"_meta":{%b}}}' % b",".join(
    b'"io.modelcontextprotocol/' + member
    for member in (b'protocolVersion":"2026-07-28"', b'clientCapabilities":{}')
)
HEADERS: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "prompts/list"}


@given(st.lists(st.integers(0, len(BODY))))
def test_any_split_of_the_body_is_the_same_request(cuts: list[int]) -> None:
    web = Web()
    reply = web.begin(headers=HEADERS)
    for start, end in itertools.pairwise([0, *sorted(cuts), len(BODY)]):
        reply.exchange.receive_data(BODY[start:end], 0.0)
        assert reply.take().status is None
    reply.exchange.receive_eof(0.0)
    assert len(reply.take().json["result"]["prompts"]) == 2


@pytest.mark.parametrize("over", [False, True])
def test_a_body_has_a_limit(over: bool) -> None:
    web = Web(http={"max_body": len(BODY) - over})
    reply = web.begin(headers=HEADERS)
    for byte in BODY:
        reply.exchange.receive_data(bytes([byte]), 0.0)
    assert reply.exchange.want_read is not over
    assert (web.woken() == [reply.exchange]) is over
    reply.exchange.receive_eof(0.0)
    assert reply.take().status == (413 if over else 200)


def test_what_comes_after_a_refusal_means_nothing() -> None:
    web = Web()
    reply = web.begin(headers={"Host": "evil.com"})
    reply.exchange.receive_data(BODY, 0.0)
    reply.exchange.receive_eof(0.0)
    reply.exchange.receive_eof(0.0)
    assert reply.take().status == 403
    assert reply.exchange.closed
    assert reply.take().ended


def test_a_reply_is_announced() -> None:
    web = Web()
    reply = web.begin(headers=HEADERS)
    assert web.woken() == []
    reply.exchange.receive_data(BODY, 0.0)
    reply.exchange.receive_eof(0.0)
    assert web.woken() == [reply.exchange]
    assert reply.take().status == 200


def test_the_token_is_the_adapters() -> None:
    exchange = Web().begin().exchange
    assert exchange.token is None
    exchange.token = 5
    assert len({exchange, exchange}) == 1


# --- the form of a reply ----------------------------------------------------------------------------


@eras
@pytest.mark.parametrize(
    ("reply", "accept", "kind"),
    [
        ("auto", f"{JSON}, {SSE}", JSON),
        ("auto", JSON, JSON),
        ("auto", SSE, SSE),
        ("json", f"{JSON}, {SSE}", JSON),
        ("json", SSE, SSE),
        ("sse", "*/*", SSE),
        ("sse", JSON, JSON),
    ],
)
def test_a_lone_answer(era: str, reply: Any, accept: str, kind: str) -> None:
    web = Web(methods=ECHO, http={"reply": reply})
    answer, event = asked(web, era, {"Accept": accept})
    assert answer.status is None
    web.server.respond(event.request, {"a": 1}, 0.0)
    assert answer.take().ended
    assert answer.kind == kind
    message = answer.json if kind == JSON else answer.events[0]
    assert message["result"]["a"] == 1


@eras
@pytest.mark.parametrize(
    ("reply", "accept", "kind"),
    [
        ("auto", f"{JSON}, {SSE}", SSE),
        ("auto", JSON, JSON),
        ("auto", SSE, SSE),
        ("json", "*/*", JSON),
        ("json", SSE, SSE),
        ("sse", "*/*", SSE),
    ],
)
def test_progress_before_an_answer(era: str, reply: Any, accept: str, kind: str) -> None:
    web = Web(methods=ECHO, http={"reply": reply})
    answer, event = asked(web, era, {"Accept": accept})
    for value in (1, 2):
        web.server.progress(event.request, value, 0.0)
        assert answer.take().status == (200 if kind == SSE else None)
    web.server.respond(event.request, {}, 0.0)
    answer.take()
    assert answer.ended
    if kind == SSE:
        assert [part.get("method", part.get("id")) for part in answer.events] == [PROGRESS, PROGRESS, 1]
        assert answer.headers["cache-control"] == "no-cache"
        assert "content-length" not in answer.headers
    else:
        assert answer.json["id"] == 1


@pytest.mark.parametrize("accept", ["*/*", SSE])
def test_an_error_with_a_status_of_its_own_is_json_in_any_case(accept: str) -> None:
    answer = Web(http={"reply": "sse"}).call("x/unknown", headers={"Accept": accept})
    assert (answer.status, answer.kind) == (404, JSON)


def test_an_initialize_may_be_answered_by_events() -> None:
    assert Web(http={"reply": "sse"}).session().id == "s1"


def test_messages_about_a_request_go_its_own_way() -> None:
    web = Web(methods=ECHO)
    session = web.session()
    push = session.open("GET")
    answer = session.call("x/echo", {"_meta": {"progressToken": 1}})
    (event,) = web.of(RequestReceived)
    web.server.progress(event.request, 1, 0.0)
    web.server.notify(event.request, "x/about", None, 0.0)
    assert event.request.stream is not None
    web.server.notify(event.request.stream, "x/apart", None, 0.0)
    web.server.respond(event.request, {}, 0.0)
    assert [part.get("method") for part in answer.take().events] == [PROGRESS, "x/about", None]
    assert [part["method"] for part in push.take().events] == ["x/apart"]


# --- a peer that is gone ----------------------------------------------------------------------------


def test_in_the_modern_era_a_peer_that_is_gone_has_cancelled() -> None:
    web = Web(methods=ECHO)
    answer, event = asked(web, MODERN)
    answer.exchange.abort(0.0, "reset")
    answer.exchange.abort(0.0, "again")
    assert [(gone.request, gone.reason) for gone in web.of(RequestCancelled)] == [(event.request, "reset")]
    assert answer.exchange.closed
    assert answer.take().heads == []
    with pytest.raises(LocalProtocolError, match="not open"):
        web.server.respond(event.request, {}, 0.0)


@pytest.mark.parametrize("streaming", [False, True])
def test_in_the_legacy_era_it_has_not(streaming: bool) -> None:
    web = Web(methods=ECHO)
    answer, event = asked(web, "2025-11-25")
    if streaming:
        web.server.progress(event.request, 1, 0.0)
        answer.take()
    web.server.progress(event.request, 2, 0.0)
    answer.exchange.abort(0.0)
    assert web.of(RequestCancelled) == []
    web.server.progress(event.request, 3, 0.0)
    web.server.respond(event.request, {}, 0.0)
    assert answer.take().ended is False
    assert web.of(object) == []


def test_a_peer_may_go_before_it_has_asked() -> None:
    web = Web()
    reply = web.begin()
    reply.exchange.abort(0.0)
    reply.exchange.receive_data(b"x", 0.0)
    reply.exchange.receive_eof(0.0)
    assert reply.take().heads == []
    assert web.of(object) == []


def test_a_reply_that_was_not_taken_is_gone_with_its_peer() -> None:
    web = Web()
    reply = web.begin(headers={"Host": "evil.com"})
    reply.exchange.abort(0.0)
    assert reply.take().heads == []


def test_a_push_that_is_gone_leaves_its_session() -> None:
    web = Web()
    session = web.session()
    push = session.open("GET")
    push.exchange.abort(0.0)
    web.edit("new")
    assert session.call("prompts/list").status == 200
    again = session.open("GET")
    assert [part["method"] for part in again.events] == [LIST_CHANGED]
    assert web.of(StreamEnded) == []


# --- cancelled by a message -------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [False, True])
def test_a_cancelled_legacy_request_is_over(streaming: bool) -> None:
    web = Web(methods=ECHO)
    session = web.session()
    answer = session.call("x/echo", {"_meta": {"progressToken": 1}})
    (event,) = web.of(RequestReceived)
    if streaming:
        web.server.progress(event.request, 1, 0.0)
    web.woken()
    session.post({"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert answer.exchange in web.woken()
    answer.take()
    assert answer.ended
    assert answer.status == 200
    assert len(answer.events) == streaming
    assert len(web.of(RequestCancelled)) == 1


@pytest.mark.parametrize("streaming", [False, True])
def test_an_answer_that_has_not_been_written_when_its_request_is_cancelled_is_not_written(
    streaming: bool,
) -> None:
    """Receivers of a cancellation "SHOULD … not send a response for the cancelled request"."""
    web = Web(methods=ECHO)
    session = web.session()
    answer, other = session.call("x/echo", {"_meta": {"progressToken": 1}}), session.call("x/echo")
    for event in web.of(RequestReceived):
        if streaming and "progressToken" in event.request.meta:
            web.server.progress(event.request, 1, 0.0)
        web.server.respond(event.request, {}, 0.0)
    (first, second) = (reply.exchange.asked[0] for reply in (answer, other))
    for wire_id in (first, first, 77):
        session.post({"method": "notifications/cancelled", "params": {"requestId": wire_id}})
    answer.take()
    assert answer.ended
    assert answer.status == 200
    assert [event["method"] for event in answer.events] == ["notifications/progress"] * streaming
    assert other.take().json["id"] == second


# --- silence, and readers that do not read -------------------------------------------------------------


def test_a_silent_stream_says_that_it_lives() -> None:
    web = Web(http={"keep_alive": 10.0})
    listen = web.listen()
    push = web.session().open("GET")
    web.wait(35.0)
    assert {listen.exchange, push.exchange} <= set(web.woken())
    for reply in (listen, push):
        assert reply.take().comments == 1
    web.wait(10.0)
    web.edit("new")
    assert (listen.take().comments, listen.events[-1]["method"]) == (1, LIST_CHANGED)
    listen.exchange.abort(web.now)
    push.exchange.abort(web.now)
    web.woken()
    web.wait(100.0)
    assert web.woken() == []


def test_a_request_that_waits_says_nothing_before_it_must() -> None:
    web = Web(methods=ECHO, http={"keep_alive": 10.0})
    answer, event = asked(web, MODERN)
    web.wait(25.0)
    assert answer.take().heads == []
    web.server.progress(event.request, 1, web.now)
    web.wait(25.0)
    assert answer.take().comments == 0
    web.wait(10.0)
    assert answer.take().comments == 1
    web.server.respond(event.request, {}, web.now)
    assert answer.take().ended
    assert web.server.next_timeout() is None


def test_keep_alive_can_be_off() -> None:
    web = Web(http={"keep_alive": None})
    listen = web.listen()
    web.wait(1000.0)
    assert listen.take().comments == 0


@pytest.mark.parametrize("era", ["2025-11-25", MODERN])
def test_a_reader_that_does_not_read_costs_one_bit(era: str) -> None:
    web = Web()
    reader = web.listen() if era == MODERN else web.session().open("GET")
    reader.take()
    for number in range(50):
        web.edit(f"new {number}")
        web.wait(1.0)
    assert [part["method"] for part in reader.take().events] == [ACKNOWLEDGED] * (era == MODERN) + [
        LIST_CHANGED
    ]
    web.edit("one more")
    assert len(reader.take().events) == 2 + (era == MODERN)


def test_a_change_comes_before_a_list_only_where_they_share_a_channel() -> None:
    web = Web()
    session = web.session()
    web.edit("new")
    assert session.call("prompts/list").kind == JSON


# --- hostile and simply large ------------------------------------------------------------------------


def test_a_message_of_several_lines_is_one_event() -> None:
    web = Web(methods=ECHO, http={"reply": "sse"})
    answer, event = asked(web, MODERN)
    web.server.respond(event.request, {"t": "a\r\nb\u2028c"}, 0.0)
    assert answer.take().events[0]["result"]["t"] == "a\r\nb\u2028c"


@given(st.binary(max_size=60), st.sampled_from([MODERN, "2025-11-25", "", None]), st.booleans())
def test_no_body_raises(body: bytes, version: str | None, with_session: bool) -> None:
    web = Web()
    session = web.session()
    headers: dict[str, str | None] = {"MCP-Protocol-Version": version}
    if with_session:
        headers["Mcp-Session-Id"] = session.id
    reply = web.raw(body, headers)
    assert reply.ended
    assert reply.status in (200, 202, 400, 404)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
METHODS = st.sampled_from(
    ["initialize", "ping", "prompts/list", "prompts/get", "completion/complete", "notifications/cancelled"]
)


@given(
    METHODS,
    st.dictionaries(st.sampled_from(["name", "cursor", "_meta", "requestId"]), JSON_VALUES),
    st.data(),
)
def test_no_message_raises(method: str, params: dict[str, Any], data: st.DataObject) -> None:
    web = Web()
    message: dict[str, Any] = {"method": method, "params": params}
    if data.draw(st.booleans()):
        message["id"] = data.draw(JSON_VALUES)
    if data.draw(st.booleans()):
        message["params"] = {**params, "_meta": envelope()}
    session = web.session()
    headers: dict[str, str | None] = data.draw(
        st.sampled_from(
            [{}, HEADERS, {"Mcp-Session-Id": session.id}, {**HEADERS, "Mcp-Session-Id": session.id}]
        )
    )
    reply = web.post(message, headers)
    assert reply.ended or len(web.of(PromptRequested)) == 1
    assert len(reply.heads) <= 1
    assert reply.status in (None, 200, 202, 400, 404)


def test_a_session_can_be_asked_before_its_get() -> None:
    web = Web()
    session = web.session()
    (started,) = web.of(SessionStarted)
    web.server.request(started.stream, "ping", None, 0.0)
    push = session.open("GET")
    assert [part["method"] for part in push.events] == ["ping"]
    assert TOPIC not in push.body.decode()
