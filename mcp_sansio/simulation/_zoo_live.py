"""Clients and servers that do nothing wrong, but never come to an end: a bug for each property of liveness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from mcp_sansio._coalescer import Coalescer

from ._client_node import ClientNode
from ._node import Action, Node
from ._scenarios import TORTURE
from ._scenes_live import FLOOD, IDLE_DAY, REFUSED
from ._scenes_server import STORM
from ._server_node import ServerNode
from ._variant import Variant

POLL = 900.0


def _forgets_answers(node: ServerNode) -> None:
    """Every other prompt is never rendered to its end."""
    answer, count = node._answer, [0]

    def every_other(asked: Any, rendered: Any, now: float) -> None:
        count[0] += 1
        if count[0] % 2:
            answer(asked, rendered, now)

    node._answer = every_other  # type: ignore[method-assign]


def _waits_for_ever(node: ClientNode) -> None:
    """No request has a timeout."""
    node.client._calls._arm = lambda call: None  # type: ignore[method-assign]


def _takes_its_time(node: ClientNode) -> None:
    """A lost connection is dialled again after a quarter of an hour."""

    def redial(now: float) -> None:
        node._dial_at = None if node.client.done else now + POLL

    node._redial = redial  # type: ignore[method-assign]


class _Restarting(Coalescer):
    """Waits for quiet, however long that takes."""

    @property
    def due(self) -> float | None:
        return None if super().due is None else self._last + self._quiet


def _waits_for_quiet(node: ClientNode) -> None:
    """Fetches when no change has been announced for a while, and never before."""
    listing = node.prompts.listing
    listing._burst = _Restarting(listing.config.quiet, math.inf)


def _trusts_the_channel(node: ClientNode) -> None:
    """While changes are announced, the TTL of a list counts for nothing."""
    listing = node.prompts.listing

    def fresh(now: float) -> bool:
        return listing.snapshot is not None and listing.snapshot.epoch == listing.epoch

    listing.fresh = fresh  # type: ignore[method-assign]


def _insists(node: ClientNode) -> None:
    """A subscription that is refused is asked for again at once."""
    node.client.config = attrs.evolve(node.client.config, backoff=0.05, backoff_max=0.05)


def _writes_before_it_reads(node: Node) -> None:
    """While there is no room to write, nothing is read."""
    pump = node.actions
    blocked: list[frozenset[str]] = [frozenset()]

    def actions(now: float, full: frozenset[str]) -> Iterable[Action]:
        blocked[0] = full
        return pump(now, full)

    def reading(conn: str) -> bool:
        return conn not in blocked[0]

    node.actions = actions  # type: ignore[method-assign]
    node.reading = reading  # type: ignore[method-assign]


def _polls(node: ClientNode) -> None:
    """The list is fetched every quarter of an hour, whether or not somebody wants it."""
    due, handle = node.next_timeout, node.handle_timeout
    poll = [POLL]

    def next_timeout() -> float:
        other = due()
        return poll[0] if other is None else min(other, poll[0])

    def handle_timeout(now: float) -> None:
        if now >= poll[0]:
            poll[0] = now + POLL
            node.prompts.refresh(now)
        handle(now)

    node.next_timeout = next_timeout  # type: ignore[method-assign]
    node.handle_timeout = handle_timeout  # type: ignore[method-assign]


def _name(make: Callable[..., None]) -> str:
    return make.__name__.strip("_").replace("_", "-")


def _variant(make: Callable[..., None], found: str, **more: Any) -> Variant:
    about = (make.__doc__ or "").strip()
    parts: Mapping[str, Any] = {"scenario": TORTURE, "client": make, **more}
    return Variant(_name(make), about, found, **parts)


LIVE: Sequence[Variant] = (
    _variant(_waits_for_ever, "L1", server=_forgets_answers),
    _variant(_takes_its_time, "L2"),
    _variant(_waits_for_quiet, "L3", scenario=STORM),
    _variant(_trusts_the_channel, "L4"),
    _variant(_insists, "L5", scenario=REFUSED),
    _variant(_writes_before_it_reads, "L6", scenario=FLOOD, server=_writes_before_it_reads),
    _variant(_polls, "L7", scenario=IDLE_DAY),
)
"""Everybody who never comes to an end."""
