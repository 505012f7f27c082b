"""Questions whose answers tell much about a server. None changes anything: `prompts/get` only reads."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from mcp_sansio import Era, McpError, Negotiated, Snapshot

NOBODY = "mcp-sansio-inspect-no-such-thing"
SAMPLE = 3
"""How many prompts are got."""


class Asker(Protocol):
    """The part of a client that is needed."""

    @property
    def negotiated(self) -> Negotiated: ...  # noqa: D102

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]: ...  # noqa: D102

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None: ...  # noqa: D102


async def ask_all(client: Asker, snapshot: Snapshot | None) -> None:
    """Ask everything, one after the other; what is refused is what was wanted."""
    await client.notify(f"notifications/{NOBODY}")
    for method, params in questions(client.negotiated, snapshot):
        with suppress(McpError):
            await client.request(method, params)


def questions(agreed: Negotiated, snapshot: Snapshot | None) -> list[tuple[str, dict[str, Any]]]:
    """What to ask, given what is known."""
    asked: list[tuple[str, dict[str, Any]]] = [(NOBODY, {})]
    if agreed.era is Era.LEGACY:
        asked.append(("ping", {}))
    if snapshot is None:
        return [*asked, ("prompts/list", {})]
    asked += [("prompts/list", {"cursor": NOBODY}), ("prompts/get", {"name": NOBODY})]
    needy = [prompt for prompt in snapshot if any(each.required for each in prompt.arguments)]
    free = [prompt for prompt in snapshot if prompt not in needy]
    for prompt in (*needy[:1], *free[:SAMPLE]):
        asked.append(("prompts/get", {"name": prompt.name}))
    for prompt in [each for each in snapshot if each.arguments][:1]:
        argument = {"name": prompt.arguments[0].name, "value": ""}
        ref = {"type": "ref/prompt", "name": prompt.name}
        asked.append(("completion/complete", {"ref": ref, "argument": argument}))
    return asked
