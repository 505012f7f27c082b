"""Servers of the asynchronous front ends: one machine, any number of streams, a task for every handler.

What may block runs in a thread, for which its task waits; when the task is cancelled, so is the waiting, and
what the thread comes to is dropped.

A `Service` drives one `Server` for as long as its block lasts, and `serve` carries one peer. When a peer has
finished sending, the replies that it is owed get a short grace; then what still runs is cancelled. Edits of
the catalogue may come from any thread: they are brought into the loop, and announced there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from mcp_sansio import IncomingRequest, PromptServer, Server

from ._connection import Clock
from ._defaults import now
from ._handlers import Handlers, Job
from ._handling import Handling
from ._hooks import awaited
from ._line import CLOSED
from ._link import Link
from ._loop import ByteStream, Loop, Tasks
from ._options import GRACE, THREADS, ServerOptions, recording_of
from ._pump import Pump
from ._threads import Threads, Work

L = TypeVar("L", bound=Link)


class Service:
    """A server that is being driven."""

    def __init__(self, loop: Loop, server: Server, options: ServerOptions) -> None:
        self.server = server
        self.loop = loop
        self._grace = options.get("grace", GRACE)
        self._tasks: Tasks | None = None
        self._running: dict[IncomingRequest, Callable[[], object]] = {}
        self._threads = Threads(options.get("threads", THREADS))
        self.portal = loop.portal()
        self._links: dict[Link, None] = {}
        self._started = loop.event()
        self._stopped = loop.event()
        self._clock = Clock(loop)
        self.recording = recording_of(options, server)
        hooks = options.get("on_request"), options.get("on_event")
        self._handlers = Handlers(server, self._start, self._stop, *hooks, recording=self.recording)
        self._pump = Pump(server, self._handlers.handle, self._clock.rearm)

    def turn(self) -> None:
        """To be called after every command to the server that does not come from a handler."""
        self._pump.turn()

    async def serve(self, stream: ByteStream, *, principal: str | None = None, peer: object = None) -> None:
        """Serve one peer until it is gone, then close the stream. `principal` is whom the application has
        authenticated.
        """
        try:
            wire = self.recording.wire(self.server.open(peer=peer, principal=principal), now())
        except BaseException:
            await stream.close()
            raise
        await self.carry(self.taken(Link(self.loop, wire, stream, self.turn)))

    def taken(self, link: L) -> L:
        """A link that `carry` will carry, and that is to end with all others."""
        self._links[link] = None
        return link

    async def carry(self, link: Link) -> None:
        """Carry the bytes of one connection until it is over, then close its stream."""
        async with self.loop.tasks() as tasks:
            try:
                link.start(tasks)
                await link.until(lambda: link.reason is not None)
                link.settle()
                await link.until(lambda: link.write_over, self._grace)
            finally:
                del self._links[link]
                if not link.wire.closed:
                    link.wire.abort(now(), link.reason or "interrupted")
                self.turn()
                await link.close()
            tasks.cancel()

    def close(self) -> None:
        """End all streams: what runs is cancelled, what is queued is written within the grace."""
        when = now()
        self.recording.command("close", when)
        self.server.close(when)
        for link in [*self._links]:
            link.end(CLOSED)
        self.turn()

    async def started(self) -> None:
        """Return when handlers can be run."""
        await self._started.wait()

    def stop(self) -> None:
        """Let `run` return."""
        self.close()
        self._stopped.set()

    async def run(self) -> None:
        """Keep the time, and run handlers, until told to stop."""
        try:
            async with self.loop.tasks() as tasks:
                self._tasks = tasks
                tasks.start(self._clock.run, self._due)
                self.turn()
                self._started.set()
                await self._stopped.wait()
                tasks.cancel()
        finally:
            self._threads.close()

    def changed(self, topic: str) -> None:
        """Something of `topic` changed: announce it. In the loop's own thread only."""
        if not self.server.closed:
            when = now()
            self.recording.command("changed", when, topic=topic)
            self.server.changed(topic, when)
            self.turn()

    def _due(self) -> None:
        when = now()
        self.recording.due(self.server.next_timeout(), when)
        self.server.handle_timeout(when)
        self.turn()

    # --- handlers ---

    def _start(self, job: Job) -> None:
        if self._tasks is not None:
            handling = Handling(partial(self._progress, job), self.portal)
            cancel = self._tasks.start(self._work, job, handling)
            self._running[job.request] = partial(_give_up, handling, cancel)

    def _stop(self, request: IncomingRequest) -> None:
        self._running.pop(request, _nothing)()

    async def _work(self, job: Job, handling: Handling) -> None:
        handling.enter()
        try:
            value = await (self._in_thread(job.work, handling) if job.blocks else awaited(job.work))
        except Exception as error:  # noqa: BLE001  # whatever an application raises is its own
            self._running.pop(job.request, None)
            self._handlers.fail(job, error)
        else:
            self._running.pop(job.request, None)
            self._handlers.settle(job, value)
        finally:
            handling.end()
        self.turn()

    async def _in_thread(self, function: Callable[[], Any], handling: Handling) -> Any:
        done = self.loop.event()
        work = Work(copy_context(), function, lambda _: self.portal(done.set))
        handling.withdraw = partial(self._threads.drop, work)
        self._threads.start(work)
        await done.wait()
        return await awaited(work.result)

    def _progress(self, job: Job, value: float, total: float | None, message: str | None) -> bool:
        told = self._handlers.progress(job, value, total, message)
        self.turn()
        return told


def _give_up(handling: Handling, cancel: Callable[[], object]) -> None:
    handling.end()
    cancel()


def _nothing() -> None:
    pass


@asynccontextmanager
async def opened_service(loop: Loop, server: Server, options: ServerOptions) -> AsyncGenerator[Service]:
    """Drive `server` for as long as the block lasts."""
    service = Service(loop, server, options)
    layers = [layer for layer in server.layers if isinstance(layer, PromptServer)]
    for layer in layers:
        layer.on_change = lambda topic: service.portal(partial(service.changed, topic))
    async with loop.background(service.run):
        try:
            await service.started()
            yield service
        finally:
            for layer in layers:
                layer.on_change = None
            service.stop()
