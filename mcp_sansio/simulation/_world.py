"""A world: nodes, the connections between them, one clock that jumps, and a trace of what happens.

Everything that happens is an entry of one heap; the clock jumps from one to the next, so idle time costs
nothing. What a node is told is followed by a turn, in which it says what is to be done. Every choice comes
from the tape. Whoever wants to know what happened, checkers first of all, is shown the events of the trace
after each step, never from inside a node.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._reports import Report
from mcp_sansio._trace import Header, Trace, TraceEvent, text_of

from ._links import EOF, REFUSED, RESET, Arming, Link, Pipe
from ._node import Dial, Node, Write
from ._tape import Deviated, Tape

Audit = Callable[[TraceEvent], None]


class Unsettled(Exception):
    """A world did not come to rest; the text names what is pending."""


class Broken(Exception):
    """Something in a world raised, which nothing may do whatever it is told; the cause is what was raised."""


@attrs.define
class Clock:
    """How a node's clock runs: it shows `offset` more than the world's at `since`, and goes at `rate`."""

    offset: float = 0.0
    rate: float = 1.0
    since: float = 0.0

    def local(self, now: float) -> float:
        """What the clock shows."""
        return now + self.offset + (now - self.since) * (self.rate - 1.0)

    def world(self, local: float) -> float:
        """When it will show `local`, or the least more that can be told from less."""
        when = self.since + (local - self.since - self.offset) / self.rate
        while self.local(when) < local:
            when += math.ulp(max(abs(when), abs(local)))
        return when

    def set(self, now: float, *, jump: float = 0.0, rate: float | None = None) -> None:
        """From now on it shows `jump` more, or goes at another rate."""
        self.offset = self.local(now) - now + jump
        self.since = now
        self.rate = self.rate if rate is None else rate


@attrs.define(eq=False)
class Seat:
    """A node in its world; `full` are the connections that hold all that they can, `waiting` those on which
    something has arrived that is not welcome yet.
    """

    node: Node
    tie: int
    clock: Clock = attrs.field(factory=Clock)
    due: float | None = None
    alarms: int = 0
    frozen: bool = False
    down: bool = False
    links: dict[str, Link] = attrs.field(factory=dict[str, Link])
    full: set[str] = attrs.field(factory=set[str])
    waiting: dict[str, Pipe] = attrs.field(factory=dict[str, Pipe])


class World:
    """Nodes, connections and time. `situations` counts what was worth reaching (`sometimes`).

    `armings` says which faults are armed on a new direction of a connection; `ties` how many ways there are
    to order what happens at the same moment (1: as it was scheduled); `whole` whether a connection is one of
    messages, of which none is seen in part; `prepare` is done to every node as it starts, before it does
    anything, so that a variant of it can take its place. `names` are those that can be dialled besides the
    nodes' own, and say which node that is.
    """

    def __init__(self, tape: Tape, *, header: Header | None = None, audit: Audit | None = None) -> None:
        self.tape = tape
        self.now: float = 0.0
        self.cause: int = -1
        self.trace: Trace = Trace(header)
        self.seats: dict[str, Seat] = {}
        self.links: dict[str, Link] = {}
        self.situations: Counter[str] = Counter()
        self.names: dict[str, Callable[[], str]] = {}
        self.armings: Callable[[Pipe], tuple[Arming, ...]] = _unarmed
        self.audit: Audit | None = audit
        self.ties: int = 1
        self.latency: tuple[int, float] = (40, 0.001)
        self.whole: bool = False
        self.prepare: Callable[[Node], None] = _as_it_is
        self.partitioned: dict[tuple[str, str], float] = {}
        self._audited = 0
        self._stirred = 0.0
        self._heap: list[tuple[float, int, int, int, Callable[[], None]]] = []
        self._scheduled = 0

    # --- what it is made of ---

    def add(self, name: str, node: Node, clock: Clock | None = None) -> None:
        """Place a node, and start it."""
        node.name = name
        node.note = partial(self._tell, name)
        self.seats[name] = Seat(node, self.tie(name), clock or Clock())
        self.start(name)

    def start(self, name: str) -> None:
        """Start a node, or start it anew; of a process that runs its connections end."""
        seat = self.seats[name]
        if seat.links:
            self.crash(name)
        seat.down = False
        self._note(kinds.NODE, name, "", seat.node.role)
        seat.node.start(seat.clock.local(self.now))
        self.prepare(seat.node)
        self.turn(name)

    def tie(self, name: str) -> int:
        """The rank of a node or connection among what happens at the same moment."""
        return self.tape.draw(f"tie {name}", self.ties)

    def delay(self, label: str) -> float:
        """How long something takes to cross."""
        steps, unit = self.latency
        return (1 + self.tape.draw(label, steps)) * unit

    # --- what happens ---

    def at(self, when: float, action: Callable[[], None], *, tie: int = 0) -> None:
        """Do something at a time, caused by what is happening now."""
        self._scheduled += 1
        heapq.heappush(self._heap, (when, tie, self._scheduled, self.cause, action))

    def command(self, name: str, verb: str, /, **data: Any) -> None:
        """Have the application at a node do something."""
        seat = self.seats[name]
        if not (seat.down or seat.frozen):
            before, self.cause = self.cause, self._note(kinds.COMMAND, name, "", [verb, data])
            seat.node.command(verb, data, seat.clock.local(self.now))
            self.turn(name)
            self.cause = before

    def fault(self, kind: str, link: str = "", node: str = "", **detail: Any) -> None:
        """Note that the world did something to somebody."""
        self.cause = self._note(kinds.FAULT, node, link, [kind, detail])

    def sometimes(self, situation: str) -> None:
        """Note that something worth reaching was reached."""
        self.situations[situation] += 1
        if self.situations[situation] == 1:
            self._note(kinds.SITUATION, "", "", situation)

    def enter(self, phase: str) -> None:
        """Begin a phase: "chaos", "calm", "scarred" or "rest"."""
        self._note(kinds.PHASE, "", "", phase)

    def _tell(self, node: str, kind: str, link: str, data: Any) -> None:
        self.cause = self._note(kind, node, link, data)

    def _note(self, kind: str, node: str, link: str, data: Any) -> int:
        if kind is not kinds.TIMER:
            self._stirred = self.now
        events = self.trace.events
        index = len(events)
        events.append(TraceEvent(self.now, index, kind, node, link, self.cause, data))
        return index

    # --- time ---

    def run(self, until: float) -> None:
        """Let everything happen up to a time."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self._step()
        self.now = max(self.now, until)

    def settle(self, limit: float, silence: float = math.inf) -> None:
        """Let everything happen until nothing is left, or nothing but timers has been seen for `silence`
        seconds; `Unsettled` after more than `limit` seconds.
        """
        end = self.now + limit
        while self._heap and self._heap[0][0] <= end:
            if self._heap[0][0] > self._stirred + silence:
                return
            self._step()
        if self._heap:
            raise Unsettled(f"after {limit:g} s of calm: {', '.join(self._pending())}")

    def rest(self) -> None:
        """All is quiet: every node says in what state it is."""
        self.enter("rest")
        for name, seat in self.seats.items():
            self._note(kinds.OBSERVED, name, "", ["rest", dict(seat.node.observe())])
        self.show()

    def _step(self) -> None:
        when, _, _, self.cause, action = heapq.heappop(self._heap)
        self.now = max(self.now, when)
        try:
            action()
        except Deviated:
            raise
        except Exception as error:
            raise Broken(f"{type(error).__name__}: {error}") from error
        if self._audited < len(self.trace.events):
            self.show()

    def show(self) -> None:
        """Show the auditor what is new."""
        events, audit, at = self.trace.events, self.audit, self._audited
        while audit is not None and at < len(events):
            self._audited = at + 1
            audit(events[at])
            at += 1

    def _pending(self) -> list[str]:
        timers = [f"{n} waits until {seat.due:g}" for n, seat in self.seats.items() if seat.due is not None]
        return [*timers, f"{len(self._heap)} scheduled"]

    # --- nodes ---

    def turn(self, name: str) -> None:
        """Let a node say what is to be done, until it has nothing to say."""
        seat = self.seats[name]
        if seat.down:
            return
        for action in seat.node.actions(seat.clock.local(self.now), seat.full):
            if isinstance(action, Report):
                self._note(kinds.OBSERVED, name, "", [action.kind, action.data])
            elif isinstance(action, Write):
                self._write(seat, action.conn, action.data)
            elif isinstance(action, Dial):
                self._dial(name, action.conn, action.to)
            else:
                self._hang_up(seat, action.conn, reset=action.reset)
        self._rearm(name, seat)
        for pipe in [*seat.waiting.values()]:
            self._drain(pipe)

    def _rearm(self, name: str, seat: Seat) -> None:
        due = seat.node.next_timeout()
        if due != seat.due:
            seat.due = due
            seat.alarms += 1
            if due is not None:
                alarm = seat.alarms
                when = max(self.now, seat.clock.world(due))
                self.at(when, lambda: self._timeout(name, alarm), tie=seat.tie)

    def _timeout(self, name: str, alarm: int) -> None:
        seat = self.seats[name]
        if seat.alarms != alarm or seat.down or seat.frozen:
            return
        seat.due = None
        self.cause = self._note(kinds.TIMER, name, "", None)
        seat.node.handle_timeout(seat.clock.local(self.now))
        self.turn(name)

    def rearm(self, name: str) -> None:
        """A node's clock was set, or the node thawed: its deadline is at another time now."""
        self.seats[name].due = None
        self._rearm(name, self.seats[name])

    # --- connections ---

    def _dial(self, name: str, conn: str, to: str) -> None:
        link = Link(self, conn, name, self.names[to]() if to in self.names else to)
        self.links[conn] = self.seats[name].links[conn] = link
        for pipe in link.pipes.values():
            pipe.rules = self.armings(pipe)
        self.at(self.now + self.delay(f"dial {name}"), lambda: self._connect(link), tie=link.tie)

    def _connect(self, link: Link) -> None:
        far = self.seats.get(link.acceptor)
        if link.dialler in link.over:
            return
        if far is None or not self._answers(far) or self.apart(link.dialler, link.acceptor):
            link.over[link.acceptor] = REFUSED
            self._closed(link, link.dialler, REFUSED)
            return
        link.open = True
        for name in (link.acceptor, link.dialler):
            seat = self.seats[name]
            seat.links[link.name] = link
            self._note(kinds.OPEN, name, link.name, seat.node.speaks)
            seat.node.opened(link.name, seat.clock.local(self.now))
            self.turn(name)

    def _answers(self, seat: Seat) -> bool:
        return not (seat.down or seat.frozen) and seat.node.accepting()

    def apart(self, sender: str, receiver: str) -> bool:
        """Whether a partition keeps them from connecting."""
        return self.partitioned.get((sender, receiver), 0.0) > self.now

    def _write(self, seat: Seat, conn: str, data: bytes) -> None:
        link = seat.links.get(conn)
        if link is None:
            return
        for piece in _pieces(data, seat.node.unit) if self.whole else (data,):
            if not seat.node.tells:
                for line in piece.split(b"\n")[:-1]:
                    self.cause = self._note(kinds.SENT, seat.node.name, conn, text_of(line))
            link.pipes[seat.node.name].write(piece)

    def _hang_up(self, seat: Seat, conn: str, *, reset: bool) -> None:
        link = seat.links.pop(conn, None)
        if link is not None:
            name = seat.node.name
            link.over[name] = "hangup"
            self._note(kinds.ENDED, name, conn, "hangup")
            link.pipes[name].end(RESET if reset else EOF)
            seat.full.discard(conn)

    def arrive(self, pipe: Pipe, item: bytes | str) -> None:
        """Something has crossed; it is taken in as soon as it is welcome."""
        pipe.arrived.append((item, self.cause))
        self._drain(pipe)

    def thaw(self, name: str) -> None:
        """A frozen node goes on."""
        seat = self.seats[name]
        seat.frozen = False
        self.rearm(name)
        self.turn(name)

    def _drain(self, pipe: Pipe) -> None:
        seat, name, conn = self.seats[pipe.receiver], pipe.receiver, pipe.link.name
        seat.waiting.pop(conn, None)
        while pipe.arrived:
            if name in pipe.link.over:
                pipe.arrived.clear()
                return
            item = pipe.arrived[0][0]
            if seat.frozen or (isinstance(item, bytes) and not seat.node.reading(conn)):
                seat.waiting[conn] = pipe
                return
            item, self.cause = pipe.arrived.popleft()
            was_full = pipe.full
            pipe.size -= len(item)
            if isinstance(item, str):
                self._last_line(pipe, item)
                self._closed(pipe.link, name, item)
            else:
                self._take(seat, pipe, item)
            if was_full and not pipe.full:
                self.seats[pipe.sender].full.discard(conn)
                self.turn(pipe.sender)

    def _take(self, seat: Seat, pipe: Pipe, data: bytes) -> None:
        """Feed bytes to a node, unit by unit."""
        conn, name = pipe.link.name, pipe.receiver
        for piece in _pieces(data, seat.node.unit):
            if name in pipe.link.over:
                return
            if not seat.node.tells:
                pipe.partial += piece
                if piece.endswith(b"\n"):
                    self.cause = self._note(kinds.TAKEN, name, conn, text_of(pipe.partial[:-1]))
                    pipe.partial = b""
            seat.node.receive(conn, piece, seat.clock.local(self.now))
            self.turn(name)

    def _last_line(self, pipe: Pipe, how: str) -> None:
        """A line that ends with the input may count."""
        if pipe.partial and how == EOF:
            self.cause = self._note(kinds.TAKEN, pipe.receiver, pipe.link.name, text_of(pipe.partial))

    def _closed(self, link: Link, name: str, how: str) -> None:
        seat = self.seats[name]
        if name not in link.over:
            link.over[name] = how
            self.cause = self._note(kinds.ENDED, name, link.name, how)
            if how != EOF:
                seat.full.discard(link.name)
            seat.node.closed(link.name, how, seat.clock.local(self.now))
            self.turn(name)  # it may still write: the other direction lives
            if how != EOF:
                seat.links.pop(link.name, None)

    def notice(self, link: Link, name: str) -> None:
        """An end learns that its connection is dead."""
        if link.open and name not in link.over:
            self.at(self.now, lambda: self._closed(link, name, RESET))

    # --- processes ---

    def crash(self, name: str) -> None:
        """A node stops at once; its connections are reset, and dials to it are refused, until it starts."""
        seat = self.seats[name]
        seat.down, seat.due = True, None
        seat.alarms += 1
        for link in [*seat.links.values()]:
            link.over[name] = "crash"
            if link.open:
                link.pipes[name].end(RESET)
        seat.links.clear()
        seat.full.clear()
        seat.waiting.clear()


def _as_it_is(_node: Node) -> None:
    return None


def _pieces(data: bytes, unit: bytes) -> list[bytes]:
    """Bytes, cut after each `unit`."""
    if not unit or data.find(unit) in (-1, len(data) - len(unit)):
        return [data]
    *pieces, rest = data.split(unit)
    return [piece + unit for piece in pieces] + ([rest] if rest else [])


def _unarmed(_pipe: Pipe) -> tuple[Arming, ...]:
    return ()
