"""Asking a person on a terminal: a real one, where a test types and reads what is shown."""

import asyncio
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_sansio import PromptArgument
from mcp_sansio_adapters.cli import asking
from mcp_sansio_adapters.cli.explain import Exit
from mcp_sansio_adapters.cli.forms import Field, answer, fields_of

GET = (sys.executable, "-m", "mcp_sansio_adapters", "get", "--json")
SERVERS = (sys.executable, str(Path(__file__).with_name("terminal_servers.py")))
PATIENCE = 20.0
CTRL_C, CTRL_D, CTRL_U, ENTER, TAB = "\x03", "\x04", "\x15", "\r", "\t"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """The command `get` on a terminal, its stdout a pipe; its server is that of `terminal_servers`."""

    def __init__(self, arguments: Sequence[str], server: Sequence[str]) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._child = subprocess.Popen(
            (*GET, *arguments, "--", *SERVERS, *server),
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

    def got(self) -> Any:
        """What the prompt is, which is JSON itself."""
        printed, code = self.end()
        assert code == Exit.DONE
        return json.loads(json.loads(printed)["messages"][0]["content"]["text"])

    def end(self) -> tuple[str, int]:
        """What it printed until its end, and its exit code."""
        assert self._child.stdout
        return self._child.stdout.read(), self._child.wait()

    def close(self) -> None:
        self._child.kill()
        with self._child:
            os.close(self._ours)


@contextmanager
def terminal(*arguments: str, server: Sequence[str] = ("modern",)) -> Generator[Terminal]:
    opened = Terminal(arguments, server)
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
        chosen = screen.got()
        assert chosen["drink"] == "coffee"
        assert chosen["size"] in ("coffee-cup", "coffee-pot")
        assert "milk" not in screen.raw
        assert "\x1b[2J" not in screen.raw


@pytest.mark.live
def test_what_is_given_is_not_asked_for_and_an_empty_answer_is_one() -> None:
    with terminal("order", "--arg", "size=1") as screen:
        screen.until("drink")
        screen.type(ENTER)
        assert screen.got() == {"drink": "", "size": "1"}
        assert "How much" not in screen.raw


@pytest.mark.live
@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_the_person_can_give_up(key: str) -> None:
    with terminal("order") as screen:
        screen.until("drink")
        screen.type(key)
        assert screen.end() == ("", Exit.INTERRUPTED)


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


each_era = pytest.mark.parametrize("era", ["modern", "legacy"])


def fill_in(screen: Terminal, name: str) -> dict[str, object]:
    """Fill in the form of the servers, which is there; the result."""
    screen.type(name + ENTER)
    screen.until("count (a number from 1 up to 9):")
    screen.type(ENTER)
    screen.until("hot (yes or no):")
    screen.type("y" + ENTER)
    screen.until("note (optional):")
    screen.type(ENTER)
    return {"action": "accept", "content": {"who": name, "count": 2, "hot": True}}


@pytest.mark.live
@each_era
def test_a_form_is_filled_in_field_by_field_and_what_it_forbids_is_not_taken(era: str) -> None:
    with terminal("form", server=[era]) as screen:
        screen.until("Name (whose; text of a length up to 5):")
        screen.type("toolong" + ENTER)
        screen.until("up to 5")
        screen.type(CTRL_U)
        filled = fill_in(screen, "Ada")
        assert screen.got() == filled
        assert "Tell me:" in screen.raw


@pytest.mark.live
@each_era
def test_a_form_can_be_declined(era: str) -> None:
    with terminal("form", server=[era]) as screen:
        screen.until("Name")
        screen.type(CTRL_D)
        assert screen.got() == {"action": "decline"}


@pytest.mark.live
def test_a_prompt_can_be_given_up_at_a_form() -> None:
    with terminal("form") as screen:
        screen.until("Name")
        screen.type(CTRL_C)
        assert screen.end() == ("", Exit.INTERRUPTED)


@pytest.mark.live
@pytest.mark.parametrize("prompt", ["form", "forms"])
def test_a_legacy_server_hears_that_the_prompt_was_given_up(prompt: str, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    with terminal(prompt, server=["legacy", str(heard)]) as screen:
        screen.until("Name")
        screen.type(CTRL_C)
        assert screen.end() == ("", Exit.INTERRUPTED)
        if prompt == "form":
            assert json.loads(heard.read_text()) == [{"action": "cancel"}]
        assert screen.raw.count("Tell me:") == 1


@pytest.mark.live
def test_forms_of_one_moment_are_asked_for_one_after_the_other() -> None:
    with terminal("forms", server=["legacy"]) as screen:
        screen.until("Name")
        first = fill_in(screen, "Ada")
        screen.until("Name")
        second = fill_in(screen, "Bob")
        assert screen.got() == [first, second]


@pytest.mark.live
def test_a_form_that_no_prompt_needs_is_dismissed_unseen() -> None:
    """The server asks before it lists, and has a prompt of the name of what it is told."""
    with terminal("cancel", server=["legacy"]) as screen:
        assert screen.got() == []
        assert "Name" not in screen.raw


@pytest.mark.live
@pytest.mark.slow
@each_era
def test_who_thinks_is_not_hurried(era: str) -> None:
    with terminal("form", "--timeout", "3", server=[era]) as screen:
        screen.until("Name")
        time.sleep(3.5)
        filled = fill_in(screen, "Ada")
        assert screen.got() == filled


@pytest.mark.live
@pytest.mark.slow
def test_a_server_that_does_not_answer_is_not_waited_for_in_the_presence_of_a_person_either() -> None:
    with terminal("never", "--timeout", "3", server=["legacy"]) as screen:
        screen.until("no answer within 3 s")
        assert screen.end() == ("", Exit.NO_SERVER)


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
