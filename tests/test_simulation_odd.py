"""Servers that are odd but legal, and what a load does with them: forced by the draws of a tape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mcp_sansio.simulation import TORTURE, replay
from mcp_sansio.simulation._checks.client import CLIENT_CHECKS
from mcp_sansio.simulation._run import Outcome
from mcp_sansio.simulation._tape import Draw

SIX_PROMPTS: Draw = ("prompts", 5, 3)
TWO_PAGES: Draw = ("page size", 3, 1)
MODERN: Draw = ("c1 versions", 3, 1)
CHOICES = 1024


def slots(label: str, *whens: int, choice: int = 0) -> list[Draw]:
    """Something is done at these 256ths of its slots."""
    return [draw for when in whens for draw in ((label, 257, when), (f"{label}: what", CHOICES, choice))]


def often(kind: str) -> Draw:
    return (f"swarm {kind}", 4, 3 if kind in ("bounds", "principals") else 2)


def outcome(*draws: Draw) -> Outcome:
    """A quiet world but for these draws, in which every property of a client holds."""
    run = replay(TORTURE, [*draws, SIX_PROMPTS, TWO_PAGES, MODERN], CLIENT_CHECKS, strict=False)
    assert run.violation is None
    return run


def results(run: Outcome) -> list[dict[str, Any]]:
    """The pages that a client has taken in."""
    taken = (
        msgspec.json.decode(event.data) for event in run.trace if event.kind == "in" and event.node == "c1"
    )
    return [message["result"] for message in taken if "prompts" in message.get("result", {})]


def reports(run: Outcome, kind: str) -> list[tuple[float, dict[str, Any]]]:
    return [
        (e.time, e.data[1]) for e in run.trace if e.kind == "obs" and e.node == "c1" and e.data[0] == kind
    ]


def commands(run: Outcome, verb: str) -> list[dict[str, Any]]:
    return [event.data[1] for event in run.trace if event.kind == "op" and event.data[0] == verb]


def reading(*whens: int, choice: int = 0) -> Iterable[Draw]:
    return (often("reads"), *slots("c1 lists", *whens, choice=choice))


def test_the_first_cursor_may_be_the_empty_string() -> None:
    run = outcome(*reading(100), ("plain cursors", 4, 3), ("page size", 3, 2))
    assert [page.get("nextCursor") for page in results(run)[:6]] == ["", "1", "2", "3", "4", None]
    ((_, listed),) = reports(run, "listed")[:1]
    assert len(listed["items"]) == 6
    assert listed["fresh"]


def test_pages_may_differ_in_how_long_they_are_fresh() -> None:
    run = outcome(*reading(100), ("uneven", 4, 3), ("ttl", 4, 2))
    assert [page["ttlMs"] for page in results(run)[:2]] == [3_600_000, 1_000]


def test_lists_may_be_answered_late() -> None:
    run = outcome(*reading(100), ("slow lists", 3, 2), ("list", 257, 256))
    asked = next(e.time for e in run.trace if e.kind == "out" and e.node == "c1" and "prompts/list" in e.data)
    (first, _), *_ = reports(run, "listed")
    assert first - asked > 0.3


def test_what_is_given_up_meanwhile_is_not_answered() -> None:
    cancelling = (often("cancels"), *slots("c1 cancels", 120))
    run = outcome(*reading(100), ("slow lists", 3, 2), ("list", 257, 256), *cancelling)
    assert [failed["reason"] for _, failed in reports(run, "failed")] == ["Cancelled"]
    assert len(reports(run, "listed")) == 1  # the one that everybody is asked for in the end


def test_a_stale_list_may_be_good_enough() -> None:
    run = outcome(*reading(100, 100, choice=3), ("ttl", 4, 1))
    assert commands(run, "list")[:2] == [{"stale_ok": True}, {"stale_ok": True}]
    assert [listed["fresh"] for _, listed in reports(run, "listed")][:2] == [False, False]


def test_a_list_is_asked_for_at_the_moment_at_which_it_expires() -> None:
    run = outcome(*reading(100), often("bounds"), *slots("c1 at the bound", 200), ("ttl", 4, 2))
    (received, _), (expired, listed), *_ = reports(run, "listed")
    asked = [event.time for event in run.trace if event.kind == "op" and event.data[0] == "list"]
    assert results(run)[0]["ttlMs"] == 1000
    pages = [e.time for e in run.trace if e.kind == "in" and e.node == "c1" and '"prompts":[' in e.data]
    assert asked[1] == pages[0] + 1.0
    assert expired > asked[1] > received
    assert listed["fresh"]


def test_a_client_may_be_somebody_else_s() -> None:
    run = outcome(*reading(100, 100), often("principals"), *slots("c1 is another's", 0, 128, choice=2))
    assert commands(run, "principal") == [{"who": "user2"}]
    assert commands(run, "login") == [{"client": "c1", "who": "user2"}]
    assert sum(event.kind == "open" and event.node == "c1" for event in run.trace) == 2
