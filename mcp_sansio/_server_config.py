"""How a server behaves: every time, limit and choice that it takes from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ._types import Implementation
from ._versions import ALL_VERSIONS, Era, era_of


@attrs.frozen(kw_only=True)
class ServerConfig:
    """How a server behaves. Times are seconds.

    `versions`: the revisions that are served; either era may be left out. `capabilities`: what the
    application declares besides what the layers do, `methods` the requests that it answers itself.
    `quiet` and `max_wait` thin out change notifications. `discover_ttl`: how long a client may keep
    the answer to `server/discover`. `name_itself`: whether results carry `serverInfo`. `max_in_flight`
    limits requests per stream, `max_subscriptions` listeners in all, `max_pending` the bytes of output
    that wait on a stream before its input is no longer welcome. The timeouts are those of requests to
    legacy clients.
    """

    info: Implementation
    instructions: str | None = None
    capabilities: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    methods: tuple[str, ...] = ()
    versions: tuple[str, ...] = ALL_VERSIONS
    quiet: float = 0.05
    max_wait: float = 0.5
    discover_ttl: float = 3600.0
    name_itself: bool = True
    max_in_flight: int = 1000
    max_subscriptions: int = 100_000
    max_pending: int = 8 * 1024 * 1024
    quiet_timeout: float | None = 60.0
    total_timeout: float | None = 300.0

    def of_era(self, era: Era) -> tuple[str, ...]:
        """The served revisions of one era, newest first."""
        return tuple(v for v in reversed(ALL_VERSIONS) if v in self.versions and era_of(v) is era)
