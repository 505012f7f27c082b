"""One connection of an HTTP server: its states, whose its requests are, how patient it is, how it ends."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from visits import LIST, LISTEN, Line, call, http, oversized
from web import Web

from mcp_sansio import LocalProtocolError, RequestCancelled, SubscriptionOpened, WireFailed
from mcp_sansio._h11_visit import VISIT, Visit, VisitInput
from mcp_sansio._tables import Table
from mcp_sansio.h11 import H11Config, H11ServerWire


@pytest.fixture
def web() -> Web:
    return Web()


# --- states ---

BEFORE_THE_END = ("request due", "idle", "asking", "open", "rest", "lingering")
ROWS = {
    ("idle", "first bytes"): "request due",
    ("request due", "whose request"): "asking",
    ("request due", "request"): "open",
    ("asking", "request"): "open",
    ("open", "reply and body complete"): "idle",
    ("open", "reply complete, body short"): "rest",
    ("rest", "reply and body complete"): "idle",
    ("request due", "reply complete, body dropped"): "lingering",
    ("asking", "reply complete, body dropped"): "lingering",
    ("open", "reply complete, body dropped"): "lingering",
    **{(state, "nothing more is read"): "last" for state in BEFORE_THE_END},
    ("last", "output written"): "closed",
    **{(state, "abort"): "closed" for state in (*BEFORE_THE_END, "last")},
}


@pytest.mark.parametrize(("state", "event"), [*itertools.product(Visit, VisitInput)])
def test_every_pair_of_state_and_input(state: Visit, event: VisitInput) -> None:
    expected = ROWS.get((state.value, event.value))
    if expected is None:
        with pytest.raises(LocalProtocolError):
            VISIT.next(state, event)
    else:
        assert VISIT.next(state, event).value == expected


def new(web: Web) -> Line:
    return Line(web)


def idle(web: Web) -> Line:
    line = Line(web)
    line.say(LIST)
    return line


def asking(web: Web) -> Line:
    line = Line(web, ask=True)
    line.say(LIST)
    return line


def answering(web: Web) -> Line:
    line = Line(web)
    line.say(LISTEN)
    return line


def rest(web: Web) -> Line:
    line = Line(web)
    line.say(http("PUT", b"", "Content-Length: 9"))
    return line


def lingering(web: Web) -> Line:
    line = Line(web)
    line.say(b"nonsense\r\n\r\n")
    return line


def last(web: Web) -> Line:
    line = Line(web)
    line.say(LIST)
    line.wire.receive_eof(web.now)
    return line


every_state = pytest.mark.parametrize("reach", [new, idle, asking, answering, rest, lingering, last])


@every_state
@pytest.mark.parametrize("end", ["receive_eof", "close", "abort", "server"])
def test_every_state_has_every_end(web: Web, reach: Callable[[Web], Line], end: str) -> None:
    line = reach(web)
    if end == "server":
        web.server.close(web.now)
    else:
        getattr(line.wire, end)(web.now)
    line.take()
    for later in ("receive_eof", "close", "receive_eof"):
        getattr(line.wire, later)(web.now)
    line.wire.receive_data(LIST, web.now)
    assert line.over()
    assert not line.wire.want_read
    assert line.wire.pending is None
    assert web.server.next_timeout() is None
    line.wire.abort(web.now)
    assert line.take() == b""
    assert web.woken() == []


@every_state
def test_an_abort_is_reported_once(web: Web, reach: Callable[[Web], Line]) -> None:
    line = reach(web)
    web.of(WireFailed)
    line.wire.abort(web.now, "it broke")
    line.wire.abort(web.now, "it broke")
    assert [(failed.wire, failed.reason) for failed in web.of(WireFailed)] == [(line.wire, "it broke")]


@every_state
def test_every_state_has_an_end_of_its_own(web: Web, reach: Callable[[Web], Line]) -> None:
    line = reach(web)
    if reach is answering:
        line.wire.data_to_send()
        web.wait(15)
        assert line.wire.data_to_send()  # and nobody reads that
    web.wait(80)
    line.take()
    web.wait(2)
    assert line.over()
    assert web.server.next_timeout() is None


def test_every_row_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[Any] = set()
    original: Any = Table.next

    def watched(self: Any, state: Any, event: Any) -> Any:
        taken.add((state, event))
        return original(self, state, event)

    monkeypatch.setattr(Table, "next", watched)
    for reach in (new, idle, asking, answering, rest, lingering, last):
        for end in ("receive_eof", "abort"):
            line = reach(Web())
            getattr(line.wire, end)(0.0)
            line.take()
    web = Web()
    late = asking(web)
    web.wait(62)
    assert late.over()
    rest(Web()).say(b"x" * 9)
    asking(Web()).wire.admit(None, 0.0)
    Line(Web(http={"max_body": 10})).say(oversized(100_000))
    idle(Web()).say(LIST)
    assert [row for row in VISIT.rows if row not in taken] == []


# --- whose request it is ---


def test_a_request_waits_until_somebody_says_whose_it_is(web: Web) -> None:
    line = Line(web, ask=True)
    assert line.say(LIST + LIST) == b""
    pending = line.wire.pending
    assert pending is not None
    assert (pending.method, pending.target, pending.peer) == ("POST", "/mcp", "peer")
    assert ("host", "localhost") in pending.headers
    assert line.wire.want_read
    line.wire.admit("ada", 0.0)
    line.take()
    assert line.statuses == [200]
    assert line.wire.pending is not None
    assert line.wire.pending is not pending
    line.wire.admit(None, 0.0)
    line.take()
    assert line.statuses == [200, 200]


def test_a_principal_is_whom_a_session_belongs_to(web: Web) -> None:
    session = web.session(principal="ada")
    fields = (f"Mcp-Session-Id: {session.id}", f"MCP-Protocol-Version: {session.version}")
    for principal, status in (("ada", 200), ("bob", 404)):
        line = Line(web, ask=True)
        line.say(http("POST", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', *fields))
        line.wire.admit(principal, 0.0)
        line.take()
        assert line.statuses == [status]


def test_a_request_may_be_denied(web: Web) -> None:
    line = Line(web, ask=True)
    line.say(LIST)
    line.wire.deny('Bearer realm="x"', 0.0)
    reply = line.take()
    assert reply.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b'www-authenticate: Bearer realm="x"' in reply
    line.say(LIST)
    line.wire.deny("Bearer", 0.0, status=403, reason="not you")
    assert b"not you" in line.take()
    assert line.statuses == [401, 403]


def test_nobody_can_tell_whose_request_it_is(web: Web) -> None:
    line = Line(web, ask=True)
    line.say(LIST)
    line.wire.fail(0.0)
    reply = line.take()
    assert reply.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b'"message":"Internal error"' in reply
    line.say(LIST)
    line.wire.admit(None, 0.0)
    line.take()
    assert line.statuses == [500, 200]


def test_an_answer_about_a_request_that_is_gone_means_nothing(web: Web) -> None:
    for verb, *arguments in (("admit", "ada"), ("deny", "Bearer"), ("fail",)):
        line = Line(web, ask=True)
        line.say(http("POST", b"", "Content-Length: 9"))
        web.wait(60)
        getattr(line.wire, verb)(*arguments, web.now)
        line.take()
        assert line.statuses == [408]
        web.wait(2)
        getattr(line.wire, verb)(*arguments, web.now)
        assert line.over()
        assert line.statuses == [408]


def test_nobody_is_told_to_go_on_before_it_is_known_whose_request_it_is(web: Web) -> None:
    for admit, told in ((True, [100]), (False, [401])):
        line = Line(web, ask=True)
        head, _, _ = call("prompts/list", None, "Expect: 100-continue").partition(b"\r\n\r\n")
        assert line.say(head + b"\r\n\r\n") == b""
        if admit:
            line.wire.admit(None, 0.0)
        else:
            line.wire.deny("Bearer", 0.0)
        line.take()
        assert line.statuses == told


def test_nothing_is_admitted_that_does_not_wait(web: Web) -> None:
    line = Line(web, ask=True)
    with pytest.raises(LocalProtocolError):
        line.wire.admit(None, 0.0)
    with pytest.raises(LocalProtocolError):
        line.wire.deny("Bearer", 0.0)
    with pytest.raises(LocalProtocolError):
        line.wire.fail(0.0)


def test_a_peer_that_leaves_while_it_is_asked_about_is_forgotten(web: Web) -> None:
    line = Line(web, H11Config(max_pipelined=10), ask=True)
    line.say(LIST)
    assert not line.wire.want_read
    line.wire.receive_eof(0.0)
    assert line.over()
    assert line.wire.pending is None


# --- patience ---


@pytest.mark.parametrize("begun", [b"", b"POST /mcp HT", LIST[:-1], http("POST", b"", "Content-Length: 9")])
def test_a_request_that_does_not_come_in_time(web: Web, begun: bytes) -> None:
    line = Line(web)
    line.say(begun)
    web.wait(59.9)
    assert not line.over()
    web.wait(3)
    line.take()
    assert line.statuses == ([408] if begun else [])
    web.wait(3)
    assert line.over()


def test_a_trickle_does_not_count_as_coming(web: Web) -> None:
    line = Line(web)
    line.say(LIST)
    for at in range(70):
        web.wait(1)
        line.say(LIST[at : at + 1])
    web.wait(3)
    line.take()
    assert line.statuses == [200, 408]
    assert line.over()


def test_an_idle_connection_is_closed(web: Web) -> None:
    line = Line(web, H11Config(idle_timeout=10))
    line.say(LIST)
    web.wait(9)
    line.say(LIST)
    web.wait(9.9)
    assert not line.over()
    web.wait(0.2)
    assert line.over()
    assert web.server.next_timeout() is None


def test_a_rest_that_does_not_come_ends_the_connection() -> None:
    web = Web(http={"max_body": 10})
    line = Line(web)
    line.say(oversized(1000))
    web.wait(61)
    line.take()
    assert line.statuses == [413]
    assert line.over()


def test_a_peer_that_does_not_read_is_left(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(LISTEN, 0.0)
    assert line.wire.data_to_send()
    web.wait(60)
    assert line.wire in web.woken()
    assert line.over()
    assert line.wire.data_to_send() == []


def test_a_last_reply_that_is_not_read_is_not_waited_for(web: Web) -> None:
    wire = H11ServerWire(web.http, 0.0)
    wire.receive_data(call("prompts/list", None, "Connection: close"), 0.0)
    closed: list[bool] = []
    for _ in range(2):
        wire.data_to_send()
        closed.append(wire.closed)
        assert web.woken() == [wire]
        web.wait(60)
    assert closed == [False, True]


def test_what_has_been_written_costs_no_patience(web: Web) -> None:
    """Where one look follows each reply, as `next_ready` has it, a connection that rests is not given up."""
    line = Line(web, H11Config(write_timeout=1, idle_timeout=None))
    line.wire.receive_data(LIST, 0.0)
    for wire in web.woken():
        wire.data_to_send()
        assert web.woken() == [line.wire]
        wire.data_to_send()
    web.wait(100)
    assert not line.over()


def test_what_waits_to_be_written_outlives_other_patience(web: Web) -> None:
    wire = H11ServerWire(web.http, 0.0, H11Config(idle_timeout=10, request_timeout=10))
    wire.receive_data(LIST, 0.0)
    wire.receive_eof(0.0)
    web.wait(50)
    assert b"200 OK" in b"".join(wire.data_to_send())
    assert not wire.data_to_send()
    assert wire.closed


def test_patience_may_be_without_end(web: Web) -> None:
    line = Line(web, H11Config(request_timeout=None, idle_timeout=None, write_timeout=None))
    line.say(LIST)
    assert web.server.next_timeout() is None


@pytest.mark.parametrize(
    "wrong", [{"linger": -1}, {"max_head": 0}, {"max_pipelined": 1.5}, {"idle_timeout": float("nan")}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        H11Config(**wrong)


# --- endings ---


def test_closing_waits_for_the_reply_of_the_moment(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(LIST, 0.0)
    line.wire.close(0.0)
    assert not line.wire.closed
    assert b"connection: close" in line.take().lower()
    assert line.over()


def test_closing_waits_for_a_stream_that_has_begun(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(LISTEN, 0.0)
    (opened,) = web.of(SubscriptionOpened)
    line.take()
    line.wire.close(0.0)
    assert not line.over()
    web.server.end_subscription(opened.stream, opened.id, 0.0)
    assert line.over()


def test_closing_drops_what_has_not_begun(web: Web) -> None:
    line = Line(web)
    line.say(LIST[:50])
    line.wire.close(0.0)
    assert line.over()
    line.wire.close(0.0)
    line.wire.receive_eof(0.0)
    line.wire.abort(0.0)
    assert line.sent == b""


def test_closing_refuses_what_is_asked_about(web: Web) -> None:
    line = Line(web, ask=True)
    line.say(LIST)
    line.wire.close(0.0)
    assert b"connection: close" in line.take().lower()
    assert line.statuses == [503]
    web.wait(2)
    assert line.over()


def test_a_server_that_is_closed_says_so_and_leaves(web: Web) -> None:
    line = Line(web)
    line.say(LISTEN)
    web.server.close(0.0)
    assert line.take().endswith(b"0\r\n\r\n")
    other = Line(web)
    assert b"connection: close" in other.say(LIST).lower()
    assert other.statuses == [503]
    assert other.wire.closed


def test_an_abort_is_the_end_at_once(web: Web) -> None:
    line = Line(web)
    line.wire.receive_data(call("prompts/get", {"name": "p0001"}), 0.0)
    line.wire.abort(0.0, "it broke")
    (cancelled,) = web.of(RequestCancelled)
    assert cancelled.request.method == "prompts/get"
    assert line.over()
    assert not line.wire.want_read
    assert line.take() == b""
    assert web.server.next_timeout() is None
