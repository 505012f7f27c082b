"""A cached list as it was read off the wire: what a walk collects, and the snapshot it ends in.

Pages are read by a `Memory`, which knows those of the last walk. One malformed item costs that item, not the
list; of two items with one name the first wins; both are reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import compress
from operator import is_not
from types import MappingProxyType
from typing import Any

import attrs

from ._memory import ListSpec, Memory, PageRead


@attrs.frozen(eq=False)
class Snapshot:
    """A whole list as of one walk.

    `epoch` is the epoch in which its first page was asked for; the list is stale once a newer epoch has
    begun or the clock has passed `expires`. `verified`: the list is whole for certain, since nothing
    changed under the walk and a change would have been announced, or since all pages bear one digest.
    Otherwise pages may be of different states of the server. `private`: for this authorization context
    only. `problems` say in a sentence each what was left out. `asked` is the wire id of the request for the
    first page: what was asked later has a higher one.
    """

    epoch: int
    items: tuple[Any, ...]
    by_name: Mapping[str, Any]
    verified: bool
    private: bool
    expires: float
    received: float
    pages: int
    problems: tuple[str, ...]
    asked: int

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def difference(self, before: Snapshot | None) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Names added, removed and changed since `before`, each in list order."""
        new: Mapping[str, Any] = self.by_name
        old: Mapping[str, Any] = before.by_name if before is not None else {}
        if before is not None and self.items == before.items:  # which looks at what is not the same only
            return (), (), ()
        others = [*compress(new, map(is_not, new.values(), map(old.get, new)))]
        added = tuple(name for name in others if name not in old)
        some_left = len(old) > len(new) - len(added)
        removed = tuple(name for name in old if name not in new) if some_left else ()
        return added, removed, tuple(name for name in others if name in old and new[name] != old[name])


class Collector:
    """The pages of one walk."""

    def __init__(self, spec: ListSpec, memory: Memory, max_items: int) -> None:
        """Of a page that goes beyond `max_items`, only the first item too many is read."""
        self._spec = spec
        self._memory = memory
        self._max_items = max_items
        self._pages: list[PageRead] = []
        self._seen: set[tuple[bytes, ...]] = set()
        self._looked_at = 0
        self._known_problems = 0
        self._expires = math.inf
        self._private = False
        self.by_name: dict[str, Any] = {}
        self.problems: list[str] = []
        self.items = 0
        self.bytes = 0
        self.idle = 0
        self.nonsense: tuple[str, ...] = ()

    @property
    def pages(self) -> int:
        """How many pages have arrived."""
        return len(self._pages)

    def add(self, raw: bytes, now: float, default_lifetime: float) -> str | None:
        """Take a page in; its `nextCursor`. `default_lifetime` is that of a page without `ttlMs`."""
        read = self._memory.read(len(self._pages), raw, self._max_items + 1 - self.items)
        page = read.page
        self._pages.append(read)
        self.items += len(read.values) + len(read.problems)
        self.bytes += len(raw)
        before, self._known_problems = len(self.by_name), len(self.problems)
        self.problems += read.problems
        self._take(read)
        self.idle = self.idle + 1 if len(self.by_name) == before else 0
        self._expires = min(self._expires, now + (default_lifetime if page.ttl is None else page.ttl))
        self._private = self._private or page.scope != "public"
        self.nonsense = page.nonsense
        return page.next_cursor

    def _take(self, read: PageRead) -> None:
        known, new = self.by_name, read.named
        if len(new) == len(read.values) and (not known or known.keys().isdisjoint(new)):
            known.update(new)
            return
        for item in read.values:
            name = self._spec.name(item)
            if name in self.by_name:
                self.problems.append(f"{self._spec.key}: a second {name!r} is ignored")
            else:
                self.by_name[name] = item

    def repeats(self) -> bool:
        """Whether the last page has just the items of one before."""
        self._seen.update(page.page.items for page in self._pages[self._looked_at : -1])
        self._looked_at = len(self._pages) - 1
        return self._pages[-1].page.items in self._seen

    def drop_last(self) -> None:
        """Take the last page back, which had nothing new."""
        self._pages.pop()
        del self.problems[self._known_problems :]

    def one_digest(self) -> bool:
        """Whether all pages bear the same snapshot digest."""
        digests = [read.page.digest for read in self._pages]
        return isinstance(digests[0], str) and all(digest == digests[0] for digest in digests)

    def torn(self) -> bool:
        """Whether two pages bear different snapshot digests: then a change is on its way to be announced,
        perhaps, over HTTP, on a slower connection.
        """
        return len({read.page.digest for read in self._pages if isinstance(read.page.digest, str)}) > 1

    def snapshot(self, epoch: int, asked: int, now: float, *, undisturbed: bool) -> Snapshot:
        """The list, now that it is complete."""
        self._memory.keep(tuple(self._pages))
        return Snapshot(
            epoch=epoch,
            items=tuple(self.by_name.values()),
            by_name=MappingProxyType(self.by_name),
            verified=(undisturbed and not self.torn()) or self.one_digest(),
            private=self._private,
            expires=self._expires,
            received=now,
            pages=len(self._pages),
            problems=tuple(self.problems),
            asked=asked,
        )
