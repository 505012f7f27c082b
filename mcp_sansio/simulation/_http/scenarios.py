"""The standard loads over HTTP/1.1."""

from __future__ import annotations

from functools import partial

from mcp_sansio._h11_pool import H11PoolConfig
from mcp_sansio._h11_visit import H11Config
from mcp_sansio.simulation._scenarios import Scenario, office_hour, torture
from mcp_sansio.simulation._world import World

from .faults import HTTP
from .lies import PEER_HTTP
from .nodes import HttpClientNode, HttpServerNode

SILENCE = 500.0
"""Longer than anything waits by itself that changes something, by a clock that was set back several times."""


def torture_http(world: World, until: float) -> None:
    """Torture, with the settings of HTTP drawn as well."""
    tape = world.tape
    http = {
        "reply": tape.one_of("reply", ("auto", "sse", "json")),
        "keep_alive": tape.one_of("keep-alive", (None, 15.0, 1.0)),
        "session_timeout": tape.one_of("session timeout", (1800.0, 1800.0, 30.0)),
    }
    served = H11Config(
        request_timeout=tape.one_of("request timeout", (60.0, 60.0, 2.0)),
        idle_timeout=tape.one_of("server idle", (75.0, 1.0)),
    )
    pool = H11PoolConfig(
        max_connections=tape.one_of("connections", (100, 1)),
        idle_timeout=tape.one_of("client idle", (15.0, 1.0)),
    )
    torture(
        world,
        until,
        partial(HttpServerNode, http=http, h11=served),
        partial(HttpClientNode, pool=pool),
    )


def office_hour_http(world: World, until: float) -> None:
    """The office hour, over HTTP."""
    office_hour(world, until, HttpServerNode, HttpClientNode)


TORTURE_HTTP = Scenario("torture-http", 20.0, torture_http, (*HTTP, *PEER_HTTP), SILENCE)
OFFICE_HOUR_HTTP = Scenario("office-hour-http", 3600.0, office_hour_http, (), SILENCE)
