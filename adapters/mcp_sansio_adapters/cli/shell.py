"""The command `completion`, which makes a shell complete our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .guard import guarded

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@guarded
def completion_command(shell: str) -> None:
    """Print what SHELL has to read to complete commands and options.

    For example: eval "$(mcp-sansio completion bash)"
    """
    kind = get_completion_class(shell)
    if kind is None:  # for the type checker: click has all of them
        raise click.UsageError(f"There is no completion for {shell}.")
    root = click.get_current_context().find_root()
    click.echo(kind(root.command, {}, "mcp-sansio", "_MCP_SANSIO_COMPLETE").source())
