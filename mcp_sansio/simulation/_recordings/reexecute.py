"""The same input once more: a trace is fed to a new core, and what that says is compared byte for byte.

What went into a node stands in the trace, with its time: connections, messages, timers and what the
application did. A node that is given all this again must write the same messages and report the same, for it
is a function of its input. So a session that was recorded in production is a test of the next version of
the library, and so is a simulated one.

Output is pulled where the trace has some, for when it was pulled may decide what it was.

Over HTTP a node is fed the heads and the pieces of bodies of each exchange, and how it ended; heads and
messages are what it says. Which connections there were is not recorded, so nothing of that happens again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import attrs
import msgspec

import mcp_sansio._trace as kinds
from mcp_sansio._plain import is_object
from mcp_sansio._reports import Report
from mcp_sansio._trace import Trace, TraceEvent, bytes_of, text_of
from mcp_sansio.simulation._links import EOF, REFUSED, RESET
from mcp_sansio.simulation._node import Hangup, Node, Write
from mcp_sansio.simulation._world import Clock

from .exchanges import BODY, HEAD, shown_fields

NOTHING = "nothing"
DRAWN = ("jitter", "headers", "session")
"""Commands that are answers to what the node asked while it was busy."""


@attrs.frozen
class Difference:
    """Where a node did not do what the trace has: at the event of this index, which expects something else,
    or before it, where something happened that the trace does not have.
    """

    index: int
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"event {self.index}: expected {self.expected}, found {self.found}"


def reexecute(trace: Trace, name: str, node: Node) -> Difference | None:
    """Feed `node` what the node of that name got; the first difference, None if there is none.

    `node` must be what the recorded one was: for recordings of adapters that is `RecordedClient.of` or
    `RecordedServer.of`; for a world, what its scenario made. Raises `KeyError` if nobody has that name.
    """
    events = [event for event in trace if event.node == name]
    if not events:
        raise KeyError(name)
    execution = _Execution(node, rested=any(_is_rest(event) for event in events))
    node.name, node.note = name, execution.note
    return execution.run(events)


def _is_rest(event: TraceEvent) -> bool:
    return event.kind == kinds.OBSERVED and event.data[0] == "rest"


class _Differs(Exception):
    """Carries a difference."""

    def __init__(self, index: int, expected: Any, found: Any) -> None:
        super().__init__()
        self.difference = Difference(index, expected, found)


class _Execution:
    """A node that is given what another one got."""

    def __init__(self, node: Node, *, rested: bool) -> None:
        self._node = node
        self._rested = rested
        self._clock = Clock()
        self._links: dict[str, None] = {}
        self._exchanging: set[str] = set()
        self._output: dict[str, deque[Any]] = {}
        self._take: dict[str, Callable[[TraceEvent, float], None]] = {
            kinds.NODE: lambda _, now: node.start(now),
            kinds.OPEN: self._open,
            kinds.TAKEN: lambda event, now: node.receive(event.link, bytes_of(event.data) + b"\n", now),
            kinds.TIMER: lambda _, now: node.handle_timeout(now),
            kinds.COMMAND: lambda event, now: node.command(event.data[0], event.data[1], now),
            kinds.ENDED: lambda event, now: node.closed(event.link, event.data, now),
            kinds.HEAD_TAKEN: self._head,
            kinds.BODY_TAKEN: self._body,
        }
        self._expect: dict[str, Callable[[TraceEvent, float], None]] = {
            kinds.SENT: self._said,
            kinds.TAKEN: self._said,
            kinds.HEAD_SENT: self._said,
            kinds.OBSERVED: self._observed,
            kinds.ENDED: lambda event, now: self._match(event, event.link, None, now),
            kinds.FAULT: self._fault,
        }

    def run(self, events: list[TraceEvent]) -> Difference | None:
        """The first difference."""
        try:
            for event in events:
                self._step(event)
            if self._rested:
                self._pull(self._clock.local(events[-1].time), ("", *self._links))
            self._finish(events[-1].index + 1)
        except _Differs as differs:
            return differs.difference
        return None

    def _step(self, event: TraceEvent) -> None:
        now = self._clock.local(event.time)
        if self._comes(event):
            self._finish(event.index)
            self._take[event.kind](event, now)
        elif event.kind in self._expect:
            self._expect[event.kind](event, now)

    def _comes(self, event: TraceEvent) -> bool:
        """Whether an event is input. What the node itself asked for is not, nor is what is read of a body."""
        match event.kind, event.data:
            case kinds.ENDED, how:
                return how in (EOF, RESET, REFUSED)
            case kinds.OPEN, kinds.HTTP:
                self._exchanging.add(event.link)
                return False
            case kinds.TAKEN, _:
                return event.link.rpartition(".")[0] not in self._exchanging
            case kinds.COMMAND, [verb, _]:
                return verb not in DRAWN
            case _:
                return event.kind in self._take

    # --- what goes in ---

    def _head(self, event: TraceEvent, now: float) -> None:
        start, fields, *target = event.data
        self._node.command(
            HEAD, {"link": event.link, "start": start, "fields": fields, "target": target}, now
        )

    def _body(self, event: TraceEvent, now: float) -> None:
        data = None if event.data is None else bytes_of(event.data)
        self._node.command(BODY, {"link": event.link, "data": data}, now)

    def _open(self, event: TraceEvent, now: float) -> None:
        self._links[event.link] = None
        self._node.opened(event.link, now)

    def _fault(self, event: TraceEvent, _now: float) -> None:
        """Of what a world does to a node, its clock alone is not told in other ways."""
        detail = event.data[1]
        if "jump" in detail:
            self._clock.set(event.time, jump=detail["jump"], rate=detail.get("rate"))

    # --- what comes out ---

    def _said(self, event: TraceEvent, now: float) -> None:
        self._match(event, event.link, event.data, now)

    def _observed(self, event: TraceEvent, now: float) -> None:
        if _is_rest(event):
            self._compare(event, event.data, ["rest", self._node.observe()])
        else:
            self._match(event, "", event.data, now)

    def note(self, kind: str, link: str, data: Any) -> None:
        """What the node notes by itself is output, too."""
        self._output.setdefault("" if kind == kinds.OBSERVED else link, deque()).append(data)

    def _match(self, event: TraceEvent, place: str, expected: Any, now: float) -> None:
        output = self._output.setdefault(place, deque())
        if not output:
            self._pull(now, (place,) if event.kind == kinds.ENDED else (place, ""))
        self._compare(event, expected, output.popleft() if output else NOTHING)

    def _compare(self, event: TraceEvent, expected: Any, found: Any) -> None:
        if not _same(_plain(expected), _plain(found)):
            raise _Differs(event.index, expected, found)

    def _pull(self, now: float, wanted: Any) -> None:
        """Have the node say what is to be done; it may write to the wanted connections alone, and report if
        "" is among them: not when an exchange has just ended, after which more may come before anybody looks.
        """
        for action in self._node.actions(now, _AllBut(wanted)):
            match action:
                case Write(conn, data):
                    lines = [text_of(line) for line in data.split(b"\n")[:-1]]
                    self._output.setdefault(conn, deque()).extend(lines)
                case Report(kind, fields):
                    self._output.setdefault("", deque()).append([kind, fields])
                case Hangup(conn):
                    self._output.setdefault(conn, deque()).append(None)
                case _:
                    pass

    def _finish(self, index: int) -> None:
        """Nothing must be left that the trace does not have."""
        for output in self._output.values():
            if output:
                raise _Differs(index, NOTHING, output[0])


class _AllBut:
    """All links, but for some."""

    def __init__(self, wanted: Any) -> None:
        self._wanted = wanted

    def __contains__(self, link: object) -> bool:
        return link not in self._wanted


def _same(expected: Any, found: Any) -> bool:
    """Whether that is what was expected; reports may tell more than they did when the trace was made."""
    match expected, found:
        case [kind, fields], [said, more] if is_object(fields) and is_object(more):
            return bool(kind == said and more | fields == more)
        case [start, [*fields], *where], [said, [*more], *there]:
            return bool([start, *where] == [said, *there] and shown_fields(fields, more) == fields)
        case _:
            return bool(expected == found)


def _plain(value: Any) -> Any:
    """A value as it is when it has been written and read."""
    return msgspec.json.decode(msgspec.json.encode(value))
