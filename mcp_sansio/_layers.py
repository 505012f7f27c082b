"""The public door for layers: prompts come in through it, and so can anybody's tools or methods.

A layer owns methods, notifications and timers by name. It talks to its endpoint with the verbs that
applications use too, and is told what happens through the hooks below, all of which do nothing unless
a layer says otherwise. Hooks are called in the order in which the layers were given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ._calls import Call, Outcome
from ._errors import LocalProtocolError
from ._events import IncomingRequest, Op

if TYPE_CHECKING:
    from ._client import Client
    from ._server import Server


class ClientLayer:
    """Something that a `Client` carries.

    `announcements` maps the notifications that invalidate something of this layer to their topic, the
    field of the `subscriptions/listen` filter that asks for them.
    """

    announcements: Mapping[str, str] = {}
    client: Client

    def bind(self, client: Client) -> None:
        """Called once, when the client is made."""
        self.client = client

    def begin(self, kind: str, now: float) -> tuple[Op, float]:
        """A handle for a new command of this layer, and `now` as it counts, for time never goes back.

        Raises `LocalProtocolError` if the client is closed: nothing would end the command then.
        """
        if self.client.done:
            raise LocalProtocolError("the client is closed")
        return self.client.new_op(kind), self.client.tick(now)

    def filter(self, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        """Members for the listen filter that a server with these capabilities can honour."""
        return {}

    def opened(self, now: float) -> None:
        """The era is known, and requests may be made; or the server has said anew what it declares."""

    def channel(self, topic: str, live: bool, now: float) -> None:
        """The notification channel of `topic` came, went, or is known not to come."""

    def announced(self, topic: str, now: float) -> None:
        """The server says that something of `topic` changed."""

    def closed(self, reason: str, now: float) -> None:
        """The carrier is gone; another may follow."""

    def finished(self, reason: str, now: float) -> None:
        """Nothing can be asked any more."""

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """A call that this layer made is over; `call.op` is what it was made with."""


class ServerLayer:
    """Something that a `Server` offers.

    `methods` are the requests that the layer answers, `topics` what its clients can listen to: the
    field of the listen filter, mapped to the notification that announces a change.
    """

    methods: tuple[str, ...] = ()
    topics: Mapping[str, str] = {}
    server: Server

    def bind(self, server: Server) -> None:
        """Called once, when the server is made."""
        self.server = server

    def capabilities(self, version: str) -> Mapping[str, Any]:
        """What the layer adds to the server's capabilities in this revision."""
        return {}

    def announced(self, version: str) -> tuple[str, ...]:
        """The topics whose changes are announced to clients of this revision."""
        return tuple(self.topics)

    def requested(self, request: IncomingRequest, params: dict[str, Any], now: float) -> None:
        """A request for one of `methods`; `params` is without `_meta`, which `request` has."""


L = TypeVar("L", ClientLayer, ServerLayer)


def owners(
    layers: Sequence[L], claims: Callable[[L], Iterable[str]], own: Iterable[str] = ()
) -> dict[str, L]:
    """Which layer each name that they claim belongs to. Raises `LocalProtocolError` for one that two layers
    claim, or that is the library's `own`.
    """
    taken, found = [*own], dict[str, L]()
    for layer in layers:
        for name in dict.fromkeys(claims(layer)):
            if name in taken or name in found:
                raise LocalProtocolError(f"{name} belongs to somebody else than {type(layer).__name__}")
            found[name] = layer
    return found
