"""The tap's traces: what stood between a host and a server is judged by the checkers of simulated worlds."""

import json
import subprocess
from pathlib import Path

import pytest
from live import sdk_server
from test_tap import CAT, LIST, TAP, live, through

from mcp_sansio.simulation import PROPERTIES, Trace, verdicts
from mcp_sansio_adapters.tap import CHILD_ERRORS, FROM_SERVER, TO_SERVER, Record, Traced
from mcp_sansio_adapters.tap.records import note


@live
def test_a_conversation_becomes_a_trace(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    for _ in range(2):  # the second takes the place of the first
        host = (*LIST, "--", *TAP, "--trace", str(file), "--", *sdk_server(prompts=3))
        subprocess.run(host, check=True, capture_output=True, timeout=60)
    trace = Trace.parse(file.read_bytes().splitlines())
    assert trace.header.source == "tap"
    kinds = [event.kind for event in trace]
    assert (kinds[:3], kinds[-1], kinds.count("node")) == (["node", "open", "out"], "end", 1)
    assert kinds.count("out") >= 3
    found = {verdict.property: str(verdict) for verdict in verdicts(trace, PROPERTIES)}
    assert (found["S8"], found["C18"]) == ("held", "held")
    assert file.stat().st_mode & 0o777 == 0o600


@live
def test_a_trace_hides_what_it_is_told_to(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    told = b'{"arguments":{"password":"secret"},"name":"shown"}\nnot JSON, but secret\n'
    assert through(CAT, told, "--trace", str(file), "--hide", "arguments").stdout == told
    written = file.read_bytes()
    assert b"secret" not in written
    assert b"shown" in written


@live
@pytest.mark.parametrize(
    "options",
    [("--hide", "x"), ("--trace", "t", "--json"), ("--trace", "t", "--output", "o"), ("--trace", "/")],
)
def test_a_trace_is_asked_for_alone(options: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run((*TAP, *options, "--", *CAT), cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2


def test_what_a_trace_has_of_records() -> None:
    traced = Traced()
    records = [
        note({"started": ["server"]}, 1.0),
        Record(2.0, TO_SERVER, b"{}"),
        Record(2.0, CHILD_ERRORS, b"stderr is nobody's message"),
        note({"lost": FROM_SERVER, "bytes": 7}, 3.0),
        note({"exited": 0}, 4.0),
    ]
    events = [json.loads(line) for record in records for line in traced(record)][1:]
    assert [(event["t"], event["k"], event.get("d")) for event in events] == [
        (1.0, "node", "client"),
        (1.0, "open", None),
        (2.0, "out", "{}"),
        (3.0, "fault", ["lost", {"lost": "from-server", "bytes": 7}]),
        (4.0, "end", "eof"),
    ]
