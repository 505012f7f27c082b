"""Tapes: what is drawn, recorded and replayed."""

from __future__ import annotations

import pytest

from mcp_sansio.simulation._tape import Deviated, Lenient, Seeded, Strict, Tape


def draws(tape: Tape, label: str, n: int, count: int = 50) -> list[int]:
    return [tape.draw(label, n) for _ in range(count)]


def test_a_seed_draws_the_same_every_time() -> None:
    """These very numbers: they are what makes traces comparable from one Python to the next."""
    assert draws(Tape(Seeded(7)), "x", 100, 8) == draws(Tape(Seeded(7)), "x", 100, 8)
    assert draws(Tape(Seeded(7)), "x", 100, 5) == [1, 26, 57, 17, 8]


def test_labels_do_not_disturb_each_other() -> None:
    alone, mixed = Tape(Seeded(1)), Tape(Seeded(1))
    expected = draws(alone, "x", 9, 20)
    found = []
    for value in range(20):
        mixed.draw("other", 3 + value)
        found.append(mixed.draw("x", 9))
    assert found == expected


def test_one_possibility_is_not_drawn() -> None:
    tape = Tape(Seeded(1))
    assert tape.draw("x", 1) == 0
    assert tape.record == []


def test_a_record_replays() -> None:
    first = Tape(Seeded(3))
    values = [first.draw(label, 10) for label in "abcab"]
    assert [Tape(Strict(first.record)).draw("a", 10)] == values[:1]
    again = Tape(Strict(first.record))
    assert [again.draw(label, 10) for label in "abcab"] == values
    assert again.digest() == first.digest()


@pytest.mark.parametrize(("label", "n"), [("b", 10), ("a", 9)])
def test_a_strict_replay_refuses_what_was_not_drawn(label: str, n: int) -> None:
    with pytest.raises(Deviated, match=r"draw 1: .* recorded was \('a', 10, 4\)"):
        Tape(Strict([("a", 10, 4)])).draw(label, n)


def test_a_strict_replay_refuses_what_goes_on() -> None:
    with pytest.raises(Deviated, match="draw 1"):
        Tape(Strict([])).draw("a", 2)


def test_a_lenient_replay_goes_by_label_and_fills_with_zeros() -> None:
    tape = Tape(Lenient([("a", 10, 4), ("b", 10, 9), ("a", 10, 5)]))
    assert [tape.draw("b", 3), tape.draw("a", 10), tape.draw("a", 10), tape.draw("a", 10)] == [2, 4, 5, 0]
    assert tape.draw("c", 2) == 0


def test_zeros_are_calm() -> None:
    calm = Tape(Lenient([]))
    assert not calm.chance("x", 3)
    assert calm.one_of("x", ("first", "second")) == "first"
    assert calm.between("x", 5, 9) == 5
    assert calm.seconds("x", 8.0) == 0.0


def test_the_other_end() -> None:
    wild = Tape(Lenient([("x", 4, 3), ("y", 2, 1), ("z", 5, 4), ("t", 257, 256)]))
    assert wild.chance("x", 3)
    assert wild.one_of("y", ("first", "second")) == "second"
    assert wild.between("z", 5, 9) == 9
    assert wild.seconds("t", 8.0) == 8.0
    assert not wild.chance("never", 0)
