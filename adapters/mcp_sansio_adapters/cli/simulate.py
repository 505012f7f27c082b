"""The command `simulate`: many worlds of clients, servers and faults, and what breaks in them made small."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs
import click

from mcp_sansio.simulation import PROPERTIES, Situation, outline, run_seed, tell
from mcp_sansio_adapters._campaign import Failure, NoScenario, Result, explore, find_scenario, small

from . import show
from .explain import Exit
from .guard import guarded, say

SEEDS = 1000
"""So many worlds are tried if nothing is said."""


class Seeds(click.ParamType[tuple[int | None, int]]):
    """A number of seeds, or the first and the last."""

    name = "N|A-B"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, int]:
        """The first seed, if there is a range, and how many there are."""
        first, dash, last = str(value).partition("-")
        try:
            begin, count = (int(first), int(last) - int(first) + 1) if dash else (None, int(first))
        except ValueError:
            self.fail(f"{value!r} is neither a number of seeds nor a range like 100-199.", param, ctx)
        if count < 1:
            self.fail(f"{value!r} are no seeds.", param, ctx)
        return begin, count


@attrs.define
class Tally:
    """What has come of the seeds so far."""

    runs: int = 0
    messages: int = 0
    situations: Counter[str] = attrs.field(factory=Counter[str])
    broken: dict[str, list[Result]] = attrs.field(factory=dict[str, list[Result]])
    digest: Any = attrs.field(factory=lambda: blake2b(digest_size=16))
    begun: float = attrs.field(factory=time.monotonic)

    def add(self, result: Result) -> None:
        """Count a world in."""
        self.runs += 1
        self.messages += result.messages
        self.situations.update(result.situations)
        self.digest.update(result.digest.encode())
        if result.violation is not None:
            self.broken.setdefault(result.violation[0], []).append(result)

    @property
    def reached(self) -> dict[str, int]:
        """How often each situation that is worth reaching was reached, and those of the scenario itself."""
        return {**{situation.value: 0 for situation in Situation}, **self.situations}

    @property
    def shortest(self) -> list[int]:
        """For each property that broke the seed of the shortest world in which it did."""
        return [min(of, key=lambda result: result.messages).seed for of in self.broken.values()]

    @property
    def failures(self) -> int:
        """How many worlds failed."""
        return sum(map(len, self.broken.values()))

    @property
    def rate(self) -> float:
        """Seeds per second."""
        return self.runs / max(time.monotonic() - self.begun, 1e-9)

    @property
    def line(self) -> str:
        """All of it in a few words."""
        return f"{self.rate:.0f} a second, {len(self.situations)} situations, {self.failures} failures"


@click.command("simulate")
@click.option("--seed", type=click.IntRange(min=0), help="The world of this seed alone, or the first one.")
@click.option("--seeds", type=Seeds(), help=f"So many worlds, or those of a range.  [default: {SEEDS}]")
@click.option("--commit", metavar="HASH", help="Begin with the seed that a commit hash makes.")
@click.option("--scenario", "place", default="torture", show_default=True, metavar="NAME|MODULE:NAME",
              help="torture, office-hour, either with -http, or a scenario of your own.")  # fmt: skip
@click.option("--digest", is_flag=True, help="Print one digest over all traces.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write what failed into this directory: trace, diagram, page, test.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), default=os.cpu_count() or 1, metavar="N",
              help="So many processes.  [default: one for each processor]")  # fmt: skip
@guarded
def simulate_command(
    *,
    seed: int | None,
    seeds: tuple[int | None, int] | None,
    commit: str | None,
    place: str,
    digest: bool,
    as_json: bool,
    out: Path | None,
    jobs: int,
) -> int:
    """Try many simulated worlds of clients, servers and faults, and say what breaks.

    A failure of each property is made small: the fewest messages in which it breaks. With --out it is
    written as a trace, a diagram, a page and a test that fails until the mistake is mended. Exits with 1 if
    anything broke.
    """
    chosen = _chosen(seed, seeds, commit)
    jobs = min(jobs, max(1, len(chosen) // 20))
    try:
        tally = _campaign(explore(place, chosen, jobs=jobs, digest=digest), len(chosen))
        scenario = find_scenario(place)
    except NoScenario as error:
        raise click.UsageError(f"{error}.") from None
    failures = [small(run_seed(scenario, seed, PROPERTIES), place) for seed in tally.shortest]
    if as_json:
        show.print_json(_as_json(place, chosen, tally, failures, out, digest=digest))
    else:
        _print(tally, failures, out, digest=digest)
    return Exit.REFUSED if failures else Exit.DONE


def _chosen(seed: int | None, seeds: tuple[int | None, int] | None, commit: str | None) -> range:
    """The seeds that are meant."""
    begin, count = seeds or (None, 1 if seed is not None else SEEDS)
    given = [
        name
        for name, value in (("--seed", seed), ("--seeds A-B", begin), ("--commit", commit))
        if value is not None
    ]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} both say which seed is the first: leave one out.")
    if commit is not None:
        try:
            begin = int(commit[:12], 16)
        except ValueError:
            raise click.UsageError(f"--commit {commit} is no commit hash.") from None
    first = next((value for value in (seed, begin) if value is not None), 0)
    return range(first, first + count)


def _campaign(results: Iterable[Result], total: int) -> Tally:
    tally = Tally()
    for result in _watched(results, total, tally) if sys.stderr.isatty() else results:
        tally.add(result)
    return tally


def _watched(results: Iterable[Result], total: int, tally: Tally) -> Iterator[Result]:
    """The results, under a bar that shows how far they are."""
    from rich.console import Console  # noqa: PLC0415  # slow to load, and for terminals only
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        for result in results:
            yield result
            progress.update(task, advance=1, description=tally.line)


def _print(tally: Tally, failures: Sequence[Failure], out: Path | None, *, digest: bool) -> None:
    for name, times in tally.reached.items():
        click.echo(f"{times:8}  {name}")
    for failure in failures:
        files = "" if out is None else f" · {' '.join(map(str, failure.keep(out)))}"
        click.echo(f"{failure.line}{files}")
        if out is None:
            click.echo(f"\n{outline(tell(failure.shrunk.outcome.trace))}")
    if digest:
        click.echo(tally.digest.hexdigest())
    verdict = f"{tally.failures} failed" if failures else "all held"
    say(f"{tally.runs} worlds, {tally.messages} messages, {tally.rate:.0f} worlds a second: {verdict}")
    if failures and out is None:
        say("--out DIR writes what failed into files, a test among them")


def _as_json(
    place: str, chosen: range, tally: Tally, failures: Sequence[Failure], out: Path | None, *, digest: bool
) -> dict[str, Any]:
    return {
        "scenario": place,
        "seeds": [chosen.start, chosen.stop - 1],
        "messages": tally.messages,
        "situations": tally.reached,
        **({"digest": tally.digest.hexdigest()} if digest else {}),
        "failures": [_failure(failure, tally, out) for failure in failures],
    }


def _failure(failure: Failure, tally: Tally, out: Path | None) -> dict[str, Any]:
    checker, shrunk = failure.checker, failure.shrunk
    return {
        "property": checker.id,
        "title": checker.title,
        "anchor": checker.anchor,
        "level": checker.level.value,
        "seeds": [result.seed for result in tally.broken[checker.id]],
        "text": "" if shrunk.outcome.violation is None else shrunk.outcome.violation.text,
        "messages": {"before": shrunk.before.messages, "after": shrunk.outcome.messages},
        "needed": [list(draw) for draw in shrunk.needed],
        "files": [] if out is None else [str(file) for file in failure.keep(out)],
    }
