"""What a server says of itself: the answers to `server/discover` and `initialize`, read.

Capabilities decide what happens, so they must be right; what is there to be shown may have any shape. An
outcome that is no such answer is told in words, since it may be what a failed negotiation has to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ._calls import Outcome, Reply
from ._errors import Failure, HttpFailed, InvalidMessage, InvalidReply, Lost, RpcError
from ._meta import SERVER_INFO
from ._plain import is_array, is_object, member, text
from ._structure import lifetime, structure_or_none
from ._types import Implementation


@attrs.frozen
class Welcome:
    """What a server says of itself; `ttl` is for how many seconds that may be relied on."""

    versions: tuple[str, ...]
    capabilities: Mapping[str, Any]
    server_info: Implementation | None
    instructions: str | None
    ttl: float = 0.0


def read_discover(outcome: Outcome) -> Welcome:
    """The answer to `server/discover`; `InvalidMessage` if it is none."""
    result = _result(outcome)
    versions = texts(result.get("supportedVersions"))
    if versions is None:
        raise InvalidMessage("expected an array", "$.supportedVersions")
    return _welcome(versions, result, member(result.get("_meta"), SERVER_INFO))


def read_initialize(outcome: Outcome) -> Welcome:
    """The answer to `initialize`; `InvalidMessage` if it is none."""
    result = _result(outcome)
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise InvalidMessage("expected a string", "$.protocolVersion")
    return _welcome((version,), result, result.get("serverInfo"))


def _welcome(versions: tuple[str, ...], result: Mapping[str, Any], info: Any) -> Welcome:
    capabilities = result.get("capabilities")
    if not is_object(capabilities):
        raise InvalidMessage("expected an object", "$.capabilities")
    server_info = structure_or_none(Implementation, info)
    instructions = text(result.get("instructions"))
    return Welcome(versions, capabilities, server_info, instructions, lifetime(result.get("ttlMs")))


def _result(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Reply):
        return outcome.decode()
    raise InvalidMessage(described(outcome))


def described(failure: Failure) -> str:
    """Why there is no answer, for people."""
    match failure:
        case RpcError():
            return f"error {failure.code}: {failure.message}"
        case HttpFailed():
            return f"HTTP {failure.status} {failure.reason}".rstrip()
        case InvalidReply() | Lost():
            return failure.reason
        case _:
            return "no answer in time"


def texts(value: object) -> tuple[str, ...] | None:
    """The strings in an array; None for what is none."""
    return tuple(v for v in value if isinstance(v, str)) if is_array(value) else None
