"""What the asynchronous front ends need of an event loop, and the little that is built on it.

`Loop` is implemented once for asyncio and once for trio; everything else that awaits is written against it,
once for both. Cancellation is the loop's own: code here never catches it, it only cleans up behind it.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol, TypeAlias

import attrs

from ._fds import can_poll, has_room, read_some, write_some

AsyncFunction: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
Accepted: TypeAlias = "Callable[[ByteStream, object], Coroutine[Any, Any, None]]"
"""Serves one connection; the second argument is the peer's address, for display."""

Opened: TypeAlias = Callable[[Sequence[tuple[str, int]]], None]
"""Hears at which addresses and ports connections are accepted."""

AHEAD = 65536
"""How many bytes are written without asking the loop."""

TLS_PATIENCE = 10.0
"""How long a TLS handshake may take, in seconds."""


@attrs.frozen
class Address:
    """Where to connect to, or to listen; with a TLS context if that is to be secure."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


class Event(Protocol):
    """A flag that can be waited for; once set, it stays so."""

    def set(self) -> None:
        """Raise the flag."""

    def is_set(self) -> bool:
        """Whether it is up."""
        ...

    async def wait(self) -> Any:
        """Return when it is up."""


class Tasks(Protocol):
    """Tasks that end before their block does."""

    def start(self, function: AsyncFunction, *args: Any) -> Callable[[], object]:
        """Start a task; call what is returned to cancel it. One that is cancelled first never begins."""
        ...

    def cancel(self) -> None:
        """Cancel all of them."""


class Loop(Protocol):
    """An event loop."""

    def event(self) -> Event:
        """A new event."""
        ...

    async def wait(self, event: Event, seconds: float | None) -> None:
        """Return when `event` is set, or after so many seconds."""

    async def checkpoint(self) -> None:
        """Let others run."""

    async def readable(self, fd: int) -> None:
        """Return when reading would not block."""

    async def writable(self, fd: int) -> None:
        """Return when writing would not block."""

    def tasks(self) -> AbstractAsyncContextManager[Tasks]:
        """A block of tasks; what one of them raises ends the block."""
        ...

    def background(self, function: AsyncFunction) -> AbstractAsyncContextManager[None]:
        """Run `function` beside the block. No cancellation reaches it: the block must tell it to end, and
        is not left before it has.
        """
        ...

    def detach(self, function: AsyncFunction) -> None:
        """Run `function` in a task that belongs to nobody, and is cancelled when the loop ends."""

    async def connect(self, address: Address) -> ByteStream:
        """A TCP connection. What goes wrong is an `OSError`."""
        ...

    async def listen(self, address: Address, serve: Accepted, opened: Opened, stop: Event) -> None:
        """Accept connections until `stop` is set, then wait for those that are open to end.

        `serve` runs in a task of its own for each of them; `opened` is told where we listen. Raises
        `OSError` if we cannot.
        """

    def portal(self) -> Callable[[Callable[[], None]], None]:
        """A function that has the loop call another one, from any thread or signal handler; after the end
        of the loop it does nothing.
        """
        ...


class ByteStream(Protocol):
    """Any reliable stream of bytes. What goes wrong is an `OSError`."""

    async def receive(self) -> bytes:
        """Some bytes; none at the end."""
        ...

    def begin(self, data: bytes) -> bool:
        """Write what can be written without waiting; whether that is all. What is left, and what goes wrong,
        is for `finish`, which has to come before the next `begin`.
        """
        ...

    async def finish(self) -> None:
        """Write what is left."""

    async def close(self) -> None:
        """Let go of it; never raises."""


class Bell:
    """Wakes one waiter, at once if it was rung before he came."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._rung = False
        self._event: Event | None = None  # while somebody waits

    def ring(self) -> None:
        """Wake the waiter."""
        self._rung = True
        if self._event is not None:
            self._event.set()

    async def wait(self, seconds: float | None = None) -> None:
        """Return at the next ring, or after so many seconds."""
        event = self._event = self._loop.event()
        if self._rung:
            event.set()
        try:
            await self._loop.wait(event, seconds)
        finally:
            self._event = None
        self._rung = False


class FdStream:
    """A stream over two file descriptors, which belong to whoever opened them."""

    def __init__(self, loop: Loop, reading: int, writing: int) -> None:
        self._loop = loop
        self._reading = reading
        self._writing = writing
        self._rest = memoryview(b"")
        self._wait_readable = loop.readable if can_poll(reading) else self._at_once
        self._wait_writable = loop.writable if can_poll(writing) else self._at_once

    async def receive(self) -> bytes:
        """Some bytes; none at the end."""
        data = None
        while data is None:
            await self._wait_readable(self._reading)
            data = read_some(self._reading)
        return data

    def begin(self, data: bytes) -> bool:
        """Mostly there is room for all of it, and the loop is not asked; but there is an end to that, so that
        others get their turn.
        """
        self._rest, ahead = memoryview(data), len(data) - AHEAD
        with suppress(OSError):  # it comes again in `finish`
            while len(self._rest) > max(ahead, 0) and has_room(self._writing):
                self._write()
        return not self._rest

    async def finish(self) -> None:
        """Write what is left."""
        while self._rest:
            await self._wait_writable(self._writing)
            self._write()

    def _write(self) -> None:
        self._rest = self._rest[write_some(self._writing, self._rest) :]

    async def close(self) -> None:
        """Nothing to do."""

    async def _at_once(self, fd: int) -> None:
        await self._loop.checkpoint()
