"""The command `list`: the prompts of one server, or of several at once.

Several are asked at the same time. A prompt is shown behind what its server is called, and a server that
fails is a line on stderr, and the exit code in the end, but no reason not to show the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

import attrs
import click

from mcp_sansio import McpError, Prompt, Snapshot
from mcp_sansio_adapters.asyncio import open_several
from mcp_sansio_adapters.several import SeveralPrompts

from . import show
from .explain import exit_code, explain
from .guard import guarded, say
from .options import Asking, asking, json_option
from .servers import Question


@click.command("list")
@click.argument("words", nargs=-1, metavar="[SERVER]…")
@json_option
@asking
@guarded
def list_command(words: tuple[str, ...], *, as_json: bool, asked: Asking) -> int | None:
    """List the prompts of a server, or of several: each behind the name of its server.

    With --config and no SERVER, those of all servers in that file.
    """
    questions = asked.all(words)
    if len(questions) > 1 or asked.everything(words):
        return _several(questions, as_json=as_json)
    snapshot = asyncio.run(_list(questions[0]))
    if as_json:
        show.print_json(_wire(snapshot))
    else:
        show.print_prompts(snapshot)
    return None


async def _list(question: Question) -> Snapshot:
    async with question.connected() as client:
        snapshot = await client.list_prompts()
    _complain(question, snapshot)
    return snapshot


def _wire(snapshot: Snapshot) -> dict[str, object]:
    return {"prompts": [show.wire(prompt) for prompt in snapshot]}


def _complain(question: Question, snapshot: Snapshot) -> None:
    for problem in snapshot.problems:
        question.tell(f"left out: {problem}")


def _several(questions: Sequence[Question], *, as_json: bool) -> int | None:
    by_label = {
        label: attrs.evolve(question, tell=partial(_tell, label))
        for label, question in zip(_labels(questions), questions, strict=True)
    }
    found = asyncio.run(_list_all(by_label))
    reasons = {label: _reason(error, by_label[label]) for label, error in found.failures.items()}
    if as_json:
        show.print_json(
            {"servers": {by_label[label].server.name: _outcome(found, label, reasons) for label in by_label}}
        )
    else:
        show.print_prompts([_labelled(each.prompt, name) for name, each in found.by_name.items()])
    for label, reason in reasons.items():
        by_label[label].tell(reason)
    codes = [exit_code(error) for error in found.failures.values() if isinstance(error, McpError)]
    return codes[0] if codes else None


async def _list_all(questions: Mapping[str, Question]) -> SeveralPrompts:
    patience = max(question.timeout for question in questions.values())
    openers = {label: question.connected for label, question in questions.items()}
    async with open_several(openers, patience=patience) as several:
        found = await several.list_prompts()
    for label, each in found.servers.items():
        if each.snapshot is not None:
            _complain(questions[label], each.snapshot)
    return found


def _outcome(found: SeveralPrompts, label: str, reasons: Mapping[str, str]) -> dict[str, object]:
    snapshot = found.servers[label].snapshot
    return {"error": reasons[label]} if snapshot is None else _wire(snapshot)


def _reason(error: Exception, question: Question) -> str:
    """Why a server has no part in the list; what is no failure of a server's is ours, and raised."""
    if isinstance(error, McpError):
        return explain(error, question)
    raise error


def _tell(label: str, text: str) -> None:
    say(f"{label}: {text}")


def _labelled(prompt: Prompt, name: str) -> Prompt:
    return attrs.evolve(prompt, name=name)


def _labels(questions: Sequence[Question]) -> list[str]:
    """What each server is called among the others: a URL by its host, if no other one is called so."""
    short = [urlsplit(each.server.name).netloc or each.server.name for each in questions]
    count = Counter(short)
    labels = [
        label if count[label] == 1 else each.server.name for label, each in zip(short, questions, strict=True)
    ]
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        raise click.UsageError(f"Two servers are called {twice[0]!r}.")
    return labels
