"""The three front ends as one, so that one scenario can run on all of them.

A scenario is a coroutine function that gets a `Front`. On the blocking front end the coroutine never waits:
its client is the blocking one behind methods that only look asynchronous.
"""

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import trio

import mcp_sansio_adapters.asyncio as on_asyncio
import mcp_sansio_adapters.blocking as on_blocking
import mcp_sansio_adapters.trio as on_trio
from mcp_sansio import Updated

PATIENCE = 30.0
"""How long a scenario may take before it is given up, in seconds: only ever reached by a failure."""

Command = Sequence[str]
Scenario = Callable[..., Coroutine[Any, Any, None]]
AsyncFunction = Callable[[], Coroutine[Any, Any, Any]]


def our_server(front: str = "asyncio", *options: str) -> Command:
    """The command of a server on one of our own front ends."""
    return (sys.executable, str(Path(__file__).with_name("adapter_server.py")), front, *options)


def announced(command: Command) -> Command:
    """The same server, which first tells its process id on stderr."""
    return ("sh", "-c", 'echo $$ >&2; exec "$@"', "sh", *command)


def text(result: Any) -> str:
    """The text of a rendered prompt's only message."""
    content: str = result.messages[0].content.text
    return content


def no_child_is_left() -> bool:
    """Whether this process has neither a running child nor a zombie."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


class Awaitable:
    """The blocking client, with methods to be awaited."""

    def __init__(self, client: on_blocking.BlockingClient) -> None:
        self._client = client
        self.plain = client

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        if not callable(value):
            return value

        async def call(*args: Any, **kwargs: Any) -> Any:
            return value(*args, **kwargs)

        return call

    def changes(self) -> "AwaitableChanges":
        return AwaitableChanges(self._client.changes())


class AwaitableChanges:
    """The blocking changes, as an async iterator."""

    def __init__(self, changes: on_blocking.Changes) -> None:
        self._changes = changes

    def __aiter__(self) -> "AwaitableChanges":
        return self

    async def __anext__(self) -> Updated:
        try:
            return next(self._changes)
        except StopIteration:
            raise StopAsyncIteration from None


class Front:
    """A front end: its clients, and how to run a scenario on it."""

    name = ""
    module: Any = None

    def run(self, scenario: Scenario, *args: Any) -> None:
        raise NotImplementedError

    def open_stdio_client(self, command: Command, **options: Any) -> AbstractAsyncContextManager[Any]:
        client: AbstractAsyncContextManager[Any] = self.module.open_stdio_client(command, **options)
        return client

    def connect(self, sock: socket.socket, **options: Any) -> AbstractAsyncContextManager[Any]:
        raise NotImplementedError

    async def serve(self, server: Any, sock: socket.socket, principal: str | None = None) -> None:
        raise NotImplementedError


class AsyncFront(Front):
    """A front end with a loop: what else its tests need of that."""

    def event(self) -> Any:
        raise NotImplementedError

    async def checkpoint(self) -> None:
        raise NotImplementedError

    def within(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Give up the block after so many seconds, quietly."""
        raise NotImplementedError

    async def together(self, *functions: AsyncFunction) -> None:
        """Run all of these at once."""
        raise NotImplementedError

    async def interrupt(self, function: AsyncFunction, when: AsyncFunction) -> None:
        """Run `function`, and cancel it when `when` has returned."""
        raise NotImplementedError


class AsyncioFront(AsyncFront):
    name = "asyncio"
    module = on_asyncio

    def event(self) -> asyncio.Event:
        return asyncio.Event()

    async def checkpoint(self) -> None:
        await asyncio.sleep(0)

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncGenerator[None]:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                yield

    async def together(self, *functions: AsyncFunction) -> None:
        async with asyncio.TaskGroup() as group:
            for function in functions:
                group.create_task(function())

    async def interrupt(self, function: AsyncFunction, when: AsyncFunction) -> None:
        task = asyncio.create_task(function())
        await when()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def run(self, scenario: Scenario, *args: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENCE):
                await scenario(self, *args)

        asyncio.run(bounded(), debug=True)

    @asynccontextmanager
    async def connect(self, sock: socket.socket, **options: Any) -> AsyncGenerator[Any]:
        async with on_asyncio.connect(await asyncio.open_connection(sock=sock), **options) as client:
            yield client

    async def serve(self, server: Any, sock: socket.socket, principal: str | None = None) -> None:
        streams = await asyncio.open_connection(sock=sock)
        await on_asyncio.serve_stream(server, streams, principal=principal)


class TrioFront(AsyncFront):
    name = "trio"
    module = on_trio

    def event(self) -> trio.Event:
        return trio.Event()

    async def checkpoint(self) -> None:
        await trio.lowlevel.checkpoint()

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncGenerator[None]:
        with trio.move_on_after(seconds):
            yield

    async def together(self, *functions: AsyncFunction) -> None:
        async with trio.open_nursery() as nursery:
            for function in functions:
                nursery.start_soon(function)

    async def interrupt(self, function: AsyncFunction, when: AsyncFunction) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(function)
            await when()
            nursery.cancel_scope.cancel()

    def run(self, scenario: Scenario, *args: Any) -> None:
        async def bounded() -> None:
            with trio.fail_after(PATIENCE):
                await scenario(self, *args)

        trio.run(bounded)

    def connect(self, sock: socket.socket, **options: Any) -> AbstractAsyncContextManager[Any]:
        return on_trio.connect(trio.SocketStream(trio.socket.from_stdlib_socket(sock)), **options)

    async def serve(self, server: Any, sock: socket.socket, principal: str | None = None) -> None:
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
        await on_trio.serve_stream(server, stream, principal=principal)


class BlockingFront(Front):
    name = "blocking"
    module = on_blocking

    def run(self, scenario: Scenario, *args: Any) -> None:
        coroutine = scenario(self, *args)
        try:
            coroutine.send(None)
        except StopIteration:
            return
        raise AssertionError("a scenario for the blocking front end has waited for a loop")

    @asynccontextmanager
    async def open_stdio_client(self, command: Command, **options: Any) -> AsyncGenerator[Any]:
        with on_blocking.open_stdio_client(command, **options) as client:
            yield Awaitable(client)

    @asynccontextmanager
    async def connect(self, sock: socket.socket, **options: Any) -> AsyncGenerator[Any]:
        with on_blocking.connect(sock, **options) as client:
            yield Awaitable(client)

    async def serve(self, server: Any, sock: socket.socket, principal: str | None = None) -> None:
        on_blocking.serve_stream(server, sock, principal=principal)


ASYNC_FRONTS: tuple[AsyncFront, ...] = (AsyncioFront(), TrioFront())
FRONTS: tuple[Front, ...] = (*ASYNC_FRONTS, BlockingFront())


def front_name(front: Front) -> str:
    """For the names of parametrized tests."""
    return front.name


# --- servers written by hand ---


def serve_by_hand(sock: socket.socket, answers: Mapping[str, Sequence[str]], heard: list[str]) -> None:
    """A server that says the given lines on each message of a method, and keeps what it hears."""
    with sock, sock.makefile("rwb") as stream:
        for line in stream:
            message = json.loads(line)
            heard.append(message.get("method", f"answer {message.get('result', message.get('error'))}"))
            for answer in answers.get(heard[-1], ()):
                stream.write(answer.replace("ID", str(message.get("id"))).encode() + b"\n")
            stream.flush()


WELCOME = (
    '{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},'
    '"serverInfo":{"name":"hand","version":"0"}}}'
)


PONG = '{"jsonrpc":"2.0","id":ID,"result":{}}'


def ask(ident: int, method: str) -> str:
    return f'{{"jsonrpc":"2.0","id":{ident},"method":"{method}"}}'


def by_hand(front: Front, answers: Mapping[str, Sequence[str]], scenario: Scenario) -> list[str]:
    """Run a scenario against such a server; it gets the socket to connect to."""
    heard: list[str] = []
    ours, theirs = socket.socketpair()
    server = threading.Thread(target=serve_by_hand, args=(theirs, answers, heard))
    server.start()
    front.run(scenario, ours)
    server.join()
    return heard
