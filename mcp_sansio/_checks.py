"""What the caller may say: checks that raise `LocalProtocolError` before anything has happened.

Types are exact, for the caller may be untyped: `True` is no error code and no number of seconds. Every time
is finite; where there may be none, None says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs

from ._errors import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    LocalProtocolError,
    RpcError,
)

_DEFINED = (HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION)
_RETIRED = (-32002, -32042)


def from_(least: float) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    """An attrs validator for a finite number of at least `least`: whole where the field is an `int`, and None
    where the field may be that.
    """

    def check(_: object, field: attrs.Attribute[Any], value: Any) -> None:
        kind = str(field.type)
        numbers = (int,) if kind == "int" else (int, float)
        if type(value) in numbers and least <= value < math.inf:
            return
        if value is not None or not kind.endswith("None"):
            raise LocalProtocolError(f"{field.name} must be finite and at least {least}, not {value!r}")

    return check


def check_error(error: RpcError) -> None:
    """Raise `LocalProtocolError` for what is no error, and for a code that must not leave us:
    "Implementations MUST NOT emit any code from -32020 to -32099 that is not defined by this specification",
    nor -32002 and -32042.
    """
    if type(error.code) is not int or type(error.message) is not str:
        raise LocalProtocolError(f"an error has a number and a text, not {error.code!r}, {error.message!r}")
    reserved = -32099 <= error.code <= -32020 and error.code not in _DEFINED
    if reserved or error.code in _RETIRED:
        raise LocalProtocolError(f"the error code {error.code} is reserved")
