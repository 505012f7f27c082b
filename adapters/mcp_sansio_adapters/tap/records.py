"""What is recorded of a conversation: bytes go in, one record for each line comes out.

A record is a JSON-RPC message, or whatever else was on a line. Messages are kept as the bytes that they were,
so numbers and the order of fields are exact. A line over the limit is cut, and says how long it was.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

import attrs

from mcp_sansio import InvalidMessage
from mcp_sansio._json import decode, encode
from mcp_sansio._lines import LineBuffer, Overlong

TO_SERVER = "to-server"
FROM_SERVER = "from-server"
CHILD_ERRORS = "stderr"
TAP = "tap"

MAX_LINE = 1024 * 1024
"""How long a line may be to be recorded whole, in bytes."""


@attrs.frozen
class Record:
    """One line, or with the direction "tap" something about the conversation.

    `time` is that of its end, on the caller's clock in seconds. `size` is what the line had before it was
    cut, in bytes; else None.
    """

    time: float
    direction: str
    line: bytes
    size: int | None = None

    def message(self) -> Any:
        """The JSON object or array that the line is, else None."""
        if self.direction == CHILD_ERRORS or self.size is not None or self.line.lstrip()[:1] not in b"{[":
            return None
        try:
            return decode(self.line)
        except InvalidMessage:
            return None

    def text(self) -> str | None:
        """The line as text, None if it is not UTF-8; a last character that was cut is left out."""
        try:
            return self.line.decode()
        except UnicodeDecodeError as error:
            cut = self.size is not None and error.reason == "unexpected end of data"
            return self.line[: error.start].decode() if cut else None

    def as_json(self, unix_offset: float) -> bytes:
        """The record as a line; `unix_offset` turns its clock into Unix time."""
        when = datetime.fromtimestamp(self.time + unix_offset, UTC).isoformat(timespec="microseconds")
        head = json.dumps({"time": when, "direction": self.direction})[:-1].encode()
        if self.direction == TAP or self.message() is not None:
            return b"%b, %b: %b}\n" % (
                head,
                b'"tap"' if self.direction == TAP else b'"message"',
                self.line.strip(),
            )
        text = self.text()
        said = {"base64": base64.b64encode(self.line).decode()} if text is None else {"text": text}
        cut: dict[str, object] = {} if self.size is None else {"size": self.size}
        return b"%b, %b\n" % (head, json.dumps({**said, **cut}, ensure_ascii=False)[1:].encode())


class Lines:
    """The lines of all directions of one conversation."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffers: dict[str, LineBuffer] = {}
        self._torn: set[str] = set()

    def feed(self, direction: str, data: bytes, now: float) -> Iterator[Record]:
        """Bytes went this way; the lines that they complete."""
        if direction in self._torn:
            _, newline, data = data.partition(b"\n")
            if not newline:
                return
            self._torn.discard(direction)
        buffer = self._buffers.setdefault(direction, LineBuffer(self._limit))
        for line in buffer.feed(data):
            yield _record(direction, line, now)

    def lose(self, direction: str, count: int, now: float) -> Iterator[Record]:
        """Bytes went this way that nobody looked at: what the line was that they are in is unknown."""
        self._buffers.pop(direction, None)
        self._torn.add(direction)
        yield note({"lost": direction, "bytes": count}, now)

    def finish(self, now: float) -> Iterator[Record]:
        """It is over; the lines that came without a newline."""
        for direction, buffer in self._buffers.items():
            line = buffer.finish()
            if line is not None:
                yield _record(direction, line, now)


def note(what: dict[str, Any], now: float) -> Record:
    """Something about the conversation."""
    return Record(now, TAP, encode(what))


def noted(record: Record) -> dict[str, Any]:
    """What a note says."""
    return cast("dict[str, Any]", decode(record.line))


def _record(direction: str, line: bytes | Overlong, now: float) -> Record:
    if isinstance(line, Overlong):
        return Record(now, direction, line.head, line.size)
    return Record(now, direction, line)
