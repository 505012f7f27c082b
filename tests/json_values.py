"""JSON of any kind and depth, for properties that hold whatever it is."""

from __future__ import annotations

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def nested(depth: int) -> bytes:
    """`depth` levels, arrays and objects in turn."""
    openings = [b"[", b'{"a":'] * (depth // 2 + 1)
    closings = [b"]", b"}"] * (depth // 2 + 1)
    return b"".join(openings[:depth]) + b"1" + b"".join(reversed(closings[:depth]))


def deep(levels: int) -> bytes:
    """Arrays in objects."""
    half, odd = divmod(levels, 2)
    return b'{"k":[' * half + b"[" * odd + b"]" * odd + b"]}" * half
