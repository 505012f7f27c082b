"""The server of the demonstration: started by its client and spoken to over stdio, or by us, at a port.

What a step of the play needs of either is the same: a client, the process that serves it, and its end. Over
stdio a client starts the process again by itself; at a port it finds the one that we start.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from mcp_sansio import McpError

from .asyncio import AsyncClient, open_http_client, open_stdio_client

_WITH_PID = ("/bin/sh", "-c", 'echo $$ >"$0"; exec "$@"')
"""Writes the process id of a command to a file, and becomes the command."""


class Host(Protocol):
    """A server, and how to reach it. `revives`: who starts it again."""

    revives: str

    def open(self, *, first: bool, **options: Any) -> AbstractAsyncContextManager[AsyncClient]:
        """A client; the `first` one is that whose server is killed later."""
        ...

    @property
    def pid(self) -> int:
        """The process that serves the first client."""
        ...

    def kill(self) -> None:
        """End it without warning."""

    def revive(self) -> None:
        """Start another one, if that is not the client's business."""

    def close(self) -> None:
        """Let go of it."""


class ChildHost:
    """Each client starts a server of its own."""

    revives = "The client starts"

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = command
        self._pid_file = folder / "server.pid"

    def open(self, *, first: bool, **options: Any) -> AbstractAsyncContextManager[AsyncClient]:
        """A client and its server."""
        noted = (*_WITH_PID, str(self._pid_file)) if first else ()
        return open_stdio_client((*noted, *self._command), **options)

    @property
    def pid(self) -> int:
        """As it was written down last."""
        return int(self._pid_file.read_text())

    def kill(self) -> None:
        """SIGKILL, for the process and what it started."""
        os.killpg(self.pid, signal.SIGKILL)

    def revive(self) -> None:
        """The client does."""

    def close(self) -> None:
        """The clients do."""


class PortHost:
    """One server for all clients, at a port of this machine. Raises `McpError` if it cannot be started."""

    revives = "At the same port we start"

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._url = ""
        self._start("0")

    def _start(self, port: str) -> None:
        self._process = subprocess.Popen(
            (*self._command, "--http", f"127.0.0.1:{port}"), stderr=subprocess.PIPE, text=True
        )
        line = self._process.stderr.readline() if self._process.stderr is not None else ""
        words = [word.rstrip(",") for word in line.split() if word.startswith("http://")]
        if not words:
            self.close()
            raise McpError(f"the server does not say at which URL it serves: {line.strip()}")
        self._url = words[0]

    def open(self, *, first: bool, **options: Any) -> AbstractAsyncContextManager[AsyncClient]:
        """A client."""
        return open_http_client(self._url, **options)

    @property
    def pid(self) -> int:
        """Of the server of the moment."""
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL."""
        self.close()

    def revive(self) -> None:
        """At the same port."""
        self._start(self._url.rpartition(":")[2].partition("/")[0])

    def close(self) -> None:
        """Kill it, if it still runs."""
        self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()


MakeHost = Callable[[Sequence[str], Path], Host]
HOSTS: dict[str, MakeHost] = {"stdio": ChildHost, "http": lambda command, _: PortHost(command)}
