"""The command line: `python -m benchmarks`, from a checkout.

Without a command all questions are asked; with `--quick` those rows that matter most, and fewer rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import click
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import headline, plots, suite, tables
from benchmarks.churn import JOBS, Cell
from benchmarks.figures import Report, RowResult
from benchmarks.questions import QUESTIONS
from benchmarks.row import CONTESTANTS, Question
from benchmarks.runner import FULL, QUICK, Mode, Runner

OUTPUT = Path(".bench") / "results"


class Bar:
    """The progress, on the terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)

    def total(self, turns: int) -> None:
        """How many turns there will be."""
        self._progress.update(self._task, total=turns)

    def stage(self, text: str) -> None:
        """What is being done now."""
        self._progress.update(self._task, description=text.replace("`", ""))

    def advance(self) -> None:
        """One turn is over."""
        self._progress.advance(self._task)

    def done(self, row: RowResult) -> None:
        """A row is over: what came of it, on a line."""
        self._progress.console.print(tables.brief(row), highlight=False, soft_wrap=True)


@click.group(invoke_without_command=True, help=__doc__)
@click.option("--quick", is_flag=True, help="Fewer rows, fewer rounds.")
@click.option("--only", multiple=True, type=click.Choice(list(QUESTIONS)), help="Only this question.")
@click.option("--with", "names", multiple=True, type=click.Choice(list(CONTESTANTS)), help="Only these.")
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, show_default=True)
@click.pass_context
def main(
    context: click.Context, *, quick: bool, only: tuple[str, ...], names: tuple[str, ...], output: Path
) -> None:
    """Ask the questions, unless there is a command."""
    if context.invoked_subcommand is None:
        questions = [QUESTIONS[name] for name in only or QUESTIONS]
        ask(questions, QUICK if quick else FULL, names or tuple(CONTESTANTS), output)


@main.command()
@click.option("--over", type=click.Choice(list(JOBS)), default="memory", show_default=True)
@click.option("--clients", default=1, show_default=True)
@click.option("--prompts", default=100, show_default=True)
@click.option("--page", default=100, show_default=True)
@click.option("--burst", default=1, show_default=True, help="Edits at a time.")
@click.option("--era", type=click.Choice(["modern", "legacy"]), default="modern", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, show_default=True)
def cell(*, output: Path, **cell: Any) -> None:
    """Measure one cell of the churn grid, any one, by everybody."""
    question = attrs.evolve(QUESTIONS["churn"], rows=(Cell(**cell).row(),))
    ask([question], FULL, tuple(CONTESTANTS), output)


@main.command()
@click.argument("results", type=click.Path(path_type=Path), default=OUTPUT / "results.json")
def readme(results: Path) -> None:
    """Write the README's table from the RESULTS of a run."""
    headline.write(Report.load(results))


def ask(questions: Sequence[Question], mode: Mode, names: Sequence[str], output: Path) -> None:
    """Ask questions, and write down what came of it."""
    if sys.platform != "linux":
        raise click.ClickException("the CPU time of other processes is read as only Linux has it")
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = Bar(progress)
        with Runner(mode, names, bar) as runner:
            bar.total(runner.turns(questions))
            report = runner.run(questions)
    page = write(report, output)
    if console.is_terminal:
        console.print(Markdown(page))
    console.print(f"{report.seconds:.0f} s; the results are in {output}", highlight=False)


def write(report: Report, folder: Path) -> str:
    """The figures as JSON, for us and for pyperf, the tables as Markdown, the plots; the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    report.save(folder / "results.json")
    suite.save(report, folder / "results.pyperf.json")
    files = plots.draw(report, folder)
    page = tables.page(report) + "".join(f"\n![{file.stem}]({file.name})\n" for file in files)
    (folder / "results.md").write_text(page, encoding="utf-8")
    return page


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
