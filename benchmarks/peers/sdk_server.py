"""The official SDK's server in a process of its own: over stdio, or its Starlette application under uvicorn.

It answers with plain JSON over HTTP, and keeps no sessions: what costs it least.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp.server.stdio import stdio_server

from benchmarks.peers.sdk_pair import House
from benchmarks.peers.serving import under_uvicorn


async def over_stdio(server: Any) -> None:
    """Serve whoever started this process."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def main() -> None:
    """The command line: what to serve over, how many prompts, how many on a page, and the era."""
    over, prompts, page, era = sys.argv[1:]
    server = House(int(prompts), int(page)).server
    if over == "stdio":
        asyncio.run(over_stdio(server))
    else:
        under_uvicorn(server.streamable_http_app(json_response=True, stateless_http=era == "modern"))


if __name__ == "__main__":
    main()
