"""Single pages for callers who page by hand: one request per page, past the cache.

The cursor is the caller's own and is sent verbatim, the empty string included; what comes back enters
no cache and judges no name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._calls import Call, Outcome, Reply
from ._errors import Failure, InvalidMessage, InvalidReply
from ._events import CallId, Op, OpFailed, PageListed
from ._listing import Listing
from ._snapshot import Memory

if TYPE_CHECKING:
    from ._client import Client


class Pager:
    """The hand-made page requests of one list."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._asked: dict[Op, CallId] = {}
        self._held: dict[Op, str] = {}

    def bind(self, client: Client) -> None:
        """Called once, by the layer that the list belongs to."""
        self._client = client

    def page(self, op: Op, cursor: str, now: float) -> None:
        """Answer `op` by the page at `cursor`, once the server is known to have the list."""
        gate = self._listing.gate()
        if gate is not None:
            self._client.emit(OpFailed(op, gate))
        elif self._listing.ready:
            self._ask(op, cursor, now)
        else:
            self._held[op] = cursor

    def opened(self, now: float) -> None:
        """The era is known."""
        held, self._held = self._held, {}
        for op, cursor in held.items():
            self.page(op, cursor, now)

    def finished(self, failure: Failure) -> None:
        """Nothing can be asked any more."""
        held, self._held = self._held, {}
        for op in held:
            self._client.emit(OpFailed(op, failure))

    def leave(self, op: Op, now: float) -> bool:
        """`op` waits no longer, if it did."""
        call = self._asked.pop(op, None)
        if call is not None:
            self._client.cancel(call, now)
        return self._held.pop(op, None) is not None or call is not None

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """A page arrived, or will not."""
        op = call.op
        if op is None or self._asked.pop(op, None) is None:
            return
        if not isinstance(outcome, Reply):
            self._client.emit(OpFailed(op, outcome, self._listing.snapshot))
            return
        try:
            self._client.emit(self._read(op, outcome.raw))
        except InvalidMessage as error:
            self._client.emit(OpFailed(op, InvalidReply(str(error)), self._listing.snapshot))

    def _ask(self, op: Op, cursor: str, now: float) -> None:
        params = {"cursor": cursor}
        self._asked[op] = self._client.request(self._listing.spec.method, params, now, layer=self, op=op)

    def _read(self, op: Op, raw: bytes) -> PageListed:
        read = Memory(self._listing.spec).read(0, raw)
        items = tuple(entry[0] for entry in read.items if not isinstance(entry, str))
        problems = tuple(entry for entry in read.items if isinstance(entry, str))
        return PageListed(op, items, read.page.next_cursor, problems)
