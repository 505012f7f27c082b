"""Connections over byte streams: one after the other, a child process started again when it dies."""

from __future__ import annotations

from collections.abc import Callable

from ._connection import Connection
from ._defaults import now
from ._exceptions import Ending
from ._line import CLOSED
from ._link import Link
from ._loop import Loop
from ._peers import Peer
from ._process import Restarts
from ._session import Session

Connect = Callable[[], Peer]


class LineConnection(Connection):
    """The connections of one client, one after the other."""

    def __init__(self, loop: Loop, session: Session, connect: Connect, restarts: Restarts) -> None:
        super().__init__(loop, session)
        self._connect = connect
        self._restarts = restarts
        self._link: Link | None = None
        self._stopped = loop.event()

    async def drained(self) -> None:
        """Return when all that can be written has been."""
        if self._link is not None:
            await self._link.drained()

    def part(self) -> None:
        """End the line, and start no other."""
        self._stopped.set()
        if self._link is not None:
            self._link.end(CLOSED)

    async def stay_connected(self) -> Ending:
        """One connection after the other, until one fails for good or we are told to stop."""
        ending = Ending(CLOSED)
        while not self.session.closing:
            try:
                peer = self._connect()
            except (OSError, ValueError) as error:
                return Ending(f"the server cannot be started: {error}")
            ending = await self._carry(peer)
            delay = self._restarts.take(now()) if self.session.resumable else None
            if delay is None:
                return ending
            await self.loop.wait(self._stopped, delay)
        return ending

    async def _carry(self, peer: Peer) -> Ending:
        """One connection, from its first byte to its last."""
        link = self._link = Link(
            self.loop, self.session.wire(), peer.stream, self._pump.turn, self.session.meter
        )
        self._pump.turn()
        ending = Ending("interrupted")
        try:
            async with self.loop.tasks() as tasks:
                link.start(tasks)
                peer.watch(link, tasks)
                await link.until(lambda: link.reason is not None)
                ending = await peer.part(link)
                tasks.cancel()
        finally:
            self._link = None
            self.session.loss = ending
            link.settle(str(ending))
            await peer.close()
        return ending
