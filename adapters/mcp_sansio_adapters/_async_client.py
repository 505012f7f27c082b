"""The user-facing client of the asynchronous front ends.

Every method turns a command into an awaited result; one that is interrupted is cancelled in the core. What
keeps the client connected runs beside it (`_connection`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from mcp_sansio import Completion, GetPromptResult, Limits, PageListed, Snapshot, Updated

from ._connection import Connection
from ._hooks import OnProgress
from ._loop import Bell, Loop
from ._session import ConnectedClient
from ._waiting import Feed, Waiter

T = TypeVar("T")


class Changes:
    """The changes of the list, as an async iterator.

    It sees all that happens from its creation on. A reader who is slower than the server gets one change
    that spans several. It ends when the client is closed, and raises `ConnectionFailed` when the connection
    is lost for good.
    """

    def __init__(self, loop: Loop, feed: Feed) -> None:
        self._bell = Bell(loop)
        self._feed = feed
        feed.wake = self._bell.ring

    def __aiter__(self) -> Changes:
        return self

    async def __anext__(self) -> Updated:
        while True:
            change = self._feed.take()
            if change is not None:
                return change
            if self._feed.ended:
                raise StopAsyncIteration
            await self._bell.wait()


class AsyncClient(ConnectedClient):
    """A connected client of one server.

    Its methods raise `RequestFailed` (`PromptGoneError` among them) for what the server answered or did
    not, `ConnectionFailed` when there is no connection any more, and `LocalProtocolError` for arguments
    that cannot be sent. They may be called from any number of tasks, and cancelled at any time. `limits` take
    the place of the config's timeouts for one call; of a list that is waited for, only `total` counts.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.session)
        self._loop = connection.loop
        self._connection = connection

    async def list_prompts(self, *, stale_ok: bool = False, limits: Limits | None = None) -> Snapshot:
        """All prompts: from the cache while it is fresh (or there is any and `stale_ok`), else asked for."""
        return await self._result(self._session.list_prompts(stale_ok=stale_ok, limits=limits))

    async def refresh_prompts(self, *, limits: Limits | None = None) -> Snapshot:
        """All prompts, asked for from now on, whatever the cache holds."""
        return await self._result(self._session.refresh_prompts(limits))

    async def list_page(self, cursor: str, *, limits: Limits | None = None) -> PageListed:
        """The one page at a cursor of the server's, past the cache: `items` and `next_cursor`."""
        return await self._result(self._session.list_page(cursor, limits))

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        limits: Limits | None = None,
    ) -> GetPromptResult:
        """Render a prompt. `meta` travels in `_meta`; `on_progress` asks for progress and hears of it."""
        waiter = self._session.get_prompt(name, arguments, meta, on_progress, limits)
        return await self._result(waiter)

    async def complete(
        self,
        name: str,
        argument: str,
        value: str,
        context: Mapping[str, str] | None = None,
        *,
        limits: Limits | None = None,
    ) -> Completion:
        """Values for an argument of a prompt; `context` has the arguments that are known already."""
        return await self._result(self._session.complete(name, argument, value, context, limits))

    def changes(self) -> Changes:
        """The changes of the list from now on, to be iterated over with `async for`."""
        return Changes(self._loop, self.feed())

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
        limits: Limits | None = None,
    ) -> Mapping[str, Any]:
        """Make any request; its result."""
        return await self._result(self._session.request(method, params, meta, on_progress, limits))

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification; returns when it has been written."""
        self._session.notify(method, params)
        self._connection.turn()
        await self._connection.drained()

    async def _result(self, waiter: Waiter[T]) -> T:
        over = self._loop.event()
        waiter.wake = over.set
        self._connection.turn()
        try:
            if not waiter.done:
                await over.wait()
        finally:
            self._session.abandon(waiter)
            self._connection.turn()
        return waiter.result()


@asynccontextmanager
async def opened(connection: Connection) -> AsyncGenerator[AsyncClient]:
    """A client that is connected for as long as the block lasts."""
    async with connection.loop.background(connection.run):
        try:
            await connection.ready()
            yield AsyncClient(connection)
        finally:
            connection.stop()
