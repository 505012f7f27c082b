"""A client and a server over HTTP/1.1 bytes in one virtual-time world, for tests.

`H11World` is a `World` whose ends are an `H11Pool` and the `H11ServerWire`s of the connections that it opens.
Every connection is a `Cable`: bytes keep their order on it and arrive in pieces, `latency` after they were
written; it can be cut after so many bytes. Nothing sleeps and nothing is random.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from http_pair import Cut, whole
from pair import World

from mcp_sansio import (
    HttpServer,
    HttpServerConfig,
    HttpUrl,
)
from mcp_sansio.h11 import H11ClientWire, H11Config, H11Pool, H11PoolConfig, H11ServerWire


class Cable:
    """One connection: both wires, and how many bytes of replies it will still carry."""

    def __init__(self, near: H11ClientWire, far: H11ServerWire, budget: int | None) -> None:
        self.near = near
        self.far = far
        self.budget = budget
        self.carried = 0
        self.broken = False

    @property
    def over(self) -> bool:
        """Whether both ends have closed."""
        return self.near.closed and self.far.closed


class H11World(World):
    """Both ends, the cables between them, and time. `serving_now`: whether connections are accepted."""

    def __init__(
        self,
        *,
        cut: Cut = whole,
        pool: H11PoolConfig | None = None,
        h11: H11Config | None = None,
        http: dict[str, Any] | None = None,
        budget: Callable[[int], int | None] | None = None,
        **world: Any,
    ) -> None:
        """`budget` says for each connection, by its number, how many bytes of replies come through."""
        numbers = itertools.count(1)
        self._http_config = HttpServerConfig(
            **{"new_session_id": lambda: f"session-{next(numbers)}", **(http or {})}
        )
        self._cut, self._pool_config, self._h11_config = cut, pool, h11
        self.budget: Callable[[int], int | None] = budget or (lambda _: None)
        self.serving_now = True
        self.cables: list[Cable] = []
        super().__init__(**world)

    # --- links ---

    def connect(self) -> None:
        """Make both ends."""
        self.http_server = HttpServer(self.server, self._http_config)
        self.pool = H11Pool(
            self.client, HttpUrl.parse("http://localhost:8000/mcp"), self.now, self._pool_config
        )
        self.settle()

    def disconnect(self, reason: str = "reset") -> None:
        """Break every connection there is."""
        for cable in self.cables:
            self._break(cable, reason)
        self.settle()

    def stop(self) -> None:
        """The server is gone, and with it whatever it knew but its prompts."""
        self.serving_now = False
        self.server.close(self.now)
        self.disconnect()

    def restart(self) -> None:
        """Another server, with the same prompts, that knows nothing of the sessions of this one."""
        self.stop()
        self._begin_anew()
        self.http_server = HttpServer(self.server, self._http_config)
        self.serving_now = True
        self.settle()

    # --- cables ---

    def _turn(self) -> None:
        """The pump of an adapter, for both machines."""
        busy = True
        while busy:
            busy = False
            for machine in (self.client, self.server):
                while (port := machine.next_ready()) is not None:
                    busy = True
                    self._flush_port(port)
            busy |= self._hear()

    def _flush_port(self, port: Any) -> None:
        if port is self.pool:
            while (wire := self.pool.next_wire()) is not None:
                self.at(self.now + self.latency, partial(self._dial, wire))
        elif isinstance(port.token, Cable):
            self._carry(port.token, port)

    def _dial(self, near: H11ClientWire) -> None:
        if near.closed:
            return
        if not self.serving_now:
            near.abort(self.now, "connection refused")
            return
        far = H11ServerWire(self.http_server, self.now, self._h11_config)
        cable = Cable(near, far, self.budget(len(self.cables)))
        near.token = far.token = cable
        self.cables.append(cable)
        near.connected(self.now)

    def _carry(self, cable: Cable, port: H11ClientWire | H11ServerWire) -> None:
        """What one end has written, or that it has closed, goes to the other one."""
        other = cable.far if port is cable.near else cable.near
        while data := b"".join(port.data_to_send()):
            self.at(self.now + self.latency, partial(self._arrive, cable, other, data))
        if port.closed:
            self.at(self.now + self.latency, partial(self._hung_up, cable, other))

    def _arrive(self, cable: Cable, wire: H11ClientWire | H11ServerWire, data: bytes) -> None:
        if cable.broken:
            return
        rest = None
        if wire is cable.near:
            rest = None if cable.budget is None else cable.budget - cable.carried
            cable.carried += len(data)
        for piece in self._cut(data if rest is None else data[:rest]):
            wire.receive_data(piece, self.now)
        if rest is not None and len(data) >= rest:
            self._break(cable, "reset")

    def _hung_up(self, cable: Cable, wire: H11ClientWire | H11ServerWire) -> None:
        if not cable.broken:
            wire.receive_eof(self.now)

    def _break(self, cable: Cable, reason: str) -> None:
        cable.broken = True
        cable.near.abort(self.now, reason)
        cable.far.abort(self.now, reason)

    # --- what happened ---

    @property
    def open(self) -> list[Cable]:
        """The connections that are not closed at both ends."""
        return [cable for cable in self.cables if not cable.over]
