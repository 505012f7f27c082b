"""The peers against each other: what they show of themselves is what the live tests may rely on."""

import json
import subprocess
from typing import Any

import pytest
from live import Command, raw_server, sdk_client, sdk_server, served, tampered
from registry import ASK, CONTROL, Registry

pytestmark = pytest.mark.live

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
RETITLE = {"op": "retitle", "name": "prompt-001", "value": "New"}


def changed(size: int) -> list[dict[str, Any]]:
    """The list after the change above."""
    registry = Registry(size)
    registry.change(**RETITLE)
    return registry.list()


def talk(command: Command, *requests: dict[str, Any]) -> tuple[list[Any], subprocess.CompletedProcess[bytes]]:
    """Send these requests at once, close the pipe, and read what a server says until it exits."""
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in requests)
    done = subprocess.run(command, input=lines, capture_output=True, timeout=60, check=False)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")], done


def request(ident: int, method: str, **params: Any) -> dict[str, Any]:
    return {"id": ident, "method": method, "params": params}


@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
def test_both_sdk_peers_speak_the_revision_that_the_client_is_forced_to(revision: str) -> None:
    report = sdk_client(
        sdk_server(prompts=25),
        revision=revision,
        get=[("prompt-001", {"topic": "rain"}), ("nowhere", {}), ("prompt-001", {})],
        complete=[("prompt-002", "tone", "f")],
        change=(CONTROL, RETITLE),
    )
    rendered, unknown, missing = report["got"]
    assert report["protocolVersion"] == revision
    assert report["prompts"] == Registry(25).list()
    assert report["pages"] == 3
    assert rendered["messages"][0]["content"]["text"] == "prompt-001: topic=rain"
    assert (unknown["error"]["code"], unknown["error"]["message"]) == (-32602, "Unknown prompt: nowhere")
    assert (missing["error"]["code"], missing["error"]["message"]) == (
        -32602,
        "Missing required argument: topic",
    )
    assert report["completed"][0]["completion"]["values"] == ["formal", "furious"]
    assert report["changed"]
    assert report["relisted"] == changed(25)


@pytest.mark.parametrize("revision", [LEGACY[-1], MODERN])
@pytest.mark.parametrize("replies", ["sse", "json"])
def test_both_sdk_peers_speak_http(revision: str, replies: str) -> None:
    with served(sdk_server(http=True, prompts=25, json=replies == "json")) as server:
        report = sdk_client(
            server.url, revision=revision, get=[("prompt-001", {"topic": "rain"})], change=(CONTROL, RETITLE)
        )
    assert report["protocolVersion"] == revision
    assert report["prompts"] == Registry(25).list()
    assert report["got"][0]["messages"][0]["content"]["text"] == "prompt-001: topic=rain"
    assert report["changed"]
    assert report["relisted"] == changed(25)


@pytest.mark.parametrize("revision", LEGACY[1:])
def test_the_sdk_server_can_be_forced_to_a_revision_over_http(revision: str) -> None:
    with served(sdk_server(http=True, prompts=3, revision=revision)) as server:
        report = sdk_client(server.url, mode="auto")
    assert report["protocolVersion"] == revision
    assert report["capabilities"]["prompts"] == {"listChanged": True}


@pytest.mark.parametrize("revision", [LEGACY[0], MODERN])
def test_the_sdk_server_can_be_forced_to_a_revision(revision: str) -> None:
    report = sdk_client(sdk_server(prompts=3, revision=revision))
    assert report["protocolVersion"] == revision
    assert report["capabilities"]["prompts"] == {"listChanged": True}


def test_a_modern_sdk_server_asks_and_the_sdk_client_answers() -> None:
    report = sdk_client(sdk_server(prompts=3), get=[(ASK, {})], answer={"topic": "rain"})
    text = report["got"][0]["messages"][0]["content"]["text"]
    assert text == 'asked: {"action":"accept","content":{"topic":"rain"}}'


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_raw_server_behaves_unless_told_otherwise(mode: str) -> None:
    report = sdk_client(raw_server(), mode=mode, change=(CONTROL, RETITLE))
    assert report["protocolVersion"] == (MODERN if mode == "auto" else LEGACY[-1])
    assert report["prompts"] == Registry(30).list()
    assert report["changed"]
    assert report["relisted"] == changed(30)


def test_the_raw_server_misbehaves_when_told() -> None:
    answers, _ = talk(raw_server(legacy=True, mute="ping"), request(1, "server/discover"), request(2, "ping"))
    assert [(each["id"], each["error"]["code"]) for each in answers] == [(1, -32601)]
    answers, done = talk(raw_server(silent=True, banner="Hello!", stderr=262144), request(1, "tools/list"))
    assert (answers, done.stdout, len(done.stderr)) == ([], b"Hello!\n", 262144)
    answers, done = talk(raw_server(exit_at=2, exit_code=3), request(1, "ping"), request(2, "ping"))
    assert ([each["id"] for each in answers], done.returncode) == ([1], 3)
    answers, done = talk(raw_server(close_at=2), request(1, "ping"), request(2, "ping"))
    assert ([each["id"] for each in answers], done.returncode) == ([1], 0)
    answers, _ = talk(raw_server(same_cursor=True, page=1), request(1, "prompts/list", cursor="7"))
    assert answers[0]["result"]["nextCursor"] == "0"


def test_tampering_drops_notifications_and_keeps_old_pages() -> None:
    report = sdk_client(
        tampered(raw_server(), quiet=True, stale=True), mode="legacy", change=(CONTROL, RETITLE), timeout=1
    )
    assert not report["changed"]
    assert report["relisted"] == report["prompts"] == Registry(30).list()


def test_tampering_ignores_cursors_and_dies() -> None:
    asked = [request(1, "prompts/list"), request(2, "prompts/list", cursor="10")]
    answers, done = talk(tampered(raw_server(), ignore_cursors=True), *asked)
    assert [each["result"]["prompts"][0]["name"] for each in answers] == ["prompt-000", "prompt-000"]
    assert done.returncode == 0
    _, done = talk(tampered(raw_server(), die_at=2, exit_code=7), *asked)
    assert done.returncode == 7
