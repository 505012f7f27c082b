"""Seals: tokens that a server hands out and recognises when they come back.

Cursors and `requestState` travel through clients that may keep, change or swap them, and the server
remembers none. A seal is the payload with an HMAC-SHA256 over it, its purpose and whatever it is
bound to (catalogue, principal, method …). Purpose and binding are not in the token: who unseals must
know them, so a token that is good in one place is nothing in another. The payload is *readable* by
everybody who holds the token; put no secrets into it.

    token = base64url( version | key id size | key id | payload | HMAC-SHA256 )
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable, Sequence
from typing import final

from ._errors import LocalProtocolError

MAX_TOKEN_SIZE = 65536
"""The longest token, in characters, that is made or looked at."""

MIN_SECRET_SIZE = 16
_VERSION = b"\x01"
_MAC_SIZE = 32


@final
class Keys:
    """Secrets by key id. The first one signs, all verify, so that secrets can be rotated.

    Each is a pair of key id (1 to 255 bytes of UTF-8, sent in the clear) and secret (at least 16
    bytes, best 32 random ones). Raises `LocalProtocolError` for any other, and for an id that occurs
    twice.
    """

    __slots__ = ("_current", "_secrets")

    def __init__(self, current: tuple[str, bytes], *older: tuple[str, bytes]) -> None:
        self._secrets: dict[bytes, bytes] = {}
        for name, secret in (current, *older):
            key_id = _utf8(name)
            if not 1 <= len(key_id) <= 255:
                raise LocalProtocolError("a key id must have 1 to 255 bytes")
            if len(secret) < MIN_SECRET_SIZE:
                raise LocalProtocolError(f"the secret of key {name!r} has fewer than {MIN_SECRET_SIZE} bytes")
            if key_id in self._secrets:
                raise LocalProtocolError(f"key id {name!r} occurs twice")
            self._secrets[key_id] = secret
        self._current = (_utf8(current[0]), current[1])

    def __repr__(self) -> str:
        ids = ", ".join(repr(key_id.decode("utf-8", "surrogatepass")) for key_id in self._secrets)
        return f"<Keys {ids}>"

    @property
    def current(self) -> tuple[bytes, bytes]:
        """Id and secret of the key that signs."""
        return self._current

    def secret(self, key_id: bytes) -> bytes | None:
        """The secret of a key, or None if there is no such key (any more)."""
        return self._secrets.get(key_id)


def seal(keys: Keys, purpose: str, binding: Sequence[str], payload: bytes) -> str:
    """Make a token that only `unseal` with the same purpose and binding accepts.

    The same arguments make the same token. Raises `LocalProtocolError` if the token would be longer
    than `MAX_TOKEN_SIZE`.
    """
    key_id, secret = keys.current
    mac = _mac(secret, key_id, purpose, binding, payload)
    token = _base64(_VERSION + bytes((len(key_id),)) + key_id + payload + mac)
    if len(token) > MAX_TOKEN_SIZE:
        raise LocalProtocolError(f"a payload of {len(payload)} bytes is too long to be sealed")
    return token


def unseal(keys: Keys, purpose: str, binding: Sequence[str], token: str) -> bytes | None:
    """The payload of a token that was sealed with one of `keys` for this purpose and binding.

    Anything else is None, whatever is wrong with it. Never raises.
    """
    raw = _unbase64(token)
    if raw is None or raw[:1] != _VERSION or len(raw) < 2:
        return None
    start = 2 + raw[1]
    key_id, payload, mac = raw[2:start], raw[start:-_MAC_SIZE], raw[-_MAC_SIZE:]
    secret = keys.secret(key_id)
    if secret is None or len(raw) < start + _MAC_SIZE:
        return None
    good = hmac.compare_digest(mac, _mac(secret, key_id, purpose, binding, payload))
    return payload if good else None


def _mac(secret: bytes, key_id: bytes, purpose: str, binding: Sequence[str], payload: bytes) -> bytes:
    parts = (_VERSION, key_id, _utf8(purpose), *map(_utf8, binding), payload)
    return hmac.digest(secret, _unambiguous(parts), "sha256")


def _unambiguous(parts: Iterable[bytes]) -> bytes:
    """Every part with its length in front, so that no two sequences come out alike."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # total: a binding can be any string


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _unbase64(token: str) -> bytes | None:
    """Strict: the decoder would overlook foreign characters and set bits past the end."""
    if len(token) > MAX_TOKEN_SIZE:
        return None
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        return None
    return raw if _base64(raw) == token else None
