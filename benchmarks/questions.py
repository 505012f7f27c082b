"""All questions, in the order in which they are asked. Each is a file of this folder."""

from __future__ import annotations

from benchmarks import (
    churn,
    codec,
    fan_out,
    footprint,
    framing,
    http_client,
    http_server,
    in_memory,
    server_alone,
    stdio,
)
from benchmarks.row import Question

QUESTIONS: dict[str, Question] = {
    module.QUESTION.name: module.QUESTION
    for module in (
        in_memory,
        server_alone,
        codec,
        churn,
        fan_out,
        http_server,
        stdio,
        http_client,
        footprint,
        framing,
    )
}
