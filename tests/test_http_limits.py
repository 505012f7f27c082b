"""What an HTTP server has open is bounded, and ends with it."""

from __future__ import annotations

import pytest
from serving import MODERN
from visits import LIST, LISTEN, Line, call
from web import Web

from mcp_sansio import CallFailed, LocalProtocolError, RequestCancelled, SessionStarted

PING = {"id": 1, "method": "ping"}


# --- exchanges ----------------------------------------------------------------------------------------


def test_exchanges_that_are_open_are_limited() -> None:
    web = Web(http={"max_exchanges": 3})
    session = web.session()
    open_ones = [session.open("GET"), web.listen(), web.begin()]
    assert [reply.status for reply in open_ones] == [200, 200, None]
    refused = web.call("server/discover")
    assert refused.status == 503
    assert refused.json["error"]["message"] == "there are too many exchanges"
    for reply in open_ones:
        reply.exchange.abort(0.0)
        assert web.call("server/discover").status == 200


def test_an_exchange_that_has_been_answered_is_not_open() -> None:
    web = Web(http={"max_exchanges": 1})
    session = web.session()
    for _ in range(3):
        kept = web.begin("PUT"), web.raw(b"{}"), web.http.unauthorized("Bearer")
        assert session.post(PING).status == 200
        assert session.open("DELETE").status == 204
        assert len(kept) == 3
        session = web.session()


def test_connections_that_ask_for_too_much_live() -> None:
    web = Web(http={"max_exchanges": 1})
    listener, other = Line(web), Line(web)
    listener.say(LISTEN)
    other.say(LIST)
    listener.wire.receive_eof(0.0)
    other.say(LIST)
    assert other.statuses == [503, 200]


@pytest.mark.parametrize("challenge", ["", " ", "Bearer\r\nX: y", "Bearer é", "Bearer "])
def test_a_challenge_must_be_the_text_of_a_header(challenge: str) -> None:
    web = Web()
    line = Line(web, ask=True)
    line.say(LIST)
    with pytest.raises(LocalProtocolError, match="is no refusal"):
        line.wire.deny(challenge, 0.0)
    line.wire.deny("Bearer", 0.0)
    line.take()
    assert line.statuses == [401]


@pytest.mark.parametrize("status", [200, 302, 399, 600])
def test_a_refusal_is_an_error(status: int) -> None:
    with pytest.raises(LocalProtocolError, match="is no refusal"):
        Web().http.unauthorized("Bearer", status=status)


# --- what waits for a session that does not listen -----------------------------------------------------


def test_a_session_that_does_not_listen_is_not_told_without_limit() -> None:
    web = Web(max_pending=1000)
    session = web.session()
    (started,) = web.of(SessionStarted)
    stream, told = started.stream, 0
    while stream.want_read:
        web.server.notify(stream, "notifications/x", {"text": "x" * 100}, 0.0)
        told += 1
    assert 5 < told < 12
    with pytest.raises(LocalProtocolError, match="nobody takes"):
        web.server.notify(stream, "notifications/x", None, 0.0)
    with pytest.raises(LocalProtocolError, match="nobody takes"):
        web.server.request(stream, "roots/list", None, 0.0)
    assert web.of(CallFailed) == []
    push = session.open("GET")
    assert len(push.events) == told  # and nothing has been dropped
    web.server.notify(stream, "notifications/x", None, 0.0)
    assert len(push.take().events) == told + 1


def test_changes_are_a_bit_for_a_session_that_does_not_listen() -> None:
    web = Web(max_pending=0)
    session = web.session()
    for _ in range(1000):
        web.edit("p0001")
        web.wait(1)
    assert len(session.open("GET").events) == 1


# --- the end of the server ----------------------------------------------------------------------------


def test_a_server_that_is_closed_waits_for_nothing() -> None:
    web = Web()
    session = web.session()
    push = session.open("GET")
    lines = [Line(web) for _ in range(5)]
    idle, listening, asked, begun, _ = lines
    idle.say(LIST)
    listening.say(LISTEN)
    begun.say(LIST[:100])
    asked.wire.receive_data(call("prompts/get", {"name": "p0001"}), 0.0)
    web.server.close(0.0)
    assert len(web.of(RequestCancelled)) == 1
    assert push.take().ended
    assert [line.over() for line in lines] == [True] * 5
    assert [line.statuses for line in lines] == [[200], [200], [503], [], []]
    assert web.server.next_timeout() is None
    assert session.post(PING).status == 503


def test_a_server_without_sessions_ends_as_well() -> None:
    web = Web(versions=(MODERN,))
    line = Line(web)
    line.say(LIST)
    web.server.close(0.0)
    assert line.over()


def test_a_request_whose_body_comes_after_the_end_is_told_so() -> None:
    web = Web()
    line = Line(web)
    line.say(LIST[:-10])
    web.server.close(0.0)
    assert b"connection: close" in line.say(LIST[-10:])
    assert line.statuses == [503]
    assert line.over()


def test_a_rest_that_nobody_reads_is_not_waited_for_after_the_end() -> None:
    web = Web(http={"max_body": 10})
    line = Line(web)
    line.say(LIST[:-10])
    assert line.statuses == [413]
    assert not line.over()
    web.server.close(0.0)
    assert line.over()
