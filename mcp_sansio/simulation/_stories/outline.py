"""A story as lines of plain text, for a terminal and for what a test says when it fails."""

from __future__ import annotations

from collections.abc import Iterator

from .mermaid import MARKS
from .story import Step, Story

MOST = 120
"""An outline has at most so many lines; the rest of a longer story is left out of its middle."""


def outline(story: Story, *, most: int = MOST) -> str:
    """A line for each step, a message where it arrives; line ends included."""
    width = max((len(lane) for lane in story.lanes), default=0) * 2 + 3
    lines = [line.rstrip() for line in _lines(story, width)]
    if len(lines) > most:
        lines = [*lines[: most // 3], f"{'…':>10}", *lines[len(lines) - (most - most // 3) :]]
    return "".join(f"{line}\n" for line in lines)


def _lines(story: Story, width: int) -> Iterator[str]:
    for step in story.in_order():
        if step.tone != "message":
            who = " ".join(step.about)
            yield f"{step.time:10.3f}  {who:{width}}  {MARKS.get(step.tone, '  ')}{step.text}"
        else:
            yield _message(story, step, width)


def _message(story: Story, step: Step, width: int) -> str:
    sender, receiver = step.about
    if step.arrives is None:
        return f"{step.time:10.3f}  {f'{sender} → {receiver}':{width}}    {step.text} (lost)"
    arrives = story.trace.events[step.arrives].time
    sent = f" (sent {step.time:.3f})" if arrives - step.time >= 0.1 else ""
    return f"{arrives:10.3f}  {f'{sender} → {receiver}':{width}}    {step.text}{sent}"
