"""Servers whose prompts need a person: `terminal_servers.py modern`, or `legacy [FILE]`, speaks over stdio.

The modern one is ours. The legacy one is written by hand, for it asks while it works: one line after the
other, and what it is told goes into the prompt, and into FILE at once.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
)
from mcp_sansio_adapters import new_keys, unix_offset
from mcp_sansio_adapters.asyncio import serve_stdio

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
ASKED = {"message": "Tell me:", "requestedSchema": FORM}


def sizes(value: str, context: Mapping[str, str]) -> list[str]:
    """Depends on the drink."""
    return [each for each in (f"{context.get('drink')}-cup", f"{context.get('drink')}-pot") if value in each]


def order(**given: str) -> str:
    return json.dumps(given, sort_keys=True)


def form(asked: PromptRequested) -> str | AskInput:
    if not asked.responses:
        return AskInput({"f": InputRequest("elicitation/create", ASKED)})
    return json.dumps(asked.responses["f"], sort_keys=True)


def modern() -> Server:
    catalogue = Catalogue()
    drinks = ["tea", "coffee", "cocoa"]
    catalogue.add(Prompt("order", arguments=ARGUMENTS), order, {"drink": drinks, "size": sizes})
    catalogue.add(Prompt("form"), form)
    config = PromptServerConfig(keys=new_keys(), unix_offset=unix_offset())
    return Server(ServerConfig(info=Implementation("terminal", "1")), PromptServer(catalogue, config))


class Legacy:
    """A server of the legacy era. Before it lists, it asks, too, and has a prompt of the name it is told."""

    def __init__(self, heard: Path | None) -> None:
        self._heard = heard
        self._offered = False

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            method, params = message.get("method"), message.get("params", {})
            if method == "initialize":
                self._offered = params["capabilities"] == {"elicitation": {}}
                say(id=message["id"], result=welcome(params["protocolVersion"]))
            elif method == "prompts/list":
                names = ["form", "forms", "never", self._ask(1)[0]["action"]]
                say(id=message["id"], result={"prompts": [{"name": name} for name in names]})
            elif method == "prompts/get":
                self._get(message["id"], params["name"])
            elif "id" in message:
                say(id=message["id"], error={"code": -32601, "message": "no"})

    def _get(self, id: Any, name: str) -> None:
        if name == "never":
            return
        told = self._ask({"form": 1, "forms": 2}.get(name, 0)) if self._offered else ["not offered"]
        content = {"type": "text", "text": json.dumps(told[0] if len(told) == 1 else told, sort_keys=True)}
        say(id=id, result={"messages": [{"role": "user", "content": content}]})

    def _ask(self, times: int) -> list[Any]:
        """Ask all at once; what was said, in the order of the answers."""
        for number in range(times):
            say(id=f"q{number}", method="elicitation/create", params=ASKED)
        told = [json.loads(sys.stdin.readline())["result"] for _ in range(times)]
        if self._heard is not None:
            self._heard.write_text(json.dumps(told))
        return told


def say(**members: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)


def welcome(version: str) -> dict[str, Any]:
    info = {"name": "legacy", "version": "1"}
    return {"protocolVersion": version, "capabilities": {"prompts": {}}, "serverInfo": info}


def main() -> None:
    era, *heard = sys.argv[1:]
    if era == "modern":
        asyncio.run(serve_stdio(modern()))
    else:
        Legacy(Path(heard[0]) if heard else None).run()


if __name__ == "__main__":
    main()
