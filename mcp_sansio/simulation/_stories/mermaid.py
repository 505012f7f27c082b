"""A story as a Mermaid sequence diagram, which GitHub and many editors draw.

An arrow stands where the message arrives, with the time of its sending if others came between; what never
arrives ends in a cross. Of a long story the middle is left out, for nobody reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .labels import shorten
from .story import Step, Story

MOST = 200
"""A diagram has at most so many steps; the rest of a longer story is left out of its middle."""

MARKS = {"command": "▶ ", "fault": "⚡ ", "verdict": "✗ "}

_ENTITIES = str.maketrans({";": "#59;", "#": "#35;", "<": "#lt;", ">": "#gt;", '"': "#quot;"})


def mermaid(story: Story, *, most: int = MOST) -> str:
    """The text of the diagram."""
    lines = ["sequenceDiagram", *(f"    participant {_name(lane)} as {lane}" for lane in story.lanes)]
    drawn = [*_drawn(story)]
    if len(drawn) > most:
        left_out = f"    Note over {_all(story)}: … {len(drawn) - most} steps …"
        drawn = [*drawn[: most // 3], left_out, *drawn[len(drawn) - (most - most // 3) :]]
    return "\n".join([*lines, *drawn, ""])


def _drawn(story: Story) -> Iterator[str]:
    for step in story.in_order():
        yield f"    {_line(story, step)}"


def _line(story: Story, step: Step) -> str:
    if step.tone == "message":
        return _arrow(story, step)
    mark = MARKS.get(step.tone, "")
    text = _escaped(shorten(step.text, 160))
    return f"Note over {_over(story, step)}: {mark}{step.time:.3f} {text}"


def _arrow(story: Story, step: Step) -> str:
    (sender, receiver), text = (_name(name) for name in step.about), _escaped(step.text)
    if step.arrives is None:
        return f"{sender}-x{receiver}: {text} (lost)"
    late = story.trace.events[step.arrives].time - step.time
    return f"{sender}->>{receiver}: {text}{f' ({late:.3g} s)' if late >= 0.1 else ''}"


def _over(story: Story, step: Step) -> str:
    return ",".join(_name(name) for name in step.about[:2]) or _all(story)


def _all(story: Story) -> str:
    ends = dict.fromkeys((story.lanes[0], story.lanes[-1])) if story.lanes else {}
    return ",".join(_name(lane) for lane in ends)


def _name(lane: str) -> str:
    """A name that is an identifier."""
    return "n_" + "".join(char if char.isascii() and char.isalnum() else f"_{ord(char):x}" for char in lane)


def _escaped(text: str) -> str:
    return text.translate(_ENTITIES)
