"""What do encoding and decoding cost each side by itself?

A client alone gets the bytes of a reply and makes a list of it: one that it has never seen, one of which a
prompt has changed, one that is the same. A server alone encodes a list of which a prompt has just been
edited.
"""

from __future__ import annotations

from benchmarks import work
from benchmarks.row import Question, Row

STATES = {"cold": "nothing known yet", "changed": "one prompt changed", "unchanged": "unchanged"}


def decoding(state: str, prompts: int) -> Row:
    """A client alone."""
    return Row(
        name=f"decode/{state}/{prompts}",
        work=f"client alone, reply with a list of {prompts:,}, {STATES[state]}",
        job="client_reply",
        params={"state": state, "prompts": prompts},
        expected=lambda revision: work.expected_list(prompts, revision),
        quick=prompts == 100 and state != "changed",
    )


def encoding(prompts: int) -> Row:
    """A server alone."""
    return Row(
        name=f"encode/{prompts}",
        work=f"server alone, an edit and the list of {prompts:,} after it",
        job="server_edit",
        params={"prompts": prompts},
        expected=lambda revision: work.expected_list(prompts, revision),
        quick=prompts == 100,
    )


QUESTION = Question(
    name="codec",
    title="Encoding and decoding",
    text="One side alone: request and reply as bytes, values on the side that is measured.",
    rows=(
        *(decoding(state, prompts) for prompts in (100, 1000) for state in STATES),
        *(encoding(prompts) for prompts in (100, 1000)),
    ),
)
