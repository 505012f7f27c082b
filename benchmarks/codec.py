"""What do encoding and decoding cost each side by itself?

A client alone gets the bytes of a reply and makes a list of it: one that it has never seen, one of which a
prompt has changed, one that is the same; and again without comparing pages with those of the last walk, and
without interning prompts by their bytes. A server alone encodes a list of which a prompt has just been
edited.
"""

from __future__ import annotations

from benchmarks import work
from benchmarks.row import OURS, Question, Row

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


def ablated(state: str, without: str) -> Row:
    """A client alone that lacks a way of knowing pages again."""
    return Row(
        name=f"decode/{state}/100/without {without}",
        work=f"… {STATES[state]}, without {without}",
        job="client_reply",
        params={"state": state, "prompts": 100, "without": without},
        expected=lambda revision: work.expected_list(100, revision),
        contestants=(OURS,),
        quick=False,
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
        *(
            ablated(state, without)
            for without in ("comparing", "comparing or interning")
            for state in ("changed", "unchanged")
        ),
        *(encoding(prompts) for prompts in (100, 1000)),
    ),
)
