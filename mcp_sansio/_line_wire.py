"""Newline-delimited JSON-RPC over any reliable byte stream: stdio, a socket, a pipe.

Lines in, messages to the endpoint at once; messages pulled from the endpoint, lines out. The wire knows
nothing of what it carries. After the last byte has come in, what is still owed goes out; then the wire
is closed. "Messages are delimited by newlines, and MUST NOT contain embedded newlines."
"""

from __future__ import annotations

from typing import Any

from ._contract import Carrier, Endpoint, Send
from ._errors import INVALID_REQUEST
from ._json import Batch, Malformed, Message, Notification, parse
from ._lines import LineBuffer, Overlong
from ._passing import MessagePassed, OnMessage
from ._tables import CHANNEL, Channel, ChannelInput

_OPEN, _CLOSED = Channel.OPEN, Channel.CLOSED  # an attribute of an enum costs as much as a call

MAX_LINE = 32 * 1024 * 1024
MAX_HEARD = 1000
"""How long a notification may be, in bytes, that is kept."""


class LineWire:
    """A byte stream that carries one endpoint; attaches itself to it.

    `max_line` limits a line in bytes: a longer one is drained, reported and answered, and the channel
    lives. `max_depth`, if it is less than 128, limits how deep params and the data of errors may nest;
    results may nest 128 deep, which is seen when they are read. `on_message` hears of every line that
    passes. `token` is the adapter's own.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        now: float,
        *,
        max_line: int = MAX_LINE,
        max_depth: int = 128,
        on_message: OnMessage | None = None,
    ) -> None:
        self.token: Any = None
        self._endpoint = endpoint
        self._lines = LineBuffer(max_line)
        self._max_depth = max_depth
        self._on_message = on_message
        self._state = CHANNEL.start
        self._last: list[bytes] = []
        self._heard: tuple[bytes, Notification] = (b"", Notification("", None))
        self._carrier = Carrier(self)
        endpoint.attach(self._carrier, now)

    @property
    def closed(self) -> bool:
        """Whether nothing will be read or written any more."""
        return self._state is _CLOSED

    @property
    def want_read(self) -> bool:
        """Whether input is welcome; false while too much output waits, and after the end."""
        return self._state is _OPEN and self._endpoint.want_read

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes in; what they make of messages is processed before this returns."""
        if self._state is _OPEN:
            for line in self._lines.feed(data):
                self._deliver(line, now)

    def receive_eof(self, now: float, reason: str = "end of input") -> None:
        """The peer has finished. A complete last line counts without its newline, for no part of a
        message is a message.
        """
        if self._state is not _OPEN or not self._carries():
            return
        rest = self._lines.finish()
        if rest is not None:
            self._deliver(rest, now)
        self._move(ChannelInput.EOF)
        self._endpoint.receive_eof(reason, now)

    def data_to_send(self) -> list[bytes]:
        """Every message that may leave now, as buffers to be written in this order."""
        chunks, self._last = self._last, []
        carries = self._state is not _CLOSED and self._endpoint.carried_by(self._carrier)
        if carries:
            self._pull(chunks)
        if (not carries or self._endpoint.done) and self._state is not _CLOSED:
            self._move(ChannelInput.CLOSE)
            self._move(ChannelInput.DRAINED)
        return chunks

    def _pull(self, chunks: list[bytes]) -> None:
        while (out := self._endpoint.next_outgoing()) is not None:
            if isinstance(out, Send):
                if self._on_message is not None:
                    self._on_message(MessagePassed(True, out.data))
                chunks += (out.data, b"\n")

    def _carries(self) -> bool:
        return self._state is not _CLOSED and self._endpoint.carried_by(self._carrier)

    def close(self, now: float) -> None:
        """No more input, and no output but what is queued: `closed` turns true when that has been drained.
        Requests that are not answered yet are dropped.
        """
        self._move(ChannelInput.CLOSE)
        if self._carries():
            self._pull(self._last)
            self._endpoint.detach("closed", now)

    def abort(self, now: float, reason: str = "aborted") -> None:
        """End at once, what is queued included."""
        if self._carries():
            self._endpoint.fail(reason, now)
        self._last.clear()
        self._move(ChannelInput.ABORT)

    def _move(self, event: ChannelInput) -> None:
        self._state = CHANNEL.next(self._state, event)

    def _deliver(self, line: bytes | Overlong, now: float) -> None:
        if self._state is _CLOSED or not self._endpoint.carried_by(self._carrier):
            return
        if self._on_message is not None:
            self._on_message(MessagePassed(False, line.head if isinstance(line, Overlong) else line))
        if isinstance(line, Overlong):
            reason = f"a line of {line.size} bytes is over the limit"
            self._endpoint.receive(Malformed(INVALID_REQUEST, reason, data=line.head), now)
        else:
            self._endpoint.receive(self._parse(line), now)

    def _parse(self, line: bytes) -> Message | Batch | Malformed:
        """A message. Notifications of a change are all alike, so the last one is known again."""
        if line == self._heard[0]:
            return self._heard[1]
        message = parse(line, max_depth=self._max_depth, recognizes=self._endpoint.recognizes)
        if len(line) <= MAX_HEARD and isinstance(message, Notification):
            self._heard = line, message
        return message
