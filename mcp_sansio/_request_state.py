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

import attrs

from ._json import decode, encode
from ._sealing import Keys, seal, unseal


@attrs.frozen
class Origin:
    """The request that a state belongs to."""

    principal: str | None
    method: str
    name: str
    arguments: Mapping[str, str]

    def binding(self) -> tuple[str, ...]:
        """What the seal is bound to."""
        digest = hashlib.sha256(encode(dict(sorted(self.arguments.items())))).hexdigest()
        who = () if self.principal is None else (self.principal,)
        return (self.method, self.name, digest, *who)


class StateSeal:
    """Seals and opens request states of the catalogue `label`. `unix_offset` added to `now` is Unix time."""

    def __init__(self, keys: Keys, label: str, lifetime: float, unix_offset: float) -> None:
        self._keys = keys
        self._label = label
        self._lifetime = lifetime
        self._offset = unix_offset

    def seal(self, origin: Origin, state: Any, now: float) -> str:
        """A token for `state`; `LocalProtocolError` if that is no JSON value."""
        payload = encode({"expires": now + self._offset + self._lifetime, "state": state})
        return seal(self._keys, "state", (self._label, *origin.binding()), payload)

    def open(self, origin: Origin, token: object, now: float) -> tuple[Any] | None:
        """The state in a tuple; None if the token is not ours, not for this request, or too old."""
        binding = (self._label, *origin.binding())
        payload = unseal(self._keys, "state", binding, token) if isinstance(token, str) else None
        if payload is None:
            return None
        content = decode(payload)
        return (content["state"],) if now + self._offset < content["expires"] else None
