"""Asks a person on a terminal: for the arguments of a prompt that are missing, with what the server proposes.

Questions are written to stderr, so that stdout can be a pipe; whoever calls looks at `can_ask` first.
Whatever is typed is taken, an empty value included: what may stand for an argument is for the server to say.
Ctrl-C and Ctrl-D give up (`click.Abort`).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.output import create_output
from prompt_toolkit.validation import Validator

from mcp_sansio import Limits, McpError, Prompt, PromptArgument
from mcp_sansio_adapters._async_client import AsyncClient

from .show import one_line

PATIENCE = Limits(total=5.0)
"""How long a proposal may take; later it is of no use to somebody who types."""


def can_ask() -> bool:
    """Whether there is a person at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_missing(client: AsyncClient, prompt: Prompt, given: Mapping[str, str]) -> dict[str, str]:
    """The arguments given, and what a person says for those that are required and missing.

    Raises `click.Abort` when the person gives up.
    """
    arguments = dict(given)
    for argument in prompt.arguments:
        if argument.required and argument.name not in arguments:
            proposals = Proposals(client, prompt.name, argument.name, arguments)
            try:
                arguments[argument.name] = await ask(question(argument), completer=proposals)
            except EOFError:
                raise click.Abort from None
    return arguments


async def ask(
    text: str,
    *,
    default: str = "",
    completer: Completer | None = None,
    validator: Validator | None = None,
    hidden: bool = False,
) -> str:
    """One line of a person. Raises `click.Abort` for Ctrl-C, and `EOFError` for Ctrl-D."""
    session: PromptSession[str] = PromptSession(output=create_output(stdout=sys.stderr))
    try:
        return await session.prompt_async(
            text,
            default=default,
            completer=completer,
            validator=validator,
            validate_while_typing=False,
            is_password=hidden,
        )
    except KeyboardInterrupt:
        raise click.Abort from None


def one_of(words: Sequence[str]) -> Completer:
    """Proposes these."""
    return WordCompleter([*words], sentence=True, ignore_case=True)


def question(argument: PromptArgument) -> str:
    """How to ask for an argument: by its name, and what it is for."""
    return labelled(argument.name, argument.description or argument.title)


def labelled(name: str, purpose: str | None) -> str:
    """A question on one line, whatever a server puts into it."""
    return one_line(f"{name} ({purpose})" if purpose else name) + ": "


class Proposals(Completer):
    """What the server proposes for an argument, in the light of those that are known. If it proposes nothing,
    for whatever reason, nothing is shown.
    """

    def __init__(self, client: AsyncClient, prompt: str, argument: str, known: Mapping[str, str]) -> None:
        self._client = client
        self._prompt = prompt
        self._argument = argument
        self._known = dict(known)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing: the server can only be asked asynchronously."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """What the server proposes for the text so far."""
        text = document.text
        with suppress(McpError):
            proposed = await self._client.complete(
                self._prompt, self._argument, text, self._known, limits=PATIENCE
            )
            for value in proposed.values:
                yield Completion(
                    value, start_position=-len(document.text_before_cursor), display=one_line(value)
                )
