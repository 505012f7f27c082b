"""Connecting on asyncio, to whichever of a host's addresses answers first ("happy eyeballs", RFC 8305).

Each address is tried alone for a moment, then together with the next one, and both families get their turn.
asyncio could do that itself, but its race loses the winner's socket when it is cancelled as that wins. Here
whatever has connected is held by the one who waits, who closes it if it is not wanted any more.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

HEAD_START = 0.25
"""For how long an address is tried alone, in seconds."""

Info: TypeAlias = tuple[int, int, int, str, Any]
"""An address, as `getaddrinfo` has it."""


async def dial(host: str, port: int) -> socket.socket:
    """A connected socket. Raises `OSError`, the last one, if no address can be reached."""
    loop = asyncio.get_running_loop()
    waiting = in_turn(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    connected: list[socket.socket] = []
    failures: list[OSError] = []

    async def attempt(info: Info) -> None:
        try:
            connected.append(await _connected(info))
        except OSError as error:
            failures.append(error)

    winner = None
    try:
        async with asyncio.TaskGroup() as group:
            running: set[asyncio.Task[None]] = set()
            while not connected and (waiting or running):
                if waiting:
                    running.add(group.create_task(attempt(waiting.pop(0))))
                patience = HEAD_START if waiting else None
                _, running = await asyncio.wait(
                    running, timeout=patience, return_when=asyncio.FIRST_COMPLETED
                )
            for task in running:
                task.cancel()
        winner = connected[0] if connected else None
    finally:
        for sock in connected:
            if sock is not winner:
                sock.close()
    if winner is None:
        raise failures[-1]
    return winner


def in_turn(infos: Sequence[Info]) -> list[Info]:
    """The addresses in the order given, but the families by turns."""
    so_far: Counter[int] = Counter()
    places: list[tuple[int, Info]] = []
    for info in infos:
        places.append((so_far[info[0]], info))
        so_far[info[0]] += 1
    return [info for _, info in sorted(places, key=lambda place: place[0])]


async def _connected(info: Info) -> socket.socket:
    family, kind, protocol, _, address = info
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock
