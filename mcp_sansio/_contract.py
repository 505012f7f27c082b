"""The seams of the house: what a machine, a wire and an endpoint owe each other.

An adapter sees machines and wires: it feeds bytes and time in and takes bytes, events and one
deadline out. A wire and an endpoint see each other through messages. Nothing here knows prompts, and
an endpoint knows nothing of bytes; `Carrier.shared` is all that it learns about what carries it.
"""

from __future__ import annotations

from typing import Any, Protocol

import attrs

from ._json import Batch, Malformed, Message, RequestId


@attrs.frozen
class Send:
    """One encoded message, without a line end. The other fields are what a header may need."""

    data: bytes
    method: str | None = None
    id: RequestId | None = None
    name: str | None = None


@attrs.frozen
class Abandon:
    """Nobody waits for the answer to `id` any more: close its exchange.

    Only for carriers that give each request an exchange of its own; on a shared channel, and in the legacy
    era, the endpoint sends `notifications/cancelled`.
    """

    id: RequestId


@attrs.frozen
class OpenPush:
    """Open the channel on which a legacy server pushes, where that is an exchange of its own (HTTP GET).

    The wire answers with `Client.push_opened`, `push_lost` or `push_refused`.
    """


Outgoing = Send | Abandon | OpenPush
"""What an endpoint asks of what carries it."""


class Outlet(Protocol):
    """Where what a stream has to say about one incoming message goes, if not to the stream's own carrier."""

    def put(self, message: Send) -> None:
        """Take one message; the response is the last."""

    def end(self) -> None:
        """No response will come: the request was cancelled, or the stream is over. May be said twice."""


class Port(Protocol):
    """What an endpoint is attached to, and `next_ready` returns: a `Wire`, or something over HTTP, where one
    exchange after the other carries what one byte stream does elsewhere. `token` is the adapter's own.
    """

    token: Any

    @property
    def closed(self) -> bool:
        """Whether nothing will be read or written any more."""
        ...


class Wire(Port, Protocol):
    """Bytes on one side, an endpoint on the other. Every byte wire has this contract.

    `receive_data` never raises for what the peer did and any split of the input is equal.
    `data_to_send` drains: what it returned is the caller's to write, in order. `abort` is for a write
    that failed or was cancelled half-way: what was not written is gone, and so is the wire.
    """

    @property
    def want_read(self) -> bool:
        """Whether input is welcome now."""
        ...

    def receive_data(self, data: bytes, now: float) -> None:
        """Feed what was read."""

    def receive_eof(self, now: float, reason: str = ...) -> None:
        """The peer has finished sending."""

    def data_to_send(self) -> list[bytes]:
        """Everything that can be written now."""
        ...

    def close(self, now: float) -> None:
        """Close after what is queued has been drained."""

    def abort(self, now: float, reason: str = ...) -> None:
        """Close at once."""


@attrs.frozen(eq=False)
class Carrier:
    """What an endpoint learns about the wire that it rides on."""

    wire: Port
    shared: bool = True


class Endpoint(Protocol):
    """Messages on both sides: a `Client`, or one `Stream` of a `Server`."""

    @property
    def done(self) -> bool:
        """Whether nothing will follow what is queued."""
        ...

    @property
    def want_read(self) -> bool:
        """Whether input is welcome now."""
        ...

    def attach(self, carrier: Carrier, now: float) -> None:
        """A carrier is there."""

    def carried_by(self, carrier: Carrier) -> bool:
        """Whether this is still the carrier; what an old wire has to say means nothing."""
        ...

    def recognizes(self, wire_id: RequestId, result: bytes) -> bool:
        """Whether what stands where the result of a reply stands is known to be well-formed. What a wire has
        asked about is received next.
        """
        ...

    def receive(self, message: Message | Batch | Malformed, now: float) -> None:
        """One incoming message."""

    def receive_eof(self, reason: str, now: float) -> None:
        """The peer has finished sending; what it asked for may still be answered."""

    def detach(self, reason: str, now: float) -> None:
        """The carrier is gone."""

    def fail(self, reason: str, now: float) -> None:
        """The carrier broke its framing or was aborted; report it, then detach."""

    def next_outgoing(self) -> Outgoing | None:
        """The next message to write; changes nothing above the wire."""


class Machine(Protocol):
    """A `Client` or a `Server`, as the pump of an adapter drives it."""

    def next_ready(self) -> Port | None:
        """A wire that has output, or whose `closed` changed."""

    def next_event(self) -> Any:
        """The next event, or None. Never raises."""

    def next_timeout(self) -> float | None:
        """When `handle_timeout` is due, in the clock of `now`."""

    def handle_timeout(self, now: float) -> None:
        """Act on what is due; early or repeated calls do nothing."""

    def close(self, now: float, reason: str = ...) -> None:
        """End everything."""
