"""The state tables: total, reachable, and every row of them in use.

The scenarios below drive clients and servers through their public doors only, while `Table.next` is
watched. A row that none of them takes is a row that nobody needs, or a scenario that nobody has tried.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import pytest
from driven import (
    DISCOVERED,
    LISTEN,
    META,
    MODERN,
    UNSUPPORTED,
    WELCOME,
    acknowledge,
    asked_call,
    close,
    legacy,
    listening,
    lose,
    opening,
    overlapping,
    probing,
    sent_call,
    serving,
    shaking,
    unacknowledged,
    waiting_call,
    walking,
)
from pair import CLIENT

from mcp_sansio import (
    Client,
    ClientConfig,
    Era,
    InputNeeded,
    LocalProtocolError,
    PromptRequested,
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
    script = probing()
    script.reply(1, {**DISCOVERED, "capabilities": {}})
    script.wait(1.0)
    script.prompts.list(script.now)  # what was declared is stale
    script.sent()
    script.reply(2, DISCOVERED)


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
    script.error(1, -32601)
    script.reply(2, {})
    script = overlapping()
    script.error(2, UNSUPPORTED, data={"supported": [MODERN]})
    script = overlapping()
    script.reply(1, DISCOVERED)
    script.error(2, -32601)


# --- calls ------------------------------------------------------------------------------------------


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
