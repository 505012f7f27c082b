"""What does a changing list cost in requests, notifications and bytes, and how stale does it get?

    python -m benchmarks.counts

Exact figures, in virtual time: they depend on no machine, and the tests assert them, for they are what a
regression would move. A server and some clients that keep their lists current, 5 ms apart from each other,
live through a load of changes. How stale a client gets is how long after a change it knew of that or of a
later one. Counted is what passes after everybody has the first list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import attrs

from mcp_sansio import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    ClientConfig,
    Implementation,
    Keys,
    ListingConfig,
    PromptServerConfig,
    ServerConfig,
)
from mcp_sansio.simulation import Auditor, ClientNode, Lenient, ServerNode, Tape, World

ME = Implementation("counted", "1")
KEYS = Keys(("k", bytes(32)))
LATENCY = 0.005
BEGIN = 10.0
"""Seconds after which the load begins."""

Edit: TypeAlias = tuple[float, bool]
"""When something changes, and whether a prompt is added for a moment (it flaps) rather than redefined."""


def steady() -> Iterable[Edit]:
    """A change every ten seconds, for five minutes."""
    return [(10.0 * n, False) for n in range(30)]


def bursty() -> Iterable[Edit]:
    """Twenty changes in a fifth of a second, every ten seconds."""
    return [(10.0 * n + 0.01 * m, False) for n in range(10) for m in range(20)]


def storm() -> Iterable[Edit]:
    """A change every millisecond, for ten seconds."""
    return [(0.001 * n, False) for n in range(10_000)]


def flapping() -> Iterable[Edit]:
    """A prompt that is there for 20 ms, every two seconds."""
    return [(2.0 * n + 0.02 * m, True) for n in range(15) for m in range(2)]


LOADS: Sequence[Callable[[], Iterable[Edit]]] = (steady, bursty, storm, flapping)


@attrs.frozen
class Counts:
    """What a load cost. Per client and change, but for `changes` and the stalenesses, which are seconds."""

    changes: int
    requests: float
    notifications: float
    bytes: float
    p50: float
    p99: float
    worst: float


def count(
    load: Callable[[], Iterable[Edit]],
    *,
    clients: int = 1,
    prompts: int = 100,
    page_size: int = 128,
    legacy: bool = False,
    server_quiet: float = 0.05,
    client_quiet: float = 0.1,
) -> Counts:
    """Live through a load. A quiet time of 0 is no coalescing."""
    auditor = Auditor(())
    world = World(Tape(Lenient(())), audit=auditor)
    world.latency = (1, LATENCY)
    config = ServerConfig(info=ME, quiet=server_quiet, max_wait=10 * server_quiet)
    world.add("s1", ServerNode(config, PromptServerConfig(keys=KEYS, page_size=page_size)))
    world.command("s1", "edit", put=[(f"p{n:05}", "v0") for n in range(prompts)], remove=[])
    names = [f"c{n}" for n in range(clients)]
    versions = LEGACY_VERSIONS[-1:] if legacy else MODERN_VERSIONS[-1:]
    for name in names:
        listing = ListingConfig(quiet=client_quiet, max_wait=10 * client_quiet)
        world.add(name, ClientNode("s1", ClientConfig(info=ME, versions=versions), listing))
        world.command(name, "list")
    world.run(BEGIN)
    begun = len(world.trace)
    edits = list(load())
    for number, (when, flaps) in enumerate(edits):
        world.at(BEGIN + when, _edit(world, number, prompts, flaps=flaps))
    world.settle(3600.0)
    return _counts(world, auditor, begun, len(edits), clients)


def _edit(world: World, number: int, prompts: int, *, flaps: bool) -> Callable[[], None]:
    name = f"p{number % prompts:05}"

    def edit() -> None:
        if not flaps:
            world.command("s1", "edit", put=[(name, f"v{number + 1}")], remove=[])
        elif number % 2:
            world.command("s1", "edit", put=[], remove=["flap"])
        else:
            world.command("s1", "edit", put=[("flap", f"v{number + 1}")], remove=[])

    return edit


def _counts(world: World, auditor: Auditor, begun: int, changes: int, clients: int) -> Counts:
    requests = notifications = size = 0
    for event in world.trace.events[begun:]:
        if event.node == "s1" and event.kind in ("in", "out"):
            size += len(event.data) + 1
            requests += event.kind == "in" and '"method":"prompts/list"' in event.data
            notifications += event.kind == "out" and "prompts/list_changed" in event.data
    stale = sorted(_staleness(world, auditor, begun))
    each = changes * clients
    return Counts(
        changes,
        round(requests / each, 4),
        round(notifications / each, 4),
        round(size / each, 1),
        *(round(stale[min(int(len(stale) * share), len(stale) - 1)], 4) for share in (0.5, 0.99, 1.0)),
    )


def _staleness(world: World, auditor: Auditor, begun: int) -> Iterable[float]:
    """For each change and client, the seconds until the client had that state of the list, or a later one."""
    states = [state for state in auditor.ledger.servers["s1"].versions if state.index >= begun]
    waiting = dict.fromkeys(auditor.ledger.clients, 0)
    for event in world.trace.events[begun:]:
        if event.kind != "obs" or event.data[0] != "updated":
            continue
        items = tuple((name, tag) for name, tag in event.data[1]["items"])
        known = [at for at, state in enumerate(states) if state.time <= event.time and state.items == items]
        upto = known[-1] + 1 if known else 0
        yield from (event.time - state.time for state in states[waiting[event.node] : upto])
        waiting[event.node] = max(waiting[event.node], upto)


def main() -> None:
    """Print the figures of the loads, with and without the two quiet times."""
    columns = f"{'requests':>9} {'notified':>9} {'bytes':>10}  stale: p50, p99, worst"
    print(f"{'load':<10} {'era':<7} {'quiet':<12} {columns}")
    for load in LOADS:
        for legacy in (False, True):
            for quiet in ((0.05, 0.1), (0.0, 0.1), (0.05, 0.0)):
                found = count(load, legacy=legacy, server_quiet=quiet[0], client_quiet=quiet[1])
                print(
                    f"{load.__name__:<10} {'legacy' if legacy else 'modern':<7} {quiet[0]:g}, {quiet[1]:<7g}"
                    f" {found.requests:>9} {found.notifications:>9} {found.bytes:>10}"
                    f"  {found.p50:g}, {found.p99:g}, {found.worst:g} s"
                )


if __name__ == "__main__":
    main()
