"""What the command line shows: prompts and messages, as text for people or as JSON in the wire's spelling.

A server's text is data: where it goes to a terminal, control characters are shown and not obeyed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from mcp_sansio import (
    ALL_VERSIONS,
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    Prompt,
    ResourceLink,
    TextContent,
    TextResource,
)
from mcp_sansio._structure import unstructure


def wire(value: object) -> Any:
    """A value as the newest revision writes it."""
    return unstructure(value, ALL_VERSIONS[-1])


def print_json(value: Any) -> None:
    """One JSON document on stdout, in UTF-8 whatever the locale."""
    text = json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)
    # The only surrogates are those of file names that are not UTF-8, and as escapes they are still JSON.
    sys.stdout.buffer.write(text.encode(errors="backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def print_text(text: str) -> None:
    """Text of a server on stdout: as it is in a pipe, harmless on a terminal."""
    click.echo(harmless(text) if sys.stdout.isatty() else text)


def on_a_terminal() -> bool:
    """Whether stdout is a terminal that can do more than print lines."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def harmless(text: str) -> str:
    """The text with every control character but newline and tab written as an escape."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text
    )  # fmt: skip


def one_line(text: str) -> str:
    """The text without line breaks, and harmless."""
    return harmless(" ".join(text.split()))


def print_prompts(prompts: Iterable[Prompt]) -> None:
    """A list of prompts on stdout: a table on a terminal, a line each in a pipe."""
    if on_a_terminal():
        prompt_table(prompts)
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in prompt_lines(prompts, width):
        click.echo(line)


def prompt_lines(prompts: Iterable[Prompt], width: int | None) -> Iterator[str]:
    """A line for each prompt: name, arguments (optional ones in brackets), what it is for.

    Cut to `width` columns, if that is given.
    """
    rows = [(one_line(prompt.name), argument_names(prompt), purpose(prompt)) for prompt in prompts]
    names = max((len(name) for name, _, _ in rows), default=0)
    arguments = max((len(arguments) for _, arguments, _ in rows), default=0)
    for row in rows:
        line = f"{row[0]:{names}}  {row[1]:{arguments}}  {row[2]}".rstrip()
        yield line if width is None or len(line) <= width else line[: max(width - 1, 1)] + "…"


def prompt_table(prompts: Iterable[Prompt]) -> None:
    """The prompts on a terminal: a table in which long texts are wrapped, not cut."""
    from rich.console import Console  # noqa: PLC0415  # slow to load, and for terminals only
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("prompt", style="bold", overflow="fold")
    table.add_column("arguments", overflow="fold")
    table.add_column("what it is for", overflow="fold")
    for prompt in prompts:
        cells = (one_line(prompt.name), argument_names(prompt), purpose(prompt))
        table.add_row(*map(Text, cells))
    Console(highlight=False).print(table)


def argument_names(prompt: Prompt) -> str:
    """The arguments of a prompt in one line, optional ones in brackets."""
    shown = (argument.name if argument.required else f"[{argument.name}]" for argument in prompt.arguments)
    return one_line(" ".join(shown))


def purpose(prompt: Prompt) -> str:
    """What a prompt is for, in one line."""
    return one_line(prompt.description or prompt.title or "")


def result_text(result: GetPromptResult) -> str:
    """A rendered prompt. A single message of the user is only its text; else each has a line for its role."""
    texts = [content_text(message.content) for message in result.messages]
    if [message.role for message in result.messages] == ["user"]:
        return texts[0]
    roles = (f"[{message.role}]" for message in result.messages)
    return "\n\n".join(f"{role}\n{text}" for role, text in zip(roles, texts, strict=True))


def content_text(content: ContentBlock) -> str:
    """Text as it is, and for anything else a placeholder that says what it is."""
    if isinstance(content, TextContent):
        return content.text
    if isinstance(content, ImageContent | AudioContent):
        return f"[{content.type} {content.mime_type}, {_size(content.data)}]"
    if isinstance(content, ResourceLink):
        title = content.title or content.name
        return f"[link {content.uri} {title}]"
    return _embedded(content)


def _embedded(content: EmbeddedResource) -> str:
    resource = content.resource
    kind = f" {resource.mime_type}" if resource.mime_type else ""
    if isinstance(resource, TextResource):
        return f"[resource {resource.uri}{kind}]\n{resource.text}"
    return f"[resource {resource.uri}{kind}, {_size(resource.blob)}]"


def _size(base64: str) -> str:
    """How much base64 text holds, for people."""
    return amount(len(base64.rstrip("=")) * 3 // 4)


def amount(size: int) -> str:
    """A number of bytes, for people."""
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
