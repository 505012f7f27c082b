"""The commands of `mcp-sansio`: serve a folder of prompts, ask a server for its prompts, see a demonstration.

What is asked for goes to stdout, everything about it to stderr, and an error is one line that says what to
do. The server to ask is a URL, or the command after `--`, which is cut off before anything is parsed, so that
none of its options can be taken for ours. `docs/cli.md` has the exit codes (`Exit`) and the shapes of
`--json`.
"""

from __future__ import annotations

import asyncio
import functools
import io
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    GetPromptResult,
    HttpUrl,
    LocalProtocolError,
    McpError,
    Snapshot,
    __version__,
)
from mcp_sansio_adapters.demo import ERAS, run_demo
from mcp_sansio_adapters.demo.server import HOSTS

from . import show
from .client import Exit, Question, ServerName, exit_code, explain
from .serve import REPLIES, Endpoint, Reply, serve_folder

NAME = "mcp-sansio"
_ADDRESS = re.compile(r"(?:(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]*)):)?([0-9]{1,5})")
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


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
        _tell(f"{error.format_message()} (`{_path(error)} --help` shows how it is used)")
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


def _tell(text: str) -> None:
    click.echo(f"{NAME}: {show.one_line(text)}", err=True)


def _guarded(function: F) -> F:
    """Turn what goes wrong in a command into its exit code, and one line unless `--debug` is given."""

    @click.option("--debug", is_flag=True, help="Show tracebacks.")
    @functools.wraps(function)
    def call(*args: Any, debug: bool, **options: Any) -> int:
        try:
            function(*args, **options)
            sys.stdout.flush()
        except click.ClickException:
            raise
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return Exit.BROKEN_PIPE
        except McpError as error:
            _trace(debug)
            _tell(explain(error, url=click.get_current_context().obj is None))
            return exit_code(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is ours, and told in one line
            _trace(debug)
            _tell(f"this is a bug ({type(error).__name__}: {error}); please report it with --debug")
            return Exit.BUG
        return Exit.DONE

    return call  # type: ignore[return-value]  # a command in place of a command


def _trace(debug: bool) -> None:
    if debug:
        traceback.print_exc()


def _revisions(function: F) -> F:
    """The options that choose revisions of the protocol."""
    function = click.option(
        "--protocol-version",
        "versions",
        multiple=True,
        type=click.Choice(ALL_VERSIONS),
        help="Speak this revision only; may be repeated.",
    )(function)
    return click.option(
        "--era",
        type=click.Choice(tuple(ERAS)),
        help=f"Speak the revisions of one era only: up to {LEGACY_VERSIONS[-1]}, or later.",
    )(function)


def _chosen(versions: tuple[str, ...], era: str | None) -> tuple[str, ...]:
    of_era = {"legacy": LEGACY_VERSIONS, "modern": MODERN_VERSIONS, None: ALL_VERSIONS}[era]
    chosen = tuple(version for version in of_era if not versions or version in versions)
    if not chosen:
        raise click.UsageError(f"--protocol-version {versions[0]} is not of the {era} era: leave out --era.")
    return chosen


def _fields(_context: click.Context, _parameter: click.Parameter, lines: tuple[str, ...]) -> dict[str, str]:
    """The values of `--header`."""
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise click.BadParameter("a header is written as 'Name: value'.")
        if name.strip().lower() in (each.lower() for each in fields):
            raise click.BadParameter(f"{name.strip()!r} is given twice.")
        fields[name.strip()] = value.strip()
    return fields


def _asking(function: F) -> F:
    """The options of every command that asks a server."""
    function = click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: VALUE'",
        callback=_fields,
        help="A header for every request to a URL; may be repeated.",
    )(function)
    function = click.option("--json", "as_json", is_flag=True, help="JSON in the protocol's spelling.")(
        function
    )
    function = click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for an answer.",
    )(function)
    return _revisions(function)


def _question(
    url: str | None, headers: dict[str, str], versions: tuple[str, ...], era: str | None, timeout: float
) -> Question:
    context = click.get_current_context()
    if bool(context.obj) == (url is not None):
        wrong = "Two servers" if url else "No server"
        examples = f"`{context.command_path} http://…` or `{context.command_path} … -- python server.py`"
        raise click.UsageError(f"{wrong}: give a URL or a command, as in {examples}.")
    if headers and url is None:
        raise click.UsageError("--header is for servers that are a URL.")
    if url is not None:
        _must_be_a_url(url)
    server = ServerName(url, headers, context.obj or ())
    return Question(server, _chosen(versions, era), timeout, _tell)


def _must_be_a_url(text: str) -> None:
    try:
        HttpUrl.parse(text)
    except LocalProtocolError as error:
        hint = "" if "://" in text else "; a command stands after --"
        raise click.UsageError(f"{error}{hint}.") from None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
def cli() -> None:
    """Prompts of the Model Context Protocol: serve them, list them, get them.

    The server to ask is a URL, or a command, put at the end after --:

        mcp-sansio list http://127.0.0.1:8000/mcp

        mcp-sansio list -- python server.py
    """


def _address(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> tuple[str, int] | None:
    """The value of `--http`: a port alone is one of this machine."""
    if text is None:
        return None
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > 65535:
        raise click.BadParameter(f"{text!r} is no address: write it as HOST:PORT, or [::1]:PORT.")
    return match[1] or match[2] or "127.0.0.1", int(match[3])


@cli.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--page-size", type=click.IntRange(1), default=100, show_default=True, help="Prompts per page.")
@click.option("--watch/--no-watch", default=True, help="Whether edits are noticed and announced.")
@click.option("--http", "address", metavar="HOST:PORT", callback=_address, help="Serve HTTP; port 0 is any.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Answer to this host name, too.")
@click.option("--allow-origin", "origins", multiple=True, metavar="ORIGIN", help="Answer pages from there.")
@click.option("--reply", type=click.Choice(REPLIES), help="Answer as one JSON body, or a stream of events.")
@_revisions
@_guarded
def serve(
    folder: Path,
    *,
    page_size: int,
    watch: bool,
    address: tuple[str, int] | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    reply: Reply | None,
    versions: tuple[str, ...],
    era: str | None,
) -> None:
    """Serve the Markdown files in FOLDER as prompts, over stdin and stdout or over HTTP."""
    if click.get_current_context().obj is not None:
        raise click.UsageError("`serve` starts no server, so nothing belongs after --.")
    if address is None and (hosts or origins or reply):
        raise click.UsageError("--allow-host, --allow-origin and --reply are for --http.")
    http = None if address is None else Endpoint(*address, hosts, origins, reply or "auto")
    serve_folder(folder, _chosen(versions, era), page_size=page_size, watch=watch, http=http, tell=_tell)


@cli.command("list")
@click.argument("url", required=False)
@_asking
@_guarded
def list_(as_json: bool, **options: Any) -> None:
    """List the prompts of the server at URL, or of the one that the command after -- starts."""
    snapshot: Snapshot = asyncio.run(_question(**options).list())
    if as_json:
        show.print_json({"prompts": [show.wire(prompt) for prompt in snapshot]})
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in show.prompt_lines(snapshot.items, width):
        click.echo(line)


def _arguments(
    _context: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, str]:
    """The values of `--arg`, which may be empty."""
    arguments: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} has no value: write it as KEY=VALUE.")
        if key in arguments:
            raise click.BadParameter(f"{key!r} is given twice.")
        arguments[key] = value
    return arguments


@cli.command()
@click.argument("words", nargs=-1, required=True, metavar="[URL] NAME")
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_arguments,
    help="An argument; may be repeated. KEY= gives an empty one.",
)
@_asking
@_guarded
def get(
    words: tuple[str, ...],
    arguments: dict[str, str],
    as_json: bool,
    **options: Any,
) -> None:
    """Render the prompt NAME of the server at URL, or of the one that the command after -- starts."""
    *urls, name = words
    if len(urls) > 1:
        raise click.UsageError(
            f"Too many words: {' '.join(words)}; arguments of a prompt are given by --arg."
        )
    question = _question(urls[0] if urls else None, **options)
    result: GetPromptResult = asyncio.run(question.get(name, arguments))
    if as_json:
        show.print_json(show.wire(result))
    else:
        show.print_text(show.result_text(result))


@cli.command()
@click.option("--patience", type=click.FloatRange(min=0, min_open=True), default=10.0, hidden=True)
@click.option("--era", type=click.Choice(tuple(ERAS)), help="One era instead of both.")
@click.option("--transport", type=click.Choice(tuple(HOSTS)), help="One transport instead of both.")
@_guarded
def demo(patience: float, era: str | None, transport: str | None) -> None:
    """See a client and a server live through edits, a storm, stale names and a crash, in both eras."""
    command = click.get_current_context().obj
    if command is not None and transport == "http":
        raise click.UsageError("A server of your own is started and spoken to over stdio.")
    eras = ERAS if era is None else (era,)
    transports = None if transport is None else (transport,)
    run_demo(command, eras=eras, transports=transports, patience=patience)
