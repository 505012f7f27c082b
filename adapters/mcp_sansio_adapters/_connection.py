"""What keeps an asynchronous client connected: one background function beside its methods.

It keeps the time, turns the machine, and runs what the server asks of the application; how bytes come and go
is told by those who derive from it (`_line_connection`, `_http_connection`). It ends when it is told to,
never by being cancelled; so a caller who is cancelled, even while he enters, still leaves no child behind.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_sansio import INTERNAL_ERROR, IncomingRequest, InputNeeded, RequestReceived, RpcError

from ._defaults import now
from ._exceptions import ConnectionFailed, Ending
from ._hooks import awaited, logger
from ._loop import Bell, Loop, Tasks
from ._pump import Pump
from ._session import Session
from ._waiting import Waiter


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


class Connection(abc.ABC):
    """Whatever connects one client to its server."""

    def __init__(self, loop: Loop, session: Session) -> None:
        self.loop = loop
        self.session = session
        self._settled = loop.event()
        self._serving: dict[IncomingRequest, Callable[[], object]] = {}
        self._clock = Clock(loop)
        self._pump = Pump(session.client, session.handle, self._clock.rearm)
        session.settled = self._settled.set

    @abc.abstractmethod
    async def drained(self) -> None:
        """Return when all that can be written has been."""

    @abc.abstractmethod
    async def stay_connected(self) -> Ending:
        """Carry bytes until that fails for good or the client is closing; how it ended."""

    @abc.abstractmethod
    def part(self) -> None:
        """The client is closing: part from the server in good order."""

    def turn(self) -> None:
        """To be called after every command."""
        self._pump.turn()

    async def ready(self) -> None:
        """Return when the era is known; raises `ConnectionFailed` if there will be no connection."""
        await self._settled.wait()
        if self.session.ending is not None:
            raise ConnectionFailed(self.session.ending)

    def stop(self) -> None:
        """Part from the server in good order; `run` returns soon after."""
        self.session.closing = True
        self.session.close()
        self._pump.turn()
        self.part()

    async def run(self) -> None:
        """Connect, stay connected, and part when told to."""
        ending = Ending("interrupted")
        try:
            async with self.loop.tasks() as tasks:
                self.session.ask = partial(self._start_asking, tasks)
                self.session.serve = partial(self._start_serving, tasks)
                self.session.withdraw = self._withdraw
                tasks.start(self._clock.run, self._due)
                ending = await self.stay_connected()
                tasks.cancel()
        finally:
            self.session.finish(ending)
            try:
                self._pump.turn()
            finally:
                self.session.wake_all()

    def _due(self) -> None:
        self.session.due()
        self._pump.turn()

    # --- what the server wants of us ---

    def _start_asking(self, tasks: Tasks, needed: InputNeeded, waiter: Waiter[Any]) -> None:
        """Ask beside everything else; nobody needs the answer once the waiter is gone."""
        waiter.stop_helper = tasks.start(self._give_input, needed)

    async def _give_input(self, needed: InputNeeded) -> None:
        try:
            self.session.give_input(needed, await awaited(self.session.hooks.on_input, needed))
        except Exception as error:  # noqa: BLE001  # it belongs to whoever waits for the result
            self.session.give_up(needed, error)
        self._pump.turn()

    def _start_serving(self, tasks: Tasks, asked: RequestReceived) -> None:
        self._serving[asked.request] = tasks.start(self._respond, asked)

    def _withdraw(self, request: IncomingRequest) -> None:
        self._serving.pop(request, _nothing)()

    async def _respond(self, asked: RequestReceived) -> None:
        try:
            answer = await awaited(self.session.hooks.on_request, asked)
        except Exception:  # noqa: BLE001  # whatever an application raises is its own
            logger.exception("%s failed", asked.request.method)
            answer = RpcError(INTERNAL_ERROR, "Internal error")
        self._serving.pop(asked.request, None)
        self.session.respond(asked, answer)
        self._pump.turn()


def _nothing() -> None:
    pass
