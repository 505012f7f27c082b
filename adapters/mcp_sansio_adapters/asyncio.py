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
from typing import Any, TypeAlias

from ._async_client import AsyncClient, Changes
from ._async_server import Service
from ._dial import dial
from ._fds import READ_SIZE
from ._front_end import FrontEnd
from ._loop import TLS_PATIENCE, Accepted, Address, AsyncFunction, ByteStream, Event, Loop, Opened, Tasks

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

    async def checkpoint(self) -> None:
        await asyncio.sleep(0)

    async def readable(self, fd: int) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(fd)

    async def writable(self, fd: int) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(fd)

    def tasks(self) -> AbstractAsyncContextManager[Tasks]:
        return _task_group()

    def background(self, function: AsyncFunction) -> AbstractAsyncContextManager[None]:
        return _background(function)

    def detach(self, function: AsyncFunction) -> None:
        task = asyncio.create_task(function(), context=Context())  # not the context of whoever came first
        _detached.add(task)
        task.add_done_callback(_detached.discard)

    async def connect(self, address: Address) -> ByteStream:
        connected = await dial(address.host, address.port)
        secured = _secured(address, server_hostname=address.host)
        return _Streams(await asyncio.open_connection(sock=connected, **secured))

    async def listen(self, address: Address, serve: Accepted, opened: Opened, stop: Event) -> None:
        connections = asyncio.TaskGroup()

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            peer = writer.get_extra_info("peername")
            connections.create_task(serve(_Streams((reader, writer)), peer))

        options = {"start_serving": False, **_secured(address)}
        listening = await asyncio.start_server(accepted, address.host, address.port, **options)
        async with connections:
            try:
                await listening.start_serving()
                opened([each.getsockname()[:2] for each in listening.sockets])
                await stop.wait()
            finally:
                listening.close()

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

    def start(self, function: AsyncFunction, *args: Any) -> Callable[[], object]:
        task = self._group.create_task(function(*args))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task.cancel

    def cancel(self) -> None:
        for task in [*self._running]:
            task.cancel()


@asynccontextmanager
async def _task_group() -> AsyncGenerator[Tasks]:
    async with asyncio.TaskGroup() as group:
        yield _Tasks(group)


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


def _secured(address: Address, **more: Any) -> dict[str, Any]:
    """The options of a connection; they are not allowed without TLS."""
    if address.tls is None:
        return {}
    return {
        "ssl": address.tls,
        "ssl_handshake_timeout": TLS_PATIENCE,
        "ssl_shutdown_timeout": TLS_FAREWELL,
        **more,
    }


class _Streams(ByteStream):
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


LOOP: Loop = _Loop()
_front_end = FrontEnd(LOOP, _Streams)
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
