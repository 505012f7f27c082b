"""Each property of a client passes what is odd but legal, in traces told by hand."""

from __future__ import annotations

from typing import Any

import pytest
from client_tales import A2, GET, LISTEN, PROMPT_A, answers, asks_for_input, list_of, prompts, rendered
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


def test_the_properties_have_their_names_in_order() -> None:
    assert [check.id for check in CLIENT_CHECKS] == [f"C{number}" for number in range(1, 26)]
    assert all(check.title and check.anchor for check in CLIENT_CHECKS)


def untagged() -> Tale:
    """What bears no tag may be ignored, and a list of before a change may be handed out as stale."""
    tale = Tale(A).listens().walk(1, A).changed(None).listed(1, A)
    return tale.changed().listed(1, A, fresh=False).walk(2, A).listed(2, A)


def listed_before_the_acknowledgement() -> Tale:
    tale = Tale(A).asks(100, LISTEN).walk(1, A).listed(1, A)
    return tale.acknowledged(100).listed(1, A, fresh=False).listed(7, A, fresh=False)


def not_covered() -> Tale:
    """Nobody tells this client of changes, and nobody has asked it; another has only just begun."""
    tale = Tale(A).walk(1, A).edit(put=(A2,)).rest(A2, held=(A,), eager=True)
    stranger = Tale(A).listens().phase("asked")
    stranger.note("phase", data="rest")
    assert problem(Convergence, stranger.tell("rest", items=[B], connected=True)) is None
    return tale.phase("asked").rest(A2, held=(A,))


def stale_while_it_is_asked() -> Tale:
    """Since it was asked something has happened: that the list is stale is known."""
    return Tale(A).listens().phase("asked").changed().rest(A, held=(A,), current=False)


def late_is_dropped() -> Tale:
    """Of two walks the later one arrives first, and the other is dropped."""
    return Tale(A).asks(1).asks(2).page(2).updated(2, A).page(1).updated(9, A)


def stale_after_a_gap() -> Tale:
    tale = Tale(A).listens().walk(1, A).lose().listed(1, A, fresh=False).connect("y")
    return tale.listens(101).walk(2, A).listed(2, A)


def there_and_back() -> Tale:
    """What was removed comes back as it was: the same list is of a later state."""
    tale = Tale(A).walk(1, A).edit(put=(B,)).walk(2, A, B).edit(remove=("b",)).walk(3, A)
    torn = Tale(A).walk(1, A)
    assert (
        problem(MonotonicVersions, torn.asks(2).page(2, "x").asks(3, cursor="x").page(3).updated(2, B))
        is None
    )
    return tale.walk(4, ("never", "there"))


def torn_and_flagged() -> Tale:
    tale = Tale(A, B).asks(1).page(1, "x").edit(put=(A2,), remove=("b",)).asks(2, cursor="x").page(2)
    return tale.updated(1, A).walk(3, A2).updated(3, A2, verified=True).listed(3, A2, verified=True)


def whole_by_digest() -> Tale:
    """Nobody knows the states of the server, a change is announced under the walk, and one digest says it
    all.
    """
    digest: dict[str, Any] = {"_meta": {"mcp-sansio/snapshot": "d"}}
    tale = Tale().listens().asks(1).page(1, "x", **digest).changed().asks(2, cursor="x").page(2, **digest)
    return (
        tale.updated(1, A, verified=True).listed(1, A, verified=True).walk(3, A).updated(3, A, verified=True)
    )


def cursors() -> Tale:
    """The empty string leads on; an application has a cursor of its own; a page that was lost is asked for
    again.
    """
    tale = Tale(A).settings().command("list", cursor="mine").asks(1, cursor="mine").page(1, "more")
    tale.asks(2).page(2, "").asks(3, cursor="").fails(3, -32603).asks(4, cursor="").page(4).updated(2, A)
    tale.sends({"method": "notifications/initialized"}).asks(8).takes({"id": 8, "result": 5}).updated(77)
    return tale


def done_by_an_empty_cursor() -> Tale:
    return Tale(A).session().asks(2).page(2, "").updated(2, A)


def one_walk_for_many() -> Tale:
    """A walk that was given up makes room for another; many changes cause one."""
    tale = Tale(A).listens().command("list").asks(1).cancels(1).command("list").asks(2)
    for _ in range(5):
        tale.changed()
    return tale.page(2, "x").asks(3, cursor="x").fails(3).asks(4).page(4).updated(4, A)


def given_up_by_the_user() -> Tale:
    """Walk after walk is given up, for reasons of its own: the user, the connection, a failure."""
    tale = Tale(A).settings().listens()
    for number in range(1, 8):
        tale.asks(number).changed().command("cancel").cancels(number)
    tale.asks(8).lose().connect("y").listens(101).command("list").asks(19).page(19, "x").asks(20, cursor="x")
    tale.page(20).updated(19, A).changed(101).wait(0.9).walk(21, A)
    return tale.restart().walk(1, A).fault("freeze").wait(9.0).changed(101)


def slow_clock() -> Tale:
    """A clock that goes slower, one that has jumped, a revision without hints, a page of which nothing is
    known.
    """
    tale = Tale(A).walk(1, A, ttl=1000.0).fault("jump", "c").wait(5.0).listed(1, A)
    tale.walk(2, A, ttl=1).listed(2, A).fault("slow", "c").fault("jump", "c").walk(3, A, ttl=1).wait(5.0)
    return tale.listed(3, A).listed(1, A, fresh=False).listed(99, A)


def no_hints() -> Tale:
    return Tale(A).session().walk(2, A, ttl=None).wait(1e6).listed(2, A)


def reasons_for_a_walk() -> Tale:
    """Somebody waits, something has changed, the last one failed, or nobody knows what it was for."""
    tale = Tale(A).listens().walk(1, A).began(1).walk(2, A).listed(2, A).changed().walk(3, A)
    tale.asks(4, "ping").tell("odd", kind="walk-failed").asks(6).page(6, "x").asks(5, cursor="x").page(
        5
    ).tell("failed", op=9)
    return tale.restart().walk(1, A).walk(2, A)


def waits_for_a_connection() -> Tale:
    """Whose requests wait for a connection is not judged by the order in which they leave."""
    return Tale(A).settings(waits=True).command("list").walk(1, A).listed(1, A).walk(2, A)


def stale_on_error() -> Tale:
    """The fetch fails; a walk that ran already serves who came later; who says so takes what there is."""
    tale = Tale(A).walk(1, A, ttl=0).began(1).asks(2).fails(2, -32603).listed(1, A, fresh=False)
    tale.asks(3).began(2).page(3, ttl=0).updated(3, A).listed(3, A, op=2, fresh=False)
    tale.began(3, stale_ok=True).listed(3, A, op=3, fresh=False)
    return tale.began(4, "refresh").began(5).listed(99, A, op=5, fresh=False)


def same_names_on_two_servers() -> Tale:
    tale = Tale(A).walk(1, A).listed(1, A).asks(2, GET, name="a")
    tale.gets(2, messages=[{"content": {"text": "hi"}}, 5, {}]).tell("rendered", op=2, texts=["hi", None])
    tale.note("node", "t", data="server")
    tale.edit(put=(A2,), server="t").connect("y", "t").walk(3, A2).listed(3, A2)
    return tale.takes("rubbish").connect("z", "nobody").updated(3, A)


def public_for_everybody() -> Tale:
    """What is public may be served to anybody, and who is told nothing of it says nothing."""
    tale = Tale(A).command("principal", who="ann").walk(1, A).command("principal", who="bob").listed(1, A)
    return tale.asks(2).page(2, scope="private").updated(2, A, private=True).listed(2, A).listed(9, A)


def questions_crosswise() -> Tale:
    """Two gets of one prompt at once, answered crosswise; what goes back is the last state, or none."""
    tale = Tale(A).settings().asks(1, GET, name="a").asks(2, GET, name="a")
    asks_for_input(asks_for_input(tale, 2, "two"), 1, "one")
    answers(answers(tale, 3, "one"), 4, "two")
    asks_for_input(tale, 3)
    asks_for_input(answers(tale, 5), 1, "late")
    tale.takes("rubbish").takes({"id": 4, "result": 5}).walk(6, A)
    return tale.updated(99).sends({"method": "notifications/initialized"})


def one_teardown() -> Tale:
    """A result, a cancellation and the end of the connection end a subscription; another begins a while
    later.
    """
    channel = {"topic": "promptsListChanged"}
    tale = Tale(A).listens().tell("channel", **channel, live=True).gets(100)
    tale.takes({"method": "notifications/cancelled", "params": {"requestId": 100}})
    tale.tell("channel", **channel, live=False).wait(0.25).listens(101).tell("channel", **channel, live=True)
    tale.cancels(101).asks(102, LISTEN).lose().tell("channel", **channel, live=False).connect("y").listens(
        103
    )
    tale.asks(7).takes("rubbish").gets(7)
    return tale.restart().tell("channel", **channel, live=True)


def ids_apart() -> Tale:
    """The string "1" is not the number 1; another connection may begin anew; an answer may come twice."""
    tale = Tale(A).asks(1, GET).asks("1", GET).gets(1).gets("1").gets("1").tell("odd", kind="unknown-reply")
    tale.lose().connect("y").asks(1).page(1).updated(1, A).asks(2).cancels(2).page(2)
    tale.tell("odd", kind="unknown-reply").tell("odd", kind="noise").updated(2)
    return tale.sends({"method": "notifications/initialized"}).rest(A)


def given_up_and_answered() -> Tale:
    """An answer comes before the cancellation has left; negotiation is given up when its time is over."""
    tale = Tale(A).asks(1, GET).gets(1).tell("odd", kind="unknown-reply").cancels(1)
    tale.asks(2, "initialize").timer().gets(2).tell("odd", kind="unknown-reply")
    tale.asks(3, GET).gets(3).tell("odd", kind="unknown-reply").lose()
    return tale.rest(A)


def made_again_in_another_exchange() -> Tale:
    """Over HTTP a request that was lost with its exchange is made again, and given up where it never left."""
    tale = Tale(A).exchange("x.1").asks(1, GET).drops().exchange("x.2").asks(1, GET).gets(1)
    return tale.exchange("x.3").cancels(7)


def overtaken_cancellation() -> Tale:
    """A cancellation that had to wait for the pipe is overtaken by the answer."""
    tale = Tale(A).asks(1).page(1).updated(1, A)
    at_the_server = tale.note("obs", "s", data=["odd", {"kind": "x"}])
    tale.cancels(1, cause=at_the_server).asks(2).cancels(2).page(2).tell("odd", kind="unknown-reply")
    tale.tell("failed", op=1, reason="Cancelled").restart().tell("failed", op=1, reason="Cancelled")
    return tale.sends({"method": "notifications/initialized"}).updated(9)


def read_as_it_came() -> Tale:
    """A list of two pages with a name twice, hints that are none, no hints in a session; pages of liars."""
    tale = prompts(Tale(A).settings(), 1, A, nextCursor="x").asks(2, cursor="x")
    tale.page(2, prompts=[PROMPT_A, {}])
    tale.tell("updated", **list_of(1, B))  # one item is malformed, nobody knows what becomes of that
    tale.tell("odd", kind="bad-hint", text="of another walk: ttlMs is nonsense")
    prompts(tale, 3, A, ttlMs=-1, cacheScope=None)
    tale.tell("odd", kind="bad-hint", text="prompts/list: ttlMs is nonsense").tell("odd", kind="x", text="")
    tale.tell("updated", **list_of(3, A, private=True, expires=tale.time))
    prompts(tale.session(4), 5, A, ttlMs=None).tell("updated", **list_of(5, A, expires=None))
    tale.fault("peer-x").asks(6).page(6, prompts=None).tell("updated", **list_of(6, B))
    return tale.tell("updated", **list_of(9, A))


def told_as_it_came() -> Tale:
    """Answers that are told, that ask for more, that are no answers, and of which nobody can be told."""
    tale = rendered(Tale(A).settings(), 1).tell("rendered", op=1, texts=["a"])
    asks_for_input(tale.asks(2, GET, name="a"), 2)
    tale.asks(3, "completion/complete").gets(3, completion={"values": ["b"]})
    rendered(tale, 5).tell("rendered", op=5, texts=["a"]).tell("completed", op=2, values=["b"])
    tale.tell("completed", op=3, values=["c"])
    tale.asks(4, GET, name="a").fails(4).tell("failed", op=4, what="get", reason="RpcError")
    return rendered(tale.tell("rendered", op=9, texts=["z"]), 6).restart().rest(A)


def announcements_of_all_kinds() -> Tale:
    """Of another subscription, of one that is over, without a tag, in a session: each taken as it may be."""
    stale = {"epoch": 1, "reason": "list_changed"}
    tale = Tale(A).changed(None).tell("invalidated", **stale).listens().changed().tell("invalidated", **stale)
    tale.changed(7).tell("invalidated", epoch=2, reason="refresh").takes("rubbish").tell(
        "invalidated", **stale
    )
    tale.gets(100).changed().tell("invalidated", **stale).changed(None).tell("invalidated", **stale)
    tale.lose().connect("y").session(200).changed(None).tell("invalidated", **stale)
    return tale.settings(unnegotiated="invalidate").changed(5).tell("invalidated", **stale)


def early_and_told() -> Tale:
    tale = (
        Tale(A).settings().walk(1, A).asks(100, LISTEN).changed().tell("odd", kind="before-acknowledgement")
    )
    return tale.listed(1, A, fresh=False).acknowledged(100).walk(2, A).listed(2, A).rest(A)


def early_to_a_stranger() -> Tale:
    """Who says nothing of itself need not say that something is odd."""
    return Tale(A).asks(100, LISTEN).changed().acknowledged(100).rest(A)


def asked_for_again() -> Tale:
    """Once more, after a loss once more again, and leg after leg; nobody knows who wanted another."""
    tale = Tale(A).command("get", name="a").asks(1, GET, name="a").lose().connect("y").asks(2, GET, name="a")
    tale.fails(2).asks(3, GET, name="a").fails(3).command("list").asks(20)
    for number in range(4, 8):
        answers(tale, number)
    for number in range(8, 12):
        tale.asks(number, GET, name="b")
    return tale


def listening_at_rest() -> Tale:
    tale = Tale(A).listens().began(1).listed(1, A).began(2, "get").restart().listens()
    return tale.rest(A, held=(A,), in_flight=1, timer=None).phase("asked")


LEGAL = [
    (ReadYourNotifications, untagged),
    (CoverageStarts, listed_before_the_acknowledgement),
    (Convergence, not_covered),
    (Convergence, stale_while_it_is_asked),
    (NoLateOverwrite, late_is_dropped),
    (Reconnect, stale_after_a_gap),
    (MonotonicVersions, there_and_back),
    (WholeOrFlagged, torn_and_flagged),
    (WholeOrFlagged, whole_by_digest),
    (CursorHygiene, cursors),
    (CursorHygiene, done_by_an_empty_cursor),
    (RequestBound, one_walk_for_many),
    (Progress, given_up_by_the_user),
    (FreshnessArithmetic, slow_clock),
    (FreshnessArithmetic, no_hints),
    (HintsBelieved, read_as_it_came),
    (AnswersTold, told_as_it_came),
    (TtlIsNoTimer, reasons_for_a_walk),
    (TtlIsNoTimer, waits_for_a_connection),
    (StaleOnlyOnError, stale_on_error),
    (ServersApart, same_names_on_two_servers),
    (PrincipalsApart, public_for_everybody),
    (RoundTripsApart, questions_crosswise),
    (TeardownOnce, one_teardown),
    (IdDiscipline, ids_apart),
    (IdDiscipline, given_up_and_answered),
    (IdDiscipline, made_again_in_another_exchange),
    (LateResponses, made_again_in_another_exchange),
    (LateResponses, overtaken_cancellation),
    (CapabilityGate, announcements_of_all_kinds),
    (AcknowledgedFirst, early_and_told),
    (AcknowledgedFirst, early_to_a_stranger),
    (UnknownPrompt, asked_for_again),
    (NoLeak, listening_at_rest),
]


@pytest.mark.parametrize(("check", "tale"), LEGAL, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_odd_but_legal_passes(check: type[Checker], tale: object) -> None:
    assert callable(tale)
    assert problem(check, tale()) is None


def test_every_property_passes_something_odd() -> None:
    assert {check for check, _ in LEGAL} == set(CLIENT_CHECKS)
