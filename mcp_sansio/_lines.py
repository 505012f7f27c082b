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
_SMALL = 1024
_CHUNK = 16_384
_BOM = b"\xef\xbb\xbf"


@attrs.frozen
class Overlong:
    """A line of `size` bytes that was over the limit; `head` is how it began, for diagnostics."""

    size: int
    head: bytes


@final
class Held:
    """What has come of something that is not whole yet; only its head, once it is over `limit` bytes.

    `size` counts all that has come. Pieces stay where they are until all is there, for a buffer that grew to
    megabytes would be moved again and again; but small ones are put together, for each is an object.
    """

    __slots__ = ("_chunks", "_limit", "_tail", "size")

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._chunks: list[bytes] = []
        self._tail = bytearray()

    def add(self, piece: bytes) -> None:
        """The next bytes."""
        self.size += len(piece)
        if self.size > self._limit:
            self._keep_head(piece)
            return
        small = len(piece) < _SMALL
        if small:
            self._tail += piece
        if self._tail and not (small and len(self._tail) < _CHUNK):
            self._chunks.append(bytes(self._tail))
            self._tail.clear()
        if not small:
            self._chunks.append(bytes(piece))

    def take(self) -> bytes:
        """What is held; then nothing is."""
        whole = b"".join([*self._chunks, self._tail])
        self._chunks.clear()
        self._tail.clear()
        self.size = 0
        return whole

    def _keep_head(self, piece: bytes) -> None:
        begun = b"".join(self._chunks[:2])  # where the first is short, the second is not
        self._tail = bytearray(begun[:HEAD_SIZE] + self._tail[:HEAD_SIZE] + piece[:HEAD_SIZE])[:HEAD_SIZE]
        self._chunks.clear()


@final
class LineBuffer:
    r"""Cuts a byte stream into lines of at most `limit` bytes each, as received but for the newline.

    Only `\n` ends a line. One `\r` before it is white space and removed, a UTF-8 byte order mark is
    removed at the start of the stream, and lines of nothing but white space are skipped. How the
    stream was split when it was fed makes no difference.
    """

    __slots__ = ("_at_start", "_held", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = Held(limit)  # the unfinished line
        self._at_start = True

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """Take the next bytes and return the lines that they complete, in order."""
        lines: list[bytes | Overlong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:  # `split` would look at each byte by itself
            line = self._complete(data[start:end])
            if line is not None:
                lines.append(line)
            start = end + 1
        if start < len(data):
            self._held.add(data[start:])
        return lines

    def finish(self) -> bytes | Overlong | None:
        """The stream is over: return its last line if that came without a newline, else None."""
        return self._complete(b"")

    def _complete(self, end: bytes) -> bytes | Overlong | None:
        """Finish the current line with `end`; None if it is blank."""
        line, size = end, len(end)
        if self._held.size:
            self._held.add(end)
            size, line = self._held.size, self._held.take()
        at_start, self._at_start = self._at_start, False
        if size > self._limit:
            return Overlong(size, line[: min(HEAD_SIZE, self._limit)])
        if at_start:
            line = line.removeprefix(_BOM)
        line = line.removesuffix(b"\r")
        return None if not line or line.isspace() else line
