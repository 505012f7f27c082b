"""What do a thousand listeners cost a server, and does one that never reads cost anybody anything?

`python -m benchmarks.listeners` starts a server in a process of its own and opens many connections to it,
each a listener for changes of the list: `subscriptions/listen` in the modern era, the GET stream of a session
in the legacy one. Then prompts change: once; in a burst, which the server coalesces; and thousands of times
without any coalescing, while one more listener has stopped reading. What is heard is counted; seconds are
those of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import attrs

from mcp_sansio import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    Catalogue,
    Implementation,
    Prompt,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import new_keys
from mcp_sansio_adapters.asyncio import open_http_server

CHANGED = b"notifications/prompts/list_changed"
ERAS = ("modern", "legacy")
FEW = 5
WINDOW = 0.6
"""After so many seconds of quiet nothing more can come: longer than any window of the server."""


# --- the server, in its own process ---


def make_server(*, coalesce: bool) -> tuple[Server, Catalogue]:
    """A server of a hundred prompts."""
    catalogue = Catalogue()
    with catalogue.batch():
        for number in range(100):
            catalogue.add(Prompt(f"p{number:03}"), lambda: "text")
    config = ServerConfig(info=Implementation("benchmark", "1"))
    if not coalesce:
        config = attrs.evolve(config, quiet=0.0, max_wait=0.0)
    return Server(config, PromptServer(catalogue, PromptServerConfig(keys=new_keys()))), catalogue


async def serve(*, coalesce: bool) -> None:
    """Serve until stdin ends. A line there is a number of edits; the answer is what they cost."""
    server, catalogue = make_server(coalesce=coalesce)
    async with open_http_server(server) as running:
        print(json.dumps({"port": running.addresses[0][1]}), flush=True)
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            busy = time.process_time()
            for number in range(int(line)):
                catalogue.put(Prompt("p000", description=f"{loop.time()}: edit {number}"), lambda: "text")
                await asyncio.sleep(0.001 if coalesce else 0)
                await asyncio.sleep(0)  # what it costs to tell everybody, before the next one
            await asyncio.sleep(WINDOW)
            print(json.dumps({"cpu": time.process_time() - busy, "memory": resident()}), flush=True)


def resident() -> int:
    """The memory of this process, in bytes; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    return 0


# --- the listeners, in this one ---


class Listener:
    """One connection that hears of changes. `reads` can be turned off."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard = 0
        self.last = 0.0
        self._reader = reader
        self._writer = writer
        self._tail = b""

    async def read(self) -> None:
        """Count the changes."""
        while data := await self._reader.read(65536):
            text = self._tail + data
            found = text.count(CHANGED)
            if found:
                self.heard += found
                self.last = time.monotonic()
            self._tail = text[text.rfind(CHANGED) + len(CHANGED) if found else -len(CHANGED) :]

    def close(self) -> None:
        """Hang up."""
        self._writer.transport.abort()


def request(method: str, body: dict[str, Any] | None, *headers: str) -> bytes:
    """An HTTP request."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} /mcp HTTP/1.1",
        "Host: localhost",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


def listen_request() -> bytes:
    """`subscriptions/listen` of the modern era."""
    version = MODERN_VERSIONS[-1]
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "listener", "version": "1"},
    }
    params = {"_meta": meta, "notifications": {"promptsListChanged": True}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    return request("POST", body, f"MCP-Protocol-Version: {version}", "Mcp-Method: subscriptions/listen")


async def head(reader: asyncio.StreamReader, status: bytes) -> dict[str, str]:
    """The header fields of a reply, which must have this status."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    if first.split(b" ")[1] != status:
        raise RuntimeError(f"the server answered {first.decode()}")
    fields = (line.decode().split(": ", 1) for line in lines if line)
    return {name.lower(): value for name, value in fields}


async def begin_session(port: int) -> str:
    """Open a legacy session; its id."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    version = LEGACY_VERSIONS[-1]
    info = {"name": "listener", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    writer.write(request("POST", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
    fields = await head(reader, b"200")
    await reader.readexactly(int(fields["content-length"]))
    session = fields["mcp-session-id"]
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    writer.write(request("POST", initialized, f"Mcp-Session-Id: {session}"))
    await head(reader, b"202")
    writer.transport.abort()
    return session


async def connect(port: int, era: str, *, receive_buffer: int | None = None) -> Listener:
    """A listener to whom every later change will be announced."""
    asking = listen_request()
    if era == "legacy":
        asking = request("GET", None, f"Mcp-Session-Id: {await begin_session(port)}")
    sock = socket.socket()
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.setblocking(False)  # the standard library's own signature
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    limit = 65536 if receive_buffer is None else receive_buffer
    reader, writer = await asyncio.open_connection(sock=sock, limit=limit)
    listener = Listener(reader, writer)
    writer.write(asking)
    await head(reader, b"200")
    if era == "modern":
        await reader.readuntil(b"notifications/subscriptions/acknowledged")
    return listener


# --- what is asked ---


class Run:
    """A server process and its listeners."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, listeners: list[Listener]) -> None:
        self._process = process
        self.port = port
        self.listeners = listeners

    async def edits(self, number: int) -> dict[str, float]:
        """Have so many edits made; what that came to."""
        before = [each.heard for each in self.listeners]
        answer = await self.say(number)
        last = [each.last for each in self.listeners]
        heard = [each.heard - earlier for each, earlier in zip(self.listeners, before, strict=True)]
        total = sum(heard)
        return {
            "edits": number,
            "least": min(heard),
            "most": max(heard),
            "spread": max(last) - min(last),
            "cpu": answer["cpu"],
            "each": answer["cpu"] / total if total else 0.0,
            "memory": answer["memory"],
        }

    async def say(self, number: int) -> dict[str, float]:
        """Tell the server to make edits; its answer, when the last one has been announced."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the server has no pipes")
        process.stdin.write(f"{number}\n".encode())
        answer: dict[str, float] = json.loads(await process.stdout.readline())
        return answer


@contextlib.asynccontextmanager
async def run(era: str, number: int, *, coalesce: bool) -> AsyncGenerator[Run]:
    """A server with so many listeners, for the block."""
    options = () if coalesce else ("--every-edit",)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.listeners", "--serve", *options),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    listeners: list[Listener] = []
    try:
        if process.stdout is None:
            raise RuntimeError("the server has no pipes")
        port = int(json.loads(await process.stdout.readline())["port"])
        while len(listeners) < number:
            listeners.append(await connect(port, era))
        reading = [asyncio.create_task(each.read()) for each in listeners]
        yield Run(process, port, listeners)
        for task in reading:
            task.cancel()
    finally:
        for each in listeners:
            each.close()
        process.kill()
        await process.wait()


async def measure(era: str, number: int, deaf_edits: int) -> list[tuple[str, dict[str, float]]]:
    """One row for each question."""
    rows: list[tuple[str, dict[str, float]]] = []
    async with run(era, number, coalesce=True) as running:
        rows.append(("one edit", await running.edits(1)))
        rows.append(("a burst", await running.edits(200)))
    async with run(era, FEW, coalesce=False) as running:
        rows.append(("every edit", await running.edits(deaf_edits)))
        deaf = await connect(running.port, era, receive_buffer=4096)
        rows.append(("… one deaf", await running.edits(deaf_edits)))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(deaf.read(), 2 * WINDOW)
        deaf.close()
        rows[-1][1]["deaf"] = deaf.heard
    return rows


def show(era: str, rows: list[tuple[str, dict[str, float]]], number: int) -> None:
    """A table."""
    print(f"\n{era}: {number} listeners; the last two rows with {FEW}, and no coalescing")
    print("               edits   heard, each   last to first       CPU   CPU, each    memory")
    for name, row in rows:
        least, most = int(row["least"]), int(row["most"])
        heard = f"{least}" if least == most else f"{least} to {most}"
        print(
            f"{name:12}{row['edits']:8.0f}{heard:>14}{row['spread'] * 1e3:13.0f} ms"
            f"{row['cpu']:8.2f} s{row['each'] * 1e6:9.1f} µs{row['memory'] / 1e6:7.1f} MB"
        )
        if "deaf" in row:
            kept = "what the system had in its buffers, and one more"
            print(f"When the deaf one reads again, it hears of {row['deaf']:.0f}: {kept}.")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.listeners", description=__doc__)
    parser.add_argument("--listeners", type=int, default=1000)
    parser.add_argument("--deaf-edits", type=int, default=40_000)
    parser.add_argument("--era", choices=ERAS, action="append")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--every-edit", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(coalesce=not options.every_edit))
        return
    for era in options.era or ERAS:
        rows = asyncio.run(measure(era, options.listeners, options.deaf_edits))
        show(era, rows, options.listeners)


if __name__ == "__main__":
    main()
