"""The faults of a world: what can go wrong, how often, and which of it goes wrong in one run.

A fault of a stream is a rule over what is written; others strike at times of their own. Swarm testing: in
each run every kind is off, rare or wild, drawn by itself, for a fault that is always on hides what it would
take a quiet neighbour to see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from ._links import EOF, RESET, Arming, Pipe, Rule

if TYPE_CHECKING:
    from ._world import World

Family: TypeAlias = Literal["stream", "exchange", "topology", "process", "clock", "peer"]


@attrs.frozen
class Fault:
    """One kind of fault. `rule` judges writes; `strike` happens to the world, once in a while.

    `rare` and `wild`: it strikes once in so many writes, or on average every so many seconds. `replies`: only
    what servers write. `inside`: it takes messages apart, and strikes nobody where they pass whole.
    """

    name: str
    family: Family
    about: str
    rule: Rule | None = None
    strike: Callable[[World], None] | None = None
    rare: int = 100
    wild: int = 8
    replies: bool = False
    inside: bool = False


# --- streams ----------------------------------------------------------------------------------------


def _delay(pipe: Pipe, data: bytes) -> bool:
    pipe.send(data, pipe.world.tape.seconds("delay", 0.2))
    return True


def _long_tail(pipe: Pipe, data: bytes) -> bool:
    pipe.send(data, pipe.world.tape.seconds("long tail", 5.0))
    return True


def _split(pipe: Pipe, data: bytes) -> bool:
    at = pipe.world.tape.draw("split at", len(data))
    pipe.send(data[:at])
    pipe.send(data[at:], pipe.world.tape.seconds("split gap", 0.2))
    return True


def _drip(pipe: Pipe, data: bytes) -> bool:
    step = 1 + pipe.world.tape.draw("drip", 64)
    for at in range(0, len(data), max(step, len(data) // 16)):
        pipe.send(data[at : at + max(step, len(data) // 16)])
    return True


def _coalesce(pipe: Pipe, data: bytes) -> bool:
    pipe.merge(data, pipe.world.tape.seconds("coalesce", 0.5))
    return True


def _stall(pipe: Pipe, data: bytes) -> bool:
    pipe.busy_until = max(pipe.busy_until, pipe.world.now) + pipe.world.tape.seconds("stall", 10.0)
    pipe.send(data)
    return True


def _beginning(pipe: Pipe, data: bytes) -> bytes:
    """What is left before a cut: where messages pass whole, all or nothing."""
    tape = pipe.world.tape
    if pipe.world.whole:
        return data if tape.draw("cut after", 2) else b""
    return data[: tape.draw("cut at", len(data) + 1)]


def _cut(how: str) -> Rule:
    def cut(pipe: Pipe, data: bytes) -> bool:
        pipe.send(_beginning(pipe, data))
        pipe.link.cut(how)
        return True

    return cut


def _cut_silently(pipe: Pipe, data: bytes) -> bool:
    pipe.send(_beginning(pipe, data))
    pipe.link.silence()
    return True


def _half_close(pipe: Pipe, data: bytes) -> bool:
    pipe.send(data)
    pipe.end(EOF)
    return True


def _one_way_dead(pipe: Pipe, _data: bytes) -> bool:
    pipe.silence()
    return True


RUBBISH = (
    b"\n",
    b"Server started\n",
    b"{}\n",
    b"[]\n",
    b"null\n",
    b'{"jsonrpc":"2.0"}\n',
    b"\xff\xfe\x00\n",
    b"\xef\xbb\xbf{}\n",
    b"[" * 500 + b"\n",
    b'{"jsonrpc":"2.0","method":1}\n',
    b"{" * 20 + b"\r\n",
)


def _rubbish(pipe: Pipe, data: bytes) -> bool:
    pipe.send(pipe.world.tape.one_of("rubbish", RUBBISH) + data)
    return True


def _crlf(pipe: Pipe, data: bytes) -> bool:
    pipe.send(data.replace(b"\n", b"\r\n"))
    return True


# --- topology, processes, clocks ------------------------------------------------------------------------


def _pairs(world: World) -> list[tuple[str, str]]:
    names = list(world.seats)
    return [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]


def _hold(world: World, sender: str, receiver: str, until: float) -> None:
    """Nothing passes from one to the other until then; what is written meanwhile waits, as TCP has it."""
    world.partitioned[sender, receiver] = until
    for link in world.seats[sender].links.values():
        pipe = link.pipes[sender]
        if pipe.receiver == receiver:
            pipe.busy_until = max(pipe.busy_until, until)


def _partition(world: World) -> None:
    a, b = world.tape.one_of("partition", _pairs(world))
    until = world.now + world.tape.seconds("partition time", 20.0)
    world.fault("partition", a=a, b=b, until=until)
    _hold(world, a, b, until)
    _hold(world, b, a, until)


def _asymmetric(world: World) -> None:
    a, b = world.tape.one_of("asymmetric", _pairs(world))
    if world.tape.draw("asymmetric way", 2):
        a, b = b, a
    until = world.now + world.tape.seconds("asymmetric time", 20.0)
    world.fault("asymmetric", a=a, b=b, until=until)
    _hold(world, a, b, until)


def _swizzle(world: World) -> None:
    """Connections go one after the other, in an order of the world's own."""
    links = [link for link in world.links.values() if link.open and len(link.over) < 2]
    while links:
        link = links.pop(world.tape.draw("swizzle", len(links)))
        when = world.now + world.tape.seconds("swizzle time", 2.0)
        world.fault("swizzle", link.name, at=when)
        world.at(when, link.cut)


def _by_role(world: World, role: str) -> list[str]:
    return [name for name, seat in world.seats.items() if seat.node.role == role and not seat.down]


def _restart(role: str, fault: str) -> Callable[[World], None]:
    def crash(world: World) -> None:
        alive = _by_role(world, role)
        if alive:
            name = world.tape.one_of(fault, alive)
            world.fault(fault, node=name)
            world.crash(name)
            world.at(world.now + world.tape.seconds(f"{fault} time", 5.0), lambda: world.start(name))

    return crash


def _shutdown(world: World) -> None:
    alive = _by_role(world, "server")
    if alive:
        name = world.tape.one_of("shutdown", alive)
        world.fault("shutdown", node=name)
        world.command(name, "close")
        pause = 1.0 + world.tape.seconds("shutdown time", 5.0)
        world.at(world.now + pause / 2, lambda: world.crash(name))
        world.at(world.now + pause, lambda: world.start(name))


def _freeze(world: World) -> None:
    name = world.tape.one_of("freeze", list(world.seats))
    seat = world.seats[name]
    if not (seat.frozen or seat.down):
        until = world.now + world.tape.seconds("freeze time", 30.0)
        world.fault("freeze", node=name, until=until)
        seat.frozen = True
        world.at(until, lambda: world.thaw(name))


def _clock(fault: str, jump: float, rate: float) -> Callable[[World], None]:
    def strike(world: World) -> None:
        name = world.tape.one_of(fault, list(world.seats))
        jumped = world.tape.seconds(f"{fault} by", abs(jump))
        change: dict[str, Any] = {"jump": jumped if jump >= 0 else -jumped}
        if rate != 1.0:
            change["rate"] = rate
        world.fault(fault, node=name, **change)
        world.seats[name].clock.set(world.now, **change)
        world.rearm(name)

    return strike


STREAM: Sequence[Fault] = (
    Fault("delay", "stream", "a write takes longer", _delay, wild=3),
    Fault("long-tail", "stream", "a write takes seconds", _long_tail, rare=40, wild=6),
    Fault("split", "stream", "a write arrives in two pieces", _split, wild=2, inside=True),
    Fault("drip", "stream", "a write arrives in many pieces", _drip, inside=True),
    Fault("coalesce", "stream", "writes arrive as one", _coalesce),
    Fault("stall", "stream", "a direction holds everything for seconds", _stall, wild=20),
    Fault("cut-fin", "stream", "a connection ends inside a write, politely", _cut(EOF), rare=200, wild=20),
    Fault("cut-reset", "stream", "a connection is reset inside a write", _cut(RESET), rare=200, wild=20),
    Fault("cut-silently", "stream", "a connection dies and nobody is told", _cut_silently, rare=300, wild=40),
    Fault("half-close", "stream", "one direction ends, the other lives", _half_close, rare=300, wild=40),
    Fault("one-way-dead", "stream", "one direction dies, nobody is told", _one_way_dead, rare=300, wild=40),
    Fault("rubbish", "stream", "a line that is no message", _rubbish, wild=4),
    Fault("crlf", "stream", "lines end as on Windows", _crlf, wild=2, inside=True),
)

STRIKES: Sequence[Fault] = (
    Fault("partition", "topology", "two nodes cannot reach each other", strike=_partition, rare=20, wild=5),
    Fault("asymmetric", "topology", "one cannot reach the other", strike=_asymmetric, rare=20, wild=5),
    Fault("swizzle", "topology", "connections go one by one", strike=_swizzle, rare=20, wild=6),
    Fault("crash", "process", "a server dies", strike=_restart("server", "crash"), rare=20, wild=6),
    Fault("client-crash", "process", "a client dies", strike=_restart("client", "client-crash"), rare=30),
    Fault("shutdown", "process", "a server ends in good order", strike=_shutdown, rare=20, wild=6),
    Fault("freeze", "process", "a process is suspended", strike=_freeze, rare=20, wild=5),
    Fault("jump", "clock", "a clock jumps ahead", strike=_clock("jump", 120.0, 1.0), rare=20, wild=6),
    Fault("back", "clock", "a clock jumps back", strike=_clock("back", -60.0, 1.0), rare=20, wild=6),
    Fault("slow", "clock", "a clock goes slower", strike=_clock("slow", 0.0, 0.9), rare=20, wild=6),
    Fault("fast", "clock", "a clock goes faster", strike=_clock("fast", 0.0, 1.1), rare=20, wild=6),
)

HONEST = 6
"""In one run of so many peers lie."""

ALL: Sequence[Fault] = (*STREAM, *STRIKES)

FAULTS: Sequence[Fault] = ALL
"""Every kind of fault that needs no HTTP and no liar."""


class Swarm:
    """Which faults strike in one run, and how often: drawn from the tape of a world."""

    def __init__(self, world: World, faults: Sequence[Fault] = ALL) -> None:
        self._world = world
        others = [fault for fault in faults if fault.family != "peer"]
        mixed = 0 < len(others) < len(faults)
        used = others if mixed and not self._lied_to() else faults
        used = [fault for fault in used if not (world.whole and fault.inside)]
        self._levels = [(fault, self._level(fault)) for fault in used]
        self._armed: dict[tuple[str, str], tuple[Arming, ...]] = {}
        world.armings = self._arm

    def _lied_to(self) -> bool:
        """Whether peers lie in this run: in most they do not, for much is true of the honest only."""
        return self._world.tape.draw("swarm peers", HONEST) == HONEST - 1

    def _level(self, fault: Fault) -> int:
        chosen = self._world.tape.draw(f"swarm {fault.name}", 8)
        return {6: fault.rare, 7: fault.wild}.get(chosen, 0)

    def _arm(self, pipe: Pipe) -> tuple[Arming, ...]:
        """The faults of a direction, each with a label of its own: what strikes here moves nothing there."""
        way = pipe.sender, pipe.receiver
        if way not in self._armed:
            answers = pipe.sender != pipe.link.dialler
            self._armed[way] = tuple(
                Arming(fault.name, f"{fault.name} {way[0]}>{way[1]}", level, fault.rule)
                for fault, level in self._levels
                if level and fault.rule is not None and (answers or not fault.replies)
            )
        return self._armed[way]

    def unleash(self, until: float) -> None:
        """Schedule the strikes of a time of chaos: one in each slot of time, unless the draw is 0."""
        world = self._world
        for fault, level in self._levels:
            if level and fault.strike is not None:
                for begin in range(0, math.ceil(until), level):
                    when = world.tape.draw(f"when {fault.name}", 257)
                    if when:
                        world.at(world.now + begin + when * level / 256, partial(fault.strike, world))

    def calm(self) -> None:
        """Every fault is off, and what was broken is repaired: dead connections are noticed at last."""
        world = self._world
        world.armings = lambda _: ()
        world.partitioned.clear()
        for link in world.links.values():
            for pipe in link.pipes.values():
                pipe.relieve()
            if link.open and any(pipe.silenced for pipe in link.pipes.values()):
                for name in (link.dialler, link.acceptor):
                    world.notice(link, name)
        for name, seat in world.seats.items():
            if seat.frozen:
                world.thaw(name)
