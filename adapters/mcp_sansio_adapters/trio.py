"""Prompt clients and servers on trio: over child processes, over stdio, over any stream.

    async with open_stdio_client(["my-server", "--flag"]) as client:
        for prompt in await client.list_prompts():
            print(prompt.name)

    async with connect(await trio.open_tcp_stream("127.0.0.1", 7000)) as client:
        ...

    await serve_stdio(server)

    async with open_http_client("https://example.com/mcp", headers={"Authorization": "Bearer …"}) as client:
        ...

    await serve_http(server, "127.0.0.1", 8000)

Child processes and stdio need a system that can watch file descriptors, as every POSIX system can.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any

import trio

from ._async_client import AsyncClient, Changes
from ._async_server import Service
from ._fds import READ_SIZE, can_poll
from ._front_end import FrontEnd
from ._loop import TLS_PATIENCE, Address, AsyncFunction, ByteStream, Door, Event, Loop, Opened, Tasks
from ._streams import Pulled, Source

__all__ = [
    "AsyncClient",
    "Changes",
    "Service",
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


class _Loop:
    """trio, as `Loop` has it."""

    def event(self) -> Event:
        return trio.Event()

    async def wait(self, event: Event, seconds: float | None) -> None:
        with trio.move_on_after(math.inf if seconds is None else seconds):
            await event.wait()

    def tasks(self) -> AbstractAsyncContextManager[Tasks]:
        return _nursery()

    def background(self, function: AsyncFunction) -> AbstractAsyncContextManager[None]:
        return _background(function)

    def detach(self, function: AsyncFunction) -> None:
        trio.lowlevel.spawn_system_task(function)

    async def connect(self, address: Address) -> ByteStream:
        try:
            stream = await trio.open_tcp_stream(address.host, address.port)
        except OSError as error:
            raise error.__cause__ if isinstance(error.__cause__, OSError) else error from None
        with _os_errors():
            return _wrapped(await _secured(stream, address.tls, address.host))

    async def listen(self, address: Address, door: Door, opened: Opened, stop: Event) -> None:
        async def accepted(stream: trio.SocketStream) -> None:
            try:
                with _os_errors():
                    peer = stream.socket.getpeername()
                    secured = await _secured(stream, address.tls)
            except OSError:
                await trio.aclose_forcefully(stream)
                return
            await door.carry(door.open(_wrapped(secured), peer))

        listeners = await trio.open_tcp_listeners(address.port, host=address.host)
        opened([each.socket.getsockname()[:2] for each in listeners])
        async with trio.open_nursery() as connections, trio.open_nursery() as accepting:
            accepting.start_soon(
                partial(trio.serve_listeners, accepted, listeners, handler_nursery=connections)
            )
            await stop.wait()
            accepting.cancel_scope.cancel()

    def portal(self) -> Callable[[Callable[[], None]], None]:
        token = trio.lowlevel.current_trio_token()

        def call(function: Callable[[], None]) -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(function)

        return call


class _Tasks:
    """The tasks of a nursery, each with a scope of its own."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    def start(self, function: AsyncFunction, *args: Any) -> Callable[[], object]:
        scope = trio.CancelScope()

        async def run() -> None:
            with scope:
                await trio.lowlevel.checkpoint_if_cancelled()
                await function(*args)

        self._nursery.start_soon(run)
        return scope.cancel

    def watch(self, fd: int, events: int, callback: Callable[[], None]) -> Callable[[], object]:
        ready = trio.lowlevel.wait_readable if events == EVENT_READ else trio.lowlevel.wait_writable
        return self.start(_watch, partial(ready, fd) if can_poll(fd) else trio.lowlevel.checkpoint, callback)

    def cancel(self) -> None:
        self._nursery.cancel_scope.cancel()


async def _watch(ready: AsyncFunction, callback: Callable[[], None]) -> None:
    while True:
        await ready()
        callback()


@asynccontextmanager
async def _nursery() -> AsyncGenerator[Tasks]:
    async with trio.open_nursery() as nursery:
        yield _Tasks(nursery)


@asynccontextmanager
async def _background(function: AsyncFunction) -> AsyncGenerator[None]:
    """A shielded task. What the block raises is kept out of the nursery, which would wrap it in a group."""
    failure: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_shielded, function)
        try:
            yield
        except (trio.Cancelled, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  # it is raised again below
            failure = error
    if failure is not None:
        raise failure


async def _shielded(function: AsyncFunction) -> None:
    with trio.CancelScope(shield=True):
        await function()


class _Stream(Source):
    """A trio stream, whose errors are made those of the operating system."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._rest = b""

    async def receive(self) -> bytes:
        with _os_errors():
            return bytes(await self._stream.receive_some(READ_SIZE))

    def begin(self, data: bytes) -> bool:
        self._rest = data  # trio writes nothing without a checkpoint
        return False

    async def finish(self) -> None:
        with _os_errors():
            await self._stream.send_all(self._rest)

    async def close(self) -> None:
        await self._stream.aclose()


async def _secured(
    stream: trio.SocketStream, tls: ssl.SSLContext | None, host: str | None = None
) -> trio.abc.Stream:
    """The stream within TLS, if it is to be: as a client of `host`, or else as a server."""
    if tls is None:
        return stream
    secured = trio.SSLStream(
        stream, tls, server_hostname=host, server_side=host is None, https_compatible=True
    )
    try:
        with trio.fail_after(TLS_PATIENCE):
            await secured.do_handshake()
    except trio.TooSlowError:
        await trio.aclose_forcefully(stream)
        raise TimeoutError("the TLS handshake took too long") from None
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secured


@contextmanager
def _os_errors() -> Generator[None]:
    try:
        yield
    except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
        raise OSError(str(error.__cause__ or error) or type(error).__name__) from error


def _wrapped(stream: trio.abc.Stream) -> ByteStream:
    return Pulled(LOOP, _Stream(stream))


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
