"""How a client has read a list, page by page, as the messages show it.

A walk begins with a request without a cursor and goes on with requests that have the cursor of its last page;
what each page said of its freshness and of whom it is for is kept, with the time at which it came.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import attrs

from mcp_sansio._plain import is_array, is_object, member
from mcp_sansio._structure import SNAPSHOT_DIGEST

if TYPE_CHECKING:
    from mcp_sansio._trace import TraceEvent

    from ._parties import Asked

KEPT = 16
"""So many walks of a client are remembered."""


@attrs.frozen(eq=False)
class Page:
    """A page as it came. `ttl` is seconds, None where the server gave no hint; `cursor` that of the next;
    `items` are None where one is malformed; `nonsense` are the hints that cannot be what they say.
    """

    asked: Asked
    index: int
    time: float
    cursor: Any
    ttl: float | None
    private: bool
    digest: Any
    complete: bool
    items: tuple[tuple[str, str], ...] | None = None
    nonsense: tuple[str, ...] = ()


@attrs.define(eq=False)
class Walk:
    """One reading of a list. Who reads it may have given up on it at any time."""

    requests: list[Asked] = attrs.field(factory=list["Asked"])
    pages: list[Page] = attrs.field(factory=list[Page])

    @property
    def running(self) -> bool:
        """Whether a page of it is awaited."""
        return self.requests[-1].over is None

    @property
    def complete(self) -> bool:
        """Whether the page that has no successor is there."""
        return bool(self.pages) and self.pages[-1].cursor is None

    @property
    def one_digest(self) -> bool:
        """Whether all pages bear the same digest of the list."""
        digests = [page.digest for page in self.pages]
        return isinstance(digests[0], str) and all(digest == digests[0] for digest in digests)


@attrs.define(eq=False)
class Walks:
    """The walks of one client, and how many there have been."""

    recent: deque[Walk] = attrs.field(factory=lambda: deque[Walk](maxlen=KEPT))
    begun: int = 0

    @property
    def last(self) -> Walk | None:
        """The one that was begun last."""
        return self.recent[-1] if self.recent else None

    def asked(self, asked: Asked) -> Walk | None:
        """A request for a page has left; the walk it belongs to, None for a page that is read by hand."""
        cursor = asked.params.get("cursor")
        if cursor is not None:
            known = [w for w in reversed(self.recent) if w.pages and w.pages[-1].cursor == cursor]
            walk = next((w for w in known if not w.running), known[0] if known else None)
        else:
            walk = self._first_page()
        if walk is not None:
            walk.requests.append(asked)
        return walk

    def _first_page(self) -> Walk:
        """A walk whose first page was lost may ask for it again."""
        last = self.last
        if last is not None and not last.pages and last.requests[-1].over == "lost":
            return last
        self.begun += 1
        self.recent.append(Walk())
        return self.recent[-1]


def answered(walk: Walk, asked: Asked, result: Any, event: TraceEvent) -> None:
    """A page of a walk has come."""
    if is_object(result):
        walk.pages.append(_page(asked, result, event))


def _page(asked: Asked, result: dict[str, Any], event: TraceEvent) -> Page:
    return Page(
        asked=asked,
        index=event.index,
        time=event.time,
        cursor=_cursor(result.get("nextCursor")),
        ttl=_seconds(result["ttlMs"]) if "ttlMs" in result else None,
        private=result.get("cacheScope") != "public",
        digest=member(result.get("_meta"), SNAPSHOT_DIGEST),
        complete=result.get("resultType", "complete") == "complete",
        items=_items(result.get("prompts")),
        nonsense=_nonsense(result),
    )


def _items(prompts: Any) -> tuple[tuple[str, str], ...] | None:
    """The prompts of a page as lists are reported."""
    if not is_array(prompts):
        return None
    pairs = [(member(prompt, "name"), member(prompt, "description") or "") for prompt in prompts]
    return tuple(pairs) if all(isinstance(part, str) for pair in pairs for part in pair) else None


def _nonsense(result: dict[str, Any]) -> tuple[str, ...]:
    ttl, scope = result.get("ttlMs", 0), result.get("cacheScope", "public")
    wrong = () if type(ttl) is int and ttl >= 0 else ("ttlMs",)
    return wrong if scope in ("public", "private") else (*wrong, "cacheScope")


def _cursor(value: Any) -> str | None:
    """What decides is "whether a non-null value was provided"; what is no string is none."""
    return value if isinstance(value, str) else None


def _seconds(value: Any) -> float:
    """Clients SHOULD treat it as 0 "if ttlMs is negative"; so is what is no number."""
    return max(0.0, value / 1000) if type(value) in (int, float) else 0.0
