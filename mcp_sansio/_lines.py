"""Newline framing: a stream of bytes in, whole lines out.

MCP's stdio transport puts one JSON-RPC message on a line. Lines are cut as bytes, before any decoding,
so that neither a character that arrives in two parts nor U+2028 inside a string can disturb them. Each
byte is searched once and copied a fixed number of times, whatever the size of the pieces that it came
in. A line beyond the limit is counted and dropped, but for its first bytes.
"""

from __future__ import annotations

from typing import final

import attrs

HEAD_SIZE = 200
_BOM = b"\xef\xbb\xbf"


@attrs.frozen
class Overlong:
    """A line of `size` bytes that was over the limit; `head` is how it began, for diagnostics."""

    size: int
    head: bytes


@final
class LineBuffer:
    r"""Cuts a byte stream into lines of at most `limit` bytes each, as received but for the newline.

    Only `\n` ends a line. One `\r` before it is white space and removed, a UTF-8 byte order mark is
    removed at the start of the stream, and lines of nothing but white space are skipped. How the
    stream was split when it was fed makes no difference.
    """

    __slots__ = ("_at_start", "_head_size", "_held", "_limit", "_size")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head_size = min(HEAD_SIZE, limit)
        self._held = bytearray()  # the unfinished line, or the head of one that is over the limit
        self._size = 0  # of the unfinished line
        self._at_start = True

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """Take the next bytes and return the lines that they complete, in order."""
        lines: list[bytes | Overlong] = []
        start = 0
        while (
            end := data.find(b"\n", start)
        ) >= 0:  # `split` looks at every byte by itself: a tenth of the speed
            line = self._complete(data[start:end])
            if line is not None:
                lines.append(line)
            start = end + 1
        if start < len(data):
            self._hold(data[start:])
        return lines

    def finish(self) -> bytes | Overlong | None:
        """The stream is over: return its last line if that came without a newline, else None."""
        return self._complete(b"")

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._held += piece
        else:
            self._held += piece[: self._head_size]
            del self._held[self._head_size :]

    def _complete(self, end: bytes) -> bytes | Overlong | None:
        """Finish the current line with `end`; None if it is blank."""
        if self._size:
            self._hold(end)
            line, size = bytes(self._held), self._size
            self._held.clear()
            self._size = 0
        else:
            line, size = end, len(end)
        at_start, self._at_start = self._at_start, False
        if size > self._limit:
            return Overlong(size, line[: self._head_size])
        if at_start:
            line = line.removeprefix(_BOM)
        line = line.removesuffix(b"\r")
        return None if not line or line.isspace() else line
