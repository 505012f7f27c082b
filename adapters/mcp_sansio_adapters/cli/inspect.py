"""The command `inspect`: what a server is, and what it does wrong by the specification."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import click

from mcp_sansio import McpError, Negotiated, Snapshot
from mcp_sansio_adapters.inspect.conversation import Carrier, Conversation, Entry
from mcp_sansio_adapters.inspect.probes import ask_all
from mcp_sansio_adapters.inspect.rule import Finding, judged
from mcp_sansio_adapters.inspect.rules import RULES

from . import show
from .explain import Exit
from .guard import guarded
from .options import Asking, asking, json_option
from .servers import Question


@click.command("inspect")
@click.argument("words", nargs=-1, metavar="[SERVER]")
@click.option("--no-probes", is_flag=True, help="Only connect and list; provoke nothing.")
@click.option("--strict", is_flag=True, help="Fail for what the specification says SHOULD be, too.")
@json_option
@asking
@guarded
def inspect_command(
    words: tuple[str, ...], *, no_probes: bool, strict: bool, as_json: bool, asked: Asking
) -> int:
    """Say what a server is, and what it does wrong by the specification."""
    question, _ = asked.split(words)
    agreed, snapshot, findings = asyncio.run(_inspect(question, probes=not no_probes))
    if as_json:
        show.print_json(_wire(agreed, findings))
    else:
        _print(agreed, snapshot, findings)
    broken = any(strict or finding.rule.level == "MUST" for finding in findings)
    return Exit.REFUSED if broken else Exit.DONE


async def _inspect(
    question: Question, *, probes: bool
) -> tuple[Negotiated, Snapshot | None, tuple[Finding, ...]]:
    heard: list[Entry] = []
    snapshot: Snapshot | None = None
    async with question.connected(on_message=heard.append) as client:
        with suppress(McpError):
            snapshot = await client.refresh_prompts()
        if probes:
            with suppress(McpError):
                await ask_all(client, snapshot)
        agreed, during = client.negotiated, tuple(heard)
    carrier: Carrier = "stdio" if question.server.url is None else "http"
    return agreed, snapshot, judged(RULES, [Conversation(during, carrier, agreed.version)])


def _wire(agreed: Negotiated, findings: tuple[Finding, ...]) -> dict[str, Any]:
    return {
        "server": None if agreed.server_info is None else show.wire(agreed.server_info),
        "era": agreed.era.value,
        "version": agreed.version,
        "capabilities": agreed.capabilities,
        "findings": [
            {
                "id": found.rule.id,
                "level": found.rule.level,
                "text": found.rule.text,
                "spec": {"url": found.rule.url, "quote": found.rule.quote},
                "evidence": found.evidence,
                "times": found.times,
            }
            for found in findings
        ],
    }


def _print(agreed: Negotiated, snapshot: Snapshot | None, findings: tuple[Finding, ...]) -> None:
    info = agreed.server_info
    click.echo(f"server        {'unnamed' if info is None else show.one_line(f'{info.name} {info.version}')}")
    click.echo(f"revision      {agreed.version} ({agreed.era.value})")
    click.echo(f"capabilities  {show.one_line(', '.join(agreed.capabilities) or 'none')}")
    if agreed.instructions:
        click.echo(f"instructions  {show.one_line(agreed.instructions)}")
    counted = "no list" if snapshot is None else f"{len(snapshot)} in {snapshot.pages} pages"
    click.echo(f"prompts       {counted}\n")
    for found in findings:
        times = f" ({found.times} times)" if found.times > 1 else ""
        click.echo(f"{found.rule.level:6}  {found.rule.text}{times}  [{found.rule.id}]")
        click.echo(f"        {show.one_line(found.evidence)}\n        {found.rule.url}")
    if not findings:
        click.echo("nothing wrong was seen")
