"""Every command on a real terminal, and in a pipe: what it shows, how wide, in colour or not, how it ends.

A terminal is a pair of devices, the one a command's stdin, stdout and stderr, the other the test's. It is the
command's controlling terminal, so that the key Ctrl-C does there what it does everywhere.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from live import Command, raw_server
from rich.cells import cell_len
from test_cli import MCP_SANSIO, SAMPLES, SERVE, run
from test_cli_watch import prompt_file

from mcp_sansio_adapters.cli.app import COMMANDS
from mcp_sansio_adapters.cli.explain import Exit

pytestmark = pytest.mark.live

PATIENCE = 60.0
CTRL_C = "\x03"
CTRL_Z = "\x1a"
ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\([A-Z0-9])")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[0-7]")
ON_A_TERMINAL = 'exec <"$0" >"$0" 2>&1; exec "$@"'  # whoever leads a session and opens a terminal has it


class Terminal:
    """A command on a terminal, and what it has shown so far."""

    def __init__(self, command: Sequence[str], size: tuple[int, int], environment: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(*size)
        self.shown = ""
        self._child = subprocess.Popen(
            ("/bin/sh", "-c", ON_A_TERMINAL, os.ttyname(theirs), *command),
            start_new_session=True,
            env={**_without_sizes(), "TERM": "xterm", **environment},
        )
        self._child_end: int | None = theirs  # kept until it has opened its own

    def resize(self, width: int, height: int) -> None:
        """Change the size; the command is told by a signal, as by any terminal."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, *texts: str) -> str:
        """Wait until all of these have been shown since the last wait; what has."""
        seen, end = "", time.monotonic() + PATIENCE
        while not all(text in ESCAPE.sub("", seen) for text in texts):
            data = self._read() if time.monotonic() < end else ""
            assert data, f"{texts} is not shown: {seen!r}"
            seen += data
        self.shown += seen
        return seen

    def finish(self) -> int:
        """Read to the end; the exit code."""
        while data := self._read():
            self.shown += data
        return self._child.wait(PATIENCE)

    def until_stopped(self) -> None:
        """Wait until the command has been suspended, as the shell above it would."""
        _, status = os.waitpid(self._child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"it is not stopped: {status}"

    def go_on(self) -> None:
        """Continue it."""
        self._child.send_signal(signal.SIGCONT)

    @property
    def lines(self) -> list[str]:
        """What has been shown, without escapes."""
        return ESCAPE.sub("", self.shown).splitlines()

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        self._let_go()
        os.close(self._ours)

    def _read(self) -> str:
        ready, _, _ = select.select([self._ours], [], [], PATIENCE)
        assert ready, f"nothing more is shown after {self.shown!r}"
        data = b""
        with suppress(OSError):  # nobody has the other end any more
            data = os.read(self._ours, 65536)
        self._let_go()
        return data.decode("utf-8", "replace")

    def _let_go(self) -> None:
        end, self._child_end = self._child_end, None
        if end is not None:
            os.close(end)


def _without_sizes() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}


@contextmanager
def terminal(
    *arguments: str,
    server: Sequence[str] | None = None,
    size: tuple[int, int] = (80, 24),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """The command line on a terminal."""
    command = (*MCP_SANSIO, *arguments, *(() if server is None else ("--", *server)))
    opened = Terminal(command, size, environment or {})
    try:
        yield opened
    finally:
        opened.close()


ALL: dict[str, tuple[tuple[str, ...], Command | None, str]] = {
    "list": (("list",), SERVE, "code/review"),
    "get": (("get", "rubber-duck"), SERVE, "rubber duck"),
    "complete": (("complete", "prompt-002", "tone", "c"), raw_server(), "calm"),
    "watch": (("watch", "--count", "1"), SERVE, "code/review"),
    "check": (("check", str(SAMPLES)), None, "26 prompts"),
    "inspect": (("inspect",), SERVE, "2026-07-28"),
}
"""Each command: a line of it, a server, and a word that it shows."""

PRESENT = [name for name in ALL if name in COMMANDS]
ENDS = [name for name in PRESENT if name != "watch"]


@pytest.mark.parametrize("name", ENDS)
def test_each_command_shows_on_a_terminal_what_it_does_in_a_pipe(name: str) -> None:
    arguments, server, word = ALL[name]
    with terminal(*arguments, server=server) as screen:
        assert screen.finish() == Exit.DONE
        assert word in "\n".join(screen.lines)
        assert "Traceback" not in screen.shown
    piped = run(*arguments, server=server)
    assert piped.returncode == Exit.DONE
    assert word in piped.stdout + piped.stderr
    assert "\x1b" not in piped.stdout + piped.stderr


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_there_is_no_colour_where_none_is_wanted(name: str, environment: dict[str, str]) -> None:
    arguments, server, word = ALL[name]
    with terminal(*arguments, server=server, environment=environment) as screen:
        assert screen.finish() == Exit.DONE
        assert word in "\n".join(screen.lines)
        assert not COLOUR.search(screen.shown)
        assert "TERM" not in environment or "\x1b" not in screen.shown


@pytest.mark.parametrize("name", [name for name in PRESENT if ALL[name][1] is not None])
def test_ctrl_c_ends_each_command_that_has_nothing_yet(name: str, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    silent = ("sh", "-c", f"exec 3>{fifo}; echo ready >&3; cat >&2")
    with terminal(*ALL[name][0], server=silent) as screen, fifo.open() as held_by_the_server:
        assert held_by_the_server.readline() == "ready\n"
        screen.type(CTRL_C)
        assert screen.finish() == Exit.INTERRUPTED
        assert "Traceback" not in screen.shown
        assert held_by_the_server.read() == ""


@pytest.mark.parametrize("name", [name for name in PRESENT if ALL[name][1] is not None])
def test_an_error_is_one_line_and_debug_adds_the_traceback(name: str) -> None:
    with terminal(*ALL[name][0], server=("no-such-command",), size=(300, 24)) as screen:
        assert screen.finish() == Exit.NO_SERVER
        (line,) = screen.lines
        assert line.startswith("mcp-sansio: no server, check the command after --: ")
    with terminal(*ALL[name][0], "--debug", server=("no-such-command",)) as screen:
        assert screen.finish() == Exit.NO_SERVER
        assert screen.lines[0] == "Traceback (most recent call last):"


# --- list ---


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_list_on_a_terminal_is_a_table_in_which_long_texts_are_wrapped(width: int, tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(40)]
    prompt_file(tmp_path, "one", " ".join(words))
    prompt_file(tmp_path, "grüße-模型", "short")
    with terminal("list", server=(*MCP_SANSIO, "serve", str(tmp_path)), size=(width, 24)) as screen:
        assert screen.finish() == Exit.DONE
        assert screen.lines[0].split() == ["prompt", "arguments", "what", "it", "is", "for"]
        assert max(map(cell_len, screen.lines)) <= width
        assert {*words, "grüße-模型", "short"} <= {*"\n".join(screen.lines).split()}
        assert "\x1b[1m" in screen.shown


def test_what_a_server_says_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text('---\ndescription: "a \\e]0;owned\\a [red]b :smile:"\n---\nText')
    with terminal("list", server=(*MCP_SANSIO, "serve", str(tmp_path))) as screen:
        assert screen.finish() == Exit.DONE
        assert "a \\x1b]0;owned\\x07 [red]b :smile:" in "\n".join(screen.lines)
        assert "\x1b]" not in screen.shown


# --- watch ---


def test_watch_is_a_screen_that_follows_and_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    prompt_file(tmp_path, "one", "first")
    with terminal("watch", server=(*MCP_SANSIO, "serve", str(tmp_path))) as screen:
        begun = screen.until("1 prompt ·", "none so far")
        assert begun.startswith("\x1b[?1049h")
        prompt_file(tmp_path, "two", "second")
        screen.until("+ two", "2 prompts ·")
        prompt_file(tmp_path, "one", "\\x1b[2J")
        screen.until("description: “first” → “\\x1b[2J”")
        screen.type(CTRL_C)
        assert screen.finish() == Exit.DONE
        after = screen.shown.rpartition("\x1b[?1049l")[2]
        assert "\x1b[?25h" in screen.shown
        assert ESCAPE.sub("", after).strip().endswith(": 2 changes; 2 prompts")
        assert "Traceback" not in screen.shown


def test_watch_fits_a_terminal_that_is_resized(tmp_path: Path) -> None:
    for number in range(30):
        prompt_file(tmp_path, f"prompt-{number:02}", "what it says")
    with terminal("watch", server=(*MCP_SANSIO, "serve", str(tmp_path)), size=(100, 50)) as screen:
        screen.until("prompt-29", "what it says")
        screen.resize(40, 12)
        screen.until("… and 28 more", "Ctrl-C ends it")
        screen.resize(100, 50)
        screen.until("prompt-29", "what it says")
        screen.type(CTRL_C)
        assert screen.finish() == Exit.DONE


def test_watch_gives_the_terminal_back_while_it_is_suspended(tmp_path: Path) -> None:
    prompt_file(tmp_path, "one", "first")
    with terminal("watch", server=(*MCP_SANSIO, "serve", str(tmp_path))) as screen:
        screen.until("1 prompt ·")
        screen.type(CTRL_Z)
        screen.until_stopped()
        prompt_file(tmp_path, "two", "second")
        screen.go_on()
        seen = screen.until("+ two")
        left, back = seen.index("\x1b[?1049l"), seen.index("\x1b[?1049h")
        assert left < seen.index("\x1b[?25h", left) < back < seen.index("\x1b[?25l", back)
        screen.type(CTRL_C)
        assert screen.finish() == Exit.DONE


def test_watch_has_colours_only_where_they_are_wanted(tmp_path: Path) -> None:
    server = (*MCP_SANSIO, "serve", str(tmp_path))
    for wanted, environment in ((True, {"TERM": "xterm-256color"}), (False, {"NO_COLOR": "1"})):
        with terminal("watch", server=server, environment=environment) as screen:
            assert bool(COLOUR.search(screen.until("none so far"))) is wanted


@pytest.mark.parametrize(
    ("option", "environment"), [((), {"TERM": "dumb"}), (("--quiet",), {}), (("--json",), {})]
)
def test_watch_prints_lines_where_it_cannot_have_the_screen_or_is_told_to(
    tmp_path: Path, option: tuple[str, ...], environment: dict[str, str]
) -> None:
    server = (*MCP_SANSIO, "serve", str(tmp_path))
    with terminal(
        "watch", "--count", "1", *option, server=server, size=(300, 24), environment=environment
    ) as screen:
        screen.until("\n")
        prompt_file(tmp_path, "one", "first")
        assert screen.finish() == Exit.DONE
        assert "\x1b" not in screen.shown
        assert len(screen.lines) == 3
        assert "one" in screen.lines[1]
