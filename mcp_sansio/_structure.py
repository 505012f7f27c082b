"""Attrs values to wire and back, in the form of each protocol revision.

Reading is the same for all revisions and strict: no coercion, `bool` is no `int`, an array is not an object,
what is wrong is named by its JSON path. It is liberal only where the protocol is: unknown members are
ignored or, where a class has a field for them, kept; null for an optional member means that it is absent.
Writing knows the revision: optional members that it does not have are left out, a value that it has no form
for is refused.

A list result is read in two steps, for under change nearly all of its items are those of the last time:
`structure_page` leaves the items as bytes, and the caller has only those structured that it has not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, cast

import attrs
import msgspec

from ._errors import InvalidMessage, LocalProtocolError
from ._json import MAX_DEPTH, decode, encode, invalid, too_deep
from ._shapes import EXTRA, Class, builder, checked, item_class, twin, unstructurer, wire_fields, wire_name
from ._versions import ALL_VERSIONS

T = TypeVar("T")

SNAPSHOT_DIGEST = "mcp-sansio/snapshot"
"""The member of a list result's `_meta` by which our server says which state of the list a page shows."""

MAX_TTL = 365 * 24 * 3600.0
"""The longest freshness, in seconds, that a page is believed to have."""

_UNREADABLE = (ValueError, RecursionError)
"""What msgspec raises, and the validators that a layer's class may have."""


# --- reading ------------------------------------------------------------------------------------------


def structure(cls: type[T], raw: bytes) -> T:
    """Read an instance of an attrs class from JSON that `parse` has passed.

    Raises `InvalidMessage`, which carries the JSON path, for whatever does not have the class's form and
    for nesting deeper than 128.
    """
    key: Any = cls
    try:
        value: T = _reader(key)(raw).build()
    except _UNREADABLE as error:
        if _keeps_extra(key):  # perhaps there is only something to be kept
            return structure_value(cls, decode(raw))
        raise invalid(error) from None
    if too_deep(raw, MAX_DEPTH):
        raise InvalidMessage(f"nested deeper than {MAX_DEPTH}")
    return value


class SharingReader:
    """Reads instances of an attrs class, one after the other, as `structure` does. In the field `shared`, a
    tuple, items whose bytes are the same are one object: prompts of one kind have many arguments alike.

    It keeps what it has seen, so it should not outlive the list that is being read.
    """

    def __init__(self, cls: Class, shared: str) -> None:
        self.cls: type[Any] = cls
        self.shared = shared
        self._decode, self._decode_item = _sharing_decoders(cls, shared)
        self._build = builder(cls, shared, self._items)
        self._known: dict[bytes, Any] = {}

    def __call__(self, raw: bytes) -> Any:
        """The next one. Raises `InvalidMessage`."""
        try:
            value = self._build(self._decode(raw))
        except _UNREADABLE:
            return structure(self.cls, raw)  # to say where it is wrong
        if too_deep(raw, MAX_DEPTH):
            raise InvalidMessage(f"nested deeper than {MAX_DEPTH}")
        return value

    def _items(self, raws: list[Any]) -> tuple[Any, ...]:
        known = self._known
        items: list[Any] = []
        for raw in raws:
            text = bytes(raw)
            item = known.get(text)
            if item is None:
                item = known[text] = self._decode_item(text).build()
            items.append(item)
        return tuple(items)


@functools.cache
def _sharing_decoders(cls: Class, shared: str) -> tuple[Callable[[bytes], Any], Callable[[bytes], Any]]:
    whole, item = twin(cls, shared), twin(item_class(cls, shared))
    return msgspec.json.Decoder(whole).decode, msgspec.json.Decoder(item).decode


def structure_value(cls: type[T], value: Any) -> T:
    """The same from a value that `decode` returned. Raises `InvalidMessage`."""
    key: Any = cls
    try:
        built: Any = msgspec.convert(value, twin(key)).build()
    except _UNREADABLE as error:
        raise invalid(error) from None
    if _keeps_extra(key):
        built.extra.update(split_extra(key, value))  # a new dict, which the field's factory has just made
    return cast(T, built)


def structure_or_none(cls: type[T], value: Any) -> T | None:
    """The same for what is there to be shown only: None where it has not the class's form."""
    try:
        return structure_value(cls, value)
    except InvalidMessage:
        return None


def split_extra(cls: Class, members: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a result that neither `cls` nor every result has a name for."""
    named = _named(cls)
    return {name: value for name, value in members.items() if name not in named}


@functools.cache
def _reader(cls: Class) -> Callable[[bytes], Any]:
    """The typed decoder of a class. That of a result which keeps what it has no name for refuses such: then
    the untyped value is needed, too.
    """
    form = twin(cls)
    if _keeps_extra(cls):
        form = msgspec.defstruct(
            cls.__name__,
            (),
            bases=(form,),
            tag_field="resultType",
            tag="complete",
            forbid_unknown_fields=True,
        )
    return msgspec.json.Decoder(form).decode


@functools.cache
def _keeps_extra(cls: Class) -> bool:
    return EXTRA in attrs.fields_dict(cls)


@functools.cache
def _named(cls: Class) -> frozenset[str]:
    return frozenset({"resultType", *map(wire_name, wire_fields(cls))})


# --- writing ------------------------------------------------------------------------------------------


def unstructure(value: Any, version: str) -> Any:
    """The plain JSON value for an attrs value in `version`.

    None, empty optional tuples and members newer than the version are left out. Raises `Inexpressible` if
    the version has no form for the value, `LocalProtocolError` for an unknown version and for what is no
    attrs value, tuple or mapping where it should be.
    """
    cls: Class = value.__class__
    plain = unstructurer(version, cls)(value)
    if _keeps_extra(cls) and value.extra != {}:
        plain.update(_checked_extra(cls, value.extra))
    return plain


def _checked_extra(cls: Class, extra: Any) -> dict[str, Any]:
    members: dict[str, Any] = dict(checked(extra, Mapping, "mapping"))
    clash = [name for name in members if name in _named(cls)]
    if clash:
        raise LocalProtocolError(f"extra may not hold {', '.join(clash)}")
    return members


def encode_typed(value: Any, version: str) -> bytes:
    """Encode an attrs value in the form of `version`, checked as by `unstructure_typed`."""
    return encode(unstructure_typed(value, version))


def unstructure_typed(value: Any, version: str) -> Any:
    """What `unstructure` returns, after checking that the value's fields hold what they say.

    Raises `LocalProtocolError` for a field of the wrong type, also one that the version leaves out, and
    what `unstructure` raises. The newest version's form is still to be encoded, which checks the rest; what
    another version leaves out is seen to be sendable here.
    """
    cls: Class = value.__class__
    newest = unstructure(value, ALL_VERSIONS[-1])
    try:
        msgspec.convert(newest, twin(cls))
    except msgspec.ValidationError as error:
        raise LocalProtocolError(f"not a valid {cls.__name__}: {error}") from None
    if version == ALL_VERSIONS[-1]:
        return newest
    encode(newest)
    return unstructure(value, version)


# --- results ------------------------------------------------------------------------------------------


@attrs.frozen
class Page:
    """One page of a list result, its items still raw.

    `ttl` is the freshness in seconds and `scope` who may share it; None where the server said nothing, the
    cautious value where it said nonsense, for a hint never costs a list; `nonsense` names such hints.
    `digest` is what our own server puts into `meta` to say which state of the list this is.
    """

    items: tuple[bytes, ...]
    next_cursor: str | None
    ttl: float | None
    scope: Literal["public", "private"] | None
    digest: Any
    meta: Mapping[str, Any] | None
    nonsense: tuple[str, ...] = ()

    def containing(self, items: tuple[bytes, ...]) -> Page:
        """The same page with other items."""
        return Page(items, self.next_cursor, self.ttl, self.scope, self.digest, self.meta, self.nonsense)


def structure_page(raw: bytes, result_key: str) -> Page:
    """Read a list result whose items are the member `result_key`.

    Raises `InvalidMessage` if that is no array, or for a cursor that is no string. The nesting of each item
    is left to `structure`, as the rest of the item is.
    """
    try:
        page = _page_decoder(result_key)(raw)
    except _UNREADABLE as error:
        raise invalid(error) from None
    items = tuple(map(bytes, page.items))
    if _nests_outside(raw, items):
        raise InvalidMessage(f"nested deeper than {MAX_DEPTH}")
    ttl, ttl_makes_sense = _freshness(page.ttl)
    scope, scope_makes_sense = _audience(page.scope)
    wrong = (() if ttl_makes_sense else ("ttlMs",)) + (() if scope_makes_sense else ("cacheScope",))
    digest = page.meta.get(SNAPSHOT_DIGEST) if page.meta else None
    return Page(items, page.next_cursor, ttl, scope, digest, page.meta, wrong)


_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def structure_items(raw: bytes) -> tuple[bytes, ...]:
    """The items of an array. Raises `InvalidMessage` for anything else."""
    try:
        return tuple(map(bytes, _decode_items(raw)))
    except _UNREADABLE as error:
        raise invalid(error) from None


@functools.lru_cache(maxsize=64)
def _page_decoder(result_key: str) -> Callable[[bytes], Any]:
    hint, no_hint = msgspec.Raw, msgspec.Raw()
    shape = msgspec.defstruct(
        "Page",
        [
            ("items", list[msgspec.Raw], msgspec.field(name=result_key)),
            ("next_cursor", str | None, msgspec.field(name="nextCursor", default=None)),
            ("ttl", hint, msgspec.field(name="ttlMs", default=no_hint)),
            ("scope", hint, msgspec.field(name="cacheScope", default=no_hint)),
            ("meta", dict[str, Any] | None, msgspec.field(name="_meta", default=None)),
        ],
        gc=False,
    )
    return msgspec.json.Decoder(shape).decode


def _nests_outside(raw: bytes, items: tuple[bytes, ...]) -> bool:
    """Whether the page itself is too deep: its size settles it mostly, else its brackets, else a scan."""
    if len(raw) - sum(map(len, items)) - len(items) <= 2 * MAX_DEPTH:
        return False
    inside = b"".join(items)
    brackets = raw.count(b"{") + raw.count(b"[") - inside.count(b"{") - inside.count(b"[")
    return brackets > MAX_DEPTH and too_deep(raw, MAX_DEPTH)


def lifetime(milliseconds: object) -> float:
    """Seconds from `ttlMs`: "If it is negative, clients SHOULD ignore the value and treat it as 0"."""
    if type(milliseconds) is not int or milliseconds < 0:
        return 0.0
    return min(milliseconds, int(MAX_TTL * 1000)) / 1000


def _freshness(raw: Any) -> tuple[float | None, bool]:
    """The `ttlMs` of a page in seconds, None when absent, and whether it can be what it says."""
    if not raw:
        return None, True
    milliseconds = _hint(raw)
    return lifetime(milliseconds), type(milliseconds) is int and milliseconds >= 0


def _audience(raw: Any) -> tuple[Literal["public", "private"] | None, bool]:
    """The `cacheScope` of a page, None when absent, and whether it can be what it says."""
    if not raw:
        return None, True
    scope = _hint(raw)
    return ("public", True) if scope == "public" else ("private", scope == "private")


def _hint(raw: Any) -> Any:
    try:
        return decode(bytes(raw))
    except InvalidMessage:  # a number out of range
        return None


class _Head(msgspec.Struct, rename="camel", gc=False):
    result_type: str = "complete"


_decode_head = msgspec.json.Decoder(_Head).decode


def result_head(raw: bytes) -> str:
    """The `resultType` of a result; "complete" when absent. Raises `InvalidMessage` if it is no string."""
    try:
        return _decode_head(raw).result_type
    except _UNREADABLE as error:
        raise invalid(error) from None
