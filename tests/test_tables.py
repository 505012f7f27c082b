"""The state tables: total, reachable, and every row of them in use.

The scenarios below drive clients and servers through their public doors only, while `Table.next` is
watched. A row that none of them takes is a row that nobody needs, or a scenario that nobody has tried.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from typing import Any

import pytest
from pair import CLIENT, KEYS, SERVER, catalogue
from script import Script

from mcp_sansio import (
    LEGACY_VERSIONS,
    CallFailed,
    CallId,
    Client,
    ClientConfig,
    Diagnostic,
    Era,
    InputNeeded,
    Limits,
    LineWire,
    LocalProtocolError,
    PromptClient,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
    Verdict,
)
from mcp_sansio._tables import TABLES, Table

AnyTable = Table[Any, Any]
Row = tuple[enum.Enum, enum.Enum]

# --- the tables by themselves -----------------------------------------------------------------------

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def states(table: AnyTable) -> list[enum.Enum]:
    kind: type[enum.Enum] = type(table.start)
    return list(kind)


def inputs(table: AnyTable) -> list[enum.Enum]:
    kind: type[enum.Enum] = type(next(iter(table.rows))[1])
    return list(kind)


@every_table
def test_every_pair_is_a_row_or_raises(table: AnyTable) -> None:
    for state in states(table):
        for event in inputs(table):
            if (state, event) in table.rows:
                assert table.next(state, event) in states(table)
                continue
            with pytest.raises(LocalProtocolError) as raised:
                table.next(state, event)
            assert str(raised.value) == f"{table.name}: {event.value} is impossible in {state.value}"


@every_table
def test_every_state_is_reached_from_the_first(table: AnyTable) -> None:
    reached, new = {table.start}, [table.start]
    while new:
        here = new.pop()
        following = {after for (before, _), after in table.rows.items() if before is here} - reached
        reached |= following
        new += following
    assert reached == set(states(table))


@every_table
def test_every_input_has_a_row(table: AnyTable) -> None:
    assert {event for _, event in table.rows} == set(inputs(table))


@every_table
def test_what_is_called_by_one_name_is_one_thing(table: AnyTable) -> None:
    for names in (states(table), inputs(table)):
        assert len({member.value for member in names}) == len(names)


def test_tables_have_names_of_their_own() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)


# --- clients in every state -------------------------------------------------------------------------

MODERN = "2026-07-28"
ASKING: dict[str, Any] = {"elicitation": {}}
PROMPTS: dict[str, Any] = {"prompts": {"listChanged": True}}
DISCOVERED = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": PROMPTS}
WELCOME = {
    "protocolVersion": "2025-11-25",
    "capabilities": PROMPTS,
    "serverInfo": {"name": "s", "version": "1"},
}
WANTED = {
    "resultType": "input_required",
    "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "?"}}},
}
UNSUPPORTED = -32022


class Driven(Script):
    """A client of prompts under a script."""

    def __init__(self, **config: Any) -> None:
        self.prompts = PromptClient()
        self.client = Client(ClientConfig(info=CLIENT, capabilities=ASKING, **config), self.prompts)
        super().__init__(self.client)


def probing(**config: Any) -> Driven:
    script = Driven(**config)
    script.sent()
    return script


def shaking() -> Driven:
    return probing(versions=LEGACY_VERSIONS)


def overlapping() -> Driven:
    script = probing()
    script.wait(5.0)
    script.sent()
    return script


def opening() -> Driven:
    script = probing()
    script.reply(1, DISCOVERED)
    script.sent()
    return script


def unacknowledged() -> Driven:
    script = opening()
    script.wait(10.0)
    return script


def acknowledge(script: Script, **topics: bool) -> None:
    meta = {"io.modelcontextprotocol/subscriptionId": 2}
    script.notify("notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": topics})
    script.sent()


def listening() -> Driven:
    script = opening()
    acknowledge(script, promptsListChanged=True)
    return script


def legacy() -> Driven:
    script = shaking()
    script.reply(1, WELCOME)
    script.sent()
    return script


def lose(script: Script) -> None:
    script.wire.receive_eof(script.now)


def close(script: Script) -> None:
    script.machine.close(script.now)


# --- negotiation ------------------------------------------------------------------------------------


def negotiation_ends_from_every_state() -> None:
    Client(ClientConfig(info=CLIENT)).close(0.0)
    for reach in (probing, shaking, overlapping, listening, legacy):
        for end in (lose, close):
            end(reach())


def negotiation_probes() -> None:
    script = probing()
    script.error(1, UNSUPPORTED, data={"supported": [MODERN]})
    script.sent()
    script.error(2, UNSUPPORTED, data={"supported": [MODERN]})  # the second time it gives up
    script = probing()
    script.error(1, -32601)  # anything else means legacy


def negotiation_shakes_hands() -> None:
    script = shaking()
    script.error(1, -32602, data={"supported": ["2024-11-05"]})
    script.sent()
    script.error(2, -32602)  # the second time it gives up
    script = probing(verdict=Verdict(Era.LEGACY, "2025-11-25"))
    script.error(1, -32601)  # the verdict is out of date


def negotiation_asks_both() -> None:
    script = overlapping()
    script.reply(2, WELCOME)
    script = overlapping()
    script.error(2, -32602)
    script.sent()
    script.error(3, -32602)
    script = overlapping()
    script.reply(2, {})
    script = overlapping()
    script.error(2, UNSUPPORTED, data={"supported": [MODERN]})
    script = overlapping()
    script.reply(1, DISCOVERED)
    script.error(2, -32601)


# --- calls ------------------------------------------------------------------------------------------


def waiting_call() -> tuple[Driven, CallId]:
    script = probing()
    return script, script.client.request("x/wait", None, 0.0, limits=Limits(total=1.0))


def sent_call() -> tuple[Driven, CallId]:
    script = listening()
    call = script.client.request("tools/call", None, script.now, limits=Limits(total=1.0))
    script.sent()
    return script, call


def asked_call() -> tuple[Driven, CallId]:
    script, call = sent_call()
    script.reply(3, WANTED)
    return script, call


def calls_end_from_every_state() -> None:
    for reach in (waiting_call, sent_call, asked_call):
        for end in (lose, close, lambda script: script.wait(2.0)):
            end(reach()[0])
        script, call = reach()
        script.client.cancel(call, script.now)


def calls_are_answered() -> None:
    script, _ = asked_call()
    for needed in script.of(InputNeeded):
        script.client.provide_input(needed.call, {"q": {"action": "decline"}}, script.now)
    script.sent()
    script.reply(4, {"resultType": "complete"})


# --- listening --------------------------------------------------------------------------------------


def listening_ends_from_every_state() -> None:
    for reach in (opening, unacknowledged, listening):
        script = reach()
        script.reply(2, {"resultType": "complete"})
        lose(script)  # while it backs off
        script = reach()
        script.error(2, -32601)
        lose(script)
        lose(reach())
    lose(shaking())


def listening_goes_on() -> None:
    script = unacknowledged()
    acknowledge(script, promptsListChanged=True)
    script.reply(2, {"resultType": "complete"})
    script.wait(1.0)


# --- walks ------------------------------------------------------------------------------------------


def walking() -> Driven:
    script = listening()
    script.prompts.list(script.now)
    script.sent()
    return script


def walks_of_many_waiters() -> None:
    script = probing()
    for op in [script.prompts.list(0.0), script.prompts.list(0.0)]:
        script.prompts.cancel(op, 0.0)
    script = walking()
    for op in [script.prompts.refresh(script.now), script.prompts.refresh(script.now)]:
        script.prompts.cancel(op, script.now)
    script.prompts.refresh(script.now)
    script.reply(3, {"resultType": "complete", "prompts": []})
    script.sent()
    script.reply(4, {"resultType": "complete", "prompts": []})


def walks_that_nobody_wants() -> None:
    script = listening()
    script.prompts.cancel(script.prompts.list(script.now), script.now)
    close(script)


def walks_lose_their_carrier() -> None:
    lose(walking())
    script = walking()
    script.prompts.refresh(script.now)
    lose(script)


# --- servers ----------------------------------------------------------------------------------------

META = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
LISTEN = {"notifications": {"promptsListChanged": True}, **META}


def serving() -> tuple[Script, Server, PromptServer]:
    prompts = PromptServer(catalogue(3), PromptServerConfig(keys=KEYS))
    server = Server(ServerConfig(info=SERVER), prompts)
    return Script(server), server, prompts


def sessions() -> None:
    script, *_ = serving()
    script.notify("notifications/initialized")
    script.request(1, "initialize", {"protocolVersion": "2025-11-25"})
    script.notify("notifications/initialized")
    script.notify("notifications/initialized")


def replies() -> None:
    script, _, prompts = serving()
    for wire_id in ("a", "b", "c"):
        script.request(wire_id, "prompts/get", {"name": "p0001", **META})
    (first, *_) = script.of(PromptRequested)
    prompts.answer(first, "done", 0.0)
    script.notify("notifications/cancelled", {"requestId": "b"})
    script.wire.abort(0.0)


def subscriptions() -> None:
    for pull in (True, False):
        script, server, _ = serving()
        script.request("l", "subscriptions/listen", LISTEN)
        script.sent()
        server.changed("promptsListChanged", 0.0)  # announced at once
        server.changed("promptsListChanged", 0.01)  # held
        server.changed("promptsListChanged", 0.02)
        script.wait(1.0)  # announced again, but nobody has read the first
        if pull:
            script.sent()
        script.notify("notifications/cancelled", {"requestId": "l"})


# --- wires ------------------------------------------------------------------------------------------


def wires_end() -> None:
    for aborted in (False, True):
        for steps in ((), ("receive_eof",), ("close",), ("close", "close"), ("receive_eof", "close")):
            script, *_ = serving()
            for step in steps:
                getattr(script.wire, step)(0.0)
            if aborted:
                script.wire.abort(0.0)
                script.wire.abort(0.0)
            script.sent()
            script.wire.close(0.0)


# --- all of them ------------------------------------------------------------------------------------

SCENARIOS: tuple[Callable[[], None], ...] = (
    negotiation_ends_from_every_state,
    negotiation_probes,
    negotiation_shakes_hands,
    negotiation_asks_both,
    calls_end_from_every_state,
    calls_are_answered,
    listening_ends_from_every_state,
    listening_goes_on,
    walks_of_many_waiters,
    walks_that_nobody_wants,
    walks_lose_their_carrier,
    sessions,
    replies,
    subscriptions,
    wires_end,
)


@pytest.fixture(scope="module")
def taken() -> dict[str, set[Row]]:
    """The rows that the scenarios take, by table."""
    rows: dict[str, set[Row]] = {table.name: set() for table in TABLES}
    original = Table.next

    def watched(self: AnyTable, state: Any, event: Any) -> Any:
        rows[self.name].add((state, event))
        return original(self, state, event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "next", watched)
        for scenario in SCENARIOS:
            scenario()
    return rows


@every_table
def test_every_row_is_taken(table: AnyTable, taken: dict[str, set[Row]]) -> None:
    never = [row for row in table.rows if row not in taken[table.name]]
    assert not never, f"{table.name}: " + ", ".join(f"{s.name} {e.name}" for s, e in never)


# --- where a row leads is seen by what can still happen ------------------------------------------------


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
