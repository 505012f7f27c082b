"""A server on a listening socket: one wire and one link for each connection.

`HttpLink` asks the application on whose behalf a request comes, where there is a hook for that, while its
wire waits. Everything else about HTTP is the wire's business, which is pure.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from mcp_sansio import RequestHead, Server
from mcp_sansio.h11 import H11Config, H11ServerWire

from ._async_server import Service, opened_service
from ._defaults import http_config, now
from ._exceptions import CannotListen, Ending
from ._hooks import Authenticate, Unauthorized, Undecided, verdict_of
from ._line import CLOSED
from ._link import Link
from ._loop import Address, ByteStream, Loop, Tasks
from ._options import HttpServerOptions


class HttpLink(Link):
    """Carries the bytes of one connection of an HTTP server."""

    def __init__(
        self, service: Service, wire: H11ServerWire, stream: ByteStream, authenticate: Authenticate | None
    ) -> None:
        super().__init__(service.loop, wire, stream, service.turn)
        self._http_wire = wire
        self._authenticate = authenticate
        self._tasks: Tasks | None = None
        self._asked: RequestHead | None = None
        self._stop_asking: Callable[[], object] | None = None

    def start(self, tasks: Tasks) -> None:
        """Begin to read and to write."""
        self._tasks = tasks
        super().start(tasks)

    def flush(self) -> None:
        """The wire has something to do, or has been closed, or wants to know whose request it has."""
        pending = self._http_wire.pending
        if pending is not None and pending is not self._asked and self._tasks is not None:
            self._stop_asking = self._tasks.start(self._ask, pending)
        self._asked = pending
        super().flush()

    def settle(self, reason: str | None = None) -> None:
        """Where we are the ones who end it, what is open may still be answered."""
        if (reason or self.reason) == CLOSED and not self.broken:
            self.wire.close(now())
            self._turn()
        else:
            super().settle(reason)

    async def close(self) -> None:
        """Let go of the stream; nobody needs to know any more whose request it was."""
        if self._stop_asking is not None:
            self._stop_asking()
        await super().close()

    async def _ask(self, head: RequestHead) -> None:
        match await verdict_of(self._authenticate, head):
            case Undecided():
                self._http_wire.fail(now())
            case Unauthorized(challenge, status, reason):
                self._http_wire.deny(challenge, now(), status=status, reason=reason)
            case principal:
                self._http_wire.admit(principal, now())
        self._turn()


class HttpService:
    """A server that listens. `addresses` are the hosts and ports where it does, `url` is one for clients."""

    def __init__(self, loop: Loop, service: Service, address: Address, options: HttpServerOptions) -> None:
        self.service = service
        self.addresses: Sequence[tuple[str, int]] = ()
        self._loop = loop
        self._address = address
        self._http = service.recording.http_server(service.server, http_config(options.get("config")))
        self._h11 = options.get("h11") or H11Config()
        self._authenticate = options.get("authenticate")
        self._started = loop.event()
        self._stopped = loop.event()
        self._failure: OSError | None = None

    @property
    def server(self) -> Server:
        """The server that is being served."""
        return self.service.server

    @property
    def url(self) -> str:
        """The endpoint of the first address."""
        host, port = self.addresses[0]
        scheme = "http" if self._address.tls is None else "https"
        path = self._http.config.path or "/mcp"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{path}"

    def turn(self) -> None:
        """To be called after every command to the server that does not come from a handler."""
        self.service.turn()

    async def started(self) -> None:
        """Return when connections are accepted; raises `CannotListen` if they cannot be."""
        await self._started.wait()
        if self._failure is not None:
            host, port = self._address.host, self._address.port
            raise CannotListen(Ending(f"cannot listen at {host}, port {port}: {self._failure}"))

    def stop(self) -> None:
        """Accept nothing more and end what is open, in good order; `run` returns soon after."""
        self._stopped.set()
        self.service.close()

    async def run(self) -> None:
        """Listen until told to stop."""
        try:
            await self._loop.listen(self._address, self, self._listening, self._stopped)
        except OSError as error:
            self._failure = error
        finally:
            self._started.set()

    def _listening(self, addresses: Sequence[tuple[str, int]]) -> None:
        self.addresses = addresses
        self._started.set()

    def open(self, stream: ByteStream, peer: object) -> Link:
        """The link of a new connection."""
        ask = self._authenticate is not None
        wire = H11ServerWire(
            self._http, now(), self._h11, ask=ask, peer=peer, on_message=self.service.recording.listener(None)
        )
        return self.service.taken(HttpLink(self.service, wire, stream, self._authenticate))

    async def carry(self, link: Link) -> None:
        """Carry it to its end, and through that."""
        await self.service.carry(link)


@asynccontextmanager
async def opened_http_service(
    loop: Loop, server: Server, address: Address, options: HttpServerOptions
) -> AsyncGenerator[HttpService]:
    """Serve at an address for as long as the block lasts."""
    async with opened_service(loop, server, options) as service:
        running = HttpService(loop, service, address, options)
        async with loop.background(running.run):
            try:
                await running.started()
                yield running
            finally:
                running.stop()
