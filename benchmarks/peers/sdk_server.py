"""The official SDK's server in a process of its own: over stdio, or its Starlette application under uvicorn.

It answers with plain JSON over HTTP, and keeps no sessions: what costs it least.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.stdio import stdio_server

from benchmarks.peers.sdk_pair import House


async def over_stdio(server: Any) -> None:
    """Serve whoever started this process."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def under_uvicorn(app: Any) -> None:
    """Serve an ASGI application as uvicorn does by default, without its log, and patient with connections
    that wait for a turn.
    """
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"}), flush=True)
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_keep_alive=600)
    uvicorn.Server(config).run(sockets=[listening])


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
