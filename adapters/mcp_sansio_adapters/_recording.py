"""What is noted of a party while it is driven, for whoever wants to look at it later; here: nothing.

The front ends tell a `Recording` what they tell the machine, with the same `now`, and what it tells them. It
makes the wires, too, since what passes over them is the better part of it. Without a recorder all of this
comes to nothing; `recording` has the one that writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mcp_sansio import (
    CallId,
    Client,
    ClientConfig,
    Endpoint,
    Event,
    HttpClient,
    HttpServer,
    HttpServerConfig,
    IncomingRequest,
    LineWire,
    ListingConfig,
    OnMessage,
    Op,
    Server,
)


class Recording:
    """A party that nobody records."""

    def begin(self, config: ClientConfig, listing: ListingConfig) -> ClientConfig:
        """A client is about to be made of these; the config that it is to be made of."""
        return config

    def command(self, verb: str, now: float, /, **data: Any) -> None:
        """The application is about to do something; what is None was not given."""

    def began(self, key: Op | CallId, name: str | None) -> None:
        """What it did has got this number; it was about the prompt of that name, if about any."""

    def due(self, when: float | None, now: float) -> None:
        """The machine is about to be told the time; `when` is its next timeout."""

    def event(self, event: Event) -> None:
        """The machine has told the application something."""

    def report(self, kind: str, /, **fields: Any) -> None:
        """The application knows something now."""

    def answer(self, request: IncomingRequest, value: Any, now: float) -> None:
        """A request of the peer's is about to be answered with what the application came to."""

    def fail(self, request: IncomingRequest, reason: str, now: float) -> None:
        """A request of the peer's is about to be refused, since the application failed."""

    def progress(self, request: IncomingRequest, now: float, **data: Any) -> None:
        """Progress of a request is about to be reported."""

    def wire(self, endpoint: Endpoint, now: float, on_message: OnMessage | None = None) -> LineWire:
        """A byte stream for the endpoint."""
        return LineWire(endpoint, now, on_message=on_message)

    def http_client(self, client: Client, target: str, now: float, **options: Any) -> HttpClient:
        """HTTP exchanges for the client."""
        return HttpClient(client, target, now, **options)

    def http_server(self, server: Server, config: HttpServerConfig) -> HttpServer:
        """HTTP exchanges for the server."""
        return HttpServer(server, config)

    def listener(self, on_message: OnMessage | None) -> OnMessage | None:
        """What is to hear of the messages of HTTP exchanges, if somebody else wants to hear of them."""
        return on_message


class Recorder(Protocol):
    """Whoever notes what parties do."""

    def of_client(self) -> Recording:
        """The recording of a new client."""
        ...

    def of_server(self, server: Server) -> Recording:
        """The recording of a new server."""
        ...


UNRECORDED = Recording()
"""The recording of who has no recorder; tells nobody anything, so that it can be everybody's."""


class Jitter:
    """Random numbers, each of which somebody hears of."""

    def __init__(self, draw: Callable[[], float], heard: Callable[[float], None]) -> None:
        self._draw = draw
        self._heard = heard

    def __call__(self) -> float:
        value = self._draw()
        self._heard(value)
        return value
