"""Real ASGI hosts in threads of their own, and a plain HTTP client for what they serve.

Each host gets a socket that listens already, so that nobody has to wait until it is up, and tells the
application when its shutdown begins.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import attrs
import hypercorn
import hypercorn.trio
import trio
import uvicorn
from serving import MODERN, TOPIC, envelope

BOTH = "application/json, text/event-stream"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
PATIENCE = 30
"""How long a reply may take, in seconds: only ever reached by a failure."""

App = Any
Stop = Callable[[], None]


# --- hosts ---


class _Uvicorn(uvicorn.Server):
    """Uvicorn waits for streams before it says anything of a shutdown to anybody."""

    leaving: Stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.leaving()
        await super().shutdown(sockets)


@contextmanager
def _uvicorn(app: App, sock: socket.socket, leaving: Stop) -> Generator[Stop]:
    server = _Uvicorn(uvicorn.Config(app, log_config=None, access_log=False))
    server.leaving = leaving
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([sock]), debug=True))
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join()

    yield stop


@contextmanager
def _hypercorn(app: App, sock: socket.socket, leaving: Stop) -> Generator[Stop]:
    config = hypercorn.Config()
    config.bind = [f"fd://{sock.detach()}"]
    config.errorlog = logging.getLogger("hypercorn.error")
    stopping: list[Callable[[], None]] = []
    running = threading.Event()

    async def wanted() -> None:
        event, token = trio.Event(), trio.lowlevel.current_trio_token()
        stopping.append(lambda: token.run_sync_soon(event.set))
        running.set()
        await event.wait()
        leaving()

    thread = threading.Thread(
        target=lambda: trio.run(lambda: hypercorn.trio.serve(app, config, shutdown_trigger=wanted))
    )
    thread.start()

    def stop() -> None:
        running.wait()
        stopping.pop()()
        thread.join()

    yield stop


HOSTS = {"uvicorn": _uvicorn, "hypercorn": _hypercorn}


@contextmanager
def hosted(name: str, app: App, leaving: Stop = lambda: None) -> Generator[Host]:
    """Serve an application for the block; `leaving` is called in the loop when the shutdown begins."""
    sock = socket.create_server(("127.0.0.1", 0))
    port: int = sock.getsockname()[1]
    with HOSTS[name](app, sock, leaving) as stop:
        host = Host(port, stop)
        try:
            yield host
        finally:
            for connection in host.connections:
                connection.close()
            host.stop()


# --- the client ---


@attrs.define
class Host:
    """What is served at a port of this machine, and its plain client: one connection for each request."""

    port: int
    _stop: Stop
    _stopped: bool = False
    connections: list[http.client.HTTPConnection] = attrs.field(factory=list[http.client.HTTPConnection])

    def stop(self) -> None:
        """Shut down, and return when that is done; the second time does nothing."""
        if not self._stopped:
            self._stopped = True
            self._stop()

    def ask(
        self,
        method: str = "POST",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        path: str = "/mcp",
    ) -> http.client.HTTPResponse:
        """Any request; its response, as soon as its head is there."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.connections.append(connection)
        connection.request(method, path, body, {"Accept": BOTH, "Connection": "close", **(headers or {})})
        return connection.getresponse()

    def post(
        self, message: Mapping[str, Any], path: str = "/mcp", **headers: str
    ) -> http.client.HTTPResponse:
        """A POST of one message."""
        named = {"Content-Type": "application/json", **fields_of(headers)}
        return self.ask("POST", json.dumps({"jsonrpc": "2.0", **message}).encode(), named, path)

    def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, path: str = "/mcp", **headers: str
    ) -> http.client.HTTPResponse:
        """A modern request."""
        return self.post(modern(method, params), path, **{**heading(method, params), **headers})

    def result(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> Any:
        """The result of a modern request."""
        return result_of(self.call(method, params, **headers))

    def listen(self) -> Events:
        """Open a subscription, and read its acknowledgement."""
        events = Events(self.call("subscriptions/listen", {"notifications": {TOPIC: True}}))
        assert events.next()["method"] == "notifications/subscriptions/acknowledged"
        return events

    def initialize(self, **headers: str) -> str:
        """Open a legacy session; its id."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        reply = self.post({"id": 0, "method": "initialize", "params": params}, **headers)
        assert result_of(reply)["protocolVersion"] == "2025-11-25"
        session = reply.headers["Mcp-Session-Id"]
        ready = self.post({"method": "notifications/initialized"}, Mcp_Session_Id=session, **headers)
        assert ready.status == 202
        return session

    @contextmanager
    def raw(self, data: bytes, buffer: int | None = None) -> Generator[socket.socket]:
        """A connection on which these bytes were sent; `buffer` is how much it receives unasked."""
        with closing(socket.socket()) as sock:
            if buffer is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            sock.settimeout(PATIENCE)
            sock.connect(("127.0.0.1", self.port))
            sock.sendall(data)
            yield sock


class Events:
    """The messages of a stream of events."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        assert response.status == 200
        assert response.headers["Content-Type"] == "text/event-stream"
        self.response = response

    def next(self) -> Any:
        """The next message; None at the end, which must be a proper one."""
        while line := self.response.readline():
            if line.startswith(b"data: "):
                return json.loads(line[6:])
        return None


def modern(method: str, params: Mapping[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    """A modern request; `meta` goes into `envelope`."""
    return {"id": 1, "method": method, "params": {**(params or {}), "_meta": envelope(**meta)}}


def heading(method: str, params: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The headers that a modern request needs, their hyphens written as underscores."""
    name = (params or {}).get(NAMED.get(method, ""))
    named = {} if name is None else {"Mcp_Name": name}
    return {"MCP_Protocol_Version": MODERN, "Mcp_Method": method, **named}


def in_bytes(
    method: str, params: Mapping[str, Any] | None = None, *, chunked: bool = False, **headers: str
) -> tuple[bytes, bytes]:
    """The head and the body of a modern request."""
    body = json.dumps({"jsonrpc": "2.0", **modern(method, params)}).encode()
    framing = {"Transfer_Encoding": "chunked"} if chunked else {"Content_Length": str(len(body))}
    standard = {"Host": "localhost", "Content_Type": "application/json", **framing}
    fields = fields_of({**standard, **heading(method, params), **headers})
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), ""]
    return "".join(f"{line}\r\n" for line in lines).encode(), body


def fields_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with their hyphens."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


def result_of(response: http.client.HTTPResponse) -> Any:
    """The result in a response of one JSON body."""
    body = json.loads(response.read())
    assert response.status == 200, body
    return body["result"]


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a rendered prompt's only message."""
    (message,) = result["messages"]
    text: str = message["content"]["text"]
    return text
