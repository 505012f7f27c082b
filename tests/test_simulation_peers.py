"""Peers that lie: whatever a server says, a client neither breaks, nor hangs, nor piles things up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from simulated import calm, pair

from mcp_sansio._meta import SUBSCRIPTION_ID
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._types import LIST_CHANGED
from mcp_sansio.simulation import TORTURE, run_seed
from mcp_sansio.simulation._checks.properties import PROPERTIES
from mcp_sansio.simulation._faults import ALL, STREAM, STRIKES, Fault, Swarm
from mcp_sansio.simulation._faults_peer import PEER
from mcp_sansio.simulation._links import Arming
from mcp_sansio.simulation._scenarios import Scenario, torture
from mcp_sansio.simulation._world import World

LIES = Scenario("lies", TORTURE.seconds, torture, faults=PEER)
LIES_AND_FAULTS = Scenario("lies and faults", TORTURE.seconds, torture, faults=(*PEER, *ALL))
PAGE = {"prompts": [{"name": "a"}], "ttlMs": 5, "cacheScope": "public"}
TAGGED = {"_meta": {SUBSCRIPTION_ID: 1}}


def told(name: str, message: Any, *draws: tuple[str, int, int]) -> list[Any] | None:
    """What arrives in the place of a message that is lied about; None if it arrives as it is."""
    fault = next(fault for fault in PEER if fault.name == f"peer-{name}")
    assert fault.rule is not None
    made, a, b = pair(*draws)
    pipe = made.links["x"].pipes["a"]
    pipe.rules = (Arming(fault.name, "lie", 0, fault.rule),)
    line = message if isinstance(message, bytes) else msgspec.json.encode(message)
    made.command("a", "say", conn="x", data=line + b"\n")
    made.settle(10)
    assert a.words == ["start", "open x"]
    arrived = [msgspec.json.decode(line) for line in b.data.splitlines()] if b.data != line + b"\n" else None
    struck = [event.data[0] for event in made.trace if event.kind == "fault"]
    assert arrived is None or struck == [fault.name]
    return arrived


def result(value: Any, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def notification(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": TAGGED}


def test_versions() -> None:
    assert told("version", result({"protocolVersion": "x"})) == [result({"protocolVersion": "2024-11-05"})]
    assert told("version", result({"supportedVersions": ["x"]})) == [result({"supportedVersions": []})]
    assert told("version", result({})) is None
    assert told("version", notification("x")) is None


def test_members() -> None:
    assert told("missing", result(PAGE)) == [{"id": 1, "result": PAGE}]
    assert told("missing", result(PAGE), ("peer: object", 3, 2)) == [result({**PAGE, "prompts": [{}]})]
    assert told("type", result(PAGE)) == [{**result(PAGE), "jsonrpc": None}]
    assert told("unknown", result({})) == [{**result({}), "x-unknown": None}]


def test_hints() -> None:
    assert told("ttl", result(PAGE)) == [result({**PAGE, "ttlMs": -1})]
    assert told("ttl", result({})) is None
    assert told("scope", result(PAGE)) == [result({**PAGE, "cacheScope": "private"})]
    assert told("scope", result({**PAGE, "cacheScope": "private"})) == [result(PAGE)]
    assert told("scope", result({})) is None


def test_pages() -> None:
    assert told("cursor", result(PAGE)) == [result({**PAGE, "nextCursor": None})]
    assert told("cursor", result({})) is None
    assert told("prompts", result(PAGE)) == [result({**PAGE, "prompts": [{"name": "a"}] * 2})]
    assert told("prompts", result({})) is None


def test_subscriptions() -> None:
    changed, acknowledged = notification(LIST_CHANGED), notification(ACKNOWLEDGED)
    assert told("tag", changed) == [{**changed, "params": {"_meta": {}}}]
    assert told("tag", changed, ("peer: subscription", 5, 1)) == [
        {**changed, "params": {"_meta": {SUBSCRIPTION_ID: "1"}}}
    ]
    assert told("tag", result({})) is None
    assert told("acknowledged-twice", acknowledged) == [acknowledged] * 2
    assert told("acknowledged-twice", changed) is None
    assert told("ends", acknowledged) == [acknowledged, result(TAGGED)]
    assert told("ends", changed) is None
    untagged: dict[str, Any] = {"jsonrpc": "2.0", "method": LIST_CHANGED, "params": {}}
    assert told("unsolicited", result({})) == [untagged, result({})]
    assert told("unsolicited", result({}), ("peer: unsolicited", 5, 1)) == [changed, result({})]


def test_answers() -> None:
    assert told("twice", result({})) == [result({})] * 2
    assert told("string-id", result({})) == [result({}, "1")]
    assert told("string-id", notification("x")) is None
    assert told("other-id", result({})) == [result({}, 2)]
    assert told("error", result({})) == [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "something"}}
    ]
    assert told("error", notification("x")) is None
    assert told("swallowed", result({})) == []
    assert told("swallowed", notification("x")) is None
    assert told("requests", result({})) == [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, result({})]
    asked: dict[str, Any] = {"resultType": "input_required", "inputRequests": {}, "requestState": "state"}
    assert told("asks", result({})) == [result(asked)]
    assert told("asks", notification("x")) is None
    assert told("result-type", result({})) == [result({"resultType": "task"})]
    assert told("result-type", notification("x")) is None


def test_what_is_no_message_is_not_lied_about() -> None:
    assert told("twice", b"no message") is None
    assert told("twice", b"[]") is None


def test_there_are_kinds_of_fault_enough() -> None:
    kinds = [fault.name for fault in (*STREAM, *STRIKES, *PEER)]
    assert len(kinds) == len(set(kinds)) >= 44
    assert all(fault.about for fault in PEER)
    assert all(fault.name.startswith("peer-") and fault.replies for fault in PEER)


@pytest.mark.parametrize(("faults", "lied_to"), [(PEER, True), ((*ALL, *PEER), False), (ALL, False)])
def test_in_most_runs_nobody_lies(faults: tuple[Fault, ...], lied_to: bool) -> None:
    tape = calm(*((f"swarm {fault.name}", 8, 7) for fault in faults))
    Swarm(World(tape), faults)
    assert lied_to == any(label.startswith("swarm peer-") for label, _, _ in tape.record)


@pytest.mark.parametrize("scenario", [LIES, LIES_AND_FAULTS], ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("seed", range(5))
def test_a_client_that_is_lied_to(scenario: Scenario, seed: int) -> None:
    assert run_seed(scenario, seed, PROPERTIES).violation is None


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [LIES, LIES_AND_FAULTS], ids=lambda scenario: scenario.name)
def test_many_clients_that_are_lied_to(scenario: Scenario) -> None:
    found = {seed: run_seed(scenario, seed, PROPERTIES).violation for seed in range(600)}
    assert {seed: str(violation) for seed, violation in found.items() if violation} == {}
