"""HTTP client: sessions that are lost, what is safe to repeat, and streams that are taken up again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from clients import LEGACY
from http_asking import JSON, SESSION, SSE, Asker, asks, body, error, header, legacy, modern

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Cancelled,
    Client,
    ClientConfig,
    Diagnostic,
    Disconnected,
    HttpFailed,
    Implementation,
    InvalidReply,
    Listed,
    ListingConfig,
    Lost,
    NotificationReceived,
    OpFailed,
    PromptClient,
    PromptRendered,
    RpcError,
)

SILENT: dict[str, Any] = {"prompts": {}}
PAGE = {"prompts": [{"name": "a"}]}
RENDERED: dict[str, Any] = {"messages": []}


def prompting() -> tuple[Asker, PromptClient]:
    """A client of prompts in a legacy session, without a push channel."""
    prompts = PromptClient(ListingConfig(eager=False))
    return legacy(prompts, offers=SILENT), prompts


# --- whose an answer is -------------------------------------------------------------------------------


def test_what_comes_in_the_exchange_of_another_request_is_no_answer() -> None:
    """A request that waits for a connection has an id already, but no exchange that could bring a reply."""
    web = modern()
    first, second = web.client.request("x/a", None, 0.0), web.client.request("x/b", None, 0.0)
    here, there = web.one("x/a"), web.one("x/b")
    answer = {"jsonrpc": "2.0", "id": body(there)["id"], "result": {}}
    web.answer(here, 200, json.dumps(answer).encode())
    text = f"a reply to {body(there)['id']}, in answer to another request"
    reason = "the body is not the reply to this request"
    assert web.events() == [Diagnostic("unknown-reply", text), CallFailed(first, InvalidReply(reason))]
    web.reply(there, {"a": 1})
    assert web.events() == [CallSucceeded(second, {"a": 1})]


def test_an_event_that_answers_another_request_is_no_answer() -> None:
    web = modern()
    first, second = web.client.request("x/a", None, 0.0), web.client.request("x/b", None, 0.0)
    here, there = web.one("x/a"), web.one("x/b")
    web.stream(here, {"id": body(there)["id"], **error(-1)}, {"id": body(here)["id"], "result": {}})
    (strange, answered) = web.events()
    assert isinstance(strange, Diagnostic)
    assert answered == CallSucceeded(first, {})
    web.reply(there, {})
    assert web.events() == [CallSucceeded(second, {})]


# --- a session that is lost ---------------------------------------------------------------------------


def test_a_404_begins_one_new_session() -> None:
    """Several exchanges are answered so; what is safe to repeat is asked again, in the new session."""
    web, prompts = prompting()
    listed, got = prompts.list(0.0), prompts.get("a", None, 0.0)
    other = web.client.request("x/y", None, 0.0)
    old = [web.one("prompts/list"), web.one("prompts/get"), web.one("x/y")]
    for made in old:
        web.answer(made, 404)
    assert all(made.closed for made in old)
    assert header(web.one("initialize"), "Mcp-Session-Id") is None
    web.say_legacy(session="s-2", **SILENT)
    assert header(web.one("prompts/list"), "Mcp-Session-Id") == "s-2"
    web.reply(web.one("prompts/list"), PAGE)
    web.reply(web.one("prompts/get"), RENDERED)
    assert web.count("initialize") == 2
    events = web.events()
    assert [event for event in events if isinstance(event, Disconnected)] == [
        Disconnected("the session is lost")
    ]
    assert CallFailed(other, Lost("the session is lost")) in events
    assert [event.op for event in events if isinstance(event, Listed | PromptRendered)] == [listed, got]
    assert web.open("x/y") == []


def test_a_second_404_surfaces_and_the_next_session_waits() -> None:
    web, prompts = prompting()
    listed, got = prompts.list(0.0), prompts.get("a", None, 0.0)
    web.answer(web.one("prompts/get"), 404)
    web.say_legacy(**SILENT)
    web.answer(web.one("prompts/get"), 404)
    assert web.open("initialize") == []
    ends = {event.op: event.failure for event in web.of(OpFailed)}
    assert ends == {got: Lost("the session is lost"), listed: Lost("the session is lost")}
    web.wait(0.25)
    web.say_legacy(**SILENT)
    web.client.request("x/y", None, web.now)
    web.answer(web.one("x/y"), 404)
    web.wait(0.25)
    assert web.open("initialize") == []
    web.wait(0.25)
    assert len(web.open("initialize")) == 1


def test_a_session_that_has_lasted_is_followed_at_once() -> None:
    web = legacy()
    for _ in range(3):
        web.wait(30.0)
        web.client.request("x/y", None, web.now)
        web.answer(web.one("x/y"), 404)
        web.say_legacy()
    assert web.count("initialize") == 4


def test_a_notification_can_find_out_too() -> None:
    web = legacy()
    web.client.notify("notifications/x", None, 0.0)
    web.answer(web.one("notifications/x"), 404)
    assert len(web.open("initialize")) == 1
    assert web.of(Diagnostic) == []


def test_the_cache_is_suspect_after_a_lost_session() -> None:
    web, prompts = prompting()
    prompts.list(0.0)
    web.reply(web.one("prompts/list"), PAGE)
    prompts.get("a", None, 0.0)
    web.answer(web.one("prompts/get"), 404)
    web.say_legacy(**SILENT)
    again = prompts.list(0.0)
    assert again not in [event.op for event in web.of(Listed)]
    web.reply(web.one("prompts/list"), PAGE)
    assert [event.op for event in web.of(Listed)] == [again]


@pytest.mark.parametrize("web", [legacy(session=None), modern()], ids=["legacy", "modern"])
def test_without_a_session_a_404_is_the_answer(web: Asker) -> None:
    call = web.client.request("x/y", None, 0.0)
    web.answer(web.one("x/y"), 404, b"where?")
    assert web.of(CallFailed) == [CallFailed(call, HttpFailed(404, "where?"))]
    web.client.notify("notifications/x", None, 0.0)
    web.answer(web.one("notifications/x"), 404)
    assert [event.kind for event in web.of(Diagnostic)] == ["message-refused"]


@pytest.mark.parametrize(
    ("status", "said"), [(503, b""), (400, b"No valid session ID"), (200, b'{"error":"Session not found"}')]
)
def test_a_session_that_is_lost_in_other_words_is_an_error(status: int, said: bytes) -> None:
    web = legacy()
    web.client.request("x/y", None, 0.0)
    web.answer(web.one("x/y"), status, said)
    assert len(web.of(CallFailed)) == 1
    assert web.count("initialize") == 1


@pytest.mark.parametrize("how", ["client", "http"])
def test_closing_while_a_new_session_waits(how: str) -> None:
    web = legacy()
    for _ in range(2):
        web.client.notify("notifications/x", None, 0.0)
        web.answer(web.one("notifications/x"), 404)
        web.pull()
        if web.open("initialize"):
            web.say_legacy()
    assert web.open("initialize") == []
    if how == "client":
        web.client.close(0.0)
    else:
        web.http.close(0.0)
    web.wait(100.0)
    assert web.http.closed
    assert web.count("initialize") == 2
    assert web.count("DELETE") == 0


def test_nobody_looks_at_a_session_that_waits_but_its_timer_does() -> None:
    web = legacy()
    web.client.notify("notifications/x", None, 0.0)
    web.answer(web.one("notifications/x"), 404)
    web.say_legacy()
    web.client.notify("notifications/x", None, 0.0)
    web.answer(web.one("notifications/x"), 404)
    while web.client.next_ready() is not None:
        pass
    web.client.close(0.0)
    assert web.client.next_ready() is None
    web.client.handle_timeout(0.25)
    assert web.client.next_ready() is web.http
    assert web.http.next_exchange() is None
    assert web.http.closed


def test_a_404_after_the_end_begins_nothing() -> None:
    web = legacy()
    web.client.notify("notifications/x", None, 0.0)
    made = web.one("notifications/x")
    web.client.close(0.0)
    web.pull()
    web.answer(made, 404)
    assert web.pull() == []
    assert web.http.closed


def test_a_client_without_a_carrier_has_no_session_to_lose() -> None:
    client = Client(ClientConfig(info=Implementation("c", "1")))
    client.session_lost(0.0)
    assert client.next_event() is None


def test_what_nobody_waits_for_cannot_be_settled() -> None:
    web = modern()
    web.client.settle(99, Lost("x"), 0.0)
    assert web.events() == []


# --- what is safe to repeat ---------------------------------------------------------------------------


@pytest.mark.parametrize("find", [modern, legacy])
def test_a_page_whose_exchange_is_lost_is_asked_for_again(find: Any) -> None:
    prompts = PromptClient(ListingConfig(eager=False))
    web = find(prompts, offers=SILENT)
    listed = prompts.list(0.0)
    for delay in (0.25, 0.5):
        web.one("prompts/list").abort(web.now, "reset")
        assert web.pull() == []
        web.wait(delay)
    web.reply(web.one("prompts/list"), {**PAGE, "nextCursor": "2"})
    web.one("prompts/list").abort(web.now, "reset")
    web.wait(10.0)
    (end,) = web.of(OpFailed)
    assert end.op == listed
    assert web.count("prompts/list") == 4


def test_a_walk_that_waits_to_ask_again_can_be_given_up() -> None:
    prompts = PromptClient(ListingConfig(eager=False))
    web = modern(prompts, offers=SILENT)
    listed = prompts.list(0.0)
    web.one("prompts/list").abort(0.0)
    prompts.cancel(listed, 0.0)
    web.wait(10.0)
    assert web.count("prompts/list") == 1
    assert [event.failure for event in web.of(OpFailed)] == [Cancelled()]


def test_a_get_whose_exchange_is_lost_is_made_again_once() -> None:
    prompts = PromptClient(ListingConfig(eager=False))
    web = modern(prompts, offers=SILENT)
    prompts.get("a", None, 0.0)
    first = web.one("prompts/get")
    first.abort(0.0)
    web.wait(0.0)
    second = web.one("prompts/get")
    assert body(second)["id"] != body(first)["id"]
    second.abort(0.0, "again")
    web.wait(10.0)
    assert [event.failure for event in web.of(OpFailed)] == [Lost("again")]
    assert web.count("prompts/get") == 2


# --- a stream that is taken up again ------------------------------------------------------------------


def primed(web: Asker, first: bytes = b"id: e1\nretry: 500\ndata: \n\n") -> Any:
    """A request whose stream has begun, and ended."""
    call = web.client.request("x/y", None, web.now)
    made = web.one("x/y")
    web.head(made, 200, SSE)
    made.receive_data(first, web.now)
    made.receive_eof(web.now)
    return call


def test_a_legacy_stream_goes_on_where_it_broke_off() -> None:
    web = legacy(http={"headers": [("Authorization", "t")]})
    call = primed(web)
    web.wait(0.49)
    assert web.open("GET") == []
    web.wait(0.01)
    get = web.one("GET")
    assert get.headers == (
        ("Accept", "text/event-stream"),
        ("MCP-Protocol-Version", LEGACY),
        ("Mcp-Session-Id", SESSION),
        ("Last-Event-ID", "e1"),
        ("Authorization", "t"),
    )
    assert get.body == b""
    web.stream(get, {"method": "notifications/hello"}, {"id": 2, "result": {"a": 1}})
    events = web.events()
    assert [type(event) for event in events] == [NotificationReceived, CallSucceeded]
    assert events[1] == CallSucceeded(call, {"a": 1})
    get.receive_eof(web.now)
    assert web.pull() == []


def test_it_may_break_off_as_often_as_it_likes() -> None:
    web = legacy()
    primed(web)
    for number in range(20):
        web.wait(0.5)
        get = web.one("GET")
        assert header(get, "Last-Event-ID") == ("e1" if number < 11 else "e2")
        web.stream(get)
        if number == 10:
            get.receive_data(b"id: e2\n\n", web.now)
        get.receive_data(b"retry: 500\n", web.now)
        get.abort(web.now)
    web.wait(0.5)
    web.stream(web.one("GET"), {"id": 2, **error(7)})
    assert [event.failure for event in web.of(CallFailed)] == [RpcError(7, "no")]


def test_a_server_that_cannot_be_reached_is_not_asked_for_ever() -> None:
    web = legacy()
    call = primed(web, b"id: e1\n\n")
    for delay in (0.25, 0.5, 1.0):
        web.wait(delay)
        assert web.of(CallFailed) == []
        web.one("GET").abort(web.now, "refused")
    assert web.of(CallFailed) == [CallFailed(call, Lost("refused"))]
    web.wait(100.0)
    assert web.count("GET") == 3


@pytest.mark.parametrize(("status", "headers"), [(405, ()), (400, JSON), (500, ()), (200, JSON)])
def test_a_server_may_refuse_to_go_on(status: int, headers: tuple[tuple[str, str], ...]) -> None:
    web = legacy()
    primed(web)
    web.wait(0.5)
    web.answer(web.one("GET"), status, b"", headers)
    reason = f"the stream cannot be resumed: HTTP {status}"
    assert [event.failure for event in web.of(CallFailed)] == [Lost(reason)]


def test_a_session_may_be_gone_by_then() -> None:
    web = legacy()
    primed(web)
    web.wait(0.5)
    web.answer(web.one("GET"), 404)
    assert [event.failure for event in web.of(CallFailed)] == [Lost("the session is lost")]
    assert len(web.open("initialize")) == 1


def test_a_call_can_be_given_up_between_its_streams() -> None:
    for when in (0.1, 0.5):
        web = legacy()
        call = primed(web)
        web.wait(when)
        web.client.cancel(call, web.now)
        web.pull()
        assert web.open("GET") == []
        web.wait(10.0)
        assert web.open("GET") == []


def test_a_call_can_be_given_up_when_its_next_stream_is_due() -> None:
    web = legacy()
    call = primed(web)
    web.client.handle_timeout(0.5)
    web.client.cancel(call, 0.5)
    assert [asks(made) for made in web.pull()] == ["notifications/cancelled"]


@pytest.mark.parametrize("name", [b"", b" x\t", "\u00e9".encode(), b"a\x01b"])
def test_an_event_id_that_no_header_can_carry_is_left_out(name: bytes) -> None:
    web = legacy()
    call = primed(web, b"id: " + name + b"\ndata: \n\n")
    web.wait(0.25)
    if name:
        assert header(web.one("GET"), "Last-Event-ID") is None
    else:
        assert web.of(CallFailed) == [CallFailed(call, Lost("the stream ended"))]


def test_modern_streams_cannot_be_taken_up_again() -> None:
    web = modern()
    call = primed(web)
    assert web.of(CallFailed) == [CallFailed(call, Lost("the stream ended"))]
    web.wait(100.0)
    assert web.count("GET") == 0
