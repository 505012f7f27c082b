"""A server of one peer for blocking code: one thread that moves bytes, and one more for every handler.

A handler whose request is given up cannot be stopped, for it is plain blocking code; nobody waits for it,
and what it returns is dropped. Edits of the catalogue may come from any thread.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from mcp_sansio import IncomingRequest, LineWire, PromptServer, Server

from ._defaults import now
from ._handlers import Handlers, Job
from ._hooks import value_of
from ._line import CLOSED
from ._options import GRACE, ServerOptions
from ._reactor import Channel, Reactor


class Host:
    """Serves one peer."""

    def __init__(self, server: Server, options: ServerOptions) -> None:
        hooks = options.get("on_request"), options.get("on_event")
        self._server = server
        self._grace = options.get("grace", GRACE)
        self._running: set[IncomingRequest] = set()
        self._handlers = Handlers(server, self._start, self._running.discard, *hooks)
        self._reactor = Reactor(server, self._handlers.handle)
        self._channel: Channel | None = None

    def serve(self, fds: tuple[int, int], principal: str | None, peer: object = None) -> None:
        """Serve whoever is at the other end of these descriptors until he is gone."""
        wire = LineWire(self._server.open(peer=peer, principal=principal), now())
        channel = self._channel = Channel(self._reactor, wire, fds)
        layers = [layer for layer in self._server.layers if isinstance(layer, PromptServer)]
        for layer in layers:
            layer.on_change = lambda topic: self._reactor.call(partial(self._changed, topic))
        try:
            channel.flush()
            self._reactor.until(lambda: channel.reason is not None, None)
            channel.settle()
            self._reactor.until(lambda: channel.write_over, self._grace)
        finally:
            for layer in layers:
                layer.on_change = None
            channel.release()
            if not wire.closed:
                wire.abort(now(), channel.reason or "interrupted")
            self._reactor.turn()
            self._reactor.close()

    def close(self) -> None:
        """Have `serve` return soon; from any thread or signal handler."""
        self._reactor.call(self._close)

    def _close(self) -> None:
        self._server.close(now())
        if self._channel is not None:
            self._channel.end(CLOSED)

    def _changed(self, topic: str) -> None:
        if not self._server.closed:
            self._server.changed(topic, now())

    # --- handlers ---

    def _start(self, job: Job) -> None:
        self._running.add(job.request)
        threading.Thread(target=self._work, args=(job,), daemon=True).start()

    def _work(self, job: Job) -> None:
        """In a thread of its own; what comes of it is for the one that moves bytes."""
        try:
            value = value_of(job.work)
        except Exception as error:  # noqa: BLE001  # whatever an application raises is its own
            self._reactor.call(partial(self._failed, job, error))
        else:
            self._reactor.call(partial(self._done, job, value))

    def _done(self, job: Job, value: Any) -> None:
        if job.request in self._running:
            self._running.remove(job.request)
            self._handlers.settle(job, value)

    def _failed(self, job: Job, error: Exception) -> None:
        if job.request in self._running:
            self._running.remove(job.request)
            self._handlers.fail(job, error)
