"""The command `serve`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from .guard import guarded, say
from .options import revisions
from .serving import REPLIES, Endpoint, Reply, serve_folder

_ADDRESS = re.compile(r"(?:(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]*)):)?([0-9]{1,5})")


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


@click.command("serve")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--page-size", type=click.IntRange(1), default=100, show_default=True, help="Prompts per page.")
@click.option("--watch/--no-watch", default=True, help="Whether edits are noticed and announced.")
@click.option("--http", "address", metavar="HOST:PORT", callback=_address, help="Serve HTTP; port 0 is any.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Answer to this host name, too.")
@click.option("--allow-origin", "origins", multiple=True, metavar="ORIGIN", help="Answer pages from there.")
@click.option("--reply", type=click.Choice(REPLIES), help="Answer as one JSON body, or a stream of events.")
@revisions
@guarded
def serve_command(
    folder: Path,
    *,
    page_size: int,
    watch: bool,
    address: tuple[str, int] | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    reply: Reply | None,
    versions: tuple[str, ...],
) -> None:
    """Serve the Markdown files in FOLDER as prompts, over stdin and stdout or over HTTP."""
    if click.get_current_context().obj is not None:
        raise click.UsageError("`serve` starts no server, so nothing belongs after --.")
    if address is None and (hosts or origins or reply):
        raise click.UsageError("--allow-host, --allow-origin and --reply are for --http.")
    http = None if address is None else Endpoint(*address, hosts, origins, reply or "auto")
    serve_folder(folder, versions, page_size=page_size, watch=watch, http=http, tell=say)
