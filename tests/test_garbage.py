"""What no peer should send: a clear outcome each, bounded memory, linear work, and the channel lives.

Nothing that arrives raises. A bad line costs that line: a server answers it, a client reports it, and the
next good message on the same channel is served. Work is counted in function calls and memory in bytes at
their peak, since a clock would only measure the machine.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pair import CLIENT, KEYS, SERVER, catalogue
from script import Script

from mcp_sansio import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    CallFailed,
    CallSucceeded,
    Client,
    ClientConfig,
    Diagnostic,
    InvalidReply,
    PromptClient,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)

LIMIT = 1 << 20
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSIONS[0],
    "io.modelcontextprotocol/clientCapabilities": {},
}
PROMPTS = {"prompts": {"listChanged": True}}
DISCOVERED = {"resultType": "complete", "supportedVersions": [*MODERN_VERSIONS], "capabilities": PROMPTS}
WELCOME = {"protocolVersion": LEGACY_VERSIONS[-1], "capabilities": PROMPTS}


def noise() -> bytes:
    return random.Random(7).randbytes(100_000)


LINES: dict[str, bytes] = {
    "open brackets": b"[" * 100_000,
    "open objects": b'{"a":' * 100_000,
    "deep and closed": b"[" * 100_000 + b"]" * 100_000,
    "deep params": b'{"jsonrpc":"2.0","id":9,"method":"m","params":' + b'{"a":' * 999 + b"1" + b"}" * 1000,
    "an endless string": b'"' + b"a" * 100_000,
    "nothing but quotes": b'"' * 100_000,
    "nothing but backslashes": b'{"a":"' + b"\\" * 100_001,
    "an endless number": b"9" * 100_000,
    "an id of 100,000 digits": b'{"jsonrpc":"2.0","method":"m","id":' + b"9" * 100_000 + b"}",
    "not a number": b'{"jsonrpc":"2.0","id":9,"method":"m","params":{"a":NaN}}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":9,"method":"m","params":{"a":"\xff\xfe"}}',
    "UTF-16": '{"jsonrpc":"2.0","id":9,"method":"ping"}'.encode("utf-16-le"),
    "half a surrogate pair": b'{"jsonrpc":"2.0","id":9,"method":"m","params":{"a":"\\ud800"}}',
    "zeros": b"\0" * 100_000,
    "a BOM in the middle": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":9,"method":"ping"}',
    "two messages": b'{"jsonrpc":"2.0","id":9,"method":"ping"}{"jsonrpc":"2.0","id":9,"method":"ping"}',
    "a log line": b"INFO server started on stdio",
    "no object": b'"hello"',
    "an empty batch": b"[]",
}

each_line = pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())


# --- good messages after bad ones ---------------------------------------------------------------------


def server(*, max_pending: int = 1 << 23, **wire: Any) -> Script:
    prompts = PromptServer(catalogue(3), PromptServerConfig(keys=KEYS))
    script = Script(Server(ServerConfig(info=SERVER, max_pending=max_pending), prompts), **wire)
    script.raw(b"\n")  # so that nothing below is at the start of the stream
    return script


def client(*, modern: bool = True, **wire: Any) -> Script:
    versions = MODERN_VERSIONS if modern else LEGACY_VERSIONS
    script = Script(Client(ClientConfig(info=CLIENT, versions=versions), PromptClient()), **wire)
    script.sent()
    script.reply(1, DISCOVERED if modern else WELCOME)
    script.sent()
    script.events()
    return script


def serves(script: Script) -> bool:
    """Whether a server answers what it is asked now."""
    script.sent()
    script.request("good", "prompts/list", {"_meta": META})
    replies = [message for message in script.sent() if message.get("id") == "good"]
    return len(replies) == 1 and len(replies[0]["result"]["prompts"]) == 3


def is_served(script: Script) -> bool:
    """Whether a client gets the answer to what it asks now."""
    assert isinstance(script.machine, Client)
    script.sent()
    script.events()
    call = script.machine.request("x/echo", None, script.now)
    (asked,) = script.sent()
    script.reply(asked["id"], {"resultType": "complete", "good": True})
    (answer,) = script.of(CallSucceeded)
    return answer == CallSucceeded(call, {"resultType": "complete", "good": True})


@each_line
def test_a_server_answers_a_bad_line_and_lives(line: bytes) -> None:
    script = server()
    script.raw(line + b"\n")
    (answer,) = script.sent()
    assert answer["error"]["code"] in (-32700, -32600, -32602)
    assert answer.get("id") in (None, 9)
    assert serves(script)


@each_line
@pytest.mark.parametrize("modern", [True, False], ids=["modern", "legacy"])
def test_a_client_reports_a_bad_line_and_lives(line: bytes, modern: bool) -> None:
    script = client(modern=modern)
    script.raw(line + b"\n")
    (report,) = script.of(Diagnostic)
    assert report.kind in ("bad-message", "batch")
    assert len(report.data) <= 200
    assert all("result" not in message for message in script.sent())
    assert is_served(script)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_random_bytes(end: bytes) -> None:
    lines = sum(1 for line in noise().split(b"\n") if line.strip())
    script = server()
    script.raw(noise() + end)
    answers = script.sent()
    assert len(answers) == lines
    assert {answer["error"]["code"] for answer in answers} <= {-32700, -32600}
    assert serves(script)
    script = client()
    script.raw(noise() + end)
    assert len(script.of(Diagnostic)) == lines
    assert is_served(script)


@pytest.mark.parametrize("blank", [b"\n" * 1000, b"\r\n" * 1000, b"   \t\n" * 1000])
def test_blank_lines_are_silent(blank: bytes) -> None:
    for script, good in ((server(), serves), (client(), is_served)):
        script.raw(blank)
        assert script.events() == []
        assert script.sent() == []
        assert good(script)


@pytest.mark.parametrize(
    "rest",
    [
        b'"result":{"a":NaN}',
        b'"result":{"a":"\xff"}',
        b'"result":{"a":"\\ud800"}',
        b'"result":{"a":' + b"[" * 500 + b"]" * 500 + b"}",
        b'"result":[]',
        b'"error":{}',
        b'"result":{},"error":{"code":1,"message":""}',
    ],
)
def test_a_bad_reply_fails_its_request_at_once(rest: bytes) -> None:
    script = client()
    assert isinstance(script.machine, Client)
    call = script.machine.request("x/echo", None, 0.0)
    (asked,) = script.sent()
    script.raw(b'{"jsonrpc":"2.0","id":%d,%s}\n' % (asked["id"], rest))
    (failed,) = script.of(CallFailed)
    assert failed.call == call
    assert isinstance(failed.failure, InvalidReply)
    assert is_served(script)


# --- size ---------------------------------------------------------------------------------------------


def peak(action: Callable[[], None]) -> int:
    """The most memory, in bytes, that an action held at one time."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def feed(script: Script, chunk: bytes, times: int) -> None:
    for _ in range(times):
        script.raw(chunk)


def test_a_line_of_100_mb_takes_no_more_than_the_limit() -> None:
    chunk = b"x" * 65_536
    for script, good in ((server(max_line=LIMIT), serves), (client(max_line=LIMIT), is_served)):
        assert peak(partial(feed, script, chunk, 1600)) < 4 * LIMIT
        assert script.events() == []
        script.raw(b"\n")
        (report,) = script.of(Diagnostic)
        assert str(1600 * 65_536) in report.text
        assert report.data == b"x" * 200
        assert good(script)


def test_a_reader_that_answers_nobody_stops_being_read() -> None:
    """Answers that nobody takes are bounded by the wire's asking not to be fed."""
    script = server(max_pending=10_000)
    fed = 0
    while fed < 1000 and script.wire.want_read:
        script.raw(b"rubbish\n")
        fed += 1
    assert fed < 200
    script.sent()
    assert script.wire.want_read
    assert serves(script)


# --- work ---------------------------------------------------------------------------------------------


def calls(action: Callable[[], None]) -> int:
    """How many functions, of Python's or of C's, an action calls."""
    count = 0

    def counting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "piece",
    [b"x", b"\n", b"rubbish\n", b"[" * 64 + b"\n", b'{"id":1}\n', b'{"jsonrpc":"2.0","method":"m"}\n'],
    ids=["a byte", "a newline", "rubbish", "brackets", "no message", "a notification"],
)
@pytest.mark.parametrize("end", [server, client])
def test_twice_the_input_is_twice_the_work(end: Callable[[], Script], piece: bytes) -> None:
    once, twice = (calls(partial(feed, end(), piece, times)) for times in (500, 1000))
    assert twice < 2.1 * once
