"""Input requests of a multi round-trip: what may be asked of a client, and what it needs for that.

The same question has to be answered at both ends: the server before it asks ("the server MUST NOT
include any request that the client has not declared support for"), the client before it shows
anything to a person. So the rule is here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._types import InputRequest

INPUT_METHODS = ("prompts/get", "resources/read", "tools/call")
"""The requests that may be answered by `input_required` (patterns/mrtr, "Supported Requests")."""

_CAPABILITY = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


def unknown_requests(requests: Mapping[str, InputRequest]) -> list[str]:
    """The methods among `requests` that no client can be asked for."""
    return [request.method for request in requests.values() if request.method not in _CAPABILITY]


def missing_capabilities(
    requests: Mapping[str, InputRequest], declared: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The client capabilities that `requests` need and `declared` lacks, as the -32021 error lists them."""
    missing: dict[str, dict[str, Any]] = {}
    for request in requests.values():
        capability = _CAPABILITY.get(request.method)
        if capability is None:
            continue
        part = _part(capability, request.params)
        if not _declared(declared, capability, part):
            missing.setdefault(capability, {}).update({} if part is None else {part: {}})
    return missing


def _part(capability: str, params: Mapping[str, Any]) -> str | None:
    """What a request needs of its capability: a mode of elicitation, or tools in sampling."""
    if capability == "elicitation":
        mode = params.get("mode")
        return "form" if mode is None else str(mode)
    uses_tools = params.get("tools") is not None or params.get("toolChoice") is not None
    return "tools" if capability == "sampling" and uses_tools else None


def _declared(declared: Mapping[str, Any], capability: str, part: str | None) -> bool:
    """An elicitation capability without modes means "form" (schema, `ClientCapabilities`)."""
    value = declared.get(capability)
    if not isinstance(value, Mapping):
        return False
    return part is None or part in value or (part == "form" and "url" not in value)
