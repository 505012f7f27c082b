"""Both ends over the bytes of HTTP/1.1, in both eras: the same prompts, wherever connections break."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from asking import ENDS
from h11_pair import H11World
from http_pair import byte_by_byte, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from pair import CLIENT, catalogue, prompt

from mcp_sansio import (
    ArgumentCompleted,
    Cancelled,
    ClientConfig,
    Era,
    Listed,
    NegotiationFailed,
    Op,
    OpFailed,
    PromptRendered,
    RequestCancelled,
    SessionStarted,
    StreamEnded,
    TextContent,
    Updated,
    WireFailed,
)
from mcp_sansio.h11 import H11Config, H11PoolConfig

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ERAS = pytest.mark.parametrize("version", [LEGACY, MODERN])


def world(version: str, **more: Any) -> H11World:
    options = {"latency": 0.01, **more}
    return H11World(client=ClientConfig(info=CLIENT, versions=(version,)), **options)


def truth(here: H11World) -> list[str]:
    return [*here.catalogue.snapshot.names]


def listed(here: H11World) -> list[str]:
    """The names on the list, asked for now."""
    end = here.outcome(here.prompts.list(here.now))
    assert isinstance(end, Listed), end
    return [*end.snapshot.by_name]


def seen(here: H11World) -> list[str]:
    """The names on the list that the client has."""
    assert here.prompts.snapshot is not None
    return [*here.prompts.snapshot.by_name]


def said(end: Any) -> str:
    assert isinstance(end, PromptRendered), end
    (message,) = end.result.messages
    assert isinstance(message.content, TextContent)
    return message.content.text


# --- every day ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reply", ["auto", "json", "sse"])
@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@ERAS
def test_a_list_in_pages_a_prompt_and_a_completion(version: str, cut: Any, reply: str) -> None:
    prompts = catalogue(25)
    who = {"who": lambda value, _: [value + "!", "ü"]}
    prompts.add(prompt("grüße", "who"), lambda who: f"Hello {who} \u2028 €", who)
    here = world(version, prompts=prompts, cut=cut, http={"reply": reply})
    assert listed(here) == truth(here)
    assert said(here.outcome(here.prompts.get("grüße", {"who": "you"}, here.now))) == "Hello you \u2028 €"
    completed = here.outcome(here.prompts.complete("grüße", "who", "a", here.now))
    assert isinstance(completed, ArgumentCompleted)
    assert completed.completion.values == ("a!", "ü")
    assert len(here.cables) <= 3, "connections are used again, beside that of the stream"
    assert not here.all(WireFailed, server=True)


@given(st.lists(st.integers(1, 400), max_size=12))
@settings(max_examples=30)
def test_the_bytes_may_come_in_any_pieces(sizes: list[int]) -> None:
    def cut(data: bytes) -> list[bytes]:
        edges = [0]
        for size in sizes:
            edges.append(min(edges[-1] + size, len(data)))
        return [data[start:end] for start, end in pairwise([*edges, len(data)])]

    for version in (LEGACY, MODERN):
        here = world(version, cut=cut)
        assert listed(here) == truth(here)


def test_both_eras_are_found_out_at_one_server() -> None:
    here = H11World(latency=0.01)
    assert listed(here) == truth(here)
    assert here.client.era is Era.MODERN


@ERAS
def test_changes_arrive_on_a_stream(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    for number in range(50):
        here.catalogue.put(prompt(f"new{number:02}"), lambda: "")
        here.run(0.02)
    here.run(5.0)
    assert seen(here) == truth(here)
    assert here.prompts.snapshot is not None
    assert here.prompts.snapshot.verified
    assert 1 < len(here.all(Updated)) < 30


@ERAS
def test_a_stream_does_not_take_the_place_of_what_is_asked(version: str) -> None:
    here = world(version, pool=H11PoolConfig(max_connections=1))
    listed(here)
    here.run(1.0)
    here.catalogue.put(prompt("new"), lambda: "")
    ops = [here.prompts.get(f"p{number:04}", None, here.now) for number in range(5)]
    here.run(5.0)
    assert [event.op for event in here.all(PromptRendered)] == ops
    assert seen(here) == truth(here)
    assert len([cable for cable in here.cables if not cable.near.closed]) == 2


@ERAS
def test_a_quiet_stream_outlives_the_patience_of_both_ends(version: str) -> None:
    here = world(version, h11=H11Config(idle_timeout=5.0, request_timeout=5.0))
    listed(here)
    here.run(1000.0)
    assert len(here.open) == 1
    here.catalogue.put(prompt("new"), lambda: "")
    here.run(1.0)
    assert seen(here) == truth(here)


@ERAS
def test_a_get_that_is_cancelled_is_cancelled_at_the_server(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    here.hold = True
    op = here.prompts.get("p0001", None, here.now)
    here.run(1.0)
    here.prompts.cancel(op, here.now)
    here.run(1.0)
    assert [event.failure for event in here.all(OpFailed)] == [Cancelled()]
    assert len(here.all(RequestCancelled, server=True)) == 1
    here.hold = False
    assert said(here.outcome(here.prompts.get("p0002", None, here.now))) == "this is p0002"


# --- connections that break ---------------------------------------------------------------------------


def reply_bytes(version: str) -> int:
    """How many bytes the replies to a list are, on the connection of the list."""
    here = world(version, prompts=catalogue(12))
    listed(here)
    return max(cable.carried for cable in here.cables)


@ERAS
def test_a_connection_may_break_anywhere_in_its_replies(version: str) -> None:
    """Only the first one breaks; what is safe to ask again is, and the list is whole."""
    for budget in range(1, reply_bytes(version) + 1, 7):
        here = world(
            version, prompts=catalogue(12), budget=lambda number, n=budget: n if number == 0 else None
        )
        here.prompts.list(here.now)
        here.run(60.0)
        assert seen(here) == truth(here), budget
        here.catalogue.put(prompt("new"), lambda: "")
        here.run(2.0)
        assert seen(here) == truth(here), budget


@ERAS
def test_a_break_while_nothing_is_asked_costs_no_request(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    for cable in here.open:
        cable.far.close(here.now)
    here.run(0.005)
    assert said(here.outcome(here.prompts.get("p0001", None, here.now))) == "this is p0001"


@ERAS
def test_changes_that_were_missed_are_found(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    here.disconnect()
    here.catalogue.put(prompt("meanwhile"), lambda: "")
    here.run(5.0)
    assert seen(here) == truth(here)


@ERAS
def test_a_server_that_starts_anew_is_found_again(version: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    here.stop()
    here.catalogue.put(prompt("meanwhile"), lambda: "")
    here.run(3.0)
    here.restart()
    assert said(here.outcome(here.prompts.get("meanwhile", None, here.now))) == ""
    here.run(30.0)
    assert seen(here) == truth(here)
    here.catalogue.put(prompt("later"), lambda: "")
    here.run(2.0)
    assert seen(here) == truth(here)


def test_a_server_that_is_not_there_is_given_up() -> None:
    here = world(MODERN, connect=False)
    here.serving_now = False
    here.connect()
    here.run(60.0)
    (failed,) = here.all(NegotiationFailed)
    assert "connection refused" in failed.reason
    assert here.pool.closed


# --- the end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["client", "pool"])
@ERAS
def test_the_end_leaves_nothing_open(version: str, how: str) -> None:
    here = world(version)
    listed(here)
    here.run(1.0)
    if how == "client":
        here.client.close(here.now)
    else:
        here.pool.close(here.now)
    here.run(1.0)
    assert here.pool.closed
    assert here.open == []
    started = [event.stream for event in here.all(SessionStarted, server=True)]
    assert len(started) == (version == LEGACY)
    assert {*started} <= {event.stream for event in here.all(StreamEnded, server=True)}
    assert here.client.next_timeout() is None
    assert here.server.next_timeout() is None


def turned(here: H11World, turn: str, number: int, ops: list[Op]) -> None:
    """One thing that happens."""
    match turn:
        case "list":
            ops.append(here.prompts.list(here.now))
        case "get":
            ops.append(here.prompts.get("p0001", None, here.now))
        case "edit":
            here.catalogue.put(prompt(f"new{number}"), lambda: "")
        case "cancel":
            here.prompts.cancel(ops[-1], here.now)
        case _:
            getattr(here, turn)()


@ERAS
@given(
    budgets=st.lists(st.sampled_from([None, None, 1, 40, 200, 700, 2000]), max_size=20),
    turns=st.lists(
        st.sampled_from(["list", "get", "edit", "disconnect", "restart", "stop", "cancel", "settle"]),
        max_size=10,
    ),
)
@settings(max_examples=40)
def test_in_the_end_the_client_has_the_list_and_everything_has_ended_once(
    version: str, budgets: list[int | None], turns: list[str]
) -> None:
    left = dict(enumerate(budgets))
    here = world(version, prompts=catalogue(12), budget=left.get)
    ops = [here.prompts.list(here.now)]
    for number, turn in enumerate(turns):
        if not here.client.done:
            turned(here, turn, number, ops)
            here.run(0.3 * (number % 3))
    here.restart()
    here.run(700.0)
    ended = [event.op for _, event in here.events if isinstance(event, ENDS)]
    assert sorted(op.number for op in ended) == [op.number for op in ops]
    if not here.client.done:
        left.clear()  # the network is good from now on
        here.disconnect()
        here.run(100.0)
        here.catalogue.put(prompt("last"), lambda: "")
        here.run(100.0)
        assert listed(here) == truth(here)
        here.client.close(here.now)
        here.run(100.0)
    assert here.pool.closed
    assert here.open == []
