"""What does a reply cost a server: from the bytes of a request to the bytes of the reply, with nothing in
between?
"""

from __future__ import annotations

from benchmarks import work
from benchmarks.row import Goal, Question, Row

ERAS = ("modern", "legacy")


def replying(method: str, era: str, expected: list[object], *goals: Goal) -> Row:
    """One request and its reply."""
    return Row(
        name=f"server/{method.rpartition('/')[2]}/{era}",
        work=f"server alone, `{method}`{' of 100' if method.endswith('list') else ''} ({era})",
        job="server_reply",
        params={"method": method, "prompts": 100, "era": era},
        expected=lambda _: expected,
        goals=goals,
        unit="request",
        quick=era == "modern",
    )


QUESTION = Question(
    name="server_alone",
    title="A server alone",
    text="Request bytes in, reply bytes out; the bytes are those of stdio.",
    rows=(
        *(replying("prompts/list", era, work.expected_list(100), Goal(400.0)) for era in ERAS),
        *(replying("prompts/get", era, work.expected_get()) for era in ERAS),
    ),
)
