"""The floor's client of a server elsewhere: pipes that asyncio watches, or a connection on which h11 does the
grammar.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

import h11

from benchmarks import work
from benchmarks.peers import floor_pair as floor


class Far(Protocol):
    """A server elsewhere."""

    async def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        ...


class Pipe:
    """A server at the other end of two pipes."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("there are no pipes")
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._parts: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._reply: asyncio.Future[bytes] = self._loop.create_future()
        self._loop.add_reader(self._out, self._read)

    def _read(self) -> None:
        data = os.read(self._out, 1 << 18)
        self._parts.append(data)
        if data.endswith(b"\n"):
            self._reply.set_result(b"".join(self._parts))
            self._parts.clear()

    async def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        self._reply = self._loop.create_future()
        os.write(self._in, line)
        return await self._reply

    def close(self) -> None:
        """The end of the input is the end of the server."""
        self._loop.remove_reader(self._out)
        with self._process:
            pass


class Socket(asyncio.Protocol):
    """A server at the other end of a connection."""

    def __init__(self, url: str) -> None:
        self._where = urlsplit(url)
        self._wire = h11.Connection(h11.CLIENT)
        self._parts: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._wire.receive_data(data)
        while (event := self._wire.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                self._parts.append(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self._wire.start_next_cycle()
                self._reply.set_result(b"".join(self._parts))
                self._parts.clear()
                return

    async def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        method = floor.request_of(line).method
        headers = [
            ("Host", self._where.netloc),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(line))),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ]
        if method == "prompts/get":
            headers.append(("Mcp-Name", work.name(work.EDITED)))
        wire, head = self._wire, h11.Request(method="POST", target=self._where.path, headers=headers)
        self._reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._transport.write(
            wire.send(head) + wire.send(h11.Data(data=line)) + wire.send(h11.EndOfMessage())
        )
        return await self._reply

    def close(self) -> None:
        """Hang up."""
        self._transport.close()


class Remote:
    """A client of a server elsewhere. It waits for nothing but replies, so it cannot hear of changes."""

    def __init__(self, far: Far) -> None:
        self._far = far
        self._client = floor.Client(floor.Server(0, 1))

    async def _ask(self, method: bytes, params: bytes) -> Any:
        return self._client.hear(await self._far.serve(self._client.ask(method, params)))

    async def list(self) -> Sequence[floor.Prompt]:
        self._client.only_page(bytes(await self._ask(b"prompts/list", b"")))
        return [*self._client.listed.values()]

    async def get(self, arguments: Mapping[str, str]) -> Sequence[floor.Message]:
        params = floor.get_params(work.name(work.EDITED), arguments)
        return floor.messages_from(await self._ask(b"prompts/get", params))

    async def fresh(self, description: str) -> Sequence[floor.Prompt]:
        raise NotImplementedError


@asynccontextmanager
async def connect(target: Any, era: str, *, follow: bool) -> AsyncGenerator[Remote]:
    """A client of the child process of a command, or of a URL."""
    if isinstance(target, str):
        where, socket = urlsplit(target), Socket(target)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: socket, str(where.hostname), where.port or 80)
        far: Pipe | Socket = socket
    else:
        far = Pipe(target)
    try:
        yield Remote(far)
    finally:
        far.close()
