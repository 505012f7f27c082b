"""The tap: bytes pass through it as if it were not there, and what they said is recorded beside that.

All of it is run as a process of its own, between real pipes or on a terminal; what is pure is tested as such.
"""

import base64
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live import Command, sdk_server

from mcp_sansio_adapters.tap import CHILD_ERRORS, TO_SERVER

TAP: Command = (sys.executable, "-m", "mcp_sansio_adapters", "tap")
LIST: Command = (sys.executable, "-m", "mcp_sansio_adapters", "list")
CAT: Command = ("cat",)

live = pytest.mark.live


def python(script: str) -> Command:
    """The command of a server that is a few lines of Python."""
    return (sys.executable, "-c", script)


def through(command: Command, data: bytes = b"", *options: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command behind a tap."""
    return subprocess.run(
        (*TAP, *options, "--", *command), input=data, capture_output=True, timeout=60, check=False
    )


@contextlib.contextmanager
def tapped(command: Command, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command behind a tap, to be talked to."""
    line = (*TAP, *options, "--", *command)
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def on_a_terminal(command: Command) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command in the foreground of a terminal of its own, and the other side of that terminal."""
    terminal, inside = pty.openpty()
    take = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    line = (*python(take), *command)
    with subprocess.Popen(
        line, stdin=inside, stdout=inside, stderr=inside, start_new_session=True
    ) as process:
        os.close(inside)
        try:
            yield process, terminal
        finally:
            process.kill()
            os.close(terminal)


def recorded(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def read(process: subprocess.Popen[bytes], count: int) -> bytes:
    """So many bytes of its output."""
    assert process.stdout is not None
    data = b""
    while len(data) < count and (piece := process.stdout.read(count - len(data))):
        data += piece
    return data


def write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)


def write_for_ever(process: subprocess.Popen[bytes]) -> None:
    while True:
        write(process, b"x" * 1000)


# --- what passes ------------------------------------------------------------------------------------------


@live
def test_any_bytes_in_any_pieces_come_out_as_they_went_in(tmp_path: Path) -> None:
    with tapped(CAT, "--output", str(tmp_path / "record")) as process:

        @settings(max_examples=50)
        @given(st.lists(st.binary(min_size=1, max_size=200), max_size=5))
        def pieces(chunks: list[bytes]) -> None:
            for chunk in chunks:
                write(process, chunk)
            assert read(process, sum(map(len, chunks))) == b"".join(chunks)

        pieces()
        assert process.stdin is not None
        process.stdin.close()
        assert read(process, 1) == b""
        assert process.wait() == 0


@live
def test_much_comes_through_whole(tmp_path: Path) -> None:
    """And all of it is delivered before the tap exits, however fast the server does."""
    data = os.urandom(1 << 20) * 10
    done = through(CAT, data, "--output", str(tmp_path / "record"))
    assert (done.returncode, done.stdout == data, done.stderr) == (0, True, b"")


@live
def test_a_reader_that_is_slow_loses_nothing_and_slows_the_server() -> None:
    """The server says on stderr when it has written everything, which takes a reader."""
    script = (
        "import os, sys; sys.stdout.buffer.write(b'x' * 4_000_000); sys.stdout.flush(); os.write(2, b'done')"
    )
    with tapped(python(script), "--output", os.devnull) as process:
        assert process.stderr is not None
        first = read(process, 1000)
        os.set_blocking(process.stderr.fileno(), False)
        assert process.stderr.read() is None
        assert len(first) + len(read(process, 4_000_000)) == 4_000_000
        os.set_blocking(process.stderr.fileno(), True)
        assert process.stderr.read(4) == b"done"
        assert process.wait() == 0


@live
def test_the_end_of_input_is_passed_on_while_the_server_goes_on() -> None:
    script = "import sys; n = len(sys.stdin.buffer.read()); sys.stdout.write(f'{n} bytes')"
    assert through(python(script), b"abc").stdout == b"3 bytes"


@live
def test_the_end_of_output_is_passed_on_while_the_server_goes_on() -> None:
    with tapped(python("import os, sys; os.close(1); sys.stdin.read(); os._exit(9)")) as process:
        assert read(process, 1) == b""
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 9


@live
def test_a_reader_that_went_away_is_noticed_by_the_server() -> None:
    script = "import os\ntry:\n  while True: os.write(1, b'x' * 1000)\nexcept BrokenPipeError: os._exit(8)"
    with tapped(python(script), "--output", os.devnull) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 8


@live
def test_a_server_that_reads_no_more_is_noticed_by_the_host() -> None:
    with tapped(python("import os, sys; os.close(0); os.write(1, b'.'); os.read(2, 1)")) as process:
        assert read(process, 1) == b"."
        with pytest.raises(BrokenPipeError):
            write_for_ever(process)


@live
def test_what_the_server_says_on_stderr_passes_as_well(tmp_path: Path) -> None:
    record = tmp_path / "record"
    done = through(python(r"import os; os.write(2, b'\xff noise\n no end')"), b"", "--output", str(record))
    assert done.stderr == b"\xff noise\n no end"
    said = [each for each in recorded(record) if each["direction"] == CHILD_ERRORS]
    assert base64.b64decode(said[0]["base64"]) == b"\xff noise"
    assert said[1]["text"] == " no end"


@live
def test_what_a_grandchild_holds_open_is_not_waited_for() -> None:
    """The server has exited, and all that it wrote itself has been delivered."""
    done = through(("sh", "-c", "sleep 30 & echo $!"))
    os.kill(int(done.stdout), signal.SIGKILL)
    assert done.returncode == 0


# --- how it ends --------------------------------------------------------------------------------------------


@live
@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill $$", 143)]
)
def test_the_exit_code_is_that_of_the_server(script: str, code: int) -> None:
    assert through(("sh", "-c", script)).returncode == code


@live
@pytest.mark.parametrize("output", [True, False])
def test_a_server_that_cannot_be_started(tmp_path: Path, *, output: bool) -> None:
    record = tmp_path / "record"
    done = through(("./no-such-server",), b"", *(("--output", str(record)) if output else ()))
    assert (done.returncode, done.stdout) == (3, b"")
    (line,) = done.stderr.splitlines()
    assert line.startswith(b"mcp-sansio: no server, check the command after --: ")
    assert not output or "failed" in recorded(record)[0]["tap"]


@live
@pytest.mark.parametrize("command", [(), ("--output", "no/such/folder")])
def test_a_command_line_that_is_wrong(command: Command) -> None:
    line = (*TAP, *command, *(("--", "cat") if command else ()))
    assert subprocess.run(line, capture_output=True, check=False, timeout=60).returncode == 2


@live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_are_passed_on(number: signal.Signals) -> None:
    """To a server that has something to say about them before it goes."""
    script = (
        "import os, signal, time\n"
        f"signal.signal({int(number)}, lambda *_: (os.write(1, b'told'), os._exit(5)))\n"
        "os.write(1, b'.')\n"
        "while True: time.sleep(60)"
    )
    with tapped(python(script)) as process:
        assert read(process, 1) == b"."
        process.send_signal(number)
        assert read(process, 10) == b"told"
        assert process.wait() == 5


@live
def test_a_signal_ends_waiting_for_a_reader_when_the_server_is_gone() -> None:
    with tapped(("sh", "-c", "head -c 100000 /dev/zero; echo $$ >&2"), "--output", os.devnull) as process:
        assert process.stderr is not None
        server = int(process.stderr.readline())
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(server, 0)
                time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


# --- what is recorded ---------------------------------------------------------------------------------------


@live
def test_what_is_said_is_recorded_in_lines_of_json(tmp_path: Path) -> None:
    record = tmp_path / "record"
    message = b'{"jsonrpc":"2.0","id":12345678901234567890,"method":"x"}'
    for _ in range(2):
        through(
            CAT, message + b"\nno JSON\n\xff\n[1]\n" + b"y" * 1_200_000 + b"\nopen", "--output", str(record)
        )
    entries = recorded(record)
    assert len(entries) == 2 * 14
    assert oct(record.stat().st_mode & 0o777) == "0o600"
    said = [{**each, "time": None} for each in entries[:14] if each["direction"] == TO_SERVER]
    head = {"time": None, "direction": TO_SERVER}
    assert said == [
        {**head, "message": json.loads(message)},
        {**head, "text": "no JSON"},
        {**head, "base64": "/w=="},
        {**head, "message": [1]},
        {**head, "text": "y" * 200, "size": 1_200_000},
        {**head, "text": "open"},
    ]
    assert (entries[0]["tap"], entries[13]["tap"]) == ({"started": ["cat"]}, {"exited": 0})
    assert message in record.read_bytes()


@live
def test_a_full_disk_costs_the_record_only() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    done = through(CAT, b"one\ntwo\n", "--output", "/dev/full")
    assert (done.returncode, done.stdout) == (0, b"one\ntwo\n")
    assert done.stderr == b"mcp-sansio: 6 records could not be written to /dev/full\n"


@live
@pytest.mark.parametrize("noise", [b"", b"the server has much to say\n" * 100])
def test_a_stderr_that_nobody_reads_delays_nothing(noise: bytes) -> None:
    """Not even a server that writes there itself: our text leaves room in the pipe."""
    script = f"import os, sys\nfor line in sys.stdin.buffer: os.write(1, line)\nos.write(2, {noise!r})"
    line = b'{"id":1,"method":"%b"}\n' % (b"x" * 100)
    with tapped(python(script)) as process:
        for _ in range(3000):
            write(process, line)
            assert read(process, len(line)) == line
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


@live
def test_text_for_people_may_go_to_a_file(tmp_path: Path) -> None:
    record = tmp_path / "record"
    through(
        ("sh", "-c", "echo noise >&2; cat"), b'{"id":1,"method":"x/y"}\n', "--pretty", "--output", str(record)
    )
    text = record.read_text()
    assert "→ x/y #1\n" in text
    assert "! noise\n" in text


@live
def test_on_a_terminal_there_are_colours_and_interrupts_come_once() -> None:
    """A Ctrl-C goes to everybody on the terminal: the server is told by that alone."""
    script = (
        "import os, signal, time\n"
        "heard = []\n"
        "signal.signal(signal.SIGINT, lambda *_: heard.append(1))\n"
        "print('rea' + 'dy', flush=True)\n"
        "while not heard: time.sleep(0.01)\n"
        "time.sleep(0.3)\n"
        "print('heard', len(heard), flush=True)"
    )
    with on_a_terminal((*TAP, "--", *python(script))) as (process, terminal):
        seen = b""
        with contextlib.suppress(OSError):  # the other side is gone
            while piece := os.read(terminal, 1000):
                if b"ready" in piece and b"ready" not in seen:
                    os.write(terminal, b"\x03")
                seen += piece
        assert process.wait() == 0
    assert b"heard 1" in seen
    assert b"\x1b[32m" in seen


# --- with real hosts and servers ----------------------------------------------------------------------------


@live
@pytest.mark.slow
def test_a_host_and_a_server_do_not_notice_it(tmp_path: Path) -> None:
    record = tmp_path / "record"
    server = sdk_server()
    plain, tapped = (
        subprocess.run((*LIST, "--json", "--", *command), capture_output=True, check=True, timeout=60).stdout
        for command in (server, (*TAP, "--output", str(record), "--", *server))
    )
    assert json.loads(plain) == json.loads(tapped)
    methods = [each["message"].get("method") for each in recorded(record) if "message" in each]
    assert "prompts/list" in methods
