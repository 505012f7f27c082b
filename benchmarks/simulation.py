"""How much simulated life a minute of CPU holds: `python -m benchmarks.simulation [seconds of CPU per load]`.

Two standard loads at two fidelities, lines and the bytes of HTTP/1.1, with every checker on and the digest
of every trace taken. An office hour is an hour of one client and its server; a torture is twenty seconds of
chaos and the calm after it. Only CPU time of this process is counted, after a warm-up: the hooks that
structure messages are compiled once per process. The collector looks at less than it would by itself, as in
any campaign: what was there before the first run stays.
"""

from __future__ import annotations

import gc
import sys
import time

import attrs

from mcp_sansio.simulation import OFFICE_HOUR, PROPERTIES, TORTURE, run_seed
from mcp_sansio.simulation._scenarios import Scenario
from mcp_sansio.simulation.http import OFFICE_HOUR_HTTP, TORTURE_HTTP

LOADS = (OFFICE_HOUR, OFFICE_HOUR_HTTP, TORTURE, TORTURE_HTTP)
WARM_UP = 10
COLLECTED = 50_000
"""So many objects more than before, and the collector looks at them."""


@attrs.frozen
class Speed:
    """What some runs of a load took: seconds of CPU, messages taken in, and runs that broke a property."""

    load: Scenario
    runs: int
    seconds: float
    messages: int
    broken: int

    def __str__(self) -> str:
        hours = self.load.seconds >= 3600
        rate = f"{self.runs * 60 / self.seconds:,.0f} client-hours per CPU minute"
        if not hours:
            rate = f"{self.runs * 3600 / self.seconds:,.0f} runs per CPU hour"
        each = self.seconds / self.messages * 1e6
        broken = f", {self.broken} of {self.runs} runs broke a property" if self.broken else ""
        return f"{self.load.name:18}{rate:>40}  ({each:.0f} µs per message){broken}"


def measure(load: Scenario, seconds: float) -> Speed:
    """Run seeds, from 0, for so many seconds of CPU."""
    for seed in range(WARM_UP if load.seconds < 3600 else 1):
        run_seed(load, -1 - seed, PROPERTIES)
    gc.collect()
    gc.freeze()
    begin, spent = time.process_time(), 0.0
    runs = messages = broken = 0
    while spent < seconds:
        outcome = run_seed(load, runs, PROPERTIES)
        _ = outcome.digest
        runs += 1
        messages += outcome.messages
        broken += outcome.violation is not None
        spent = time.process_time() - begin
    return Speed(load, runs, spent, messages, broken)


def main() -> None:
    """Measure all loads, and print a line for each."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    gc.set_threshold(COLLECTED)
    sys.stdout.write(f"all {len(PROPERTIES)} properties checked, digests taken, {seconds:g} s of CPU each\n")
    for load in LOADS:
        sys.stdout.write(f"{measure(load, seconds)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
