"""The state of a multi round-trip, which travels through the client instead of staying here.

"Servers SHOULD include the authenticated principal, a short expiry, and an identifier for the originating
request, and verify each on receipt" (patterns/mrtr): principal, method, name and arguments are bound into
the seal, the expiry is inside. What was sealed can be read by the client, and be used again until it
expires; an application that must prevent that keeps a record of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from . import _json as json
from ._errors import InvalidMessage
from ._sealing import Keys, seal, unseal


class StateSeal:
    """Seals and opens request states."""

    def __init__(self, keys: Keys, lifetime: float, unix_offset: float) -> None:
        self._keys = keys
        self._lifetime = lifetime
        self._offset = unix_offset

    def seal(
        self,
        principal: str | None,
        method: str,
        name: str,
        arguments: Mapping[str, str],
        state: Any,
        now: float,
    ) -> str:
        """A token for `state`; `LocalProtocolError` if that is no JSON value."""
        payload = json.encode({"expires": now + self._offset + self._lifetime, "state": state})
        return seal(self._keys, "state", _binding(principal, method, name, arguments), payload)

    def open(
        self,
        principal: str | None,
        method: str,
        name: str,
        arguments: Mapping[str, str],
        token: object,
        now: float,
    ) -> tuple[Any] | None:
        """The state in a tuple; None if the token is not ours, not for this request, or too old."""
        if not isinstance(token, str):
            return None
        payload = unseal(self._keys, "state", _binding(principal, method, name, arguments), token)
        if payload is None:
            return None
        try:
            content = json.decode(payload)
        except InvalidMessage:
            return None
        return (content["state"],) if now + self._offset < content["expires"] else None


def _binding(principal: str | None, method: str, name: str, arguments: Mapping[str, str]) -> tuple[str, ...]:
    digest = hashlib.sha256(json.encode(dict(sorted(arguments.items())))).hexdigest()
    who = () if principal is None else (principal,)
    return (method, name, digest, *who)
