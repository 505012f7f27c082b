"""FastMCP's server in a process of its own: over stdio, or its Starlette application under uvicorn.

It answers with plain JSON over HTTP, and keeps no sessions: what costs it least.
"""

from __future__ import annotations

import asyncio
import sys

from benchmarks.peers.fastmcp import House
from benchmarks.peers.serving import under_uvicorn


def main() -> None:
    """The command line: what to serve over, how many prompts, how many on a page, and the era."""
    over, prompts, page, era = sys.argv[1:]
    server = House(int(prompts), int(page)).server
    if over == "stdio":
        asyncio.run(server.run_stdio_async(show_banner=False))
    else:
        under_uvicorn(server.http_app(path="/mcp", json_response=True, stateless_http=era == "modern"))


if __name__ == "__main__":
    main()
