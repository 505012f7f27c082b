"""What a server owes: requests whose reply is due, and batches whose replies go out together."""

from __future__ import annotations

import attrs

from ._contract import Outlet
from ._events import IncomingRequest
from ._tables import REPLY, Reply


@attrs.define(eq=False)
class BatchReply:
    """The replies to one batch of 2025-03-26: sent to `outlet` once it is `read` and none is `waiting`."""

    outlet: Outlet | None = None
    read: bool = False
    waiting: int = 0
    parts: list[bytes] = attrs.field(factory=list[bytes])


@attrs.define(eq=False)
class Owed:
    """A request whose reply is owed to `outlet`; `progress` is the last value that was reported."""

    request: IncomingRequest
    batch: BatchReply | None
    outlet: Outlet | None = None
    state: Reply = REPLY.start
    progress: float | None = None
