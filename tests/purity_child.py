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
import json  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import mcp_sansio  # noqa: E402

ROOM = Path(mcp_sansio.__file__).parent
NOT_IMPORTED = {"__init__", "h11", "_h11_client", "_h11_pool", "_h11_server"}  # these load the HTTP library

for file in sorted(ROOM.glob("*.py")):  # the simulation, which draws numbers, is loaded by who asks for it
    name = ".".join(file.relative_to(ROOM).with_suffix("").parts)
    if name not in NOT_IMPORTED:
        importlib.import_module(f"mcp_sansio.{name}")

WITH_US = frozenset(sys.modules)

from session import session, transcript  # noqa: E402


def main() -> dict[str, Any]:
    """Run the session in every revision, watched."""
    seen: set[str] = set()
    watching = True

    def watch(event: str, _: Any) -> None:
        if watching:
            seen.add(event)

    before = frozenset(sys.modules)
    sys.addaudithook(watch)
    sessions = {version: session(version) for version in mcp_sansio.ALL_VERSIONS}
    watching = False
    trace = "\n".join(line for world in sessions.values() for line in transcript(world))
    return {
        "dependencies": sorted(BY_DEPENDENCIES - AT_START),
        "ours": sorted(WITH_US - BY_DEPENDENCIES),
        "session": sorted(set(sys.modules) - before),
        "audited": sorted(seen),
        "rendered": {v: len(world.all(mcp_sansio.PromptRendered)) for v, world in sessions.items()},
        "trace": hashlib.sha256(trace.encode()).hexdigest(),
        "lines": trace.count("\n"),
    }


if __name__ == "__main__":
    json.dump(main(), sys.stdout)
