"""Server-sent events: what ends a line and an event, what limits do, and that no split matters."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio._lines import HEAD_SIZE, Overlong
from mcp_sansio._sse import COMMENT, MAX_RETRY, SseDecoder, SseEvent, encode_event

BOM = b"\xef\xbb\xbf"


def events(*chunks: bytes, limit: int = 1000) -> list[SseEvent | Overlong]:
    decoder = SseDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def everything(chunks: Iterable[bytes], limit: int = 1000) -> tuple[object, ...]:
    """All that a stream says, its end included."""
    decoder = SseDecoder(limit)
    found = [event for chunk in chunks for event in decoder.feed(chunk)]
    last = decoder.finish()
    return (*found, last, decoder.last_id, decoder.retry)


def cut(data: bytes, positions: Iterable[int]) -> list[bytes]:
    return [data[start:end] for start, end in pairwise([0, *sorted(positions), len(data)])]


# --- lines and fields ---------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_all_three_line_ends(end: bytes) -> None:
    stream = end.join([b"data: A", b"data: B", b"", b"data: C", b"", b""])
    assert events(stream) == [SseEvent(b"A\nB"), SseEvent(b"C")]


def test_the_two_halves_of_a_line_end_in_two_chunks_are_one_line_end() -> None:
    assert events(b"data: A\r", b"\ndata: B\r\n", b"\r\n") == [SseEvent(b"A\nB")]
    assert events(b"data: A\r", b"", b"\ndata: B\r", b"\r", b"\n") == [SseEvent(b"A\nB")]


def test_an_event_is_returned_as_soon_as_its_blank_line_begins() -> None:
    assert events(b"data: A\n") == []
    assert events(b"data: A\n\r") == [SseEvent(b"A")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\x1e", "\0"])
def test_nothing_else_ends_a_line(separator: str) -> None:
    text = f'{{"t":"a{separator}b"}}'.encode()
    assert events(b"data: " + text + b"\n\n") == [SseEvent(text)]


def test_data_lines_are_joined() -> None:
    stream = b'data: {\ndata: "jsonrpc":"2.0","id":1,"result":{}\ndata: }\n\n'
    assert events(stream) == [SseEvent(b'{\n"jsonrpc":"2.0","id":1,"result":{}\n}')]


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b"data:A", b"A"),
        (b"data: A", b"A"),
        (b"data:  A", b" A"),
        (b"data: A: B", b"A: B"),
        (b"data\ndata: A", b"\nA"),
        (b"data: A\ndata", b"A\n"),
        (b"data: A\n: comment\n:\ndata: B", b"A\nB"),
        (b"data: A\nDATA: B\n data: C\ndatum: D\nnothing", b"A"),
        (BOM + b"data: A", b"A"),
    ],
)
def test_fields(line: bytes, data: bytes) -> None:
    assert events(line + b"\n\n") == [SseEvent(data)]


def test_a_byte_order_mark_counts_at_the_start_only() -> None:
    assert events(b"\n" + BOM + b"data: A\n\n") == []
    assert events(BOM + BOM + b"data: A\n\n") == []
    assert events(BOM, b"\n", b"data: A\n\n") == [SseEvent(b"A")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"event: ping", "ping"),
        (b"event: endpoint", "endpoint"),
        (b"event: \xff", "\ufffd"),
        (b"event: ", "message"),
        (b"event", "message"),
        (b"event: ping\nevent: message", "message"),
    ],
)
def test_the_type_of_an_event(line: bytes, kind: str) -> None:
    assert events(line + b"\ndata: A\n\ndata: B\n\n") == [SseEvent(b"A", kind), SseEvent(b"B")]


@pytest.mark.parametrize(
    "stream", [b"", COMMENT, b"\n\n\n", b"event: x\n\n", b"data\n\n", b"data: \n\n", b"id: 1\n\n"]
)
def test_what_has_no_data_is_no_event(stream: bytes) -> None:
    assert events(stream) == []


# --- ids and retry ------------------------------------------------------------------------------------


def test_the_last_id_is_that_of_a_complete_event() -> None:
    decoder = SseDecoder(1000)
    pieces = [b"id: 1\ndata: \n", b"\n", b"data: A\n\n", b"id: 2\nid: 3\n\n", b"id: 4\0\n\n", b"id: 5\n"]
    seen = [decoder.last_id]
    for piece in pieces:
        decoder.feed(piece)
        seen.append(decoder.last_id)
    assert seen == [None, None, "1", "1", "3", "3", "3"]


def test_an_empty_id_is_an_id() -> None:
    decoder = SseDecoder(1000)
    decoder.feed(b"id: 1\n\nid\n\n")
    assert decoder.last_id == ""


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"1500", 1.5),
        (b"0", 0.0),
        (b"007", 0.007),
        (b"9" * 30, MAX_RETRY),
        (b"-1", None),
        (b"1.5", None),
        (b"", None),
        (b"1 ", None),
        ("\u0663".encode(), None),
        (b"1" * 5000, None),
    ],
)
def test_retry_is_in_milliseconds_and_digits_only(value: bytes, seconds: float | None) -> None:
    decoder = SseDecoder(10_000)
    decoder.feed(b"retry:" + value + b"\n")
    assert decoder.retry == seconds


# --- the end of the stream ----------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [b"data: A", b"data: A\n", b"data: A\r\n", b"event: message\ndata: A"])
def test_the_end_gives_what_came_without_a_blank_line(stream: bytes) -> None:
    decoder = SseDecoder(1000)
    assert decoder.feed(stream) == []
    assert decoder.finish() == SseEvent(b"A")
    assert decoder.finish() is None


@pytest.mark.parametrize("stream", [b"", b"data: A\n\n", b"event: ping", b": comment", b"data: "])
def test_the_end_gives_nothing_else(stream: bytes) -> None:
    decoder = SseDecoder(1000)
    decoder.feed(stream)
    assert decoder.finish() is None


# --- limits -------------------------------------------------------------------------------------------


def test_an_event_over_the_limit_costs_that_event() -> None:
    long = b"data: " + b"x" * 95 + b"\n\n"
    stream = b"data: " + b"x" * 94 + b"\n\n" + long + b"data: B\n\n"
    assert events(stream, limit=100) == [
        SseEvent(b"x" * 94),
        Overlong(101, b"data: " + b"x" * 95),
        SseEvent(b"B"),
    ]


def test_the_limit_is_on_all_lines_of_an_event_together_but_for_comments() -> None:
    assert events(b"data: 12\n: 34567890\ndata: 34\n\n", limit=16) == [SseEvent(b"12\n34")]
    assert events(b"data: 12\ndata: 345\ndata: 6\n\n", limit=16) == [Overlong(24, b"12\ndata: 345")]
    assert events(b": " + b"x" * 100 + b"\ndata: A\n\n", limit=16) == [SseEvent(b"A")]


def test_an_id_counts_even_when_its_event_is_too_long() -> None:
    decoder = SseDecoder(10)
    assert decoder.feed(b"data: 1234567\nid: 7\n\n") == [Overlong(18, b"data: 1234567")]
    assert decoder.last_id == "7"


def test_a_line_that_is_cut_says_nothing() -> None:
    decoder = SseDecoder(10)
    decoder.feed(b"id: " + b"7" * HEAD_SIZE + b"8\n\n")
    assert decoder.last_id is None


def test_an_overlong_rest_is_reported_at_the_end() -> None:
    decoder = SseDecoder(10)
    decoder.feed(b"data: " + b"x" * 994)
    assert decoder.finish() == Overlong(1000, b"data: " + b"x" * 194)


def test_memory_is_bounded_while_an_event_is_drained() -> None:
    decoder, chunk = SseDecoder(10_000), b"x" * 10_000
    tracemalloc.start()
    try:
        decoder.feed(b"data: ")
        for _ in range(1000):
            decoder.feed(chunk)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_many_short_lines_over_the_limit_are_not_kept() -> None:
    decoder = SseDecoder(10_000)
    tracemalloc.start()
    try:
        for _ in range(1000):
            decoder.feed(b"data: x\n" * 100)
        assert tracemalloc.get_traced_memory()[1] < 400_000
    finally:
        tracemalloc.stop()


# --- any split ----------------------------------------------------------------------------------------

STREAM = (
    BOM
    + b"data: A\r\ndata: B\r\rid: 1\ndata: \n\nretry: 5\n\rdata: "
    + b"x" * 30
    + b"\r\n\r\ndata:C\ndata: D"
)
PIECES = [
    *"data event id retry : \r \n \r\n x 7 \0 \xff 12345678901234567890".encode("latin-1").split(b" "),
    b" ",
    BOM,
]


def test_cut_anywhere_in_up_to_three_pieces_it_is_the_same_stream() -> None:
    whole = everything([STREAM], limit=25)
    assert len(whole) == 5
    for positions in combinations(range(len(STREAM) + 1), 2):
        assert everything(cut(STREAM, positions), limit=25) == whole


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join), st.data())
def test_any_stream_is_the_same_in_any_pieces(stream: bytes, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, len(stream))))
    limit = data.draw(st.integers(0, 40))
    assert everything(cut(stream, positions), limit) == everything([stream], limit)
    assert everything([stream[at : at + 1] for at in range(len(stream))], limit) == everything(
        [stream], limit
    )


# --- encoding -----------------------------------------------------------------------------------------


@given(st.lists(st.binary(min_size=1), max_size=5))
def test_what_is_encoded_is_read_again(messages: list[bytes]) -> None:
    lines = [message.replace(b"\r\n", b"\n").replace(b"\r", b"\n") for message in messages]
    stream = b"".join(COMMENT + encode_event(message) for message in messages)
    assert events(stream, limit=10_000) == [SseEvent(line) for line in lines]


def test_an_encoded_event() -> None:
    assert encode_event(b'{"a":1}') == b'event: message\ndata: {"a":1}\n\n'
