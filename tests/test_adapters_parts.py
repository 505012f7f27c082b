"""What the front ends share, piece by piece and without a loop."""

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

import mcp_sansio_adapters
from mcp_sansio import (
    Cancelled,
    Client,
    ClientConfig,
    Closed,
    Failure,
    Implementation,
    InvalidReply,
    LineWire,
    Lost,
    NotSupported,
    RpcError,
    TimedOut,
    TooManyRounds,
    WalkFailed,
)
from mcp_sansio_adapters import ConnectionFailed, ProcessPolicy, RequestFailed, new_keys, now, unix_offset
from mcp_sansio_adapters._defaults import client_config
from mcp_sansio_adapters._exceptions import Ending, describe_exit
from mcp_sansio_adapters._fds import can_poll, has_room, read_some, write_some
from mcp_sansio_adapters._line import CLOSED, Line
from mcp_sansio_adapters._process import Child, ProcessSpec, Restarts, StderrTail
from mcp_sansio_adapters._pump import Pump
from mcp_sansio_adapters._stdio import claimed_stdio, on_signals

INFO = Implementation("test", "1")


# --- words ---


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "killed by SIGKILL"), (-250, "killed by signal 250")],
)
def test_exit_codes_in_words(code: int, words: str) -> None:
    assert describe_exit(code) == words


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (RpcError(-32602, "bad"), "the server refused: bad (-32602)"),
        (TimedOut("quiet", 0.5), "no answer within 0.5 s (quiet timeout)"),
        (Lost("gone"), "gone"),
        (Closed("over"), "over"),
        (Cancelled(), "cancelled"),
        (InvalidReply("x at $"), "the answer breaks the protocol: x at $"),
        (NotSupported("prompts"), "the server does not offer prompts"),
        (TooManyRounds(10), "the server asked for input more than 10 times"),
        (WalkFailed("pages", None), "the list is incomplete: pages"),
        (WalkFailed("error", Lost("gone")), "the list is incomplete: gone"),
    ],
)
def test_failures_in_words(failure: Failure | WalkFailed, words: str) -> None:
    assert str(RequestFailed(failure)) == words


def test_a_failed_connection_shows_the_end_of_stderr_and_keeps_all_of_it() -> None:
    tail = "x" * 5000 + "\nlast words\n"
    error = ConnectionFailed(Ending("the server exited", 3, tail))
    assert str(error).startswith("the server exited (exit code 3); stderr: xxx")
    assert str(error).endswith("last words")
    assert len(str(error)) < 2100
    assert (error.exit_code, error.stderr_tail) == (3, tail)
    assert str(ConnectionFailed(Ending("closed"))) == "closed"


# --- what the core is given ---


def test_every_key_is_new_and_time_can_be_made_unix_time() -> None:
    assert new_keys().current != new_keys().current
    assert now() + unix_offset() > 1_700_000_000


def test_a_config_gets_jitter_unless_it_has_some() -> None:
    bare = ClientConfig(info=INFO)
    assert len({client_config(bare, asks=False).delay(3) for _ in range(20)}) > 1
    own = ClientConfig(info=INFO, jitter=lambda: 0.5)
    assert client_config(own, asks=True) is own
    assert client_config(None, asks=True).capabilities == {"elicitation": {}}
    assert client_config(None, asks=False).capabilities == {}


def test_importing_the_adapters_loads_no_event_loop() -> None:
    script = "import sys, mcp_sansio_adapters.blocking; print({'asyncio', 'trio'} & {*sys.modules})"
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, check=True)
    assert done.stdout == b"set()\n"
    assert set(mcp_sansio_adapters.__all__) <= set(dir(mcp_sansio_adapters))


# --- processes ---


def test_the_tail_of_stderr_is_bounded_whatever_comes() -> None:
    tail = StderrTail(10)
    for data in (b"abc", b"", b"d" * 50, b"e" * 9, "é".encode()):
        tail.feed(data)
        assert len(tail) <= 10
    assert tail.text() == "e" * 8 + "é"
    tail.feed(b"123456789")
    assert tail.text() == "\ufffd123456789"


def test_restarts_are_bounded_within_their_window() -> None:
    restarts = Restarts(ProcessPolicy(restarts=2, window=60.0), lambda attempt: 0.25 * 2**attempt)
    assert [restarts.take(0.0), restarts.take(10.0), restarts.take(59.9)] == [0.25, 0.5, None]
    assert restarts.take(60.0) == 0.5
    assert restarts.take(61.0) is None
    assert Restarts(ProcessPolicy(restarts=0), float).take(0.0) is None


class StillFlow:
    """A stream that moves nothing."""

    stopped = False

    def want(self, reading: bool) -> None:
        raise AssertionError("nothing to read")

    def write(self, data: bytes) -> bool:
        raise AssertionError("nothing to write")

    def stop_writing(self) -> None:
        self.stopped = True


def test_parting_climbs_down_the_ladder_and_reads_to_the_end() -> None:
    policy = ProcessPolicy(close_grace=1.0, term_grace=2.0)
    stubborn = ("sh", "-c", "trap '' TERM; echo >&2; while :; do sleep 60; done")
    child, flow = Child(ProcessSpec(command=stubborn, policy=policy)), StillFlow()
    line = Line(LineWire(Client(ClientConfig(info=INFO)), 0.0), flow, lambda: None)
    os.set_blocking(child.stderr, True)
    os.read(child.stderr, 1)  # the signal is ignored from now on
    line.end(CLOSED)
    line.end("a later reason")
    steps = child.parting(line)
    first, writing = next(steps), flow.stopped
    rest = [next(steps) for _ in range(4)]
    assert (writing, flow.stopped) == (False, True)
    assert [patience for _, patience in (first, *rest)] == [1.0, None, 1.0, 2.0, None]
    condition, _ = rest[-1]
    os.read(child.exited, 1)
    assert not condition()
    child.gone = True
    assert condition()
    condition, _ = next(steps)
    assert not condition()
    line.read_over = child.errors_over = True
    assert condition()
    assert next(steps, None) is None
    assert child.ending(line.reason) == Ending(CLOSED, -signal.SIGKILL, "")
    child.close()
    child.close()


def test_closing_a_child_kills_it() -> None:
    child = Child(ProcessSpec(command=("sleep", "1000")))
    exited = os.dup(child.exited)
    child.close()
    assert os.read(exited, 1) == b""
    assert child.exit_code == -signal.SIGKILL
    os.close(exited)


# --- descriptors ---


def test_a_pipe_that_blocks_is_written_in_pieces_that_do_not() -> None:
    reading, writing = os.pipe()
    assert can_poll(reading)
    assert write_some(writing, memoryview(b"x" * 100_000)) == 4096
    os.set_blocking(writing, False)
    assert write_some(writing, memoryview(b"x" * 100_000)) == 61440
    assert write_some(writing, memoryview(b"x")) == 0
    os.set_blocking(reading, False)
    assert read_some(reading) == b"x" * 65536
    assert read_some(reading) is None
    os.close(writing)
    assert read_some(reading) == b""
    os.close(reading)


def test_a_pipe_has_room_until_it_is_full_and_whenever_writing_would_fail() -> None:
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        assert has_room(writing)
        while write_some(writing, memoryview(bytes(4096))):
            pass
        assert not has_room(writing)
        os.close(reading)
        assert has_room(writing)
        with pytest.raises(BrokenPipeError):
            write_some(writing, memoryview(b"x"))
    finally:
        os.close(writing)


def test_stdio_is_claimed_and_given_back(capfd: pytest.CaptureFixture[str]) -> None:
    with claimed_stdio() as (_, writing):
        os.write(1, b"anybody\n")
        os.write(writing, b"protocol\n")
        assert os.read(0, 1) == b""
    os.write(1, b"anybody\n")
    assert capfd.readouterr() == ("protocol\nanybody\n", "anybody\n")


def test_signals_call_back_for_as_long_as_the_block_lasts() -> None:
    heard: list[str] = []
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    with on_signals(lambda: heard.append("called")):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert heard == ["called", "called"]
    after = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    assert after == before


def test_only_the_main_thread_handles_signals() -> None:
    handlers: list[object] = []

    def elsewhere() -> None:
        with on_signals(lambda: None):
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGTERM)]


# --- turning ---


class Toy:
    """A machine whose events each bring about output, and one more event."""

    def __init__(self) -> None:
        self.events = [3]
        self.ready: list[Any] = []
        self.timeouts = [1.0, 1.0, 2.0]

    def next_ready(self) -> Any:
        return self.ready.pop(0) if self.ready else None

    def next_event(self) -> int | None:
        return self.events.pop(0) if self.events else None

    def next_timeout(self) -> float | None:
        return self.timeouts.pop(0)

    def handle_timeout(self, now: float) -> None:
        raise AssertionError("not the pump's")

    def close(self, now: float, reason: str = "") -> None:
        raise AssertionError("not the pump's")


def test_a_turn_goes_on_until_nothing_is_left_and_a_turn_inside_does_nothing() -> None:
    toy, log = Toy(), list[object]()

    class Token:
        token: Any

        def flush(self) -> None:
            log.append("flush")

    token = Token()
    token.token = token

    def handle(event: int) -> None:
        log.append(event)
        pump.turn()
        toy.ready.append(token)
        if event:
            toy.events.append(event - 1)

    pump = Pump(toy, handle, log.append)
    pump.turn()
    assert log == [3, 2, 1, 0, "flush", "flush", "flush", "flush", 1.0]
    pump.turn()
    pump.turn()
    assert log[9:] == [2.0]
