"""Seals: what was sealed comes back in its own place, and nothing else does."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_sansio._errors import LocalProtocolError
from mcp_sansio._sealing import MAX_TOKEN_SIZE, Keys, seal, unseal

OLD = ("2025", b"old secret of enough bytes")
NEW = ("2026", b"new secret of enough bytes")
KEYS = Keys(NEW)

TEXT = st.text(st.characters(), max_size=5)  # lone surrogates too
BINDING = st.lists(TEXT, max_size=4)


def raw_of(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def token_of(raw: bytes | bytearray) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@given(TEXT, BINDING, st.binary(max_size=100))
def test_what_was_sealed_comes_back(purpose: str, binding: list[str], payload: bytes) -> None:
    token = seal(KEYS, purpose, binding, payload)
    assert unseal(KEYS, purpose, binding, token) == payload


def test_a_token_is_safe_in_urls_and_json() -> None:
    for payload in (b"", b"\xff" * 50, b"\x00", b"ab"):
        token = seal(KEYS, "cursor", (), payload)
        assert token.isascii()
        assert token.replace("-", "a").replace("_", "a").isalnum()


def test_sealing_is_deterministic() -> None:
    assert seal(KEYS, "p", ("a",), b"x") == seal(Keys(NEW, OLD), "p", ("a",), b"x")


def test_the_payload_is_readable_and_purpose_and_binding_are_not_in_the_token() -> None:
    raw = raw_of(seal(KEYS, "the purpose", ["the principal"], b"the payload"))
    assert b"the payload" in raw
    assert b"2026" in raw
    assert b"the purpose" not in raw
    assert b"the principal" not in raw


def test_the_format_is_the_documented_one_for_tokens_outlive_releases() -> None:
    parts = (b"\x01", b"2026", b"cursor", b"catalogue", "é".encode(), b"payload")
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    mac = hmac.new(NEW[1], message, hashlib.sha256).digest()
    token = token_of(b"\x01\x042026payload" + mac)
    assert seal(KEYS, "cursor", ["catalogue", "é"], b"payload") == token


@pytest.mark.parametrize("payload", [b"", b"p", b"pa", b"pay"])
def test_any_bit_flipped_anywhere_refuses(payload: bytes) -> None:
    raw = raw_of(seal(KEYS, "p", ["b"], payload))
    for position in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[position // 8] ^= 1 << position % 8
        assert unseal(KEYS, "p", ["b"], token_of(changed)) is None


@pytest.mark.parametrize("payload", [b"", b"p", b"pa", b"pay"])
def test_any_other_character_anywhere_refuses(payload: bytes) -> None:
    """Also where base64 has bits to spare, and with characters that decoders overlook."""
    token = seal(KEYS, "p", ["b"], payload)
    for position in range(len(token)):
        for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= \n\0é":
            changed = token[:position] + character + token[position + 1 :]
            assert unseal(KEYS, "p", ["b"], changed) == (payload if changed == token else None)


@pytest.mark.parametrize("payload", [b"", b"p", b"pa", b"pay"])
def test_any_cut_or_addition_refuses(payload: bytes) -> None:
    token = seal(KEYS, "p", ["b"], payload)
    for size in range(len(token)):
        assert unseal(KEYS, "p", ["b"], token[:size]) is None
    for more in ("A", "AA", "AAAA", "=", "==", "\n", " "):
        assert unseal(KEYS, "p", ["b"], token + more) is None
        assert unseal(KEYS, "p", ["b"], more + token) is None


def test_header_and_seal_must_not_share_bytes() -> None:
    """Where the first byte of the seal happens to be the last of the key id, either could be left out."""
    overlapping = 0
    for number in range(2000):
        raw = raw_of(seal(KEYS, "p", [str(number)], b""))
        if raw[6] == raw[5]:
            overlapping += 1
            assert unseal(KEYS, "p", [str(number)], token_of(raw[:6] + raw[7:])) is None
    assert overlapping


@given(TEXT, BINDING, TEXT, BINDING, st.binary(max_size=5))
@example("p", ["ab", "c"], "p", ["a", "bc"], b"")
@example("p", ["a"], "p", [], b"")
@example("p", [], "p", [""], b"")
@example("pa", ["b"], "p", ["ab"], b"")
@example("p", ["a", "b"], "p", ["b", "a"], b"")
def test_another_purpose_or_binding_refuses(
    purpose: str, binding: list[str], other_purpose: str, other_binding: list[str], payload: bytes
) -> None:
    token = seal(KEYS, purpose, binding, payload)
    same = (purpose, binding) == (other_purpose, other_binding)
    assert unseal(KEYS, other_purpose, other_binding, token) == (payload if same else None)


@given(st.text(max_size=200) | st.binary(max_size=200).map(token_of))
@example("")
@example("\ud800")
@example("AQ")
@example("AQQyMDI2")
def test_foreign_text_refuses_and_never_raises(token: str) -> None:
    assert unseal(KEYS, "p", [], token) is None


def test_the_first_key_signs_and_all_verify() -> None:
    old = seal(Keys(OLD), "p", [], b"x")
    new = seal(Keys(NEW, OLD), "p", [], b"x")
    assert unseal(Keys(NEW, OLD), "p", [], old) == b"x"
    assert unseal(Keys(NEW), "p", [], new) == b"x"
    assert unseal(Keys(OLD, NEW), "p", [], new) == b"x"


def test_a_retired_key_refuses_and_so_does_another_secret_of_the_same_id() -> None:
    token = seal(Keys(OLD), "p", [], b"x")
    assert unseal(Keys(NEW), "p", [], token) is None
    assert unseal(Keys(("2025", NEW[1])), "p", [], token) is None


def test_a_key_id_of_any_size_leaves_the_payload_alone() -> None:
    for key_id in ("a", "é" * 127, "z" * 255):
        keys = Keys((key_id, NEW[1]))
        assert unseal(keys, "p", [], seal(keys, "p", [], b"payload")) == b"payload"


def test_tokens_have_a_size_limit_on_both_sides() -> None:
    largest = MAX_TOKEN_SIZE * 3 // 4 - len(b"\x01\x042026") - 32
    token = seal(KEYS, "p", [], bytes(largest))
    assert len(token) == MAX_TOKEN_SIZE
    assert unseal(KEYS, "p", [], token) == bytes(largest)
    with pytest.raises(LocalProtocolError, match="too long"):
        seal(KEYS, "p", [], bytes(largest + 1))
    raw = b"\x01\x042026" + bytes(largest + 1)
    parts = (b"\x01", b"2026", b"p", bytes(largest + 1))
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    assert unseal(KEYS, "p", [], token_of(raw + hmac.digest(NEW[1], message, "sha256"))) is None


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ([("", bytes(16))], "1 to 255"),
        ([("é" * 128, bytes(16))], "1 to 255"),
        ([("a", bytes(15))], "fewer than 16"),
        ([("a", bytes(16)), ("b", b"")], "fewer than 16"),
        ([("a", bytes(16)), ("a", bytes(16))], "twice"),
    ],
)
def test_unusable_keys_are_refused(keys: list[tuple[str, bytes]], match: str) -> None:
    with pytest.raises(LocalProtocolError, match=match):
        Keys(*keys)


def test_secrets_do_not_show() -> None:
    assert repr(Keys(NEW, OLD)) == "<Keys '2026', '2025'>"
