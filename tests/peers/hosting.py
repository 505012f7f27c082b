"""Where ASGI applications of the peers are served: uvicorn at a port of this machine, which is told first."""

import socket
from typing import Any

import uvicorn


async def serve_app(app: Any, port: int) -> None:
    """Listen at a port (0 is any free one), write the URL of the endpoint to stdout, and serve."""
    # Said to be TCP, since asyncio has the output of no other sockets sent without delay.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listening])
