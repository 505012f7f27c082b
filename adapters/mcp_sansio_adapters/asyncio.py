"""Prompt clients and servers on asyncio: over child processes, over stdio, over any pair of streams.

    async with open_stdio_client(["my-server", "--flag"]) as client:
        for prompt in await client.list_prompts():
            print(prompt.name)

    await serve_stdio(server)

The loop must be able to watch file descriptors, as every loop on a POSIX system can.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from mcp_sansio import ClientConfig, ListingConfig, Server

from ._async_client import AsyncClient, Changes, opened
from ._async_server import GRACE, Service, opened_service
from ._async_server import serve_stdio as _serve_stdio
from ._loop import READ_SIZE, AsyncFunction, ByteStream, Event, Tasks
from ._peers import ChildPeer, StreamPeer
from ._process import OnStderr, ProcessPolicy, ProcessSpec, RestartBudget
from ._session import Hooks, OnEvent, OnInput, OnRequest, Session

__all__ = [
    "AsyncClient",
    "Changes",
    "Service",
    "connect",
    "open_service",
    "open_stdio_client",
    "serve_stdio",
    "serve_stream",
]


def open_stdio_client(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    config: ClientConfig | None = None,
    listing: ListingConfig | None = None,
    on_input: OnInput | None = None,
    on_request: OnRequest | None = None,
    on_event: OnEvent | None = None,
    on_stderr: OnStderr | None = None,
    policy: ProcessPolicy | None = None,
) -> AbstractAsyncContextManager[AsyncClient]:
    """Start a server as a child process and be its client for the block.

    Entering waits until the era is known, and raises `ConnectionFailed` if that does not come about. A
    server that dies later is started again, as `policy` allows. `env` is its whole environment, ours by
    default. With `on_input` (and no config that says otherwise) elicitation forms are offered.
    """
    spec = ProcessSpec(
        command=command, env=env, cwd=cwd, policy=policy or ProcessPolicy(), on_stderr=on_stderr
    )
    session = Session(config, listing, Hooks(on_input, on_request, on_event))
    budget = RestartBudget(spec.policy, session.client.config.delay)
    loop = _Loop()
    return opened(loop, lambda: ChildPeer(loop, spec), session, budget)


def connect(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    config: ClientConfig | None = None,
    listing: ListingConfig | None = None,
    on_input: OnInput | None = None,
    on_request: OnRequest | None = None,
    on_event: OnEvent | None = None,
) -> AbstractAsyncContextManager[AsyncClient]:
    """Be the client of whoever is at the other end of an open stream, for the block; it is closed then.

    As `open_stdio_client` otherwise; when the stream ends, so does the client.
    """
    session = Session(config, listing, Hooks(on_input, on_request, on_event))
    loop = _Loop()
    return opened(loop, lambda: StreamPeer(loop, _Streams(reader, writer)), session)


def open_service(
    server: Server,
    *,
    on_request: OnRequest | None = None,
    on_event: OnEvent | None = None,
    grace: float = GRACE,
) -> AbstractAsyncContextManager[Service]:
    """Drive a server for the block, for any number of peers: `serve_stream(service, reader, writer)` each.

    `on_request` answers requests of methods that belong to no layer. `grace` is how many seconds replies
    get that are owed to a peer who has finished.
    """
    return opened_service(_Loop(), server, on_request=on_request, on_event=on_event, grace=grace)


async def serve_stream(
    service: Service | Server,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    principal: str | None = None,
) -> None:
    """Serve one peer until it is gone, then close the stream. A `Server` is driven for this peer alone."""
    if isinstance(service, Server):
        async with open_service(service) as alone:
            await serve_stream(alone, reader, writer, principal=principal)
    else:
        peer = writer.get_extra_info("peername")
        await service.serve(_Streams(reader, writer), principal=principal, peer=peer)


async def serve_stdio(
    server: Server,
    *,
    principal: str | None = None,
    on_request: OnRequest | None = None,
    on_event: OnEvent | None = None,
    grace: float = GRACE,
) -> None:
    """Serve whoever started this process, over stdin and stdout, until the input ends, the output breaks
    or SIGTERM, SIGINT or SIGHUP arrives; handlers that still run are cancelled then.
    """
    await _serve_stdio(
        _Loop(), server, principal=principal, on_request=on_request, on_event=on_event, grace=grace
    )


class _Loop:
    """asyncio, as `Loop` has it."""

    def event(self) -> Event:
        return asyncio.Event()

    async def wait(self, event: Event, seconds: float | None) -> None:
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


class _Streams(ByteStream):
    """A reader and a writer, with nothing buffered in between: what waits stays in the machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=0)

    async def receive(self) -> bytes:
        return await self._reader.read(READ_SIZE)

    async def send(self, chunks: list[bytes]) -> None:
        self._writer.writelines(chunks)
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
