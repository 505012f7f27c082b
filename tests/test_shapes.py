"""Derived forms: any attrs class of a layer gets the same strict reading and per-revision writing."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, ClassVar, Optional

import attrs
import pytest

from mcp_sansio._errors import Inexpressible, InvalidMessage, LocalProtocolError
from mcp_sansio._json import decode
from mcp_sansio._shapes import checked, twin, unstructurer, wire_fields, wire_name
from mcp_sansio._structure import encode_typed, structure, structure_value, unstructure
from mcp_sansio._types import EmbeddedResource, GetPromptResult, Prompt, TextContent
from mcp_sansio._versions import ALL_VERSIONS, V2024_11_05, V2025_11_25, V2026_07_28

NEWEST = ALL_VERSIONS[-1]


@attrs.frozen
class Size:
    """An ordinary attrs class, weak references and all."""

    width: int
    in_inches: bool = False


@attrs.frozen
class Circle:
    type: ClassVar[str] = "circle"
    since: ClassVar[str] = V2025_11_25

    radius: float


@attrs.frozen
class Square:
    type: ClassVar[str] = "square"
    since: ClassVar[str] = V2024_11_05

    size: Size


@attrs.frozen(weakref_slot=False)
class Drawing:
    shapes: tuple[Circle | Square, ...]
    by_name: Mapping[str, Size] = attrs.field(factory=dict[str, Size])
    labels: tuple[str, ...] = ("none",)
    paper: Optional[Size] = None  # noqa: UP045  # a layer may write it so
    new_ink: str | None = attrs.field(default=None, metadata={"since": V2026_07_28, "wire": "ink"})


@attrs.frozen(weakref_slot=False)
class Even:
    number: int = attrs.field()

    @number.validator
    def _check(self, _: object, value: int) -> None:
        if value % 2:
            raise ValueError("Expected an even number")


def in_capitals(text: str) -> str:
    return text.upper()


@attrs.frozen(weakref_slot=False)
class Upper:
    text: str = attrs.field(converter=in_capitals)


@attrs.frozen(weakref_slot=False)
class Ordered:
    low: int
    high: int

    def __attrs_post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("Expected `low` <= `high`")


@attrs.frozen
class Anything:
    value: Any


@attrs.frozen
class Reference:
    type: str
    name: str
    as_it_was_written: str | None = None


RAW = (
    b'{"shapes":[{"type":"circle","radius":1},{"type":"square","size":{"width":2,"inInches":true}}],'
    b'"byName":{"a":{"width":3}},"labels":[],"paper":{"width":4},"ink":"red"}'
)
DRAWING = Drawing((Circle(1.0), Square(Size(2, in_inches=True))), {"a": Size(3)}, (), Size(4), "red")


def test_a_class_of_a_layer_is_read() -> None:
    assert structure(Drawing, RAW) == DRAWING


def test_null_and_absence_give_the_default() -> None:
    expected = Drawing((), {}, ("none",), None, None)
    assert structure(Drawing, b'{"shapes":[]}') == expected
    nulls = structure(Drawing, b'{"shapes":[],"byName":null,"labels":null,"paper":null,"ink":null}')
    assert nulls == expected
    assert nulls.by_name is not structure(Drawing, b'{"shapes":[]}').by_name
    assert structure(Size, b'{"width":1,"inInches":null}') == Size(1, in_inches=False)


@attrs.frozen
class Loose:
    """Whatever a union may be of."""

    size: Size | int | str
    sizes: Mapping[str, Size] | tuple[Size | None, ...] | float = 0.5


@attrs.frozen
class Nullable:
    size: Size | None


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"size":5}', Loose(5)),
        (b'{"size":"s","sizes":2.5}', Loose("s", 2.5)),
        (b'{"size":{"width":1},"sizes":[{"width":2},null]}', Loose(Size(1), (Size(2), None))),
        (b'{"size":0,"sizes":{"a":{"width":3}}}', Loose(0, {"a": Size(3)})),
        (b'{"size":null}', Nullable(None)),
        (b'{"size":{"width":1}}', Nullable(Size(1))),
    ],
)
def test_a_class_or_something_plain_is_read_as_what_it_is(raw: bytes, value: Any) -> None:
    cls: type[Any] = type(value)
    assert structure(cls, raw) == value
    assert structure_value(cls, decode(raw)) == value
    assert structure(cls, encode_typed(value, NEWEST)) == value


@pytest.mark.parametrize("raw", [b'{"size":true}', b'{"size":[]}', b'{"size":1,"sizes":[5]}', b"{}"])
def test_what_is_none_of_the_kinds_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidMessage):
        structure(Loose, raw)


def test_a_class_of_a_layer_is_written_per_revision() -> None:
    plain = {
        "shapes": [
            {"type": "circle", "radius": 1.0},
            {"type": "square", "size": {"width": 2, "inInches": True}},
        ],
        "byName": {"a": {"width": 3}},
        "labels": [],
        "paper": {"width": 4},
    }
    assert unstructure(DRAWING, NEWEST) == {**plain, "ink": "red"}
    assert unstructure(DRAWING, V2025_11_25) == plain
    with pytest.raises(Inexpressible, match="2024-11-05 has no content of type 'circle'"):
        unstructure(DRAWING, V2024_11_05)
    assert unstructure(Drawing(()), NEWEST) == {"shapes": []}
    assert decode(encode_typed(DRAWING, NEWEST)) == {**plain, "ink": "red"}
    assert decode(encode_typed(DRAWING, V2025_11_25)) == plain


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Drawing("xy"), "expected tuple, got str"),  # type: ignore[arg-type]  # the mistake under test
        (Drawing((), []), "expected mapping, got list"),  # type: ignore[arg-type]  # the mistake under test
        (Square(5), "expected Size, got int"),  # type: ignore[arg-type]  # the mistake under test
        (Square(Circle(1)), "expected Size, got Circle"),  # type: ignore[arg-type]  # the mistake under test
    ],
)
def test_a_container_of_the_wrong_kind_is_refused_when_writing(value: Any, message: str) -> None:
    with pytest.raises(LocalProtocolError, match=message):
        unstructure(value, NEWEST)


@pytest.mark.parametrize("version", ["", "2099-01-01"])
def test_an_unknown_revision_is_refused(version: str) -> None:
    with pytest.raises(LocalProtocolError, match="unknown protocol version"):
        unstructurer(version, Prompt)


@pytest.mark.parametrize(
    ("cls", "raw"), [(Size, b'{"width":1}'), (Prompt, b'{"name":"p"}'), (TextContent, b'{"text":"t"}')]
)
def test_what_is_read_is_as_frozen_as_what_is_constructed(cls: Any, raw: bytes) -> None:
    value = structure(cls, raw)
    assert type(value) is cls
    assert hash(value) == hash(structure(cls, raw))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(value, attrs.fields(cls)[0].name, "other")


def test_a_class_without_weak_references_is_filled_without_its_constructor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(*_: object) -> None:
        raise AssertionError("the constructor of a frozen class takes half the time of a page")

    monkeypatch.setattr(Prompt, "__init__", slow)
    assert structure(Prompt, b'{"name":"p"}').name == "p"


def test_a_class_with_weak_references_keeps_them() -> None:
    value = structure(Size, b'{"width":1}')
    assert weakref.ref(value)() is value


def test_validators_converters_and_post_init_run() -> None:
    assert structure(Even, b'{"number":2}') == Even(2)
    with pytest.raises(InvalidMessage, match="Expected an even number"):
        structure(Even, b'{"number":3}')
    with pytest.raises(InvalidMessage, match="Expected an even number"):
        structure_value(Even, {"number": 3})
    assert structure(Upper, b'{"text":"a"}').text == "A"
    with pytest.raises(InvalidMessage, match="Expected `low` <= `high`"):
        structure(Ordered, b'{"low":2,"high":1}')


def test_untagged_classes_are_told_apart_by_what_they_require() -> None:
    def read(resource: bytes) -> Any:
        return structure(EmbeddedResource, b'{"resource":%b}' % resource).resource

    text = read(b'{"uri":"u","text":"t","mimeType":"m","_meta":{"a":1}}')
    assert (type(text).__name__, text.text, text.mime_type, text.meta) == ("TextResource", "t", "m", {"a": 1})
    blob = read(b'{"uri":"u","blob":"b"}')
    assert (type(blob).__name__, blob.blob, blob.mime_type, blob.meta) == ("BlobResource", "b", None, None)
    assert read(b'{"uri":"u","text":null,"blob":"b"}') == blob
    assert read(b'{"uri":"u","text":"t","blob":"b"}').text == "t"
    for resource in (b'{"uri":"u"}', b'{"uri":"u","text":null}'):
        with pytest.raises(InvalidMessage, match=r"Object needs `text` or `blob` at \$\.resource"):
            read(resource)
    with pytest.raises(InvalidMessage, match="missing required field `uri`"):
        read(b'{"text":"t"}')


def test_null_is_a_value_where_any_value_is_required() -> None:
    assert structure(Anything, b'{"value":null}') == Anything(None)


def test_a_member_called_type_is_a_member_like_others() -> None:
    reference = structure(Reference, b'{"type":"ref/prompt","name":"p","asItWasWritten":"P"}')
    assert reference == Reference("ref/prompt", "p", "P")
    assert unstructure(reference, NEWEST) == {"type": "ref/prompt", "name": "p", "asItWasWritten": "P"}


def test_wire_names_are_camel_case_unless_said_otherwise() -> None:
    assert [wire_name(field) for field in wire_fields(Drawing)] == [
        "shapes",
        "byName",
        "labels",
        "paper",
        "ink",
    ]
    assert [wire_name(field) for field in wire_fields(Prompt)][-2:] == ["icons", "_meta"]


def test_what_collects_unnamed_members_is_no_member() -> None:
    assert [field.name for field in wire_fields(GetPromptResult)] == ["messages", "description", "meta"]


def test_a_twin_is_made_once() -> None:
    assert twin(Prompt) is twin(Prompt)


def test_checked_returns_what_it_was_given() -> None:
    value = {"a": 1}
    assert checked(value, Mapping, "mapping") is value
