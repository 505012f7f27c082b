"""The command `tap`: stands between a host and a server, and shows or records what they say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from mcp_sansio_adapters._defaults import now, unix_offset
from mcp_sansio_adapters.recording import hide
from mcp_sansio_adapters.tap import Format, Pretty, Record, Recorder, Traced, relay

from .explain import Exit
from .guard import guarded, say


@click.command("tap")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Append to this file.")
@click.option("--json/--pretty", "as_json", default=None, help="A line of JSON each, or text for people.")
@click.option("--trace", type=click.Path(dir_okay=False, path_type=Path),
              help="Write a trace to this file instead, for `mcp-sansio trace`.")  # fmt: skip
@click.option("--hide", "hidden", multiple=True, metavar="NAME",
              help="Hide what stands below members of this name in the trace; may be repeated.")  # fmt: skip
@guarded
def tap_command(
    *, output: Path | None, as_json: bool | None, trace: Path | None, hidden: tuple[str, ...]
) -> int:
    """Run the server whose command stands after --, and show what it and its host say to each other.

    For a host's configuration, in place of the server: what goes in and out passes untouched. Text goes to
    stderr, JSON to the file of --output, unless you say otherwise. The exit code is the server's.
    """
    command = click.get_current_context().obj
    if not command:
        raise click.UsageError("No server: the command that starts one stands after --.")
    if trace is None and hidden:
        raise click.UsageError("--hide is for --trace.")
    if trace is not None and (output is not None or as_json is not None):
        raise click.UsageError("--trace takes the place of --output, --json and --pretty.")
    fd = _opened("--output", output, os.O_APPEND) if trace is None else _opened("--trace", trace, os.O_TRUNC)
    output = output or trace
    as_json = output is not None if as_json is None else as_json
    if trace is not None:
        form: Format = Traced(hide(*hidden) if hidden else None)
    else:
        form = _json if as_json else _pretty(fd, errors=output is not None)
    recorder = Recorder(fd, form)
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


def _opened(option: str, path: Path | None, how: int) -> int:
    """Where to write. Raises `click.UsageError`."""
    try:
        return os.dup(2) if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    except OSError as error:
        raise click.UsageError(f"{option} {path} cannot be written: {error.strerror}.") from None


def _json(record: Record) -> Iterable[bytes]:
    yield record.as_json(unix_offset())


def _pretty(fd: int, *, errors: bool) -> Format:
    pretty = Pretty(now(), colour=os.isatty(fd) and "NO_COLOR" not in os.environ, errors=errors)

    def write(record: Record) -> Iterable[bytes]:
        lines = [*pretty.show(record)]
        if lines:
            yield "".join(f"{line}\n" for line in lines).encode(errors="replace")

    return write
