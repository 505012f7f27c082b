"""Event streams that are drawn mean what the format says, however they are cut."""

from __future__ import annotations

import pytest

from mcp_sansio._lines import Overlong
from mcp_sansio._sse import SseDecoder, SseEvent
from mcp_sansio.simulation._bytes_events import LIMIT, Meaning, judge_events, judge_writing, meaning

SEEDS = range(200)


def test_the_library_has_it() -> None:
    assert [judge_events(seed) for seed in SEEDS if judge_events(seed) is not None] == []
    assert [judge_events(seed, Wrapped) for seed in range(9)] == [None] * 9
    assert judge_writing() is None


def test_what_a_stream_means() -> None:
    data = b"\xef\xbb\xbfid: 7\rdata: a\r\ndata:b\n\n: c\nretry: 10\n\ndata: " + b"x" * LIMIT + b"\n\ndata: d"
    head = (b"data: " + b"x" * LIMIT)[:200]
    events: list[SseEvent | Overlong] = [SseEvent(b"a\nb"), Overlong(LIMIT + 6, head), SseEvent(b"d")]
    assert meaning(data, LIMIT) == Meaning(events, "7", 0.01)


class Wrapped:
    """A decoder in another one."""

    def __init__(self, limit: int) -> None:
        self.inner = SseDecoder(limit)

    def feed(self, data: bytes) -> list[SseEvent | Overlong]:
        return self.inner.feed(data)

    def finish(self) -> SseEvent | Overlong | None:
        last, self.last_id, self.retry = self.inner.finish(), self.inner.last_id, self.inner.retry
        return last

    last_id: str | None = None
    retry: float | None = None


class HalfLineEnd(Wrapped):
    """A CRLF that is cut in two is two line ends."""

    def feed(self, data: bytes) -> list[SseEvent | Overlong]:
        return super().feed(b"\r" + data if data.startswith(b"\n") else data)


class Endless(Wrapped):
    """No event is too long."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit * 1000)


@pytest.mark.parametrize("make", [HalfLineEnd, Endless])
def test_a_bug_is_found(make: type[Wrapped]) -> None:
    assert any(judge_events(seed, make) for seed in SEEDS)


def test_what_is_written_on_one_line_is_found() -> None:
    assert judge_writing(lambda data: b"data: " + data + b"\n\n") is not None
