"""Clients and servers that do nothing wrong, but never come to an end: a bug for each property of liveness.

As in the zoo of clients, a bug is a subclass that takes the place of one part, or of the node itself.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import attrs

from mcp_sansio._calls import Call, Calls
from mcp_sansio._coalescer import Coalescer
from mcp_sansio._events import Event
from mcp_sansio._listing import Listing
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._node import Action, Node
from mcp_sansio.simulation._scenarios import TORTURE
from mcp_sansio.simulation._server_node import ServerNode

from .clients import become
from .scenes_live import FLOOD, IDLE_DAY, REFUSED
from .scenes_server import STORM
from .variant import Variant

POLL = 900.0


def _instead(bug: type) -> Callable[[Any], None]:
    """Give a node itself another class."""

    def change(node: Node) -> None:
        object.__setattr__(node, "__class__", bug)

    return change


class Forgetting(ServerNode):
    """Every other prompt is never rendered to its end."""

    begun = 0

    def _answer(self, asked: Event, answer: Any, now: float) -> None:
        self.begun += 1
        if self.begun % 2:
            super()._answer(asked, answer, now)


class Patient(Calls):
    """No request has a timeout."""

    def _arm(self, call: Call) -> None:
        return None


class Slow(ClientNode):
    """A lost connection is dialled again after a quarter of an hour."""

    def _redial(self, now: float) -> None:
        self._dial_at = None if self.client.done else now + POLL


class Quiet(Coalescer):
    """Acts when nothing has happened for a while, and never before."""

    @property
    def due(self) -> float | None:
        return None if super().due is None else self._last + self._quiet

    def hit(self, now: float, *, busy: bool = False) -> bool:
        return super().hit(now, busy=True)


class Trusting(Listing):
    """While changes are announced, the TTL of a list counts for nothing."""

    def fresh(self, now: float) -> bool:
        return self.snapshot is not None and self.snapshot.epoch == self.epoch


def _insists(node: ClientNode) -> None:
    """A subscription that is refused is asked for again at once."""
    node.client.config = attrs.evolve(node.client.config, backoff=0.05, backoff_max=0.05)


class WritesFirst(Node):
    """While there is no room to write, nothing is read."""

    blocked: Container[str] = ()

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        self.blocked = full
        return super().actions(now, full)

    def reading(self, conn: str) -> bool:
        return conn not in self.blocked


class ClientWritesFirst(WritesFirst, ClientNode):
    """A client that does not read before it has written."""


class ServerWritesFirst(WritesFirst, ServerNode):
    """A server that does not read before it has written."""


class Polling(ClientNode):
    """The list is fetched every quarter of an hour, whether or not somebody wants it."""

    poll = POLL

    def next_timeout(self) -> float:
        other = super().next_timeout()
        return self.poll if other is None else min(other, self.poll)

    def handle_timeout(self, now: float) -> None:
        if now >= self.poll:
            self.poll = now + POLL
            self.prompts.refresh(now)
        super().handle_timeout(now)


def _bug(name: str, found_by: str, bug: type | Callable[..., Any], client: Any, **more: Any) -> Variant:
    return Variant(name, bug.__doc__ or "", found_by, more.pop("scenario", TORTURE), client=client, **more)


LIVE_ZOO: Sequence[Variant] = (
    _bug("no timeout", "L1", Patient, become("client._calls", Patient), server=_instead(Forgetting)),
    _bug("dials late", "L2", Slow, _instead(Slow)),
    _bug("waits for quiet", "L3", Quiet, become("prompts.listing._burst", Quiet), scenario=STORM),
    _bug("no TTL while live", "L4", Trusting, become("prompts.listing", Trusting)),
    _bug("no backoff", "L5", _insists, _insists, scenario=REFUSED),
    _bug(
        "writes before it reads",
        "L6",
        WritesFirst,
        _instead(ClientWritesFirst),
        server=_instead(ServerWritesFirst),
        scenario=FLOOD,
    ),
    _bug("polls", "L7", Polling, _instead(Polling), scenario=IDLE_DAY),
)
"""Everybody who never comes to an end, in the order of the properties that find them."""
