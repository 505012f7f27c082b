"""Conversations with the official Python SDK, in either role and era, as traces.

Our client is recorded by itself. What the SDK's client says to a server of ours is recorded by a tap between
the two, which the SDK starts as its server.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from live import sdk_client, sdk_server
from registry import ASK, CONTROL

from mcp_sansio import LEGACY_VERSIONS, MODERN_VERSIONS, ClientConfig, Implementation, InputNeeded
from mcp_sansio._trace import Trace
from mcp_sansio_adapters import RequestFailed
from mcp_sansio_adapters.asyncio import open_stdio_client
from mcp_sansio_adapters.recording import Recorder

ME = Implementation("recording", "1.0")
VERSIONS = {"modern": MODERN_VERSIONS, "legacy": LEGACY_VERSIONS}
TAP = (sys.executable, "-m", "mcp_sansio_adapters", "tap", "--trace")
PROMPT = "---\ndescription: Says hello.\narguments:\n  - name: who\n    required: true\n---\nHello {{who}}!\n"


def of_its_server(era: str) -> Trace:
    """Our client and a server on the SDK: lists, prompts, a change, and what is unknown."""
    lines: list[bytes] = []

    def answers(needed: InputNeeded) -> dict[str, object]:
        return {key: {"action": "accept", "content": {"topic": "bees"}} for key in needed.requests}

    async def talk() -> None:
        config = ClientConfig(info=ME, versions=VERSIONS[era], capabilities={"elicitation": {}})
        recorder = Recorder(lines.append)
        async with open_stdio_client(
            sdk_server(prompts=25, page=10), config=config, on_input=answers, recorder=recorder
        ) as client:
            changes = client.changes()
            for _ in range(2):
                await client.list_prompts()
            await client.get_prompt("prompt-003")
            await client.complete("prompt-002", "tone", "f")
            for name in ("unknown", ASK):
                with contextlib.suppress(RequestFailed):
                    await client.get_prompt(name)
            await client.get_prompt(CONTROL, {"op": "remove", "name": "prompt-003"})
            await anext(changes)
            await client.list_prompts()

    asyncio.run(asyncio.wait_for(talk(), 60))
    return Trace.parse(lines)


def of_its_client(era: str, folder: Path) -> Trace:
    """A client on the SDK and `mcp-sansio serve`, with a tap between them."""
    prompts, trace = folder / "prompts", folder / "trace.jsonl"
    prompts.mkdir()
    for name in ("one", "two"):
        (prompts / f"{name}.md").write_text(PROMPT, encoding="utf-8")
    serve = (sys.executable, "-m", "mcp_sansio_adapters", "serve", str(prompts))
    sdk_client(
        (*TAP, str(trace), "--", *serve),
        get=[("one", {"who": "you"}), ("unknown", {})],
        write=(prompts / "three.md", PROMPT),
        revision=VERSIONS[era][-1],
    )
    return Trace.parse(trace.read_bytes().splitlines())
