"""A person's side of a prompt, for tests that type: `terminal_child.py NAME [KEY=VALUE…]` on a terminal.

It asks for what is missing, gets the prompt of a server that it starts (this file again, with `serve`), and
prints what it got to stdout.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from mcp_sansio import (
    AskInput,
    Catalogue,
    Implementation,
    InputRequest,
    Prompt,
    PromptArgument,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
    TextContent,
)
from mcp_sansio_adapters import new_keys, unix_offset
from mcp_sansio_adapters.asyncio import open_stdio_client, serve_stdio
from mcp_sansio_adapters.cli.asking import ask_missing
from mcp_sansio_adapters.cli.forms import fill_in

ARGUMENTS = (
    PromptArgument("drink", description="What to\ndrink \x1b[2J", required=True),
    PromptArgument("milk", required=False),
    PromptArgument("size", title="How much", required=True),
)
FORM = {
    "type": "object",
    "properties": {
        "who": {"type": "string", "title": "Name", "description": "whose", "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "hot": {"type": "boolean"},
        "note": {"type": "string"},
    },
    "required": ["who", "count", "hot"],
}


def sizes(value: str, context: Mapping[str, str]) -> list[str]:
    """Depends on the drink."""
    return [each for each in (f"{context.get('drink')}-cup", f"{context.get('drink')}-pot") if value in each]


def order(**given: str) -> str:
    return json.dumps(given, sort_keys=True)


def form(asked: PromptRequested) -> str | AskInput:
    if not asked.responses:
        return AskInput(
            {"f": InputRequest("elicitation/create", {"message": "Tell me:", "requestedSchema": FORM})}
        )
    return json.dumps(asked.responses["f"], sort_keys=True)


def server() -> Server:
    catalogue = Catalogue()
    drinks = ["tea", "coffee", "cocoa"]
    catalogue.add(Prompt("order", arguments=ARGUMENTS), order, {"drink": drinks, "size": sizes})
    catalogue.add(Prompt("form"), form)
    config = PromptServerConfig(keys=new_keys(), unix_offset=unix_offset())
    return Server(ServerConfig(info=Implementation("terminal", "1")), PromptServer(catalogue, config))


async def get(name: str, given: Mapping[str, str]) -> str:
    async with open_stdio_client([sys.executable, __file__, "serve"], on_input=fill_in) as client:
        prompt = (await client.list_prompts()).by_name[name]
        result = await client.get_prompt(name, await ask_missing(client, prompt, given))
    content: Any = result.messages[0].content
    assert isinstance(content, TextContent)
    return content.text


def main() -> None:
    name, *pairs = sys.argv[1:]
    if name == "serve":
        asyncio.run(serve_stdio(server()))
        return
    try:
        print(asyncio.run(get(name, dict(pair.split("=") for pair in pairs))))
    except click.Abort:
        print("aborted")


if __name__ == "__main__":
    main()
