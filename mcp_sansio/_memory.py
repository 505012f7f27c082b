"""The pages of the last walk, so that the next one need not read them again.

Under change nearly every page is the page of the last walk, and in the others nearly every item is one that
the page had. So a page is compared with its predecessor first: as a whole; then item by item, from both ends
of the list in it. Read is only what stands in between, and the frame, which is the page with one number in
place of its items. Where the frame, what is known and what has been read are each well-formed, so is the
page; a wire that asks `recognizes` need not parse such a reply either.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, count
from operator import add
from typing import Any

import attrs

from ._errors import InvalidMessage
from ._structure import Page, result_head, structure_items, structure_page

_MARK = 16  # so many bytes tell where the items of a page end


@attrs.frozen
class ListSpec:
    """A listable kind of thing, for the listing machinery: prompts, tools, anything with names.

    `key` is the member of the result that holds the list, and the name of the list in events; `reader` makes,
    for each walk, the function that structures one raw definition (raising `InvalidMessage`), `name` gives
    the name of one.
    """

    key: str
    method: str
    notification: str
    topic: str
    capability: str
    reader: Callable[[], Callable[[bytes], Any]]
    name: Callable[[Any], str]


@attrs.frozen(eq=False)
class PageRead:
    """A page that has been read. `values` are its items, as far as they could be read, and `named` the same
    by name; `problems` say what is wrong with the others. `frame` is the page with one number in place of its
    items, which stands at `begin`. Where their text cannot be found, or not all are good, `begin` is 0, and
    the frame is the page, or nothing.
    """

    page: Page
    values: tuple[Any, ...]
    named: Mapping[str, Any]
    problems: tuple[str, ...]
    frame: bytes
    begin: int = 0


class Memory:
    """What the last walk read, and what has been recognized since."""

    def __init__(self, spec: ListSpec) -> None:
        self._spec = spec
        self._pages: tuple[PageRead, ...] = ()
        self._items: dict[bytes, Any] | None = None
        self._recognized: tuple[bytes, PageRead] | None = None
        self._item: Callable[[bytes], Any] | None = None

    def recognizes(self, index: int, raw: bytes) -> bool:
        """Whether `raw` is for certain well-formed, and a complete result, since it is page `index` of the
        last walk or differs from it in its frame and some of its items only.
        """
        if index >= len(self._pages):
            return False
        page = self._reread(index, self._pages[index], raw)
        self._recognized = None if page is None else (raw, page)
        return page is not None

    def read(self, index: int, raw: bytes, room: int | None = None) -> PageRead:
        """Page number `index` of a walk, at most `room` of its items; `InvalidMessage` if it is no page."""
        if self._recognized is not None and self._recognized[0] is raw:
            return self._recognized[1]
        page = structure_page(raw, self._spec.key)
        values, problems = self._structure(index, 0, page.items[:room], self._known())
        text = b",".join(page.items) + b"]"
        begin = raw.find(b"[" + page.items[0]) + 1 if values and not problems else 0
        if not raw.startswith(text, begin):
            begin, text = 0, b""
        frame = _frame(raw, begin, begin + len(text) - 1) if begin else raw
        if not _complete(frame):  # which is nothing in the legacy era, but another may follow
            begin, frame = 0, b""
        return PageRead(page, values, self._named(values), problems, frame, begin)

    def keep(self, pages: tuple[PageRead, ...]) -> None:
        """Remember a complete walk, and nothing older."""
        self._pages = pages
        self._items = self._recognized = None
        self._item = None

    def _known(self) -> dict[bytes, Any]:
        """Every item of the last walk, by its bytes."""
        if self._items is None:
            good = [page for page in self._pages if not page.problems]
            self._items = {raw: item for page in good for raw, item in _pairs(page)}
        return self._items

    def _structure(
        self, index: int, first: int, items: Iterable[bytes], known: Mapping[bytes, Any]
    ) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """The values of items of page `index`, from number `first` on, and what is wrong."""
        item = self._item = self._item or self._spec.reader()
        values: list[Any] = []
        problems: list[str] = []
        for at, raw in enumerate(items, first):
            try:
                values.append(known[raw] if known and raw in known else item(raw))
            except InvalidMessage as error:
                problems.append(f"{self._spec.key}[{at}] of page {index + 1}: {error}")
        return tuple(values), tuple(problems)

    def _named(self, values: tuple[Any, ...]) -> Mapping[str, Any]:
        return dict(zip(map(self._spec.name, values), values, strict=True))

    def _reread(self, index: int, before: PageRead, raw: bytes) -> PageRead | None:
        """Page `index` by what is known of its predecessor; None where that does not help."""
        begin, old = before.begin, before.page.items
        if not begin:
            return before if before.frame == raw else None
        text = b",".join(old)
        if raw.startswith(text, begin) and raw.startswith(b"]", begin + len(text)):
            frame = _frame(raw, begin, begin + len(text))
            if frame == before.frame:
                return before
            first = last = len(old)
            middle = b""
        else:
            end = raw.rfind(before.frame[begin + 1 : begin + 1 + _MARK])
            frame = _frame(raw, begin, end)
            first, last, middle = _difference(old, text + b"]", raw, begin, end + 1)
        try:
            frame.decode()
            middle.decode()
            page = structure_page(frame, self._spec.key)
            items = structure_items(b"[%b]" % middle[:-1])
        except (InvalidMessage, UnicodeDecodeError):
            return None
        if page.items != (b"0",) or (middle and not items) or not _complete(frame):
            return None
        known = dict(zip(old[first:last], before.values[first:last], strict=True))
        values, problems = self._structure(index, first, items, known)
        values = before.values[:first] + values + before.values[last:]
        return PageRead(
            page.containing(old[:first] + items + old[last:]),
            values,
            self._named(values),
            problems,
            raw if problems else frame,
            0 if problems else begin,
        )


def _frame(raw: bytes, begin: int, end: int) -> bytes:
    return b"%b0%b" % (raw[:begin], raw[end:])


def _complete(raw: bytes) -> bool:
    try:
        return result_head(raw) == "complete"
    except InvalidMessage:
        return False


def _pairs(page: PageRead) -> Iterable[tuple[bytes, Any]]:
    return zip(page.page.items, page.values, strict=True)


def _difference(
    items: tuple[bytes, ...], old: bytes, raw: bytes, begin: int, end: int
) -> tuple[int, int, bytes]:
    """What `raw`, from `begin` to `end`, has in place of the items of `old` from `first` up to `last`. In
    these texts, the one that is returned included, every item is followed by one byte, a comma or a bracket.
    """
    ends = [*accumulate(map(len, items))]
    begins = [0, *map(add, ends, count(1))]
    one, other, view = len(old), end - begin, memoryview(old)  # a slice of which is no copy
    alike = _common(min(one, other), lambda i, j: raw.startswith(view[i:j], begin + i))
    first = bisect_right(begins, alike, hi=len(items)) - 1  # never all, for after the last there is no comma
    start = begins[first]
    # The byte before the first item that is common again counts, so that an item ends there in both.
    room = min(one, other) - start + (start > 0)
    alike = _common(room, lambda i, j: raw.startswith(view[one - j : one - i], end - j))
    last = max(first, min(bisect_right(begins, one - alike), len(items)))
    return first, last, raw[begin + start : end - one + begins[last]]


def _common(room: int, same: Callable[[int, int], bool]) -> int:
    """How many bytes, `room` at most, two texts share; `same` compares them from one up to another."""
    least, most = 0, room
    while least < most:
        middle = (least + most + 1) // 2
        if same(least, middle):
            least = middle
        else:
            most = middle - 1
    return least
