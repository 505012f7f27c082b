"""A property of event streams: however one is cut, it means what the format says that it means.

Streams are drawn: fields of all kinds, known or not, comments, every line end, a byte order mark, events that
are too long. What they mean is worked out once more, line by line from the whole, as the format's own text
has it; that is slow, and has no state that a cut could disturb.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

import attrs

from mcp_sansio._lines import HEAD_SIZE, Overlong
from mcp_sansio._sse import MAX_DIGITS, MAX_RETRY, SseDecoder, SseEvent, encode_event

from ._tape import Seeded, Tape

BOM = b"\xef\xbb\xbf"
LIMIT = 300
ENDS = (b"\n", b"\r", b"\r\n")
FIELDS = (
    *(
        b"data: a",
        b"data:b",
        b"data:  two",
        b"data",
        b"data: x:y",
        b"data: \xc3\xa9",
        b"event: kind",
        b"event",
    ),
    *(b"id: 1", b"id: a\x00b", b"id", b"retry: 1500", b"retry: x", b"retry", b"retry: 999999999999"),
    *(b": comment", b":", b"unknown: x", b"nothing", b" data: no", b"data : no", b"id:\xff", b"event:\xff"),
    *(b"retry: " + b"0" * (MAX_DIGITS - 1) + b"7", b"retry: " + b"0" * MAX_DIGITS + b"9"),
    *(b"data: " + b"x" * 140, b"data: " + b"y" * (LIMIT - 6), b"data: " + b"z" * (LIMIT - 5)),
    *(b"data: endX", b": " + b"c" * LIMIT, b"data: " + b"d" * 3 * LIMIT, b"data: " + BOM, BOM + b"data: no"),
)

Heard: TypeAlias = "list[SseEvent | Overlong]"


class Decoder(Protocol):
    """What cuts a stream into events."""

    last_id: str | None
    retry: float | None

    def feed(self, data: bytes) -> Heard:
        """Take bytes; the events that they complete."""
        ...

    def finish(self) -> SseEvent | Overlong | None:
        """The stream is over."""
        ...


@attrs.define
class Meaning:
    """What a stream means: its events, and what it says of ids and retries."""

    events: Heard = attrs.field(factory=list[SseEvent | Overlong])
    last_id: str | None = None
    retry: float | None = None


def stream(seed: int) -> bytes:
    """A stream of events."""
    tape = Tape(Seeded(seed))
    parts = [BOM * tape.draw("mark", 3)]
    for _ in range(tape.draw("events", 8)):
        end = tape.one_of("end", ENDS)
        lines = [tape.one_of("field", FIELDS) for _ in range(tape.draw("lines", 6))]
        parts += (line + end for line in [*lines, b""])
    if tape.draw("unfinished", 2):
        parts.append(tape.one_of("field", FIELDS) + tape.one_of("last", (b"", b"\n", b"\r")))
    return b"".join(parts)


def meaning(data: bytes, limit: int) -> Meaning:
    """What a stream means, by the text of the format."""
    found, event = Meaning(), _Event()
    lines = re.split(rb"\r\n|\n|\r", data)
    for number, raw in enumerate(lines):
        line = raw if number else raw.removeprefix(BOM)
        if not line and number < len(lines) - 1:
            event.end(found)
            event = _Event(event.id)
        elif line and not line.startswith(b":"):
            event.take(line, len(raw), limit, found)
    event.end(found)
    return found


@attrs.define
class _Event:
    """An event that has begun."""

    id: str | None = None
    data: list[bytes] = attrs.field(factory=list[bytes])
    kind: str = ""
    size: int = 0
    head: bytes | None = None

    def take(self, line: bytes, size: int, limit: int, found: Meaning) -> None:
        self.size += size
        if self.size > limit and self.head is None:
            kept = line if size <= limit else line[: HEAD_SIZE + len(line) - size]  # cut before the mark is
            self.head = b"\n".join([*self.data, kept])[:HEAD_SIZE]
        if size <= limit:
            name, _, value = line.partition(b":")
            self.field(name, value[1:] if value.startswith(b" ") else value, found)

    def field(self, name: bytes, value: bytes, found: Meaning) -> None:
        if name == b"data":
            self.data.append(value)
        elif name == b"event":
            self.kind = value.decode(errors="replace")
        elif name == b"id" and b"\x00" not in value:
            self.id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) <= MAX_DIGITS:
            found.retry = min(int(value) / 1000, MAX_RETRY)

    def end(self, found: Meaning) -> None:
        found.last_id = self.id
        data = b"\n".join(self.data)
        if self.head is not None:
            found.events.append(Overlong(self.size, self.head))
        elif data:
            found.events.append(SseEvent(data, self.kind or "message"))


def heard(decoder: Decoder, pieces: Iterable[bytes]) -> Meaning:
    """What a decoder makes of a stream."""
    events = [event for piece in pieces for event in decoder.feed(piece)]
    last = decoder.finish()
    events += () if last is None else (last,)
    return Meaning(events, decoder.last_id, decoder.retry)


def _cuts(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    yield "whole", [data]
    for size in (1, 2, 3, 7, 64, 211):
        yield f"in pieces of {size}", [data[at : at + size] for at in range(0, len(data), size)]
    yield "with nothing in between", [piece for byte in data for piece in (bytes((byte,)), b"")]


def judge_events(seed: int, make: Callable[[int], Decoder] = SseDecoder) -> str | None:
    """What is wrong with decoders that `make` makes, in the stream of a seed."""
    data = stream(seed)
    meant = meaning(data, LIMIT)
    for how, pieces in _cuts(data):
        if heard(make(LIMIT), pieces) != meant:
            return f"the stream of seed {seed} means something else {how}"
    return None


def judge_writing(write: Callable[[bytes], bytes] = encode_event) -> str | None:
    """What is wrong with how events are written: each is read as what it was."""
    for data in (b"a", b"a\nb", b"a\r\nb", b"a\rb", b"a\n\nb", b" a", b":a", b"\xc3\xa9", b"data: a"):
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if heard(SseDecoder(LIMIT), [write(data) * 2]) != Meaning([SseEvent(lines)] * 2):
            return f"{data!r} is another one when it is read"
    return None
