"""The command `inspect`: what a server is, and what it does wrong by the specification."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import attrs
import click

from mcp_sansio import McpError, Negotiated, Snapshot
from mcp_sansio_adapters._defaults import now
from mcp_sansio_adapters.inspect.conversation import Carrier, Conversation, Entry, Heard
from mcp_sansio_adapters.inspect.probes import ask_all
from mcp_sansio_adapters.inspect.report import Listed, Report, reported, version_of
from mcp_sansio_adapters.inspect.rule import cut
from mcp_sansio_adapters.inspect.spoken import speak

from . import show
from .explain import Exit, explain
from .guard import guarded, say
from .options import Asking, asking, json_option
from .servers import Question

PATIENCE = 5.0
"""For how many seconds an answer to a probe is waited for, at least."""


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
    report = asyncio.run(_inspect(question, probes=not no_probes))
    if as_json:
        show.print_json(_wire(report))
    else:
        _print(report)
    broken = any(strict or finding.rule.level == "MUST" for finding in report.findings)
    return Exit.REFUSED if broken else Exit.DONE


async def _inspect(question: Question, *, probes: bool) -> Report:
    visit = _Visit(question)
    try:
        await visit.pay(probes=probes)
    except McpError as error:
        return _refused(visit, error)
    talks = [visit.talk]
    if probes and visit.agreed is not None:
        with suppress(OSError):
            talks += await speak(question.server, visit.agreed, visit.patience)
    return reported(visit.agreed, visit.snapshots, talks)


def _refused(visit: _Visit, error: McpError) -> Report:
    """A client could not live with this server: what it answered until then may say why. Raises what is to be
    told if it does not.
    """
    talk = visit.talk
    report = reported(visit.agreed, visit.snapshots, [talk])
    if not report.findings or not any(said.is_reply for said in talk.received):
        raise error
    say(explain(error, visit.question))
    return report


@attrs.define
class _Visit:
    """One connection of a client, and what was heard on it."""

    question: Question
    agreed: Negotiated | None = None
    patience: float = PATIENCE
    heard: Heard = attrs.field(factory=Heard)
    over: bool = False
    snapshots: list[Snapshot] = attrs.field(factory=list[Snapshot])

    async def pay(self, *, probes: bool) -> None:
        """Connect, list, ask, list again. A server that is slow to start may be slow to answer."""
        begin = now()
        async with self.question.connected(on_message=self._hear) as client:
            self.patience = min(self.question.timeout, max(PATIENCE, 3 * (now() - begin)))
            self.agreed = client.negotiated
            with suppress(McpError):
                self.snapshots.append(await client.refresh_prompts())
            known = self.snapshots[0] if self.snapshots else None
            if probes and await ask_all(client, known, self.patience) and known is not None:
                with suppress(McpError):
                    self.snapshots.append(await client.refresh_prompts())
            self.over = True

    def _hear(self, entry: Entry) -> None:
        """What closing does is not judged."""
        if not self.over:
            self.heard(entry)

    @property
    def talk(self) -> Conversation:
        """What was said."""
        carrier: Carrier = "stdio" if self.question.server.url is None else "http"
        entries = self.heard.entries
        version = version_of(entries) if self.agreed is None else self.agreed.version
        return Conversation(entries, carrier, version, cut=self.heard.cut)


def _wire(report: Report) -> dict[str, Any]:
    agreed, listed = report.agreed, report.listed
    info = None if agreed is None else agreed.server_info
    return {
        "server": None if info is None else show.wire(info),
        "era": None if agreed is None else agreed.era.value,
        "version": report.version,
        "capabilities": None if agreed is None else agreed.capabilities,
        "instructions": None if agreed is None else agreed.instructions,
        "prompts": None if listed is None else _listed_wire(listed),
        "findings": [
            {
                "id": found.rule.id,
                "level": found.rule.level,
                "text": found.rule.text,
                "spec": {"url": found.rule.url, "quote": found.rule.quote},
                "revisions": found.rule.revisions,
                "evidence": found.evidence,
                "times": found.times,
            }
            for found in report.findings
        ],
    }


def _listed_wire(listed: Listed) -> dict[str, Any]:
    return {
        "count": listed.count,
        "pages": listed.pages,
        "same": listed.same,
        "ttlMs": listed.ttl_ms,
        "cacheScope": listed.cache_scope,
    }


def _print(report: Report) -> None:
    for name, text in _facts(report):
        click.echo(f"{name:13} {show.one_line(text)}")
    click.echo()
    for found in report.findings:
        times = f" ({found.times} times)" if found.times > 1 else ""
        click.echo(f"{found.rule.level:6}  {found.rule.text}{times}  [{found.rule.id}]")
        click.echo(f"        {show.one_line(found.evidence)}\n        {found.rule.url}")
    if not report.findings:
        click.echo("nothing wrong was seen")


def _facts(report: Report) -> Sequence[tuple[str, str]]:
    """What the server is, a line each."""
    agreed = report.agreed
    if agreed is None:
        return [("revision", f"none was agreed on; {report.version} was spoken")]
    info = agreed.server_info
    instructions = [("instructions", cut(agreed.instructions))] if agreed.instructions else []
    return [
        ("server", "unnamed" if info is None else f"{info.name} {info.version}"),
        ("revision", f"{agreed.version} ({agreed.era.value})"),
        ("capabilities", ", ".join(agreed.capabilities) or "none"),
        *instructions,
        ("prompts", "no list" if report.listed is None else _list_text(report.listed)),
    ]


def _list_text(listed: Listed) -> str:
    pages = "1 page" if listed.pages == 1 else f"{listed.pages} pages"
    hints = [] if listed.ttl_ms is None else [f"fresh for {listed.ttl_ms} ms, {listed.cache_scope}"]
    changed = ["another list when it was read again"] if listed.same is False else []
    return "; ".join([f"{listed.count} in {pages}", *hints, *changed])
