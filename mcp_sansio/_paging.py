"""Single pages for callers who page by hand: one request per page, past the cache.

The cursor is the caller's own and is sent verbatim, the empty string included; what comes back enters
no cache and judges no name. A page that is lost with the carrier is not asked for again: whether the
cursor means anything on the next one is for the caller to say.
"""

from __future__ import annotations

import attrs

from ._calls import Limits, encode_members
from ._commands import Command
from ._events import Op, PageListed
from ._memory import ListSpec, Memory


@attrs.define(eq=False, kw_only=True)
class PageCommand(Command):
    """A request for one page of a list."""

    spec: ListSpec

    def read(self, op: Op, raw: bytes) -> PageListed:
        """The page, without what is malformed."""
        read = Memory(self.spec).read(0, raw)
        return PageListed(op, read.values, read.page.next_cursor, read.problems)


def page_command(spec: ListSpec, cursor: str, now: float, limits: Limits | None = None) -> PageCommand:
    """The command for the page at `cursor`."""
    members = encode_members({"cursor": cursor})
    return PageCommand(method=spec.method, members=members, began=now, limits=limits, spec=spec)
