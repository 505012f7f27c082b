"""The functions that the asynchronous front ends offer, written once for any loop.

`mcp_sansio_adapters.asyncio` and `.trio` each bind them to their loop and to their kind of stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from mcp_sansio import Server

from ._async_client import AsyncClient, opened
from ._async_server import Service, opened_service
from ._hooks import tell
from ._line_connection import LineConnection
from ._loop import Address, ByteStream, Loop
from ._options import (
    ClientOptions,
    HttpOptions,
    HttpServerOptions,
    ProcessOptions,
    ServerOptions,
    StdioOptions,
    process_of,
    session_of,
)
from ._peers import ChildPeer, StreamPeer
from ._process import ProcessPolicy, Restarts
from ._stdio import claimed_stdio, on_signals
from ._streams import FdStream
from .several import PATIENCE, Opener, Several, opened_several

if TYPE_CHECKING:
    from ._http_service import HttpService
    from .hosts import HostServer

S = TypeVar("S")


class FrontEnd(Generic[S]):
    """Clients and servers on one loop; `S` is what it calls a stream."""

    def __init__(self, loop: Loop, wrap: Callable[[S], ByteStream]) -> None:
        self._loop = loop
        self._wrap = wrap

    def open_stdio_client(
        self, command: Sequence[str], **options: Unpack[ProcessOptions]
    ) -> AbstractAsyncContextManager[AsyncClient]:
        """Start a server as a child process and be its client for the block.

        Entering waits until the era is known, and raises `ConnectionFailed` (with exit code and the end of
        stderr) if that does not come about. A server that dies later is started again. In the end its
        input is closed; if it does not exit by itself, it is terminated, then killed. `ProcessOptions` are
        the options.
        """
        spec, session = process_of(command, options), session_of(options)
        restarts = Restarts(spec.policy, session.client.config.delay)
        return opened(LineConnection(self._loop, session, lambda: ChildPeer(spec), restarts))

    def connect(
        self, stream: S, **options: Unpack[ClientOptions]
    ) -> AbstractAsyncContextManager[AsyncClient]:
        """Be the client of whoever is at the other end of a stream, for the block; it is closed in the end.

        Entering waits until the era is known, and raises `ConnectionFailed` if that does not come about.
        When the stream ends, so does the client. `ClientOptions` are the options.
        """
        peer, session = StreamPeer(self._wrap(stream)), session_of(options)
        once = Restarts(ProcessPolicy(restarts=0), session.client.config.delay)
        return opened(LineConnection(self._loop, session, lambda: peer, once))

    def open_service(
        self, server: Server, **options: Unpack[ServerOptions]
    ) -> AbstractAsyncContextManager[Service]:
        """Drive a server for the block, for as many peers as `serve_stream` is called for.

        `ServerOptions` are the options.
        """
        return opened_service(self._loop, server, options)

    async def serve_stream(
        self, service: Service | Server, stream: S, *, principal: str | None = None, peer: object = None
    ) -> None:
        """Serve one peer until it is gone, then close the stream.

        `principal` is whom the application has authenticated, `peer` is for display. A `Server` is driven
        for this peer alone; many peers of one server share a `Service`.
        """
        if isinstance(service, Service):
            await service.serve(self._wrap(stream), principal=principal, peer=peer)
            return
        async with self.open_service(service) as alone:
            await alone.serve(self._wrap(stream), principal=principal, peer=peer)

    async def serve_stdio(self, server: Server, **options: Unpack[StdioOptions]) -> None:
        """Serve whoever started this process, over stdin and stdout.

        Returns when the input has ended, when the output breaks, and when SIGTERM, SIGINT or SIGHUP
        arrives; handlers that still run are cancelled then. Meanwhile stdout is stderr for everybody
        else, and stdin is empty. `StdioOptions` are the options.
        """
        async with opened_service(self._loop, server, options) as service:
            portal = self._loop.portal()
            with claimed_stdio() as (reading, writing), on_signals(lambda: portal(service.close)):
                stream = FdStream(reading, writing)
                await service.serve(stream, principal=options.get("principal"))

    def open_http_client(
        self, url: str, **options: Unpack[HttpOptions]
    ) -> AbstractAsyncContextManager[AsyncClient]:
        """Be the client of a server at `url`, for the block.

        Entering waits until the era is known, and raises `ConnectionFailed` if that does not come about. A
        server that goes away later costs what was asked of it meanwhile, and is found again when it is back.
        Redirects are followed within the server's origin only; proxies are not used. In the end a session
        is deleted. Raises `LocalProtocolError` for a URL or headers that cannot be. `HttpOptions` are the
        options.
        """
        from ._http_connection import HttpConnection, http_target  # noqa: PLC0415  # h11 may not be there

        return opened(HttpConnection(self._loop, session_of(options), http_target(url, options)))

    def open_server(
        self, server: HostServer, **options: Unpack[ClientOptions]
    ) -> AbstractAsyncContextManager[AsyncClient]:
        """Be the client of a server of a host's configuration, for the block: see `open_stdio_client` and
        `open_http_client`, whichever it needs.
        """
        if server.url is not None:
            return self.open_http_client(server.url, headers=server.headers, **options)
        return self.open_stdio_client(server.command, env=server.env, cwd=server.cwd, **options)

    def open_several(
        self, openers: Mapping[str, Opener], *, patience: float = PATIENCE
    ) -> AbstractAsyncContextManager[Several]:
        """Be the client of several servers at once, for the block, each called by a label.

        Entering waits for nobody: a server has `patience` seconds to be there, and as many for each list of
        its prompts. One that is not, or whose opener fails, is no reason for the others to fail.
        """
        return opened_several(self._loop, openers, patience)

    def open_http_server(
        self, server: Server, host: str = "127.0.0.1", port: int = 0, **options: Unpack[HttpServerOptions]
    ) -> AbstractAsyncContextManager[HttpService]:
        """Serve HTTP for the block: at any free port, and to this machine only, unless told otherwise.

        Entering raises `CannotListen` where that cannot be; `url` of what it gives is the endpoint.
        In the end the server is closed, and what is open ends. `HttpServerOptions` are the options.
        """
        from ._http_service import opened_http_service  # noqa: PLC0415  # h11 may not be there

        address = Address(host, port, options.get("tls"))
        return opened_http_service(self._loop, server, address, options)

    async def serve_http(
        self,
        server: Server,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        started: Callable[[str], None] | None = None,
        **options: Unpack[HttpServerOptions],
    ) -> None:
        """Serve HTTP until SIGTERM, SIGINT or SIGHUP arrives, or this is cancelled.

        `started` hears the URL. Otherwise as `open_http_server`.
        """
        async with self.open_http_server(server, host, port, **options) as running:
            over = self._loop.event()
            portal = self._loop.portal()
            with on_signals(lambda: portal(over.set)):
                tell(started, running.url)
                await over.wait()
