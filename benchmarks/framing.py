"""Does the cost of a line, or of an event, grow with its size and not faster, however small the pieces that
it comes in?
"""

from __future__ import annotations

from benchmarks.row import FLOOR, OURS, Curve, Growth, Question, Row

MEGABYTES = (1, 2, 4, 8, 16)
QUICK = (8, 16)
CHUNK = 4096
WHAT = {"line": "a line", "event": "an event (SSE)"}


def row(what: str, megabytes: int) -> Row:
    """One line or event."""
    half = megabytes // 2
    growing = half in QUICK or (half in MEGABYTES and megabytes not in QUICK)
    return Row(
        name=f"framing/{what}/{megabytes}",
        work=f"{WHAT[what]} of {megabytes} MB in chunks of 4 kB",
        job="framing",
        params={"what": what, "size": megabytes << 20, "chunk": CHUNK},
        expected=lambda _: [megabytes << 20],
        growth=Growth(2.3, f"framing/{what}/{half}") if growing else None,
        contestants=(OURS, FLOOR),
        unit=what,
        curves=(Curve(f"framing_{what}", "MB", megabytes),),
        quick=megabytes in QUICK,
    )


QUESTION = Question(
    name="framing",
    title="Framing",
    text="Bytes in, lines or events out. The floor collects the chunks and joins them.",
    rows=tuple(row(what, megabytes) for what in WHAT for megabytes in MEGABYTES),
)
