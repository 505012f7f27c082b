"""Texts into values: what the annotation of a parameter makes of an argument.

Arguments are strings on the wire. A `Converter` takes such a text for one kind of value, in one spelling
and strictly: nothing is stripped, rounded or guessed, and digits are ASCII. What a text could stand for
in several ways (lists, unions), and what a client must not choose (paths), has no converter. No text of a
number is longer than `MAX_DIGITS` on either side of its point, so none takes long.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin
from uuid import UUID

import attrs

MAX_DIGITS = 640
"""So many digits `int` takes under every limit that an interpreter can be given."""

MAX_NAMED = 20
"""So many of the possible values an error names."""


@attrs.frozen
class Converter:
    """How a text becomes a value.

    `convert` raises `ValueError` for a text that stands for none, `expected` says in words what does, and
    `values` are all texts that do, in order, where they can be counted.
    """

    convert: Callable[[str], Any]
    expected: str
    values: tuple[str, ...] = ()


def converter_of(annotation: object) -> Converter | None:
    """The converter for what is annotated so; None if there is none. `None` in a union says nothing about
    texts, for an argument that is absent is not converted at all.
    """
    kind = _named(annotation)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return converter_of(arguments[0])
    if origin in (Union, UnionType):
        others = [each for each in arguments if each is not NoneType]
        return converter_of(others[0]) if len(others) == 1 else None
    if origin is Literal:
        return _choice_of_literal(arguments)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice_of_enum(kind)
    return _SCALARS.get(cast("object", kind)) if isinstance(kind, type) else None


def notes_of(annotation: object) -> Iterator[object]:
    """What `Annotated` says beside the type, at whatever depth of a union."""
    kind = _named(annotation)
    if get_origin(kind) is Annotated:
        yield from cast("tuple[object, ...]", kind.__metadata__)  # type: ignore[attr-defined]
    if get_origin(kind) in (Annotated, Union, UnionType):
        for part in get_args(kind)[:1] if get_origin(kind) is Annotated else get_args(kind):
            yield from notes_of(part)


def _named(annotation: object) -> object:
    """What a `NewType` or a type alias is a name for."""
    while True:
        for attribute in ("__supertype__", "__value__"):
            if not isinstance(annotation, type) and hasattr(annotation, attribute):
                annotation = getattr(annotation, attribute)
                break
        else:
            return annotation


# --- one of several -----------------------------------------------------------------------------------


def _choice_of_enum(kind: type[Enum]) -> Converter | None:
    """A member by its value, if that has a text, else by its name; a value wins over another one's name."""
    by_value = {_text_of_member(member): member for member in reversed([*kind])}
    members: dict[str, object] = {**kind.__members__, **by_value}
    return _choice(members, tuple(dict.fromkeys(_text_of_member(member) for member in kind)))


def _choice_of_literal(choices: tuple[object, ...]) -> Converter | None:
    """None is no text, and neither are bytes."""
    texts = {_text_of(choice): choice for choice in choices if choice is not None}
    return None if None in texts else _choice(cast("dict[str, object]", texts), tuple(map(str, texts)))


def _choice(choices: Mapping[str, object], values: tuple[str, ...]) -> Converter | None:
    def convert(text: str) -> object:
        if text not in choices:
            raise ValueError("none of them")
        return choices[text]

    named = ", ".join(values[:MAX_NAMED]) + (", …" if len(values) > MAX_NAMED else "")
    return Converter(convert, f"one of {named}", values) if values else None


def _text_of(value: object) -> str | None:
    """The text that stands for a value of a literal or a member."""
    if isinstance(value, Enum):
        return _text_of_member(value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


def _text_of_member(member: Enum) -> str:
    value = member.value
    text = None if isinstance(value, Enum) else _text_of(value)
    return member.name if text is None else text


# --- scalars ------------------------------------------------------------------------------------------

_DIGITS = f"[0-9]{{1,{MAX_DIGITS}}}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?"
_HEX = "[0-9a-fA-F]"


def _spelt(pattern: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
    """`make`, for texts of this form only: what it would take beyond that is left to no one's memory."""
    form = re.compile(pattern)

    def convert(text: str) -> Any:
        if not form.fullmatch(text):
            raise ValueError("another form")
        return make(text)

    return convert


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("too large")
    return number


TEXT = Converter(str, "text")

_BOOLEANS = {"true": True, "false": False}
_SCALARS: Mapping[object, Converter] = {
    Any: TEXT,
    str: TEXT,
    int: Converter(_spelt(f"-?{_DIGITS}", int), "a whole number"),
    float: Converter(
        _spelt(rf"-?{_DIGITS}(\.{_DIGITS})?([eE][+-]?[0-9]{{1,3}})?", _finite), "a number such as 2.5 or -1e3"
    ),
    Decimal: Converter(_spelt(rf"-?{_DIGITS}(\.{_DIGITS})?", Decimal), "a decimal number such as 2.50"),
    bool: Converter(
        _spelt("(?i:true|false)", lambda text: _BOOLEANS[text.lower()]), "true or false", ("true", "false")
    ),
    date: Converter(_spelt(_DATE, date.fromisoformat), "a date such as 2026-07-28"),
    datetime: Converter(
        _spelt(f"{_DATE}[T ]{_TIME}", datetime.fromisoformat), "a date and time such as 2026-07-28T09:30:00Z"
    ),
    time: Converter(_spelt(_TIME, time.fromisoformat), "a time such as 09:30"),
    UUID: Converter(
        _spelt(f"{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}", UUID),
        "a UUID such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    ),
}

ANNOTATIONS = (
    "str, int, float, bool, Decimal, date, datetime, time, UUID, an Enum, a Literal, or one of them | None"
)
"""What parameters may be annotated with."""
