"""A trace as a story: who is there, and what happens one after the other, in words.

What one node sends and another takes in is one step with two ends. A message that nobody takes in was lost;
one that nobody sent in this trace (a recording of one side, or rubbish) comes from the other end of its
connection. What nobody needs for the plot (timers, settings, heads) is left out.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._trace import Trace, TraceEvent

from .labels import Correspondence, command_label, fault_label, report_label

Tone: TypeAlias = Literal["message", "command", "report", "fault", "connection", "phase", "verdict"]

ELSEWHERE = "peer"
"""The other end of a connection of which only one end was recorded."""

_DULL = frozenset({"settings", "began", "subscribed", "unsubscribed", "answered", "StreamEnded"})


_NOTES: Mapping[str, tuple[Tone, Callable[[TraceEvent], str]]] = {
    kinds.OPEN: ("connection", lambda event: f"{event.link} is open"),
    kinds.ENDED: ("connection", lambda event: f"{event.link} is over: {event.data}"),
    kinds.COMMAND: ("command", lambda event: command_label(*event.data)),
    kinds.OBSERVED: ("report", lambda event: report_label(*event.data)),
    kinds.PHASE: ("phase", lambda event: event.data),
    kinds.VERDICT: ("verdict", lambda event: f"{event.data[0]}: {event.data[1]}"),
}


@attrs.define(eq=False)
class Step:
    """One thing that happens, at the event `index`; `about` are the nodes it happens to, none for all.

    A message goes from the first to the second of them; `arrives` is the event of its arrival, if it does.
    """

    index: int
    time: float
    tone: Tone
    text: str
    about: tuple[str, ...]
    cause: int
    arrives: int | None = None


@attrs.frozen
class Story:
    """Who is there, clients first, and the steps in order; `trace` has the events that they are made of."""

    lanes: tuple[str, ...]
    steps: tuple[Step, ...]
    trace: Trace

    def in_order(self) -> list[Step]:
        """The steps as their receivers saw them: a message stands where it arrives."""
        return sorted(self.steps, key=lambda step: step.index if step.arrives is None else step.arrives)


def tell(trace: Trace) -> Story:
    """The story of a trace."""
    teller = _Teller(trace)
    for event in trace:
        teller.take(event)
    return Story(teller.lanes(), tuple(teller.steps), trace)


class _Teller:
    """Makes steps of events."""

    def __init__(self, trace: Trace) -> None:
        self.steps: list[Step] = []
        self._roles: dict[str, str] = {}
        self._ends: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._correspondence = Correspondence()
        self._under_way: defaultdict[tuple[str, str], deque[tuple[Any, Step]]] = defaultdict(deque)
        for event in trace:
            if event.link and event.node and event.kind != kinds.FAULT:
                self._ends[event.link][event.node] = None

    def lanes(self) -> tuple[str, ...]:
        """Clients, then servers, then who is neither."""
        known = [*self._roles, *dict.fromkeys(name for step in self.steps for name in step.about)]
        rank = {"client": 0, "server": 1}
        names = dict.fromkeys(known)
        return tuple(sorted(names, key=lambda name: rank.get(self._roles.get(name, ""), 2)))

    def take(self, event: TraceEvent) -> None:
        """Make a step of an event, if it matters."""
        match event.kind:
            case kinds.NODE:
                self._roles[event.node] = event.data
            case kinds.SENT:
                step = self._step(event, "message", self._message(event), event.node, self._peer(event))
                self._under_way[event.link, event.node].append((event.data, step))
            case kinds.TAKEN:
                self._arrive(event)
            case kinds.FAULT:
                self._step(event, "fault", fault_label(*event.data), *self._struck(event))
            case kinds.OBSERVED if event.data[0] in _DULL:
                pass
            case _ if event.kind in _NOTES:
                tone, text = _NOTES[event.kind]
                self._step(event, tone, text(event), *([event.node] if event.node else []))
            case _:
                pass

    def _step(self, event: TraceEvent, tone: Tone, text: str, *about: str) -> Step:
        step = Step(event.index, event.time, tone, text, about, event.cause)
        self.steps.append(step)
        return step

    def _message(self, event: TraceEvent) -> str:
        return self._correspondence.label(event.link, event.data)

    def _peer(self, event: TraceEvent) -> str:
        exchange_of = event.link.rpartition(".")[0]  # an exchange that was lost is known at one end only
        ends = [*self._ends[event.link], *self._ends[exchange_of]]
        return next((name for name in ends if name != event.node), ELSEWHERE)

    def _arrive(self, event: TraceEvent) -> None:
        """Find the step that an arrival is the end of: what was sent before it on this way has been lost."""
        peer = self._peer(event)
        under_way = self._under_way[event.link, peer]
        at = next((at for at, (data, _) in enumerate(under_way) if data == event.data), None)
        if at is None:
            step = self._step(event, "message", self._message(event), peer, event.node)
            step.arrives = event.index
            return
        for _ in range(at):
            under_way.popleft()
        under_way.popleft()[1].arrives = event.index

    def _struck(self, event: TraceEvent) -> tuple[str, ...]:
        """Whom a fault strikes."""
        detail: dict[str, Any] = event.data[1]
        named = event.node or detail.get("node")
        return (named,) if named else tuple(detail[end] for end in ("a", "b") if end in detail)
