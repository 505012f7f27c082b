"""Prompt clients and servers for blocking code: over child processes, over stdio, over a connected socket.

    with open_stdio_client(["my-server", "--flag"]) as client:
        for prompt in client.list_prompts():
            print(prompt.name)

    serve_stdio(server)

There is no event loop and, for a client, no thread: the connection lives while one of its methods waits, and
`wait` lets it live when there is nothing else to do. A client belongs to one thread at a time.
"""

from __future__ import annotations

import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar, Unpack

from mcp_sansio import Completion, GetPromptResult, Limits, PageListed, Server, Snapshot, Updated

from ._blocking_client import ChildPeer, Connection, SocketPeer
from ._blocking_server import Host
from ._hooks import OnProgress
from ._options import (
    ClientOptions,
    ProcessOptions,
    ServerOptions,
    StdioOptions,
    process_of,
    session_of,
)
from ._process import ProcessPolicy, Restarts
from ._session import ConnectedClient, Session
from ._stdio import claimed_stdio, on_signals
from ._waiting import Feed, Waiter

__all__ = [
    "BlockingClient",
    "Changes",
    "connect",
    "open_stdio_client",
    "serve_stdio",
    "serve_stream",
]

T = TypeVar("T")


class Changes:
    """The changes of the list from its creation on, as an iterator that waits for each.

    At most one change waits, which may span several. It ends when the client is closed, and raises
    `ConnectionFailed` when the connection is lost for good.
    """

    def __init__(self, feed: Feed, connection: Connection) -> None:
        self._feed = feed
        self._connection = connection

    def __iter__(self) -> Changes:
        return self

    def __next__(self) -> Updated:
        while not self._feed.ended:
            change = self._feed.take()
            if change is not None:
                return change
            self._connection.step()
        raise StopIteration


class BlockingClient(ConnectedClient):
    """A connected client of one server: `AsyncClient` without the waiting for it.

    Methods raise `RequestFailed`, `ConnectionFailed` and `LocalProtocolError` as its do, and take as long
    as the timeouts of the `ClientConfig`, or their `limits`, let them.
    """

    def __init__(self, session: Session, connection: Connection) -> None:
        super().__init__(session)
        self._connection = connection

    def list_prompts(self, *, stale_ok: bool = False, limits: Limits | None = None) -> Snapshot:
        """All prompts: from the cache while it is fresh (or there is any and `stale_ok`), else asked for."""
        return self._result(self._session.list_prompts(stale_ok=stale_ok, limits=limits))

    def refresh_prompts(self, *, limits: Limits | None = None) -> Snapshot:
        """All prompts, asked for from now on, whatever the cache holds."""
        return self._result(self._session.refresh_prompts(limits))

    def list_page(self, cursor: str, *, limits: Limits | None = None) -> PageListed:
        """The one page at a cursor of the server's, past the cache: `items` and `next_cursor`."""
        return self._result(self._session.list_page(cursor, limits))

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        limits: Limits | None = None,
    ) -> GetPromptResult:
        """Render a prompt. `meta` travels in `_meta`; `on_progress` asks for progress and hears of it."""
        return self._result(self._session.get_prompt(name, arguments, meta, on_progress, limits))

    def complete(
        self,
        name: str,
        argument: str,
        value: str,
        context: Mapping[str, str] | None = None,
        *,
        limits: Limits | None = None,
    ) -> Completion:
        """Values for an argument of a prompt; `context` has the arguments that are known already."""
        return self._result(self._session.complete(name, argument, value, context, limits))

    def changes(self) -> Changes:
        """The changes of the list from now on."""
        return Changes(self.feed(), self._connection)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        limits: Limits | None = None,
    ) -> Mapping[str, Any]:
        """Make any request; its result."""
        return self._result(self._session.request(method, params, meta, on_progress, limits))

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification; returns when it has been written."""
        self._session.notify(method, params)
        self._connection.reactor.turn()
        self._connection.until(lambda: self._connection.drained)

    def wait(self, seconds: float) -> None:
        """Let the connection live for so long: changes are noticed, pings answered, the list kept fresh."""
        self._session.check()
        self._connection.until(lambda: False, seconds)

    def _result(self, waiter: Waiter[T]) -> T:
        try:
            self._connection.until(lambda: waiter.done)
        finally:
            self._session.abandon(waiter)
            self._connection.reactor.turn()
        return waiter.result()


def open_stdio_client(
    command: Sequence[str], **options: Unpack[ProcessOptions]
) -> AbstractContextManager[BlockingClient]:
    """Start a server as a child process and be its client for the block.

    Entering waits until the era is known, and raises `ConnectionFailed` (with exit code and the end of
    stderr) if that does not come about. `ProcessOptions` are the options; no function among them may be
    asynchronous.
    """
    spec, session = process_of(command, options), session_of(options)
    restarts = Restarts(spec.policy, session.client.config.delay)
    return _opened(session, Connection(partial(ChildPeer, spec), session, restarts))


def connect(sock: socket.socket, **options: Unpack[ClientOptions]) -> AbstractContextManager[BlockingClient]:
    """Be the client of whoever is at the other end of a connected stream socket, for the block; it is closed
    in the end. `ClientOptions` are the options.
    """
    session = session_of(options)
    once = Restarts(ProcessPolicy(restarts=0), session.client.config.delay)
    return _opened(session, Connection(partial(SocketPeer, sock), session, once))


@contextmanager
def _opened(session: Session, connection: Connection) -> Generator[BlockingClient]:
    try:
        connection.start()
        yield BlockingClient(session, connection)
    finally:
        connection.stop()


def serve_stream(
    server: Server,
    sock: socket.socket,
    *,
    principal: str | None = None,
    **options: Unpack[ServerOptions],
) -> None:
    """Serve one peer over a connected stream socket until it is gone, then close that.

    `principal` is whom the application has authenticated. Handlers run in threads of their own.
    """
    sock.setblocking(False)
    with sock, sock.dup() as writing:
        Host(server, options).serve((sock.fileno(), writing.fileno()), principal)


def serve_stdio(server: Server, **options: Unpack[StdioOptions]) -> None:
    """Serve whoever started this process, over stdin and stdout, as the other front ends do.

    Returns when the input has ended, when the output breaks, and when SIGTERM, SIGINT or SIGHUP arrives.
    Handlers run in threads of their own; what they have not finished by then is given up.
    """
    host = Host(server, options)
    with claimed_stdio() as fds, on_signals(host.close):
        host.serve(fds, options.get("principal"))
