"""The command `watch`: follow the prompts of a server, on a screen, or as lines that other programs read.

The client does the following: it listens, asks again, starts the server again. What it tells becomes what is
known (`watched`), and that is shown by one of two views: a screen (`live`), or a line a change.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import attrs
import click

from mcp_sansio import Event, ListingConfig
from mcp_sansio_adapters._defaults import now, unix_offset
from mcp_sansio_adapters._process import ProcessPolicy
from mcp_sansio_adapters.asyncio import AsyncClient

from . import show
from .changes import ListChange
from .guard import guarded, say
from .options import Asking, asking
from .servers import Question
from .watched import Watched

POLICY = ProcessPolicy(restarts=10)
MOST_PATIENCE = 5.0
"""A server that is gone is looked for this often at least, in seconds: somebody is waiting for it."""


class View(Protocol):
    """Where changes are shown."""

    def tell(self, text: str) -> None:
        """Something happened to the connection, or is odd."""

    def changed(self, change: ListChange) -> None:
        """The list changed, or is there for the first time."""

    def showing(self) -> AbstractAsyncContextManager[None]:
        """What lasts as long as the client is connected."""
        ...


class Lines:
    """A line a change on stdout, as text or as JSON, and everything else on stderr."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def tell(self, text: str) -> None:
        """Something happened to the connection, or is odd."""
        say(text)

    def changed(self, change: ListChange) -> None:
        """The list changed, or is there for the first time."""
        if self._as_json:
            line = json.dumps(change.as_json(), ensure_ascii=False).encode()
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
        else:
            click.echo(change.as_line())

    @asynccontextmanager
    async def showing(self) -> AsyncGenerator[None]:
        """A reader who goes ends it, though there is nothing to write just then."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        gone = False

        def left() -> None:
            nonlocal gone
            gone = True
            loop.remove_reader(1)
            if task is not None:
                task.cancel()

        if stat.S_ISFIFO(os.fstat(1).st_mode):
            loop.add_reader(1, left)
        try:
            yield
        except asyncio.CancelledError:
            if gone:
                raise BrokenPipeError from None
            raise
        finally:
            loop.remove_reader(1)


@click.command("watch")
@click.argument("words", nargs=-1, metavar="[SERVER]")
@click.option("--json", "as_json", is_flag=True, help="A JSON object for each change, in one line.")
@click.option("--quiet", is_flag=True, help="A line for each change, on a terminal too.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after N changes.")
@asking
@guarded
def watch_command(
    words: tuple[str, ...], *, as_json: bool, quiet: bool, count: int | None, asked: Asking
) -> None:
    """Watch the prompts of a server change, until Ctrl-C.

    On a terminal this is a screen, in a pipe a line for each change, the first of which has the whole list.
    """
    question, _ = asked.split(words)
    watched = Watched(now(), unix_offset())
    lines = as_json or quiet or not show.on_a_terminal()
    view: View = Lines(as_json=as_json) if lines else _screen(watched, question)
    try:
        asyncio.run(_watch(question, watched, view, count))
    except (KeyboardInterrupt, asyncio.CancelledError):
        if watched.snapshot is None:
            raise click.Abort from None
    say(watched.summary(now()))


def _screen(watched: Watched, question: Question) -> View:
    from .live import Screen  # noqa: PLC0415  # rich is slow to load, and for terminals

    server = question.server
    return Screen(watched, " ".join(server.command) or server.name)


async def _watch(question: Question, watched: Watched, view: View, count: int | None) -> None:
    """Watch until `count` changes have been seen, or this is cancelled."""
    over = False

    def hear(event: Event) -> None:
        said = None if over else watched.hear(event, now())
        if said is not None:
            view.tell(said)

    _end_on_signals()
    question = attrs.evolve(question, tell=_nothing)  # diagnostics are heard of here
    config = attrs.evolve(question.config, backoff_max=MOST_PATIENCE)
    listing = ListingConfig(wait=question.timeout)
    connected = question.connected(
        policy=POLICY, config=config, listing=listing, on_event=hear, on_message=watched.overhear
    )
    async with connected as client:
        try:
            await _follow(client, watched, view, count)
        finally:
            over = True


async def _follow(client: AsyncClient, watched: Watched, view: View, count: int | None) -> None:
    changes = client.changes()
    first = await client.list_prompts()
    async with view.showing():
        change = watched.publish(first, now())
        if change is not None:
            view.changed(change)
        async for update in changes:
            change = watched.publish(update.snapshot, now())
            if change is not None:
                view.changed(change)
            if watched.count == count:
                return


def _end_on_signals() -> None:
    """Whoever ends us otherwise than by Ctrl-C finds the terminal and the server in order, too."""
    task = asyncio.current_task()
    if task is not None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)


def _nothing(_text: str) -> None:
    pass
