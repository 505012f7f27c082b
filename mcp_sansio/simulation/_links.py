"""Connections: per direction an ordered queue of bytes with a capacity, and faults as rules.

Whatever is written is judged by the rules of its direction, and the first that strikes decides what becomes
of it; else it arrives whole, in order, after a delay. A cut silences the writer: what it writes afterwards
is never seen by anybody, for no network delivers the end of a message that it has lost the middle of.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from ._world import World

CAPACITY = 65536
"""Bytes that a direction holds before its writer has to wait, as a pipe does."""

EOF = "eof"
RESET = "reset"
REFUSED = "refused"

Rule: TypeAlias = "Callable[[Pipe, bytes], bool]"
"""Decides what becomes of a write, by `Pipe.send` and `Pipe.end`; false if it is none of its business."""


@attrs.define(eq=False)
class Arming:
    """A fault that is armed on a direction: it strikes once in `one_in` writes."""

    name: str
    label: str
    one_in: int
    rule: Rule


@attrs.define(eq=False)
class Pipe:
    """One direction of a connection."""

    world: World
    link: Link
    sender: str
    receiver: str
    latency: str
    rules: Sequence[Arming] = ()
    busy_until: float = 0.0
    last_due: float = 0.0
    size: int = 0
    silenced: bool = False
    partial: bytes = b""
    merging: bytearray | None = None
    arrived: deque[tuple[bytes | str, int]] = attrs.field(factory=deque[tuple[bytes | str, int]])

    @property
    def full(self) -> bool:
        """Whether the writer has to wait."""
        return self.size > CAPACITY

    def write(self, data: bytes) -> None:
        """Take what a node wrote."""
        if self.silenced:
            return
        tape = self.world.tape
        for armed in self.rules:
            if tape.draw(armed.label, armed.one_in + 1) == armed.one_in and armed.rule(self, data):
                self.world.fault(armed.name, self.link.name, self.sender)
                return
        self.send(data)

    def send(self, data: bytes, extra: float = 0.0) -> None:
        """Have bytes arrive, in order, `extra` seconds later than usual."""
        if self.merging is not None:
            self.merging += data
        elif data and not self.silenced:
            self._arrive(data, extra)

    def relieve(self) -> None:
        """Nothing is held any more but what is on its way."""
        self.rules = ()
        self.busy_until = self.last_due

    def end(self, how: str = EOF, extra: float = 0.0) -> None:
        """Nothing comes after this, and the receiver is told so."""
        if not self.silenced:
            self._arrive(how, extra)
            self.silenced = True

    def silence(self) -> None:
        """Nothing comes after this, and nobody is told."""
        self.silenced = True

    def merge(self, data: bytes, seconds: float) -> None:
        """Let everything that is written in the next `seconds` arrive as one piece."""
        if self.merging is None:
            self.merging = bytearray()
            self.world.at(self.world.now + seconds, self._merged)
        self.merging += data

    def _merged(self) -> None:
        merged, self.merging = bytes(self.merging or b""), None
        self.send(merged)

    def _arrive(self, item: bytes | str, extra: float) -> None:
        world = self.world
        delay = world.delay(self.latency) + extra
        self.busy_until = self.last_due = max(self.busy_until, world.now + delay)
        self.size += len(item)
        if self.full:
            world.seats[self.sender].full.add(self.link.name)
        world.at(self.busy_until, lambda: world.arrive(self, item), tie=self.link.tie)


class Link:
    """A connection between two nodes; `over` has those for whom it has ended."""

    def __init__(self, world: World, name: str, dialler: str, acceptor: str) -> None:
        self.name = name
        self.dialler = dialler
        self.acceptor = acceptor
        self.tie: int = world.tie(name)
        self.open = False
        self.over: dict[str, str] = {}
        self.pipes: dict[str, Pipe] = {
            sender: Pipe(world, self, sender, receiver, f"latency {sender}>{receiver}")
            for sender, receiver in ((dialler, acceptor), (acceptor, dialler))
        }

    def peer(self, node: str) -> str:
        """The node at the other end."""
        return self.acceptor if node == self.dialler else self.dialler

    def cut(self, how: str = RESET) -> None:
        """Both ends learn that it is over, and nothing that is not there yet arrives."""
        for pipe in self.pipes.values():
            pipe.end(how)

    def silence(self) -> None:
        """Nothing arrives any more, at either end, and nobody is told."""
        for pipe in self.pipes.values():
            pipe.silence()
