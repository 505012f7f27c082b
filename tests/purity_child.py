"""A whole session in an interpreter of its own: what it loads, what it touches, what it says.

Run by `test_purity` as a script. Standard output is one JSON object: the modules that the dependencies
loaded, those that came with our package, those that came while the session ran, every audit event of that
time, how many prompts were rendered in each revision, and a digest of every byte and every event.
"""

from __future__ import annotations

import sys

AT_START = frozenset(sys.modules)

import cattrs  # noqa: E402, F401  # each in its turn, so that it can be told who loads what
import msgspec  # noqa: E402, F401

BY_DEPENDENCIES = frozenset(sys.modules)

import hashlib  # noqa: E402
import importlib  # noqa: E402
import itertools  # noqa: E402, F401
import json  # noqa: E402
import re  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import mcp_sansio  # noqa: E402

ROOM = Path(mcp_sansio.__file__).parent
NOT_IMPORTED = {"__init__", "h11"}  # the one module that may load the HTTP library

for file in sorted(ROOM.rglob("*.py")):
    name = ".".join(file.relative_to(ROOM).with_suffix("").parts)
    if name not in NOT_IMPORTED:
        importlib.import_module(f"mcp_sansio.{name}")

WITH_US = frozenset(sys.modules)

from pair import KEYS, World, catalogue, prompt  # noqa: E402


def session(version: str) -> tuple[int, list[str]]:
    """List, render, complete, edit, storm, lose and find again; how many prompts were rendered, and all
    that was said.
    """
    prompts = catalogue(25)
    prompts.add(prompt("greet", "who", optional=["how"]), lambda **given: f"Hello {given}")
    world = World(
        prompts=prompts,
        versions=(version,),
        latency=0.01,
        serving=mcp_sansio.PromptServerConfig(keys=KEYS, page_size=10),
    )
    world.outcome(world.prompts.list(world.now))
    world.outcome(world.prompts.get("greet", {"who": "you", "how": "loud"}, world.now))
    world.outcome(world.prompts.complete("greet", "who", "a", world.now))
    for number in range(20):
        prompts.put(prompt("p0003", optional=[f"a{number}"]), lambda: "")
        world.run(0.02)
    prompts.remove("p0005")
    world.outcome(world.prompts.get("p0005", None, world.now))
    world.disconnect()
    world.connect()
    world.outcome(world.prompts.get("p0001", None, world.now))
    world.run(10.0)
    said = [repr(entry) for log in (world.sent, world.received) for entry in log]
    events = [repr(entry) for log in (world.events, world.server_events) for entry in log]
    addresses = re.compile(r" at 0x[0-9a-f]+")
    rendered = len(world.all(mcp_sansio.PromptRendered))
    return rendered, said + [addresses.sub("", event) for event in events]


def main() -> dict[str, Any]:
    """Run the session in every revision, watched."""
    seen: set[str] = set()
    watching = True

    def watch(event: str, _: Any) -> None:
        if watching:
            seen.add(event)

    sys.addaudithook(watch)
    sessions = {version: session(version) for version in mcp_sansio.ALL_VERSIONS}
    watching = False
    trace = "\n".join(line for _, lines in sessions.values() for line in lines)
    return {
        "dependencies": sorted(BY_DEPENDENCIES - AT_START),
        "ours": sorted(WITH_US - BY_DEPENDENCIES),
        "session": sorted(set(sys.modules) - WITH_US - {"pair"}),
        "audited": sorted(seen),
        "rendered": {version: rendered for version, (rendered, _) in sessions.items()},
        "trace": hashlib.sha256(trace.encode()).hexdigest(),
        "lines": trace.count("\n"),
    }


if __name__ == "__main__":
    json.dump(main(), sys.stdout)
