"""A prompt server as an ASGI application, on asyncio or trio, whichever loop the host runs.

    app = asgi_app(server)                      # uvicorn my_module:app

The host does the HTTP, and the `HttpServer` of the core says what a request means; here the messages of the
one are made calls of the other. A request is read and written at the same time, and output is taken from
the machine when the host has accepted what came before it. Handlers, time and changes of the catalogue are
the `Service`'s, which has to run beside the requests:

- A host that calls `lifespan` has it run from startup to shutdown.
- Hosts do so for the outermost application only. One that mounts this one enters `app.running()` in its own
  lifespan:

      @asynccontextmanager
      async def lifespan(outer):
          async with app.running():
              yield

      # Both spellings of the path, without a redirect from one to the other:
      outer = Starlette(routes=[Route("/mcp", app), Route("/mcp/", app)], lifespan=lifespan)

- If nobody does, the first request starts it, and it runs until the loop ends.

Hosts wait for responses before they say that they shut down, and a stream of changes is a response that
does not end by itself. Call `app.close()` when shutdown begins, or give the host a limit (uvicorn has
`timeout_graceful_shutdown`).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, Unpack
from urllib.parse import quote

from mcp_sansio import (
    End,
    Head,
    HttpExchange,
    HttpServer,
    HttpServerConfig,
    LocalProtocolError,
    RequestHead,
    Server,
)

from ._async_server import Service, opened_service
from ._defaults import http_config, now
from ._hooks import Authenticate, Unauthorized, Undecided, Verdict, verdict_of
from ._loop import AsyncFunction, Bell, Event, Loop
from ._options import ServerOptions

__all__ = ["AsgiApp", "asgi_app"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
SendMessage: TypeAlias = Callable[[Message], Awaitable[None]]

_PATH_CHARACTERS = "/:@!$&'()*+,;=~"
"""What may stand in a path as it is, besides letters, digits and "-._" (RFC 3986, 3.3)."""


def asgi_app(
    server: Server,
    config: HttpServerConfig | None = None,
    *,
    authenticate: Authenticate | None = None,
    **options: Unpack[ServerOptions],
) -> AsgiApp:
    """An ASGI 3 application that serves `server`.

    `config` says what is served to whom (`hosts` and `origins` beyond loopback names, for example); its
    `path` is compared with the path below the place where the application is mounted, and by default every
    path is served. `authenticate` gets the `RequestHead` of every request and returns its principal, None
    for nobody in particular, or `Unauthorized`; it may be asynchronous. `ServerOptions` are the options.
    """
    return AsgiApp(server, http_config(config), authenticate, options)


class AsgiApp:
    """The application; made by `asgi_app`. It runs once, on one loop."""

    def __init__(
        self,
        server: Server,
        config: HttpServerConfig,
        authenticate: Authenticate | None,
        options: ServerOptions,
    ) -> None:
        self.server = server
        self._http = HttpServer(server, config)
        self._authenticate = authenticate
        self._options = options
        self._service: Service | None = None
        self._started: Event | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        """Serve one scope. Raises `LocalProtocolError` for one of a kind that ASGI does not have."""
        match scope["type"]:
            case "http":
                await self._serve(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1000})
            case unknown:
                raise LocalProtocolError(f"no ASGI application serves {unknown!r}")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run for as long as the block lasts, then end all streams.

        Raises `LocalProtocolError` if the application runs already, or has.
        """
        async with self._opened(*self._claim()):
            yield

    def turn(self) -> None:
        """To be called after every command to the server, in the loop. Those of a handler are noticed when
        it has ended, at the latest.
        """
        if self._service is not None:
            self._service.turn()

    def close(self) -> None:
        """End all streams: what runs is cancelled, what is queued is still written. For the time between
        the wish to shut down and the end of the responses that are under way; in the loop.
        """
        self.server.close(now())
        self.turn()

    # --- running ---

    def _claim(self) -> tuple[Loop, Event]:
        if self._started is not None:
            raise LocalProtocolError("the application runs already, or has; it runs once")
        loop = _running_loop()
        self._started = loop.event()
        return loop, self._started

    @asynccontextmanager
    async def _opened(self, loop: Loop, started: Event) -> AsyncGenerator[None]:
        try:
            async with opened_service(loop, self.server, self._options) as self._service:
                self._http = self._service.recording.http_server(self.server, self._http.config)
                started.set()
                yield
        finally:
            started.set()

    async def _stay(self, loop: Loop, started: Event) -> None:
        async with self._opened(loop, started):
            await loop.event().wait()

    async def _driven(self) -> Service:
        """The service, which is started now if nobody has."""
        started = self._started
        if started is None:
            loop, started = self._claim()
            loop.detach(partial(self._stay, loop, started))
        await started.wait()
        if self._service is None:
            raise LocalProtocolError("the application was stopped before it had started")
        return self._service

    async def _live(self, receive: Receive, send: SendMessage) -> None:
        await receive()
        try:
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except LocalProtocolError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    # --- requests ---

    async def _serve(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        service = await self._driven()
        verdict: Verdict = None
        if self._authenticate is not None:
            head = RequestHead(scope["method"], _target(scope), _headers(scope), _peer(scope))
            verdict = await verdict_of(self._authenticate, head)
        await Carrier(service, self._exchange(scope, verdict, service), receive, send).carry()

    def _exchange(self, scope: Scope, verdict: Verdict, service: Service) -> HttpExchange:
        if isinstance(verdict, Undecided):
            return self._http.undecided()
        if isinstance(verdict, Unauthorized):
            return self._http.unauthorized(verdict.challenge, status=verdict.status, reason=verdict.reason)
        return self._http.exchange(
            scope["method"],
            quote(_path(scope), safe=_PATH_CHARACTERS),
            _headers(scope),
            now(),
            principal=verdict,
            peer=_peer(scope),
            on_message=service.recording.listener(None),
        )


class Carrier:
    """Carries one exchange; the token of it."""

    def __init__(self, service: Service, exchange: HttpExchange, receive: Receive, send: SendMessage) -> None:
        exchange.token = self
        self._service = service
        self._exchange = exchange
        self._receive = receive
        self._send = send
        self._output = Bell(service.loop)
        self._failure: Exception | None = None

    def flush(self) -> None:
        """The exchange has output."""
        self._output.ring()

    async def carry(self) -> None:
        """Return when the response is complete, or the peer is gone. What the host raises is passed on,
        unless it says no more than that.
        """
        try:
            async with self._service.loop.tasks() as tasks:
                stop_reading = tasks.start(self._do, self._read)
                await self._do(self._write)
                stop_reading()
        finally:
            self._end()
        if self._failure is not None:
            raise self._failure

    async def _do(self, function: AsyncFunction) -> None:
        """The failure is raised later, for a group of tasks would wrap it in a group of exceptions."""
        try:
            await function()
        except OSError:
            pass  # what servers raise when a response is sent in vain
        except Exception as error:  # noqa: BLE001  # whatever a host raises is its own
            self._failure = error
        self._end()

    def _end(self) -> None:
        """Nothing more can be read or written. A `send` that is under way is left to the host, which may
        have its own things to finish in it.
        """
        self._exchange.abort(now())
        self._service.turn()
        self._output.ring()

    async def _read(self) -> None:
        """Take in the body, then wait for the peer to go away."""
        while (message := await self._receive())["type"] == "http.request":
            self._exchange.receive_data(message.get("body", b""), now())
            if not message.get("more_body", False):
                self._exchange.receive_eof(now())
            self._service.turn()

    async def _write(self) -> None:
        self._service.turn()
        while not self._exchange.closed:
            outputs = self._exchange.outputs()
            self._service.turn()
            if outputs:
                await _tell(self._send, outputs)
            else:
                await self._output.wait()


async def _tell(send: SendMessage, outputs: Sequence[Head | bytes | End]) -> None:
    """Send what a response has so far; even nothing is sent, for hosts keep a head until a body comes."""
    for head in outputs:
        if isinstance(head, Head):
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]
            await send({"type": "http.response.start", "status": head.status, "headers": headers})
    body = b"".join(part for part in outputs if isinstance(part, bytes))
    more = not any(isinstance(part, End) for part in outputs)
    await send({"type": "http.response.body", "body": body, "more_body": more})


# --- scopes ---


def _headers(scope: Scope) -> tuple[tuple[str, str], ...]:
    given: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in given)


def _peer(scope: Scope) -> object:
    client = scope.get("client")
    return None if client is None else tuple(client)


def _target(scope: Scope) -> str:
    """The target as the client wrote it, so far as the host tells."""
    raw: bytes | None = scope.get("raw_path")
    path = quote(scope["path"], safe=_PATH_CHARACTERS) if raw is None else raw.decode("latin-1")
    query: bytes = scope.get("query_string", b"")
    return f"{path}?{query.decode('latin-1')}" if query else path


def _path(scope: Scope) -> str:
    """The path below the mount; some frameworks cut off the part above, others leave it in place."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    return path[len(root) :] if path == root or path.startswith(root + "/") else path


def _running_loop() -> Loop:
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        from .trio import LOOP  # noqa: PLC0415  # trio may not be there
    else:
        from .asyncio import LOOP  # noqa: PLC0415  # nor need asyncio be loaded
    return LOOP
