"""Each property of liveness passes what is odd but legal, and finds what is not, in traces told by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from telling_server import ServerTale, problem

from mcp_sansio.simulation._checking import Checker
from mcp_sansio.simulation._checks.live import (
    ATTEMPTS,
    BoundedStaleness,
    ConvergesInTime,
    EveryRequestEnds,
    IdleIsSilent,
    NoDeadlock,
    NoStorm,
    ProgressUnderChange,
)
from mcp_sansio.simulation._checks.properties import LIVE_CHECKS

Told = Callable[[], ServerTale]
LIST, DAY = "prompts/list", 86400.0


def told(*cases: tuple[type[Checker], str, Told]) -> pytest.MarkDecorator:
    """Cases by the id of their property and what they are about."""
    return pytest.mark.parametrize(
        ("check", "tell"), [(c, t) for c, _, t in cases], ids=[f"{c.id} {about}" for c, about, _ in cases]
    )


def fault(tale: ServerTale, kind: str) -> ServerTale:
    return tale.note("fault", "c", data=[kind, {}])


def live(*, eager: bool = True) -> ServerTale:
    tale = ServerTale().tell("c", "settings", eager=eager, max_wait=1.0)
    return tale.listens().acknowledges().changed()


def listed(ttl: int, age: float, *, fresh: bool = True) -> ServerTale:
    tale = ServerTale().lists(1, "a", ttlMs=ttl).after(age)
    return tale.tell("c", "listed", op=1, asked=1, fresh=fresh, items=[["a", ""]])


def attempts(seconds: float, times: int = ATTEMPTS + 1, *, granted: bool = False) -> ServerTale:
    tale = ServerTale()
    for number in range(times):
        tale.after(seconds).listens(number)
        if granted:
            tale.acknowledges(number)
    return tale


def probe_too_late() -> ServerTale:
    return ServerTale().asks(1, "server/discover").asks(2, "initialize", meta=None).answers(2).rest()


def talked(tale: ServerTale, sender: str = "c", times: int = 1) -> ServerTale:
    for number in range(times):
        tale.raw("out", sender, "x", id=number, method="ping")
    return tale


@told(
    (EveryRequestEnds, "every way to end", lambda: ServerTale().lists(1).asks(2, LIST).refuses(2).rest()),
    (EveryRequestEnds, "with its connection", lambda: ServerTale().asks(1, LIST).ends("eof", "c").rest()),
    (EveryRequestEnds, "a subscription", lambda: live().rest()),
    (EveryRequestEnds, "the slower of two handshakes", probe_too_late),
    (ConvergesInTime, "soon", lambda: ServerTale().phase("calm").after(99).tell("c", "updated")),
    (ConvergesInTime, "in the chaos", lambda: ServerTale().after(DAY).tell("c", "updated")),
    (
        ConvergesInTime,
        "asked for late",
        lambda: ServerTale().phase("calm").after(DAY).note("op", "c", data=["list", {}]).tell("c", "updated"),
    ),
    (
        ConvergesInTime,
        "after a lie",
        lambda: fault(ServerTale().phase("calm"), "peer-ttl").after(DAY).tell("c", "updated"),
    ),
    (
        ProgressUnderChange,
        "a list now and then",
        lambda: live().after(20).tell("c", "updated").changed().after(20).changed(),
    ),
    (ProgressUnderChange, "something went wrong", lambda: fault(live(), "delay").after(99).changed()),
    (ProgressUnderChange, "the connection was lost", lambda: live().ends("eof", "c").after(99).changed()),
    (ProgressUnderChange, "who does not want to know", lambda: live(eager=False).after(99).changed()),
    (ProgressUnderChange, "another message", lambda: live().after(99).says("notifications/message")),
    (BoundedStaleness, "before the TTL is over", lambda: listed(5000, 4)),
    (BoundedStaleness, "known to be stale", lambda: listed(5000, 6, fresh=False)),
    (
        BoundedStaleness,
        "no hint",
        lambda: (
            ServerTale()
            .asks(1, LIST, meta=None)
            .answers(1, prompts=[])
            .after(DAY)
            .tell("c", "listed", asked=1, fresh=True)
        ),
    ),
    (BoundedStaleness, "a list of nobody's", lambda: ServerTale().tell("c", "listed", asked=7, fresh=True)),
    (
        BoundedStaleness,
        "a clock that was set",
        lambda: (
            fault(ServerTale(), "slow").lists(1, ttlMs=1).after(9).tell("c", "listed", asked=1, fresh=True)
        ),
    ),
    (NoStorm, "with pauses", lambda: attempts(4)),
    (NoStorm, "granted every time", lambda: attempts(1, granted=True)),
    (NoStorm, "over new connections", lambda: attempts(1, ATTEMPTS).connect("y").listens(99, "y")),
    (NoStorm, "other requests", lambda: attempts(4).asks(98, LIST).asks(99, LIST)),
    (NoDeadlock, "all is read", lambda: ServerTale().lists(1).rest()),
    (NoDeadlock, "an end is gone", lambda: talked(ServerTale()).ends("reset", "s").rest()),
    (
        NoDeadlock,
        "a process began anew",
        lambda: talked(ServerTale()).note("node", "c", data="client").rest(),
    ),
    (NoDeadlock, "swallowed by a liar", lambda: fault(talked(ServerTale(), "s"), "peer-swallowed").rest()),
    (NoDeadlock, "more heard than said", lambda: ServerTale().raw("in", "c", "x", method="noise").rest()),
    (
        NoDeadlock,
        "who is neither client nor server",
        lambda: ServerTale().note("open", "p", "z").note("open", "s", "z").raw("out", "p", "z").rest(),
    ),
    (
        NoDeadlock,
        "not open at both ends",
        lambda: ServerTale().note("open", "c", "z").raw("out", "c", "z").rest(),
    ),
    (IdleIsSilent, "signs of life", lambda: talked(ServerTale().after(DAY))),
    (IdleIsSilent, "rubbish", lambda: ServerTale().after(DAY).note("out", "s", "x", "rubbish")),
    (
        IdleIsSilent,
        "an answer to a command",
        lambda: ServerTale().after(DAY).note("op", "c", data=["list", {}]).lists(1),
    ),
    (IdleIsSilent, "what never gets better", lambda: ServerTale().phase("scarred").after(DAY).lists(1)),
)
def test_legal(check: type[Checker], tell: Told) -> None:
    assert problem(check, tell()) is None


@told(
    (EveryRequestEnds, "never", lambda: ServerTale().asks(1, LIST).rest()),
    (EveryRequestEnds, "a probe alone", lambda: ServerTale().asks(1, "server/discover").rest()),
    (ConvergesInTime, "late", lambda: ServerTale().phase("calm").after(DAY).tell("c", "updated")),
    (ProgressUnderChange, "no list", lambda: live().after(40).changed()),
    (BoundedStaleness, "after the TTL is over", lambda: listed(5000, 6)),
    (NoStorm, "without a pause", lambda: attempts(1)),
    (NoDeadlock, "the client's", lambda: talked(ServerTale()).rest()),
    (NoDeadlock, "the server's", lambda: talked(ServerTale(), "s").rest()),
    (IdleIsSilent, "a request", lambda: ServerTale().after(DAY).asks(1, LIST)),
    (IdleIsSilent, "an answer", lambda: ServerTale().asks(1, LIST).after(DAY).page(1)),
)
def test_broken(check: type[Checker], tell: Told) -> None:
    assert problem(check, tell()) is not None


def test_liveness_has_seven_properties() -> None:
    assert [check.id for check in LIVE_CHECKS] == [f"L{number}" for number in range(1, 8)]
