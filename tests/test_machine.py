"""The queues and the clock that both machines have."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair import CLIENT, SERVER

from mcp_sansio import (
    Client,
    ClientConfig,
    Diagnostic,
    Endpoint,
    LineWire,
    LocalProtocolError,
    Machine,
    Server,
    ServerConfig,
    Wire,
)
from mcp_sansio._machine import MachineBase

NOTE = Diagnostic("note", "a note")


class Recorder:
    """Handlers that write down when they ran."""

    def __init__(self, machine: MachineBase) -> None:
        self.machine = machine
        self.ran: list[tuple[Any, float]] = []

    def note(self, argument: Hashable, now: float) -> None:
        self.ran.append((argument, now))

    def other(self, argument: Hashable, now: float) -> None:
        self.ran.append((("other", argument), now))

    def again(self, argument: Hashable, now: float) -> None:
        """Set one more timer, due at once, while timers run."""
        self.ran.append((argument, now))
        if isinstance(argument, int) and argument > 0:
            self.machine.set_timer(self.again, now, argument - 1)


def test_both_machines_and_their_parts_have_the_contract() -> None:
    client, server = Client(ClientConfig(info=CLIENT)), Server(ServerConfig(info=SERVER))
    machines: list[Machine] = [client, server]
    endpoints: list[Endpoint] = [client, server.open()]
    wires: list[Wire] = [LineWire(endpoint, 0.0) for endpoint in endpoints]
    assert [machine.next_event() for machine in machines] == [None, None]
    assert [wire.closed for wire in wires] == [False, False]
    assert [wire.want_read for wire in wires] == [True, True]


def test_events_come_in_the_order_in_which_they_happened() -> None:
    machine = MachineBase()
    machine.emit(NOTE)
    machine.emit(Diagnostic("second", "another"))
    assert machine.next_event() is NOTE
    assert machine.next_event() == Diagnostic("second", "another")
    assert machine.next_event() is None


def test_a_wire_is_ready_once_however_often_it_was_woken() -> None:
    client = Client(ClientConfig(info=CLIENT))
    wire = LineWire(client, 0.0)
    assert client.next_ready() is wire
    assert client.next_ready() is None
    for _ in range(3):
        client.wake(wire)
    assert client.next_ready() is wire
    assert client.next_ready() is None


def test_timers_run_when_due_in_the_order_of_their_deadlines() -> None:
    machine = MachineBase()
    recorder = Recorder(machine)
    for argument, when in ((1, 3.0), (2, 1.0), (3, 2.0)):
        machine.set_timer(recorder.note, when, argument)
    assert machine.next_timeout() == 1.0
    machine.handle_timeout(2.5)
    assert recorder.ran == [(2, 2.5), (3, 2.5)]
    assert machine.next_timeout() == 3.0


def test_early_and_repeated_timeouts_do_nothing() -> None:
    machine = MachineBase()
    recorder = Recorder(machine)
    machine.set_timer(recorder.note, 5.0)
    machine.handle_timeout(4.999)
    assert recorder.ran == []
    assert machine.next_timeout() == 5.0
    machine.handle_timeout(5.0)
    machine.handle_timeout(5.0)
    assert recorder.ran == [(None, 5.0)]
    assert machine.next_timeout() is None


def test_a_timer_is_known_by_its_handler_and_argument() -> None:
    machine = MachineBase()
    recorder = Recorder(machine)
    machine.set_timer(recorder.note, 1.0, "a")
    machine.set_timer(recorder.note, 2.0, "a")
    machine.set_timer(recorder.other, 1.0, "a")
    machine.set_timer(recorder.note, 1.0, "b")
    machine.cancel_timer(recorder.note, "b")
    machine.cancel_timer(recorder.note, "never set")
    machine.handle_timeout(1.0)
    assert recorder.ran == [(("other", "a"), 1.0)]
    machine.handle_timeout(2.0)
    assert recorder.ran[1:] == [("a", 2.0)]


def test_what_falls_due_while_timers_run_runs_too() -> None:
    machine = MachineBase()
    recorder = Recorder(machine)
    machine.set_timer(recorder.again, 1.0, 3)
    machine.handle_timeout(1.0)
    assert [argument for argument, _ in recorder.ran] == [3, 2, 1, 0]
    assert machine.next_timeout() is None


def test_time_never_goes_backwards() -> None:
    machine = MachineBase()
    assert machine.tick(10.0) == 10.0
    assert machine.tick(3.0) == 10.0
    assert machine.tick(math.nan) == 10.0
    recorder = Recorder(machine)
    machine.set_timer(recorder.note, 9.0)
    machine.handle_timeout(1.0)  # it is ten already, whatever the caller believes
    assert recorder.ran == [(None, 10.0)]


def test_a_deadline_is_a_number() -> None:
    machine = MachineBase()
    with pytest.raises(LocalProtocolError):
        machine.set_timer(Recorder(machine).note, math.nan)
    assert machine.next_timeout() is None


def test_handles_are_counted() -> None:
    machine = MachineBase()
    assert [machine.new_call_id().number for _ in range(3)] == [1, 2, 3]
    assert [(op.number, op.kind) for op in (machine.new_op("get"), machine.new_op("list"))] == [
        (1, "get"),
        (2, "list"),
    ]


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 100)), max_size=30), st.lists(st.floats(-10, 110)))
def test_after_a_timeout_the_next_one_is_later(timers: list[tuple[int, float]], moments: list[float]) -> None:
    machine = MachineBase()
    recorder = Recorder(machine)
    for argument, when in timers:
        machine.set_timer(recorder.note, when, argument)
    for moment in moments:
        machine.handle_timeout(moment)
        upcoming = machine.next_timeout()
        assert upcoming is None or upcoming > machine.tick(moment)
    machine.handle_timeout(math.inf)
    assert sorted(argument for argument, _ in recorder.ran) == sorted({argument for argument, _ in timers})
