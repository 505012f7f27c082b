"""How a client behaves: every time, limit and choice that the endpoint takes from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from ._checks import from_
from ._errors import LocalProtocolError
from ._events import Verdict
from ._json import encode
from ._structure import encode_typed
from ._types import Implementation
from ._versions import ALL_VERSIONS, Era, newest_first

SHORTEST_DELAY = 0.001
"""Seconds between two tries, whatever the configuration says: without any, time would stand still."""


def no_jitter() -> float:
    """Backoff without jitter; an adapter passes `random.random`."""
    return 1.0


@attrs.frozen(kw_only=True)
class ClientConfig:
    """How a client behaves. Times are seconds; None for a timeout is for ever.

    `versions`: the revisions that may be spoken. `verdict`: what an earlier run found out about this
    server. `answers`: the legacy server-to-client methods that the application answers, at most
    `max_in_flight` requests at a time; any other gets -32601. `result_types` and `input_methods`: what
    extensions add. `unnegotiated`: what a list_changed does that the server had not declared; official
    servers do send it so, over HTTP always. `jitter` returns numbers from 0 to 1 for the backoff. Raises
    `LocalProtocolError` for what could not be sent or waited for.
    """

    info: Implementation
    capabilities: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    versions: tuple[str, ...] = ALL_VERSIONS
    verdict: Verdict | None = None
    quiet_timeout: float | None = attrs.field(default=60.0, validator=from_(0))
    total_timeout: float | None = attrs.field(default=300.0, validator=from_(0))
    probe_timeout: float = attrs.field(default=5.0, validator=from_(0))
    ack_timeout: float = attrs.field(default=10.0, validator=from_(0))
    backoff: float = attrs.field(default=0.25, validator=from_(0))
    backoff_max: float = attrs.field(default=30.0, validator=from_(0))
    jitter: Callable[[], float] = no_jitter
    max_rounds: int = attrs.field(default=10, validator=from_(0))
    answers: tuple[str, ...] = ()
    max_in_flight: int = attrs.field(default=1000, validator=from_(1))
    result_types: tuple[str, ...] = ()
    input_methods: tuple[str, ...] = ()
    unnegotiated: Literal["ignore", "invalidate"] = "ignore"

    def __attrs_post_init__(self) -> None:
        unknown = [version for version in self.versions if version not in ALL_VERSIONS]
        if unknown or not self.versions:
            raise LocalProtocolError(f"versions must be some of {ALL_VERSIONS}, not {self.versions}")
        encode_typed(self.info, ALL_VERSIONS[-1])
        encode(self.capabilities)

    def of_era(self, era: Era) -> tuple[str, ...]:
        """The configured revisions of one era, newest first."""
        return newest_first(tuple(self.versions), era)

    def delay(self, attempt: int) -> float:
        """How long to back off before retry number `attempt`, counted from 0."""
        ceiling: float = min(self.backoff * 2.0 ** min(attempt, 32), self.backoff_max)
        return max(ceiling * (0.5 + self.jitter() / 2), SHORTEST_DELAY)
