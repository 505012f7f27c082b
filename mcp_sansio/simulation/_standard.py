"""The standard scenarios by name, and where they are.

A scenario is named by its place, a module and after a colon a name in it, since a process that takes a share
of a campaign, and a test that replays a failure, have to find it again. Those over HTTP are imported only
when they are asked for, for they need h11.
"""

from __future__ import annotations

from collections.abc import Mapping

SCENARIOS: Mapping[str, str] = {
    "torture": "mcp_sansio.simulation:TORTURE",
    "office-hour": "mcp_sansio.simulation:OFFICE_HOUR",
    "torture-http": "mcp_sansio.simulation._http.scenarios:TORTURE_HTTP",
    "office-hour-http": "mcp_sansio.simulation._http.scenarios:OFFICE_HOUR_HTTP",
}
"""Where the standard scenarios are, by name."""
