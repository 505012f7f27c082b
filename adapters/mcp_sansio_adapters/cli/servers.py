"""Whom a command asks, and how: a server by its URL or its command, and one connection to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Unpack

import attrs

from mcp_sansio import ClientConfig, Diagnostic, Event, Implementation, ListingConfig, __version__
from mcp_sansio_adapters._exceptions import ConnectionFailed, Ending
from mcp_sansio_adapters._hooks import tell
from mcp_sansio_adapters._options import ClientOptions
from mcp_sansio_adapters._process import ProcessPolicy
from mcp_sansio_adapters.asyncio import AsyncClient, open_http_client, open_stdio_client
from mcp_sansio_adapters.hosts import HostServer


@attrs.frozen
class Question:
    """One server, in which revisions and for how many seconds it is asked, and who hears about oddities.

    `origin` is where the server's command is written, to be corrected there.
    """

    server: HostServer
    origin: str
    versions: tuple[str, ...]
    timeout: float
    tell: Callable[[str], None]

    @asynccontextmanager
    async def connected(
        self, *, policy: ProcessPolicy | None = None, **options: Unpack[ClientOptions]
    ) -> AsyncGenerator[AsyncClient]:
        """A client of the server; by default, one that asks once and does not start the server again.

        A process that is silent may say on stderr why, so that its end is waited for; a URL has only its
        answer.
        """
        seconds = self.timeout if self.server.url is not None else None
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(seconds):
                    client = await stack.enter_async_context(self._opened(policy, options))
            except TimeoutError:
                raise ConnectionFailed(Ending(f"no answer within {self.timeout:g} s")) from None
            yield client

    @property
    def config(self) -> ClientConfig:
        """How to be a client for this question."""
        return ClientConfig(
            info=Implementation("mcp-sansio", __version__),
            versions=self.versions,
            quiet_timeout=self.timeout,
            total_timeout=self.timeout,
        )

    def _opened(
        self, policy: ProcessPolicy | None, options: ClientOptions
    ) -> AbstractAsyncContextManager[AsyncClient]:
        given = options.get("on_event")

        def hear(event: Event) -> None:
            self._hear(event)
            tell(given, event)

        listing = ListingConfig(eager=False, wait=self.timeout)
        everything: ClientOptions = {"config": self.config, "listing": listing, **options, "on_event": hear}
        server = self.server
        if server.url is not None:
            return open_http_client(server.url, headers=server.headers, **everything)
        return open_stdio_client(
            server.command,
            env=server.env,
            cwd=server.cwd,
            policy=policy or ProcessPolicy(restarts=0),
            **everything,
        )

    def _hear(self, event: Event) -> None:
        if isinstance(event, Diagnostic):
            self.tell(f"{event.kind}: {event.text}")
