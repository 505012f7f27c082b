"""Asking a person on a terminal: a real one, where a test types and reads what is shown."""

import asyncio
import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_sansio import PromptArgument
from mcp_sansio_adapters.cli import asking
from mcp_sansio_adapters.cli.forms import Field, answer, fields_of

CHILD = (sys.executable, str(Path(__file__).with_name("terminal_child.py")))
PATIENCE = 20.0
CTRL_C, CTRL_D, CTRL_U, ENTER, TAB = "\x03", "\x04", "\x15", "\r", "\t"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A child on a terminal, whose stdout is a pipe."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._child = subprocess.Popen(
            (*CHILD, *arguments),
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        os.close(theirs)
        self.raw = ""

    def until(self, text: str) -> None:
        """Wait until this has been shown since the last wait."""
        seen = ""
        while text not in CONTROL.sub("", seen):
            ready, _, _ = select.select([self._ours], [], [], PATIENCE)
            assert ready, f"{text!r} is not shown: {seen!r}"
            seen += os.read(self._ours, 65536).decode("utf-8", "replace")
        self.raw += seen

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def printed(self) -> str:
        """What it printed until its end."""
        assert self._child.stdout
        return self._child.stdout.read().strip()

    def close(self) -> None:
        self._child.kill()
        with self._child:
            os.close(self._ours)


@contextmanager
def terminal(*arguments: str) -> Generator[Terminal]:
    opened = Terminal(*arguments)
    try:
        yield opened
    finally:
        opened.close()


# --- arguments ---


@pytest.mark.live
def test_what_is_required_is_asked_for_with_what_the_server_proposes_in_its_context() -> None:
    with terminal("order") as screen:
        screen.until("drink (What to drink \\x1b[2J):")
        screen.type("co")
        screen.until("cocoa")
        screen.type("ffee" + ENTER)
        screen.until("size (How much):")
        screen.type(TAB)
        screen.until("coffee-pot")
        screen.type(TAB + ENTER + ENTER)
        chosen = json.loads(screen.printed())
        assert chosen["drink"] == "coffee"
        assert chosen["size"] in ("coffee-cup", "coffee-pot")
        assert "milk" not in screen.raw
        assert "\x1b[2J" not in screen.raw


@pytest.mark.live
def test_what_is_given_is_not_asked_for_and_an_empty_answer_is_one() -> None:
    with terminal("order", "size=1") as screen:
        screen.until("drink")
        screen.type(ENTER)
        assert json.loads(screen.printed()) == {"drink": "", "size": "1"}
        assert "How much" not in screen.raw


@pytest.mark.live
@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_the_person_can_give_up(key: str) -> None:
    with terminal("order") as screen:
        screen.until("drink")
        screen.type(key)
        assert screen.printed() == "aborted"


def test_a_person_is_there_only_with_a_terminal_for_questions_and_for_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = pty.openpty()
    with (
        os.fdopen(ours, "rb", buffering=0),
        os.fdopen(theirs, "r") as tty,
        Path(os.devnull).open() as nothing,
    ):
        for stdin, stderr, can in ((tty, tty, True), (nothing, tty, False), (tty, nothing, False)):
            monkeypatch.setattr(sys, "stdin", stdin)
            monkeypatch.setattr(sys, "stderr", stderr)
            answer = asking.can_ask()
            monkeypatch.undo()
            assert answer is can


def test_a_question_is_one_line() -> None:
    assert asking.question(PromptArgument("a\nb")) == "a b: "
    assert asking.question(PromptArgument("a", title="T", description="D\x07")) == "a (D\\x07): "


# --- forms ---


@pytest.mark.live
def test_a_form_is_filled_in_field_by_field_and_what_it_forbids_is_not_taken() -> None:
    with terminal("form") as screen:
        screen.until("Name (whose; text of a length up to 5):")
        screen.type("toolong" + ENTER)
        screen.until("up to 5")
        screen.type(CTRL_U + "Ada" + ENTER)
        screen.until("count (a number from 1 up to 9):")
        screen.type(ENTER)
        screen.until("hot (yes or no):")
        screen.type("y" + ENTER)
        screen.until("note (optional):")
        screen.type(ENTER)
        content = {"who": "Ada", "count": 2, "hot": True}
        assert json.loads(screen.printed()) == {"action": "accept", "content": content}
        assert "Tell me:" in screen.raw


@pytest.mark.live
@pytest.mark.parametrize(("key", "printed"), [(CTRL_D, '{"action": "decline"}'), (CTRL_C, "aborted")])
def test_a_form_can_be_declined_and_the_prompt_given_up(key: str, printed: str) -> None:
    with terminal("form") as screen:
        screen.until("Name")
        screen.type(key)
        assert screen.printed() == printed


CHOICE = {"type": "string", "enum": ["s", "l"]}
TITLED = {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]}
MANY = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2}
MANY_TITLED = {"type": "array", "items": {"anyOf": [{"const": "a"}, {"const": "b"}]}, "minItems": 1}


@pytest.mark.parametrize(
    ("schema", "taken", "refused"),
    [
        ({"type": "string"}, {"": "", " x ": " x "}, []),
        ({"minLength": 2, "maxLength": 3}, {"ab": "ab"}, ["a", "abcd"]),
        (CHOICE, {"s": "s"}, ["S", "x", ""]),
        (TITLED, {"l": "l"}, ["Small"]),
        ({"type": "integer"}, {" 5 ": 5, "-1": -1, "1" * 400: int("1" * 400)}, ["", "1.5", "x", "1" * 5000]),
        ({"type": "integer", "minimum": 2, "maximum": 3}, {"2": 2, "3": 3}, ["1", "4"]),
        ({"type": "number", "minimum": 0}, {"1.5": 1.5, "2": 2.0}, ["-1", "nan", "inf", "1e999"]),
        ({"type": "number", "minimum": True, "maximum": "x"}, {"0": 0.0}, ["inf"]),
        ({"type": "boolean"}, {"Yes": True, " n ": False, "true": True}, ["", "1"]),
        (MANY, {"a": ["a"], "a, b": ["a", "b"], "": []}, ["d", "a,b,c"]),
        (MANY_TITLED, {"b,a": ["b", "a"]}, ["", "c"]),
    ],
)
def test_answers_are_values_of_the_schema(
    schema: dict[str, object], taken: dict[str, object], refused: list[str]
) -> None:
    field = Field("k", schema, required=True)
    values = {typed: field.value(typed) for typed in taken}
    assert values == taken
    assert [type(value) for value in values.values()] == [type(value) for value in taken.values()]
    assert all(field.takes(typed) for typed in taken)
    assert not any(field.takes(typed) for typed in refused)
    assert Field("k", schema, required=False).takes("")


def test_defaults_and_hints_are_shown() -> None:
    def shown(**schema: object) -> tuple[str, str]:
        field = Field("k", schema, required=False)
        return field.default, field.purpose

    assert shown(type="boolean", default=False) == ("no", "yes or no; optional")
    assert shown(type="boolean", default=True, description="D") == ("yes", "D; yes or no; optional")
    assert shown(type="number", default=1.5) == ("1.5", "a number; optional")
    assert shown(type="array", items=CHOICE, default=["s", "l", 1]) == (
        "s, l",
        "any of s, l, with commas between them; optional",
    )
    assert shown(default="d", minLength=1) == ("d", "text of a length from 1; optional")


def test_a_form_of_any_shape_is_read() -> None:
    assert fields_of({}) == []
    assert fields_of({"properties": {"a": 1, "b": {}}, "required": "b"}) == [Field("b", {}, required=False)]


def test_what_is_no_form_is_declined() -> None:
    for params in ({"mode": "url", "url": "https://x"}, {"requestedSchema": 1}, {}):
        assert asyncio.run(answer(params)) == {"action": "decline"}
