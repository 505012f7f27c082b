"""A property of pages: what is read of one is what stands in it, and a hint that is none costs only itself.

Pages are drawn, with hints of every kind, members that are missing or of another type, and nesting up to the
limit and beyond. What they mean is worked out from the drawn parts, not from their bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from mcp_sansio._errors import InvalidMessage
from mcp_sansio._json import MAX_DEPTH, encode
from mcp_sansio._structure import MAX_TTL, SNAPSHOT_DIGEST, Page, structure_page

from ._tape import Seeded, Tape

ABSENT = b""
ITEMS = (b'{"name":"a"}', b'{ "name" : "b", "x":[[]] }', b"1", b'"[{"', b"[" * 9 + b"]" * 9)
TTLS = (ABSENT, b"0", b"1", b"60000", b"1500", b"-1", b"1.5", b'"1"', b"null", b"true", b"1e400", b"9" * 15)
SCOPES = (ABSENT, b'"public"', b'"private"', b'"other"', b"null", b"7")
CURSORS = (ABSENT, b"null", b'""', b'"x"', b"1")
NESTED = (0, 1, 60, MAX_DEPTH - 3, MAX_DEPTH - 2, MAX_DEPTH - 1, 2 * MAX_DEPTH, 3 * MAX_DEPTH)
METAS = (ABSENT, b"null", b"{}", b'{"%b":"d"}' % SNAPSHOT_DIGEST.encode(), b"[]")


@attrs.frozen
class Drawn:
    """The parts of a page, as they stand in it."""

    items: tuple[bytes, ...] | None
    cursor: bytes
    ttl: bytes
    scope: bytes
    meta: bytes
    depth: int

    @property
    def raw(self) -> bytes:
        """The page."""
        items = b"1" if self.items is None else b"[%b]" % b",".join(self.items)
        members = (b"prompts", items), (b"nextCursor", self.cursor), (b"ttlMs", self.ttl)
        more = (b"cacheScope", self.scope), (b"_meta", self.meta), (b"unknown", b"[]")
        return b"{%b}" % b",".join(b'"%b":%b' % member for member in (*members, *more) if member[1])

    @property
    def unreadable(self) -> bool:
        """Whether it is no page."""
        return self.items is None or self.cursor == b"1" or self.meta == b"[]" or self.depth > MAX_DEPTH


def drawn(seed: int) -> Drawn:
    """A page."""
    tape = Tape(Seeded(seed))
    meta, depth = tape.one_of("meta", METAS), 2
    nested = tape.one_of("nested", NESTED)
    if tape.draw("deep", 2):
        meta, depth = b'{"x":%b}' % (b"[" * nested + b"]" * nested or b"0"), 2 + nested
    elif nested:
        meta = b'{"x":[%b]}' % b",".join([b"[]", b"{}"] * nested)  # wide, and not deep
    items = tuple(tape.one_of("item", ITEMS) for _ in range(tape.one_of("items", (1, 0, 3, 300))))
    return Drawn(
        None if tape.draw("no items", 20) == 19 else items,
        tape.one_of("cursor", CURSORS[: 4 + tape.draw("odd cursor", 2)]),
        tape.one_of("ttl", TTLS),
        tape.one_of("scope", SCOPES),
        meta if meta != b"[]" or tape.draw("odd meta", 2) else ABSENT,
        depth,
    )


def _ttl(raw: bytes) -> tuple[float | None, tuple[str, ...]]:
    if raw == ABSENT:
        return None, ()
    return (min(int(raw) / 1000, MAX_TTL), ()) if raw.isdigit() else (0.0, ("ttlMs",))


def _scope(raw: bytes) -> tuple[Any, tuple[str, ...]]:
    if raw == ABSENT:
        return None, ()
    named = raw in SCOPES[1:3]
    return ("public" if raw == b'"public"' else "private"), () if named else ("cacheScope",)


def _differs(page: Page, of: Drawn) -> bool:
    (ttl, odd_ttl), (scope, odd_scope) = _ttl(of.ttl), _scope(of.scope)
    cursor = of.cursor.strip(b'"').decode() if of.cursor.startswith(b'"') else None
    digest = "d" if SNAPSHOT_DIGEST.encode() in of.meta else None
    said = (page.items, page.next_cursor, page.ttl, page.scope, page.digest, page.nonsense)
    kept = of.meta in (ABSENT, b"null") if page.meta is None else encode(page.meta) == of.meta
    return said != (of.items, cursor, ttl, scope, digest, odd_ttl + odd_scope) or not kept


def judge_page(seed: int, read: Callable[[bytes, str], Page] = structure_page) -> str | None:
    """What is wrong with how the page of a seed is read."""
    of = drawn(seed)
    try:
        page = read(of.raw, "prompts")
    except InvalidMessage as error:
        fine = of.unreadable and str(error)
        return None if fine else f"the page of seed {seed} is refused: {error}"
    if of.unreadable:
        return f"the page of seed {seed} is read, and it is none"
    fewer = page.containing(page.items[:1])
    if _differs(page, of) or _differs(fewer, attrs.evolve(of, items=page.items[:1])):
        return f"the page of seed {seed} is read as another one"
    return None
