"""Each property of a client finds what is not allowed, in traces told by hand."""

from __future__ import annotations

import pytest
from client_tales import GET, LISTEN, answers, asks_for_input, list_of, prompts, rendered
from telling import A, B, Tale, problem

from mcp_sansio.simulation._checking import Checker
from mcp_sansio.simulation._checks.apart import PrincipalsApart, ServersApart
from mcp_sansio.simulation._checks.believed import AnswersTold, HintsBelieved
from mcp_sansio.simulation._checks.calls import (
    IdDiscipline,
    LateResponses,
    NoLeak,
    RoundTripsApart,
    UnknownPrompt,
)
from mcp_sansio.simulation._checks.channel import AcknowledgedFirst, CapabilityGate, TeardownOnce
from mcp_sansio.simulation._checks.client import CLIENT_CHECKS
from mcp_sansio.simulation._checks.fresh import (
    CoverageStarts,
    FreshnessArithmetic,
    ReadYourNotifications,
    Reconnect,
    StaleOnlyOnError,
)
from mcp_sansio.simulation._checks.list import (
    Convergence,
    MonotonicVersions,
    NoLateOverwrite,
    WholeOrFlagged,
)
from mcp_sansio.simulation._checks.walk import CursorHygiene, Progress, RequestBound, TtlIsNoTimer


def not_served() -> Tale:
    """Who asks for a list that is held and good makes a request."""
    tale = prompts(Tale(A).command("list"), 1, A).tell("updated", **list_of(1, A, expires=60.0))
    prompts(tale.command("list"), 2, A).tell("updated", **list_of(2, A, expires=None))
    return prompts(tale.command("list"), 3, A)


def rounds(count: int) -> Tale:
    """One get that is asked for input so many times."""
    tale = Tale(A).settings().asks(1, GET, name="a")
    for number in range(1, count + 1):
        asks_for_input(tale, number)
        answers(tale, number + 1)
    return tale


def restarts(settings: bool = True) -> Tale:
    """Five walks are given up, each because the list changed."""
    tale = Tale(A).settings() if settings else Tale(A)
    tale.listens()
    for number in range(1, 7):
        tale.asks(number).changed().cancels(number)
    return tale


def other_server() -> Tale:
    tale = Tale(A).asks(1).page(1, "x")
    tale.note("node", "t", data="server")
    return tale.connect("y", "t").asks(2, cursor="x")


def unasked_walks() -> Tale:
    tale = Tale(A).command("list")
    for number in range(1, 6):
        tale.walk(number, A)
    return tale


def starving() -> Tale:
    tale = Tale(A).settings().listens().walk(1, A)
    for _ in range(4):
        tale.wait(0.4).changed()
    return tale.wait(0.4).changed()


def mixed() -> Tale:
    tale = Tale(A).command("principal", who="ann").asks(1).page(1, "x", scope="private")
    return tale.command("principal", who="bob").asks(2, cursor="x").page(2).updated(1, A, private=True)


CHANNEL = {"topic": "promptsListChanged"}
STALE = {"epoch": 1, "reason": "list_changed"}

BROKEN = [
    (ReadYourNotifications, Tale(A).listens().walk(1, A).changed().listed(1, A), "after: list_changed"),
    (CoverageStarts, Tale(A).walk(1, A).listens().listed(1, A), "after: acknowledged"),
    (Convergence, Tale(A).listens().rest(A, held=(B,), eager=True), "c holds"),
    (Convergence, Tale(A).listens().phase("asked").rest(A, held=(A,), current=False), "does not know"),
    (NoLateOverwrite, Tale(A).asks(1).walk(2, A).page(1).updated(1, A), "replaces that of"),
    (Reconnect, Tale(A).listens().walk(1, A).gets(100).listed(1, A), "after: the listen stream"),
    (Reconnect, Tale(A).walk(1, A).lose().listed(1, A), "after: disconnected"),
    (MonotonicVersions, Tale(A).edit(put=(B,)).walk(1, A, B).walk(2, A), "state 1 of s comes after"),
    (WholeOrFlagged, Tale(A).asks(1).page(1).updated(1, B, verified=True), "never the server's"),
    (
        WholeOrFlagged,
        Tale()
        .listens()
        .asks(1)
        .page(1, "x")
        .changed()
        .asks(2, cursor="x")
        .page(2)
        .updated(1, A, verified=True),
        "a change was announced under it",
    ),
    (CursorHygiene, Tale(A).asks(1, cursor="made up"), "no page had"),
    (CursorHygiene, other_server(), "another server"),
    (CursorHygiene, mixed(), "given is sent for"),
    (CursorHygiene, Tale(A).asks(1).page(1, "x").asks(2, cursor="x").fails(2).asks(3, cursor="x"), "refused"),
    (
        CursorHygiene,
        Tale(A).settings().asks(1).page(1, "x").lose().connect("y").asks(2, cursor="x"),
        "an old connection",
    ),
    (CursorHygiene, Tale(A).asks(1).page(1, "").updated(1, A), "nextCursor is ''"),
    (RequestBound, Tale(A).asks(1).asks(2), "a second walk begins"),
    (RequestBound, unasked_walks(), "3 walks, and 2 reasons"),
    (Progress, restarts(), "5 walks in a row"),
    (Progress, restarts(settings=False), "5 walks in a row"),
    (Progress, starving(), "is not acted on"),
    (Progress, Tale(A).settings().listens().changed().wait(9.0).asks(1), "is not acted on"),
    (FreshnessArithmetic, Tale(A).walk(1, A, ttl=1000).wait(1.0).listed(1, A), "is fresh at"),
    (FreshnessArithmetic, Tale(A).walk(1, A, ttl=None).listed(1, A), "a TTL of 0 s"),
    (FreshnessArithmetic, Tale(A).walk(1, A, ttl="1").listed(1, A), "a TTL of 0 s"),
    (TtlIsNoTimer, Tale(A).command("list").walk(1, A).listed(1, A).walk(2, A), "nobody has asked for it"),
    (StaleOnlyOnError, Tale(A).walk(1, A).began(1).listed(1, A, fresh=False), "nobody has tried"),
    (ServersApart, Tale(A).listed(1, B), "s never had 'b' as '1'"),
    (ServersApart, Tale(A).tell("rendered", op=1, texts=["hi"]), "c was never sent 'hi'"),
    (PrincipalsApart, mixed(), "private list of ann is served to bob"),
    (PrincipalsApart, Tale(A).walk(1, A, scope="private"), "is called public"),
    (RoundTripsApart, answers(Tale(A), 1), "that it was not asked"),
    (RoundTripsApart, answers(asks_for_input(Tale(A).asks(1, GET, name="a"), 1, "x"), 2, "y"), "'y'"),
    (RoundTripsApart, answers(asks_for_input(Tale(A).asks(1, GET, name="a"), 1), 2, name="b"), "not asked"),
    (RoundTripsApart, rounds(3), "3 rounds; at most 2"),
    (RoundTripsApart, asks_for_input(Tale(A).asks(1), 1).updated(1, A), "no complete result"),
    (TeardownOnce, Tale(A).listens().asks(101, LISTEN), "is opened while 100 lives"),
    (TeardownOnce, Tale(A).listens().gets(100).asks(101, LISTEN), "at the very moment"),
    (TeardownOnce, Tale(A).tell("channel", **CHANNEL, live=False), "is reported lost twice"),
    (IdDiscipline, Tale(A).asks(None, GET), "neither a string nor an integer"),
    (IdDiscipline, Tale(A).asks(1, GET).asks(1), "which is in flight"),
    (IdDiscipline, Tale(A).asks(1, GET).gets(1).asks(1), "on the same connection"),
    (IdDiscipline, Tale(A).asks(1).updated(1, A), "which was not answered"),
    (IdDiscipline, Tale(A).asks(0).page(0).tell("odd", kind="unknown-reply").rest(A), "for that to another"),
    (LateResponses, Tale(A).cancels(1), "which was never asked"),
    (LateResponses, Tale(A).asks(1, "initialize").cancels(1), "initialize is cancelled"),
    (LateResponses, Tale(A).asks(1).cancels(1).cancels(1), "which is over: cancelled"),
    (LateResponses, Tale(A).asks(1).page(1).cancels(1), "which is over: result"),
    (LateResponses, Tale(A).listed(1, A).listed(1, A), "ends a second time"),
    (LateResponses, Tale(A).asks(1).cancels(1).page(1).updated(1, A), "a page that was given up"),
    (CapabilityGate, Tale(A).listens().changed(7).tell("invalidated", **STALE), "of subscription 7"),
    (
        CapabilityGate,
        Tale(A).session(announces=False).changed(None).tell("invalidated", **STALE),
        "that was not negotiated",
    ),
    (AcknowledgedFirst, Tale(A).settings().asks(100, LISTEN).changed().acknowledged(100), "nothing is said"),
    (AcknowledgedFirst, Tale(A).settings().asks(100, LISTEN).changed().rest(A), "nothing is said"),
    (AcknowledgedFirst, Tale(A).walk(1, A).asks(100, LISTEN).changed().listed(1, A), "an early announcement"),
    (
        UnknownPrompt,
        Tale(A).command("get", name="a").asks(1, GET, name="a").asks(2, GET, name="a").asks(3, GET, name="a"),
        "wanted 1 times",
    ),
    (NoLeak, Tale(A).began(1).rest(A), "a list that never ends"),
    (NoLeak, Tale(A).rest(A, timer=5.0), "waits until 5.0 for nothing"),
    (NoLeak, Tale(A).rest(A, in_flight=1), "1 requests in flight"),
    (RequestBound, not_served(), "3 walks, and 2 reasons"),
    (HintsBelieved, prompts(Tale(A), 1, A).tell("updated", **list_of(1, A, private=True)), "private: True"),
    (HintsBelieved, prompts(Tale(A), 1, A).tell("updated", **list_of(1, B)), "other items"),
    (HintsBelieved, prompts(Tale(A), 1, A).tell("updated", **list_of(1, A, expires=61.0)), "good until 61"),
    (HintsBelieved, prompts(Tale(A), 1, A).tell("updated", **list_of(1, A, expires=None)), "good until None"),
    (
        HintsBelieved,
        prompts(Tale(A).settings(), 1, A, ttlMs=-1).tell("updated", **list_of(1, A)),
        "hints of pages that had others",
    ),
    (AnswersTold, rendered(Tale(A), 1).tell("rendered", op=1, texts=["other"]), "what came was ['a']"),
    (AnswersTold, rendered(Tale(A).settings(), 1).rest(A), "is never told"),
    (AnswersTold, Tale(A).tell("failed", op=1, what="get", reason="InvalidReply"), "called unreadable"),
]


@pytest.mark.parametrize(("check", "tale", "text"), BROKEN, ids=[f"{row[0].id} {row[2]}" for row in BROKEN])
def test_what_is_broken_is_found(check: type[Checker], tale: Tale, text: str) -> None:
    assert text in (problem(check, tale) or "")


def test_nothing_is_asked_of_who_talks_to_liars() -> None:
    for check, tale in (
        (Convergence, Tale(A).fault("peer-x").listens().rest(A, held=(B,), eager=True)),
        (MonotonicVersions, Tale(A).fault("peer-x").edit(put=(B,)).walk(1, A, B).walk(2, A)),
        (WholeOrFlagged, Tale(A).fault("peer-x").asks(1).page(1).updated(1, B, verified=True)),
        (ServersApart, Tale(A).fault("peer-x").listed(1, B)),
    ):
        assert problem(check, tale) is None


def test_what_happens_at_nodes_that_are_no_clients_is_nobody_s_business() -> None:
    tale = Tale(A)
    for kind in ("out", "in", "end", "timer"):
        tale.note(kind, "s", "x", data='{"jsonrpc":"2.0","method":"x"}')
    assert [check.id for check in CLIENT_CHECKS if problem(check, tale)] == []
