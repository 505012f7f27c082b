"""What is said of a trace, and of what it does not have: nothing is held by want of evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recordings import make

from mcp_sansio._trace import Header, Trace
from mcp_sansio.simulation import PROPERTIES, TORTURE, run_seed
from mcp_sansio.simulation._checking import Checker
from mcp_sansio.simulation._recordings.verdicts import Evidence, Verdict, both_ends, verdicts

RECORDINGS = Path(__file__).parent / "recordings"


def recording(name: str) -> Trace:
    return Trace.parse((RECORDINGS / f"{name}.jsonl").read_bytes().splitlines())


def of(trace: Trace) -> dict[str, Verdict]:
    return {verdict.property: verdict for verdict in verdicts(trace, PROPERTIES)}


def missing(trace: Trace) -> dict[str, str]:
    return {name: verdict.missing for name, verdict in of(trace).items() if verdict.missing is not None}


# --- recordings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", make.ERAS)
def test_a_recorded_client_is_judged_and_so_is_whom_it_spoke_to(era: str) -> None:
    found = of(recording(f"{era}-client"))
    assert [str(verdict) for verdict in found.values() if verdict.violation is not None] == []
    judged = {name for name, verdict in found.items() if verdict.judged}
    assert {f"C{number}" for number in range(1, 23)} - judged == {"C3", "C6"}
    assert {"S1", "S5", "S6", "S7", "S8", "S9"} <= judged
    assert not {"C23", "S2", "S3", "S4", "S11", "S8a", "S12"} & judged


@pytest.mark.parametrize("era", make.ERAS)
def test_a_recorded_server_knows_what_it_had_to_offer(era: str) -> None:
    found = of(recording(f"{era}-server"))
    assert [str(verdict) for verdict in found.values() if verdict.violation is not None] == []
    judged = {name for name, verdict in found.items() if verdict.judged}
    assert {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S8a", "S9", "S11"} <= judged
    assert {"C8", "C16", "C18", "C19"} <= judged
    assert found["C1"].missing == Evidence.REPORTS.value


def test_a_verdict_is_a_word() -> None:
    found = of(recording("modern-client"))
    assert (str(found["C1"]), found["C1"].judged) == ("held", True)
    assert str(found["C3"]) == f"not judged: {Evidence.REST.value}"


def test_a_lie_in_a_recording_is_found() -> None:
    """A server that answers twice, as its client has seen it."""
    trace = recording("modern-client")
    answer = next(e for e in trace if e.kind == "in" and '"result"' in e.data and '"prompts"' in e.data)
    trace.events.insert(answer.index + 1, answer)
    found = of(trace)["S8"]
    assert str(found).startswith("broken: a second answer to ")


def test_a_world_has_everything() -> None:
    trace = run_seed(TORTURE, 0).trace
    assert set(missing(trace).values()) <= {Evidence.CLOSING.value, Evidence.COMMANDS.value}
    assert both_ends(trace).events == trace.events


# --- what is missing --------------------------------------------------------------------------------------


def made(*events: tuple[str, str, str, Any], source: str = "recording") -> Trace:
    trace = Trace(Header(source=source))
    for kind, node, link, data in events:
        trace.add(0.0, kind, node, link, data=data)
    return trace


def test_of_nothing_nothing_is_said() -> None:
    assert set(missing(made())) == {checker.id for checker in PROPERTIES}


def test_an_empty_end_is_judged_for_what_needs_nothing_else() -> None:
    assert "no client" in missing(made(("node", "s", "", "server")))["C18"]
    assert "no server" in missing(made(("node", "c", "", "client")))["S8"]


def test_only_who_was_told_to_close_ends_in_good_order() -> None:
    node = ("node", "s", "", "server")
    assert "S12" in missing(made(node))
    assert "S12" not in missing(made(node, ("op", "s", "", ["close", {}])))


def test_where_messages_were_lost_nothing_is_said() -> None:
    trace = recording("modern-client")
    trace.add(trace.events[-1].time, "fault", "client-1", "client-1/1", data=["lost", {"bytes": 7}])
    assert set(missing(trace).values()) == {"some of the messages were not recorded"}


def test_both_ends_have_the_same_messages() -> None:
    asked, told = '{"jsonrpc":"2.0","id":1,"method":"ping"}', "no JSON"
    whole = both_ends(
        made(
            ("node", "c", "", "client"),
            ("open", "c", "c/1", None),
            ("out", "c", "c/1", asked),
            ("in", "c", "c/1", told),
            ("out", "c", "c/1", told),
            ("open", "c", "c/2", None),
            ("end", "c", "c/1", "eof"),
        )
    )
    assert [(e.kind, e.node, e.link, e.data) for e in whole if e.node == "peer of c"] == [
        ("node", "peer of c", "", "server"),
        ("open", "peer of c", "c/1", None),
        ("in", "peer of c", "c/1", asked),
        ("out", "peer of c", "c/1", told),
        ("in", "peer of c", "c/1", told),
        ("open", "peer of c", "c/2", None),
        ("end", "peer of c", "c/1", "lost"),
    ]
    assert [event.index for event in whole] == list(range(len(whole)))


def test_nobody_is_said_to_have_read_a_cancellation() -> None:
    cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    whole = both_ends(
        made(
            ("node", "c", "", "client"),
            ("open", "c", "c/1", None),
            ("out", "c", "c/1", cancelled),
        )
    )
    assert [event.kind for event in whole if event.node == "peer of c"] == ["node", "open"]


def test_causes_are_kept() -> None:
    trace = made(("node", "c", "", "client"), ("open", "c", "c/1", None), ("in", "c", "c/1", "x"))
    trace.add(0.0, "out", "c", "c/1", data="y", cause=2)
    whole = both_ends(trace)
    out = next(event for event in whole if event.kind == "out" and event.node == "c")
    assert (whole.events[out.cause].kind, whole.events[out.cause].node) == ("in", "c")


def test_ends_that_are_both_recorded_have_no_peers() -> None:
    trace = made(
        ("node", "c", "", "client"),
        ("node", "s", "", "server"),
        ("open", "c", "x", None),
        ("open", "s", "x", None),
        ("out", "c", "x", "message"),
        ("in", "s", "x", "message"),
        ("end", "s", "x", "eof"),
    )
    assert both_ends(trace).events == trace.events


def test_what_happens_apart_from_connections_stays_as_it_is() -> None:
    trace = made(("out", "c", "x", "before anything is known"), ("phase", "", "", "rest"))
    assert both_ends(trace).events == trace.events


def test_a_property_of_the_end_needs_one() -> None:
    class AtTheEnd(Checker):
        id = "X1"
        title = "wrong"

        def at_rest(self) -> str | None:
            return "wrong"

    trace = made(("phase", "", "", "rest"))
    assert [str(verdict) for verdict in verdicts(trace, [AtTheEnd])] == ["broken: wrong"]
    assert [str(v) for v in verdicts(made(), [AtTheEnd])] == [f"not judged: {Evidence.REST.value}"]
