"""The server of the recordings: a child process on stdio that is recorded, and edits itself.

Run as `server.py FILE`: the trace goes to the file. Prompts change when they are rendered, so that one
conversation has everything in it: pages, changes that are announced, input that is asked for, failures.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcp_sansio import (
    AskInput,
    Catalogue,
    Implementation,
    InputRequest,
    Keys,
    Prompt,
    PromptArgument,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import report_progress
from mcp_sansio_adapters.blocking import serve_stdio
from mcp_sansio_adapters.recording import Recorder

CONFIG = ServerConfig(info=Implementation("recorded", "1.0"), quiet=0.01, max_wait=0.1)
SERVING = PromptServerConfig(keys=Keys(("recorded", bytes(range(32)))), page_size=2, ttl=3600.0)
FORM = InputRequest("elicitation/create", {"message": "Which?", "requestedSchema": {"type": "object"}})


def catalogue() -> Catalogue:
    """Five prompts, of which one adds another, one asks and one fails."""
    made = Catalogue()

    def add(name: str) -> str:
        made.put(Prompt(name, description="added"))
        return f"there is {name} now"

    def remove(name: str) -> str:
        made.remove(name)
        return f"there is no {name} any more"

    def fail() -> str:
        raise RuntimeError("that went wrong")

    def ask(asked: PromptRequested) -> AskInput | str:
        if not asked.responses:
            return AskInput({"which": FORM}, "state")
        return f"the answer was {asked.responses['which']['content']['which']}"

    def slow() -> str:
        report_progress(1, 2, "half")
        return "slow but steady"

    name = (PromptArgument("name", required=True),)
    made.add(Prompt("add", arguments=name), add, {"name": ["one", "two"]})
    made.add(Prompt("ask"), ask)
    made.add(Prompt("fail"), fail)
    made.add(Prompt("remove", arguments=name), remove, {"name": lambda value, _: [f"{value}1", f"{value}2"]})
    made.add(Prompt("slow"), slow)
    return made


def main(path: str) -> None:
    """Serve, and record that."""
    with Path(path).open("wb") as file:
        server = Server(CONFIG, PromptServer(catalogue(), SERVING))
        serve_stdio(server, recorder=Recorder(file.write))


if __name__ == "__main__":
    main(sys.argv[1])
