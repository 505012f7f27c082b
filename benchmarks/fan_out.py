"""What does it cost to tell everybody that the list has changed?

One prompt is edited, and every subscriber's client hears of it, in memory; nobody fetches anything.
"""

from __future__ import annotations

from benchmarks.row import Curve, Goal, Question, Row


def telling(listeners: int, era: str, *, quick: bool = False) -> Row:
    """So many subscribers."""
    goals = (Goal(80.0),) if listeners == 50 else ()
    return Row(
        name=f"fan_out/{listeners}/{era}",
        work=f"notification fan-out in memory to {listeners:,} ({era})",
        job="fan_out",
        params={"listeners": listeners, "era": era},
        expected=lambda _: [1, 1],
        goals=goals,
        unit="subscriber",
        curves=(Curve("fan_out", "subscribers", listeners),) if era == "modern" else (),
        quick=quick,
    )


QUESTION = Question(
    name="fan_out",
    title="Fan-out",
    text="CPU from an edit of the catalogue to the notification in the last client, per subscriber.",
    rows=(
        telling(1, "modern"),
        telling(10, "modern"),
        telling(50, "modern", quick=True),
        telling(200, "modern"),
        telling(50, "legacy"),
    ),
)
