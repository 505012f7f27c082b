"""The mark `simulate`: what tests it makes, what they say, and that nobody else notices."""

from __future__ import annotations

import subprocess
import sys

import pytest
from simulated_variants import DIRTY

from mcp_sansio.simulation import PROPERTIES, Draw, Shrunk, run_seed
from mcp_sansio_adapters.pytest_simulation import PropertyBroken

pytest_plugins = ["pytester"]

OURS = ("-p", "mcp_sansio_pytest", "-p", "no:cacheprovider")
"""Our plugin, which is its own name, so that it is there once, whether or not it is installed."""


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(f"import pytest\nfrom mcp_sansio.simulation import *\n\n{source}")
    return pytester.runpytest_inprocess(*OURS, *arguments)


def test_seeds_are_shared_among_tests(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.simulate(TORTURE, seeds=range(10, 15), each=2)
def test_torture(outcome):
    assert outcome.seed in range(10, 15)
""",
        "-v",
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*test_torture[[]10-11[]] PASSED*", "*test_torture[[]14-14[]] PASSED*"])


def test_a_function_sets_a_world_up(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.simulate(seeds=2, seconds=1.0, faults=())
def test_world(world, until):
    assert until == 1.0
    TORTURE.build(world, until)
""",
    )
    result.assert_outcomes(passed=1)


def test_a_failure_tells_its_story(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
from simulated_variants import DIRTY

@pytest.mark.simulate(DIRTY, seeds=range(113, 115), shrink=3.0, checks=PROPERTIES[:1])
def test_dirty(outcome):
    pass
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "seed 114: C1 read your notifications: *",
            "MUST: server/utilities/caching#*",
            "* messages, made small: *",
            "* s1 → c1 *",
            "* ✗ *C1: *",
            "It takes these draws:*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.fnmatch_lines(["FAILED *test_dirty[[]113-114[]] - seed 114: C1 *"])


@pytest.mark.parametrize(
    ("needed", "told"),
    [
        ((), "It takes these draws: none"),
        ((("drop", 10, 3), ("delay", 4, 1)), "It takes these draws:\n    drop = 3 of 10\n    delay = 1 of 4"),
    ],
)
def test_a_failure_names_the_draws_that_it_takes(needed: tuple[Draw, ...], told: str) -> None:
    failed = run_seed(DIRTY, 114, PROPERTIES[:1])
    assert str(PropertyBroken(failed, Shrunk(failed, failed, 1, needed))).endswith(told)


def test_assertions_of_its_own_are_told_as_usual(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.simulate(TORTURE, seeds=1)
def test_few(outcome):
    assert outcome.messages < 0
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert outcome.messages < 0*"])


def test_other_marks_count(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.skip(reason="later")
@pytest.mark.simulate(TORTURE, seeds=1)
def test_later(outcome):
    raise RuntimeError
""",
        "-m",
        "simulate",
    )
    result.assert_outcomes(skipped=1)


@pytest.mark.parametrize(
    ("mark", "said"),
    [("sedes=1", "*unexpected keyword argument 'sedes'*"), ("each=0", "*'each' must be >= 1*")],
)
def test_a_mark_that_is_wrong(pytester: pytest.Pytester, mark: str, said: str) -> None:
    result = run(pytester, f"@pytest.mark.simulate({mark})\ndef test_world(world, until): ...\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])


def test_methods_are_refused(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
class TestWorld:
    @pytest.mark.simulate(seeds=1)
    def test_world(self, world, until): ...
""",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*it is for functions, not for methods*"])


def test_tests_without_the_mark_are_left_alone(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
class Touchy:
    def __getattr__(self, name):
        raise RuntimeError(name)

test_touchy = Touchy()

@pytest.mark.simulate(seeds=1)
def helper(world, until): ...

def test_plain():
    pass
""",
    )
    result.assert_outcomes(passed=1)


def test_who_does_not_simulate_does_not_import_what_does() -> None:
    program = "import sys, mcp_sansio_pytest; print([name for name in sys.modules if 'mcp_sansio' in name])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['mcp_sansio_pytest']"
