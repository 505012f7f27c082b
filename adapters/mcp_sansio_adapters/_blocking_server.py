"""A server of one peer for blocking code: one thread that moves bytes, and more that handlers run in.

A handler whose request is given up cannot be stopped, for it is plain blocking code; nobody waits for it,
and what it returns is dropped. There is no loop here that quick functions could be called in. Edits of the
catalogue may come from any thread.
"""

from __future__ import annotations

from contextvars import copy_context
from functools import partial

from mcp_sansio import IncomingRequest, PromptServer, Server

from ._defaults import now
from ._handlers import Handlers, Job
from ._handling import Handling
from ._hooks import value_of
from ._line import CLOSED, Line
from ._options import GRACE, THREADS, ServerOptions, recording_of
from ._reactor import Reactor
from ._streams import FdStream
from ._threads import Threads, Work


class Host:
    """Serves one peer."""

    def __init__(self, server: Server, options: ServerOptions) -> None:
        self._recording = recording_of(options, server)
        hooks = options.get("on_request"), options.get("on_event")
        self._server = server
        self._grace = options.get("grace", GRACE)
        self._running: dict[IncomingRequest, Handling] = {}
        self._threads = Threads(options.get("threads", THREADS))
        self._handlers = Handlers(server, self._start, self._stop, *hooks, recording=self._recording)
        self._reactor = Reactor(server, self._handlers.handle, self._due)
        self._line: Line | None = None

    def serve(self, fds: tuple[int, int], principal: str | None, peer: object = None) -> None:
        """Serve whoever is at the other end of these descriptors until he is gone."""
        wire = self._recording.wire(self._server.open(peer=peer, principal=principal), now())
        stream = FdStream(*fds)
        line = self._line = Line(wire, stream, self._reactor.turn)
        layers = [layer for layer in self._server.layers if isinstance(layer, PromptServer)]
        for layer in layers:
            layer.on_change = lambda topic: self._reactor.call(partial(self._changed, topic))
        try:
            stream.start(line, self._reactor)
            line.begin()
            self._reactor.until(lambda: line.reason is not None, None)
            line.settle()
            self._reactor.until(lambda: line.write_over, self._grace)
        finally:
            for layer in layers:
                layer.on_change = None
            stream.stop()
            if not wire.closed:
                wire.abort(now(), line.reason or "interrupted")
            self._reactor.turn()
            for request in [*self._running]:
                self._stop(request)
            self._threads.close()
            self._reactor.close()

    def close(self) -> None:
        """Have `serve` return soon; from any thread or signal handler."""
        self._reactor.call(self._close)

    def _close(self) -> None:
        when = now()
        self._recording.command("close", when)
        self._server.close(when)
        if self._line is not None:
            self._line.end(CLOSED)

    def _changed(self, topic: str) -> None:
        if not self._server.closed:
            when = now()
            self._recording.command("changed", when, topic=topic)
            self._server.changed(topic, when)

    def _due(self) -> None:
        when = now()
        self._recording.due(self._server.next_timeout(), when)
        self._server.handle_timeout(when)

    # --- handlers ---

    def _start(self, job: Job) -> None:
        handling = Handling(partial(self._handlers.progress, job), self._reactor.call)
        context = copy_context()
        context.run(handling.enter)
        work = Work(context, partial(value_of, job.work), partial(self._ended, job))
        handling.withdraw = partial(self._threads.drop, work)
        self._running[job.request] = handling
        self._threads.start(work)

    def _stop(self, request: IncomingRequest) -> None:
        handling = self._running.pop(request, None)
        if handling is not None:
            handling.end()

    def _ended(self, job: Job, work: Work) -> None:
        """In the thread of the work."""
        self._reactor.call(partial(self._done, job, work))

    def _done(self, job: Job, work: Work) -> None:
        """In the thread that moves bytes."""
        handling = self._running.pop(job.request, None)
        if handling is None:
            return
        try:
            value = work.result()
        except Exception as error:  # noqa: BLE001  # whatever an application raises is its own
            self._handlers.fail(job, error)
        else:
            self._handlers.settle(job, value)
        finally:
            handling.end()
