"""Line framing: which bytes end a line, what limits do, and that no split of the stream matters."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_sansio._lines import HEAD_SIZE, LineBuffer, Overlong

BOM = b"\xef\xbb\xbf"


def lines(chunks: Iterable[bytes], limit: int = 1000) -> list[bytes | Overlong]:
    buffer = LineBuffer(limit)
    found = [line for chunk in chunks for line in buffer.feed(chunk)]
    last = buffer.finish()
    return found if last is None else [*found, last]


def cut(data: bytes, positions: Iterable[int]) -> list[bytes]:
    return [data[start:end] for start, end in pairwise([0, *sorted(positions), len(data)])]


def expected(data: bytes, limit: int) -> list[bytes | Overlong]:
    """What a stream holds, told from the whole of it."""
    found: list[bytes | Overlong] = []
    for number, raw in enumerate(data.split(b"\n")):
        if len(raw) > limit:
            found.append(Overlong(len(raw), raw[: min(limit, HEAD_SIZE)]))
            continue
        line = raw[3:] if number == 0 and raw[:3] == BOM else raw
        if line.strip():
            found.append(line[:-1] if line.endswith(b"\r") else line)
    return found


def test_lines_come_out_whole_and_in_order() -> None:
    assert lines([b'{"a":1}\n{"b":2}\n{"c"', b":3}\n"]) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


def test_a_line_is_returned_as_soon_as_its_newline_is_there() -> None:
    buffer = LineBuffer(10)
    assert buffer.feed(b"one") == []
    assert buffer.feed(b"") == []
    assert buffer.feed(b"\ntwo\nthr") == [b"one", b"two"]
    assert buffer.feed(b"ee\n") == [b"three"]


def test_the_unfinished_line_is_returned_at_the_end_and_once() -> None:
    buffer = LineBuffer(10)
    assert buffer.feed(b"one\ntwo") == [b"one"]
    assert buffer.finish() == b"two"
    assert buffer.finish() is None


@pytest.mark.parametrize("data", [b"", b"one\n", b"one\n \r"])
def test_nothing_is_left_at_the_end_of_whole_lines(data: bytes) -> None:
    buffer = LineBuffer(10)
    buffer.feed(data)
    assert buffer.finish() is None


def test_characters_that_arrive_byte_by_byte_are_not_damaged() -> None:
    text = '{"t":"— 語 🎉"}'
    assert lines(bytes((byte,)) for byte in f"{text}\n".encode()) == [text.encode()]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\x1e", "\r", "\0"])
def test_only_a_newline_ends_a_line(separator: str) -> None:
    line = f'{{"t":"a{separator}b"}}'.encode()
    assert lines([line + b"\n"]) == [line]


def test_one_carriage_return_before_the_newline_is_white_space() -> None:
    assert lines([b"one\r\ntwo\r\r\nthree\r", b"\nfour\r"]) == [b"one", b"two\r", b"three", b"four"]


def test_a_progress_bar_of_carriage_returns_is_one_line_with_what_follows() -> None:
    assert lines([b"10%\r20%\r{}\n"]) == [b"10%\r20%\r{}"]


def test_colour_codes_are_ordinary_bytes_of_their_line() -> None:
    assert lines([b"\x1b[32mINFO\x1b[0m ready\n{}\n"]) == [b"\x1b[32mINFO\x1b[0m ready", b"{}"]


def test_blank_lines_are_skipped() -> None:
    assert lines([b"\n\r\n \t \n{}\n\n"]) == [b"{}"]


def test_a_byte_order_mark_is_dropped_at_the_start_of_the_stream_only() -> None:
    assert lines([BOM + b"{}\n" + BOM + b"{}\n"]) == [b"{}", BOM + b"{}"]
    assert lines([b"\n" + BOM + b"{}\n"]) == [BOM + b"{}"]
    assert lines([BOM + BOM + b"{}\n"]) == [BOM + b"{}"]
    assert lines([BOM]) == lines([BOM + b"\r\n"]) == []


@pytest.mark.parametrize("size", [65_536, 65_537, 1 << 20, 8 << 20])
def test_long_lines_are_delivered_up_to_the_limit(size: int) -> None:
    line = b"x" * size
    stream = line + b"\n"
    chunks = [stream[start : start + 65_536] for start in range(0, len(stream), 65_536)]
    assert lines(chunks, limit=size) == [line]
    assert lines(chunks, limit=size - 1) == [Overlong(size, b"x" * HEAD_SIZE)]


def test_a_good_line_is_delivered_before_the_over_long_one_of_the_same_read() -> None:
    buffer = LineBuffer(10)
    assert buffer.feed(b"good\n0123456789ab") == [b"good"]
    assert buffer.feed(b"cdef") == []
    assert buffer.feed(b"\nnext\n") == [Overlong(16, b"0123456789"), b"next"]


def test_an_over_long_line_is_reported_at_the_end_of_the_stream() -> None:
    assert lines([b"0123456789", b"abc"], limit=10) == [Overlong(13, b"0123456789")]


def test_the_first_bytes_of_an_over_long_line_are_kept() -> None:
    line = b"".join(b"%04d" % number for number in range(100))
    assert lines([line + b"\n"], limit=300) == [Overlong(400, line[:HEAD_SIZE])]
    assert lines([line + b"\n"], limit=HEAD_SIZE) == [Overlong(400, line[:HEAD_SIZE])]
    assert lines([line + b"\n"], limit=HEAD_SIZE - 1) == [Overlong(400, line[: HEAD_SIZE - 1])]


STREAM = BOM + b"12345\r\n\n" + b"1234567890\n" + b"12345678901\n" + b"\r\n \nab\r" + BOM


@pytest.mark.parametrize("limit", [*range(1, 16)])
def test_every_cut_in_two_or_three_gives_the_same_lines_at_every_limit(limit: int) -> None:
    whole = lines([STREAM], limit)
    assert whole == expected(STREAM, limit)
    for positions in combinations(range(len(STREAM) + 1), 2):
        assert lines(cut(STREAM, positions), limit) == whole


def test_byte_by_byte_with_empty_chunks_gives_the_same_lines() -> None:
    chunks = [chunk for byte in STREAM for chunk in (b"", bytes((byte,)))]
    assert lines(chunks, 10) == expected(STREAM, 10)


FRAGMENTS = st.sampled_from([b"\n", b"\r", b"\r\n", b" ", BOM, BOM[:2], b"x", b"0123456789", b"\xe2\x80\xa8"])


@given(st.lists(FRAGMENTS | st.binary(max_size=12)).map(b"".join), st.integers(1, 30), st.data())
def test_any_split_gives_the_same_lines(data: bytes, limit: int, draw: st.DataObject) -> None:
    positions = draw.draw(st.lists(st.integers(0, len(data))))
    assert lines(cut(data, positions), limit) == expected(data, limit)


def test_the_head_of_an_over_long_line_does_not_depend_on_the_split() -> None:
    stream = bytes(range(11, 111)) * 4 + b"\n"
    for limit in (HEAD_SIZE - 1, HEAD_SIZE, HEAD_SIZE + 50):
        for position in range(len(stream)):
            assert lines(cut(stream, [position]), limit) == expected(stream, limit)


class Searched(bytes):
    """Bytes that count how many of them were searched."""

    searched = 0

    def find(self, sub: object, start: Any = 0, end: Any = None) -> int:
        assert (sub, end) == (b"\n", None)
        found = bytes(self).find(b"\n", start)
        Searched.searched += (len(self) if found < 0 else found + 1) - start
        return found


@pytest.mark.parametrize(
    ("piece", "found"),
    [(b"x" * 10, [b"x" * 10_000]), (b"xx\nx\nxxxx", [b"xx", *[b"x", b"x" * 6] * 999, b"x", b"xxxx"])],
)
def test_every_byte_is_searched_once_however_it_arrives(piece: bytes, found: list[bytes]) -> None:
    Searched.searched = 0
    assert lines((Searched(piece) for _ in range(1000)), limit=100_000) == found
    assert Searched.searched == 1000 * len(piece)


def peak_memory(limit: int, chunks: Iterable[bytes]) -> int:
    buffer = LineBuffer(limit)
    tracemalloc.start()
    try:
        for chunk in chunks:
            buffer.feed(chunk)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_head_of_an_over_long_line_is_whole_where_small_pieces_come_before_large_ones() -> None:
    for first in (1, HEAD_SIZE, 1023, 1024):
        stream = bytes(97 + n % 26 for n in range(6000)) + b"\n"
        assert lines([stream[:first], stream[first:2500], stream[2500:]], 5000) == expected(stream, 5000)


def test_what_is_held_is_not_the_callers_buffer() -> None:
    buffer, reused = LineBuffer(10_000), bytearray(b"x" * 2000)
    buffer.feed(reused)  # type: ignore[arg-type]
    reused[:] = b"y" * 2000
    assert buffer.feed(b"\n") == [b"x" * 2000]


def test_a_held_line_is_not_copied_again_for_every_chunk() -> None:
    size = 1 << 20
    peak = peak_memory(size, (b"x" * 4096 for _ in range(size // 4096)))
    assert peak < 1.5 * size  # to copy all of it once more would take twice its size


def test_a_line_in_tiny_chunks_takes_no_more_than_its_size() -> None:
    size = 1 << 16
    assert peak_memory(size, (b"xy" for _ in range(size // 2))) < 1.5 * size


def test_an_over_long_line_is_drained_in_bounded_memory() -> None:
    limit = 10_000
    assert peak_memory(limit, (b"x" * 1000 for _ in range(10_000))) < 2 * limit
