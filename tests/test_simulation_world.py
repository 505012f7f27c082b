"""Worlds: connections, clocks, processes, and what the trace says of them."""

from __future__ import annotations

import attrs
import pytest
from simulated import Talker, kinds, pair, world

from mcp_sansio.simulation import PROPERTIES, TORTURE, run_seed
from mcp_sansio.simulation._links import CAPACITY, Arming, Pipe, Rule
from mcp_sansio.simulation._node import Node
from mcp_sansio.simulation._world import Clock, Unsettled


def test_a_connection_takes_time_and_is_known_at_both_ends() -> None:
    made, a, b = pair()
    assert (a.heard[-1], b.heard[-1]) == ((1.0, "open x"), (1.0, "open x"))
    assert kinds(made.trace) == ["node", "node", "op", "open", "open"]


def test_bytes_arrive_in_order_after_the_latency() -> None:
    made, _, b = pair()
    made.command("a", "say", conn="x", data=b"one\n")
    made.command("a", "say", conn="x", data=b"two\nthr")
    made.command("a", "say", conn="x", data=b"ee\n")
    made.settle(10)
    assert b.heard[2:] == [(2.0, b"one\n"), (2.0, b"two\n"), (2.0, b"thr"), (2.0, b"ee\n")]
    taken = [event.data for event in made.trace if event.kind == "in"]
    assert taken == ["one", "two", "three"]


def test_what_arrives_is_caused_by_what_was_sent() -> None:
    made, _, _ = pair()
    made.command("a", "say", conn="x", data=b"one\n")
    made.settle(10)
    taken = next(event for event in made.trace if event.kind == "in")
    sent = made.trace.events[taken.cause]
    assert (sent.kind, sent.node, made.trace.events[sent.cause].kind) == ("out", "a", "op")


def test_who_hangs_up_is_heard_after_what_it_said() -> None:
    made, _, b = pair()
    made.command("a", "say", conn="x", data=b"bye\n")
    made.command("a", "hang up", conn="x")
    made.command("a", "say", conn="x", data=b"too late\n")
    made.settle(10)
    assert (b.data, b.words[-1]) == (b"bye\n", "eof")


def test_an_end_of_input_leaves_the_other_direction_alone() -> None:
    made, a, _ = pair()
    made.links["x"].pipes["a"].end()
    made.settle(10)
    made.command("b", "say", conn="x", data=b"still here\n")
    made.settle(10)
    assert a.data == b"still here\n"


def test_a_last_line_counts_at_the_end_of_input() -> None:
    made, _, _ = pair()
    made.command("a", "say", conn="x", data=b"rest")
    made.command("a", "hang up", conn="x")
    made.settle(10)
    assert [event.data for event in made.trace if event.kind == "in"] == ["rest"]


def test_a_reset_is_told_and_ends_both_directions() -> None:
    made, a, b = pair()
    made.links["x"].cut()
    made.settle(10)
    assert (a.words[-1], b.words[-1]) == ("reset", "reset")
    made.command("a", "say", conn="x", data=b"nobody\n")
    made.settle(10)
    assert b.data == b""


def test_a_reset_by_a_node() -> None:
    made, _, b = pair()
    made.command("a", "hang up", conn="x", reset=True)
    made.settle(10)
    assert b.words[-1] == "reset"


def test_a_silenced_connection_ends_when_somebody_notices() -> None:
    made, a, _ = pair()
    made.links["x"].silence()
    made.command("b", "say", conn="x", data=b"lost\n")
    made.settle(10)
    assert a.data == b""
    made.notice(made.links["x"], "a")
    made.notice(made.links["x"], "b")
    made.settle(10)
    assert a.words[-1] == "reset"
    made.notice(made.links["x"], "a")  # it knows already
    made.settle(10)
    assert a.words.count("reset") == 1


@pytest.mark.parametrize("to", ["nobody", "b"])
def test_a_dial_that_nobody_answers_is_refused(to: str) -> None:
    made, a = world(), Talker()
    made.add("a", a)
    if to == "b":
        made.add("b", Talker())
        made.crash("b")
    made.command("a", "dial", conn="x", to=to)
    made.settle(10)
    assert a.words[-1] == "refused"


def test_a_partition_refuses_dials_until_it_is_over() -> None:
    made, a, b = world(), Talker(), Talker()
    made.add("a", a)
    made.add("b", b)
    made.partitioned["a", "b"] = 5.0
    made.command("a", "dial", conn="x", to="b")
    made.run(5.0)
    made.command("a", "dial", conn="y", to="b")
    made.settle(10)
    assert a.words[-2:] == ["refused", "open y"]


def test_a_full_pipe_is_told_to_the_writer_until_there_is_room() -> None:
    made, a, b = pair()
    b.wants = False
    made.command("a", "say", conn="x", data=b"x" * CAPACITY + b"y\n")
    made.settle(10)
    assert made.links["x"].pipes["a"].full
    made.turn("a")
    assert a.saw_full[-1]
    b.wants = True
    made.turn("b")
    assert len(b.data) == CAPACITY + 2
    assert not a.saw_full[-1]


def test_who_does_not_read_still_learns_of_the_end_afterwards() -> None:
    made, _, b = pair()
    b.wants = False
    made.command("a", "say", conn="x", data=b"1\n")
    made.command("a", "hang up", conn="x")
    made.settle(10)
    assert b.words == ["start", "open x"]
    b.wants = True
    made.turn("b")
    assert b.words[-1] == "eof"


# --- processes and clocks -----------------------------------------------------------------------------


def test_a_crash_resets_connections_and_forgets_what_was_on_its_way() -> None:
    made, a, b = pair()
    made.command("a", "say", conn="x", data=b"never read\n")
    made.crash("b")
    made.settle(10)
    assert a.words[-1] == "reset"
    assert b.data == b""
    made.start("b")
    made.command("b", "wake at", when=20.0)
    made.run(30.0)
    assert b.words[-2:] == ["start", "alarm"]


def test_a_crash_while_dialling() -> None:
    made, a, b = world(), Talker(), Talker()
    made.add("a", a)
    made.add("b", b)
    made.command("a", "dial", conn="x", to="b")
    made.crash("a")
    made.settle(10)
    assert b.words == ["start"]
    made.turn("a")  # nothing is asked of the dead
    made.command("a", "report")
    assert kinds(made.trace)[-1] != "obs"


def test_a_frozen_node_goes_on_where_it_stopped() -> None:
    made, a, b = pair()
    made.seats["b"].frozen = True
    b.alarm = 3.0
    made.turn("b")
    made.command("a", "say", conn="x", data=b"hello\n")
    made.run(9.0)
    assert b.words == ["start", "open x"]
    made.thaw("b")
    made.settle(10)
    assert b.data == b"hello\n"
    assert b.words[-1] == "alarm"
    assert a.data == b""


def test_an_alarm_that_was_moved_rings_once() -> None:
    made, a, _ = pair()
    made.command("a", "wake at", when=5.0)
    made.command("a", "wake at", when=7.0)
    made.run(20.0)
    assert [entry for entry in a.heard if entry[1] == "alarm"] == [(7.0, "alarm")]


def test_a_clock_of_its_own() -> None:
    clock = Clock(offset=100.0)
    assert (clock.local(5.0), clock.world(105.0)) == (105.0, 5.0)
    clock.set(10.0, rate=0.5)
    assert (clock.local(10.0), clock.local(20.0), clock.world(115.0)) == (110.0, 115.0, 20.0)
    clock.set(20.0, jump=-15.0)
    assert clock.local(20.0) == 100.0


@pytest.mark.parametrize("rate", [0.9, 1.1, 1.0 / 3])
def test_a_deadline_is_never_early_by_the_clock_that_it_is_of(rate: float) -> None:
    clock = Clock(offset=0.1, rate=rate, since=0.7)
    for step in range(1, 200):
        assert clock.local(clock.world(step * 0.37)) >= step * 0.37


def test_time_by_the_clock_of_the_node() -> None:
    made, a = world(), Talker()
    made.add("a", a, Clock(offset=1000.0))
    made.command("a", "wake at", when=1005.0)
    made.run(4.0)
    made.seats["a"].clock.set(made.now, jump=-2.0)
    made.rearm("a")
    made.run(20.0)
    assert a.heard == [(1000.0, "start"), (1005.0, "alarm")]
    assert [event.time for event in made.trace if event.kind == "timer"] == [7.0]


# --- the rest -----------------------------------------------------------------------------------------


def test_what_does_not_come_to_rest_is_named() -> None:
    made, _, _ = pair()
    made.command("a", "wake at", when=100.0)
    with pytest.raises(Unsettled, match="a waits until 100"):
        made.settle(5)


def test_reports_situations_and_phases_are_in_the_trace() -> None:
    made, _, _ = pair()
    made.command("a", "report", word=1)
    made.sometimes("this")
    made.sometimes("this")
    made.rest()
    tail = [(event.kind, event.data) for event in made.trace][-6:]
    assert tail[0] == ("op", ["report", {"word": 1}])
    assert tail[1:] == [
        ("obs", ["said", {"word": 1}]),
        ("sometimes", "this"),
        ("phase", "rest"),
        ("obs", ["rest", {}]),
        ("obs", ["rest", {}]),
    ]
    assert made.situations == {"this": 2}


def test_the_defaults_of_a_node() -> None:
    node = Node()
    node.note("kind", "", None)
    assert (node.reading("x"), node.accepting(), node.next_timeout(), node.observe()) == (
        True,
        True,
        None,
        {},
    )
    node.start(0.0)
    node.opened("x", 0.0)
    node.closed("x", "eof", 0.0)
    node.handle_timeout(0.0)
    for call in (lambda: node.receive("x", b"", 0.0), lambda: node.actions(0.0, frozenset())):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError, match="Node knows no dance"):
        node.command("dance", {}, 0.0)


def test_a_node_that_tells_notes_its_messages_itself() -> None:
    made, a, b = pair()
    a.tells = b.tells = True
    b.unit = b""
    made.command("a", "say", conn="x", data=b"1\n2\n")
    made.settle(10)
    assert b.heard[-1] == (2.0, b"1\n2\n")
    b.note("in", "x", "1")
    assert kinds(made.trace)[-1] == "in"
    assert "out" not in kinds(made.trace)


def test_where_messages_pass_whole_each_is_written_by_itself() -> None:
    made, _, b = pair()
    made.whole = True
    made.links["x"].pipes["a"].rules = (Arming("cut", "cut", 0, _cut_after_one()),)
    made.command("a", "say", conn="x", data=b"one\ntwo\nthree\n")
    made.settle(10)
    assert b.data == b"one\n"
    sent = [event for event in made.trace if event.kind == "out"]
    assert [event.data for event in sent] == ["one", "two", "three"]


def _cut_after_one() -> Rule:
    seen: list[bytes] = []

    def cut(pipe: Pipe, data: bytes) -> bool:
        seen.append(data)
        if len(seen) > 1:
            pipe.end()
        return len(seen) > 1

    return cut


def test_torture_at_the_fidelity_of_messages() -> None:
    whole = attrs.evolve(TORTURE, whole=True)
    struck: set[str] = set()
    for seed in range(40):
        outcome = run_seed(whole, seed, PROPERTIES)
        assert outcome.violation is None, f"{seed}: {outcome.violation}"
        struck |= {event.data[0] for event in outcome.trace if event.kind == "fault"}
    assert not struck & {"split", "drip", "crlf"}
    assert struck & {"cut-fin", "cut-reset", "cut-silently"}
