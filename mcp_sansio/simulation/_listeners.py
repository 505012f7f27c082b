"""Who listens to a server, as the messages show it: `subscriptions/listen` requests, and legacy sessions.

A listener is known by its connection and the id of its request; a legacy session has no id. Whether changes
of the list are to be announced to it is what it asked for and what the server said to that.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs

from mcp_sansio._plain import is_object, member
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._types import LIST_CHANGED, TOPIC

CANCELLED: Final = "notifications/cancelled"
INITIALIZED: Final = "notifications/initialized"

Key: TypeAlias = "tuple[str, Any]"
"""A connection and the id of a listen request as a key; None for a legacy session."""


@attrs.define(eq=False)
class Listener:
    """One who listens. Indexes of the trace: of the request (`index`), of the acknowledgement or of the
    handshake's end (`ready`), of all announcements (`told`) and of the end, by `how` ("result", "error",
    "cancelled" or "closed"). `wanted` is what it asked for, `granted` what the server agreed to.
    """

    link: str
    id: Any
    index: int
    wanted: bool
    granted: bool = False
    ready: int | None = None
    told: list[int] = attrs.field(factory=list[int])
    ended: int | None = None
    how: str = ""

    @property
    def live(self) -> bool:
        """Whether changes are to be announced to it."""
        return self.granted and self.ready is not None and self.ended is None

    def end(self, index: int, how: str) -> None:
        """Nothing more is to be said to it."""
        if self.ended is None:
            self.ended, self.how = index, how


@attrs.define(eq=False)
class Listeners:
    """All listeners of one server; `open` are those whose connections are there."""

    open: dict[Key, Listener] = attrs.field(factory=dict[Key, Listener])
    _handshakes: dict[Key, Listener] = attrs.field(factory=dict[Key, Listener])

    def asked(self, link: str, key: Any, message: dict[str, Any], at: int) -> None:
        """The server has taken in a request."""
        if message["method"] == "subscriptions/listen":
            wanted = member(member(message.get("params"), "notifications"), TOPIC) is True
            self.open[link, key] = Listener(link, message["id"], at, wanted)
        elif message["method"] == "initialize":
            self._handshakes[link, key] = Listener(link, None, at, wanted=True)

    def noticed(self, link: str, method: str, key: Any, at: int) -> None:
        """The server has taken in a notification; `key` is that of the request which it cancels."""
        if method == CANCELLED:
            found = self.open.get((link, key))
            if found is not None:
                found.end(at, "cancelled")
        elif method == INITIALIZED:
            session = self.open.get((link, None))
            if session is not None and session.ready is None:
                session.ready = at

    def notified(self, link: str, method: str, key: Any, params: dict[str, Any], at: int) -> None:
        """The server has sent a notification, on the subscription with a key."""
        found = self.open.get((link, key))
        if found is None:
            return
        if method == ACKNOWLEDGED and found.ready is None:
            found.ready = at
            found.granted = member(params.get("notifications"), TOPIC) is True
        elif method == LIST_CHANGED:
            found.told.append(at)

    def answered(self, link: str, key: Any, message: dict[str, Any], at: int) -> None:
        """The server has answered a request."""
        session = self._handshakes.pop((link, key), None)
        if session is not None and is_object(message.get("result")):
            prompts = member(member(message["result"], "capabilities"), "prompts")
            session.granted = member(prompts, "listChanged") is True
            self.open[link, None] = session
        found = self.open.get((link, key))
        if found is not None and key is not None:
            found.end(at, "error" if "error" in message else "result")

    def closed(self, link: str, at: int) -> None:
        """A connection has ended at the server."""
        for key in [key for key in self.open if key[0] == link]:
            self.open.pop(key).end(at, "closed")
