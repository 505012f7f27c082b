"""Legacy sessions over HTTP: whose they are, how long they last, how many there may be."""

from __future__ import annotations

import pytest
from web import Web

from mcp_sansio import LocalProtocolError, RequestCancelled, RequestReceived, StreamEnded

INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}


def test_an_idle_session_ends() -> None:
    web = Web(http={"session_timeout": 100.0})
    session = web.session()
    web.wait(99.0)
    assert session.call("ping").status == 200
    web.wait(99.0)
    assert session.call("ping").status == 200
    web.wait(100.0)
    assert session.call("ping").status == 404
    assert [event.reason for event in web.of(StreamEnded)] == ["the session was idle for too long"]
    assert web.server.next_timeout() is None


def test_sessions_end_one_by_one() -> None:
    web = Web(http={"session_timeout": 100.0})
    first = web.session()
    web.wait(10.0)
    second = web.session()
    web.wait(10.0)
    assert first.call("ping").status == 200
    web.wait(95.0)
    assert second.call("ping").status == 404
    web.wait(5.0)
    assert first.call("ping").status == 404


@pytest.mark.parametrize("what", ["push", "request"])
def test_a_session_in_use_does_not_end(what: str) -> None:
    web = Web(methods=("x/echo",), http={"session_timeout": 100.0, "keep_alive": None})
    session = web.session()
    reply = session.open("GET") if what == "push" else session.call("x/echo", id=9)
    web.wait(1000.0)
    assert not reply.take().ended
    reply.exchange.abort(web.now)
    assert session.call("ping").status == 200
    web.wait(200.0)
    assert session.call("ping").status == 404


def test_a_session_belongs_to_who_opened_it() -> None:
    web = Web()
    session = web.session(principal="me")
    headers: dict[str, str | None] = {"Mcp-Session-Id": session.id}
    for other in ("you", None):
        assert web.post({"id": 1, "method": "ping"}, headers, principal=other).status == 404
        assert web.begin("DELETE", headers, principal=other).take().status == 404
    assert session.call("ping").status == 200


def test_too_many_sessions_cost_the_idlest_one() -> None:
    web = Web(http={"max_sessions": 2})
    first, second = web.session(), web.session()
    assert first.call("ping").status == 200
    third = web.session()
    assert second.call("ping").status == 404
    assert first.open("GET").status == 200
    assert third.open("GET").status == 200
    reply = web.post(INITIALIZE)
    assert (reply.status, reply.code) == (503, -32603)
    assert first.call("ping").status == 200


def test_the_newest_get_has_the_stream() -> None:
    web = Web()
    session = web.session()
    old = session.open("GET")
    new = session.open("GET", {"Last-Event-ID": "7"})
    assert old.take().ended
    web.edit("new")
    assert (len(old.take().events), len(new.take().events)) == (0, 1)
    old.exchange.abort(0.0)
    web.wait(1.0)
    web.edit("newer")
    assert len(new.take().events) == 2


def test_the_end_of_a_session_is_the_end_of_all_in_it() -> None:
    web = Web(methods=("x/echo",))
    session = web.session()
    push = session.open("GET")
    waiting = session.call("x/echo", id="waiting")
    streaming = session.call("x/echo", {"_meta": {"progressToken": 1}}, id="streaming")
    answered = session.call("x/echo", {"_meta": {"progressToken": 2}}, id="answered")
    _, second, third = web.of(RequestReceived)
    web.server.progress(second.request, 1, 0.0)
    web.server.progress(third.request, 1, 0.0)
    web.server.respond(third.request, {}, 0.0)
    web.woken()
    gone = session.open("DELETE")
    assert (gone.status, gone.body, gone.ended, gone.headers) == (204, b"", True, {})
    assert set(web.woken()) >= {reply.exchange for reply in (push, waiting, streaming, answered)}
    assert (push.take().events, push.ended) == ([], True)
    assert (waiting.take().status, waiting.ended) == (404, True)
    assert (len(streaming.take().events), streaming.ended) == (1, True)
    assert (len(answered.take().events), answered.ended) == (2, True)
    assert len(web.of(RequestCancelled)) == 2


@pytest.mark.parametrize("made", ["", "a b", "é", "s\n"])
def test_ids_are_visible_ascii(made: str) -> None:
    web = Web(http={"new_session_id": lambda: made})
    with pytest.raises(LocalProtocolError, match="visible"):
        web.post(INITIALIZE)
    assert web.of(object) == []


def test_ids_are_fresh() -> None:
    web = Web(http={"new_session_id": lambda: "same"})
    web.session()
    with pytest.raises(LocalProtocolError, match="fresh"):
        web.post(INITIALIZE)
