"""What a server owes: requests whose reply is due, and batches whose replies go out together."""

from __future__ import annotations

import attrs

from ._events import IncomingRequest
from ._json import RequestId
from ._tables import REPLY, Reply


@attrs.define(eq=False)
class BatchReply:
    """The replies to one batch of 2025-03-26: sent once it has been `read` and none is `waiting`.

    `about` is the id of one of its requests, which tells where they go.
    """

    about: RequestId | None = None
    read: bool = False
    waiting: int = 0
    parts: list[bytes] = attrs.field(factory=list[bytes])


@attrs.define(eq=False)
class Owed:
    """A request whose reply is owed; `progress` is the last value that was reported."""

    request: IncomingRequest
    batch: BatchReply | None
    state: Reply = REPLY.start
    progress: float | None = None
