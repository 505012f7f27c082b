"""The server that the official conformance suite is run against.

Its prompts and completions are the product's own, as is everything about HTTP; the suite's tools and its
resource are layers beside them. It listens at a port of this machine, says its URL in one line, and serves
until it is told to stop:

    python tests/conformance/server.py --port 8000 --adapter trio --reply sse
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from functools import partial

import suite_prompts
import trio
import uvicorn
from suite_resources import ResourceServer
from suite_tools import ToolServer

import mcp_sansio_adapters.asyncio as on_asyncio
import mcp_sansio_adapters.trio as on_trio
from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    HttpServerConfig,
    Implementation,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import new_keys
from mcp_sansio_adapters.asgi import asgi_app

HOST = "127.0.0.1"


def conformance_server(wire: str) -> Server:
    """A server of everything that the suite asks for, without the legacy revisions that are newer than
    `wire`: the suite offers the newest one that it knows, and takes what it gets.
    """
    catalogue = suite_prompts.catalogue()
    keys = new_keys()
    return Server(
        ServerConfig(
            info=Implementation("mcp-sansio-conformance", "1.0"),
            versions=(*(legacy for legacy in LEGACY_VERSIONS if legacy <= wire), *MODERN_VERSIONS),
        ),
        PromptServer(catalogue, PromptServerConfig(keys=keys)),
        ToolServer(keys, partial(suite_prompts.change, catalogue)),
        ResourceServer(),
    )


def serve_asgi(server: Server, config: HttpServerConfig, port: int) -> None:
    """Serve under uvicorn."""
    settings = uvicorn.Config(asgi_app(server, config), log_config=None, timeout_graceful_shutdown=1)
    with socket.create_server((HOST, port)) as sock:
        say(f"http://{HOST}:{sock.getsockname()[1]}/mcp")
        uvicorn.Server(settings).run([sock])


def say(url: str) -> None:
    """Tell whoever started us where we listen."""
    print(url, flush=True)


def main() -> None:
    """Read the command line, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="any free one by default")
    parser.add_argument("--adapter", choices=("asgi", "asyncio", "trio"), default="asyncio")
    parser.add_argument("--reply", choices=("json", "sse"), default="json")
    parser.add_argument(
        "--wire", choices=ALL_VERSIONS, default=ALL_VERSIONS[-1], help="newer ones only if modern"
    )
    options = parser.parse_args()
    server = conformance_server(options.wire)
    config = HttpServerConfig(reply=options.reply, path="/mcp")
    if options.adapter == "asgi":
        serve_asgi(server, config, options.port)
    elif options.adapter == "trio":
        trio.run(partial(on_trio.serve_http, server, HOST, options.port, config=config, started=say))
    else:
        asyncio.run(on_asyncio.serve_http(server, HOST, options.port, config=config, started=say))


if __name__ == "__main__":
    main()
