"""What does a server over HTTP spend on a request, and on telling its listeners of a change?

The same load for everybody: 50 connections that ask as fast as they are answered, or a thousand listeners.
Only the CPU of the server's process counts. This library serves HTTP by itself (h11, on asyncio or trio) or
as an ASGI application under uvicorn; the Python peers are ASGI applications under the same uvicorn. Everybody
answers with plain JSON.
"""

from __future__ import annotations

from benchmarks import work
from benchmarks.row import Goal, Question, Row

CONNECTIONS = 50
OVER = {
    "http": "own server (h11), asyncio",
    "http-trio": "own server (h11), trio",
    "asgi": "ASGI under uvicorn",
}
GOALS = {
    ("prompts/list", "http"): 12.0,
    ("prompts/list", "asgi"): 10.0,
    ("prompts/get", "http"): 3.5,
}


def asking(method: str, over: str) -> Row:
    """Requests over many connections."""
    listing = method == "prompts/list"
    goal = GOALS.get((method, over))
    return Row(
        name=f"http/{method.rpartition('/')[2]}/{over}",
        work=f"HTTP {'list of 100' if listing else '`prompts/get`'}, {CONNECTIONS} connections, {OVER[over]}",
        job="http_server",
        params={"over": over, "prompts": 100, "era": "modern", "method": method, "connections": CONNECTIONS},
        expected=lambda _: work.expected_list(100) if listing else work.expected_get(),
        goals=() if goal is None else (Goal(goal),),
        method="load",
        unit="request",
        quick=over == "http" or (listing and over == "asgi"),
    )


def telling(listeners: int, over: str, *goals: Goal) -> Row:
    """A change that many listeners hear of."""
    return Row(
        name=f"sse/{listeners}/{over}",
        work=f"SSE fan-out to {listeners:,} listeners, {OVER[over]}",
        job="http_listeners",
        params={"over": over, "prompts": 100, "era": "modern", "listeners": listeners},
        expected=lambda _: [],
        goals=goals,
        method="listening",
        unit="notification",
        quick=over == "http",
    )


METHODS = ("prompts/list", "prompts/get")
QUESTION = Question(
    name="http_server",
    title="Servers over HTTP",
    text="CPU of the server's process alone, per request or per notification.",
    rows=(
        *(asking(method, over) for method in METHODS for over in OVER),
        telling(1000, "http", Goal(9.0)),
        telling(1000, "http-trio"),
        telling(1000, "asgi"),
    ),
)
