"""HTTP client: what a reply may look like, and what becomes of the call when it looks otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from http_asking import SSE, after, asked, error, legacy, outcome
from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    ClientExchange,
    Diagnostic,
    Event,
    HttpFailed,
    InvalidReply,
    Lost,
    NotificationReceived,
    ProgressReported,
    RpcError,
    TimedOut,
)

RESPONSE = b'{"jsonrpc":"2.0","id":2,"result":{"a":1}}'
HELLO = b'{"jsonrpc":"2.0","method":"notifications/hello"}'


# --- one body -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "media",
    [
        "application/json",
        "Application/JSON",
        "application/json;charset=UTF-8",
        'application/json; charset="utf-8"',
    ],
)
def test_json(media: str) -> None:
    assert after(200, media, RESPONSE) == {"a": 1}
    assert after(201, media, RESPONSE) == {"a": 1}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[]", "an empty batch"),
        (b"null", "Expected"),
        (b"<html>", "malformed"),
        (RESPONSE[:-1], "truncated"),
        (b'{"error":"Session not found"}', "jsonrpc is not 2.0"),
        (b'{"jsonrpc":"2.0","id":2,"result":5}', "result is no object"),
        (b'{"jsonrpc":"2.0","id":9,"result":5}', "result is no object"),
        (b'{"jsonrpc":"2.0","id":9,"result":{}}', "not the reply"),
        (HELLO, "not the reply"),
        (b'{"jsonrpc":"2.0","method":"x","params":5}', "params is no object"),
    ],
)
def test_a_body_that_is_not_the_reply(body: bytes, reason: str) -> None:
    failure = after(200, "application/json", body)
    assert isinstance(failure, InvalidReply)
    assert reason in failure.reason


def test_a_batch_is_read_where_the_revision_has_batches() -> None:
    web, made = asked(legacy(version="2025-03-26"))
    web.answer(made, 200, b"[" + HELLO + b"," + RESPONSE + b"]")
    assert [type(event) for event in web.events()] == [NotificationReceived, CallSucceeded]
    web, made = asked(legacy(version="2025-06-18"))
    web.answer(made, 200, b"[" + RESPONSE + b"]")
    assert isinstance(outcome(web), InvalidReply)


@pytest.mark.parametrize(
    ("status", "media", "body"),
    [
        (200, "text/html", b"<h1>Hi</h1>"),
        (200, None, RESPONSE),
        (200, "application/json", b""),
        (200, "application/json; charset=utf-16", RESPONSE),
        (202, None, b""),
        (204, None, b""),
        (301, None, b""),
    ],
)
def test_an_answer_without_a_message(status: int, media: str | None, body: bytes) -> None:
    failure = after(status, media, body)
    assert isinstance(failure, HttpFailed)
    assert failure.status == status


def test_a_body_over_the_limit() -> None:
    for status, kind in ((200, InvalidReply), (400, HttpFailed)):
        web, made = asked(http={"max_body": 300})
        web.head(made, status)
        made.receive_data(b" " * 300, 0.0)
        assert outcome(web) is None
        made.receive_data(b" ", 0.0)
        assert made.closed
        assert isinstance(outcome(web), kind)


# --- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 400, 404, 422, 500, 503])
@pytest.mark.parametrize("id", [2, None, "server-error", 77])
def test_an_error_is_that_of_its_exchange(status: int, id: Any) -> None:
    web, made = asked()
    web.refuse(made, status, id=id, **error(-32601, "nope"))
    if status == 200 and id not in (2, None):
        assert isinstance(outcome(web), InvalidReply)
    else:
        assert outcome(web) == RpcError(-32601, "nope")


def test_an_error_without_an_id_is_that_of_its_exchange() -> None:
    body = b'{"jsonrpc":"2.0","error":{"code":-32020,"message":"Header mismatch"}}'
    assert after(400, "application/json", body) == RpcError(-32020, "Header mismatch")
    assert after(400, "text/plain", body) == RpcError(-32020, "Header mismatch")


@pytest.mark.parametrize("status", [401, 403, 407])
def test_what_is_said_to_strangers_is_not_read(status: int) -> None:
    body = b'{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"x"}}'
    failure = after(status, "application/json", body)
    assert isinstance(failure, HttpFailed)
    assert failure.status == status


def test_a_result_with_a_status_of_failure_is_none() -> None:
    assert isinstance(after(400, "application/json", RESPONSE), HttpFailed)


def test_an_unknown_method_is_the_matter_of_one_call() -> None:
    """A modern 404 is neither a lost session nor a missing endpoint."""
    web, made = asked()
    web.refuse(made, 404, **error(-32601))
    assert outcome(web) == RpcError(-32601, "no")
    web.client.request("x/z", None, 0.0)
    assert len(web.open("x/z")) == 1
    assert web.count("server/discover") == 1


# --- streams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("media", ["text/event-stream", "Text/Event-Stream; charset=UTF-8"])
def test_every_event_of_a_stream_counts(media: str) -> None:
    web, made = asked()
    web.head(made, 200, [("CONTENT-TYPE", media)])
    web.say(
        made,
        {"method": "notifications/hello"},
        {"method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}},
        {"id": 2, "result": {}},
        {"method": "notifications/late"},
    )
    kinds = [type(event) for event in web.events()]
    assert kinds == [NotificationReceived, ProgressReported, CallSucceeded, NotificationReceived]


@pytest.mark.parametrize("head", [b"", b"event: \n", b"event\n", b"event: message\n", b"id: 5\n", b": hi\n"])
def test_an_event_is_a_message_unless_it_says_otherwise(head: bytes) -> None:
    assert after(200, "text/event-stream", head + b"data: " + RESPONSE + b"\n\n") == {"a": 1}


@pytest.mark.parametrize("head", [b"event: ping\n", b"event: endpoint\n", b"event: Message\n"])
def test_other_events_are_ignored(head: bytes) -> None:
    stream = head + b"data: " + RESPONSE + b"\n\n"
    assert after(200, "text/event-stream", stream) == Lost("the stream ended")


def test_data_lines_make_one_message() -> None:
    stream = b'data: {\ndata: "jsonrpc":"2.0","id":2,"result":{}\ndata: }\n\n'
    assert after(200, "text/event-stream", stream) == {}


def test_an_event_without_its_blank_line_waits() -> None:
    web, made = asked(quiet_timeout=10.0)
    web.head(made, 200, SSE)
    made.receive_data(b"data: " + RESPONSE + b"\n", 0.0)
    assert web.events() == []
    web.wait(10.0)
    assert outcome(web) == TimedOut("quiet", 10.0)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r"])
def test_and_counts_at_the_end_if_it_is_whole(end: bytes) -> None:
    assert after(200, "text/event-stream", b"data: " + RESPONSE + end) == {"a": 1}
    assert after(200, "text/event-stream", b"data: " + RESPONSE[:-1] + end) == Lost("the stream ended")


def test_a_broken_stream_may_have_said_enough() -> None:
    web, made = asked()
    web.head(made, 200, SSE)
    made.receive_data(b"data: " + RESPONSE, 0.0)
    made.abort(0.0)
    assert outcome(web) == {"a": 1}


@pytest.mark.parametrize("end", [b"\n\n", b""])
def test_an_event_over_the_limit_is_taken_for_the_reply(end: bytes) -> None:
    web, made = asked(http={"max_body": 300})
    web.head(made, 200, SSE)
    made.receive_data(b"data: " + b"x" * 300 + end, 0.0)
    made.receive_eof(0.0)
    assert outcome(web) == InvalidReply("an event of 306 bytes is over the limit")


def test_an_error_without_an_id_on_a_stream_is_that_of_its_exchange() -> None:
    web, made = asked()
    web.stream(made, {"id": None, **error(-32603, "broken")})
    assert outcome(web) == RpcError(-32603, "broken")


def test_nor_does_a_reply_that_is_none_leave_anybody_waiting() -> None:
    web, made = asked()
    web.head(made, 200, SSE)
    made.receive_data(b'data: {"error":"Session not found"}\n\n', 0.0)
    assert outcome(web) == InvalidReply("jsonrpc is not 2.0")


def test_garbage_on_a_stream_costs_its_event() -> None:
    web, made = asked()
    web.head(made, 200, SSE)
    made.receive_data(b"data: hello?\n\ndata: " + RESPONSE + b"\n\n", 0.0)
    events = web.events()
    assert [type(event) for event in events] == [Diagnostic, CallSucceeded]


def test_a_reply_to_something_else_does_not_end_a_stream() -> None:
    web, made = asked()
    web.stream(made, {"id": 99, "result": {}}, {"id": 99, **error(1)})
    assert outcome(web) is None
    web.say(made, {"id": 2, "result": {}})
    assert outcome(web) == {}


def test_a_batch_on_a_stream_answers_its_parts() -> None:
    web, made = asked(legacy(version="2025-03-26"))
    web.head(made, 200, SSE)
    made.receive_data(b"data: [" + HELLO + b"," + RESPONSE + b"]\n\n", 0.0)
    assert outcome(web) == {"a": 1}
    web.wait(1.0)
    assert made.closed


# --- how an exchange can go wrong ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda made: made.abort(0.0, "reset"), "reset"),
        (lambda made: made.abort(0.0), "the connection broke"),
        (lambda made: made.receive_eof(0.0), "closed without an answer"),
    ],
)
def test_no_answer(fault: Callable[[ClientExchange], None], reason: str) -> None:
    web, made = asked()
    fault(made)
    assert made.closed
    assert outcome(web) == Lost(reason)


def test_a_body_that_breaks_off_is_lost() -> None:
    web, made = asked()
    web.head(made)
    made.receive_data(RESPONSE, 0.0)
    made.abort(0.0, "reset")
    assert outcome(web) == Lost("reset")


def test_an_exchange_that_is_over_hears_nothing_more() -> None:
    web, made = asked()
    web.answer(made, 200, RESPONSE)
    assert outcome(web) == {"a": 1}
    web.head(made, 401)
    made.receive_data(b"x", 0.0)
    made.receive_eof(0.0)
    made.abort(0.0)
    web.answer(made, 200, RESPONSE)
    assert web.events() == []


def test_an_exchange_that_is_given_up_hears_no_more() -> None:
    web, made = asked(legacy(session="s"))
    web.head(made, 200, SSE)
    web.client.request("x/z", None, 0.0)
    web.answer(web.one("x/z"), 404)
    web.events()
    assert made.closed
    made.receive_data(b"data: " + RESPONSE + b"\n\n", 0.0)
    made.receive_eof(0.0)
    assert web.events() == []


def test_informational_heads_and_early_data_mean_nothing() -> None:
    web, made = asked()
    made.receive_data(b"?", 0.0)
    web.head(made, 100, ())
    web.head(made, 103, SSE)
    web.answer(made, 200, RESPONSE)
    assert outcome(web) == {"a": 1}


# --- any split ----------------------------------------------------------------------------------------

PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}'
EVENTS = (
    b"\xef\xbb\xbf: hi\r\n\r\ndata: %b\r\rid: 7\nretry: 5\ndata: \n\n" % HELLO
    + b"data: %b\r\n\r\nevent: x\ndata: y\n\ndata: %b" % (PROGRESS, RESPONSE)
)


def session(media: bytes, chunks: list[bytes]) -> list[Event]:
    web, made = asked()
    web.head(made, 200, [("Content-Type", media.decode())])
    for chunk in chunks:
        made.receive_data(chunk, 0.0)
    made.receive_eof(0.0)
    return web.events()


@pytest.mark.parametrize(("media", "data"), [(b"text/event-stream", EVENTS), (b"application/json", RESPONSE)])
def test_a_reply_byte_by_byte(media: bytes, data: bytes) -> None:
    whole = session(media, [data])
    assert isinstance(whole[-1], CallSucceeded)
    assert session(media, [data[at : at + 1] for at in range(len(data))]) == whole


@given(st.lists(st.integers(0, len(EVENTS))))
def test_a_reply_cut_anywhere(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(EVENTS)]
    chunks = [EVENTS[start:end] for start, end in pairwise(edges)]
    assert session(b"text/event-stream", chunks) == session(b"text/event-stream", [EVENTS])


@given(
    st.integers(100, 599),
    st.sampled_from(["application/json", "text/event-stream", "", "\0", "a/b;c"]),
    st.lists(
        st.one_of(
            st.binary(max_size=30), st.sampled_from([b"data: ", b"\n\n", RESPONSE, b"{}", b"[", b"id:"])
        )
    ),
    st.booleans(),
)
def test_whatever_a_server_says_the_call_ends_once(
    status: int, media: str, chunks: list[bytes], whole: bool
) -> None:
    web, made = asked(legacy(session=None, quiet_timeout=30.0, total_timeout=30.0))
    web.head(made, status, [("Content-Type", media)])
    for chunk in chunks:
        made.receive_data(chunk, 0.0)
    if whole:
        made.receive_eof(0.0)
    else:
        made.abort(0.0)
    web.wait(100.0)
    events = web.events()
    assert sum(isinstance(event, CallSucceeded | CallFailed) for event in events) == 1, json.dumps(
        [*map(repr, events)]
    )
