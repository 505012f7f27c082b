"""The official conformance suite, where it is installed, and that our judgement of what it says is strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from expected import CLIENT, SERVER, WIRES
from judging import Check, Result, judge, read_checks, table
from run import report_on
from suite import SuiteError, find

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


def test_every_scenario_expects_something_on_a_wire_that_there_is() -> None:
    for scenario in (*SERVER, *CLIENT):
        assert scenario.checks
        assert scenario.wires
        assert set(scenario.wires) <= set(WIRES)
