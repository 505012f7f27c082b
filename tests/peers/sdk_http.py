"""What HTTP adds to the server on the official SDK: uvicorn, eras, and a hand on the sessions.

The SDK's Streamable HTTP application serves both eras side by side and chooses by the header of each request.
Where a test wants one era only, the other one's requests are kept from it: a server of the modern era is the
SDK's modern entry alone, one of the legacy era refuses the revisions that it does not know with a 400, as the
SDK did before it knew any modern one.
"""

import argparse
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from hosting import serve_app
from mcp.server._streamable_http_modern import handle_modern_request
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import (
    EventCallback,
    EventMessage,
    EventStore,
    StreamableHTTPServerTransport,
)
from mcp_types import JSONRPCMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def version(scope: Scope) -> str | None:
    """The protocol version that the header of a request names."""
    named: bytes | None = dict(scope["headers"]).get(b"mcp-protocol-version")
    return None if named is None else named.decode("latin-1")


def legacy_only(app: App) -> App:
    """The application without its modern era."""

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        known = (None, *HANDSHAKE_PROTOCOL_VERSIONS)
        if scope["type"] == "http" and version(scope) not in known:
            text = f"Bad Request: Unsupported protocol version: {version(scope)}"
            error = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": text}}
            await JSONResponse(error, 400)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return outer


def modern_only(app: App, server: Server[Any], *, json: bool) -> App:
    """The application with all requests going where those of the modern era go."""

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await handle_modern_request(server, None, json, {}, scope, receive, send)
        else:
            await app(scope, receive, send)

    return outer


class Events(EventStore):
    """All events of all streams, in the order in which they were sent."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id)
        stream_id, _ = self._events[last - 1]
        for number, (stream, message) in enumerate(self._events[last:], last + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


class HttpSide:
    """The application around a server, once it serves HTTP, and the sessions it keeps."""

    def __init__(self) -> None:
        self.server: Server[Any] | None = None

    async def serve(self, server: Server[Any], options: argparse.Namespace) -> None:
        """Listen, say where, and serve."""
        self.server = server
        app: App = server.streamable_http_app(
            json_response=options.json,
            stateless_http=options.stateless,
            event_store=Events() if options.resumable else None,
            retry_interval=50,
        )
        if options.era == "legacy":
            app = legacy_only(app)
        elif options.era == "modern":
            app = modern_only(app, server, json=options.json)
        await serve_app(app, options.port)

    def sessions(self) -> list[StreamableHTTPServerTransport]:
        """The sessions that have not ended; the SDK keeps those that have, too."""
        if self.server is None:
            return []
        kept = self.server.session_manager._server_instances  # noqa: SLF001  (nothing public knows them)
        return [transport for transport in kept.values() if not transport.is_terminated]

    async def forget(self) -> int:
        """End all sessions; how many there were."""
        ending = self.sessions()
        for transport in ending:
            await transport.terminate()
        return len(ending)
