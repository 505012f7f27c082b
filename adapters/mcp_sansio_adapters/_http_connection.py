"""A client over HTTP: as many connections as its exchanges need, each carried by a task of its own.

Which connections there are, what goes over them and what becomes of a request whose connection broke is the
pool's business, which is pure. Here connections are opened, and their bytes moved; one that cannot be opened
is reported to the pool like one that broke.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

import attrs

from mcp_sansio import HttpUrl, RequestHeaders
from mcp_sansio.h11 import H11ClientWire, H11Pool, H11PoolConfig

from ._connection import Connection
from ._defaults import now
from ._exceptions import Ending
from ._line import CLOSED
from ._link import Link
from ._loop import Address, Bell, ByteStream, Loop, Tasks
from ._options import HttpOptions
from ._peers import GRACE
from ._session import Session


@attrs.frozen(kw_only=True)
class HttpTarget:
    """The server to connect to, and what every request says."""

    url: HttpUrl
    tls: ssl.SSLContext | None
    headers: tuple[tuple[str, str], ...]
    request_headers: RequestHeaders | None
    pool: H11PoolConfig

    @property
    def address(self) -> Address:
        """Where to connect to."""
        return Address(self.url.host, self.url.port, self.tls)


class Dial:
    """One connection of the pool, from before it is open; the token of its wire until then."""

    def __init__(self, wire: H11ClientWire) -> None:
        wire.token = self
        self.wire = wire
        self.link: Link | None = None
        self.give_up: Callable[[], object] = _nothing

    def flush(self) -> None:
        """The pool has lost patience, or nobody needs the connection any more."""
        if self.wire.closed:
            self.give_up()


class HttpConnection(Connection):
    """Everything that one client has open to its server."""

    def __init__(self, loop: Loop, session: Session, target: HttpTarget) -> None:
        super().__init__(loop, session)
        self._target = target
        self._pool = H11Pool(
            session.client,
            target.url,
            now(),
            target.pool,
            headers=target.headers,
            request_headers=target.request_headers,
            on_message=session.recording.listener(session.hooks.on_message),
            http=session.recording.http_client,
        )
        self._pool.token = self
        self._dials: dict[Dial, None] = {}
        self._tasks: Tasks | None = None
        self._change = Bell(loop)

    async def drained(self) -> None:
        """Return when all that can be written has been."""
        for dial in [*self._dials]:
            if dial.link is not None:
                await dial.link.drained()

    def part(self) -> None:
        """What is said in parting is the pool's business; it gets a while for that."""
        self._change.ring()

    async def stay_connected(self) -> Ending:
        """Carry whatever the pool opens until it has closed."""
        async with self.loop.tasks() as tasks:
            self._tasks = tasks
            self.turn()
            self.flush()
            while not (self._pool.closed or self.session.closing):
                await self._change.wait()
            deadline = now() + GRACE
            while not self._pool.closed and now() < deadline:
                await self._change.wait(deadline - now())
            self._tasks = None
            tasks.cancel()
        return Ending(CLOSED)

    def flush(self) -> None:
        """The pool says that connections are wanted, or that it has closed."""
        while self._tasks is not None and (wire := self._pool.next_wire()) is not None:
            dial = Dial(wire)
            self._dials[dial] = None
            dial.give_up = self._tasks.start(self._carry, dial)
        self._change.ring()

    async def _carry(self, dial: Dial) -> None:
        reason = "interrupted"
        try:
            stream = await self.loop.connect(self._target.address)
            reason = await self._exchange(dial, stream)
        except OSError as error:
            reason = f"cannot connect to {self._target.url.origin}: {error}"
        finally:
            del self._dials[dial]
            dial.wire.abort(now(), reason)
            self.turn()
            self._change.ring()

    async def _exchange(self, dial: Dial, stream: ByteStream) -> str:
        link = dial.link = Link(self.loop, dial.wire, stream, self.turn, self.session.meter)
        try:
            async with self.loop.tasks() as tasks:
                dial.wire.connected(now())
                link.start(tasks)
                self.turn()
                await link.until(lambda: link.reason is not None)
                link.settle()
                tasks.cancel()
        finally:
            await stream.close()
        return link.reason or CLOSED


def http_target(url: str, options: HttpOptions) -> HttpTarget:
    """What a URL and these options say about the server."""
    parsed = HttpUrl.parse(url)
    tls = options.get("tls") or (ssl.create_default_context() if parsed.scheme == "https" else None)
    return HttpTarget(
        url=parsed,
        tls=tls if parsed.scheme == "https" else None,
        headers=tuple(options.get("headers", {}).items()),
        request_headers=options.get("request_headers"),
        pool=options.get("pool") or H11PoolConfig(),
    )


def _nothing() -> None:
    pass
