"""Our server in a process of its own: over stdio, HTTP on asyncio or trio, or as an ASGI application under
uvicorn.
"""

from __future__ import annotations

import asyncio
import sys

from benchmarks import work
from benchmarks.peers.ours_pair import make_server, prompt
from benchmarks.peers.serving import tell, under_uvicorn
from mcp_sansio import Catalogue, Server


class Editable:
    """The prompts of the benchmark, of which one can be edited by whoever renders it."""

    def __init__(self, prompts: int) -> None:
        self.catalogue = Catalogue()
        self._revision = 0
        with self.catalogue.batch():
            for number in range(prompts):
                self.catalogue.add(prompt(number), self.render)

    async def render(self, change: str = "", focus: str = "", language: str = "") -> str:
        """The function behind every prompt."""
        if change == work.EDIT:
            self._revision += 1
            self.catalogue.put(prompt(work.EDITED, self._revision), self.render)
        return work.render({"change": change, "focus": focus})


def serve(over: str, server: Server) -> None:
    """Serve until the end."""
    match over:
        case "stdio":
            from mcp_sansio_adapters.asyncio import serve_stdio

            asyncio.run(serve_stdio(server))
        case "http":
            from mcp_sansio_adapters.asyncio import serve_http

            asyncio.run(serve_http(server, started=tell))
        case "http-trio":
            import trio

            from mcp_sansio_adapters.trio import serve_http as serve_trio

            trio.run(lambda: serve_trio(server, started=tell))
        case "asgi":
            from mcp_sansio_adapters.asgi import asgi_app

            under_uvicorn(asgi_app(server))
        case _:
            sys.exit(f"there is no {over}")


def main() -> None:
    """The command line: what to serve over, how many prompts, how many on a page, and the era."""
    over, prompts, page, era = sys.argv[1:]
    server, _ = make_server(Editable(int(prompts)).catalogue, int(page), era)
    serve(over, server)


if __name__ == "__main__":
    main()
