"""Code on trio in worlds: reproducible, our own client and server included, and what that rests upon."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio_worlds
from simulated import Talker, world
from trio._core import _run as pinned  # pyright: ignore[reportPrivateUsage]

from mcp_sansio.simulation._links import CAPACITY
from mcp_sansio.simulation._world import World
from mcp_sansio_adapters import now, simulation_trio
from mcp_sansio_adapters.simulation_trio import DICE, FLAG, Party, TrioNode, Unpinned

WORLDS = Path(trio_worlds.__file__)
SEEDS = 20


def test_the_private_parts_of_trio_are_there() -> None:
    """The canary: where this fails, trio has changed, and what is said of reproducibility is void."""
    assert getattr(pinned, FLAG) in (False, True)  # Hypothesis sets it, too
    assert isinstance(getattr(pinned, DICE), Random)


def test_without_them_nothing_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pinned, FLAG)
    with pytest.raises(Unpinned, match=FLAG):
        TrioNode(sleep, "node").start(0.0)


# --- our own adapters -------------------------------------------------------------------------------------


def digests(hash_seed: int) -> list[str]:
    """Those of a process of its own."""
    path = os.pathsep.join(sys.path)
    ran = subprocess.run(
        [sys.executable, str(WORLDS), str(SEEDS)],
        env={"PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return ran.stdout.split()


@pytest.mark.slow
def test_every_process_has_the_same_worlds() -> None:
    found = digests(1)
    assert len(set(found)) == SEEDS
    assert found == digests(2)


@pytest.mark.parametrize("run", [trio_worlds.with_client, trio_worlds.with_server])
@pytest.mark.parametrize("seed", range(4))
def test_our_client_and_our_server_keep_their_properties(run: Any, seed: int) -> None:
    outcome = run(seed)
    assert outcome.violation is None
    assert outcome.messages > 10
    assert run(seed).digest == outcome.digest


def test_another_order_of_tasks_is_another_world() -> None:
    async def main(world: Party) -> None:
        async def say(number: int) -> None:
            await trio.lowlevel.checkpoint()
            world.report("said", number=number)

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(say, number)

    orders = {tuple(event.data[1]["number"] for event in trace_of(main, seed)) for seed in (1, 1, 2, 3)}
    assert len(orders) == 3


def trace_of(main: Any, seed: int) -> list[Any]:
    made = world()
    with TrioNode(main, "client", seed=seed) as node:
        made.add("t", node)
    return [event for event in made.trace if event.kind == "obs"]


# --- a world, as trio sees it -----------------------------------------------------------------------------


async def sleep(_: Party) -> None:
    await trio.sleep_forever()


@pytest.fixture
def made() -> World:
    return world()


@pytest.fixture
def placed(made: World) -> Iterator[Any]:
    """Places code on trio as a node, and ends it after the test."""
    nodes: list[TrioNode] = []

    def place(main: Any, name: str = "t") -> TrioNode:
        nodes.append(TrioNode(main))
        made.add(name, nodes[-1])
        return nodes[-1]

    yield place
    for node in nodes:
        node.close()


def test_time_is_that_of_the_world(made: World, placed: Any) -> None:
    times: list[tuple[float, float]] = []

    async def main(_: Party) -> None:
        for seconds in (0, 3, 4):
            await trio.sleep(seconds)
            times.append((trio.current_time(), now()))

    made.now = 5.0
    placed(main)
    made.settle(100)
    assert times == [(5.0, 5.0), (8.0, 8.0), (12.0, 12.0)]
    assert now() != 12.0


def test_bytes_go_both_ways_until_the_end(made: World, placed: Any) -> None:
    said: list[Any] = []

    async def main(world: Party) -> None:
        async with await world.connect("b") as stream:
            await stream.send_all(b"hello\n")
            while data := await stream.receive_some(4):
                said.append(data)
        with pytest.raises(trio.ClosedResourceError):
            await stream.send_all(b"late\n")
        with pytest.raises(trio.ClosedResourceError):
            await stream.receive_some()

    other = Talker()
    made.add("b", other)
    placed(main)
    made.settle(10)
    assert other.data == b"hello\n"
    made.command("b", "say", conn="t-1", data=b"welcome\n")
    made.command("b", "hang up", conn="t-1")
    made.settle(10)
    assert said == [b"welc", b"ome\n"]
    assert made.links["t-1"].over == {"b": "hangup", "t": "hangup"}


def test_a_connection_that_is_reset_is_broken(made: World, placed: Any) -> None:
    async def main(world: Party) -> None:
        stream = await world.connect("b")
        for use in (stream.receive_some, lambda: stream.send_all(b"x\n")):
            with pytest.raises(trio.BrokenResourceError):
                await use()
        world.report("broken")
        await stream.aclose()

    made.add("b", Talker())
    placed(main)
    made.settle(10)
    made.links["t-1"].cut()
    made.settle(10)
    assert [event.data[0] for event in made.trace if event.kind == "obs"] == ["broken"]


def test_nobody_may_be_there(made: World, placed: Any) -> None:
    async def main(world: Party) -> None:
        with pytest.raises(OSError, match="b cannot be reached"):
            await world.connect("b")
        world.report("refused")

    placed(main)
    made.settle(10)
    assert [event.data[0] for event in made.trace if event.kind == "obs"] == ["refused"]


def test_who_writes_too_much_waits(made: World, placed: Any) -> None:
    wrote: list[int] = []

    async def main(world: Party) -> None:
        stream = await world.connect("b")
        for number in range(5):
            await stream.send_all(b"x" * CAPACITY + b"\n")
            wrote.append(number)

    other = Talker(wants=False)
    made.add("b", other)
    placed(main)
    made.settle(10)
    assert len(wrote) < 4
    other.wants = True
    made.turn("b")
    made.settle(10)
    assert wrote == [0, 1, 2, 3, 4]
    assert len(other.data) == 5 * (CAPACITY + 1)


def test_it_is_called_and_asked(made: World, placed: Any) -> None:
    async def main(world: Party) -> None:
        world.observe = lambda: {"seen": True}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(accept, world)
            async for verb, data in world.commands():
                world.report(verb, **data)

    async def accept(world: Party) -> None:
        async for stream in world.connections():
            await stream.send_all(b"who are you?\n")

    placed(main, "a")
    other = Talker()
    made.add("b", other)
    made.command("b", "dial", conn="x", to="a")
    made.command("a", "list", stale_ok=True)
    made.settle(10)
    made.rest()
    assert other.data == b"who are you?\n"
    reports = [event.data for event in made.trace if event.kind == "obs" and event.node == "a"]
    assert reports == [["list", {"stale_ok": True}], ["rest", {"seen": True}]]


def test_a_crash_forgets_everything_even_who_was_called(made: World, placed: Any) -> None:
    async def main(world: Party) -> None:
        world.report("begun")
        stream = await world.connect("b")
        world.report("connected", to=stream.conn)
        await trio.sleep_forever()

    made.add("b", Talker())
    placed(main)
    made.crash("t")
    made.start("t")
    made.settle(10)
    reports = [event.data for event in made.trace if event.kind == "obs"]
    assert reports == [["begun", {}], ["begun", {}], ["connected", {"to": "t-2"}]]


def test_what_it_raises_is_raised(made: World) -> None:
    async def main(world: Party) -> None:
        async for _ in world.commands():
            raise ZeroDivisionError

    node = TrioNode(main)
    made.add("t", node)
    with pytest.raises(ZeroDivisionError):
        made.command("t", "go")
    made.command("t", "go")  # it is over, and nothing comes of anything
    assert node.next_timeout() is None


def test_who_spins_is_told(made: World, placed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(world: Party) -> None:
        async for _ in world.commands():
            with trio.move_on_after(1):
                while True:
                    await trio.lowlevel.checkpoint()

    placed(main)
    monkeypatch.setattr(simulation_trio, "TICKS", 50)
    with pytest.raises(RuntimeError, match="never waits"):
        made.command("t", "go")
    made.now = 2.0


def test_who_does_not_end_is_told(made: World) -> None:
    released = trio.Event()

    async def main(_: Party) -> None:
        with trio.CancelScope(shield=True):
            await released.wait()

    node = TrioNode(main)
    made.add("t", node)
    with pytest.raises(RuntimeError, match="does not end"):
        node.close()
    released.set()
    node.close()


def test_two_at_once_are_refused_by_trio(made: World, placed: Any) -> None:
    placed(sleep)
    with pytest.raises(RuntimeError, match="inside a run"):
        made.add("u", TrioNode(sleep))
