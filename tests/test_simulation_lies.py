"""Servers that lie over HTTP: messages in bodies and events change, what carries them stays HTTP/1.1."""

from __future__ import annotations

from collections import Counter
from typing import Any

import h11
import msgspec
import pytest
from simulated import pair

from mcp_sansio._sse import encode_event
from mcp_sansio.simulation import PROPERTIES, run_seed
from mcp_sansio.simulation._faults_peer import PEER
from mcp_sansio.simulation._http.scenarios import torture_http
from mcp_sansio.simulation._links import Arming
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation.http import PEER_HTTP, TORTURE_HTTP

LIES = Scenario("lies over HTTP", TORTURE_HTTP.seconds, torture_http, PEER_HTTP, TORTURE_HTTP.silence)
RESULT: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}
ERROR = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "something"}}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def written(message: bytes, *, events: bool, media: str = "application/json") -> bytes:
    """A reply as our server writes it."""
    server = h11.Connection(h11.SERVER)
    server.receive_data(b"POST / HTTP/1.1\r\nhost: x\r\n\r\n")
    server.next_event()
    length = [("content-length", str(len(message)))]
    fields = [("content-type", "text/event-stream")] if events else [("content-type", media), *length]
    data = server.send(h11.Response(status_code=200, headers=[*fields, ("x-other", "y")])) or b""
    return data + (server.send(h11.Data(data=encode_event(message) if events else message)) or b"")


def read(reply: bytes) -> bytes:
    """The body of a reply."""
    client, body = h11.Connection(h11.CLIENT), b""
    client.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
    client.receive_data(reply)
    while (event := client.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
        body += event.data if isinstance(event, h11.Data) else b""
    return body


def told(name: str, reply: bytes) -> bytes:
    """What arrives in the place of a reply."""
    fault = next(fault for fault in PEER_HTTP if fault.name == f"peer-{name}")
    assert fault.rule is not None
    made, _, b = pair()
    pipe = made.links["x"].pipes["a"]
    pipe.rules = (Arming(fault.name, "lie", 0, fault.rule),)
    made.command("a", "say", conn="x", data=reply)
    made.settle(10)
    return b.data


def test_every_lie_is_told_over_http_as_well() -> None:
    assert [fault.name for fault in PEER_HTTP] == [fault.name for fault in PEER]


def test_a_body_is_as_long_as_what_it_says() -> None:
    reply = written(msgspec.json.encode(RESULT), events=False)
    assert msgspec.json.decode(read(told("error", reply))) == ERROR
    assert read(told("swallowed", reply)) == b""


def test_events_stay_in_their_chunks() -> None:
    reply = written(msgspec.json.encode(RESULT), events=True)
    events = read(told("requests", reply)).split(b"\n\n")[:2]
    assert [msgspec.json.decode(event.partition(b"data: ")[2]) for event in events] == [REQUEST, RESULT]
    assert read(told("swallowed", reply)) == b""


@pytest.mark.parametrize(
    "reply",
    [
        written(msgspec.json.encode(RESULT), events=False),
        written(b"no message", events=False),
        written(b"no message", events=True),
        written(msgspec.json.encode(RESULT), events=False, media="text/plain"),
        b"no reply at all",
    ],
)
def test_what_cannot_be_told_so_travels_as_it_is(reply: bytes) -> None:
    assert told("requests", reply) == reply


@pytest.mark.parametrize("seed", range(8))
def test_a_client_that_is_lied_to(seed: int) -> None:
    assert run_seed(LIES, seed, PROPERTIES).violation is None


def test_lies_are_told() -> None:
    struck = Counter[str]()
    for seed in range(8):
        struck.update(event.data[0] for event in run_seed(LIES, seed, ()).trace if event.kind == "fault")
    assert len(struck) > 5
    assert all(kind.startswith("peer-") for kind in struck)


@pytest.mark.slow
def test_many_clients_that_are_lied_to() -> None:
    found = {seed: run_seed(LIES, seed, PROPERTIES).violation for seed in range(400)}
    assert {seed: str(violation) for seed, violation in found.items() if violation} == {}
