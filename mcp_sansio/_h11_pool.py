"""The connections of an HTTP client: how many there are, which exchange goes over which, and when one closes.

Exchanges come from an `HttpClient`. Each gets the connection that was idle last, or a new one. Those that ask
for a reply wait where there are too many connections; what asks for none never waits, for a reply may depend
on it. Connections are opened by the adapter: `next_wire` hands out those that it has to open.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, cast

import attrs

from ._checks import from_
from ._client import Client
from ._contract import Port
from ._h11_client import H11ClientWire
from ._http_client import MAX_BODY, HttpClient, RequestHeaders
from ._http_reply import ClientExchange
from ._passing import OnMessage
from ._url import HttpUrl


@attrs.frozen(kw_only=True)
class H11PoolConfig:
    """How a client treats its connections. Times are seconds.

    `max_connections` limits those on which replies are awaited, streams that stay open not among them. An
    idle one is closed after `idle_timeout`; `connect_timeout` limits how long opening one takes, None does
    not. `max_head` limits the head of a reply, in bytes.
    """

    max_connections: int = attrs.field(default=100, validator=from_(1))
    idle_timeout: float = attrs.field(default=15.0, validator=from_(0))
    connect_timeout: float | None = attrs.field(default=10.0, validator=from_(0))
    max_head: int = attrs.field(default=65_536, validator=from_(1))


class H11Pool:
    """All connections of one client to the server at `url`; attaches itself to the client.

    Whenever the machine's `next_ready` returns this, take `next_wire` until it is None, and look whether it
    is `closed`. `headers`, `request_headers`, `max_body` and `on_message` are those of `HttpClient`, which
    `http` makes. `token` is the adapter's own.
    """

    def __init__(
        self,
        client: Client,
        url: HttpUrl,
        now: float,
        config: H11PoolConfig | None = None,
        *,
        headers: Iterable[tuple[str, str]] = (),
        request_headers: RequestHeaders | None = None,
        max_body: int = MAX_BODY,
        on_message: OnMessage | None = None,
        http: Callable[..., HttpClient] = HttpClient,
    ) -> None:
        self.token: Any = None
        self.client = client
        self.url = url
        self._config = config or H11PoolConfig()
        self._wires: dict[H11ClientWire, None] = {}
        self._idle: dict[H11ClientWire, None] = {}
        self._opening: deque[H11ClientWire] = deque()
        self._waiting: deque[ClientExchange] = deque()
        self._again: deque[ClientExchange] = deque()
        self._http = http(
            client,
            url.target,
            now,
            headers=headers,
            request_headers=request_headers,
            max_body=max_body,
            port=self,
            origin=url.origin,
            on_message=on_message,
        )

    @property
    def closed(self) -> bool:
        """Whether there will be no more connections, and none is open."""
        return self._http.closed and not self._wires

    def next_wire(self) -> H11ClientWire | None:
        """The next connection to be opened, if one is wanted now."""
        while (fresh := self._http.next_exchange()) is not None:
            if fresh.urgent:
                self._place(fresh)
            else:
                self._waiting.append(fresh)
        for wire in [*self._wires]:
            wire.drop_unwanted(self._clock())
        while self._again:
            self._dial(self._again.popleft())
        while self._waiting and (self._waiting[0].closed or self._has_room):
            self._place(self._waiting.popleft())
        if self._http.closed:
            for wire in [*self._idle]:
                wire.close(self._clock())
        return self._opening.popleft() if self._opening else None

    def close(self, now: float, reason: str = "closed") -> None:
        """Let go of the client, which may go on elsewhere; what is under way is lost, the session ended, and
        then all connections close.
        """
        self._http.close(now, reason)

    # --- for connections ---

    def wake(self, port: Port) -> None:
        """Have something returned by `next_ready`."""
        self.client.wake(port)

    def opened(self, wire: H11ClientWire) -> None:
        """A connection has been opened."""
        self.client.cancel_timer(self._not_connected, wire)
        self.wake(wire)

    def returned(self, wire: H11ClientWire, now: float) -> None:
        """A connection has nothing to do."""
        self._idle[wire] = None
        self.client.set_timer(self._too_idle, now + self._config.idle_timeout, wire)
        self.wake(self)

    def gone(self, wire: H11ClientWire) -> None:
        """A connection is closed."""
        self._wires.pop(wire, None)
        self._idle.pop(wire, None)
        self.client.cancel_timer(self._too_idle, wire)
        self.client.cancel_timer(self._not_connected, wire)
        if wire in self._opening:  # nobody has heard of it
            self._opening.remove(wire)
        else:
            self.wake(wire)
        self.wake(self)

    def repeat(self, exchange: ClientExchange) -> None:
        """An old connection was closed under an exchange; another old one may be as well."""
        self._again.append(exchange)
        self.wake(self)

    # --- inside ---

    @property
    def _has_room(self) -> bool:
        awaited = sum(wire.exchange is not None and not wire.exchange.urgent for wire in self._wires)
        return awaited < self._config.max_connections

    def _place(self, exchange: ClientExchange) -> None:
        """Over the connection that was idle last, or a new one."""
        if exchange.closed or not self._idle:
            self._dial(exchange)
            return
        wire, _ = self._idle.popitem()
        self.client.cancel_timer(self._too_idle, wire)
        wire.start(exchange)

    def _dial(self, exchange: ClientExchange) -> None:
        if exchange.closed:
            return
        wire = H11ClientWire(self, self._config.max_head)
        self._wires[wire] = None
        self._opening.append(wire)
        if self._config.connect_timeout is not None:
            due = self._clock() + self._config.connect_timeout
            self.client.set_timer(self._not_connected, due, wire)
        wire.start(exchange)

    def _clock(self) -> float:
        return self.client.tick(-math.inf)

    def _too_idle(self, key: Hashable, now: float) -> None:
        cast("H11ClientWire", key).close(now)

    def _not_connected(self, key: Hashable, now: float) -> None:
        cast("H11ClientWire", key).abort(now, f"connecting to {self.url.origin} took too long")
