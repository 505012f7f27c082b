"""What does it cost to have this library at hand: importing it, a session that is idle, a list that is kept?

Memory is what the process has grown by, as the system sees it, since allocators of their own (Rust's, Node's)
hide from Python's. An idle session is connected and listens to changes; it has no timers that would cost CPU.
"""

from __future__ import annotations

from benchmarks import work
from benchmarks.row import FASTMCP, FLOOR, OURS, SDK, Goal, Question, Row


def importing(what: str, text: str, *goals: Goal) -> Row:
    """A module that is imported by a new interpreter; starting that is not counted."""
    return Row(
        name=f"import/{what}",
        work=f"import {text}",
        job="importing",
        params={"what": what},
        expected=lambda _: ["imported"],
        goals=goals,
        contestants=(OURS, SDK, FASTMCP, FLOOR),
        unit="import",
        rounds=3,
        quick=what == "core",
    )


def sessions(era: str, *goals: Goal) -> Row:
    """Idle sessions in memory, both ends."""
    return Row(
        name=f"session/{era}",
        work=f"memory of an idle session in memory, both ends ({era})",
        job="session_memory",
        params={"sessions": 200, "era": era},
        expected=lambda _: ["connected"],
        goals=goals,
        contestants=(OURS, SDK, FASTMCP),
        method="fresh",
        measure="bytes",
        unit="session",
        rounds=2,
        quick=era == "modern",
    )


def listeners(over: str, what: str, *goals: Goal) -> Row:
    """What a server grows by for each listener."""
    return Row(
        name=f"listener/{over}",
        work=f"memory of a server per SSE listener, {what}",
        job="http_listeners",
        params={"over": over, "prompts": 100, "era": "modern", "listeners": 1000},
        expected=lambda _: [],
        goals=goals,
        method="footprint",
        measure="bytes",
        unit="listener",
        rounds=1,
        quick=over == "http",
    )


QUESTION = Question(
    name="footprint",
    title="Import and memory",
    text="CPU of an import by a new interpreter; bytes that the process has grown by.",
    rows=(
        importing("core", "the core (the peers: all of them)", Goal(8.0)),
        importing("adapters", "the core and the asyncio front end (the peers: client and server)"),
        sessions("modern", Goal(8.0)),
        sessions("legacy", Goal(8.0)),
        listeners("http", "own server (h11)", Goal(8.0)),
        listeners("asgi", "ASGI under uvicorn"),
        Row(
            name="list_memory",
            work="memory of a list of 1,000 prompts that a client keeps",
            job="list_memory",
            params={"prompts": 1000, "lists": 20},
            expected=lambda _: work.expected_list(1000),
            goals=(Goal(1 / 0.6),),
            contestants=(OURS, SDK, FASTMCP, FLOOR),
            method="fresh",
            measure="bytes",
            unit="list",
            rounds=2,
        ),
    ),
)
