"""Servers on their own stdin and stdout: processes of every front end, driven by hand over raw descriptors.

What they must survive is what parents, shells and terminals do to them.
"""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import termios
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fronts import FRONTS, our_server

NAMES = [front.name for front in FRONTS]
pytestmark = [pytest.mark.live, pytest.mark.parametrize("name", NAMES)]

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
META = {
    f"{PREFIX}protocolVersion": VERSION,
    f"{PREFIX}clientCapabilities": {},
    f"{PREFIX}clientInfo": {"name": "hand", "version": "1"},
}
PATIENCE = 30


def request(ident: int, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": {**params, "_meta": META}}
    return json.dumps(message).encode() + b"\n"


def get(ident: int, prompt: str, **arguments: str) -> bytes:
    return request(ident, "prompts/get", name=prompt, arguments=arguments)


def text(line: bytes) -> str:
    shown: str = json.loads(line)["result"]["messages"][0]["content"]["text"]
    return shown


class Server:
    """A server process with pipes. It is killed at the end if it still runs."""

    def __init__(self, name: str, *options: str, before: str = ":", **settings: Any) -> None:
        """`before` is what a shell does first."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = ("sh", "-c", f'{before}; exec "$@"', "sh", *our_server(name, *options))
        self.process: subprocess.Popen[bytes] = subprocess.Popen(command, **{**pipes, **settings})

    def write(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        for line in lines:
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def push(self, line: bytes) -> bytes:
        """Write so much as is taken; what is not."""
        assert self.process.stdin is not None
        fd = self.process.stdin.fileno()
        while line and select.select([], [fd], [], 0.5)[1]:
            line = line[os.write(fd, line[: select.PIPE_BUF]) :]
        return line

    def read(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def hears(self, word: bytes) -> bytes:
        """Read stderr until it says `word`."""
        assert self.process.stderr is not None
        heard = b""
        while word not in heard:
            line = self.process.stderr.readline()
            assert line, heard
            heard += line
        return heard

    def rest(self) -> tuple[bytes, bytes, int]:
        """Close the input; the rest of stdout and stderr, and the exit code."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return out, err, self.process.returncode


@contextmanager
def running(name: str, *options: str, **settings: Any) -> Generator[Server]:
    server = Server(name, *options, **settings)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def test_at_the_end_of_input_what_is_owed_is_answered_and_the_server_exits(name: str) -> None:
    with running(name, "--grace", "20") as server:
        server.write(request(1, "prompts/list"), get(2, "wait"), get(3, "release"), get(4, "pid"))
        out, err, code = server.rest()
        assert {json.loads(line)["id"] for line in out.splitlines()} == {1, 2, 3, 4}
        assert (err, code) == (b"waiting\nserved\n", 0)


def test_a_last_line_needs_no_newline(name: str) -> None:
    with running(name) as server:
        server.write(get(1, "special").rstrip(b"\n"))
        out, _, code = server.rest()
        assert (text(out), code) == ("an em dash — and a check mark ✓", 0)


def test_a_handler_that_does_not_end_is_given_up_after_the_grace(name: str) -> None:
    with running(name, "--grace", "0.1") as server:
        server.write(get(1, "wait"))
        server.hears(b"waiting")
        out, err, code = server.rest()
        assert (out, code) == (b"", 0)
        assert err == (b"" if name == "blocking" else b"cancelled\n") + b"served\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_while_its_input_is_open_and_a_handler_runs(
    name: str, number: signal.Signals
) -> None:
    with running(name) as server:
        server.write(get(1, "pid"), get(2, "wait"))
        server.read()
        server.hears(b"waiting")
        server.process.send_signal(number)
        heard = server.hears(b"served")
        assert server.process.wait(PATIENCE) == 0
        assert (b"cancelled" in heard) == (name != "blocking")
        assert b"Traceback" not in heard
        assert server.read() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_though_a_function_never_returns(name: str, number: signal.Signals) -> None:
    with running(name) as server:
        for ident in (1, 2, 3):
            server.write(get(ident, "stuck"))
            server.hears(b"waiting")
        server.write(get(4, "pid"))
        assert text(server.read()) == str(server.process.pid)
        server.process.send_signal(number)
        heard = server.hears(b"served")
        assert server.process.wait(PATIENCE) == 0
        assert b"Traceback" not in heard + server.rest()[1]


def test_the_end_of_input_ends_the_server_though_a_function_never_returns(name: str) -> None:
    with running(name, "--grace", "0.1") as server:
        server.write(get(1, "stuck"), get(2, "pid"))
        server.hears(b"waiting")
        out, err, code = server.rest()
        assert text(out) == str(server.process.pid)
        assert (err, code) == (b"served\n", 0)


def test_an_ignored_signal_stays_ignored(name: str) -> None:
    with running(name, before="trap '' HUP") as server:
        server.write(get(1, "pid"))
        server.read()
        server.process.send_signal(signal.SIGHUP)
        server.write(get(2, "pid"))
        assert text(server.read()) == str(server.process.pid)


def test_a_broken_pipe_is_one_clean_exit(name: str) -> None:
    with running(name) as server:
        server.write(get(1, "pid"), get(2, "wait"))
        server.read()
        server.hears(b"waiting")
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.write(get(3, "pid"))
        heard = server.hears(b"served")
        assert b"Traceback" not in heard
        assert server.process.wait(PATIENCE) == 0


def test_a_change_is_announced_to_who_listens_from_whatever_thread_it_comes(name: str) -> None:
    with running(name) as server:
        server.write(request(1, "subscriptions/listen", notifications={"promptsListChanged": True}))
        assert json.loads(server.read())["method"] == "notifications/subscriptions/acknowledged"
        server.write(get(2, "add", name="new"))
        lines = [json.loads(server.read()) for _ in range(2)]
        announced = next(line for line in lines if "method" in line)
        assert announced["method"] == "notifications/prompts/list_changed"
        assert announced["params"]["_meta"] == {f"{PREFIX}subscriptionId": 1}


def test_a_cancelled_request_is_not_answered_and_its_handler_stops(name: str) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    with running(name) as server:
        server.write(get(1, "wait"))
        server.hears(b"waiting")
        server.write(json.dumps(cancelled).encode() + b"\n", get(2, "release"), get(3, "pid"))
        if name != "blocking":
            server.hears(b"cancelled")
        out, _, code = server.rest()
        assert {json.loads(line)["id"] for line in out.splitlines()} == {2, 3}
        assert code == 0


def test_nobody_but_the_protocol_writes_to_stdout_or_reads_stdin(name: str) -> None:
    with running(name) as server:
        server.write(get(1, "chatter"), get(2, "pid"))
        out, err, code = server.rest()
        replies = {json.loads(line)["id"]: text(line) for line in out.splitlines()}
        assert (replies[1], code) == ("''", 0)
        assert b"stray text" in err
        assert b"stray bytes" in err
        assert b"stray child" in err


def test_the_bytes_are_utf_8_whatever_the_locale(name: str) -> None:
    locale = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with running(name, env={**os.environ, **locale}) as server:
        server.write(get(1, "special"), get(2, "hello", topic="日本語"))
        out, _, _ = server.rest()
        assert {text(line) for line in out.splitlines()} == {
            "an em dash — and a check mark ✓",
            "日本語, calm",
        }
        assert "—".encode() in out


def test_stdin_and_stdout_may_be_files(name: str, tmp_path: Path) -> None:
    asked, answered = tmp_path / "in", tmp_path / "out"
    asked.write_bytes(request(1, "prompts/list") + get(2, "big", size="300000"))
    with (
        asked.open("rb") as stdin,
        answered.open("wb") as stdout,
        running(name, stdin=stdin, stdout=stdout) as server,
    ):
        assert server.process.wait(PATIENCE) == 0
    lines = answered.read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [1, 2]
    assert len(lines[1]) > 300_000


def test_stdin_may_be_nothing_and_stdout_thrown_away(name: str) -> None:
    with running(name, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        assert server.process.wait(PATIENCE) == 0


def test_stdin_and_stdout_may_be_one_socket(name: str) -> None:
    ours, theirs = socket.socketpair()
    with running(name, stdin=theirs, stdout=theirs) as server, ours, ours.makefile("rwb") as stream:
        theirs.close()
        stream.write(get(1, "pid") + get(2, "big", size="1000000"))
        stream.flush()
        ours.shutdown(socket.SHUT_WR)
        lines = stream.readlines()
        assert sorted(json.loads(line)["id"] for line in lines) == [1, 2]
        assert server.process.wait(PATIENCE) == 0


def test_stdin_and_stdout_may_be_a_terminal(name: str) -> None:
    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    with running(name, stdin=theirs, stdout=theirs) as server:
        os.close(theirs)
        os.write(ours, get(1, "big", size="20000"))
        heard = b""
        while not heard.endswith(b"\n"):
            heard += os.read(ours, 65536)
        assert len(text(heard)) == 10_000
        os.close(ours)  # the terminal hangs up
        assert server.process.wait(PATIENCE) == 0
        assert b"Traceback" not in server.hears(b"served")


def test_descriptors_are_left_as_they_were_for_others_may_share_them(name: str) -> None:
    stdin, asking = os.pipe()
    answering, stdout = os.pipe()
    with running(name, stdin=stdin, stdout=stdout) as server:
        os.write(asking, get(1, "pid"))
        assert text(os.read(answering, 65536)) == str(server.process.pid)
        assert os.get_blocking(stdin)
        assert os.get_blocking(stdout)
    for fd in (stdin, asking, answering, stdout):
        os.close(fd)


def test_a_closed_stderr_does_no_harm(name: str) -> None:
    with running(name, before="exec 2>&-") as server:
        server.write(get(1, "chatter"), get(2, "pid"))
        replies = [json.loads(server.read())["id"] for _ in range(2)]
        assert sorted(replies) == [1, 2]
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(PATIENCE) == 0


def test_a_long_line_in_and_out(name: str) -> None:
    with running(name) as server:
        topic = "é" * (4 * 1024 * 1024)
        writer = threading.Thread(target=server.write, args=(get(1, "hello", topic=topic),))
        writer.start()
        assert text(server.read()) == f"{topic}, calm"
        writer.join()
        server.write(get(2, "pid"))
        assert text(server.read()) == str(server.process.pid)


def test_a_reader_who_does_not_read_is_not_read_from(name: str) -> None:
    """Replies of 1 MB are asked for until the server takes no more, and read then."""
    with running(name) as server:
        asked, rest = 0, b""
        while not rest and asked < 200:
            asked += 1
            rest = server.push(get(asked, "big", size="1000000", padding="x" * 32768))
        assert rest, "the server takes whatever it is asked"
        writer = threading.Thread(target=server.write, args=(rest,))
        writer.start()
        replies = [json.loads(server.read())["id"] for _ in range(asked)]
        writer.join()
        assert sorted(replies) == [*range(1, asked + 1)]
