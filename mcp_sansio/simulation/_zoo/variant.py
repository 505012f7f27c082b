"""A client or server with a bug: what it is, and which property has to find it.

The nodes of a scenario are altered as they start; a variant says how. Nothing else in the process is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._node import Node
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._world import World


@attrs.frozen
class Variant:
    """A bug. `client` and `server` alter a node; `found_by` is the id of the property that finds it, in
    worlds of `scenario`.
    """

    name: str
    about: str
    found_by: str
    scenario: Scenario
    client: Callable[[ClientNode], None] | None = None
    server: Callable[[ServerNode], None] | None = None

    def prepare(self, node: Node) -> None:
        """Alter a node that has just started."""
        if self.client is not None and isinstance(node, ClientNode):
            self.client(node)
        elif self.server is not None and isinstance(node, ServerNode):
            self.server(node)

    @property
    def altered(self) -> Scenario:
        """The scenario with the bug in it."""
        build = partial(_build, self)
        return attrs.evolve(self.scenario, name=f"{self.scenario.name}: {self.name}", build=build)


def _build(variant: Variant, world: World, until: float) -> None:
    world.prepare = variant.prepare
    variant.scenario.build(world, until)
