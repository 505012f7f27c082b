"""A client on the official SDK, to test servers against.

It starts the command it is given as a stdio server, or connects to a URL, does once everything that the
options name, and prints what it saw as one JSON object, `Report` in `live.py`. An era is forced with the
SDK's own `mode`, a handshake revision by narrowing what the session offers and accepts.
"""

import argparse
import json
import os
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import session
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

LIST_CHANGED = "notifications/prompts/list_changed"


def wire(model: BaseModel | None) -> Any:
    """A model as it came over the wire: only the members that were there."""
    return None if model is None else model.model_dump(by_alias=True, mode="json", exclude_unset=True)


async def outcome(call: Awaitable[BaseModel]) -> Any:
    """The result of a call as JSON, or its error under the key `error`."""
    try:
        return wire(await call)
    except MCPError as error:
        return {"error": wire(error.error)}


class Watcher:
    """Collects the notifications of the server, and lets others wait for a change of the list."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.changed = anyio.Event()

    async def __call__(self, message: types.ServerNotification | Exception) -> None:
        """Note a message; what could not be read is noted as text."""
        if isinstance(message, Exception):
            self.seen.append({"unreadable": str(message)})
            return
        self.seen.append(wire(message))
        if message.method == LIST_CHANGED:
            self.changed.set()


async def all_prompts(client: Client) -> tuple[list[Any], int]:
    """The whole list, page by page, and the number of its pages."""
    page = await client.list_prompts()
    prompts, pages = page.prompts, 1
    while page.next_cursor is not None:
        page = await client.list_prompts(cursor=page.next_cursor)
        prompts += page.prompts
        pages += 1
    return [wire(each) for each in prompts], pages


async def pull(trigger: argparse.Namespace, client: Client) -> None:
    """Make the server's list change: by writing or deleting a file, or by getting a prompt."""
    if trigger.write:
        path, text = trigger.write
        await anyio.Path(path).write_text(text, encoding="utf-8")
    if trigger.delete:
        await anyio.Path(trigger.delete).unlink()
    if trigger.change:
        name, arguments = trigger.change
        await client.get_prompt(name, json.loads(arguments))


async def change(
    options: argparse.Namespace, client: Client, watcher: Watcher, report: dict[str, Any]
) -> None:
    """Pull the trigger and wait for the notification: on the connection, or on a stream opened for it."""
    watcher.changed = anyio.Event()
    async with AsyncExitStack() as stack:
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            stream = await stack.enter_async_context(client.listen(prompts_list_changed=True))
            report["acknowledged"] = wire(stream.honored)
        await pull(options, client)
        with anyio.move_on_after(options.timeout):
            await watcher.changed.wait()
    report["changed"] = watcher.changed.is_set()
    report["relisted"], _ = await all_prompts(client)


async def visit(options: argparse.Namespace, client: Client, watcher: Watcher) -> dict[str, Any]:
    """Do everything that the options name, in a fixed order."""
    prompts, pages = await all_prompts(client)
    report: dict[str, Any] = {
        "protocolVersion": client.protocol_version,
        "serverInfo": wire(client.server_info),
        "capabilities": wire(client.server_capabilities),
        "instructions": client.instructions,
        "discovered": wire(client.session.discover_result),
        "prompts": prompts,
        "pages": pages,
        "got": [
            await outcome(client.get_prompt(name, json.loads(arguments))) for name, arguments in options.get
        ],
        "completed": [
            await outcome(
                client.complete(types.PromptReference(name=name), {"name": argument, "value": value})
            )
            for name, argument, value in options.complete
        ],
        "notifications": watcher.seen,
    }
    if options.write or options.delete or options.change:
        await change(options, client, watcher, report)
    return report


def answering(content: str | None) -> Any:
    """An elicitation callback that accepts with this content; without one the client cannot be asked."""
    if content is None:
        return None

    async def accept(_context: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content=json.loads(content))

    return accept


def force(revision: str) -> str:
    """Make the SDK offer and accept this revision only; returns the mode that goes with it."""
    if revision not in HANDSHAKE_PROTOCOL_VERSIONS:
        return revision
    vars(session).update(HANDSHAKE_PROTOCOL_VERSIONS=(revision,), LATEST_HANDSHAKE_VERSION=revision)
    return "legacy"


def process(command: str, *arguments: str) -> StdioServerParameters:
    """The server to start."""
    return StdioServerParameters(command=command, args=[*arguments], env=dict(os.environ))


async def main(options: argparse.Namespace) -> None:
    """Connect to the server, visit it, print the report."""
    mode = force(options.revision) if options.revision else options.mode
    watcher = Watcher()
    client = Client(
        options.url or process(*options.command),
        mode=LATEST_MODERN_VERSION if mode == "modern" else mode,
        message_handler=watcher,
        elicitation_callback=answering(options.answer),
        read_timeout_seconds=options.timeout,
        cache=None,
    )
    async with client:
        report = await visit(options, client, watcher)
    print(json.dumps(report))


def arguments() -> argparse.Namespace:
    """Read the command line: options, `--`, and the command of the server."""
    parser = argparse.ArgumentParser(description=__doc__)
    option = parser.add_argument
    option("--mode", choices=("auto", "legacy", "modern"), default="auto")
    option("--revision", help="speak this revision only (decides the mode)")
    option("--get", nargs=2, action="append", default=[], metavar=("NAME", "ARGUMENTS"))
    option("--complete", nargs=3, action="append", default=[], metavar=("NAME", "ARGUMENT", "VALUE"))
    option("--write", nargs=2, metavar=("PATH", "TEXT"), help="write a file, then wait for list_changed")
    option("--delete", metavar="PATH", type=Path, help="delete a file, then wait for list_changed")
    option(
        "--change", nargs=2, metavar=("NAME", "ARGUMENTS"), help="get a prompt, then wait for list_changed"
    )
    option("--answer", metavar="CONTENT", help="what to answer when the server asks the user")
    option("--timeout", type=float, default=20.0, help="seconds for each wait")
    option("--url", help="where the server is, if it is not to be started")
    option("command", nargs="*")
    return parser.parse_args()


if __name__ == "__main__":
    anyio.run(main, arguments())
