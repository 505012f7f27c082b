"""Who waits for a list: joined or queued, moved once, answered once."""

from __future__ import annotations

from pair import CLIENT

from mcp_sansio import Client, ClientConfig, Closed, Failure, Lost, Op, Snapshot, TimedOut, WalkFailed
from mcp_sansio._waiters import Result, Waiters

FIRST, SECOND = Op(1, "list"), Op(2, "list")
FAILED = WalkFailed("error", None)


class Waiting:
    """Waiters, and what they were told."""

    def __init__(self, limit: float | None = None) -> None:
        self.told: list[tuple[Op, Snapshot | Failure | WalkFailed]] = []
        self.left: list[float] = []
        self.client = Client(ClientConfig(info=CLIENT))
        self.limit = limit
        self.waiters = Waiters(self.left.append)
        self.waiters.bind(self.client)

    def join(self, op: Op, now: float = 0.0) -> None:
        self.waiters.join(op, lambda result, _: self._tell(op, result), now, self.limit)

    def queue(self, op: Op, now: float = 0.0) -> None:
        self.waiters.queue(op, lambda result, _: self._tell(op, result), now, self.limit)

    def _tell(self, op: Op, result: Result) -> None:
        self.told.append((op, result))


def test_a_walk_that_is_over_answers_those_who_joined_it() -> None:
    waiting = Waiting()
    waiting.join(FIRST)
    waiting.queue(SECOND)
    waiting.waiters.answer(FAILED, 1.0)
    assert waiting.told == [(FIRST, FAILED)]
    assert not waiting.waiters.joined
    assert waiting.waiters.queued


def test_a_walk_that_starts_takes_everybody_and_one_that_is_dropped_puts_everybody_off() -> None:
    waiting = Waiting()
    waiting.join(FIRST)
    waiting.queue(SECOND)
    waiting.waiters.dropped()
    assert (waiting.waiters.joined, waiting.waiters.queued) == (False, True)
    waiting.waiters.started()
    assert (waiting.waiters.joined, waiting.waiters.queued) == (True, False)
    waiting.waiters.answer(FAILED, 1.0)
    assert waiting.told == [(FIRST, FAILED), (SECOND, FAILED)]


def test_who_leaves_is_told_nothing() -> None:
    waiting = Waiting(limit=8.0)
    waiting.join(FIRST)
    waiting.queue(SECOND)
    assert waiting.waiters.leave(FIRST)
    assert waiting.waiters.leave(SECOND)
    assert not waiting.waiters.leave(SECOND)
    waiting.client.handle_timeout(100.0)
    waiting.waiters.fail(Closed("x"), 100.0)
    assert not waiting.told
    assert not waiting.left


def test_a_lost_walk_moves_those_who_joined_it_once() -> None:
    waiting = Waiting()
    waiting.join(FIRST)
    waiting.queue(SECOND)
    for _ in range(2):
        waiting.waiters.lost("cut", 0.0)
    assert waiting.told == [(FIRST, Lost("cut"))]


def test_who_waits_too_long_is_told_and_so_is_the_list() -> None:
    waiting = Waiting(limit=8.0)
    waiting.join(FIRST, 0.0)
    waiting.queue(SECOND, 1.0)
    waiting.waiters.started()  # changes no clock
    waiting.client.handle_timeout(8.0)
    assert waiting.told == [(FIRST, TimedOut("total", 8.0))]
    assert waiting.left == [8.0]
    waiting.client.handle_timeout(9.0)
    assert waiting.told[1:] == [(SECOND, TimedOut("total", 8.0))]


def test_everybody_waits_for_a_time_of_their_own() -> None:
    waiting = Waiting(limit=8.0)
    waiting.queue(FIRST)
    waiting.limit = 2.0
    waiting.queue(SECOND)
    waiting.client.handle_timeout(2.0)
    assert waiting.told == [(SECOND, TimedOut("total", 2.0))]
    assert waiting.client.next_timeout() == 8.0


def test_when_there_will_be_no_walk_everybody_is_told() -> None:
    waiting = Waiting(limit=8.0)
    waiting.queue(SECOND)
    waiting.join(FIRST)
    waiting.waiters.fail(Closed("x"), 0.0)
    assert waiting.told == [(FIRST, Closed("x")), (SECOND, Closed("x"))]
    assert waiting.client.next_timeout() is None
