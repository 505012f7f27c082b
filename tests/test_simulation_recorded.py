"""The nodes that do what a recording has, and those of its verbs that no kept recording happens to have."""

from __future__ import annotations

from typing import Any

import pytest
from recordings.server import CONFIG, SERVING

from mcp_sansio import LEGACY_VERSIONS, ClientConfig, Implementation, ListingConfig
from mcp_sansio._reports import Report
from mcp_sansio._trace import Trace
from mcp_sansio.simulation._node import Action, Hangup, Write
from mcp_sansio.simulation._recordings.recorded import RecordedClient, RecordedServer

WELCOME = (
    b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":'
    b'{"prompts":{},"completions":{}},"serverInfo":{"name":"s","version":"1"}}}\n'
)
PROMPT = {"prompt": {"name": "p", "arguments": [{"name": "a"}]}, "completers": {"a": None}}


def client(**config: Any) -> RecordedClient:
    """One that is connected."""
    info = Implementation("c", "1")
    made = RecordedClient(ClientConfig(info=info, versions=LEGACY_VERSIONS, **config), ListingConfig(), [0.5])
    made.start(0.0)
    made.opened("x", 0.0)
    said(made)
    made.receive("x", WELCOME, 0.0)
    said(made)
    return made


def said(node: Any) -> list[Action]:
    return [*node.actions(0.0, ())]


def written(node: Any) -> str:
    return "".join(action.data.decode() for action in said(node) if isinstance(action, Write))


@pytest.mark.parametrize(
    ("verb", "data", "sent"),
    [
        ("list", {"stale_ok": True}, "prompts/list"),
        ("page", {"cursor": "", "limits": {"quiet": 1.0, "total": 2.0}}, '"cursor":""'),
        ("refresh", {}, "prompts/list"),
        (
            "get",
            {"name": "p", "arguments": {"a": "1"}, "meta": {"m": 1}, "progress": True},
            '"progressToken"',
        ),
        ("complete", {"name": "p", "argument": "a", "value": "v", "context": {}}, "completion/complete"),
        ("request", {"method": "ping"}, "ping"),
        ("notify", {"method": "own", "params": {"a": 1}}, '"params":{"a":1}'),
        ("unheard of", {}, ""),
        ("get", {"name": 5}, ""),  # misuse, which did nothing then either
    ],
)
def test_what_an_application_did(verb: str, data: dict[str, Any], sent: str) -> None:
    node = client()
    node.command(verb, data, 1.0)
    assert sent in written(node)


def test_what_was_given_up_is_given_up() -> None:
    node = client()
    node.command("request", {"method": "ping"}, 1.0)
    node.command("get", {"name": "p"}, 1.0)
    said(node)
    node.command("cancel", {"call": 2}, 1.0)
    node.command("cancel", {"op": 7}, 1.0)
    node.command("cancel", {"op": 1}, 1.0)
    assert written(node).count("notifications/cancelled") == 2


@pytest.mark.parametrize(
    ("answer", "sent"),
    [({"result": {"roots": []}}, '"roots":[]'), ({"error": {"code": -1, "message": "no"}}, '"code":-1')],
)
def test_what_a_server_asked_is_answered(answer: dict[str, Any], sent: str) -> None:
    node = client(answers=("roots/list",))
    node.receive("x", b'{"jsonrpc":"2.0","id":9,"method":"roots/list"}\n', 1.0)
    said(node)
    node.command("answer", {"id": 8, **answer}, 1.0)
    assert written(node) == ""
    node.command("answer", {"id": 9, **answer}, 1.0)
    assert sent in written(node)


@pytest.mark.parametrize(("how", "reason"), [("eof", "it ended"), ("reset", "it broke")])
def test_how_a_connection_ended_is_told(how: str, reason: str) -> None:
    node = client()
    node.command("ending", {"reason": reason}, 1.0)
    node.closed("x", how, 1.0)
    reports = [action for action in said(node) if isinstance(action, Report)]
    assert Report("disconnected", {"reason": reason}) in reports
    node.closed("x", how, 2.0)
    node.receive("x", b"too late\n", 2.0)
    assert said(node) == []


def test_a_client_closes() -> None:
    node = client()
    node.handle_timeout(0.5)
    node.command("close", {"reason": "enough"}, 1.0)
    assert Hangup("x") in said(node)


def server() -> RecordedServer:
    """One with a prompt, and an initialized peer."""
    made = RecordedServer(CONFIG, SERVING, {"x": "somebody"})
    made.start(0.0)
    made.command("edit", {"put": [], "remove": [], "prompts": [PROMPT]}, 0.0)
    made.opened("x", 0.0)
    params = '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}'
    made.receive("x", f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}\n'.encode(), 0.0)
    said(made)
    return made


def asking(method: str, params: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{params}}}\n'.encode()


GET = asking("prompts/get", '{"name":"p","_meta":{"progressToken":1}}')
COMPLETE = asking(
    "completion/complete", '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}'
)
MESSAGE = {"role": "user", "content": {"type": "text", "text": "hello"}}


@pytest.mark.parametrize(
    ("asked", "answer", "sent"),
    [
        (GET, {"result": {"messages": [MESSAGE]}}, '"text":"hello"'),
        (GET, {"failed": "it broke"}, "-32603"),
        (GET, {"error": {"code": -7, "message": "no", "data": None}}, '"code":-7'),
        (GET, {"ask": {}, "state": 1}, "-32603"),  # a legacy client cannot be asked so
        (COMPLETE, {"values": ["v"]}, '"values":["v"]'),
        (COMPLETE, {"completion": {"values": ["v"], "total": 9, "has_more": True}}, '"total":9'),
        (COMPLETE, {"result": {"own": 1}}, '"own":1'),
    ],
)
def test_what_a_server_answered(asked: bytes, answer: dict[str, Any], sent: str) -> None:
    node = server()
    node.receive("x", asked, 1.0)
    said(node)
    node.command("answer", {"link": "x", "id": 3, **answer}, 1.0)
    node.command("progress", {"link": "x", "id": 3, "value": 1}, 1.0)
    assert written(node) == ""
    node.command("answer", {"link": "x", "id": 2, **answer}, 1.0)
    assert sent in written(node)


def test_what_a_server_did_meanwhile() -> None:
    node = server()
    node.receive("x", GET, 1.0)
    said(node)
    node.command("progress", {"link": "x", "id": 2, "value": 0.5, "message": "half"}, 1.0)
    assert '"message":"half"' in written(node)
    node.command("edit", {"put": [], "remove": ["p"], "prompts": []}, 1.0)
    node.command("changed", {"topic": "promptsListChanged"}, 1.0)
    node.handle_timeout(2.0)
    assert node.catalogue.snapshot.names == ()
    node.command("close", {}, 3.0)
    assert Hangup("x") in said(node)


def test_nobody_in_particular_is_no_principal() -> None:
    noted: list[Any] = []
    node = RecordedServer(CONFIG, SERVING)
    node.note = lambda *event: noted.append(event)
    node.opened("x", 0.0)
    assert noted == []


def test_a_function_that_proposes_is_not_called() -> None:
    node = server()
    node.receive("x", COMPLETE, 1.0)
    said(node)
    completer: Any = node.catalogue.snapshot.entries["p"].completers["a"]
    assert completer("", {}) == []


def test_settings_of_another_version_are_left_out() -> None:
    trace = Trace()
    info = {"name": "c", "version": "1"}
    settings = {
        "client": {"info": info, "unheard": 1, "versions": ["2025-11-25"]},
        "listing": {"eager": False},
    }
    trace.add(0.0, "op", "c", data=["settings", settings])
    node = RecordedClient.of(trace, "c")
    assert node.client.config.versions == ("2025-11-25",)
    assert node.prompts.listing.config.eager is False
