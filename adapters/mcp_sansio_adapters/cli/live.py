"""What `watch` shows on a terminal: one screen, drawn anew whenever something has happened.

The screen is divided by its height: how things stand, then the prompts, a line each, then the latest
changes, and the last thing that was said. What does not fit is counted, not scrolled.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from mcp_sansio import Negotiated, Prompt
from mcp_sansio_adapters._defaults import now

from .changes import Fields, ListChange, clock, places, quoted
from .show import argument_names, one_line, purpose
from .watched import Row, Watched, counted, span

REFRESH = 1.0
CALM = 0.1
"""Seconds: how often the screen is drawn at least, and between two drawings at most."""


class Screen:
    """A terminal that shows what is watched."""

    def __init__(self, watched: Watched, label: str) -> None:
        self._watched = watched
        self._label = label
        self._news = asyncio.Event()
        self._console = Console(highlight=False)

    def tell(self, text: str) -> None:
        """Something was said; it is among the notes."""
        self._news.set()

    def changed(self, change: ListChange) -> None:
        """The list changed; that is among the changes."""
        self._news.set()

    @asynccontextmanager
    async def showing(self) -> AsyncGenerator[None]:
        """Show what there is for the block, and leave the terminal as it was."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._news.set)
        loop.add_signal_handler(signal.SIGTSTP, self._pause)
        with self._console.screen(hide_cursor=True):
            drawing = asyncio.create_task(self._draw())
            try:
                yield
            finally:
                drawing.cancel()
                await asyncio.wait((drawing,))
        if not drawing.cancelled():
            drawing.result()

    def _pause(self) -> None:
        """Ctrl-Z: the shell finds the terminal as it was, and we find our screen when we are continued."""
        self._console.set_alt_screen(False)
        self._console.show_cursor(True)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._console.set_alt_screen(True)
        self._console.show_cursor(False)
        self._news.set()

    async def _draw(self) -> None:
        while True:
            self._news.clear()
            width, height = self._console.size
            drawn = picture(self._watched, self._label, now(), width=width, height=height)
            self._console.update_screen(drawn)
            await asyncio.sleep(CALM)
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH):
                    await self._news.wait()


def picture(watched: Watched, label: str, now: float, *, width: int, height: int) -> Group:
    """Everything, in `width` columns and `height` lines."""
    head = [*_head(watched, label, now)]
    foot = _foot(watched)
    differences = [line for change in reversed(watched.changes) for line in change_lines(change, width)]
    room = height - len(head) - 3  # a blank line, the rule and the foot
    rows = watched.rows()
    below = max(min(len(differences), max(room - len(rows) - 1, room // 2)), 1)
    table = prompt_rows(rows, room - below, width)
    used = min(len(rows), room - below - 1) + 1
    rule = Text(f"── {counted(watched.count, 'change')} ".ljust(width, "─"), style="dim")
    shown = differences[: room - used] or [Text("none so far", style="dim")]
    blank = [Text()] * (room - used - len(shown))
    lines: list[Text | Table] = [*head, Text(), table, rule, *shown, *blank, foot]
    for line in lines:
        if isinstance(line, Text):
            line.truncate(width, overflow="ellipsis")
    return Group(*lines)


def _head(watched: Watched, label: str, now: float) -> Iterator[Text]:
    """How things stand."""
    known = watched.negotiated
    spoken = "" if known is None else f"{_server(known)}{known.version} ({known.era.value}) · "
    yield Text(one_line(label), style="bold")
    yield Text.assemble(
        spoken,
        ("connected", "green") if watched.connected else ("connection lost", "bold red"),
        f" · watched for {span(now - watched.began)}",
    )
    size = 0 if watched.snapshot is None else len(watched.snapshot)
    whole = watched.snapshot is not None and watched.snapshot.verified
    yield Text.assemble(
        f"{counted(size, 'prompt')} · epoch {watched.epoch} · ",
        ("verified", "green") if whole else ("unverified", "yellow"),
        " · ",
        (watched.freshness(now), "green" if watched.fresh(now) else "yellow"),
    )
    yield Text.assemble(
        ("changes are announced", "green") if watched.live else ("changes are not announced", "yellow"),
        f" · {counted(watched.requests, 'request')}, {counted(watched.notifications, 'notification')}",
        (f" · {counted(watched.losses, 'interruption')}", "yellow") if watched.losses else "",
        f", {counted(watched.restarts, 'restart')}" if watched.restarts else "",
    )


def _server(known: Negotiated) -> str:
    """What the server calls itself."""
    info = known.server_info
    return "" if info is None else f"{one_line(info.name)} {one_line(info.version)} · "


def _foot(watched: Watched) -> Text:
    """The last thing that was said."""
    end = Text("Ctrl-C ends it", style="dim")
    if not watched.notes:
        return end
    time, text = watched.notes[-1]
    return Text.assemble((f"{clock(time)} {one_line(text)}", "yellow"))


def prompt_rows(rows: list[Row], height: int, width: int) -> Table:
    """A line for each prompt, at most `height` in all; where that is not enough the last says so."""
    table = Table(box=None, pad_edge=False, expand=True, show_header=True, header_style="dim", width=width)
    table.add_column("prompt", no_wrap=True, max_width=width // 3)
    if width >= 50:
        table.add_column("arguments", no_wrap=True, max_width=width // 4)
    if width >= 80:
        table.add_column("what it is for", no_wrap=True, ratio=1)
    table.add_column("last change", no_wrap=True, max_width=max(width // 4, 21))
    fits = height - 1 if len(rows) < height else max(height - 2, 0)
    for row in rows[:fits]:
        table.add_row(*_cells(row, len(table.columns)))
    if len(rows) > fits:
        table.add_row(Text(f"… and {len(rows) - fits} more", style="dim"))
    return table


def _cells(row: Row, columns: int) -> list[Text]:
    texts = [argument_names(row.prompt), purpose(row.prompt)][: columns - 2]
    when = "" if row.time is None else f"{clock(row.time)} {one_line(row.what)}"
    return [Text(one_line(row.prompt.name), style="bold"), *map(Text, texts), Text(when, style="cyan")]


def change_lines(change: ListChange, width: int) -> Iterator[Text]:
    """A change as a difference, a line or more for each prompt."""
    time = clock(change.time)
    for prompt in change.added:
        yield Text(f"{time} + {one_line(prompt.name)}  {_said(prompt)}".rstrip(), style="green")
    for name in change.removed:
        yield Text(f"{time} - {one_line(name)}", style="red")
    for name, fields in change.changed.items():
        yield Text(f"{time} ~ {one_line(name)}", style="yellow")
        yield from _field_lines(fields, width)


def _said(prompt: Prompt) -> str:
    return f"{argument_names(prompt)}  {purpose(prompt)}".strip()


def _field_lines(fields: Fields, width: int) -> Iterator[Text]:
    """Old and new beside each other where there is room for both, else below."""
    margin = " " * 11
    for path, old, new in places(fields):
        before, after = Text(quoted(old), style="red"), Text(quoted(new), style="green")
        line = Text.assemble(margin, (path, "cyan"), ": ", before, " → ", after)
        if line.cell_len <= width:
            yield line
        else:
            yield Text.assemble(margin, (path, "cyan"), ":")
            yield Text.assemble(margin, "- ", before)
            yield Text.assemble(margin, "+ ", after)
