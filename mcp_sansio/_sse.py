"""Server-sent events: a stream of bytes in, whole events out, and the other way round.

The format is WHATWG's: a line ends with CR, LF or CRLF, wherever the stream is cut; lines `field: value`
make up an event, which a blank line ends; lines that begin with a colon are comments. Each byte is looked
at a fixed number of times. An event beyond the limit is dropped but for the news of it, and the stream
goes on. What an event says is left as bytes: whoever reads messages judges their encoding.
"""

from __future__ import annotations

from typing import final

import attrs

from ._lines import HEAD_SIZE, Held, Overlong

MAX_RETRY = 86_400.0
"""How long a server can make a client wait, in seconds: longer ones count as a day."""

MAX_DIGITS = 100
"""A `retry` with more digits is ignored."""

COMMENT = b":\n\n"
"""A line that means nothing, to keep a connection from being taken for dead."""

_BOM = b"\xef\xbb\xbf"


@attrs.frozen
class SseEvent:
    """One event that has data; several data lines are joined by LF. `event` is its type."""

    data: bytes
    event: str = "message"


@final
class SseDecoder:
    """Cuts a byte stream into events whose lines, comments aside, have at most `limit` bytes together.

    `last_id` is the id of the last event that was complete, None before there is one. `retry` is how many
    seconds the server wants to pass before a reconnection. Both are set by events without data, too, which
    are not reported. How the stream was split when it was fed makes no difference.
    """

    def __init__(self, limit: int) -> None:
        self.last_id: str | None = None
        self.retry: float | None = None
        self._limit = limit
        self._held = Held(limit)  # the unfinished line
        self._after_cr = False
        self._at_start = True
        self._begin()

    def feed(self, data: bytes) -> list[SseEvent | Overlong]:
        """Take the next bytes and return the events that they complete, in order."""
        if not data:
            return []
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]  # the second half of a CRLF
        self._after_cr = data.endswith(b"\r")
        events: list[SseEvent | Overlong] = []
        for piece in data.splitlines(keepends=True):  # of bytes, which end lines with CR, LF and CRLF only
            line = piece.rstrip(b"\r\n")
            self._held.add(line)
            if len(line) < len(piece) and (event := self._end_line()) is not None:
                events.append(event)
        return events

    def finish(self) -> SseEvent | Overlong | None:
        """The stream is over: return what came without its blank line, if anything did.

        A browser throws that away; whether it is whole is for the caller to find out.
        """
        return self._end_line() or self._end_event()

    def _begin(self) -> None:
        self._data: list[bytes] = []
        self._type = ""
        self._id = self.last_id
        self._size = 0
        self._head: bytes | None = None  # how the event began, if it is over the limit

    def _end_line(self) -> SseEvent | Overlong | None:
        size, line = self._held.size, self._held.take()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end_event()
        if not line.startswith(b":"):
            self._take(line, size)
        return None

    def _take(self, line: bytes, size: int) -> None:
        self._size += size
        if self._size > self._limit and self._head is None:
            self._head = b"\n".join([*self._data, line])[:HEAD_SIZE]
            self._data.clear()
        if size > self._limit:
            return
        name, value = _split(line)
        if name == b"data" and self._head is None:
            self._data.append(value)
        elif name == b"event":
            self._type = value.decode(errors="replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) <= MAX_DIGITS:
            self.retry = min(int(value) / 1000, MAX_RETRY)

    def _end_event(self) -> SseEvent | Overlong | None:
        self.last_id = self._id
        data, kind, size, head = b"\n".join(self._data), self._type or "message", self._size, self._head
        self._begin()
        if head is not None:
            return Overlong(size, head)
        return SseEvent(data, kind) if data else None


def _split(line: bytes) -> tuple[bytes, bytes]:
    """A field's name and value: cut once, for a value may have megabytes."""
    colon = line.find(b":")
    if colon < 0:
        return line, b""
    begin = colon + 2 if line.startswith(b" ", colon + 1) else colon + 1
    return line[:colon], line[begin:]


def encode_event(data: bytes) -> bytes:
    """An event of the type "message", as it is written."""
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\ndata: ")
    return b"event: message\ndata: %b\n\n" % lines
