"""What happened in a run, as events that name their causes: a header and one line of JSON for each event.

Checkers, renderers and replays live on this alone, so a trace that an adapter recorded is as good as one of
the simulator. Message events carry the exact text. An event's cause is the index of an earlier one (a
delivery is caused by the sending, an output by the input before it), which is happens-before for free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final

import msgspec

from ._version import __version__

FORMAT: Final = "mcp-sansio-trace/1"

NODE: Final = "node"  # a node starts, or starts anew and remembers nothing; data is its role
OPEN: Final = "open"  # a connection is usable at this node; data is "http" if it carries exchanges
SENT: Final = "out"  # a message has left this node; data is its text
TAKEN: Final = "in"  # a message was taken in by this node; data is its text
HEAD_SENT: Final = "head-out"  # the head of an HTTP message has left; data is [start, fields], and a path
HEAD_TAKEN: Final = "head-in"
BODY_TAKEN: Final = "body-in"  # a piece of an HTTP body was taken in; data is its text, None the end of it
ENDED: Final = "end"  # a connection is over at this node; data says how
TIMER: Final = "timer"  # a deadline of this node has come
COMMAND: Final = "op"  # the application at this node did something; data is [verb, arguments]
OBSERVED: Final = "obs"  # this node reported something; data is [kind, fields]
FAULT: Final = "fault"  # the world did something; data is [kind, detail]
PHASE: Final = "phase"  # data is "chaos", "calm", "scarred" or "rest"
SITUATION: Final = "sometimes"  # something worth reaching was reached; data is its name
VERDICT: Final = "verdict"  # data is [property, text]


HTTP: Final = "http"
"""What is noted of a connection that carries exchanges, as it opens."""

HIDDEN: Final = "…"
"""What stands in the place of what was redacted."""


class TraceEvent(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={"time": "t", "index": "i", "cause": "c", "kind": "k", "node": "n", "link": "l", "data": "d"},
):
    """One thing that happened. `time` is seconds of the world's clock, `cause` an index, -1 for none."""

    time: float
    index: int
    kind: str
    node: str = ""
    link: str = ""
    cause: int = -1
    data: Any = None


class Header(msgspec.Struct, frozen=True):
    """What a trace was made by. `tape` is the record of all draws, which replays it; `source` is "world", or
    "recording" of the parties that it has, by themselves, or "tap" where somebody between them listened.
    """

    format: str = FORMAT
    library: str = __version__
    source: str = "world"
    scenario: str = ""
    seed: int | None = None
    tape: tuple[tuple[str, int, int], ...] = ()


class Trace:
    """The events of one run, in order."""

    def __init__(self, header: Header | None = None) -> None:
        self.header: Header = header or Header()
        self.events: list[TraceEvent] = []

    def __iter__(self) -> Iterator[TraceEvent]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def add(
        self, time: float, kind: str, node: str = "", link: str = "", *, data: Any = None, cause: int = -1
    ) -> int:
        """Append an event; its index."""
        index = len(self.events)
        self.events.append(TraceEvent(time, index, kind, node, link, cause, data))
        return index

    def body(self) -> Iterator[bytes]:
        """The lines of the events."""
        encode = msgspec.json.Encoder().encode
        for event in self.events:
            yield encode(event)

    def digest(self) -> str:
        """What identifies all but the header: equal runs have equal digests."""
        lines = msgspec.json.Encoder().encode_lines(self.events)
        return blake2b(lines, digest_size=16).hexdigest()

    def lines(self) -> Iterator[bytes]:
        """The whole trace, line by line, without line ends."""
        yield msgspec.json.encode(self.header)
        yield from self.body()

    @classmethod
    def parse(cls, lines: Iterable[bytes | str]) -> Trace:
        """Read a trace back. Raises `ValueError` with the line that is no part of one."""
        trace: Trace | None = None
        read = msgspec.json.Decoder(TraceEvent).decode
        for number, line in enumerate(lines, 1):
            try:
                if trace is None:
                    trace = cls(msgspec.json.decode(line, type=Header))
                else:
                    trace.events.append(read(line))
            except (msgspec.DecodeError, UnicodeError) as error:
                raise ValueError(f"line {number}: {error}") from None
        if trace is None or trace.header.format != FORMAT:
            raise ValueError(f"not a trace of the format {FORMAT}")
        return trace


def text_of(data: bytes) -> Any:
    """Bytes as a trace has them: text, or what cannot be text in hexadecimal digits."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def bytes_of(data: Any) -> bytes:
    """The bytes of a message event."""
    return data.encode() if isinstance(data, str) else bytes.fromhex(data["hex"])
