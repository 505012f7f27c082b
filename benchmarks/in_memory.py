"""What does it cost to list and to get prompts, client and server together, in memory?

No transport, no waiting: what is left is the protocol itself. This library encodes to bytes and back on both
sides; the Python peers hand over objects where they can.
"""

from __future__ import annotations

from benchmarks import work
from benchmarks.row import Goal, Question, Row

ERAS = ("modern", "legacy")
GOALS = {"list_cold": 5.0, "list_changed": 13.0, "list_unchanged": 30.0}
WORK = {
    "list_cold": "`prompts/list` of 100, nothing known yet",
    "list_changed": "… one prompt changed since the last, the edit included",
    "list_unchanged": "… unchanged since the last, past the cache",
}


def listing(job: str, era: str) -> Row:
    """A list of 100 prompts."""
    return Row(
        name=f"{job}/{era}",
        work=f"{WORK[job]} ({era})",
        job=job,
        params={"prompts": 100, "era": era},
        expected=lambda revision: work.expected_list(100, revision),
        goals=(Goal(GOALS[job]),),
        quick=era == "modern",
    )


def getting(era: str) -> Row:
    """A prompt."""
    return Row(
        name=f"get/{era}",
        work=f"`prompts/get`, both ways ({era})",
        job="get",
        params={"prompts": 100, "era": era},
        expected=lambda _: work.expected_get(),
        goals=(Goal(20.0),),
        quick=era == "modern",
    )


def hit(prompts: int, *goals: Goal) -> Row:
    """A list that the client has, and may use."""
    return Row(
        name=f"cached_hit/{prompts}",
        work=f"cached list hit at the client, {prompts:,} prompts",
        job="cached_hit",
        params={"prompts": prompts, "era": "modern"},
        expected=lambda _: work.expected_list(prompts),
        goals=goals,
        quick=prompts == 1000,
    )


QUESTION = Question(
    name="in_memory",
    title="In memory",
    text="Client and server together in one process, typed values at the client.",
    rows=(
        *(listing(job, era) for era in ERAS for job in GOALS),
        *(getting(era) for era in ERAS),
        hit(100),
        hit(1000, Goal(5000.0)),
    ),
)
