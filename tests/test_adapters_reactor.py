"""The pump without an event loop, and its lines, over a socket of their own."""

import json
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager

from mcp_sansio import (
    Event,
    Implementation,
    IncomingRequest,
    LineWire,
    RequestReceived,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import now
from mcp_sansio_adapters._line import Line
from mcp_sansio_adapters._reactor import Reactor
from mcp_sansio_adapters._streams import FdStream

INFO = Implementation("test", "1")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Served:
    """A server whose requests the test answers, and the other end of its line."""

    def __init__(self, ours: socket.socket, theirs: socket.socket) -> None:
        self.theirs = theirs
        self.server = Server(ServerConfig(info=INFO, methods=("test/echo",)))
        self.asked: list[IncomingRequest] = []
        self.reactor = Reactor(self.server, self.hear, lambda: self.server.handle_timeout(now()))
        wire = LineWire(self.server.open(), now())
        self._writing = ours.dup()
        self._stream = FdStream(ours.fileno(), self._writing.fileno())
        self.line = Line(wire, self._stream, self.reactor.turn)
        self._stream.start(self.line, self.reactor)
        self.line.begin()

    def hear(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            self.asked.append(event.request)

    def ask(self, wire_id: int) -> None:
        request = {"jsonrpc": "2.0", "id": wire_id, "method": "test/echo", "params": {"_meta": META}}
        self.theirs.sendall(json.dumps(request).encode() + b"\n")

    def answer(self, at: int) -> None:
        self.server.respond(self.asked[at], {}, now())

    def close(self) -> None:
        self._stream.stop()
        self.reactor.close()
        self._writing.close()


@contextmanager
def serving() -> Generator[Served]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs, closing(Served(ours, theirs)) as served:
        yield served


def test_a_reply_that_is_ready_when_the_one_before_has_been_written_is_the_last_one_and_leaves() -> None:
    """To pull the last reply ends the stream, which makes its wire ready: who turned the machine then, with
    the reply in hand, found a line that has nothing to write and a wire that is closed.
    """
    with serving() as served:
        served.ask(1)
        served.ask(2)
        served.reactor.until(lambda: len(served.asked) == 2, 20)
        served.theirs.shutdown(socket.SHUT_WR)
        served.reactor.until(lambda: served.line.reason is not None, 20)
        served.line.settle()
        served.answer(0)
        served.reactor.turn()
        served.reactor.call(lambda: served.answer(1))  # heard in the step that writes the first
        served.reactor.until(lambda: served.line.write_over, 20)
        lines = served.theirs.recv(65536).splitlines()
        assert [json.loads(line)["id"] for line in lines] == [1, 2]
