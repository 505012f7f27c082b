"""A server of our own over HTTP, to test other people's clients against: `our_server.py HOST [OPTION…]`.

It serves the prompts of `registry.py`, and those by which tests reach into it, which here are listed like all
others, for what our server does not list it does not serve. The host is one of our front ends, or uvicorn
around the ASGI application. The first line of output is the URL.
"""

import argparse
import importlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hosting import serve_app
from registry import ASK, CONTROL, HANG, STATE, TONES, Registry

from mcp_sansio import (
    ALL_VERSIONS,
    AskInput,
    Catalogue,
    Entry,
    Event,
    HttpServerConfig,
    Implementation,
    InputRequest,
    Prompt,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
    SessionStarted,
    StreamEnded,
    structure,
)
from mcp_sansio_adapters import new_keys, unix_offset
from mcp_sansio_adapters.asgi import asgi_app

FORM = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}


def say(url: str) -> None:
    print(url, flush=True)


def tones(value: str, _context: Mapping[str, str]) -> list[str]:
    return [tone for tone in TONES if tone.startswith(value)]


def prompt(shown: dict[str, Any]) -> Prompt:
    """A prompt of the registry's."""
    return structure(Prompt, json.dumps(shown).encode())


class Prompts:
    """The functions behind the prompts, and what they share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.registry = Registry(options.prompts)
        self.catalogue = Catalogue()
        self.sleep: Callable[[float], Any] = importlib.import_module(options.loop).sleep
        self.hanging = 0
        self.sessions: set[object] = set()
        self.publish()

    def publish(self) -> None:
        """Let the catalogue be what the registry has."""
        ours: dict[str, Callable[..., Any]] = {
            CONTROL: self.change,
            ASK: self.ask,
            HANG: self.hang,
            STATE: self.state,
        }
        entries = [Entry(Prompt(name), render) for name, render in ours.items()]
        self.catalogue.replace([*entries, *map(self.entry, self.registry.list())])

    def entry(self, shown: dict[str, Any]) -> Entry:
        made = prompt(shown)
        completers = {"tone": tones} if any(each.name == "tone" for each in made.arguments) else {}
        return Entry(made, partial(self.render, made.name), completers)

    def render(self, name: str, /, **arguments: str) -> str:
        return self.registry.render(name, arguments)

    def change(self, op: str, name: str, value: str = "") -> str:
        self.registry.change(op, name, value)
        self.publish()
        return f"revision {self.registry.revision}"

    def state(self) -> str:
        return json.dumps({"hanging": self.hanging, "sessions": len(self.sessions)})

    def ask(self, asked: PromptRequested) -> str | AskInput:
        """Ask for a topic, with a form."""
        if not asked.responses:
            params = {"mode": "form", "message": "What about?", "requestedSchema": FORM}
            return AskInput({"topic": InputRequest("elicitation/create", params)}, "asked")
        return f"{asked.state}: {json.dumps(asked.responses['topic'], separators=(',', ':'))}"

    async def hang(self) -> str:
        """Wait to be cancelled."""
        self.hanging += 1
        try:
            await self.sleep(3600)
        finally:
            self.hanging -= 1
        return "slept"

    def happened(self, event: Event) -> None:
        """Count the sessions."""
        if isinstance(event, SessionStarted):
            self.sessions.add(event.stream)
        elif isinstance(event, StreamEnded):
            self.sessions.discard(event.stream)


def main() -> None:
    """Read the command line and serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host", choices=("asyncio", "trio", "uvicorn"))
    parser.add_argument("--prompts", type=int, default=137)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--reply", choices=("auto", "json", "sse"), default="auto")
    parser.add_argument("--revision", help="serve this revision only")
    options = parser.parse_args()
    options.loop = "asyncio" if options.host == "uvicorn" else options.host
    prompts = Prompts(options)
    layer = PromptServer(
        prompts.catalogue, PromptServerConfig(keys=new_keys(), unix_offset=unix_offset(), page_size=10)
    )
    versions = (options.revision,) if options.revision else ALL_VERSIONS
    server = Server(ServerConfig(info=Implementation("our-peer", "1.0"), versions=versions), layer)
    config = HttpServerConfig(reply=options.reply)
    if options.host == "uvicorn":
        app = asgi_app(server, config, on_event=prompts.happened)
        serve = partial(serve_app, app, options.port)
    else:
        front = importlib.import_module(f"mcp_sansio_adapters.{options.host}")
        serve = partial(
            front.serve_http,
            server,
            port=options.port,
            started=say,
            config=config,
            on_event=prompts.happened,
        )
    loop = importlib.import_module(options.loop)
    loop.run(serve if options.host == "trio" else serve())


if __name__ == "__main__":
    main()
