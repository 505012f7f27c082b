"""The official conformance suite, where it is installed, and that our judgement of what it says is strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from expected import CLIENT, SERVER, WIRES, Scenario
from judging import Check, Result, judge, read_checks, table
from run import ATTEMPTS, Cell, check_server, report_on
from suite import Report, Suite, SuiteError, find

RUNNER = Path(__file__).parent / "conformance" / "run.py"
OK = Check("a", "A", "SUCCESS")


def missing() -> str:
    """Why the suite cannot be run; nothing if it can."""
    try:
        find()
    except SuiteError as error:
        return str(error)
    return ""


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=f"{missing()}: see `python tests/conformance/run.py --help`")
def test_every_check_of_every_scenario_succeeds() -> None:
    done = subprocess.run([sys.executable, str(RUNNER)], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("checks", "amiss"),
    [
        ([OK], ["b: 0 of 1"]),
        ([OK, Check("b", "B", "FAILURE", "why")], ["b: FAILURE why"]),
        ([OK, Check("b", "B", "WARNING")], ["b: WARNING"]),
        ([OK, Check("b", "B", "SKIPPED")], ["b: SKIPPED"]),
        ([OK, Check("b", "B", "SUCCESS"), Check("c", "C", "FAILURE")], ["c: FAILURE"]),
        ([OK, Check("b", "B", "SUCCESS"), Check("c", "C", "WARNING")], ["c: WARNING"]),
        ([], ["a: 0 of 1", "b: 0 of 1", "nothing was checked"]),
        ([OK, Check("b", "B", "SUCCESS"), Check("c", "C", "INFO")], []),
    ],
)
def test_whatever_is_not_a_success_is_amiss(checks: list[Check], amiss: list[str]) -> None:
    _, found = judge(("a", "b"), checks)
    assert list(found) == amiss


def test_a_check_that_comes_several_times_must_come_as_often() -> None:
    assert judge(("a", "a"), [OK]) == (1, ("a: 1 of 2",))
    assert judge(("a", "a"), [OK, OK]) == (2, ())


def test_checks_that_share_an_id_are_told_apart_by_name() -> None:
    one, other = Check("a", "One", "SUCCESS"), Check("a", "Other", "SUCCESS")
    assert judge(("a/One", "a/Other"), [one, other]) == (2, ())
    assert judge(("a/One", "a/Other"), [one, one]) == (1, ("a/Other: 0 of 1",))


def test_a_report_that_is_not_there_or_cut_off_has_no_checks(tmp_path: Path) -> None:
    path = tmp_path / "checks.json"
    assert read_checks(path) == ()
    path.write_text('[{"id": "a", "name"')
    assert read_checks(path) == ()
    path.write_text('[{"id": "a", "name": "A", "status": "FAILURE", "errorMessage": "why"}]')
    assert read_checks(path) == (Check("a", "A", "FAILURE", "why"),)


def test_nothing_at_all_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = Result("x", "w", "c", 3), Result("y", "w", "c", 2, ("b: 0 of 1",))
    assert [report_on(results, "v") for results in ([], [good], [good, bad])] == [1, 0, 1]
    assert "✗ y w c: b: 0 of 1" in capsys.readouterr().out
    assert "✗ 2" in table([good, bad])


@pytest.mark.parametrize("timed", [True, False])
def test_only_what_looks_at_the_clock_may_be_tried_again(timed: bool) -> None:
    cell = Cell(Scenario("x", WIRES, ("a",), timed=timed), WIRES[0], "c")
    good, late = Report({"x": (OK,)}), Report({"x": (Check("a", "A", "WARNING", "late"),)})
    assert cell.settle(good, lambda: late).attempts == 1
    second = cell.settle(late, lambda: good)
    assert (bool(second.amiss), second.attempts) == ((False, 2) if timed else (True, 1))
    never = cell.settle(late, lambda: late)
    assert (never.amiss, never.attempts) == (("a: WARNING late",), ATTEMPTS if timed else 1)


def test_checks_of_another_form_of_reply_are_not_asked_for() -> None:
    cells = [Cell(Scenario("x", WIRES, ("a",), ("b",)), WIRES[0], "c", reply) for reply in ("json", "sse")]
    report = Report({"x": (OK, Check("b", "B", "INFO"))})
    assert [cell.settle(report, lambda: report).amiss for cell in cells] == [(), ("b: INFO",)]


FAKE = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[-1], "x-2026-07-28T01-02-03-456Z")
folder.mkdir()
(folder / "checks.json").write_text(json.dumps([{"id": "a", "name": "A", "status": "SUCCESS"}]))
sys.exit("the client crashed" if "crashes" in sys.argv else None)
"""
"""A suite that is always content."""


@pytest.mark.live
def test_a_client_that_crashes_is_amiss_whatever_was_checked() -> None:
    suite = Suite((sys.executable, "-c", FAKE), "v")
    assert suite.client("goes well", WIRES[0], "x") == Report({"x": (OK,)})
    crashed = suite.client("crashes", WIRES[0], "x")
    assert crashed == Report({"x": (OK,)}, ("exit code 1: … the client crashed",))
    assert Cell(Scenario("x", WIRES, ("a",)), WIRES[0], "c").settle(crashed, lambda: crashed).amiss


@pytest.mark.live
def test_a_server_that_complains_is_amiss() -> None:
    suite = Suite((sys.executable, "-c", FAKE), "v")
    (result,) = check_server(suite, "asyncio", "json", "no such wire", SERVER[:1])
    assert "invalid choice: 'no such wire'" in result.amiss[0]


def test_every_scenario_expects_something_on_a_wire_that_there_is() -> None:
    for scenario in (*SERVER, *CLIENT):
        assert scenario.checks
        assert scenario.wires
        assert set(scenario.wires) <= set(WIRES)
