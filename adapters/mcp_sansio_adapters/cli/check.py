"""The command `check`: what is wrong with the files of a prompt folder, for an editor or a CI job."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from mcp_sansio_adapters.folder import Problem, PromptFolder

from .explain import Exit
from .guard import guarded, say
from .show import one_line, print_json, print_text


@click.command("check")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--strict", is_flag=True, help="Fail for warnings, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@guarded
def check_command(folder: Path, *, strict: bool, as_json: bool) -> int:
    """Say what is wrong with the prompt files in FOLDER.

    A line for each problem: PATH:LINE: SEVERITY: what to write instead. An error is not served as it is
    written, a warning is, and is probably not meant. Exits with 1 if there are errors.
    """
    if click.get_current_context().obj is not None:
        raise click.UsageError("`check` starts no server, so nothing belongs after --.")
    reading = PromptFolder(folder).read()
    problems = sorted(reading.problems, key=lambda problem: (problem.file, problem.line or 0))
    if as_json:
        found = [_as_json(folder, problem) for problem in problems]
        print_json({"prompts": len(reading.entries), "problems": found})
    else:
        for problem in problems:
            print_text(_as_line(folder, problem))
    errors = _count(problems, "error")
    warnings = len(problems) - errors
    prompts = _counted(len(reading.entries), "prompt")
    say(f"{prompts}, {_counted(errors, 'error')}, {_counted(warnings, 'warning')}")
    return Exit.REFUSED if errors or (strict and warnings) else Exit.DONE


def _as_line(folder: Path, problem: Problem) -> str:
    place = [_path(folder, problem), *([] if problem.line is None else [str(problem.line)])]
    return f"{one_line(':'.join(place))}: {problem.severity}: {one_line(problem.reason)}"


def _as_json(folder: Path, problem: Problem) -> dict[str, Any]:
    line = {} if problem.line is None else {"line": problem.line}
    place = {"path": _path(folder, problem), **line}
    return {**place, "severity": problem.severity, "reason": problem.reason}


def _path(folder: Path, problem: Problem) -> str:
    """Where the file is, seen from here, which is what editors jump to."""
    return os.path.relpath(folder / problem.file)


def _count(problems: Iterable[Problem], severity: str) -> int:
    return sum(problem.severity == severity for problem in problems)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
