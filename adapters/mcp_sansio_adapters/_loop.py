"""What the asynchronous front ends need of an event loop, and the little that is built on it.

`Loop` is implemented once for asyncio and once for trio; everything else that awaits is written against it,
once for both. Cancellation is the loop's own: code here never catches it, it only cleans up behind it.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs

if TYPE_CHECKING:
    from ._line import Line
    from ._link import Link

AsyncFunction: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
Opened: TypeAlias = Callable[[Sequence[tuple[str, int]]], None]
"""Hears at which addresses and ports connections are accepted."""

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


class Watcher(Protocol):
    """Watches file descriptors."""

    def watch(self, fd: int, events: int, callback: Callable[[], None]) -> Callable[[], object]:
        """Call `callback` whenever `fd` can be read (`selectors.EVENT_READ`), or written, without waiting,
        until what is returned is called; that must be done before the descriptor is closed.
        """
        ...


class Tasks(Watcher, Protocol):
    """Tasks that end before their block does, which is also the end of all watching."""

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

    async def listen(self, address: Address, door: Door, opened: Opened, stop: Event) -> None:
        """Accept connections until `stop` is set, then wait for those that are open to end; whoever sets it
        ends them. `opened` is told where we listen. Raises `OSError` if we cannot.
        """

    def portal(self) -> Callable[[Callable[[], None]], None]:
        """A function that has the loop call another one, from any thread or signal handler; after the end
        of the loop it does nothing.
        """
        ...


class ByteStream(Protocol):
    """Any reliable stream of bytes, which tells its line what has come and what has been written."""

    def start(self, line: Line, tasks: Tasks) -> None:
        """From now on `line` is told of what happens."""

    def want(self, reading: bool) -> None:
        """As `Flow` has it."""

    def write(self, data: bytes) -> bool:
        """As `Flow` has it."""
        ...

    def stop_writing(self) -> None:
        """As `Flow` has it."""

    async def close(self) -> None:
        """Let go of it; never raises."""


class Door(Protocol):
    """What becomes of those who connect."""

    def open(self, stream: ByteStream, peer: object) -> Link:
        """The link of a new connection; `peer` is its address, for display."""
        ...

    async def carry(self, link: Link) -> None:
        """Carry it to its end, and through that."""


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
