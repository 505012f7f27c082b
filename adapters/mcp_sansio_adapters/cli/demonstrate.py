"""The command `demo`."""

from __future__ import annotations

import click

from mcp_sansio_adapters.demo import ERAS, run_demo
from mcp_sansio_adapters.demo.server import HOSTS

from .guard import guarded


@click.command("demo")
@click.option("--patience", type=click.FloatRange(min=0, min_open=True), default=10.0, hidden=True)
@click.option("--era", type=click.Choice(tuple(ERAS)), help="One era instead of both.")
@click.option("--transport", type=click.Choice(tuple(HOSTS)), help="One transport instead of both.")
@guarded
def demo_command(patience: float, era: str | None, transport: str | None) -> None:
    """See a client and a server live through edits, a storm, stale names and a crash, in both eras."""
    command = click.get_current_context().obj
    if command is not None and transport == "http":
        raise click.UsageError("A server of your own is started and spoken to over stdio.")
    eras = ERAS if era is None else (era,)
    transports = None if transport is None else (transport,)
    run_demo(command, eras=eras, transports=transports, patience=patience)
