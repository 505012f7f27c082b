"""What can go wrong in any command: it becomes an exit code, and one line unless `--debug` is given."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import click

from mcp_sansio import McpError

from .explain import Exit, exit_code, explain
from .show import one_line

F = TypeVar("F", bound=Callable[..., Any])

QUESTION = "mcp_sansio_adapters.question"
"""Where the context of a command keeps what it asks of whom, for what is said when that fails."""


def say(text: str) -> None:
    """A line for the person, on stderr."""
    click.echo(f"mcp-sansio: {one_line(text)}", err=True)


def guarded(function: F) -> F:
    """Run a command for its exit code: what it returns, if it returns one, else that it is done."""

    @click.option("--debug", is_flag=True, help="Show tracebacks.")
    @functools.wraps(function)
    def call(*args: Any, debug: bool, **options: Any) -> int:
        code: int | None = None
        try:
            code = function(*args, **options)
            sys.stdout.flush()
        except (click.ClickException, click.Abort):
            raise
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = Exit.BROKEN_PIPE
        except McpError as error:
            _trace(debug)
            say(explain(error, click.get_current_context().meta.get(QUESTION)))
            code = exit_code(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is ours, and told in one line
            _trace(debug)
            say(f"this is a bug ({type(error).__name__}: {error}); please report it with --debug")
            code = Exit.BUG
        return Exit.DONE if code is None else code

    return call  # type: ignore[return-value]  # a command in place of a command


def _trace(debug: bool) -> None:
    if debug:
        traceback.print_exc()
