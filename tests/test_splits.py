"""Any split of the bytes is the same session: the same events at both ends, the same bytes in answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pair
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from script import Script
from session import ADDRESS, session, transcript

from mcp_sansio import (
    ALL_VERSIONS,
    LineWire,
    PromptRendered,
    Server,
    ServerConfig,
)

Cut = Callable[[bytes], Iterator[bytes]]


def byte_by_byte(data: bytes) -> Iterator[bytes]:
    yield from (data[at : at + 1] for at in range(len(data)))


def with_nothing_between(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), 7):
        yield from (b"", data[at : at + 7], b"")


def around_every_newline(data: bytes) -> Iterator[bytes]:
    head, *tails = data.split(b"\n")
    yield head
    for tail in tails:
        yield from (b"\n", tail)


def in_two(data: bytes) -> Iterator[bytes]:
    yield from (data[: len(data) // 2], data[len(data) // 2 :])


def split_session(version: str, cut: Cut) -> list[str]:
    """What is said when every wire gets its bytes in pieces."""
    receive = LineWire.receive_data

    def receive_in_pieces(wire: LineWire, data: bytes, now: float) -> None:
        for piece in cut(data):
            receive(wire, piece, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LineWire, "receive_data", receive_in_pieces)
        return transcript(session(version))


@pytest.fixture(scope="module", params=ALL_VERSIONS)
def whole(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    version: str = request.param
    world = session(version)
    assert len(world.all(PromptRendered)) == 2
    return version, transcript(world)


@pytest.mark.parametrize("cut", [byte_by_byte, with_nothing_between, around_every_newline, in_two])
def test_a_session_is_the_same_in_pieces(whole: tuple[str, list[str]], cut: Cut) -> None:
    version, lines = whole
    assert split_session(version, cut) == lines


@settings(max_examples=10)
@given(sizes=st.lists(st.integers(0, 200), min_size=1).filter(any))
def test_a_session_is_the_same_in_pieces_of_any_size(whole: tuple[str, list[str]], sizes: list[int]) -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        turn = 0
        while data:
            size = sizes[turn % len(sizes)]
            yield data[:size]
            data, turn = data[size:], turn + 1

    version, lines = whole
    assert split_session(version, cut) == lines


# --- at the limit of a line ---------------------------------------------------------------------------

LIMIT = 60


def answers(*pieces: bytes) -> list[str]:
    """What a server with a small limit says to some bytes that come in pieces."""
    script = Script(Server(ServerConfig(info=pair.SERVER)), max_line=LIMIT)
    for piece in pieces:
        script.raw(piece)
    script.wire.receive_eof(0.0)
    events = [ADDRESS.sub("", repr(event)) for event in script.events()]
    return [json.dumps(message) for message in script.sent()] + events


def ping(length: int, number: int) -> bytes:
    """A ping of exactly so many bytes."""
    short = b'{"jsonrpc":"2.0","method":"ping","id":%d' % number
    return short + b" " * (length - len(short) - 1) + b"}"


STREAM = b"\n".join(
    [
        ping(LIMIT, 1),
        ping(LIMIT + 1, 2),
        ping(LIMIT - 1, 3) + b"\r",
        ping(3 * LIMIT, 4),
        ping(50, 5),
        ping(LIMIT, 6),
    ]
)


def test_lines_at_the_limit_are_the_same_cut_anywhere() -> None:
    whole = answers(STREAM)
    assert [json.loads(line).get("id") for line in whole[:6]] == [1, None, 3, None, 5, 6]
    for at in range(len(STREAM) + 1):
        assert answers(STREAM[:at], STREAM[at:]) == whole
    assert answers(*byte_by_byte(STREAM)) == whole
