"""Looking into decoded JSON that may have any shape."""

from __future__ import annotations

from typing import Any, TypeGuard

from ._json import RequestId, decode

MAX_QUOTED = 100


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a decoded value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a decoded value is a JSON array."""
    return isinstance(value, list)


def is_id(value: object) -> TypeGuard[RequestId]:
    """Whether a decoded value can be a request id: `bool` and null cannot."""
    return type(value) in (int, str)


def member(value: object, name: str) -> Any:
    """A member of an object; None if it is absent or null, or there is no object."""
    return value.get(name) if is_object(value) else None


def text(value: object) -> str | None:
    """A string, or None for anything else."""
    return value if isinstance(value, str) else None


def shown(value: object) -> str:
    """A value of the peer's as an error message quotes it: not at any length."""
    quoted = repr(value)
    return quoted if len(quoted) <= MAX_QUOTED else f"{quoted[:MAX_QUOTED]}…"


def params_of(raw: bytes | None) -> dict[str, Any]:
    """The params of a message; `parse` has seen that they are an object. Raises `InvalidMessage`."""
    return {} if raw is None else decode(raw)
