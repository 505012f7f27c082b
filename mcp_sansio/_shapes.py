"""The codec's own forms of the attrs classes, derived from them at first use.

A class is written once, in `_types` or by a layer; two forms of it come from here. Its *twin* is a private
`msgspec.Struct` with the names of the wire, which msgspec fills from bytes strictly and fast; the twin's
`build` makes the attrs value. Its *unstructurer*, one per revision, is a function by cattrs that goes the
other way and leaves out what the revision does not have.

Understood are `str`, `int`, `float`, `bool`, `Literal`, `Any`, attrs classes, `tuple[T, ...]`,
`Mapping[str, T]` and unions of these. A field with a default is optional, and null means that it is absent.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from operator import methodcaller
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import attrs
import cattrs
import msgspec
from cattrs.gen import make_dict_unstructure_fn, override

from ._errors import Inexpressible, LocalProtocolError
from ._versions import ALL_VERSIONS, at_least

EXTRA = "extra"
"""The field that collects those members of a result which its class does not name."""

Field: TypeAlias = "attrs.Attribute[Any]"
Convert: TypeAlias = Callable[[Any], Any]
Class: TypeAlias = Any
"""An attrs class. As `type[T]` it could not be the key of a cache for every type checker."""


@functools.cache
def wire_fields(cls: Class) -> tuple[Field, ...]:
    """The fields of an attrs class that are members on the wire, in order."""
    return tuple(field for field in attrs.fields(cls) if field.name != EXTRA)


def wire_name(field: Field) -> str:
    """The member's name on the wire: camelCase unless the field's metadata says otherwise."""
    first, *rest = field.name.split("_")
    return str(field.metadata.get("wire", first + "".join(map(str.capitalize, rest))))


@functools.cache
def _hints(cls: Class) -> dict[str, Any]:
    return get_type_hints(cls)


def _tag(cls: Class) -> str | None:
    tag = getattr(cls, "type", None)
    return tag if isinstance(tag, str) else None


def _is_required(field: Field) -> bool:
    return field.default is attrs.NOTHING


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _is_mapping(hint: Any) -> bool:
    return get_origin(hint) is Mapping


# --- reading ------------------------------------------------------------------------------------------


@functools.cache
def twin(cls: Class, raw: str = "") -> Any:
    """The Struct that reads `cls`; its method `build` returns the attrs value. The items of the field `raw`,
    a tuple, it leaves as bytes: then a `builder` has to be told what becomes of these.
    """
    fields = [
        _raw_field(field) if field.name == raw else _twin_field(cls, field, required=_is_required(field))
        for field in wire_fields(cls)
    ]
    return msgspec.defstruct(
        cls.__name__,
        fields,
        namespace={"build": builder(cls)},
        tag=_tag(cls),
        gc=False,
    )


def _twin_field(cls: Class, field: Field, *, required: bool) -> tuple[str, Any, Any]:
    kind = _twin_type(_hints(cls)[field.name])
    if required:
        return field.name, kind, msgspec.field(name=wire_name(field))
    if "maximum" in field.metadata:
        kind = _limited(float, field.metadata["minimum"], field.metadata["maximum"])
    return field.name, kind | None, msgspec.field(name=wire_name(field), default=None)


def _raw_field(field: Field) -> tuple[str, Any, Any]:
    return field.name, list[msgspec.Raw] | None, msgspec.field(name=wire_name(field), default=None)


def item_class(cls: Class, name: str) -> Class:
    """What the tuple in a field of `cls` holds."""
    return get_args(_hints(cls)[name])[0]


def _limited(kind: Any, minimum: float, maximum: float) -> Any:
    return Annotated[kind, msgspec.Meta(ge=minimum, le=maximum)]


def _twin_type(hint: Any) -> Any:
    parts = get_args(hint)
    if attrs.has(hint):
        return twin(hint)
    if _is_tuple(hint):
        return types.GenericAlias(tuple, (_twin_type(parts[0]), ...))
    if _is_mapping(hint):
        return types.GenericAlias(dict, (str, _twin_type(parts[1])))
    if not _is_union(hint):
        return hint
    untagged = tuple(part for part in parts if attrs.has(part) and not _tag(part))
    if len(untagged) > 1:
        return _either(untagged)
    return functools.reduce(_union, map(_twin_type, parts))


def _union(one: Any, other: Any) -> Any:
    return one | other


def _either(classes: tuple[Class, ...]) -> Any:
    """One Struct for classes that no tag tells apart: the first whose required members are all there."""
    required = {cls: [field.name for field in wire_fields(cls) if _is_required(field)] for cls in classes}
    shared = [name for name in required[classes[0]] if all(name in names for names in required.values())]
    own = [name for names in required.values() for name in names if name not in shared]
    fields = {
        field.name: _twin_field(cls, field, required=field.name in shared)
        for cls in classes
        for field in wire_fields(cls)
    }

    def choose(self: Any) -> Class:
        for cls, names in required.items():
            if all(getattr(self, name) is not None for name in names):
                return cls
        raise ValueError(f"Object needs `{'` or `'.join(own)}`")

    def build(self: Any) -> Any:
        cls = choose(self)
        return twin(cls)(*(getattr(self, field.name) for field in wire_fields(cls))).build()

    # msgspec makes of a ValueError in `__post_init__` an error of its own, with the JSON path.
    methods = {"__post_init__": choose, "build": build}
    return msgspec.defstruct("Either", fields.values(), namespace=methods, gc=False)


def builder(cls: Class, raw: str = "", convert_raw: Convert | None = None) -> Convert:
    """What makes the attrs value from a twin; `convert_raw` makes what is in the field `raw`."""
    astuple, thawed = msgspec.structs.astuple, _thawed(cls)
    construct, freeze = thawed or cls, thawed is not None
    steps = [
        (position, convert_raw if convert_raw and name == raw else convert, absent)
        for name, position, convert, absent in _steps(cls)
    ]

    def build(self: Any) -> Any:
        values: Any = astuple(self)
        if steps:
            values = list(values)
            for position, convert, absent in steps:
                value = values[position]
                values[position] = absent() if value is None else convert(value)
        built = construct(*values)
        if freeze:
            built.__class__ = cls
        return built

    return build


@functools.cache
def _thawed(cls: Class) -> Any:
    """A class with the same slots as the frozen `cls` that is not frozen; None if that cannot replace it.

    The constructor of a frozen class pays a function call per field, which is half the time that a page
    takes. An instance of the thawed class is filled at once, and freezes by changing its class.
    """
    fields = attrs.fields(cls)
    if any(field.validator or field.converter for field in fields) or hasattr(cls, "__attrs_post_init__"):
        return None
    names = {field.name: attrs.field(default=field.default) for field in fields}
    thawed: Any = attrs.make_class(cls.__name__, names, slots=True, weakref_slot=False, eq=False, repr=False)
    try:
        object.__new__(thawed).__class__ = cls
    except TypeError:
        return None
    return thawed


@functools.cache
def _steps(cls: Class) -> tuple[tuple[str, int, Convert, Callable[[], Any]], ...]:
    """How the values of fields are converted, and what they are when absent, where they do not stay as they
    are: the name of the field, its position, and that.
    """
    steps: list[tuple[str, int, Convert, Callable[[], Any]]] = []
    for position, field in enumerate(wire_fields(cls)):
        convert, default = (
            _conversion(_hints(cls)[field.name]),
            None if _is_required(field) else field.default,
        )
        if convert is not None or default is not None:
            absent = getattr(default, "factory", functools.partial(_same, default))
            steps.append((field.name, position, convert or _same, absent))
    return tuple(steps)


def _same(value: Any) -> Any:
    return value


_build = methodcaller("build")


def _conversion(hint: Any) -> Convert | None:
    """From a twin's value to the attrs class's; None where they are the same."""
    if attrs.has(hint):
        return _build
    if _is_union(hint):
        return _conversion_by_form(get_args(hint))
    if not _is_tuple(hint) and not _is_mapping(hint):
        return None
    convert = _conversion(get_args(hint)[0 if _is_tuple(hint) else 1])
    if convert is None:
        return None
    if _is_tuple(hint):
        return lambda items: tuple(map(convert, items))
    return lambda members: {key: convert(item) for key, item in members.items()}


def _conversion_by_form(parts: tuple[Any, ...]) -> Convert | None:
    """What becomes of a value of one of several kinds, told apart by what msgspec has made of it."""
    if all(map(attrs.has, parts)):
        return _build
    steps = [(_form(part), convert) for part in parts if (convert := _conversion(part)) is not None]

    def convert_one(value: Any) -> Any:
        return next((convert(value) for form, convert in steps if isinstance(value, form)), value)

    return convert_one if steps else None


def _form(hint: Any) -> type[Any]:
    if attrs.has(hint):
        return msgspec.Struct
    return tuple if _is_tuple(hint) else dict


# --- writing ------------------------------------------------------------------------------------------


@functools.cache
def unstructurer(version: str, cls: Class) -> Convert:
    """The function from values of an attrs class to the plain objects that `version` has for them.

    Raises `LocalProtocolError` for an unknown version and another class; the function raises `Inexpressible`
    for a value that is newer than the version, and `LocalProtocolError` for one that is no tuple, mapping or
    instance where its class says so.
    """
    if not attrs.has(cls):
        raise LocalProtocolError(f"expected an attrs value, got {cls.__name__}")
    return _converter(version).get_unstructure_hook(cls)


@functools.cache
def _converter(version: str) -> cattrs.Converter:
    at_least(version, ALL_VERSIONS[0])
    converter = cattrs.Converter()

    def of_class(cls: Class) -> Convert:
        return _class_unstructurer(cls, converter, version)

    def of_tuple(hint: Any) -> Convert:
        each = converter.get_unstructure_hook(get_args(hint)[0])
        return lambda value: [*map(each, checked(value, (tuple, list), "tuple"))]

    def of_mapping(hint: Any) -> Convert:
        kind = get_args(hint)[1]
        each = _same if kind is Any else converter.get_unstructure_hook(kind)
        return lambda value: {key: each(item) for key, item in checked(value, Mapping, "mapping").items()}

    converter.register_unstructure_hook_factory(attrs.has, of_class)
    converter.register_unstructure_hook_factory(_is_tuple, of_tuple)
    converter.register_unstructure_hook_factory(_is_mapping, of_mapping)
    return converter


def checked(value: Any, kind: Any, name: str) -> Any:
    """`value` if it is an instance of `kind`, which an error calls `name`; else `LocalProtocolError`."""
    if not isinstance(value, kind):
        raise LocalProtocolError(f"expected {name}, got {type(value).__name__}")
    return value


def _class_unstructurer(cls: Class, converter: cattrs.Converter, version: str) -> Convert:
    overrides: dict[str, Any] = {
        field.name: override(rename=wire_name(field), omit=not _has(version, field))
        for field in attrs.fields(cls)
    }
    to_members = make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True, **overrides)
    tag = _tag(cls)
    expressible = tag is None or at_least(version, cls.since)

    def unstructure(value: Any) -> dict[str, Any]:
        if not expressible:
            raise Inexpressible(f"{version} has no content of type {tag!r}")
        members = to_members(value if value.__class__ is cls else checked(value, cls, cls.__name__))
        return members if tag is None else {"type": tag, **members}

    return unstructure


def _has(version: str, field: Field) -> bool:
    return field.name != EXTRA and at_least(version, field.metadata.get("since", ALL_VERSIONS[0]))
