"""Texts into values: one spelling for each kind of value, and nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NewType, Optional
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import MODERN, Peer, refused, speaking

from mcp_sansio import Catalogue, LocalProtocolError, PromptRequested


class Mood(Enum):
    CALM = "calm"
    LOUD = 2
    ODD = (1, 2)
    calm = "LOUD"


class Level(IntEnum):
    LOW = 1


class Empty(Enum):
    pass


class Nested(Enum):
    INNER = Level.LOW


Size = NewType("Size", int)


def serving(annotation: Any) -> Peer:
    """A peer of a server with one prompt, whose argument x is annotated so."""

    def prompt(x: Any) -> str:
        return repr(x)

    prompt.__annotations__ = {"x": annotation}
    made = Catalogue()
    made.prompt(prompt)
    return speaking(MODERN, made)


def converted(annotation: Any, text: str) -> Any:
    peer = serving(annotation)
    peer.say_modern(1, "prompts/get", {"name": "prompt", "arguments": {"x": text}})
    (asked,) = peer.of(PromptRequested)
    assert asked.arguments == {"x": text}
    assert asked.call() == repr(asked.values["x"])
    return asked.values["x"]


GOOD: list[tuple[Any, str, Any]] = [
    (str, "", ""),
    (str, " 5 ", " 5 "),
    (Any, "a", "a"),
    (int, "-007", -7),
    (Size, "5", 5),
    (float, "2", 2.0),
    (float, "-2.5e3", -2500.0),
    (Decimal, "2.50", Decimal("2.50")),
    (bool, "True", True),
    (bool, "false", False),
    (date, "2026-07-28", date(2026, 7, 28)),
    (datetime, "2026-07-28T09:30:00Z", datetime(2026, 7, 28, 9, 30, tzinfo=UTC)),
    (datetime, "2026-07-28 09:30", datetime(2026, 7, 28, 9, 30)),  # noqa: DTZ001  # as it was written
    (time, "09:30:01.5", time(9, 30, 1, 500_000)),
    (UUID, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", UUID(int=0x6BA7B8109DAD11D180B400C04FD430C8)),
    (Mood, "calm", Mood.CALM),
    (Mood, "CALM", Mood.CALM),
    (Mood, "2", Mood.LOUD),
    (Mood, "LOUD", Mood.calm),
    (Mood, "ODD", Mood.ODD),
    (Level, "1", Level.LOW),
    (Nested, "INNER", Nested.INNER),
    (Literal["a", 1, True, None, Mood.LOUD], "1", 1),  # noqa: PYI061
    (Literal["a", True], "true", True),
    (Literal[Mood.LOUD], "2", Mood.LOUD),
    (Optional[int], "5", 5),  # noqa: UP045
    (Annotated[int | None, "how many"], "5", 5),
]


@pytest.mark.parametrize(("annotation", "text", "value"), GOOD, ids=str)
def test_a_text_becomes_a_value(annotation: Any, text: str, value: Any) -> None:
    found = converted(annotation, text)
    assert (found, type(found)) == (value, type(value))


BAD: list[tuple[Any, str]] = [
    *((int, text) for text in ("", " 5", "5 ", "1_000", "+5", "0x5", "5.0", "٥", "5\n", "9" * 641)),  # noqa: RUF001
    *((float, text) for text in ("", "nan", "Infinity", "1e999", ".5", "5.", "1_0", "1e9999")),
    *((Decimal, text) for text in ("", "1e5", "NaN", "sNaN")),
    *((bool, text) for text in ("", "1", "yes", "t", "trueſ")),  # noqa: RUF001
    *((date, text) for text in ("", "20260728", "2026-W01-1", "2026-02-30", "0000-01-01")),
    *((datetime, text) for text in ("", "2026-07-28", "2026-07-28T25:00")),
    *((time, text) for text in ("9:30", "09", "T09:30")),
    *(
        (UUID, text)
        for text in ("", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "6ba7b8109dad11d180b400c04fd430c8")
    ),
    *((Mood, text) for text in ("", "Calm", "(1, 2)")),
    (Literal["a", None], "None"),  # noqa: PYI061
    (Optional[int], ""),  # noqa: UP045
]


@pytest.mark.parametrize(("annotation", "text"), BAD, ids=lambda value: repr(value)[:40])
def test_any_other_text_is_refused_and_the_argument_named(annotation: Any, text: str) -> None:
    reply = serving(annotation).call(1, "prompts/get", {"name": "prompt", "arguments": {"x": text}})
    refused(reply, -32602, "arguments.x", "must be")


def test_a_long_text_is_not_sent_back_and_many_values_are_not_listed() -> None:
    many = Enum("many", [f"member{number}" for number in range(100)])  # type: ignore[misc]  # made here
    for annotation in (int, many):
        params = {"name": "prompt", "arguments": {"x": "y" * 100_000}}
        assert len(str(serving(annotation).call(1, "prompts/get", params))) < 1000


@pytest.mark.parametrize(
    "annotation",
    [
        list,
        list[int],
        dict[str, int],
        int | str,
        bytes,
        object,
        Literal[b"a"],
        Literal[None],  # noqa: PYI061
        Empty,
        None,
        5,
        [int],
    ],
    ids=str,
)
def test_what_no_text_is_made_into_is_refused_at_once(annotation: Any) -> None:
    with pytest.raises(LocalProtocolError, match=r"prompt 'prompt': parameter 'x' is annotated with"):
        serving(annotation)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.dates())
def test_what_is_written_plainly_comes_back(value: Any) -> None:
    assert converted(type(value), str(value)) == value


@given(st.sampled_from([int, float, bool, Decimal, date, datetime, time, UUID, Mood]), st.text())
def test_any_text_is_a_value_or_refused(kind: Any, text: str) -> None:
    peer = serving(kind)
    peer.say_modern(1, "prompts/get", {"name": "prompt", "arguments": {"x": text}})
    found = peer.of(PromptRequested)
    if found:
        assert isinstance(found[0].values["x"], kind)
    else:
        refused(peer.sent()[0], -32602, "arguments.x")
