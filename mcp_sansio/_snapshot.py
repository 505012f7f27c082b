"""A cached list as it was read off the wire: what a walk collects, and the snapshot it ends in.

A page that is byte for byte the page of the last walk is not read again, and a definition that is known
by its bytes is not structured again, so under churn only what is new costs anything. One malformed
item costs that item, not the list; of two items with one name the first wins; both are reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from ._errors import InvalidMessage
from ._structure import Page, structure_page


@attrs.frozen
class ListSpec:
    """A listable kind of thing, for the listing machinery: prompts, tools, anything with names.

    `key` is the member of the result that holds the list, and the name of the list in events; `item`
    structures one raw definition (raising `InvalidMessage`), `name` gives its name.
    """

    key: str
    method: str
    notification: str
    topic: str
    capability: str
    item: Callable[[bytes], Any]
    name: Callable[[Any], str]


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
        old: Mapping[str, Any] = before.by_name if before is not None else {}
        added = tuple(name for name in self.by_name if name not in old)
        removed = tuple(name for name in old if name not in self.by_name)
        changed = tuple(
            name
            for name, item in self.by_name.items()
            if name in old and item is not old[name] and item != old[name]
        )
        return added, removed, changed


@attrs.frozen(eq=False)
class _Read:
    """A page that has been read: kept for comparison with its successor."""

    raw: bytes
    page: Page
    items: tuple[tuple[Any, bytes] | str, ...]


class Memory:
    """What the last walk read, so that the next one need not read it again."""

    def __init__(self, spec: ListSpec) -> None:
        self._spec = spec
        self._pages: tuple[_Read, ...] = ()
        self._items: dict[bytes, Any] = {}

    def read(self, index: int, raw: bytes, room: int | None = None) -> _Read:
        """Page number `index` of a walk, at most `room` of its items; `InvalidMessage` if it is no page."""
        if index < len(self._pages) and self._pages[index].raw == raw:
            return self._pages[index]
        page = structure_page(raw, self._spec.key)
        items = enumerate(page.items[:room])
        return _Read(raw, page, tuple(self._item(index, at, item) for at, item in items))

    def _item(self, index: int, at: int, raw: bytes) -> tuple[Any, bytes] | str:
        known = self._items.get(raw)
        if known is not None:
            return known, raw
        try:
            return self._spec.item(raw), raw
        except InvalidMessage as error:
            return f"{self._spec.key}[{at}] of page {index + 1}: {error}"

    def keep(self, pages: tuple[_Read, ...]) -> None:
        """Remember a complete walk, and nothing older."""
        self._pages = pages
        self._items = {
            entry[1]: entry[0] for page in pages for entry in page.items if not isinstance(entry, str)
        }


class Collector:
    """The pages of one walk."""

    def __init__(self, spec: ListSpec, memory: Memory, max_items: int) -> None:
        """Of a page that goes beyond `max_items`, only the first item too many is read."""
        self._spec = spec
        self._memory = memory
        self._max_items = max_items
        self._pages: list[_Read] = []
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
        self.items += len(read.items)
        self.bytes += len(raw)
        before, self._known_problems = len(self.by_name), len(self.problems)
        for entry in read.items:
            self._take(entry)
        self.idle = self.idle + 1 if len(self.by_name) == before else 0
        self._expires = min(self._expires, now + (default_lifetime if page.ttl is None else page.ttl))
        self._private = self._private or page.scope != "public"
        self.nonsense = page.nonsense
        return page.next_cursor

    def _take(self, entry: tuple[Any, bytes] | str) -> None:
        if isinstance(entry, str):
            self.problems.append(entry)
            return
        name = self._spec.name(entry[0])
        if name in self.by_name:
            self.problems.append(f"{self._spec.key}: a second {name!r} is ignored")
        else:
            self.by_name[name] = entry[0]

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

    def snapshot(self, epoch: int, asked: int, now: float, *, undisturbed: bool) -> Snapshot:
        """The list, now that it is complete."""
        self._memory.keep(tuple(self._pages))
        return Snapshot(
            epoch=epoch,
            items=tuple(self.by_name.values()),
            by_name=MappingProxyType(self.by_name),
            verified=undisturbed or self.one_digest(),
            private=self._private,
            expires=self._expires,
            received=now,
            pages=len(self._pages),
            problems=tuple(self.problems),
            asked=asked,
        )
