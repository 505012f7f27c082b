"""What keeps a blocking client connected, whenever one of its methods waits: `step` does whatever is due.

Input that the server wants is asked for from `step`, too, and never from inside the machine.
"""

from __future__ import annotations

import math
import selectors
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from mcp_sansio import INTERNAL_ERROR, InputNeeded, RequestReceived, RpcError

from ._defaults import now
from ._exceptions import ConnectionFailed, Ending
from ._hooks import logger, value_of
from ._line import CLOSED, Line
from ._process import EXITED, Child, ProcessSpec, Restarts
from ._reactor import Reactor
from ._session import Session
from ._streams import FdStream
from ._waiting import Waiter

GRACE = 2.0


class Peer(Protocol):
    """The other end of one connection."""

    stream: FdStream

    def watch(self, line: Line) -> None:
        """Begin to watch what there is beside the two."""

    def part(self, line: Line) -> Ending:
        """End the connection in good order; `line` has to end."""
        ...

    def close(self) -> None:
        """Let go of everything."""


Connect = Callable[[Reactor], Peer]


class SocketPeer:
    """A connected socket."""

    def __init__(self, sock: socket.socket, reactor: Reactor) -> None:
        self._reading = sock
        self._writing = sock.dup()  # a selector takes a descriptor once
        self._reactor = reactor
        sock.setblocking(False)
        self.stream = FdStream(sock.fileno(), self._writing.fileno())

    def watch(self, line: Line) -> None:
        """Nothing to watch."""

    def part(self, line: Line) -> Ending:
        """What was pulled is written, if the other end takes it in time."""
        if line.reason == CLOSED:
            self._reactor.until(lambda: line.write_over, GRACE)
        return Ending(line.reason or CLOSED)

    def close(self) -> None:
        """Close the socket."""
        self._writing.close()
        self._reading.close()


class ChildPeer:
    """A child process. Raises `OSError` or `ValueError` if it cannot be started."""

    def __init__(self, spec: ProcessSpec, reactor: Reactor) -> None:
        self._reactor = reactor
        self._child = Child(spec)
        self.stream = FdStream(self._child.stdout, self._child.stdin)
        self._stop_draining: Callable[[], object] = _nothing
        self._stop_waiting: Callable[[], object] = _nothing

    def watch(self, line: Line) -> None:
        """Drain stderr, and notice the exit even if the pipes stay open."""
        watch = self._reactor.watch
        self._stop_draining = watch(self._child.stderr, selectors.EVENT_READ, self._drain_errors)
        self._stop_waiting = watch(self._child.exited, selectors.EVENT_READ, partial(self._notice_exit, line))

    def part(self, line: Line) -> Ending:
        """Down the ladder."""
        for condition, patience in self._child.parting(line):
            self._reactor.until(condition, patience)
        return self._child.ending(line.reason)

    def close(self) -> None:
        """Let go of the process; if it still runs, it is killed."""
        self._stop_draining()
        self._stop_waiting()
        self._child.close()

    def _drain_errors(self) -> None:
        self._child.read_errors()
        if self._child.errors_over:
            self._stop_draining()

    def _notice_exit(self, line: Line) -> None:
        self._child.gone = True
        self._stop_waiting()
        line.end(EXITED)


class Connection:
    """The connections of one client, one after the other."""

    def __init__(self, connect: Connect, session: Session, restarts: Restarts) -> None:
        self.reactor = Reactor(session.client, session.handle, session.due)
        self._connect = connect
        self._session = session
        self._restarts = restarts
        self._current: tuple[Peer, Line] | None = None
        self._restart_at: float | None = None
        session.ask = self._ask
        session.serve = self._serve

    def start(self) -> None:
        """Connect, and wait until the era is known; raises `ConnectionFailed` if that does not come about."""
        self._open()
        while self._session.negotiated is None and self._session.ending is None:
            self.step()
        if self._session.ending is not None:
            raise ConnectionFailed(self._session.ending)

    def step(self, patience: float | None = None) -> None:
        """Wait for something to do, at most so many seconds, and do it."""
        if self._restart_at is not None:
            left = max(0.0, self._restart_at - now())
            patience = left if patience is None else min(left, patience)
        self.reactor.step(patience)
        if self._current is not None and self._current[1].reason is not None:
            self._lost(self._part(*self._current))
        elif self._restart_at is not None and now() >= self._restart_at:
            self._open()

    def until(self, condition: Callable[[], bool], patience: float | None = None) -> None:
        """Step until `condition` holds, at most so many seconds."""
        deadline = math.inf if patience is None else now() + patience
        self.reactor.turn()
        while not condition() and now() < deadline:
            self.step(None if patience is None else deadline - now())

    def stop(self) -> None:
        """Part from the server in good order."""
        self._session.closing = True
        self._session.close()
        self.reactor.turn()
        ending = Ending(CLOSED)
        if self._current is not None:
            self._current[1].end(CLOSED)
            ending = self._part(*self._current)
        self._finish(ending)
        self.reactor.close()

    @property
    def drained(self) -> bool:
        """Whether all that could be written has been."""
        return self._current is None or not self._current[1].broken

    def _open(self) -> None:
        self._restart_at = None
        try:
            peer = self._connect(self.reactor)
        except (OSError, ValueError) as error:
            self._finish(Ending(f"the server cannot be started: {error}"))
            return
        line = Line(self._session.wire(), peer.stream, self.reactor.turn, self._session.meter)
        self._current = peer, line
        peer.watch(line)
        peer.stream.start(line, self.reactor)
        line.begin()

    def _part(self, peer: Peer, line: Line) -> Ending:
        ending = Ending("interrupted")
        try:
            ending = peer.part(line)
        finally:
            self._current = None
            self._session.loss = ending
            peer.stream.stop()
            peer.close()
            line.settle(str(ending))
        return ending

    def _lost(self, ending: Ending) -> None:
        """Try again, if that makes sense and has not been tried too often."""
        delay = self._restarts.take(now()) if self._session.resumable else None
        if delay is None:
            self._finish(ending)
        else:
            self._restart_at = now() + delay

    def _finish(self, ending: Ending) -> None:
        self._session.finish(ending)
        self.reactor.turn()

    # --- what the server wants of us ---

    def _ask(self, needed: InputNeeded, waiter: Waiter[Any]) -> None:
        self.reactor.call(partial(self._give_input, needed))

    def _give_input(self, needed: InputNeeded) -> None:
        try:
            self._session.give_input(needed, value_of(self._session.hooks.on_input, needed))
        except Exception as error:  # noqa: BLE001  # it belongs to whoever waits for the result
            self._session.give_up(needed, error)

    def _serve(self, asked: RequestReceived) -> None:
        self.reactor.call(partial(self._respond, asked))

    def _respond(self, asked: RequestReceived) -> None:
        try:
            answer = value_of(self._session.hooks.on_request, asked)
        except Exception:  # noqa: BLE001  # whatever an application raises is its own
            logger.exception("%s failed", asked.request.method)
            answer = RpcError(INTERNAL_ERROR, "Internal error")
        self._session.respond(asked, answer)


def _nothing() -> None:
    pass
