"""A client and a server over HTTP in one virtual-time world, for tests.

`HttpWorld` is a `World` whose ends are an `HttpClient` and an `HttpServer`. Every exchange is a trip of its
own: what is said in it keeps its order and comes in pieces, but trips overtake each other as their `lag` has
it, and a `fate` can have the network lose one on its way. Nothing sleeps and nothing is random.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

from pair import World

from mcp_sansio import (
    ClientExchange,
    End,
    Head,
    HttpClient,
    HttpExchange,
    HttpServer,
    HttpServerConfig,
)
from mcp_sansio._lines import Overlong
from mcp_sansio._sse import SseDecoder

Fate = Literal["request", "reply", "middle"] | None
"""Where a trip is lost: before the server hears of it, before the client hears back, or after it began to."""

Cut = Callable[[bytes], Iterable[bytes]]


def whole(data: bytes) -> Iterable[bytes]:
    """Chunks arrive as they were sent."""
    return [data]


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    """Chunks arrive in pieces, empty ones included."""
    return [b"", *(data[at : at + 1] for at in range(len(data)))]


class Trip:
    """One exchange, as the network sees it."""

    def __init__(self, asked: ClientExchange, fate: Fate) -> None:
        self.asked = asked
        self.answered: HttpExchange | None = None
        self.fate = fate
        self.status: int | None = None
        self.over = False
        self.busy_until = 0.0
        self.events: SseDecoder | None = None
        self.message: dict[str, Any] = json.loads(asked.body) if asked.body else {}

    @property
    def what(self) -> str:
        """What it is about: a JSON-RPC method, or that of the exchange."""
        found: str = self.message.get("method", self.asked.method)
        return found


class HttpWorld(World):
    """Both ends, the trips between them, and time."""

    def __init__(
        self,
        *,
        http: HttpServerConfig | None = None,
        cut: Cut = whole,
        lag: Callable[[Trip], float] | None = None,
        fate: Callable[[Trip], Fate] | None = None,
        **world: Any,
    ) -> None:
        """`lag` is how long anything of a trip takes, `latency` seconds by default; the rest is `World`'s."""
        self._numbers = itertools.count(1)
        self._http_config = http or HttpServerConfig(new_session_id=self._new_session_id)
        self._cut = cut
        self._lag = lag or (lambda _: self.latency)
        self._fate = fate or (lambda _: None)
        self.trips: list[Trip] = []
        super().__init__(**world)

    def _new_session_id(self) -> str:
        return f"session-{next(self._numbers)}"

    # --- links ---

    def connect(self) -> None:
        """Make both ends."""
        self.http_server = HttpServer(self.server, self._http_config)
        self.http_client = HttpClient(self.client, "/mcp", self.now)
        self.settle()

    def disconnect(self, reason: str = "cut") -> None:
        """Break every trip that is under way; the next ones fare as they fare."""
        for trip in [*self.trips]:
            self._break(trip, reason)
        self.settle()

    def restart(self) -> None:
        """Another server, with the same prompts, that knows nothing of the sessions of this one."""
        self.server.close(self.now)
        self.disconnect("the server is gone")
        self._begin_anew()
        self.http_server = HttpServer(self.server, self._http_config)
        self.settle()

    # --- trips ---

    def _turn(self) -> None:
        """The pump of an adapter, for both machines."""
        busy = True
        while busy:
            busy = self._pump_client() | self._pump_server()
            busy |= self._hear()

    def _pump_client(self) -> bool:
        busy = False
        while self.client.next_ready() is not None:
            busy = True
        while (asked := self.http_client.next_exchange()) is not None:
            trip = Trip(asked, None)
            trip.fate = self._fate(trip)
            self.trips.append(trip)
            if trip.message:
                self.sent.append((self.now, trip.message))
            self._arrive(trip, partial(self._at_server, trip))
        for trip in [*self.trips]:
            if trip.asked.closed and not trip.over:
                trip.over = True
                self._arrive(trip, partial(self._leave_server, trip, "the client hung up"))
        return busy

    def _pump_server(self) -> bool:
        busy = False
        while (port := self.server.next_ready()) is not None:
            busy = True
            if isinstance(port, HttpExchange) and isinstance(port.token, Trip):
                self._outputs(port.token)
        return busy

    def _arrive(self, trip: Trip, action: Callable[[], None]) -> None:
        """Do something later, and not before what the trip was about to do already."""
        trip.busy_until = max(trip.busy_until, self.now + self._lag(trip))
        self.at(trip.busy_until, action)

    def _at_server(self, trip: Trip) -> None:
        if trip.fate == "request":
            self._break(trip, "unreachable")
        if trip.over:
            return
        asked = trip.asked
        headers = [("Host", "localhost"), ("Content-Length", str(len(asked.body))), *asked.headers]
        trip.answered = self.http_server.exchange(
            asked.method, asked.target, headers, self.now, principal=self.principal
        )
        trip.answered.token = trip
        for piece in self._cut(asked.body):
            trip.answered.receive_data(piece, self.now)
        trip.answered.receive_eof(self.now)
        self._outputs(trip)

    def _outputs(self, trip: Trip) -> None:
        """What the server has to say about a trip goes on its way."""
        if trip.answered is None:
            return
        for part in trip.answered.outputs():
            self._arrive(trip, partial(self._at_client, trip, part))

    def _at_client(self, trip: Trip, part: Head | bytes | End) -> None:
        lost = trip.fate == "reply" or (trip.fate == "middle" and not isinstance(part, Head))
        if lost and not trip.over:
            self._break(trip, "reset")
        if trip.over:
            return
        if isinstance(part, Head):
            trip.status = part.status
            trip.asked.receive_head(part.status, part.headers, self.now)
            if ("content-type", "text/event-stream") in part.headers:
                trip.events = SseDecoder(1 << 20)
        elif isinstance(part, End):
            trip.over = True
            trip.asked.receive_eof(self.now)
        else:
            self._note(trip, part)
            for piece in self._cut(part):
                trip.asked.receive_data(piece, self.now)

    def _note(self, trip: Trip, chunk: bytes) -> None:
        """Write down the messages that arrive."""
        found: Sequence[Any] = [json.loads(chunk)] if trip.events is None else trip.events.feed(chunk)
        for event in found:
            assert not isinstance(event, Overlong)
            self.received.append((self.now, event if trip.events is None else json.loads(event.data)))

    def _break(self, trip: Trip, reason: str) -> None:
        """Both ends see that a trip has ended; there is no more to it."""
        if not trip.over:
            trip.over = True
            trip.asked.abort(self.now, reason)
            self._leave_server(trip, reason)

    def _leave_server(self, trip: Trip, reason: str) -> None:
        if trip.answered is not None:
            trip.answered.abort(self.now, reason)

    # --- what happened ---

    def made(self, what: str) -> list[Trip]:
        """The trips for a JSON-RPC method, or for GET or DELETE."""
        return [trip for trip in self.trips if trip.what == what]

    def open(self, what: str) -> list[Trip]:
        """Those that are under way."""
        return [trip for trip in self.made(what) if not trip.over]
