"""What a node is told in other pieces, with noise in between, or once more, it answers in the same way."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from mcp_sansio import LEGACY_VERSIONS, MODERN_VERSIONS
from mcp_sansio._trace import Trace
from mcp_sansio.simulation._bytes import (
    BYTE_CHECKS,
    ByteProperty,
    GarbageIsolation,
    Make,
    Purity,
    RoundTrip,
    SplitInvariance,
    drive,
    whole,
)
from mcp_sansio.simulation._exhaustive.cuts import CANONICAL, canonical_client, canonical_server
from mcp_sansio.simulation._links import RESET
from mcp_sansio.simulation._node import Node
from mcp_sansio.simulation._run import run
from mcp_sansio.simulation._tape import Lenient
from mcp_sansio.simulation._zoo.bytes import ChunkIsLine, CountsForAll, Lossy, Squeamish

ERAS = (MODERN_VERSIONS[-1:], LEGACY_VERSIONS[-1:])
SESSIONS = tuple(run(scenario, Lenient(())).trace for scenario in CANONICAL)


def makers(versions: tuple[str, ...]) -> dict[str, Make]:
    """What makes the nodes of the canonical session."""
    return {"s1": partial(canonical_server, versions), "c1": partial(canonical_client, versions)}


@pytest.mark.parametrize("check", BYTE_CHECKS, ids=lambda check: check.id)
@pytest.mark.parametrize("node", ["s1", "c1"])
@pytest.mark.parametrize(("versions", "trace"), [*zip(ERAS, SESSIONS, strict=True)], ids=["modern", "legacy"])
def test_the_library_has_it(
    check: type[ByteProperty], node: str, versions: tuple[str, ...], trace: Trace
) -> None:
    assert check.judge(trace, node, makers(versions)[node]) is None


@pytest.mark.parametrize(
    ("check", "node", "make"),
    [
        (SplitInvariance, "s1", partial(canonical_server, ERAS[0], ChunkIsLine)),
        (GarbageIsolation, "c1", partial(canonical_client, ERAS[0], Squeamish)),
        (Purity, "c1", partial(canonical_client, ERAS[0], CountsForAll)),
        (Lossy, "s1", partial(canonical_server, ERAS[0])),
    ],
)
def test_a_bug_is_found_by_its_property(check: type[ByteProperty], node: str, make: Make) -> None:
    trace = SESSIONS[0]
    if check is Lossy:
        trace = Trace()
        message = '{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"p","description":""}]}}'
        trace.add(0.0, "out", "s1", "c1-1", data=message)
    assert check.judge(trace, node, make) is not None
    others = [other for other in BYTE_CHECKS if other.id != check.id and other is not Purity]
    assert check is Purity or [other.id for other in others if other.judge(trace, node, make)] == []


def test_a_fresh_node_does_what_the_recorded_one_did() -> None:
    for versions, trace in zip(ERAS, SESSIONS, strict=True):
        for node, make in makers(versions).items():
            said = [event.data for event in trace if event.node == node and event.kind == "out"]
            wrote = drive(trace, node, make, whole).written["c1-1"].decode().splitlines()
            assert wrote == said[: len(wrote)]
            assert len(wrote) >= len(said) - 3  # what is asked at the end of a run is one list more


def test_endings_and_timers_are_inputs() -> None:
    trace = Trace()
    for time, kind, data in (
        (1.0, "open", None),
        (2.0, "timer", None),
        (3.0, "end", RESET),
        (4.0, "end", "hangup"),
    ):
        trace.add(time, kind, "c1", "c1-1", data=data)
    driven = drive(trace, "c1", makers(ERAS[0])["c1"], whole)
    assert [kind for kind, _ in driven.reports] == ["settings", "wire-failed", "disconnected"]


def test_what_is_no_message_has_no_round_trip() -> None:
    trace = Trace()
    for text in ("no message", '{"jsonrpc":"2.0","id":1,"result":{"prompts":[null]}}', {"hex": "ff"}):
        trace.add(0.0, "in", "c1", "c1-1", data=text)
    trace.add(0.0, "in", "another", "c1-1", data="x")
    assert RoundTrip.judge(trace, "c1", Node) is None


class Nothing(RoundTrip):
    """Writes no message at all."""

    @classmethod
    def copied(cls, message: Any) -> bytes:
        return b"{}" if message else b""


def test_a_message_that_changes_is_found() -> None:
    trace = Trace()
    trace.add(0.0, "in", "c1", "c1-1", data='{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}')
    assert RoundTrip.judge(trace, "c1", Node) is None  # of duplicates the last wins, and it does so again
    assert Nothing.judge(trace, "c1", Node) == "event 0: the message is another one when it is written again"


def test_a_property_has_to_say_what_is_wrong() -> None:
    with pytest.raises(NotImplementedError):
        ByteProperty.judge(Trace(), "c1", Node)
