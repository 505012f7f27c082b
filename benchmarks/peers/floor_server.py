"""The floor's server in a process of its own: a loop over stdin, or HTTP by h11 on an asyncio protocol.

It knows two methods and a listener. What h11 does is what this library has it do, too: the grammar of HTTP.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, ClassVar

import h11

from benchmarks import work
from benchmarks.peers.floor_pair import Server, request_of
from benchmarks.peers.serving import tell

JSON = [("Content-Type", "application/json")]
EVENTS = [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]
ACKNOWLEDGED = (
    b'{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":'
    b'{"io.modelcontextprotocol/subscriptionId":%d},"notifications":{"promptsListChanged":true}}}'
)
CHANGED = (
    b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":'
    b'{"io.modelcontextprotocol/subscriptionId":%d}}}'
)


class Editable(Server):
    """A server of which a prompt can be edited by whoever renders it."""

    revision = 0

    def serve(self, line: bytes) -> bytes:
        """The reply to a request."""
        if work.EDIT.encode() in line and b'"change":"edit"' in line:
            self.revision += 1
            self.put(work.spec(work.EDITED, self.revision))
        return super().serve(line)


async def over_stdio(server: Server) -> None:
    """Serve whoever started this process."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    rest = b""

    def read() -> None:
        nonlocal rest
        data = os.read(0, 1 << 18)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            os.write(1, server.serve(line))
        if not data:
            ended.set()

    loop.add_reader(0, read)
    await ended.wait()


class Exchange(asyncio.Protocol):
    """One connection."""

    listeners: ClassVar[list[tuple[Exchange, int]]] = []

    def __init__(self, server: Editable) -> None:
        self._server = server
        self._wire = h11.Connection(h11.SERVER)
        self._body = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._wire.receive_data(data)
        while not isinstance(event := self._wire.next_event(), type(h11.NEED_DATA)):
            if isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                self._answer(self._body)
                self._body = b""
            elif isinstance(event, h11.ConnectionClosed):
                return

    def _answer(self, body: bytes) -> None:
        wire, request = self._wire, request_of(body)
        if request.method == "subscriptions/listen":
            self._transport.write(wire.send(h11.Response(status_code=200, headers=EVENTS)))
            self.event(ACKNOWLEDGED % request.id)
            self.listeners.append((self, request.id))
            return
        before = self._server.revision
        reply = self._server.serve(body)[:-1]
        head = h11.Response(status_code=200, headers=[*JSON, ("Content-Length", str(len(reply)))])
        self._transport.write(
            wire.send(head) + wire.send(h11.Data(data=reply)) + wire.send(h11.EndOfMessage())
        )
        wire.start_next_cycle()
        if self._server.revision != before:
            for listener, number in self.listeners:
                listener.event(CHANGED % number)

    def event(self, data: bytes) -> None:
        """Push something."""
        self._transport.write(self._wire.send(h11.Data(data=b"data: %b\n\n" % data)))


async def over_http(server: Editable) -> None:
    """Serve at any port."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Exchange(server), "127.0.0.1", 0, backlog=2048)
    port = listening.sockets[0].getsockname()[1]
    tell(f"http://127.0.0.1:{port}/mcp")
    await listening.serve_forever()


def main() -> None:
    """The command line: what to serve over, how many prompts, how many on a page; it has no eras."""
    over, prompts, page, _ = sys.argv[1:]
    server = Editable(int(prompts), int(page))
    if over == "stdio":
        asyncio.run(over_stdio(server))
    else:
        asyncio.run(over_http(server))


if __name__ == "__main__":
    main()
