"""Variants of the library with one mistake each, in worlds like those of the standard load: what a shrinker,
a renderer and a command line have to show something of.
"""

from __future__ import annotations

from typing import Any

import attrs

from mcp_sansio._listing import Listing, ListingConfig
from mcp_sansio._prompt_client import PromptClient
from mcp_sansio.simulation import TORTURE
from mcp_sansio.simulation._checks_list import Convergence, ReadYourNotifications, WholeOrFlagged
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._node import Node
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation._world import Clock, World

CHECKS = (ReadYourNotifications, Convergence, WholeOrFlagged)


class Torn(Listing):
    """Says of a list that it is as new as its last page."""

    def _publish(self, walk: Any, now: float) -> None:
        walk.epoch = self.epoch
        super()._publish(walk, now)


class Gapless(Listing):
    """Takes no notice of a channel that comes or goes."""

    def channel(self, live: bool, now: float) -> None:
        self._live = live
        self._try_start(now)


def with_listing(listing: type[Listing], name: str = "variant") -> Scenario:
    """The standard load with clients that hold their list in another way."""

    def make(config: ListingConfig | None) -> PromptClient:
        prompts = PromptClient(config)
        prompts.listing.__class__ = listing
        return prompts

    def build(world: World, until: float) -> None:
        add = world.add

        def put(name: str, node: Node, clock: Clock | None = None) -> None:
            if isinstance(node, ClientNode):
                node._make = make
            add(name, node, clock)

        world.add = put  # type: ignore[method-assign]
        TORTURE.build(world, until)

    return attrs.evolve(TORTURE, name=name, build=build)


TORN = with_listing(Torn, "torn")
GAPLESS = with_listing(Gapless, "gapless")
