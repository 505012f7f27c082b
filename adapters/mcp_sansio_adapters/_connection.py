"""What keeps an asynchronous client connected: one background function beside its methods.

It carries the bytes, keeps the time, starts a child process again when that dies, and runs what the server
asks of the application. It ends when it is told to, never by being cancelled; so a caller who is cancelled,
even while he enters, still leaves no child behind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_sansio import INTERNAL_ERROR, IncomingRequest, InputNeeded, LineWire, RequestReceived, RpcError

from ._defaults import now
from ._exceptions import ConnectionFailed, Ending
from ._hooks import awaited, logger
from ._line import CLOSED
from ._link import Link
from ._loop import Bell, Loop, Tasks
from ._peers import Peer
from ._process import Restarts
from ._pump import Pump
from ._session import Session, Waiter

Connect = Callable[[], Peer]


class Clock:
    """Keeps the time of a machine: one task that sleeps until something is due."""

    def __init__(self, loop: Loop) -> None:
        self._bell = Bell(loop)
        self._when: float | None = None
        self._asleep_until: float | None = None

    def rearm(self, when: float | None) -> None:
        """The next timeout has moved. Later is no reason to wake: too early does no harm."""
        self._when = when
        if when is not None and (self._asleep_until is None or when < self._asleep_until):
            self._bell.ring()

    async def run(self, due: Callable[[], None]) -> None:
        """Call `due` whenever something may be due."""
        while True:
            self._asleep_until = self._when
            seconds = None if self._when is None else max(0.0, self._when - now())
            await self._bell.wait(seconds)
            due()


class Connection:
    """The connections of one client, one after the other."""

    def __init__(self, loop: Loop, connect: Connect, session: Session, restarts: Restarts) -> None:
        self._loop = loop
        self._connect = connect
        self._session = session
        self._restarts = restarts
        self._link: Link | None = None
        self._settled = loop.event()
        self._stopped = loop.event()
        self._serving: dict[IncomingRequest, Callable[[], object]] = {}
        self._clock = Clock(loop)
        self._pump = Pump(session.client, session.handle, self._clock.rearm)
        session.settled = self._settled.set

    def turn(self) -> None:
        """To be called after every command."""
        self._pump.turn()

    async def drained(self) -> None:
        """Return when all that can be written has been."""
        if self._link is not None:
            await self._link.drained()

    async def ready(self) -> None:
        """Return when the era is known; raises `ConnectionFailed` if there will be no connection."""
        await self._settled.wait()
        if self._session.ending is not None:
            raise ConnectionFailed(self._session.ending)

    def stop(self) -> None:
        """Part from the server in good order; `run` returns soon after."""
        self._session.closing = True
        self._stopped.set()
        self._session.client.close(now())
        self._pump.turn()
        if self._link is not None:
            self._link.end(CLOSED)

    async def run(self) -> None:
        """Connect, stay connected, and part when told to."""
        ending = Ending("interrupted")
        try:
            async with self._loop.tasks() as tasks:
                self._session.ask = partial(self._start_asking, tasks)
                self._session.serve = partial(self._start_serving, tasks)
                self._session.withdraw = self._withdraw
                tasks.start(self._clock.run, self._due)
                ending = await self._stay_connected()
                tasks.cancel()
        finally:
            self._session.finish(ending)
            try:
                self._pump.turn()
            finally:
                self._session.wake_all()

    def _due(self) -> None:
        self._session.client.handle_timeout(now())
        self._pump.turn()

    async def _stay_connected(self) -> Ending:
        """One connection after the other, until one fails for good or we are told to stop."""
        ending = Ending(CLOSED)
        while not self._session.closing:
            try:
                peer = self._connect()
            except (OSError, ValueError) as error:
                return Ending(f"the server cannot be started: {error}")
            ending = await self._carry(peer)
            delay = self._restarts.take(now()) if self._session.resumable else None
            if delay is None:
                return ending
            await self._loop.wait(self._stopped, delay)
        return ending

    async def _carry(self, peer: Peer) -> Ending:
        """One connection, from its first byte to its last."""
        wire = LineWire(self._session.client, now())
        link = self._link = Link(self._loop, wire, peer.stream, self._pump.turn, self._session.traffic)
        self._pump.turn()
        ending = Ending("interrupted")
        try:
            async with self._loop.tasks() as tasks:
                link.start(tasks)
                peer.watch(link, tasks)
                await link.until(lambda: link.reason is not None)
                ending = await peer.part(link)
                tasks.cancel()
        finally:
            self._link = None
            self._session.loss = ending
            link.settle(str(ending))
            await peer.close()
        return ending

    # --- what the server wants of us ---

    def _start_asking(self, tasks: Tasks, needed: InputNeeded, waiter: Waiter[Any]) -> None:
        """Ask beside everything else; nobody needs the answer once the waiter is gone."""
        waiter.stop_helper = tasks.start(self._give_input, needed)

    async def _give_input(self, needed: InputNeeded) -> None:
        try:
            self._session.give_input(needed, await awaited(self._session.hooks.on_input, needed))
        except Exception as error:  # noqa: BLE001  # it belongs to whoever waits for the result
            self._session.give_up(needed, error)
        self._pump.turn()

    def _start_serving(self, tasks: Tasks, asked: RequestReceived) -> None:
        self._serving[asked.request] = tasks.start(self._respond, asked)

    def _withdraw(self, request: IncomingRequest) -> None:
        self._serving.pop(request, _nothing)()

    async def _respond(self, asked: RequestReceived) -> None:
        try:
            answer = await awaited(self._session.hooks.on_request, asked)
        except Exception:  # noqa: BLE001  # whatever an application raises is its own
            logger.exception("%s failed", asked.request.method)
            answer = RpcError(INTERNAL_ERROR, "Internal error")
        self._serving.pop(asked.request, None)
        self._session.respond(asked, answer)
        self._pump.turn()


def _nothing() -> None:
    pass
