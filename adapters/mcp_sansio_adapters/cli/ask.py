"""The commands that ask about one prompt: `get` and `complete`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import click

from mcp_sansio import Completion, GetPromptResult, Limits, TimedOut
from mcp_sansio_adapters._exceptions import RequestFailed
from mcp_sansio_adapters.asyncio import AsyncClient

from . import show
from .asking import ask_missing, can_ask
from .explain import needed
from .guard import guarded
from .options import Asking, asking, json_option
from .person import Person
from .servers import Question


def _arguments(
    _context: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, str]:
    """The values of `--arg`, which may be empty."""
    arguments: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} has no value: write it as KEY=VALUE.")
        if key in arguments:
            raise click.BadParameter(f"{key!r} is given twice.")
        arguments[key] = value
    return arguments


argument_option = click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_arguments,
    help="An argument; may be repeated. KEY= gives an empty one.",
)


@click.command("get")
@click.argument("words", nargs=-1, metavar="[SERVER] NAME")
@argument_option
@json_option
@asking
@guarded
def get_command(words: tuple[str, ...], *, arguments: dict[str, str], as_json: bool, asked: Asking) -> None:
    """Render the prompt NAME of a server.

    On a terminal, required arguments that are missing are asked for, and forms of the server's.
    """
    question, (name,) = asked.split(words, "NAME")
    result = asyncio.run(_get(question, name, arguments))
    if as_json:
        show.print_json(show.wire(result))
    else:
        show.print_text(show.result_text(result))


async def _get(question: Question, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """The prompt, with the help of the person if there is one."""
    if can_ask():
        return await _get_together(question, name, arguments)
    async with question.connected() as client:
        return await _rendered(client, name, arguments)


async def _get_together(question: Question, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """The same, asking the person for what is missing; who thinks is not hurried."""
    person, seconds = Person(), question.timeout
    async with question.connected(**person.options(question.config)) as client:
        arguments = await _completed(client, name, arguments)
        try:
            async with person.waits(seconds):
                return await _rendered(client, name, arguments, Limits())
        except TimeoutError:
            raise RequestFailed(TimedOut("total", seconds)) from None


async def _rendered(
    client: AsyncClient, name: str, arguments: Mapping[str, str], limits: Limits | None = None
) -> GetPromptResult:
    try:
        return await client.get_prompt(name, arguments, limits=limits)
    except RequestFailed as error:
        missing = needed(error.snapshot, name, arguments)
        if missing:
            error.args = (f"{error}; add{missing}",)
        raise


async def _completed(client: AsyncClient, name: str, arguments: Mapping[str, str]) -> Mapping[str, str]:
    """The arguments, and what the person says for those that are missing."""
    prompt = (await client.list_prompts()).by_name.get(name)
    return arguments if prompt is None else await ask_missing(client, prompt, arguments)


@click.command("complete")
@click.argument("words", nargs=-1, metavar="[SERVER] NAME ARGUMENT [PREFIX]")
@argument_option
@json_option
@asking
@guarded
def complete_command(
    words: tuple[str, ...], *, arguments: dict[str, str], as_json: bool, asked: Asking
) -> None:
    """Show the values that the server proposes for ARGUMENT of the prompt NAME, a line each.

    Other arguments that are known already are given by --arg.
    """
    question, rest = asked.split(words, "NAME", "ARGUMENT", optional="PREFIX")
    name, argument, prefix = [*rest, ""][:3]
    completion = asyncio.run(_complete(question, name, argument, prefix, arguments))
    if as_json:
        show.print_json({"completion": show.wire(completion)})
        return
    for value in completion.values:
        show.print_text(value)
    if completion.has_more:
        of = "" if completion.total is None else f" of {completion.total}"
        question.tell(f"these are the first {len(completion.values)}{of}: a longer PREFIX shows others")


async def _complete(
    question: Question, name: str, argument: str, prefix: str, known: Mapping[str, str]
) -> Completion:
    async with question.connected() as client:
        return await client.complete(name, argument, prefix, known)
