"""Each property of a server passes what is odd but legal, and finds what is not, in traces told by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from telling_server import ServerTale, problem

from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio.simulation._checking import Checker
from mcp_sansio.simulation._checks.announce import (
    CROWDED,
    Announced,
    AtOnce,
    BoundedDelay,
    BoundedRate,
    OneBit,
)
from mcp_sansio.simulation._checks.pages import BoundState, GuardedState, Hinted, HonestPages, Stateless
from mcp_sansio.simulation._checks.properties import SERVER_CHECKS
from mcp_sansio.simulation._checks.server import (
    AcknowledgedFirst,
    AnswerOnce,
    GracefulEnd,
    OnlyWhoAsked,
    SilentAfterCancel,
)

Told = Callable[[], ServerTale]
LIST, GET, CANCELLED = "prompts/list", "prompts/get", "notifications/cancelled"
PROMISES = {"quiet": 1.0, "max_wait": 4.0, "state_ttl": 60.0}


def told(*cases: tuple[type[Checker], str, Told]) -> pytest.MarkDecorator:
    """Cases by the id of their property and what they are about."""
    return pytest.mark.parametrize(
        ("check", "tell"), [(c, t) for c, _, t in cases], ids=[f"{c.id} {about}" for c, about, _ in cases]
    )


def listening() -> ServerTale:
    return ServerTale(**PROMISES).edit("a").listens().acknowledges()


def state(id: int, token: str, **params: Any) -> ServerTale:
    return (
        ServerTale(**PROMISES)
        .asks(id, GET, **params)
        .answers(id, resultType="input_required", requestState=token)
    )


def many_to_a_client_that_does_not_read() -> ServerTale:
    tale = listening().edit("b").raw("out", "s", "x", id=9, result={"x": "y" * CROWDED})
    return tale.after(60).edit("c").changed().changed()


def read_after_all() -> ServerTale:
    big = {"id": 9, "result": {"x": "y" * CROWDED}}
    return (
        listening()
        .raw("out", "s", "x", **big)
        .edit("b")
        .raw("in", "c", "x", **big)
        .after(60)
        .edit("c")
        .after(9)
        .rest()
    )


def storm() -> ServerTale:
    """Changes that go on for longer than any may be held."""
    tale = listening()
    for number in range(6):
        tale.after(0.9).edit(f"n{number}")
    return tale.changed()


def freed() -> ServerTale:
    """A server that was frozen catches up."""
    tale = listening().edit("b").note("fault", "s", data=["freeze", {}])
    return tale.after(60).edit("c").changed().phase("calm")


@told(
    (
        AcknowledgedFirst,
        "two subscriptions, one turn each",
        lambda: listening().listens(2).changed().acknowledges(2),
    ),
    (
        AcknowledgedFirst,
        "one that is not offered",
        lambda: ServerTale().listens().acknowledges(1, other=False),
    ),
    (AcknowledgedFirst, "no list of what is granted", lambda: ServerTale().listens().says(ACKNOWLEDGED, 1)),
    (AcknowledgedFirst, "a tag that nobody knows, and none", lambda: ServerTale().changed(7).changed(None)),
    (
        AcknowledgedFirst,
        "a string is another id",
        lambda: listening().listens("1").acknowledges("1").changed("1"),
    ),
    (
        Announced,
        "a change before the acknowledgement",
        lambda: ServerTale().listens().edit("a").acknowledges().rest(),
    ),
    (
        Announced,
        "announced before it was listed",
        lambda: listening().edit("b").changed().lists(2, "a", "b").rest(),
    ),
    (Announced, "an empty edit", lambda: listening().edit().rest()),
    (
        Announced,
        "two states to choose from",
        lambda: listening().changed().asks(2, LIST).edit("a").page(2, "a"),
    ),
    (Announced, "what only some may see", lambda: listening().changed().lists(2, cacheScope="private")),
    (Announced, "no list at all", lambda: listening().changed().asks(2, LIST).answers(2, prompts=None)),
    (
        Announced,
        "nobody knows the list",
        lambda: ServerTale().listens().acknowledges().changed().lists(2, "z").rest(),
    ),
    (Announced, "a recording without its begin", lambda: ServerTale().page(7, "z")),
    (
        Announced,
        "a session that is not initialized",
        lambda: ServerTale().session(ready=False).edit("a").rest(),
    ),
    (Announced, "who has gone", lambda: listening().edit("b").ends().rest()),
    (BoundedDelay, "at the last moment", lambda: listening().edit("b").after(4.0).edit("c").changed().rest()),
    (
        BoundedDelay,
        "one for two changes",
        lambda: listening().edit("b").after(3).edit("c").changed().after(9).edit("d"),
    ),
    (BoundedDelay, "no promise", lambda: ServerTale().listens().acknowledges().edit("b").after(90).edit("c")),
    (BoundedDelay, "who has gone", lambda: listening().edit("b").ends().after(90).edit("c")),
    (
        BoundedDelay,
        "a clock that was set",
        lambda: listening().note("fault", "s", data=["back", {}]).edit("b").after(90).rest(),
    ),
    (BoundedDelay, "a process that stood still", freed),
    (
        BoundedDelay,
        "another fault",
        lambda: listening().edit("b").note("fault", "s", data=["split", {}]).changed(),
    ),
    (BoundedDelay, "a client that does not read", many_to_a_client_that_does_not_read),
    (AtOnce, "at once", lambda: listening().after(9).edit("b").changed().after(9).edit("c").changed()),
    (AtOnce, "after quiet", lambda: listening().after(9).edit("b").changed().edit("c").after(1.0).changed()),
    (
        AtOnce,
        "each puts it off",
        lambda: listening().edit("b").after(0.9).edit("c").after(0.9).edit("d").after(1.0).changed(),
    ),
    (
        AtOnce,
        "not before long",
        lambda: listening().edit("b").changed().after(1.9).edit("c").after(1).changed(),
    ),
    (AtOnce, "no promise", lambda: ServerTale().listens().acknowledges().edit("b").after(90).edit("c")),
    (
        BoundedRate,
        "a list between",
        lambda: listening().edit("b").changed().edit("c").asks(2, LIST).changed(),
    ),
    (
        BoundedRate,
        "what was missed at the handshake",
        lambda: ServerTale(**PROMISES).session().changed(None).changed(None),
    ),
    (BoundedRate, "no promise", lambda: ServerTale().listens().acknowledges().changed().changed()),
    (BoundedRate, "after the quiet time", lambda: listening().edit("b").changed().after(1.0).changed()),
    (BoundedRate, "nobody listens", lambda: ServerTale().changed()),
    (BoundedRate, "a client that does not read", many_to_a_client_that_does_not_read),
    (OnlyWhoAsked, "a session", lambda: ServerTale().session().changed(None)),
    (OnlyWhoAsked, "not acknowledged yet", lambda: ServerTale().listens().changed()),
    (
        HonestPages,
        "no cursor is good for ever",
        lambda: listening().lists(2, "a", nextCursor="k").asks(3, LIST, cursor="k").refuses(3),
    ),
    (
        HonestPages,
        "one comes and one goes",
        lambda: listening().lists(2, "a", nextCursor="k").edit("b", remove=("a",)).lists(3, cursor="k"),
    ),
    (
        HonestPages,
        "an old state to its end",
        lambda: (
            listening().edit("b").lists(2, "a", nextCursor="k").edit(remove=("b",)).lists(3, "b", cursor="k")
        ),
    ),
    (HonestPages, "some see less", lambda: listening().lists(2, cacheScope="private")),
    (
        HonestPages,
        "a page for a request of before",
        lambda: listening().lists(2, "a", nextCursor="k").connect("y").lists(3, "z", cursor="k", link="y"),
    ),
    (
        HonestPages,
        "a walk that changes its connection",
        lambda: (
            listening()
            .lists(2, "a", nextCursor="k")
            .connect("y")
            .lists(3, "z", cursor="k", link="y", nextCursor="l")
            .lists(4, "z", cursor="l", link="y")
        ),
    ),
    (
        Announced,
        "messages that say nothing of changes",
        lambda: (
            listening()
            .notifies("notifications/progress")
            .notifies("notifications/initialized")
            .says("notifications/message", 1)
            .rest()
        ),
    ),
    (HonestPages, "nobody knows the list", lambda: ServerTale().lists(2, "z", "z")),
    (
        HonestPages,
        "an invalid cursor",
        lambda: ServerTale().asks(2, LIST, cursor=7).refuses(2).asks(3, LIST).refuses(3),
    ),
    (
        HonestPages,
        "names that are none",
        lambda: ServerTale().asks(2, LIST).answers(2, prompts=[{"name": 1}, None]),
    ),
    (Hinted, "a legacy list", lambda: ServerTale().asks(2, LIST, meta=None).answers(2, prompts=[])),
    (
        Hinted,
        "private from the first page on",
        lambda: (
            ServerTale()
            .lists(2, cacheScope="private", nextCursor="k")
            .lists(3, cursor="k", cacheScope="private")
        ),
    ),
    (
        Hinted,
        "another walk",
        lambda: ServerTale().lists(2, cacheScope="private").lists(3).asks(4, GET).answers(4),
    ),
    (Hinted, "a cursor from nowhere", lambda: ServerTale().lists(3, cursor="k")),
    (Hinted, "asks for input", lambda: state(2, "t")),
    (AnswerOnce, "an error without an id", lambda: ServerTale().raw("out", "s", "x", id=None, error={})),
    (
        AnswerOnce,
        "an id that was used twice",
        lambda: ServerTale().asks(2, LIST).asks(2, LIST).refuses(2).refuses(2),
    ),
    (AnswerOnce, "a connection that broke", lambda: ServerTale().asks(2, LIST).ends("reset").rest()),
    (
        AnswerOnce,
        "answered after the end of input",
        lambda: ServerTale().asks(2, LIST).ends("eof").page(2).rest(),
    ),
    (
        AnswerOnce,
        "a subscription and a cancellation",
        lambda: listening().asks(2, GET).notifies(CANCELLED, requestId=2).rest(),
    ),
    (
        SilentAfterCancel,
        "cancelled too late",
        lambda: ServerTale().asks(2, GET).answers(2).notifies(CANCELLED, requestId=2),
    ),
    (SilentAfterCancel, "what nobody asked", lambda: ServerTale().notifies(CANCELLED, requestId=9).page(9)),
    (
        Stateless,
        "a smaller page",
        lambda: listening().edit("b").lists(2, "a", "b").lists(3, "a", nextCursor="k"),
    ),
    (Stateless, "a change between", lambda: listening().lists(2, "a").edit("b").lists(3, "a", "b")),
    (
        Stateless,
        "a change under way",
        lambda: listening().lists(2, "a").asks(3, LIST).edit("b").page(3, "a", "b"),
    ),
    (Stateless, "a legacy session", lambda: listening().lists(2, "a").asks(3, LIST, meta=None).page(3)),
    (
        Stateless,
        "a refusal, and another method",
        lambda: listening().asks(2, LIST).refuses(2).asks(3, GET).answers(3),
    ),
    (
        GuardedState,
        "as it was issued",
        lambda: state(2, "t", name="a").asks(3, GET, name="a", requestState="t").answers(3),
    ),
    (GuardedState, "refused", lambda: ServerTale().asks(3, GET, requestState="f").refuses(3).lists(4)),
    (
        BoundState,
        "as it was issued",
        lambda: state(2, "t", name="a").asks(3, GET, name="a", requestState="t").answers(3),
    ),
    (BoundState, "never issued", lambda: ServerTale().asks(3, GET, requestState="f").answers(3)),
    (
        BoundState,
        "old by a clock that was set",
        lambda: (
            state(2, "t")
            .note("fault", "s", data=["jump", {}])
            .after(90)
            .asks(3, GET, requestState="t")
            .answers(3)
        ),
    ),
    (OneBit, "one for each change", lambda: listening().edit("b").changed().edit("c").changed()),
    (OneBit, "nobody knows the list", lambda: ServerTale().listens().acknowledges().changed().changed()),
    (GracefulEnd, "in good order", lambda: listening().note("op", "s", data=["close", {}]).answers(1).ends()),
    (
        GracefulEnd,
        "a client that goes first",
        lambda: listening().note("op", "s", data=["close", {}]).ends("reset"),
    ),
    (
        GracefulEnd,
        "cut short by a crash",
        lambda: (
            listening()
            .note("op", "s", data=["close", {}])
            .note("node", "s", data="server")
            .connect("y")
            .session()
            .changed(None)
        ),
    ),
    (GracefulEnd, "no shutdown", lambda: listening().edit("b").changed().ends()),
    (
        GracefulEnd,
        "others speak",
        lambda: listening().note("op", "s", data=["close", {}]).says("notifications/cancelled", requestId=1),
    ),
)
def test_legal(check: type[Checker], tell: Told) -> None:
    assert problem(check, tell()) is None


@told(
    (AcknowledgedFirst, "too late", lambda: ServerTale().listens().changed()),
    (AcknowledgedFirst, "twice", lambda: listening().acknowledges()),
    (AcknowledgedFirst, "too much", lambda: ServerTale().listens().acknowledges(1, toolsListChanged=True)),
    (AcknowledgedFirst, "after the end", lambda: listening().answers(1).changed()),
    (
        AcknowledgedFirst,
        "after the cancellation",
        lambda: listening().notifies(CANCELLED, requestId=1).changed(),
    ),
    (Announced, "never", lambda: listening().edit("b").rest()),
    (Announced, "before the last change", lambda: listening().edit("b").changed().edit("c").rest()),
    (Announced, "never in a session", lambda: ServerTale().session().edit("b").rest()),
    (Announced, "before it can be seen", lambda: listening().edit("b").changed().lists(2, "a")),
    (BoundedDelay, "too late", lambda: listening().edit("b").after(4.1).edit("c")),
    (BoundedDelay, "never", lambda: listening().edit("b").after(9).phase("calm")),
    (BoundedDelay, "before the change", lambda: listening().changed().edit("b").after(9).phase("calm")),
    (BoundedDelay, "after a jam", read_after_all),
    (AtOnce, "held after quiet", lambda: listening().after(9).edit("b").after(0.1).changed()),
    (AtOnce, "held for too long", lambda: listening().edit("b").changed().edit("c").after(1.1).changed()),
    (AtOnce, "a storm", storm),
    (BoundedRate, "too often", lambda: listening().edit("b").changed().after(0.5).edit("c").changed()),
    (OnlyWhoAsked, "no session", lambda: ServerTale().changed(None)),
    (OnlyWhoAsked, "no such subscription", lambda: listening().changed(2)),
    (OnlyWhoAsked, "another filter", lambda: ServerTale().listens(1, toolsListChanged=True).changed()),
    (OnlyWhoAsked, "not declared", lambda: ServerTale().session(announces=False).changed(None)),
    (
        HonestPages,
        "skipped",
        lambda: listening().edit("b").lists(2, "a", nextCursor="k").lists(3, cursor="k"),
    ),
    (HonestPages, "repeated", lambda: listening().lists(2, "a", nextCursor="k").lists(3, "a", cursor="k")),
    (HonestPages, "never issued", lambda: ServerTale().lists(3, cursor="k")),
    (
        HonestPages,
        "of somebody else",
        lambda: (
            ServerTale().lists(2, nextCursor="k").connect("y", principal="b").lists(3, cursor="k", link="y")
        ),
    ),
    (
        HonestPages,
        "refused in another way",
        lambda: ServerTale().asks(3, LIST, cursor="k").refuses(3, -32000),
    ),
    (Hinted, "no ttlMs", lambda: ServerTale().lists(2, ttlMs=None)),
    (Hinted, "a negative ttlMs", lambda: ServerTale().lists(2, ttlMs=-1)),
    (Hinted, "no cacheScope", lambda: ServerTale().lists(2, cacheScope=None)),
    (Hinted, "no hints for discovery", lambda: ServerTale().asks(2, "server/discover").answers(2)),
    (
        Hinted,
        "two scopes",
        lambda: ServerTale().lists(2, nextCursor="k").lists(3, cursor="k", cacheScope="private"),
    ),
    (Hinted, "a list asks for input", lambda: ServerTale().lists(2, resultType="input_required")),
    (
        Hinted,
        "input with a ttlMs",
        lambda: ServerTale().asks(2, GET).answers(2, resultType="input_required", ttlMs=1),
    ),
    (AnswerOnce, "twice", lambda: ServerTale().lists(2).page(2)),
    (AnswerOnce, "not asked", lambda: ServerTale().page(2)),
    (AnswerOnce, "never", lambda: ServerTale().asks(2, LIST).rest()),
    (
        SilentAfterCancel,
        "cancelled",
        lambda: ServerTale().asks(2, GET).notifies(CANCELLED, requestId=2).answers(2),
    ),
    (Stateless, "another list", lambda: listening().lists(2, "a").lists(3, "z")),
    (Stateless, "less, and no more to come", lambda: listening().lists(2, "a").lists(3)),
    (GuardedState, "never issued", lambda: ServerTale().asks(3, GET, requestState="f").answers(3)),
    (
        BoundState,
        "another prompt",
        lambda: state(2, "t", name="a").asks(3, GET, name="b", requestState="t").answers(3),
    ),
    (
        BoundState,
        "other arguments",
        lambda: state(2, "t").asks(3, GET, arguments={"x": "y"}, requestState="t").answers(3),
    ),
    (
        BoundState,
        "another principal",
        lambda: state(2, "t").connect("y", principal="b").asks(3, GET, "y", requestState="t").answers(3, "y"),
    ),
    (BoundState, "too old", lambda: state(2, "t").after(61).asks(3, GET, requestState="t").answers(3)),
    (OneBit, "twice for one change", lambda: listening().edit("b").changed().changed()),
    (GracefulEnd, "without a word", lambda: listening().note("op", "s", data=["close", {}]).ends()),
    (GracefulEnd, "the last word", lambda: listening().note("op", "s", data=["close", {}]).changed()),
)
def test_broken(check: type[Checker], tell: Told) -> None:
    assert problem(check, tell()) is not None


def test_every_property_of_a_server_has_a_name_and_a_place() -> None:
    assert len({check.id for check in SERVER_CHECKS}) == len(SERVER_CHECKS)
    assert all(check.title and check.anchor and check.id.startswith("S") for check in SERVER_CHECKS)
