"""A story as one HTML page that a person can read: a lane for each node, time downwards, messages as arrows.

Nothing is loaded and nothing runs: what is behind an arrow is shown when it is clicked, which a link to
its place on the page and the selector `:target` can do without a script. Rows are events, not seconds, so a
quiet hour takes as much room as a busy millisecond; the time stands at the side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import msgspec

import mcp_sansio._trace as kinds
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker
from mcp_sansio.simulation._tape import Draw

from .labels import object_of, shorten
from .page_style import STYLE
from .story import Step, Story

ROW, GUTTER, TOP, LETTER = 26, 84, 44, 8
"""Sizes in pixels: the height of a row, the width of the times, the height of the names, a letter's width."""

WIDE, NARROW = 840, 300
"""All lanes together are so wide, unless one of them would be narrower than that."""

TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto">'
    '<path class="tip" fill="context-stroke" d="M0 0 8 4 0 8z"/></marker></defs>'
)

SPECIFICATION = "https://modelcontextprotocol.io/specification/draft/"


_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def page(story: Story, *, checker: type[Checker] | None = None, needed: Sequence[Draw] = ()) -> str:
    """The page, complete. `checker` is that of the property that broke, `needed` the draws that it took."""
    title = _title(story)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{_escaped(title)}</title><style>{STYLE}</style></head><body>",
            *_head(story, title, checker, needed),
            '<main><div class="drawing">',
            *_Drawing(story).svg(),
            "</div>",
            '<aside><p class="hint dim">Click on an arrow or a note to see what is behind it.</p>',
            *(_details(story, event) for event in _shown(story)),
            "</aside></main></body></html>",
            "",
        ]
    )


def _title(story: Story) -> str:
    header = story.trace.header
    seed = "" if header.seed is None else f", seed {header.seed}"
    return f"{header.scenario or 'a recording'}{seed}"


def _head(story: Story, title: str, checker: type[Checker] | None, needed: Sequence[Draw]) -> Iterator[str]:
    yield f"<header><h1>{_escaped(title)}</h1>"
    verdicts = [event.data for event in story.trace if event.kind == kinds.VERDICT]
    for property_id, text in verdicts:
        if checker is not None and checker.id == property_id:
            place = f'<a href="{SPECIFICATION}{_escaped(checker.anchor)}">{_escaped(checker.anchor)}</a>'
            yield f'<p class="bad">{_escaped(f"{property_id} {checker.title}")}</p>'
            yield f'<p class="dim">{checker.level.value} · {place}</p>'
        yield f'<p><span class="bad">✗</span> {_escaped(f"{property_id}: {text}")}</p>'
    taken = sum(event.kind == kinds.TAKEN for event in story.trace)
    yield f'<p class="dim">{taken} messages, {len(story.trace)} events, {_time(story)}</p>'
    if needed:
        draws = ", ".join(f"{label} = {value}" for label, _, value in needed)
        yield f'<p class="dim">It takes these draws: <code>{_escaped(draws)}</code></p>'
    yield "</header>"


def _time(story: Story) -> str:
    events = story.trace.events
    return f"{events[-1].time - events[0].time:.3f} s" if events else "nothing"


def _shown(story: Story) -> Iterable[TraceEvent]:
    return [story.trace.events[step.index] for step in story.steps]


def _details(story: Story, event: TraceEvent) -> str:
    """What is behind a step: the data, and what caused it."""
    data: Any = event.data if not isinstance(event.data, str) else object_of(event.data) or event.data
    text = data if isinstance(data, str) else msgspec.json.format(msgspec.json.encode(data)).decode()
    where = " ".join(word for word in (event.kind, event.node, event.link) if word)
    caused = ""
    if 0 <= event.cause < len(story.trace):
        caused = (
            f'<p class="dim">because of event {event.cause}: <code>{_brief(story, event.cause)}</code></p>'
        )
    return (
        f'<section id="e{event.index}"><h2>event {event.index} · {event.time:.6f} s · {_escaped(where)}</h2>'
        f"{caused}<pre>{_escaped(text)}</pre></section>"
    )


def _brief(story: Story, index: int) -> str:
    event = story.trace.events[index]
    link = f'<a href="#e{index}">{event.kind} {_escaped(event.node)}</a>'
    return f"{link} {_escaped(shorten(str(event.data), 80))}"


@attrs.define(eq=False)
class _Drawing:
    """The rows: one for each step, and one for an arrival that something came before."""

    story: Story
    rows: dict[int, int] = attrs.field(factory=dict[int, int])

    def svg(self) -> Iterator[str]:
        """The drawing, from top to bottom."""
        self._place()
        width, height = self._width, TOP + ROW * (max(self.rows.values(), default=0) + 2)
        yield f'<svg width="{width}" height="{height}" role="img" aria-label="sequence of events">'
        yield TIP
        for lane in self.story.lanes:
            x = self._x(lane)
            yield f'<line class="lane" x1="{x}" x2="{x}" y1="{TOP - 10}" y2="{height}"/>'
            yield _text(x, 22, lane, "name", "middle")
        yield from self._times()
        for step in self.story.steps:
            yield f'<a class="{self._class(step)}" href="#e{step.index}"><title>{_escaped(step.text)}</title>'
            yield from self._message(step) if step.tone == "message" else self._note(step)
            yield "</a>"
        yield "</svg>"

    @property
    def _lane(self) -> int:
        return max(NARROW, WIDE // max(1, len(self.story.lanes)))

    @property
    def _width(self) -> int:
        return GUTTER + self._lane * len(self.story.lanes)

    def _place(self) -> None:
        """Give a row to each event; an arrival that follows its sending at once shares the row."""
        ends = {step.index: step for step in self.story.steps}
        arrivals = [step.arrives for step in self.story.steps if step.arrives is not None]
        shown = sorted({*ends, *arrivals})
        row = -1
        for before, index in zip([-1, *shown], shown, strict=False):
            step = ends.get(before)
            if step is None or step.arrives != index:
                row += 1
            self.rows[index] = row

    def _class(self, step: Step) -> str:
        lost = " lost" if step.tone == "message" and step.arrives is None else ""
        verdict = next((other for other in self.story.steps if other.tone == "verdict"), None)
        blamed = " cause" if verdict is not None and step.index == verdict.cause else ""
        return f"{step.tone}{lost}{blamed}"

    def _x(self, lane: str) -> int:
        return GUTTER + self._lane // 2 + self._lane * self.story.lanes.index(lane)

    def _y(self, index: int) -> int:
        return TOP + ROW * self.rows[index] + ROW // 2

    def _times(self) -> Iterator[str]:
        """The time of each row that is another than that of the row above."""
        firsts = {row: index for index, row in reversed(self.rows.items())}
        before = ""
        for index in reversed(firsts.values()):
            time = f"{self.story.trace.events[index].time:.3f}"
            if time != before:
                yield _text(GUTTER - 14, self._y(index) + 4, time, "time", "end")
            before = time

    def _message(self, step: Step) -> Iterator[str]:
        (x1, x2), y1 = (self._x(name) for name in step.about), self._y(step.index)
        away = 1 if x2 > x1 else -1
        if step.arrives is None:
            x2, y2 = x1 + away * self._lane // 2, y1
            yield f'<path d="M{x2 - 5} {y2 - 5}l10 10m0-10l-10 10"/>'
        else:
            y2 = self._y(step.arrives)
        y2 = y2 + 8 if y2 == y1 and step.arrives is not None else y2
        tip = "" if step.arrives is None else ' marker-end="url(#tip)"'
        yield f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"{tip}/>'
        yield _text(x1 + away * 10, y1 - 3, step.text, anchor="start" if away > 0 else "end")

    def _note(self, step: Step) -> Iterator[str]:
        y = self._y(step.index)
        lanes = step.about or self.story.lanes
        places = [self._x(lane) for lane in lanes] or [GUTTER]
        middle = (min(places) + max(places)) // 2
        text = shorten(step.text, (self._lane if step.about else self._width) // LETTER)
        half = len(text) * LETTER // 2 + 10
        middle = max(GUTTER + half, min(middle, self._width - half - 2))
        if step.tone == "phase":
            yield f'<line x1="{GUTTER}" x2="{self._width}" y1="{y}" y2="{y}"/>'
        if step.tone != "connection":
            box = f'x="{middle - half}" y="{y - 11}" width="{2 * half}" height="21" rx="4"'
            yield f'<rect class="box" {box}/>'
        yield _text(middle, y + 4, text, anchor="middle")


def _text(x: int, y: int, text: str, name: str = "", anchor: str = "start") -> str:
    of = f' class="{name}"' if name else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{of}>{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return text.translate(_ENTITIES)
