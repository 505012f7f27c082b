"""The command `tap`: stands between a host and a server, and shows or records what they say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from mcp_sansio_adapters._defaults import now, unix_offset
from mcp_sansio_adapters.tap import Format, Pretty, Record, Recorder, relay

from .explain import Exit
from .guard import guarded, say


@click.command("tap")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Append to this file.")
@click.option("--json/--pretty", "as_json", default=None, help="A line of JSON each, or text for people.")
@guarded
def tap_command(*, output: Path | None, as_json: bool | None) -> int:
    """Run the server whose command stands after --, and show what it and its host say to each other.

    For a host's configuration, in place of the server: what goes in and out passes untouched. Text goes to
    stderr, JSON to the file of --output, unless you say otherwise. The exit code is the server's.
    """
    command = click.get_current_context().obj
    if not command:
        raise click.UsageError("No server: the command that starts one stands after --.")
    try:
        fd = os.dup(2) if output is None else os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise click.UsageError(f"--output {output} cannot be written: {error.strerror}.") from None
    as_json = output is not None if as_json is None else as_json
    recorder = Recorder(fd, _json if as_json else _pretty(fd, errors=output is not None))
    try:
        code = relay(command, recorder.hear, lambda: recorder.note(started=command))
    except OSError as error:
        if output is not None:
            recorder.close(failed=str(error))
        say(f"no server, check the command after --: {error}")
        return Exit.NO_SERVER
    unwritten = recorder.close(**({"exited": code} if code >= 0 else {"killed": -code}))
    if unwritten and output is not None:
        say(f"{unwritten} records could not be written to {output}")
    return code if code >= 0 else 128 - code


def _json(record: Record) -> Iterable[bytes]:
    yield record.as_json(unix_offset())


def _pretty(fd: int, *, errors: bool) -> Format:
    pretty = Pretty(now(), colour=os.isatty(fd) and "NO_COLOR" not in os.environ, errors=errors)

    def write(record: Record) -> Iterable[bytes]:
        lines = [*pretty.show(record)]
        if lines:
            yield "".join(f"{line}\n" for line in lines).encode(errors="replace")

    return write
