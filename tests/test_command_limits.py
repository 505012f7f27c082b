"""How long a command may take: by what is configured, by limits of its own, and while a list judges it."""

from __future__ import annotations

import pytest
from asking import GET, UNKNOWN, Asking, failure, get

from mcp_sansio import Limits, ListingConfig, Op, PromptGone, TimedOut


def test_a_get_that_is_judged_by_a_list_waits_no_longer_than_its_own_time() -> None:
    """The server has answered, so its error stands."""
    for waits, ends in ((300.0, 16.0), (8.0, 9.0), (None, 16.0)):
        asking = Asking(quiet_timeout=None, total_timeout=16.0, listing=ListingConfig(wait=waits))
        op = get(asking, "a")
        asking.wait(1.0)
        asking.refuse(-32602, GET)
        asking.one("prompts/list")
        assert asking.client.next_timeout() == ends
        asking.wait(ends - 1.0)
        assert asking.end(op).failure == UNKNOWN


def test_a_get_without_clocks_is_judged_without_any() -> None:
    asking = Asking(quiet_timeout=None, total_timeout=None, listing=ListingConfig(wait=None))
    op = get(asking, "a")
    asking.refuse(-32602, GET)
    asking.one("prompts/list")
    assert asking.client.next_timeout() is None
    asking.page(["b"])
    assert isinstance(asking.end(op), PromptGone)


# --- limits of one command ---------------------------------------------------------------------------


def with_limits(asking: Asking, limits: Limits | None) -> dict[str, Op]:
    """Every command, with these limits."""
    prompts, now = asking.prompts, asking.now
    return {
        "get": prompts.get("a", None, now, limits=limits),
        "complete": prompts.complete("a", "x", "v", now, limits=limits),
        "page": prompts.list(now, cursor="c", limits=limits),
        "list": prompts.list(now, limits=limits),
        "refresh": prompts.refresh(now, limits=limits),
    }


@pytest.mark.parametrize("connect", [True, False])
@pytest.mark.parametrize(
    ("limits", "of_requests"),
    [
        (Limits(2.0, 8.0), TimedOut("quiet", 2.0)),
        (Limits(16.0, 8.0), TimedOut("total", 8.0)),
        (Limits(total=8.0), TimedOut("total", 8.0)),
    ],
)
def test_a_command_may_have_limits_of_its_own(connect: bool, limits: Limits, of_requests: TimedOut) -> None:
    """Who waits for a list has no request that could be quiet."""
    asking = Asking(connect=connect, probe_timeout=1e6)
    ops = with_limits(asking, limits)
    asking.sent()
    asking.wait(8.0)
    waiting = {"list", "refresh"}
    for kind, op in ops.items():
        assert failure(asking, op) == (TimedOut("total", 8.0) if kind in waiting else of_requests)


def test_limits_of_a_command_may_be_longer_than_those_of_others() -> None:
    asking = Asking(connect=False, probe_timeout=1e6, listing=ListingConfig(wait=4.0), quiet_timeout=4.0)
    ops, others = with_limits(asking, Limits()), with_limits(asking, None)
    asking.wait(1000.0)
    for kind, op in ops.items():
        assert asking.ends(op) == []
        assert isinstance(failure(asking, others[kind]), TimedOut)


def test_the_total_limit_of_a_command_counts_from_the_command_on() -> None:
    asking = Asking(connect=False)
    op = asking.prompts.get("a", None, 0.0, limits=Limits(total=4.0))
    asking.wait(3.0)
    asking.open()
    asking.one(GET)
    asking.wait(0.9375)
    assert asking.ends(op) == []
    asking.wait(0.0625)
    assert asking.end(op).failure.limit == "total"
