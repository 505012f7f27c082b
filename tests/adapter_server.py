"""A server on one of our own front ends, for tests that need a process: `adapter_server.py FRONT [OPTION…]`.

Its prompts make it do what a test wants to see. Everything that it has to tell beside the protocol it writes
to stderr, a line each. It serves stdio, or with `--http PORT` HTTP, and then its URL is the first line of
stdout.
"""

import argparse
import importlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import partial
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
    RequestReceived,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import new_keys, report_progress, unix_offset

FORM = {"type": "object", "properties": {"topic": {"type": "string"}}}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Prompts:
    """The functions behind the prompts; those that wait do it as the front end has it."""

    def __init__(self, front: str, catalogue: Catalogue) -> None:
        self.front = front
        self.catalogue = catalogue
        self.released = threading.Event()
        self.waits = 0
        self.cancellations = 0

    def hello(self, topic: str, tone: str = "calm") -> str:
        return f"{topic}, {tone}"

    def ask(self, asked: PromptRequested) -> str | AskInput:
        """Two rounds of questions, counted in the state."""
        round_number = (asked.state or 0) + 1
        if round_number <= 2:
            wanted = InputRequest("elicitation/create", {"message": "what?", "requestedSchema": FORM})
            return AskInput({"topic": wanted}, round_number)
        return f"{asked.responses['topic']['content']['topic']} after {asked.state} rounds"

    def boom(self) -> str:
        raise RuntimeError("a secret")

    def chatter(self) -> str:
        """Misuses stdin and stdout in every way."""
        print("stray text", flush=True)
        os.write(1, b"stray bytes\n")
        subprocess.run([sys.executable, "-c", "print('stray child', input and '')"], check=True)
        return repr(sys.stdin.read())

    def big(self, size: str) -> str:
        return "é" * (int(size) // 2)

    def special(self) -> str:
        return "an em dash — and a check mark ✓"

    def pid(self) -> str:
        return str(os.getpid())

    def exit(self, code: str) -> str:
        say("about to exit")
        os._exit(int(code))

    def add(self, name: str) -> str:
        """Edit the catalogue from another thread."""
        thread = threading.Thread(target=self.catalogue.put, args=(Prompt(name), self.pid))
        thread.start()
        thread.join()
        return "added"

    def remove(self, name: str) -> str:
        self.catalogue.remove(name)
        return "removed"

    def burst(self, edits: str) -> str:
        """Many edits, each by itself."""
        for number in range(int(edits)):
            self.catalogue.put(Prompt("burst", description=f"edit {number}"), self.pid)
        return "edited"

    def rewrite(self, name: str) -> str:
        """Change what a prompt renders to, and nothing that a list shows."""
        self.catalogue.put(Prompt(name), self.special)
        return "rewritten"

    def waiting(self) -> str:
        return str(self.waits)

    def cancelled(self) -> str:
        return str(self.cancellations)

    def progress(self) -> str:
        for step in (1, 2):
            report_progress(step, 2)
        return "done"

    def release(self) -> str:
        self.released.set()
        return "released"

    def stuck(self) -> str:
        """Sleep for ever."""
        say("waiting")
        while True:
            time.sleep(3600)

    def wait(self) -> Any:
        """Wait to be released; say so, and what becomes of it."""
        if self.front == "blocking":
            say("waiting")
            self.released.wait()
            return "waited"
        return self.wait_in_loop()

    async def wait_in_loop(self) -> str:
        self.waits += 1
        say("waiting")
        try:
            while not self.released.is_set():
                await importlib.import_module(self.front).sleep(0.01)
        except BaseException:
            self.cancellations += 1
            say("cancelled")
            raise
        return "waited"


def tones(value: str, context: Mapping[str, str]) -> list[str]:
    return [tone for tone in ("calm", "cheerful", *context.values()) if tone.startswith(value)]


def argument(name: str, *, required: bool = True) -> PromptArgument:
    return PromptArgument(name, required=required)


def build(options: argparse.Namespace) -> Server:
    config = ServerConfig(
        info=Implementation("adapter-server", "1"), methods=("test/echo",), quiet=0.005, max_wait=0.05
    )
    if options.bare:
        return Server(config)
    catalogue = Catalogue()
    prompts = Prompts(options.front, catalogue)
    with catalogue.batch():
        for number in range(options.prompts):
            catalogue.add(Prompt(f"more-{number:04}"), prompts.pid)
        arguments = (argument("topic"), argument("tone", required=False))
        catalogue.add(Prompt("hello", arguments=arguments), prompts.hello, {"tone": tones})
        for name in ("ask", "boom", "chatter", "special", "pid", "progress", "release", "stuck", "wait"):
            catalogue.add(Prompt(name), getattr(prompts, name))
        for name in ("waiting", "cancelled"):
            catalogue.add(Prompt(name), getattr(prompts, name))
        for name in ("remove", "rewrite"):
            catalogue.add(Prompt(name, arguments=(argument("name"),)), getattr(prompts, name))
        catalogue.add(Prompt("burst-of", arguments=(argument("edits"),)), prompts.burst)
        catalogue.add(Prompt("big", arguments=(argument("size"),)), prompts.big)
        catalogue.add(Prompt("exit", arguments=(argument("code"),)), prompts.exit)
        catalogue.add(Prompt("add", arguments=(argument("name"),)), prompts.add)
    layer = PromptServer(
        catalogue, PromptServerConfig(keys=new_keys(), unix_offset=unix_offset(), page_size=10)
    )
    return Server(config, layer)


def echo(asked: RequestReceived) -> Mapping[str, Any]:
    return {"echo": dict(asked.params)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("front", choices=("asyncio", "trio", "blocking"))
    parser.add_argument("--prompts", type=int, default=25)
    parser.add_argument("--grace", type=float, default=2.0)
    parser.add_argument("--bare", action="store_true", help="no prompts at all")
    parser.add_argument("--http", type=int, metavar="PORT")
    options = parser.parse_args()
    front = importlib.import_module(f"mcp_sansio_adapters.{options.front}")
    serve = partial(front.serve_stdio, build(options), on_request=echo, grace=options.grace)
    if options.http is not None:
        told = partial(print, flush=True)
        serve = partial(
            front.serve_http, build(options), port=options.http, started=told, on_request=echo, grace=0.2
        )
    if options.front == "blocking":
        serve()
    elif options.front == "trio":
        importlib.import_module("trio").run(serve)
    else:
        importlib.import_module("asyncio").run(serve())
    say("served")


if __name__ == "__main__":
    main()
