"""Prompt clients and servers on asyncio: over child processes, over stdio, over any pair of streams.

    async with open_stdio_client(["my-server", "--flag"]) as client:
        for prompt in await client.list_prompts():
            print(prompt.name)

    async with connect(await asyncio.open_connection("127.0.0.1", 7000)) as client:
        ...

    await serve_stdio(server)

    async with open_http_client("https://example.com/mcp", headers={"Authorization": "Bearer …"}) as client:
        ...

    await serve_http(server, "127.0.0.1", 8000)

The loop must be able to watch file descriptors, as every loop on a POSIX system can.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import Context
from functools import partial
from selectors import EVENT_READ
from typing import Any, TypeAlias, cast

from ._async_client import AsyncClient, Changes
from ._async_server import Service
from ._dial import dial
from ._fds import READ_SIZE, can_poll
from ._front_end import FrontEnd
from ._line import Line
from ._link import Link
from ._loop import TLS_PATIENCE, Address, AsyncFunction, ByteStream, Door, Event, Loop, Opened, Tasks
from ._streams import Pulled, Source

__all__ = [
    "AsyncClient",
    "Changes",
    "Service",
    "Streams",
    "connect",
    "open_http_client",
    "open_http_server",
    "open_server",
    "open_service",
    "open_several",
    "open_stdio_client",
    "serve_http",
    "serve_stdio",
    "serve_stream",
]

TLS_FAREWELL = 1.0

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""A stream, as `asyncio.open_connection` returns it."""


_detached: set[asyncio.Task[Any]] = set()
"""The loop itself does not keep tasks alive."""


class _Loop:
    """asyncio, as `Loop` has it."""

    def event(self) -> Event:
        return asyncio.Event()

    async def wait(self, event: Event, seconds: float | None) -> None:
        if seconds is None:
            await event.wait()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    def tasks(self) -> AbstractAsyncContextManager[Tasks]:
        return _task_group()

    def background(self, function: AsyncFunction) -> AbstractAsyncContextManager[None]:
        return _background(function)

    def detach(self, function: AsyncFunction) -> None:
        task = asyncio.create_task(function(), context=Context())  # not the context of whoever came first
        _detached.add(task)
        task.add_done_callback(_detached.discard)

    async def connect(self, address: Address) -> ByteStream:
        connected, secured = await dial(address.host, address.port), _secured(address)
        if address.tls is not None:
            secured["server_hostname"] = address.host
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(_Socket, sock=connected, **secured))[1]

    async def listen(self, address: Address, door: Door, opened: Opened, stop: Event) -> None:
        loop, ending = asyncio.get_running_loop(), asyncio.TaskGroup()
        tasks, sockets = _Tasks(ending), dict[_Socket, None]()

        def accepted(socket: _Socket) -> None:
            """There is a task when it ends, and none before."""
            sockets[socket] = None
            link = door.open(socket, socket.peer)
            link.on_end = lambda: tasks.start(carry, socket, link)
            link.start(tasks)

        async def carry(socket: _Socket, link: Link) -> None:
            try:
                await door.carry(link)
            finally:
                sockets.pop(socket, None)

        listening = await loop.create_server(
            lambda: _Socket(accepted), address.host, address.port, start_serving=False, **_secured(address)
        )
        try:
            async with ending:
                await listening.start_serving()
                opened([each.getsockname()[:2] for each in listening.sockets])
                await stop.wait()
                listening.close()
        finally:
            listening.close()
            for socket in sockets:
                socket.drop()

    def portal(self) -> Callable[[Callable[[], None]], None]:
        loop = asyncio.get_running_loop()

        def call(function: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(function)

        return call


class _Tasks:
    """The tasks of a group, which can be cancelled together."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[Any]] = set()
        self._watched: dict[tuple[int, int], Callable[[int], object]] = {}

    def start(self, function: AsyncFunction, *args: Any) -> Callable[[], object]:
        task = self._group.create_task(function(*args))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task.cancel

    def watch(self, fd: int, events: int, callback: Callable[[], None]) -> Callable[[], object]:
        if not can_poll(fd):
            return self.start(_always, callback)
        loop, key = asyncio.get_running_loop(), (fd, events)
        (loop.add_reader if events == EVENT_READ else loop.add_writer)(fd, callback)
        self._watched[key] = loop.remove_reader if events == EVENT_READ else loop.remove_writer
        return partial(self._unwatch, key)

    def _unwatch(self, key: tuple[int, int]) -> None:
        stop = self._watched.pop(key, None)
        if stop is not None:
            stop(key[0])

    def cancel(self) -> None:
        for task in [*self._running]:
            task.cancel()
        self.unwatch()

    def unwatch(self) -> None:
        """Watch nothing any more."""
        for key in [*self._watched]:
            self._unwatch(key)


async def _always(callback: Callable[[], None]) -> None:
    """What cannot be waited for is always ready."""
    while True:
        await asyncio.sleep(0)
        callback()


@asynccontextmanager
async def _task_group() -> AsyncGenerator[Tasks]:
    async with asyncio.TaskGroup() as group:
        tasks = _Tasks(group)
        try:
            yield tasks
        finally:
            tasks.unwatch()


@asynccontextmanager
async def _background(function: AsyncFunction) -> AsyncGenerator[None]:
    """A task of its own, not of a group, for a group would cancel it with the block."""
    task = asyncio.create_task(function())
    try:
        yield
    finally:
        await _to_its_end(task)


async def _to_its_end(task: asyncio.Task[Any]) -> None:
    """Wait for `task`, whatever happens to us meanwhile; a cancellation is passed on afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if not task.cancelled():
        task.result()
    if cancelled is not None:
        raise cancelled


def _secured(address: Address) -> dict[str, Any]:
    """The options of a connection; they are not allowed without TLS."""
    if address.tls is None:
        return {}
    return {
        "ssl": address.tls,
        "ssl_handshake_timeout": TLS_PATIENCE,
        "ssl_shutdown_timeout": TLS_FAREWELL,
    }


class _Socket(asyncio.Protocol, ByteStream):
    """A socket that calls back: it needs no task, and keeps nothing but what the system did not take."""

    _transport: asyncio.Transport

    def __init__(self, opened: Callable[[_Socket], None] | None = None) -> None:
        self._opened = opened
        self._line: Line | None = None
        self._waits = False
        self._lost = False
        self._closed: asyncio.Future[None] | None = None

    # --- for the line ---

    @property
    def peer(self) -> object:
        """The address at the other end."""
        return self._transport.get_extra_info("peername")

    def start(self, line: Line, tasks: Tasks) -> None:
        self._line = line

    def want(self, reading: bool) -> None:
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def write(self, data: bytes) -> bool:
        transport = self._transport
        transport.write(data)
        self._waits = bool(transport.get_write_buffer_size()) or transport.is_closing()
        return not self._waits

    def stop_writing(self) -> None:
        """What is left goes when the socket is closed."""

    async def close(self) -> None:
        if self._transport.get_write_buffer_size():
            self._transport.abort()  # a write was cancelled; its rest would be waited for
        self._transport.close()
        if not self._lost:
            self._closed = asyncio.get_running_loop().create_future()
            await self._closed

    def drop(self) -> None:
        """Let go of it at once, and tell nobody."""
        self._line = None
        self._transport.abort()

    # --- for asyncio ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)
        self._transport.pause_reading()
        if self._opened is not None:
            self._opened(self)

    def data_received(self, data: bytes) -> None:
        if self._line is not None:
            self._line.feed(data)

    def eof_received(self) -> bool:
        if self._line is not None:
            self._line.feed(b"")
        return self._transport.get_extra_info("sslcontext") is None  # TLS has no half of an end

    def resume_writing(self) -> None:
        if self._waits and self._line is not None:
            self._waits = False
            self._line.written()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)
        line, error = self._line, exc or ConnectionError("the connection is closed")
        if line is not None:
            if not line.read_over:
                line.reading_failed(error)
            line.writing_failed(error)


class _Streams(Source):
    """A reader and a writer, with nothing buffered in between: what waits stays in the machine."""

    def __init__(self, streams: Streams) -> None:
        self._reader, self._writer = streams
        self._writer.transport.set_write_buffer_limits(high=0)

    async def receive(self) -> bytes:
        return await self._reader.read(READ_SIZE)

    def begin(self, data: bytes) -> bool:
        transport = self._writer.transport
        self._writer.write(data)
        return not (transport.get_write_buffer_size() or transport.is_closing())

    async def finish(self) -> None:
        await self._writer.drain()

    async def close(self) -> None:
        if self._writer.transport.get_write_buffer_size():
            self._writer.transport.abort()  # a write was cancelled; its rest would be waited for
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


def _wrapped(streams: Streams) -> ByteStream:
    return Pulled(LOOP, _Streams(streams))


LOOP: Loop = _Loop()
_front_end = FrontEnd(LOOP, _wrapped)
open_stdio_client = _front_end.open_stdio_client
connect = _front_end.connect
open_server = _front_end.open_server
open_several = _front_end.open_several
open_service = _front_end.open_service
serve_stream = _front_end.serve_stream
serve_stdio = _front_end.serve_stdio
open_http_client = _front_end.open_http_client
open_http_server = _front_end.open_http_server
serve_http = _front_end.serve_http
