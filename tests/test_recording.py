"""The recorder of the adapters: what it writes of clients and servers on every front end, and what never."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import trio
from fronts import ASYNC_FRONTS, FRONTS, WELCOME, AsyncFront, Front, ask, by_hand, front_name
from recordings.server import CONFIG, SERVING, catalogue

from mcp_sansio import (
    LEGACY_VERSIONS,
    Catalogue,
    ClientConfig,
    Completion,
    Implementation,
    LocalProtocolError,
    PromptServer,
    RequestReceived,
    RpcError,
    Server,
    ServerConfig,
)
from mcp_sansio._trace import Trace
from mcp_sansio.simulation._recordings.recorded import RecordedClient, RecordedServer
from mcp_sansio.simulation._recordings.reexecute import reexecute
from mcp_sansio_adapters import RequestFailed
from mcp_sansio_adapters.recording import HIDDEN, Recorder, Redact, hide

pytestmark = pytest.mark.live

INFO = Implementation("test", "1")
OLD = ClientConfig(info=INFO, versions=LEGACY_VERSIONS)
ASKED = ("roots/list", "sampling/createMessage")
each_front = pytest.mark.parametrize("front", FRONTS, ids=front_name)
each_loop = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=front_name)


class Tape:
    """A recorder, and the trace that it has written."""

    def __init__(self, redact: Redact | None = None, **options: Any) -> None:
        self.lines: list[bytes] = []
        self.recorder = Recorder(self.lines.append, redact, **options)

    @property
    def trace(self) -> Trace:
        return Trace.parse(self.lines)

    def kinds(self) -> set[str]:
        return {event.kind for event in self.trace}

    def commands(self, verb: str) -> list[Any]:
        return [e.data[1] for e in self.trace if e.kind == "op" and e.data[0] == verb]

    def reports(self, kind: str) -> list[Any]:
        return [e.data[1] for e in self.trace if e.kind == "obs" and e.data[0] == kind]

    @property
    def client_again(self) -> object:
        return reexecute(self.trace, "client-1", RecordedClient.of(self.trace, "client-1"))


# --- clients ----------------------------------------------------------------------------------------------


@each_front
def test_a_client_does_the_same_again(front: Front) -> None:
    """Requests of its application and of a legacy server, notifications, what fails and what is given up."""
    tape = Tape()

    def answer(asked: RequestReceived) -> Mapping[str, Any] | RpcError:
        return {"roots": []} if asked.request.method == "roots/list" else RpcError(-32000, "no")

    async def scenario(front: Front, sock: socket.socket) -> None:
        config = ClientConfig(info=INFO, answers=ASKED, quiet_timeout=0.05, versions=LEGACY_VERSIONS)
        options = {"config": config, "on_request": answer, "recorder": tape.recorder}
        async with front.connect(sock, **options) as client:
            await client.notify("notifications/roots/list_changed")
            assert await client.request("ping", {}, meta={"a": 1}) == {}
            with pytest.raises(RequestFailed):
                await client.request("mute", None)
            with pytest.raises(LocalProtocolError):
                await client.request("initialize", {})

    heard = by_hand(
        front,
        {
            "initialize": [WELCOME],
            "notifications/roots/list_changed": [ask(7, "roots/list"), ask(8, "sampling/createMessage")],
            "ping": ['{"jsonrpc":"2.0","id":ID,"result":{}}'],
        },
        scenario,
    )
    assert "answer {'roots': []}" in heard
    assert {"node", "op", "obs", "open", "out", "in", "timer", "end"} <= tape.kinds()
    assert tape.commands("request")[0]["meta"] == {"a": 1}
    assert sorted(sorted(each) for each in tape.commands("answer")) == [["error", "id"], ["id", "result"]]
    assert tape.client_again is None


@each_loop
def test_who_is_interrupted_cancels(front: AsyncFront) -> None:
    tape = Tape()

    async def scenario(front: AsyncFront, sock: socket.socket) -> None:
        async with front.connect(sock, config=OLD, recorder=tape.recorder) as client:
            for wait in (lambda: client.request("mute", {}), lambda: client.get_prompt("mute")):
                await front.interrupt(wait, front.checkpoint)

    by_hand(front, {"initialize": [WELCOME]}, scenario)
    assert [sorted(each) for each in tape.commands("cancel")] == [["call"], ["op"]]
    assert tape.client_again is None


# --- servers ----------------------------------------------------------------------------------------------


async def stream(front: AsyncFront, sock: socket.socket) -> Any:
    if front.name == "trio":
        return trio.SocketStream(trio.socket.from_stdlib_socket(sock))
    return await asyncio.open_connection(sock=sock)


@each_loop
def test_a_server_does_the_same_again(front: AsyncFront) -> None:
    """With a principal, whom its cursors are bound to, and answers of every kind."""
    tape = Tape()
    prompts = catalogue()

    @prompts.prompt(completers={"word": lambda value, _: Completion((value,), 1)})
    def odd(word: str = "") -> Any:
        return word or object()

    def own(asked: RequestReceived) -> Mapping[str, Any] | RpcError:
        return {"own": True} if asked.request.method == "own/good" else RpcError(-32000, "no", {"why": 1})

    async def talk(client: Any) -> None:
        changes = client.changes()
        await client.list_prompts()
        await client.complete("odd", "word", "w")
        await client.get_prompt("add", {"name": "one"})
        await anext(changes)
        for name in ("odd", "fail", "unknown"):
            with pytest.raises(RequestFailed):
                await client.get_prompt(name)
        assert (await client.request("own/good", {}))["own"]
        with pytest.raises(RequestFailed):
            await client.request("own/bad", {})

    config = ServerConfig(info=INFO, methods=("own/good", "own/bad"), quiet=0.01, max_wait=0.1)
    server = Server(config, PromptServer(prompts, SERVING))

    async def scenario(front: AsyncFront) -> None:
        ours, theirs = socket.socketpair()

        async def serve() -> None:
            options = {"on_request": own, "recorder": tape.recorder}
            async with front.module.open_service(server, **options) as service:
                await front.module.serve_stream(service, await stream(front, theirs), principal="somebody")

        async def be_client() -> None:
            async with front.connect(ours, config=ClientConfig(info=INFO)) as client:
                await talk(client)

        await front.together(serve, be_client)

    front.run(scenario)
    trace = tape.trace
    assert tape.reports("caller") == [{"principal": "somebody"}]
    assert {"error", "result", "failed", "completion"} <= {
        k for each in tape.commands("answer") for k in each
    }
    assert tape.commands("close") == [{}]
    assert reexecute(trace, "server-1", RecordedServer.of(trace, "server-1", config, SERVING)) is None


@each_loop
def test_both_ends_of_http_in_one_recording(front: AsyncFront) -> None:
    """Heads and messages of every exchange, and of what authenticates nothing."""
    tape = Tape(headers=("x-own",))
    server = Server(CONFIG, PromptServer(catalogue(), SERVING))

    async def scenario(front: AsyncFront) -> None:
        async with front.module.open_http_server(server, recorder=tape.recorder) as running:
            secrets = {"Authorization": "Bearer secret", "X-Own": "secret", "X-Open": "open"}
            options = {"headers": secrets, "recorder": tape.recorder}
            async with front.module.open_http_client(running.url, **options) as client:
                await client.list_prompts()

    front.run(scenario)
    trace = tape.trace
    assert {"head-out", "head-in", "out", "in"} <= tape.kinds()
    assert {event.node for event in trace} == {"client-1", "server-1"}
    written = b"\n".join(tape.lines)
    assert b"secret" not in written
    assert b"open" in written
    asked = next(e for e in trace if e.kind == "out" and e.node == "client-1" and "prompts/list" in e.data)
    assert asked.link.startswith("client-1/http")
    assert any(e.kind == "in" and e.node == "client-1" and e.link == asked.link for e in trace)


# --- what is not written ----------------------------------------------------------------------------------


def talked(tape: Tape) -> None:
    """A client that gets a prompt with a secret in it."""
    rendered = (
        '{"jsonrpc":"2.0","id":ID,"result":{"messages":[{"role":"user",'
        '"content":{"type":"text","text":"my secret"}}]}}'
    )

    async def scenario(front: Front, sock: socket.socket) -> None:
        async with front.connect(sock, config=OLD, recorder=tape.recorder) as client:
            await client.get_prompt("p", {"password": "my secret", "n": "1"})

    by_hand(FRONTS[2], {"initialize": [WELCOME], "prompts/get": ["no secret of JSON", rendered]}, scenario)


def test_a_recording_has_everything() -> None:
    tape = Tape()
    talked(tape)
    assert b"".join(tape.lines).count(b"my secret") == 4  # what was asked, sent, taken in and told
    assert tape.client_again is None


def test_what_is_hidden_is_nowhere() -> None:
    tape = Tape(hide("arguments", "text", "texts"))
    talked(tape)
    assert b"secret" not in b"".join(tape.lines)
    assert tape.commands("get") == [{"name": "p", "arguments": {"password": HIDDEN, "n": HIDDEN}}]
    asked = next(json.loads(e.data) for e in tape.trace if e.kind == "out" and "prompts/get" in e.data)
    assert asked["params"]["arguments"] == {"password": HIDDEN, "n": HIDDEN}
    assert asked["params"]["name"] == "p"


def test_what_has_nothing_to_hide_is_as_it_was() -> None:
    tape = Tape(hide("arguments"))
    talked(tape)
    first = next(e.data for e in tape.trace if e.kind == "out")
    assert first.startswith('{"jsonrpc":"2.0","id":1,"method":"initialize"')


def test_hiding_reaches_into_lists_and_leaves_null() -> None:
    redact = hide("a")
    assert redact({"b": [{"a": [1, {"c": None}]}], "a": None}) == {
        "b": [{"a": [HIDDEN, {"c": None}]}],
        "a": None,
    }


def test_a_redaction_that_fails_lets_nothing_through(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Any) -> Any:
        raise RuntimeError("broken")

    tape = Tape(broken)
    with caplog.at_level(logging.CRITICAL):
        talked(tape)
    assert b"secret" not in b"".join(tape.lines)


def test_a_recording_that_fails_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    tape = Tape()

    def full(_: bytes) -> None:
        raise OSError("no space left")

    tape.recorder = Recorder(full)
    talked(tape)
    assert "an event could not be recorded" in caplog.text


def test_a_server_without_prompts_has_a_recording() -> None:
    tape = Tape()
    tape.recorder.of_server(Server(ServerConfig(info=INFO)))
    assert tape.reports("settings") == [{"quiet": 0.05, "max_wait": 0.5}]


def test_parties_have_names() -> None:
    tape = Tape()
    for _ in range(2):
        tape.recorder.of_client()
    tape.recorder.of_server(Server(ServerConfig(info=INFO), PromptServer(Catalogue(), SERVING)))
    nodes = [event.node for event in tape.trace if event.kind == "node"]
    assert nodes == ["client-1", "client-2", "server-1"]


@pytest.mark.parametrize("module", ["recording", "tap"])
def test_who_records_loads_no_simulator(module: str) -> None:
    code = f"import sys, mcp_sansio_adapters.{module}; sys.exit('mcp_sansio.simulation' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
