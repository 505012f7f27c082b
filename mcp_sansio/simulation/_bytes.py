"""Properties of bytes: a node is given what a trace says that it took in, once more and in other pieces.

A fresh node of the same make lives through the inputs of a recorded one, at the same times. It need not do
what that one did; what counts is that it does the same whatever the pieces, with noise in between, and every
time. Its application speaks only where the recorded one did, never between two lines that came together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, groupby
from typing import Any, ClassVar, TypeAlias

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._errors import InvalidMessage
from mcp_sansio._json import decode, encode, parse
from mcp_sansio._plain import is_array, is_object, member
from mcp_sansio._reports import Report
from mcp_sansio._structure import encode_typed, structure
from mcp_sansio._trace import Trace, TraceEvent, bytes_of
from mcp_sansio._types import Prompt
from mcp_sansio._versions import ALL_VERSIONS, wire_shape

from ._checking import Checker, Level
from ._faults import RUBBISH
from ._node import Node, Write

Make: TypeAlias = "Callable[[], Node]"
"""Makes a node like the one that was recorded."""

Pieces: TypeAlias = "Callable[[bytes], Iterable[bytes]]"
"""Cuts what came together into the pieces in which it is given to the node."""

INPUTS = (kinds.OPEN, kinds.TAKEN, kinds.ENDED, kinds.TIMER, kinds.COMMAND)
SIZES = (1, 2, 3, 7, 64, 1021)


@attrs.define
class Driven:
    """What a node wrote, by connection, and what it reported."""

    written: dict[str, bytes] = attrs.field(factory=dict[str, bytes])
    reports: list[tuple[str, Any]] = attrs.field(factory=list[tuple[str, Any]])

    def take(self, node: Node, now: float) -> None:
        """Let the node say what is to be done."""
        for action in node.actions(now, ()):
            if isinstance(action, Write):
                self.written[action.conn] = self.written.get(action.conn, b"") + action.data
            elif isinstance(action, Report):
                self.reports.append((action.kind, dict(action.data)))


def drive(trace: Trace, name: str, make: Make, pieces: Pieces) -> Driven:
    """Give a fresh node what the node `name` of a trace took in."""
    node, driven = make(), Driven()
    node.name = name
    node.start(0.0)
    driven.take(node, 0.0)
    for events in _together(trace, name):
        now = events[-1].time
        for event in events:
            _tell(node, event, now)
        data = b"".join(bytes_of(event.data) + b"\n" for event in events if event.kind == kinds.TAKEN)
        for piece in pieces(data) if data else ():
            node.receive(events[0].link, piece, now)
        driven.take(node, now)
    return driven


def _together(trace: Trace, name: str) -> Iterator[list[TraceEvent]]:
    """The inputs of a node; lines that came at the same time over the same connection are one."""
    inputs = [event for event in trace if event.node == name and event.kind in INPUTS]
    for (kind, _, _), events in groupby(inputs, lambda event: (event.kind, event.link, event.time)):
        if kind == kinds.TAKEN:
            yield [*events]
        else:
            yield from ([event] for event in events)


def _tell(node: Node, event: TraceEvent, now: float) -> None:
    """Tell a node of everything but bytes."""
    told: Any = event.data
    if event.kind == kinds.COMMAND:
        node.command(told[0], told[1], now)
    elif event.kind == kinds.OPEN:
        node.opened(event.link, now)
    elif event.kind == kinds.TIMER:
        node.handle_timeout(now)
    elif event.kind == kinds.ENDED and told != "hangup":
        node.closed(event.link, told, now)


def whole(data: bytes) -> Sequence[bytes]:
    """All in one piece."""
    return (data,)


def _of(size: int) -> Pieces:
    def pieces(data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    return pieces


def _noise() -> Pieces:
    """Every line with one in front that is none, of each kind in turn."""
    turn = count()

    def pieces(data: bytes) -> Iterator[bytes]:
        for line in data.splitlines(keepends=True):
            yield RUBBISH[next(turn) % len(RUBBISH)] + line

    return pieces


class ByteProperty(Checker):
    """A property that is judged by driving a fresh node; `judge` says what is wrong, or nothing."""

    level: ClassVar[Level] = Level.LIBRARY

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        """What is wrong with nodes that `make` makes, given what the node `name` of a trace took in."""
        raise NotImplementedError


class SplitInvariance(ByteProperty):
    """However the bytes are cut, the same is written and reported."""

    id = "B1"
    title = "split invariance"
    anchor = "basic/transports/stdio#receiving-messages"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        together = drive(trace, name, make, whole)
        for size in SIZES:
            if drive(trace, name, make, _of(size)) != together:
                return f"{name} does not do the same with pieces of {size} bytes"
        return None


class GarbageIsolation(ByteProperty):
    """Lines that are no messages cost nothing but themselves."""

    id = "B3"
    title = "garbage isolation"
    anchor = "basic/transports/stdio#receiving-messages"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        clean, noisy = (sense(drive(trace, name, make, pieces)) for pieces in (whole, _noise()))
        return None if clean == noisy else f"{name} does not do the same with noise between the lines"


def sense(driven: Driven) -> Any:
    """What was written and reported but for complaints: errors about no request, and diagnostics."""
    lines = {conn: data.splitlines() for conn, data in driven.written.items()}
    said = {conn: [line for line in of if not complains(decode(line))] for conn, of in lines.items()}
    return said, [report for report in driven.reports if report[0] != "odd"]


def complains(message: Any) -> bool:
    """Whether a message is an error about no request."""
    return "error" in message and message.get("id") is None


class Purity(ByteProperty):
    """The same inputs at the same times have the same outputs, every time."""

    id = "B4"
    title = "purity"
    anchor = "basic#statelessness"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        again = drive(trace, name, make, whole) == drive(trace, name, make, whole)
        return None if again else f"{name} does not do the same when it is told the same"


class RoundTrip(ByteProperty):
    """What is read and written again is what it was: every message, and every prompt in it."""

    id = "B5"
    title = "round trip"
    anchor = "basic#messages"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:  # noqa: ARG003 - nothing is driven
        for event in trace:
            if event.kind in (kinds.SENT, kinds.TAKEN) and event.node == name:
                problem = cls._differs(bytes_of(event.data))
                if problem is not None:
                    return f"event {event.index}: {problem}"
        return None

    @classmethod
    def _differs(cls, raw: bytes) -> str | None:
        try:
            message: Any = decode(raw)
        except InvalidMessage:
            return None
        again = cls.copied(message)
        if decode(again) != message or type(parse(again)) is not type(parse(raw)):
            return "the message is another one when it is written again"
        prompts = member(member(message, "result"), "prompts")
        for prompt in prompts if is_array(prompts) else ():
            if is_object(prompt) and cls.written(prompt) != prompt:
                return f"the prompt {prompt.get('name')!r} is another one when it is written again"
        return None

    @classmethod
    def copied(cls, message: Any) -> bytes:
        """A message as it is written, after it was read."""
        return encode(message)

    @classmethod
    def written(cls, prompt: dict[str, Any]) -> Any:
        """A prompt as it is written, after it was read."""
        return decode(encode_typed(structure(Prompt, encode(prompt)), wire_shape(ALL_VERSIONS[-1])))


BYTE_CHECKS: tuple[type[ByteProperty], ...] = (SplitInvariance, GarbageIsolation, Purity, RoundTrip)
"""The properties of bytes but for B2, which is what `exhaust_cuts` tries."""
