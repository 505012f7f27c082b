"""Properties of lines: those that are too long, how a stream begins and ends, and who hears of what passes.

As in `_bytes`, a fresh node is given what a recorded one took in, in a form that must make no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import mcp_sansio._trace as kinds
from mcp_sansio._errors import INVALID_REQUEST
from mcp_sansio._json import decode
from mcp_sansio._passing import HeadPassed, MessagePassed
from mcp_sansio._trace import Trace, TraceEvent, bytes_of

from ._bytes import INPUTS, ByteProperty, Driven, Make, Pieces, complains, drive, sense, whole
from ._node import Node

BOM = b"\xef\xbb\xbf"

ENDS = 8
"""So many ways of a session to end are tried."""


def _taken(trace: Trace, name: str) -> list[TraceEvent]:
    return [event for event in trace if event.node == name and event.kind == kinds.TAKEN]


def _longest(trace: Trace, name: str) -> int:
    return max((len(bytes_of(event.data)) for event in _taken(trace, name)), default=1)


def _limited(make: Make, limit: int, heard: list[MessagePassed | HeadPassed] | None = None) -> Make:
    """Makes nodes that take lines of so many bytes at most, and say what passes."""

    def limited() -> Node:
        node = make()
        node.max_line = limit
        node.on_message = None if heard is None else heard.append
        return node

    return limited


class LongLines(ByteProperty):
    """A line that is too long costs nothing but itself, and is complained of once; one that is just not too
    long is like any other.
    """

    id = "B3a"
    title = "long lines"
    anchor = "basic/transports/stdio#receiving-messages"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        limit = _longest(trace, name)
        clean, sizes = drive(trace, name, make, whole), list[int]()
        noisy = drive(trace, name, _limited(make, limit), _overlong(limit, sizes))
        if sense(noisy) != sense(clean):
            return f"{name} does not do the same with lines of more than {limit} bytes in between"
        told = [text for text in _complaints(noisy) if "over the limit" in text]
        if told != [f"a line of {size} bytes is over the limit" for size in sizes]:
            return f"{name} complains of other lines than those that are too long: {told}"
        return None


def _overlong(limit: int, sizes: list[int]) -> Pieces:
    """Before every line one that is too long, in pieces that are not."""
    turn = count(1)

    def pieces(data: bytes) -> Iterator[bytes]:
        for line in data.splitlines(keepends=True):
            size = limit + next(turn)
            sizes.append(size)
            noise = b'{"' + b"x" * (size - 2)
            yield from (noise[at : at + limit] for at in range(0, size, limit))
            yield b"\n" + line[:1]
            yield line[1:]

    return pieces


def _complaints(driven: Driven) -> list[str]:
    """What a node complained of: in what it wrote, or in a report where it writes nothing."""
    lines = [decode(line) for of in driven.written.values() for line in of.splitlines()]
    errors = [line["error"] for line in lines if complains(line)]
    codes = {INVALID_REQUEST: ""}
    written = [
        f"{codes.get(error['code'], 'over the limit, wrongly: ')}{error['message']}" for error in errors
    ]
    return written or [str(fields["text"]) for kind, fields in driven.reports if kind == "odd"]


class Beginnings(ByteProperty):
    """A byte order mark means nothing at the beginning of a stream, and is no part of a message elsewhere."""

    id = "B3b"
    title = "byte order marks"
    anchor = "basic/transports/stdio#receiving-messages"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        clean = drive(trace, name, make, whole)
        if drive(trace, name, make, _marked()) != clean:
            return f"{name} does not do the same with a byte order mark at the beginning"
        if sense(drive(trace, name, make, _marked_copies)) != sense(clean):
            return f"{name} reads a line that begins with a byte order mark"
        return None


def _marked() -> Pieces:
    turn = count()

    def pieces(data: bytes) -> Iterable[bytes]:
        return (data if next(turn) else BOM + data,)

    return pieces


def _marked_copies(data: bytes) -> Iterator[bytes]:
    """Every line, and what would be the same again."""
    for line in data.splitlines(keepends=True):
        yield line + BOM + line


class Endings(ByteProperty):
    """The last line of a stream counts without its line end; CR LF ends a line as LF does."""

    id = "B3c"
    title = "line ends"
    anchor = "basic/transports/stdio#receiving-messages"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        taken = _taken(trace, name)
        for last in taken[:: max(1, len(taken) // ENDS)]:
            ended = _until(trace, last)
            calls = [0]
            clean = drive(ended, name, make, _counting(calls))
            again = drive(ended, name, make, _unended(calls[0]))
            if again.reports != clean.reports or (make().role == "server" and again != clean):
                return f"{name} does not do the same without the line end at the end (event {last.index})"
        return cls._crlf(trace, name, make)

    @classmethod
    def _crlf(cls, trace: Trace, name: str, make: Make) -> str | None:
        limit = _longest(trace, name) + 1
        heard: list[list[MessagePassed | HeadPassed]] = [[], []]
        clean = drive(trace, name, _limited(make, limit, heard[0]), whole)
        again = drive(trace, name, _limited(make, limit, heard[1]), _carriage_returns)
        same = clean == again and heard[0] == heard[1]
        return None if same else f"{name} does not do the same with lines that end with CR LF"


def _carriage_returns(data: bytes) -> Iterator[bytes]:
    yield data.replace(b"\n", b"\r\n")


def _until(trace: Trace, last: TraceEvent) -> Trace:
    """The inputs up to one, and then the end of its connection."""
    ended = Trace()
    for event in trace.events[: last.index + 1]:
        if event.kind in INPUTS:
            ended.add(event.time, event.kind, event.node, event.link, data=event.data)
    ended.add(last.time + 1.0, kinds.ENDED, last.node, last.link, data="eof")
    return ended


def _counting(calls: list[int]) -> Pieces:
    def pieces(data: bytes) -> Iterable[bytes]:
        calls[0] += 1
        return (data,)

    return pieces


def _unended(last: int) -> Pieces:
    turn = count(1)

    def pieces(data: bytes) -> Iterable[bytes]:
        return (data[:-1] if next(turn) == last else data,)

    return pieces


class Overheard(ByteProperty):
    """Whoever listens to a wire hears of every line that passes, in either direction, just as it passed."""

    id = "B6"
    title = "what passes is heard"
    anchor = "basic/transports/stdio"

    @classmethod
    def judge(cls, trace: Trace, name: str, make: Make) -> str | None:
        limit = _longest(trace, name)
        heard: list[MessagePassed | HeadPassed] = []
        sizes: list[int] = []
        driven = drive(trace, name, _limited(make, limit, heard), _overlong(limit, sizes))
        said = [line for of in driven.written.values() for line in of.splitlines()]
        if [each.data for each in _messages(heard) if each.sent] != said:
            return f"what {name} wrote is not what was heard"
        lines = [each.data for each in _messages(heard) if each.sent is False]
        if lines[1::2] != [bytes_of(event.data) for event in _taken(trace, name)]:
            return f"what {name} took in is not what was heard"
        heads = {bytes(head) for head in lines[::2]}
        right = all(_begins(head, limit) for head in heads)
        return None if right else f"{name} heard of a line that was not there"


def _begins(head: bytes, limit: int) -> bool:
    """Whether this is how a line of `_overlong` begins."""
    return 0 < len(head) <= limit and head == b'{"' + b"x" * (len(head) - 2)


def _messages(heard: Iterable[MessagePassed | HeadPassed]) -> Iterator[MessagePassed]:
    return (each for each in heard if isinstance(each, MessagePassed))


LINE_CHECKS: tuple[type[ByteProperty], ...] = (LongLines, Beginnings, Endings, Overheard)
"""The properties of lines."""
