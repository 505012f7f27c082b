"""How a server in a process of its own is found, and how ASGI applications are served: all alike."""

from __future__ import annotations

import json
import socket
from typing import Any


def tell(url: str) -> None:
    """Whoever started this waits for the address."""
    print(json.dumps({"url": url}), flush=True)


def under_uvicorn(app: Any) -> None:
    """Serve an ASGI application as uvicorn does by default, without its log, and patient with connections
    that wait for a turn.
    """
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    tell(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_keep_alive=600)
    uvicorn.Server(config).run(sockets=[listening])
