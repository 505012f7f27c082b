"""What does a prompt list that changes all the time cost, and how does that grow?

Some prompts are edited, and every client fetches the list when it hears of it: from the edit until the last
client has the list as it is now. The named grid is below: one corner of it, and from there along the number
of clients, of prompts, of edits at a time, and the size of pages, in memory, over stdio and over HTTP.
`python -m benchmarks cell` measures any other cell.
"""

from __future__ import annotations

import attrs

from benchmarks import work
from benchmarks.row import TYPESCRIPT, Curve, Goal, Question, Row

HEAVY = 50_000
"""A cell where so many prompts are fetched at a time takes seconds; three rounds of it must do."""
JOBS = {"memory": "churn", "stdio": "churn_stdio", "http": "churn_http"}


@attrs.frozen(kw_only=True)
class Cell:
    """One cell of the grid. `burst`: how many edits there are at a time, with nothing in between."""

    over: str = "memory"
    clients: int = 1
    prompts: int = 100
    page: int = 100
    burst: int = 1
    era: str = "modern"

    def row(self, curves: tuple[Curve, ...] = (), *goals: Goal, quick: bool = False) -> Row:
        """The row that measures it."""
        params = attrs.asdict(self)
        over = params.pop("over")
        edits = "one edit" if self.burst == 1 else f"{self.burst} edits"
        size = f"{self.prompts:,} prompts by {self.page}, {self.clients:,} clients"
        where = "in memory" if over == "memory" else f"over {over}"
        return Row(
            name="churn/" + "/".join(str(value) for value in attrs.astuple(self)),
            work=f"{edits}, {size}, {where} ({self.era})",
            job=JOBS[over],
            params=params,
            expected=lambda revision: work.expected_list(self.prompts, revision),
            goals=goals,
            unit="subscriber",
            curves=curves,
            quick=quick,
            rounds=3 if self.clients * self.prompts * self.burst >= HEAVY else None,
        )


CLIENTS = ("churn_clients", "clients")
PROMPTS = ("churn_prompts", "prompts")
BURST = ("churn_burst", "edits at a time")
PAGES = ("churn_pages", "prompts per page")

QUESTION = Question(
    name="churn",
    title="Churn",
    text="CPU of all sides per subscriber, from the edits until every client has the list as it is now.",
    rows=(
        # what counts most
        Cell(clients=50, prompts=1000).row((), Goal(40.0), Goal(3.5, TYPESCRIPT), quick=True),
        Cell(clients=50, prompts=1000, era="legacy").row(),
        # more clients
        Cell(clients=1).row((Curve(*CLIENTS, 1), Curve(*PROMPTS, 100)), quick=True),
        Cell(clients=50).row((Curve(*CLIENTS, 50), Curve(*BURST, 1)), quick=True),
        Cell(clients=1000).row((Curve(*CLIENTS, 1000),)),
        # more prompts
        Cell(prompts=1000).row((Curve(*PROMPTS, 1000), Curve(*PAGES, 100)), quick=True),
        Cell(prompts=10_000).row((Curve(*PROMPTS, 10_000),)),
        # more edits
        Cell(clients=50, burst=10).row((Curve(*BURST, 10),)),
        Cell(clients=50, burst=100).row((Curve(*BURST, 100),)),
        # other pages
        Cell(prompts=1000, page=10).row((Curve(*PAGES, 10),)),
        Cell(prompts=1000, page=1000).row((Curve(*PAGES, 1000),)),
        # over stdio, where every client has a server of its own
        Cell(over="stdio").row((), quick=True),
        Cell(over="stdio", era="legacy").row(),
        Cell(over="stdio", clients=50).row(),
        # over HTTP
        Cell(over="http").row((), quick=True),
        Cell(over="http", era="legacy").row(),
        Cell(over="http", clients=50).row(),
        Cell(over="http", clients=50, prompts=1000).row(),
    ),
)
