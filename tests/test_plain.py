"""Looking into decoded JSON: every JSON type, wherever another one is expected."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_sansio import InvalidMessage
from mcp_sansio._plain import is_array, is_id, is_object, member, params_of, shown, text

VALUES: tuple[Any, ...] = (None, True, False, 0, 1.5, "", "text", [], [1], {}, {"a": None})


@pytest.mark.parametrize("value", VALUES)
def test_each_type_is_told_apart_exactly(value: Any) -> None:
    assert is_object(value) is (type(value) is dict)
    assert is_array(value) is (type(value) is list)
    assert is_id(value) is (type(value) in (int, str))
    assert text(value) == (value if type(value) is str else None)


@pytest.mark.parametrize("value", VALUES)
def test_a_member_of_anything_that_lacks_it_is_none(value: Any) -> None:
    assert member(value, "a") is None


def test_a_member_is_what_the_object_holds() -> None:
    assert member({"a": [1]}, "a") == [1]
    assert member({"a": 0}, "a") == 0


def test_absent_params_are_an_empty_object_of_ones_own() -> None:
    first, second = params_of(None), params_of(None)
    first["a"] = 1
    assert second == {}


def test_params_are_decoded_strictly() -> None:
    assert params_of(b'{"a":9007199254740993}') == {"a": 9007199254740993}
    with pytest.raises(InvalidMessage):
        params_of(b'{"a":"\\ud83d"}')


def test_what_is_quoted_is_not_quoted_at_any_length() -> None:
    assert shown("name") == "'name'"
    assert len(shown("x" * 1_000_000)) == 101
