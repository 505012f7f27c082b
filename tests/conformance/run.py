"""Runs the official conformance suite against this library, and judges what it reports.

    python tests/conformance/run.py --install ~/conformance     # once: Node and the suite, into that folder
    CONFORMANCE_SUITE=~/conformance python tests/conformance/run.py

Servers are run in every combination of adapter, reply and wire, clients in every combination of adapter and
wire; what has to come of it is in `expected.py`. Options choose among them, and may be repeated. It prints a
table with the number of checks that succeeded, then all that is amiss, and exits with 1 if anything is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import attrs
from expected import CLIENT, SERVER, WIRES, Scenario
from judging import Result, complaints, judge, table
from suite import Report, Suite, SuiteError, client_command, find, install, serving

ROLES = ("server", "client")
SERVER_ADAPTERS, CLIENT_ADAPTERS = ("asgi", "asyncio", "trio"), ("asyncio", "trio")
REPLIES = ("json", "sse")
ATTEMPTS = 3
"""How often a scenario that is timed may be tried, since the machine may be busy with something else."""


@attrs.frozen
class Cell:
    """One scenario in one column of the table."""

    scenario: Scenario
    wire: str
    column: str
    reply: str = ""

    def settle(self, report: Report, again: Callable[[], Report]) -> Result:
        """What came of it; where the suite looks at the clock, it may be tried again."""
        result = self._result(report, 1)
        while result.amiss and self.scenario.timed and result.attempts < ATTEMPTS:
            result = self._result(again(), result.attempts + 1)
        return result

    def _result(self, report: Report, attempt: int) -> Result:
        checks = report.checks.get(self.scenario.name, ())
        passed, amiss = judge(self.scenario.expected(self.reply), checks)
        amiss += report.complaints
        return Result(self.scenario.name, self.wire, self.column, passed, amiss, attempt)


def check_servers(suite: Suite, chosen: argparse.Namespace) -> Iterator[Result]:
    """Every chosen scenario, by one server and one run of the suite for each column and wire."""
    for adapter in _among(SERVER_ADAPTERS, chosen.adapter):
        for reply in _among(REPLIES, chosen.reply):
            for wire in _among(WIRES, chosen.wire):
                scenarios = _applicable(SERVER, wire, chosen.scenario)
                if scenarios:
                    yield from check_server(suite, adapter, reply, wire, scenarios)


def check_server(
    suite: Suite, adapter: str, reply: str, wire: str, scenarios: Sequence[Scenario]
) -> Iterator[Result]:
    """One server; that it has nothing to say on stderr is part of it."""
    column = f"{adapter}/{reply}"
    try:
        with serving(adapter, reply, wire) as url:
            report = suite.server(url, wire)
            for scenario in scenarios:
                cell = Cell(scenario, wire, column, reply)
                yield cell.settle(report, partial(suite.server, url, wire, scenario.name))
    except SuiteError as error:
        yield Result("(the server itself)", wire, column, 0, (str(error),))


def check_clients(suite: Suite, chosen: argparse.Namespace) -> Iterator[Result]:
    """Every chosen scenario, by a client and a run of the suite for each."""
    for adapter in _among(CLIENT_ADAPTERS, chosen.adapter):
        for wire in _among(WIRES, chosen.wire):
            for scenario in _applicable(CLIENT, wire, chosen.scenario):
                run = partial(suite.client, client_command(adapter), wire, scenario.name)
                yield Cell(scenario, wire, f"client/{adapter}").settle(run(), run)


def _among(offered: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    return [each for each in offered if wanted is None or each in wanted]


def _applicable(scenarios: Sequence[Scenario], wire: str, wanted: Sequence[str] | None) -> list[Scenario]:
    return [each for each in scenarios if wire in each.wires and (wanted is None or each.name in wanted)]


def choices() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    option = parser.add_argument
    option("--install", type=Path, metavar="FOLDER", help="install Node and the suite there, and go on")
    option("--role", choices=ROLES, action="append")
    option("--adapter", choices=SERVER_ADAPTERS, action="append")
    option("--reply", choices=REPLIES, action="append", help="of servers")
    option("--wire", choices=WIRES, action="append")
    option("--scenario", choices=[each.name for each in (*SERVER, *CLIENT)], action="append", metavar="NAME")
    return parser.parse_args()


def main() -> int:
    """Run what was chosen; the exit code."""
    chosen = choices()
    try:
        if chosen.install is not None:
            install(chosen.install)
        suite = find()
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    results: list[Result] = []
    if "server" in _among(ROLES, chosen.role):
        results += check_servers(suite, chosen)
    if "client" in _among(ROLES, chosen.role):
        results += check_clients(suite, chosen)
    return report_on(results, suite.version)


def report_on(results: Sequence[Result], version: str) -> int:
    """Print the table and what is amiss; the exit code. Nothing at all is no success either."""
    amiss = [result for result in results if result.amiss]
    passed = sum(result.passed for result in results)
    print(table(results))
    print(complaints(amiss), end="\n" if amiss else "")
    print(f"{passed} checks succeeded, {len(amiss)} of {len(results)} scenarios are amiss; suite {version}")
    return 0 if results and not amiss else 1


if __name__ == "__main__":
    sys.exit(main())
