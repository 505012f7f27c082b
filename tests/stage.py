"""Where one scenario plays on every stage: our client and a server of ours in a process of its own, over
stdio or over HTTP, on either loop, in either era.

Over stdio a client starts its server by itself, and starts it again when it has died. Over HTTP the stage
does both, at the same port.
"""

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from fronts import AsyncFront, our_server

from mcp_sansio import ClientConfig, Implementation

VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
TRANSPORTS = ("stdio", "http")


class Stage:
    """One of the stages. `serving` has to be entered before there are clients."""

    def __init__(self, front: AsyncFront, transport: str, era: str) -> None:
        self.front = front
        self.transport = transport
        self.era = era
        self._options: tuple[str, ...] = ()
        self._process: subprocess.Popen[str] | None = None
        self._url = ""

    @contextmanager
    def serving(self, *options: str) -> Iterator[None]:
        """Have a server with these options."""
        self._options = options
        try:
            self._start("0")
            yield
        finally:
            self._stop(signal.SIGKILL)

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncGenerator[Any]:
        """A client of the server."""
        config = ClientConfig(
            info=Implementation("scene", "1"),
            versions=(VERSIONS[self.era],),
            capabilities={"elicitation": {}},
            backoff=0.02,
            backoff_max=0.1,
            **options.pop("config", {}),
        )
        opened = (
            self.front.open_stdio_client(
                our_server(self.front.name, *self._options), config=config, **options
            )
            if self.transport == "stdio"
            else self.front.module.open_http_client(self._url, config=config, **options)
        )
        async with opened as client:
            yield client

    def restart(self, how: signal.Signals = signal.SIGKILL, pid: int | None = None) -> None:
        """End the server, and see to it that there is another one."""
        if self.transport == "http":
            self._stop(how)
            self._start(self._url.rpartition(":")[2].partition("/")[0])
        elif pid is not None:
            os.kill(pid, how)

    def _start(self, port: str) -> None:
        if self.transport == "http":
            command = (*our_server(self.front.name, *self._options), "--http", port)
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            assert self._process.stdout is not None
            self._url = self._process.stdout.readline().strip()

    def _stop(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdout is not None
            process.send_signal(how)
            process.wait()
            process.stdout.close()
