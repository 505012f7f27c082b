"""The command line `mcp-sansio`: which commands there are, and how one of them is run.

What is asked for goes to stdout, everything about it to stderr, and an error is one line that says what to
do. The command of a server stands after `--` and is cut off before anything is parsed, so that none of its
options can be taken for ours. A command's module is imported when it is needed, for some need a lot.
`docs/cli.md` has the exit codes (`Exit`) and the shapes of `--json`.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence
from typing import cast

import click

from mcp_sansio import __version__

from .explain import Exit
from .guard import say

NAME = "mcp-sansio"

COMMANDS = {
    "serve": "serve",
    "list": "listing",
    "get": "ask",
    "complete": "ask",
    "watch": "watch",
    "check": "check",
    "inspect": "inspect",
    "tap": "tap",
    "simulate": "simulate",
    "trace": "trace",
    "demo": "demonstrate",
    "completion": "shell",
}
"""The commands, and the modules that they are in."""


class Commands(click.Group):
    """The commands, each imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which they are shown."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__package__}.{COMMANDS[cmd_name]}")
        return cast("click.Command", getattr(module, cmd_name.replace("-", "_") + "_command"))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
def cli() -> None:
    """Prompts of the Model Context Protocol: serve them, list them, get them.

    A SERVER is a URL, or a command, put at the end after --, or with --config what a host's configuration
    file calls it:

        mcp-sansio list http://127.0.0.1:8000/mcp

        mcp-sansio list -- python server.py

        mcp-sansio list --config ~/.cursor/mcp.json github
    """


def run(argv: Sequence[str]) -> int:
    """Run a command line; its exit code."""
    own, server = _split(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the locale lacks is no reason to fail
    try:
        return cli.main(own, prog_name=NAME, standalone_mode=False, obj=server) or Exit.DONE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    except click.ClickException as error:
        say(f"{error.format_message()} (`{_path(error)} --help` shows how it is used)")
        return error.exit_code
    except click.Abort:
        return Exit.INTERRUPTED


def _split(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """What is ours, and the command after the first `--`, if there is a `--`."""
    if "--" not in argv:
        return [*argv], None
    at = argv.index("--")
    return [*argv[:at]], tuple(argv[at + 1 :])


def _path(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return NAME if context is None else context.command_path
