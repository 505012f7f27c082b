"""Paging by hand: one request per page, past the cache."""

from __future__ import annotations

from typing import Any

import pytest
from asking import Asking, both_eras, names

from mcp_sansio import (
    Cancelled,
    Closed,
    InvalidReply,
    LocalProtocolError,
    Lost,
    NotSupported,
    OpFailed,
    PageListed,
    Prompt,
    RpcError,
    Updated,
)


@both_eras
@pytest.mark.parametrize("cursor", ["", "x", " \u2028é"])
def test_the_callers_cursor_is_sent_as_it_is_the_empty_one_included(version: str, cursor: str) -> None:
    asking = Asking(version)
    op = asking.prompts.list(0.0, cursor=cursor)
    assert asking.one("prompts/list")["params"]["cursor"] == cursor
    asking.page(["a"], "next")
    assert asking.end(op) == PageListed(op, (Prompt("a"),), "next", ())


def test_the_last_page_has_no_cursor() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0, cursor="x")
    asking.page(["a"])
    assert asking.end(op).next_cursor is None


def test_a_page_by_hand_neither_comes_from_the_cache_nor_enters_it() -> None:
    """The official SDK sends every cursor past its cache as well."""
    asking = Asking()
    snapshot = asking.listed(["a"])
    op = asking.prompts.list(0.0, cursor="x")
    asking.page(["z"], ttlMs=10**9)
    asking.end(op)
    assert asking.prompts.snapshot is snapshot
    assert names(asking.end(asking.prompts.list(0.0)).snapshot) == ["a"]
    assert len(asking.every(Updated)) == 1


def test_a_malformed_prompt_costs_that_prompt() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0, cursor="x")
    asking.page(["a", {"name": 5}])
    page = asking.end(op)
    assert page.items == (Prompt("a"),)
    assert page.problems[0].startswith("prompts[1] of page 1: ")


def test_what_is_no_page_and_what_is_refused_fails() -> None:
    asking = Asking()
    snapshot = asking.listed(["a"])
    op = asking.prompts.list(0.0, cursor="x")
    asking.page(prompts=5)
    assert isinstance(asking.end(op).failure, InvalidReply)
    op = asking.prompts.list(0.0, cursor="x")
    asking.refuse(-32602)
    assert asking.end(op) == OpFailed(op, RpcError(-32602, "no"), snapshot)
    assert asking.asked("prompts/list") == []  # beginning again is the caller's


@pytest.mark.parametrize("cursor", [5, b"x", "\ud800"])
def test_what_cannot_be_a_cursor_is_refused_and_nothing_has_happened(cursor: Any) -> None:
    asking = Asking()
    before = asking.prompts.refresh(0.0)
    with pytest.raises(LocalProtocolError):
        asking.prompts.list(5.0, cursor=cursor)
    assert asking.prompts.refresh(0.0).number == before.number + 1


@both_eras
def test_before_the_era_is_known_a_page_waits(version: str) -> None:
    asking = Asking(version, connect=False)
    op = asking.prompts.list(0.0, cursor="x")
    asking.open(acknowledge=False)
    asking.page(["a"])
    assert isinstance(asking.end(op), PageListed)


def test_a_page_is_not_asked_of_a_server_without_prompts() -> None:
    asking = Asking(connect=False)
    waiting = asking.prompts.list(0.0, cursor="x")
    asking.open({"tools": {}})
    late = asking.prompts.list(0.0, cursor="x")
    for op in (waiting, late):
        assert asking.end(op).failure == NotSupported("prompts")
    assert asking.pages() == 0


def test_a_page_that_is_lost_is_not_asked_for_again() -> None:
    asking = Asking()
    op = asking.prompts.list(0.0, cursor="x")
    asking.cut()
    assert asking.end(op).failure == Lost("cut")
    asking.again()
    assert asking.pages() == 1


@pytest.mark.parametrize("connected", [True, False])
def test_a_page_can_be_cancelled_and_ends_with_the_client(connected: bool) -> None:
    asking = Asking(connect=connected)
    cancelled, closed = (asking.prompts.list(0.0, cursor="x") for _ in range(2))
    asking.sent()
    asking.prompts.cancel(cancelled, 0.0)
    methods = [message["method"] for message in asking.sent()]
    assert methods == (["notifications/cancelled"] if connected else [])
    asking.client.close(0.0, "bye")
    assert asking.end(cancelled).failure == Cancelled()
    assert asking.end(closed).failure == Closed("bye")
