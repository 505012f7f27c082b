"""Servers behind one name, as behind a balancer: what is changed at the first reaches the others late.

Whoever dials the name of a group gets one of its servers. Each is a server of its own in the trace, honest
about what it has; only together they are not, for a client that comes back to another one may see the past.
Edits arrive in order and none is lost: a server that is down gets them when it is up again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ._server_node import ServerNode
from ._world import World

RETRY = 0.5
"""Seconds after which an edit is offered again to a server that is down."""


class Leader(ServerNode):
    """The server of a group that is edited; `group` hears of what is done to it."""

    group: ServerGroup | None = None

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        super().command(verb, data, now)
        if self.group is not None and verb != "close":
            self.group.replicate(verb, data)


class ServerGroup:
    """A leader and its followers. An edit takes up to `lag` seconds to reach a follower."""

    def __init__(
        self, world: World, name: str, leader: Leader, followers: Sequence[ServerNode], lag: float
    ) -> None:
        self._world = world
        self._name = name
        self._lag = lag
        self._waiting: dict[str, deque[tuple[str, Mapping[str, Any]]]] = {}
        self.leader: str = f"{name}1"
        world.add(self.leader, leader)
        for number, follower in enumerate(followers, 2):
            self._waiting[f"{name}{number}"] = deque()
            world.add(f"{name}{number}", follower)
        leader.group = self
        world.names[name] = self._pick

    def _pick(self) -> str:
        return self._world.tape.one_of(f"{self._name} balances", (self.leader, *self._waiting))

    def replicate(self, verb: str, data: Mapping[str, Any]) -> None:
        """Something was done to the leader."""
        world = self._world
        for follower, waiting in self._waiting.items():
            waiting.append((verb, data))
            lag = world.tape.seconds(f"{follower} lags", self._lag)
            if lag:
                world.fault("replica-lag", node=follower, seconds=lag)
            world.at(world.now + lag, partial(self._arrived, follower))

    def _arrived(self, follower: str) -> None:
        """The oldest edit that waits arrives, if there is anybody to take it."""
        world, seat = self._world, self._world.seats[follower]
        if seat.down or seat.frozen:
            world.at(world.now + RETRY, partial(self._arrived, follower))
            return
        verb, data = self._waiting[follower].popleft()
        world.command(follower, verb, **data)
