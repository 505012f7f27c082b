"""Questions whose answers tell much about a server. None changes anything: `prompts/get` only reads.

They are asked one after the other, then some of them at once. Of the prompts that take arguments one is
asked for without any, and with numbers in their place; none is ever given a text that somebody made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from mcp_sansio import Era, Limits, McpError, Negotiated, Snapshot

NOBODY = "mcp-sansio-inspect-no-such-thing"
SAMPLE = 3
"""How many prompts are got."""

Question: TypeAlias = tuple[str, dict[str, Any]]


class Asker(Protocol):
    """The part of a client that is needed."""

    @property
    def negotiated(self) -> Negotiated: ...  # noqa: D102

    async def request(  # noqa: D102
        self, method: str, params: Mapping[str, Any] | None = None, *, limits: Limits | None = None
    ) -> Mapping[str, Any]: ...

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None: ...  # noqa: D102


async def ask_all(client: Asker, snapshot: Snapshot | None, patience: float) -> None:
    """Ask everything, for `patience` seconds each; what is refused is what was wanted."""
    limits = Limits(quiet=patience, total=patience)

    async def ask(method: str, params: dict[str, Any]) -> None:
        with suppress(McpError):
            await client.request(method, params, limits=limits)

    with suppress(McpError):
        await client.notify(f"notifications/{NOBODY}")
    for question in questions(client.negotiated, snapshot):
        await ask(*question)
    async with asyncio.TaskGroup() as together:
        for question in at_once(snapshot):
            together.create_task(ask(*question))


def questions(agreed: Negotiated, snapshot: Snapshot | None) -> list[Question]:
    """What to ask, given what is known."""
    asked: list[Question] = [(NOBODY, {})]
    if agreed.era is Era.LEGACY:
        asked.append(("ping", {}))
    if snapshot is None:
        return [*asked, ("prompts/list", {})]
    cursors = [{"cursor": NOBODY}, {"cursor": ""}]
    return [
        *asked,
        *(("prompts/list", params) for params in cursors),
        *(("prompts/get", params) for params in _gets(snapshot)),
        *_completions(snapshot),
    ]


def at_once(snapshot: Snapshot | None) -> list[Question]:
    """What is asked together: answers so different that each is known if ids are mixed up."""
    known: list[Question] = [("prompts/list", {}), ("prompts/get", {"name": NOBODY})]
    return [(NOBODY, {}), *(known if snapshot is not None else [])]


def _gets(snapshot: Snapshot) -> list[dict[str, Any]]:
    needy = [prompt for prompt in snapshot if any(each.required for each in prompt.arguments)]
    free = [prompt for prompt in snapshot if prompt not in needy]
    numbers = [
        {"name": prompt.name, "arguments": {each.name: 0 for each in prompt.arguments}}
        for prompt in snapshot
        if prompt.arguments
    ]
    return [{"name": NOBODY}, *({"name": each.name} for each in (*needy[:1], *free[:SAMPLE])), *numbers[:1]]


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
