"""The other side of a server over HTTP: connections that ask, and listeners that hear.

It is the same for all servers, and what it costs is not counted. Every reply must be, byte for byte, the one
that has been checked before anything was timed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

from benchmarks import work

T = TypeVar("T")
LISTEN = "subscriptions/listen"
CHANGED = b"notifications/prompts/list_changed"
ACKNOWLEDGED = b"notifications/subscriptions/acknowledged"
PATIENCE = 60.0


class BadReply(Exception):
    """A server said something that it should not have said."""


def http_request(url: str, method: str, body: bytes, *headers: str) -> bytes:
    """A POST of the modern era."""
    where = urlsplit(url)
    lines = [
        f"POST {where.path} HTTP/1.1",
        f"Host: {where.netloc}",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "MCP-Protocol-Version: 2026-07-28",
        f"Mcp-Method: {method}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def asking(url: str, method: str) -> bytes:
    """The request that a server is measured with."""
    names = [] if method == "prompts/list" else [f"Mcp-Name: {work.name(work.EDITED)}"]
    return http_request(url, method, work.ask(method, "modern"), *names)


def editing(url: str) -> bytes:
    """The request that edits a prompt."""
    name = work.name(work.EDITED)
    body = work.request(1, "prompts/get", "modern", name=name, arguments={"change": work.EDIT})
    return http_request(url, "prompts/get", body, f"Mcp-Name: {name}")


def listening(url: str) -> bytes:
    """The request that hears of changes."""
    body = work.request(1, LISTEN, "modern", notifications={"promptsListChanged": True})
    return http_request(url, LISTEN, body)


class Connection:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.heard = 0

    @classmethod
    async def open(cls, url: str) -> Connection:
        """Connect."""
        where = urlsplit(url)
        return cls(*await asyncio.open_connection(where.hostname, where.port, limit=1 << 22))

    def close(self) -> None:
        """Hang up."""
        self._writer.transport.abort()

    async def ask(self, request: bytes) -> bytes:
        """A request, and the body of its reply. Raises `BadReply`."""
        self._writer.write(request)
        fields = await self._head()
        if fields.get("transfer-encoding") == "chunked":
            return b"".join([chunk async for chunk in self._chunks()])
        return await self._reader.readexactly(int(fields["content-length"]))

    async def listen(self, request: bytes) -> None:
        """Ask for changes, and wait until they will come."""
        self._writer.write(request)
        await self._head()
        await self._reader.readuntil(ACKNOWLEDGED)

    async def hear(self) -> None:
        """Wait for one more change."""
        await self._reader.readuntil(CHANGED)
        self.heard += 1

    async def _head(self) -> dict[str, str]:
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        if " 200 " not in first:
            raise BadReply(first)
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(b"\r\n")


class Crowd:
    """Connections on a loop of their own, which stands still between turns."""

    def __init__(self, url: str, number: int) -> None:
        self._runner = asyncio.Runner()
        self.url = url
        self.connections: list[Connection] = []
        self.grow(number)

    def do(self, what: Coroutine[Any, Any, T]) -> T:
        """Run something on the loop."""
        return self._runner.run(asyncio.wait_for(what, PATIENCE))

    def grow(self, number: int) -> None:
        """So many more connections."""
        self.connections += [self.do(Connection.open(self.url)) for _ in range(number)]

    def close(self) -> None:
        """Hang up."""
        for each in self.connections:
            each.close()
        self.do(asyncio.sleep(0.01))
        self._runner.close()

    def ask(self, request: bytes, times: int, expected: bytes) -> None:
        """Ask so many times, over all connections at once."""
        self.do(self._ask(request, times, expected))

    async def _ask(self, request: bytes, times: int, expected: bytes) -> None:
        left = times

        async def one(connection: Connection) -> None:
            nonlocal left
            while left > 0:
                left -= 1
                if await connection.ask(request) != expected:
                    raise BadReply("another reply than before")

        await asyncio.gather(*(one(each) for each in self.connections))

    def listen(self) -> None:
        """Have all but the first listen."""
        request = listening(self.url)
        for each in self.connections[1:]:
            self.do(each.listen(request))

    def edit(self) -> None:
        """Edit a prompt over the first connection, and wait until all others have heard of it."""
        self.do(self._edit())

    async def _edit(self) -> None:
        editor, *listeners = self.connections
        await asyncio.gather(editor.ask(editing(self.url)), *(each.hear() for each in listeners))
