"""What the caller may say: numbers of every configuration, and errors that may leave."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import attrs
import pytest
from pair import CLIENT, KEYS, SERVER

from mcp_sansio import (
    ClientConfig,
    HttpServerConfig,
    Limits,
    ListingConfig,
    LocalProtocolError,
    PromptServerConfig,
    RpcError,
    ServerConfig,
)
from mcp_sansio._checks import check_error, from_

CONFIGURATIONS: dict[type[Any], Callable[..., Any]] = {
    Limits: Limits,
    ListingConfig: ListingConfig,
    HttpServerConfig: HttpServerConfig,
    ClientConfig: lambda **config: ClientConfig(info=CLIENT, **config),
    ServerConfig: lambda **config: ServerConfig(info=SERVER, **config),
    PromptServerConfig: lambda **config: PromptServerConfig(keys=KEYS, **config),
}


class Number(NamedTuple):
    """A field of a configuration that is a number."""

    make: Callable[..., Any]
    name: str
    kind: str


NUMBERS = [
    Number(make, field.name, str(field.type))
    for cls, make in CONFIGURATIONS.items()
    for field in attrs.fields(cls)
    if field.validator is not None and str(field.type) in ("int", "float", "int | None", "float | None")
]
of_every_number = pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)


def test_there_are_numbers_of_every_kind() -> None:
    assert {number.kind for number in NUMBERS} == {"int", "float", "float | None"}
    assert len(NUMBERS) > 30


@of_every_number
@pytest.mark.parametrize("value", [-1, math.inf, -math.inf, math.nan, True, "1", b"1", [], 1j])
def test_a_number_is_finite_and_not_negative(number: Number, value: object) -> None:
    with pytest.raises(LocalProtocolError, match=f"{number.name} must be finite and at least [01], not"):
        number.make(**{number.name: value})


@of_every_number
def test_what_is_counted_is_whole_and_what_may_be_absent_says_so(number: Number) -> None:
    for value, fits in ((2, True), (2.0, number.kind != "int"), (None, number.kind.endswith("None"))):
        if fits:
            assert getattr(number.make(**{number.name: value}), number.name) == value
        else:
            with pytest.raises(LocalProtocolError, match=number.name):
                number.make(**{number.name: value})


def test_the_least_number_is_one() -> None:
    @attrs.frozen
    class Config:
        number: float = attrs.field(validator=from_(0.5))

    assert Config(0.5).number == 0.5
    assert Config(10**400).number == 10**400
    with pytest.raises(LocalProtocolError, match=r"number must be finite and at least 0.5, not 0.49"):
        Config(0.49)


@pytest.mark.parametrize("code", [-32020, -32021, -32022, -32019, -32100, -32603, 0, 7, 10**20])
def test_an_error_of_a_free_or_defined_code_may_leave(code: int) -> None:
    check_error(RpcError(code, "no"))


@pytest.mark.parametrize("code", [-32023, -32099, -32002, -32042, True, 1.0, None, "1"])
def test_a_code_that_is_reserved_or_none_must_not_leave(code: Any) -> None:
    with pytest.raises(LocalProtocolError):
        check_error(RpcError(code, "no"))


@pytest.mark.parametrize("message", [None, 5, b"no"])
def test_the_message_of_an_error_is_text(message: Any) -> None:
    with pytest.raises(LocalProtocolError, match="a number and a text"):
        check_error(RpcError(1, message))
