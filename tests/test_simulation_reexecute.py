"""Recorded sessions, executed once more: what was said then is said now, byte for byte.

The recordings are of real processes and kept in `recordings/`. A release that says something else to the
same input has changed its behaviour, and has to say so: by recording anew what it means to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from recordings import make, server

from mcp_sansio import ClientConfig, HttpServerConfig, Implementation, PromptServerConfig, ServerConfig
from mcp_sansio._trace import Trace, TraceEvent
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._recordings.recorded import RecordedClient, RecordedServer
from mcp_sansio.simulation._recordings.reexecute import NOTHING, Difference, reexecute
from mcp_sansio.simulation._run import run_seed
from mcp_sansio.simulation._scenarios import KEYS, Scenario
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._workload import Workload
from mcp_sansio.simulation._world import World

RECORDINGS = Path(__file__).parent / "recordings"


def recording(name: str, folder: Path = RECORDINGS) -> Trace:
    return Trace.parse((folder / f"{name}.jsonl").read_bytes().splitlines())


def again(trace: Trace) -> Difference | None:
    """What a client or server of this version does differently."""
    name = trace.events[0].node
    if name == "client-1":
        return reexecute(trace, name, RecordedClient.of(trace, name))
    return reexecute(trace, name, RecordedServer.of(trace, name, server.CONFIG, server.SERVING))


each = pytest.mark.parametrize("name", [f"{era}-{end}" for era in make.ERAS for end in ("client", "server")])


@each
def test_a_recorded_session_is_what_it_was(name: str) -> None:
    trace = recording(name)
    assert {"in", "out", "obs", "op", "open", "end"} <= {event.kind for event in trace}
    assert again(trace) is None


@pytest.mark.parametrize("era", make.ERAS)
def test_a_recorded_session_over_http_is_what_it_was(era: str) -> None:
    trace = recording(f"{era}-http")
    assert {"head-in", "body-in", "head-out"} <= {event.kind for event in trace}
    server_again = RecordedServer.of(trace, "server-1", server.CONFIG, server.SERVING, HttpServerConfig())
    assert reexecute(trace, "client-1", RecordedClient.of(trace, "client-1")) is None
    assert reexecute(trace, "server-1", server_again) is None


@pytest.mark.live
@pytest.mark.parametrize("era", make.ERAS)
def test_so_is_one_of_today(era: str, tmp_path: Path) -> None:
    asyncio.run(make.record(tmp_path, era))
    assert again(recording(f"{era}-client", tmp_path)) is None
    assert again(recording(f"{era}-server", tmp_path)) is None


# --- what is noticed --------------------------------------------------------------------------------------


def without(trace: Trace, index: int) -> Trace:
    """The trace, an event of which has not happened."""
    made = Trace(trace.header)
    made.events = [event for event in trace if event.index != index]
    return made


def where(trace: Trace, kind: str) -> Iterator[int]:
    return (event.index for event in trace if event.kind == kind)


@each
@pytest.mark.parametrize("kind", ["out", "obs"])
def test_output_that_was_not_there_is_noticed(name: str, kind: str) -> None:
    """But for what may be written or not: a server is not sure to announce a change before its client leaves,
    nor to answer what is cancelled.
    """
    trace = recording(name)
    indexes = [*where(trace, kind)]
    found = [again(without(trace, index)) for index in indexes]
    assert found.count(None) <= 2
    assert all(each is None or each.index >= index for each, index in zip(found, indexes, strict=True))


@each
def test_so_is_output_that_was_another(name: str) -> None:
    trace = recording(name)
    for index in where(trace, "out"):
        event = trace.events[index]
        trace.events[index] = changed = TraceEvent(
            event.time, index, event.kind, event.node, event.link, event.cause, event.data + " "
        )
        found = again(trace)
        assert found == Difference(index, changed.data, event.data)
        trace.events[index] = event


def test_so_is_output_that_has_gone() -> None:
    trace = recording("modern-client")
    first = next(where(trace, "out"))
    extra = trace.events[first]
    trace.events.insert(first + 1, extra)
    found = again(trace)
    assert found == Difference(first, extra.data, NOTHING)
    assert str(found) == f"event {first}: expected {extra.data}, found nothing"


def test_what_is_neither_input_nor_output_is_passed_over() -> None:
    trace = recording("modern-client")
    trace.events.insert(5, TraceEvent(trace.events[5].time, 5, "sometimes", "client-1"))
    assert again(trace) is None


def test_who_was_not_there_cannot_be_executed() -> None:
    with pytest.raises(KeyError):
        reexecute(Trace(), "nobody", ClientNode("s1", ClientConfig(info=Implementation("c", "1"))))


# --- worlds -----------------------------------------------------------------------------------------------


def a_client() -> ClientNode:
    return ClientNode("s1", ClientConfig(info=Implementation("c", "1"), capabilities={"elicitation": {}}))


def a_server() -> ServerNode:
    return ServerNode(
        ServerConfig(info=Implementation("s", "1")),
        PromptServerConfig(keys=KEYS, page_size=2),
        pace=lambda: 0.25,
        asks=lambda: True,
        principals={"c1": "somebody"},
    )


def scene(world: World, until: float) -> None:
    """A client and a server that decide nothing by the tape, so that they can be made anew."""
    world.add("s1", a_server())
    load = Workload(world, "s1", ["c1"], until)
    load.prompts(5)
    world.add("c1", a_client())
    for kind in (load.changes, load.reads, load.gets, load.refreshes, load.completions, load.cancels):
        kind(1.0)


@pytest.mark.parametrize("seed", range(12))
def test_who_was_in_a_world_does_the_same_outside_of_it(seed: int) -> None:
    """Under every fault: clocks that jump, processes that begin anew, connections that are cut."""
    trace = run_seed(Scenario("world", 20.0, scene), seed).trace
    assert reexecute(trace, "c1", a_client()) is None
    assert reexecute(trace, "s1", a_server()) is None


def test_a_client_that_is_another_is_told_apart() -> None:
    trace = run_seed(Scenario("world", 20.0, scene), 0).trace
    other = ClientNode("s1", ClientConfig(info=Implementation("another", "1")))
    found = reexecute(trace, "c1", other)
    assert found is not None
    assert "another" in found.found
