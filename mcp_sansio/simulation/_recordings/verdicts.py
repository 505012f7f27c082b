"""What can be said of a trace by its properties: held, broken, or not judged for want of evidence.

A world has everything in it. A recording has the doings of one party, and a tap has the messages alone, so
most properties of clients, which are about what applications are told, cannot be judged there; no verdict
must pretend that they were. Who was not recorded is judged by what reached those who were: `both_ends` adds
the other end of each connection, so that a recording of our client tells something of somebody's server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import attrs
import msgspec

import mcp_sansio._trace as kinds
from mcp_sansio._plain import is_object
from mcp_sansio._trace import Trace, TraceEvent, bytes_of
from mcp_sansio.simulation._checking import Checker, Violated, violation
from mcp_sansio.simulation._listeners import CANCELLED

PEER = "peer of "
OTHER = {"client": "server", "server": "client"}
SAID = {kinds.TAKEN: kinds.SENT, kinds.HEAD_TAKEN: kinds.HEAD_SENT}
LOST = "lost"
"""The fault that stands for messages that passed unrecorded."""


class Evidence(Enum):
    """What a property may need that not every trace has; the text says what is missing."""

    CLIENT = "no client"
    SERVER = "no server"
    REPORTS = "nothing of what the client's application was told"
    COMMANDS = "nothing of what the client's application did"
    ENDS = "no connection of which both ends are known"
    SETTINGS = "nothing of what the server promises"
    EDITS = "nothing of what the server had to offer"
    READING = "nothing of when the server took a cancellation in"
    CLOSING = "no server that was told to close"
    REST = "no end at which all was quiet"


NEEDS: Mapping[str, tuple[Evidence, ...]] = {
    "C3": (Evidence.REST, Evidence.ENDS),
    "C6": (Evidence.ENDS, Evidence.EDITS),
    "C7": (Evidence.ENDS,),
    "C9": (Evidence.COMMANDS,),
    "C10": (Evidence.REPORTS,),
    "C12": (Evidence.COMMANDS, Evidence.REPORTS),
    "C13": (Evidence.COMMANDS,),
    "C14": (Evidence.REPORTS,),
    "C17": (Evidence.REPORTS,),
    "C20": (Evidence.REPORTS,),
    "C21": (Evidence.REPORTS,),
    "C22": (Evidence.COMMANDS,),
    "C23": (Evidence.REST,),
    "S2": (Evidence.EDITS,),
    "S3": (Evidence.EDITS, Evidence.SETTINGS),
    "S3a": (
        Evidence.EDITS,
        Evidence.SETTINGS,
        Evidence.REST,
    ),  # to the moment, by a clock that is the world's
    "S4": (Evidence.SETTINGS,),
    "S8a": (Evidence.READING,),
    "S11": (Evidence.EDITS,),
    "S12": (Evidence.CLOSING,),
    "L2": (Evidence.ENDS, Evidence.EDITS),
    "L3": (Evidence.CLIENT, Evidence.REPORTS),
    "L6": (Evidence.ENDS,),
    "L7": (Evidence.REST,),
}
"""What properties need beside what their kinds of events say."""


@attrs.frozen(eq=False)
class Verdict:
    """What a trace says of a property. If it was not `judged`, `missing` says why; if it was, there may be a
    `violation`.
    """

    checker: type[Checker]
    missing: str | None = None
    violation: Violated | None = None

    @property
    def judged(self) -> bool:
        """Whether the trace has what it takes to judge this."""
        return self.missing is None

    def __str__(self) -> str:
        if self.missing is not None:
            return f"not judged: {self.missing}"
        return "held" if self.violation is None else f"broken: {self.violation.text}"

    @property
    def property(self) -> str:  # the last one, for it hides what makes properties
        """The id of the property."""
        return self.checker.id


def verdicts(trace: Trace, checks: Iterable[type[Checker]]) -> list[Verdict]:
    """What a trace says of each property; of a recording, both ends of every connection are judged."""
    whole = trace if trace.header.source == "world" else both_ends(trace)
    if any(event.kind == kinds.FAULT and event.data[0] == LOST for event in whole):
        return [Verdict(check, "some of the messages were not recorded") for check in checks]
    found = _evidence(whole)
    return [_verdict(whole, check, found) for check in checks]


def _verdict(trace: Trace, check: type[Checker], found: set[Evidence]) -> Verdict:
    for needed in _needs(check):
        if needed not in found:
            return Verdict(check, needed.value)
    return Verdict(check, violation=violation(trace, check))


def _needs(check: type[Checker]) -> Iterator[Evidence]:
    if check.role:
        yield Evidence.CLIENT if check.role == "client" else Evidence.SERVER
    if check.on_event is Checker.on_event:
        yield Evidence.REST
    elif set(check.kinds) <= {kinds.OBSERVED, kinds.NODE}:
        yield Evidence.REPORTS
    yield from NEEDS.get(check.id, ())


def _evidence(trace: Trace) -> set[Evidence]:
    """What a trace has."""
    found: set[Evidence] = set()
    roles: dict[str, str] = {}
    ends: dict[str, set[str]] = {}
    for event in trace:
        if event.kind == kinds.NODE:
            roles[event.node] = event.data
        role = roles.get(event.node, "")
        if event.kind == kinds.OPEN:
            ends.setdefault(event.link, set()).add(role)
        found.update(_of_event(event, role))
    if any(len(roles) > 1 for roles in ends.values()):
        found.add(Evidence.ENDS)
    return found


def _of_event(event: TraceEvent, role: str) -> Iterator[Evidence]:
    """What an event at a node of some role is evidence of."""
    match event.kind, role, event.data:
        case kinds.NODE, "client", _:
            yield Evidence.CLIENT
        case kinds.NODE, "server", _:
            yield Evidence.SERVER
            if not event.node.startswith(PEER):
                yield Evidence.READING
        case kinds.OBSERVED, "client", [kind, _] if kind not in ("settings", "rest"):
            yield Evidence.REPORTS
        case kinds.OBSERVED, "server", ["settings", _]:
            yield Evidence.SETTINGS
        case kinds.COMMAND, "client", [verb, _] if verb not in ("settings", "ending", "jitter"):
            yield Evidence.COMMANDS
        case kinds.COMMAND, "server", ["edit", _]:
            yield Evidence.EDITS
        case kinds.COMMAND, "server", ["close", _]:
            yield Evidence.CLOSING
        case kinds.PHASE, _, "rest":
            yield Evidence.REST
        case _:
            pass


# --- the other end ----------------------------------------------------------------------------------------


def both_ends(trace: Trace) -> Trace:
    """The trace with a peer for every party of which there is one end only.

    What a party has sent reaches its peer at once, and what reaches it has just been sent. In truth the peer
    took things in later, and sent them earlier, which matters for one thing: whether an answer was written
    before a cancellation was read cannot be known, so no peer is said to have taken one in.
    """
    ends: dict[str, set[str]] = {}
    for event in trace:
        if event.kind == kinds.OPEN:
            ends.setdefault(event.link, set()).add(event.node)
    whole = Trace(trace.header)
    mirror = _Mirror(whole, {link for link, nodes in ends.items() if len(nodes) > 1})
    for event in trace:
        mirror.take(event)
    return whole


class _Mirror:
    """Copies events, with those at the other end."""

    def __init__(self, whole: Trace, known: set[str]) -> None:
        self._whole = whole
        self._known = known
        self._roles: dict[str, str] = {}
        self._now: dict[int, int] = {}

    def take(self, event: TraceEvent) -> None:
        """Copy an event; what was caused by others is so in the copy."""
        if event.kind in SAID:
            self._peer(event, SAID[event.kind])
        cause = self._now.get(event.cause, -1)
        self._now[event.index] = self._add(event, event.node, event.kind, event.data, cause)
        if event.kind == kinds.NODE and event.node not in self._roles:
            self._roles[event.node] = event.data
        elif event.kind == kinds.OPEN:
            self._opened(event)
        elif event.kind == kinds.HEAD_SENT:
            self._peer(event, kinds.HEAD_TAKEN)
        elif event.kind == kinds.SENT and not _cancels(event):
            self._peer(event, kinds.TAKEN)
        elif event.kind == kinds.ENDED:
            self._peer(event, kinds.ENDED, "lost")

    def _opened(self, event: TraceEvent) -> None:
        name = PEER + event.node
        if name not in self._roles and event.link not in self._known:
            self._roles[name] = OTHER.get(self._roles.get(event.node, ""), "")
            self._add(event, name, kinds.NODE, self._roles[name])
        self._peer(event, kinds.OPEN)

    def _peer(self, event: TraceEvent, kind: str, data: Any = None) -> None:
        name = PEER + event.node
        if name in self._roles and event.link not in self._known:
            self._add(event, name, kind, event.data if data is None else data)

    def _add(self, event: TraceEvent, node: str, kind: str, data: Any, cause: int = -1) -> int:
        link = "" if kind == kinds.NODE and node != event.node else event.link
        return self._whole.add(event.time, kind, node, link, data=data, cause=cause)


def _cancels(event: TraceEvent) -> bool:
    """Whether a message cancels a request."""
    try:
        message = msgspec.json.decode(bytes_of(event.data))
    except (msgspec.DecodeError, ValueError):
        return False
    return is_object(message) and message.get("method") == CANCELLED
