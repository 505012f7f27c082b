"""Where the rows of the state tables lead, seen by what a client, a server or a wire can still do."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from driven import (
    DISCOVERED,
    META,
    MODERN,
    Driven,
    acknowledge,
    asked_call,
    close,
    legacy,
    listening,
    lose,
    overlapping,
    probing,
    sent_call,
    serving,
    shaking,
    unacknowledged,
    waiting_call,
)
from pair import CLIENT
from script import Script

from mcp_sansio import CallFailed, CallId, Client, ClientConfig, Diagnostic, Era, LineWire, NegotiationFailed


def asked(script: Script) -> list[int]:
    """The ids of the pages that were asked for since the last look."""
    return [message["id"] for message in script.sent() if message.get("method") == "prompts/list"]


def answered(script: Driven, wire_id: int) -> None:
    script.reply(wire_id, {"resultType": "complete", "prompts": []})


def test_after_a_walk_that_was_given_up_the_next_one_starts() -> None:
    script = listening()
    op = script.prompts.list(script.now)
    assert len(asked(script)) == 1
    script.prompts.cancel(op, script.now)
    assert asked(script) == []
    script.prompts.list(script.now)
    assert len(asked(script)) == 1


def test_when_nobody_waits_for_a_walk_the_one_behind_it_starts() -> None:
    script = listening()
    op = script.prompts.list(script.now)
    asked(script)
    script.prompts.refresh(script.now)
    script.prompts.cancel(op, script.now)
    (again,) = asked(script)
    answered(script, again)
    assert asked(script) == []
    script.prompts.refresh(script.now)
    assert len(asked(script)) == 1


def test_a_second_walk_that_nobody_wants_any_more_is_not_made() -> None:
    script = listening()
    script.prompts.list(script.now)
    (first,) = asked(script)
    script.prompts.cancel(script.prompts.refresh(script.now), script.now)
    answered(script, first)
    assert asked(script) == []


def test_a_walk_that_is_wanted_no_more_before_it_could_start_is_not_made() -> None:
    script = probing()
    script.prompts.cancel(script.prompts.list(0.0), 0.0)
    script.reply(1, DISCOVERED)
    script.sent()
    acknowledge(script, promptsListChanged=True)
    assert asked(script) == []
    script.prompts.list(script.now)
    assert len(asked(script)) == 1


NEGOTIATING = pytest.mark.parametrize("reach", [probing, shaking, overlapping, listening, legacy])


@NEGOTIATING
def test_a_client_without_a_carrier_asks_nothing_and_knows_no_era(reach: Callable[[], Driven]) -> None:
    script = reach()
    lose(script)
    assert script.client.era is None
    assert script.client.next_timeout() is None
    script.reconnect()
    assert len(script.sent()) == 1


@NEGOTIATING
def test_a_closed_client_knows_no_era(reach: Callable[[], Driven]) -> None:
    script = reach()
    close(script)
    assert script.client.era is None


def test_a_client_that_was_closed_before_it_had_a_carrier_knows_no_era() -> None:
    client = Client(ClientConfig(info=CLIENT))
    client.close(0.0)
    assert client.era is None


@pytest.mark.parametrize(
    ("reach", "refuse"),
    [
        (partial(probing, versions=(MODERN,)), [(1, -32601)]),
        (shaking, [(1, -32601)]),
        (overlapping, [(1, -32601), (2, -32601)]),
    ],
)
def test_a_negotiation_that_was_given_up_has_found_no_era(
    reach: Callable[[], Driven], refuse: list[tuple[int, int]]
) -> None:
    script = reach()
    for wire_id, error in refuse:
        script.error(wire_id, error)
        script.sent()
    assert script.client.era is None
    assert script.of(NegotiationFailed)


def test_a_late_answer_to_the_probe_waits_for_the_second_handshake_too() -> None:
    script = overlapping()
    script.error(2, -32602, data={"supported": ["2024-11-05"]})
    assert [message["method"] for message in script.sent()] == ["initialize"]
    script.reply(1, DISCOVERED)
    assert script.client.era is None
    script.error(3, -32601)
    assert script.client.era is Era.MODERN


@pytest.mark.parametrize("reach", [waiting_call, asked_call])
def test_what_is_not_under_way_is_not_lost_with_the_carrier(
    reach: Callable[[], tuple[Driven, CallId]],
) -> None:
    script, _ = reach()
    lose(script)
    assert script.of(CallFailed) == []


@pytest.mark.parametrize("reach", [waiting_call, sent_call, asked_call])
def test_closing_ends_a_call_in_every_state(reach: Callable[[], tuple[Driven, CallId]]) -> None:
    script, call = reach()
    close(script)
    assert [failed.call for failed in script.of(CallFailed)] == [call]


def test_a_late_acknowledgement_is_the_last() -> None:
    script = unacknowledged()
    acknowledge(script, promptsListChanged=True)
    script.events()
    acknowledge(script, promptsListChanged=True)
    assert [diagnostic.kind for diagnostic in script.of(Diagnostic)] == ["unknown-acknowledgement"]


def test_a_late_refusal_leaves_the_list_to_be_walked_without_a_channel() -> None:
    script = unacknowledged()
    script.error(2, -32601)
    script.prompts.list(script.now)
    assert len(asked(script)) == 1


def test_a_carrier_that_never_carried_a_channel_is_followed_by_one_that_does() -> None:
    script = probing()
    lose(script)
    script.reconnect()
    (probe,) = script.sent()
    script.reply(probe["id"], DISCOVERED)
    assert [message["method"] for message in script.sent()] == ["subscriptions/listen"]


def test_a_client_that_says_twice_that_it_is_ready_stays_ready() -> None:
    _, server, _ = serving()
    stream = server.open()
    wire = LineWire(stream, 0.0)
    for message in (
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"method": "notifications/initialized"},
        {"method": "notifications/initialized"},
    ):
        wire.receive_data(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n", 0.0)
    wire.data_to_send()
    server.request(stream, "roots/list", None, 0.0)
    assert b"roots/list" in b"".join(wire.data_to_send())


@pytest.mark.parametrize("end", ["close", "abort"])
def test_a_closed_wire_stays_closed(end: str) -> None:
    script, *_ = serving()
    script.wire.abort(0.0)
    assert script.wire.closed
    getattr(script.wire, end)(0.0)
    assert script.wire.closed


def test_a_wire_whose_peer_has_finished_is_closed_when_it_is_aborted() -> None:
    script, *_ = serving()
    script.request(1, "prompts/get", {"name": "p0001", **META})
    script.wire.receive_eof(0.0)
    script.wire.abort(0.0)
    assert script.wire.closed
