"""The commands `trace`: what can be done with the trace of a simulated world or of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click

from mcp_sansio._trace import NODE, VERDICT
from mcp_sansio.simulation import (
    PROPERTIES,
    Checker,
    Deviated,
    RecordedClient,
    Trace,
    Verdict,
    mermaid,
    outline,
    page,
    reexecute,
    replay,
    tell,
    verdicts,
)
from mcp_sansio_adapters._campaign import NoScenario, find_scenario, place_of, small

from . import show
from .explain import Exit
from .guard import guarded, say


class TraceFile(click.ParamType[Trace]):
    """A file with a trace; `-` is stdin."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Trace:
        """The trace in a file."""
        try:
            with click.open_file(value, "rb") as file:
                return Trace.parse(file)
        except OSError as error:
            self.fail(f"{value}: {error.strerror}.", param, ctx)
        except ValueError as error:
            self.fail(f"{value} is no trace: {error}.", param, ctx)


trace_argument = click.argument("trace", type=TraceFile(), metavar="FILE")
scenario_option = click.option(
    "--scenario", "place", metavar="NAME|MODULE:NAME", help="The scenario, if the trace does not name it."
)


@click.group("trace")
def trace_command() -> None:
    """Check, show, replay and shrink the trace of a simulated world or a recording."""


# --- check --------------------------------------------------------------------------------------------


@trace_command.command("check")
@trace_argument
@click.option("--strict", is_flag=True, help="Fail for what the specification says SHOULD be, too.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
@guarded
def check(trace: Trace, *, strict: bool, as_json: bool) -> int:
    """Say which properties hold in a trace, whoever's client and server it is of.

    Exits with 1 if one that MUST hold does not, or one that this library promises of itself.
    """
    found = verdicts(trace, PROPERTIES)
    if as_json:
        show.print_json({"properties": [_as_json(verdict) for verdict in found]})
    else:
        for verdict in found:
            click.echo(_line(verdict))
    broken = [verdict.checker.level.value for verdict in found if verdict.violation is not None]
    held, other = sum(v.judged for v in found) - len(broken), sum(not v.judged for v in found)
    say(f"{len(trace)} events: {held} properties held, {len(broken)} broken, {other} not judged")
    counts = [level for level in broken if strict or level != "SHOULD"]
    return Exit.REFUSED if counts else Exit.DONE


def _as_json(verdict: Verdict) -> dict[str, Any]:
    checker, violated = verdict.checker, verdict.violation
    named = {"id": checker.id, "title": checker.title, "anchor": checker.anchor, "level": checker.level.value}
    if not verdict.judged:
        return {**named, "judged": False, "missing": verdict.missing}
    said = {} if violated is None else {"text": violated.text, "event": violated.index}
    return {**named, "judged": True, "held": violated is None, **said}


def _line(verdict: Verdict) -> str:
    checker, violated = verdict.checker, verdict.violation
    said = "-     " if not verdict.judged else "held  " if violated is None else "BROKEN"
    line = f"{checker.id:4}  {checker.level.value:7}  {said}  {checker.title:36}  {checker.anchor}"
    if violated is None:
        return line if verdict.judged else f"{line}\n      not judged: {verdict.missing}"
    return f"{line}\n      {show.one_line(violated.text)} (event {violated.index})"


# --- render -------------------------------------------------------------------------------------------


@trace_command.command("render")
@trace_argument
@click.option("--format", "form", type=click.Choice(("text", "mermaid", "html")), default="text",
              show_default=True, help="Lines of text, a Mermaid diagram, or a page.")  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@guarded
def render(trace: Trace, *, form: str, output: Path | None) -> None:
    """Show a trace as a story."""
    story = tell(trace)
    broken = next((event.data[0] for event in trace if event.kind == VERDICT), "")
    checker = next((checker for checker in PROPERTIES if checker.id == broken), None)
    if form == "html":
        text = page(story, checker=checker)
    else:
        text = mermaid(story) if form == "mermaid" else outline(story)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    else:
        show.print_text(text.removesuffix("\n"))


# --- replay and shrink --------------------------------------------------------------------------------


@trace_command.command("replay")
@trace_argument
@scenario_option
@guarded
def replay_trace(trace: Trace, *, place: str | None) -> int:
    """Run what a trace has recorded once more, and say where this library goes another way.

    The clients of a recording are given the same input as then. Exits with 1 if there is a difference.
    """
    clients = _clients(trace)
    if clients:
        return _executed(trace, clients)
    place = _place(trace, place)
    try:
        outcome = replay(find_scenario(place), trace.header.tape, _judged(trace))
    except Deviated as deviated:
        click.echo(f"another way: {deviated}")
        return Exit.REFUSED
    difference = _difference(trace, outcome.trace)
    click.echo(f"the same: {outcome.digest}" if difference is None else f"another way: {difference}")
    return Exit.DONE if difference is None else Exit.REFUSED


def _clients(trace: Trace) -> list[str]:
    """The clients of a recording that was made by the adapters."""
    if trace.header.source != "recording":
        return []
    return [event.node for event in trace if event.kind == NODE and event.data == "client"]


def _executed(trace: Trace, clients: list[str]) -> int:
    """Give clients their input once more. Of servers the keys would be needed, which are never recorded."""
    differences = [reexecute(trace, name, RecordedClient.of(trace, name)) for name in clients]
    for name, difference in zip(clients, differences, strict=True):
        click.echo(
            f"{name}: {'the same' if difference is None else show.one_line(f'another way: {difference}')}"
        )
    return Exit.REFUSED if any(differences) else Exit.DONE


def _judged(trace: Trace) -> list[type[Checker]]:
    """The checkers that a run stopped for, which a replay has to stop for, too."""
    broken = {event.data[0] for event in trace if event.kind == VERDICT}
    return [checker for checker in PROPERTIES if checker.id in broken]


def _difference(recorded: Trace, now: Trace) -> str | None:
    """The first line in which two traces differ."""
    lines = [*recorded.body()], [*now.body()]
    for number, (before, after) in enumerate(zip(*lines, strict=False)):
        if before != after:
            return f"event {number} was {before.decode()}, and is {after.decode()}"
    counts = [len(body) for body in lines]
    return None if counts[0] == counts[1] else f"there were {counts[0]} events, and are {counts[1]}"


@trace_command.command("shrink")
@trace_argument
@scenario_option
@click.option("--seconds", type=click.FloatRange(min=0.0), default=5.0, show_default=True,
              help="So much time of the processor at most.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write trace, diagram, page and test into this directory.")  # fmt: skip
@guarded
def shrink_trace(trace: Trace, *, place: str | None, seconds: float, out: Path | None) -> int:
    """Make the failure in a trace small."""
    place = _place(trace, place)
    failed = replay(find_scenario(place), trace.header.tape, _judged(trace), strict=False)
    if failed.violation is None:
        raise click.UsageError("nothing to shrink: every property held.")
    failure = small(attrs.evolve(failed, seed=trace.header.seed), place, seconds=seconds)
    files = "" if out is None else f" · {' '.join(map(str, failure.keep(out)))}"
    click.echo(f"{failure.line}{files}")
    if out is None:
        show.print_text(f"\n{outline(tell(failure.shrunk.outcome.trace))}")
    return Exit.DONE


def _place(trace: Trace, place: str | None) -> str:
    """Where the scenario of a trace is. Raises `click.UsageError`."""
    if not trace.header.tape:
        raise click.UsageError(
            "this trace is a recording, which has no tape to replay; `trace check` judges it."
        )
    found = place_of(place or trace.header.scenario)
    try:
        find_scenario(found)
    except NoScenario as error:
        hint = "" if place else "; --scenario says where it is"
        raise click.UsageError(f"{error}{hint}.") from None
    return found
