"""The server of the demonstration: started by its client and spoken to over stdio, or by us, at a port.

What a step of the play needs of either is the same: a client, the process that serves it, and its end. Over
stdio a client starts the process again by itself; at a port it has to find the one that we start.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Protocol

from mcp_sansio import McpError
from mcp_sansio_adapters.asyncio import AsyncClient, open_http_client, open_stdio_client

_WITH_PID = ("/bin/sh", "-c", 'echo $$ >"$0"; exec "$@"')
"""Writes the process id of a command to a file, and becomes the command."""

_URL = re.compile(r"http://\S+:(\d+)/[^\s,]*")


class Host(Protocol):
    """A server, and how to reach it. `command` is what runs, `comeback` how it comes back."""

    command: Sequence[str]
    comeback: str

    async def start(self) -> None:
        """Have it, if that is not the client's business. Raises `McpError` if it cannot be started."""

    def open(self, *, first: bool, **options: Any) -> AbstractAsyncContextManager[AsyncClient]:
        """A client; the `first` one is that whose server is killed later."""
        ...

    @property
    def pid(self) -> int:
        """The process that serves the first client."""
        ...

    def kill(self) -> None:
        """End it without warning."""

    async def revive(self) -> None:
        """Start another one, if that is not the client's business."""

    async def close(self) -> None:
        """Let go of it."""


class ChildHost:
    """Each client starts a server of its own."""

    comeback = "The client starts process {} and lists anew."

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.command = command
        self._pid_file = folder / "server.pid"

    async def start(self) -> None:
        """The clients do."""

    def open(self, *, first: bool, **options: Any) -> AbstractAsyncContextManager[AsyncClient]:
        """A client and its server."""
        noted = (*_WITH_PID, str(self._pid_file)) if first else ()
        return open_stdio_client((*noted, *self.command), **options)

    @property
    def pid(self) -> int:
        """As it was written down last."""
        return int(self._pid_file.read_text())

    def kill(self) -> None:
        """SIGKILL, for the process and what it started."""
        os.killpg(self.pid, signal.SIGKILL)

    async def revive(self) -> None:
        """The client does."""

    async def close(self) -> None:
        """The clients do."""


class PortHost:
    """One server for all clients, at a port of this machine."""

    comeback = "Process {} is started at the same port. The client finds it and lists anew."

    def __init__(self, command: Sequence[str], _folder: Path) -> None:
        self.command: Sequence[str] = (*command, "--http", "127.0.0.1:0")
        self._url, self._port = "", "0"
        self._process: asyncio.subprocess.Process | None = None
        self._drain: asyncio.Task[bytes] | None = None

    async def start(self) -> None:
        """Start it, and wait until it says where it listens."""
        line = (*self.command[:-1], f"127.0.0.1:{self._port}")
        self._process = await asyncio.create_subprocess_exec(*line, stderr=asyncio.subprocess.PIPE)
        errors, said = self._process.stderr, ""
        while errors is not None and (heard := await errors.readline()):
            found = _URL.search(said := heard.decode(errors="replace").strip())
            if found is not None:
                self._url, self._port = found[0], found[1]
                self._drain = asyncio.create_task(errors.read())  # nobody's business, but the pipe is small
                return
        raise McpError(f"the server does not say where it serves: {said}")

    def open(self, *, first: bool, **options: Any) -> AbstractAsyncContextManager[AsyncClient]:
        """A client."""
        return open_http_client(self._url, **options)

    @property
    def pid(self) -> int:
        """Of the server of the moment."""
        return 0 if self._process is None else self._process.pid

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def revive(self) -> None:
        """At the same port, when the old one has let go of it."""
        await self.close()
        await self.start()

    async def close(self) -> None:
        """Kill it, if it still runs."""
        self.kill()
        if self._process is not None:
            await self._process.wait()
        if self._drain is not None:
            await self._drain


MakeHost = Callable[[Sequence[str], Path], Host]
HOSTS: dict[str, MakeHost] = {"stdio": ChildHost, "http": PortHost}
NAMES = {"stdio": "stdio", "http": "HTTP"}
