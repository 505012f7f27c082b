"""How a server behaves: every time, limit and choice that it takes from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ._checks import from_
from ._errors import LocalProtocolError
from ._types import Implementation
from ._versions import ALL_VERSIONS, Era, era_of, newest_first


def _known(_config: object, _field: attrs.Attribute[Any], versions: tuple[str, ...]) -> None:
    if not versions or any(era_of(version) is None for version in versions):
        raise LocalProtocolError(f"versions must be some of {', '.join(ALL_VERSIONS)}")


@attrs.frozen(kw_only=True)
class ServerConfig:
    """How a server behaves. Times are seconds.

    `versions`: the revisions that are served; either era may be left out. `capabilities`: what the
    application declares besides what the layers do, `methods` the requests that it answers itself. `quiet`
    and `max_wait` thin out change notifications. `discover_ttl`: how long a client may keep the answer to
    `server/discover`. `name_itself`: whether results carry `serverInfo`. `max_in_flight` limits requests
    per stream, `max_listens` the listen requests of one and `max_subscriptions` those of all, `max_pending`
    the bytes of output that wait on a stream before its input is no longer welcome, and before it takes no
    more where nobody reads. The timeouts are those of requests to legacy clients. `input_methods`: what
    extensions add to the requests that may be answered by asking for input. Raises `LocalProtocolError` for
    numbers out of range and for unknown revisions.
    """

    info: Implementation
    instructions: str | None = None
    capabilities: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    methods: tuple[str, ...] = ()
    input_methods: tuple[str, ...] = ()
    versions: tuple[str, ...] = attrs.field(default=ALL_VERSIONS, validator=_known)
    quiet: float = attrs.field(default=0.05, validator=from_(0))
    max_wait: float = attrs.field(default=0.5, validator=from_(0))
    discover_ttl: float = attrs.field(default=3600.0, validator=from_(0))
    name_itself: bool = True
    max_in_flight: int = attrs.field(default=1000, validator=from_(1))
    max_listens: int = attrs.field(default=1000, validator=from_(0))
    max_subscriptions: int = attrs.field(default=100_000, validator=from_(0))
    max_pending: int = attrs.field(default=8 * 1024 * 1024, validator=from_(0))
    quiet_timeout: float | None = attrs.field(default=60.0, validator=from_(0))
    total_timeout: float | None = attrs.field(default=300.0, validator=from_(0))

    def of_era(self, era: Era) -> tuple[str, ...]:
        """The served revisions of one era, newest first."""
        return newest_first(tuple(self.versions), era)
