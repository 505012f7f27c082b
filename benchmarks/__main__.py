"""The command line: `python -m benchmarks`, from a checkout.

Without a command all questions are asked; `--quick` takes less than three minutes once the environments are
there.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import tables
from benchmarks.figures import RowResult
from benchmarks.questions import QUESTIONS
from benchmarks.row import CONTESTANTS
from benchmarks.runner import FULL, QUICK, Runner

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
@click.option("--quick", is_flag=True, help="Fewer rows, fewer rounds: less than three minutes.")
@click.option("--only", multiple=True, type=click.Choice(list(QUESTIONS)), help="Only this question.")
@click.option("--with", "names", multiple=True, type=click.Choice(list(CONTESTANTS)), help="Only these.")
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, show_default=True)
@click.pass_context
def main(
    context: click.Context, *, quick: bool, only: tuple[str, ...], names: tuple[str, ...], output: Path
) -> None:
    """Ask the questions, unless there is a command."""
    if context.invoked_subcommand is not None:
        return
    questions = [QUESTIONS[name] for name in only or QUESTIONS]
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = Bar(progress)
        with Runner(QUICK if quick else FULL, names or tuple(CONTESTANTS), bar) as runner:
            bar.total(runner.turns(questions))
            report = runner.run(questions)
    output.mkdir(parents=True, exist_ok=True)
    report.save(output / "results.json")
    page = tables.page(report)
    (output / "results.md").write_text(page, encoding="utf-8")
    console.print(Markdown(page))
    console.print(f"written: {output}/results.json, results.md; {report.seconds:.0f} s")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
