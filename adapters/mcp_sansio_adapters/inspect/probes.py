"""Questions whose answers tell much about a server. None changes anything: `prompts/get` only reads.

They are asked one after the other, then some of them at once. Of the prompts that take arguments one is
asked for without any, and with numbers in their place; none is ever given a text that somebody made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from mcp_sansio import Era, Limits, Negotiated, Snapshot, TimedOut
from mcp_sansio_adapters._exceptions import RequestFailed

NOBODY = "mcp-sansio-inspect-no-such-thing"
SAMPLE = 3
"""How many prompts are got."""

MAX_UNANSWERED = 3

Question: TypeAlias = tuple[str, dict[str, Any]]


class Asker(Protocol):
    """The part of a client that is needed."""

    @property
    def negotiated(self) -> Negotiated: ...  # noqa: D102

    async def request(  # noqa: D102
        self, method: str, params: Mapping[str, Any] | None = None, *, limits: Limits | None = None
    ) -> Mapping[str, Any]: ...

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None: ...  # noqa: D102


async def ask_all(client: Asker, snapshot: Snapshot | None, patience: float) -> bool:
    """Ask everything, for `patience` seconds each; what is refused is what was wanted.

    Whether the server answers: one that is silent several times is not asked any more.
    """
    limits = Limits(quiet=patience, total=patience)
    unanswered: list[str] = []

    async def ask(method: str, params: dict[str, Any]) -> None:
        try:
            await client.request(method, params, limits=limits)
        except RequestFailed as error:
            if isinstance(error.failure, TimedOut):
                unanswered.append(method)

    with suppress(RequestFailed):
        await client.notify(f"notifications/{NOBODY}")
    for question in questions(client.negotiated, snapshot):
        if len(unanswered) == MAX_UNANSWERED:
            return False
        await ask(*question)
    async with asyncio.TaskGroup() as together:
        for question in at_once(snapshot):
            together.create_task(ask(*question))
    return len(unanswered) < MAX_UNANSWERED


def questions(agreed: Negotiated, snapshot: Snapshot | None) -> list[Question]:
    """What to ask, given what is known."""
    asked: list[Question] = [(NOBODY, {})]
    if agreed.era is Era.LEGACY:
        asked.append(("ping", {}))
    if snapshot is None:
        return [*asked, ("prompts/list", {})]
    refused, rendered = _gets(snapshot)
    return [
        *asked,
        ("prompts/list", {"cursor": NOBODY}),
        ("prompts/list", {"cursor": ""}),
        *(("prompts/get", params) for params in refused),
        *_completions(snapshot),
        *(("prompts/get", params) for params in rendered),
    ]


def at_once(snapshot: Snapshot | None) -> list[Question]:
    """What is asked together: answers so different that each is known if ids are mixed up."""
    known: list[Question] = [("prompts/list", {}), ("prompts/get", {"name": NOBODY})]
    return [(NOBODY, {}), *(known if snapshot is not None else [])]


def _gets(snapshot: Snapshot) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Prompts to get: what is to be refused, and what is to be rendered, which may take its time."""
    needy = [prompt for prompt in snapshot if any(each.required for each in prompt.arguments)]
    free = [prompt for prompt in snapshot if prompt not in needy]
    numbers = [
        {"name": prompt.name, "arguments": {each.name: 0 for each in prompt.arguments}}
        for prompt in snapshot
        if prompt.arguments
    ]
    refused = [{"name": NOBODY}, *({"name": each.name} for each in needy[:1]), *numbers[:1]]
    return refused, [{"name": each.name} for each in free[:SAMPLE]]


def _completions(snapshot: Snapshot) -> list[Question]:
    return [
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": prompt.name},
                "argument": {"name": prompt.arguments[0].name, "value": ""},
            },
        )
        for prompt in [each for each in snapshot if each.arguments][:1]
    ]
