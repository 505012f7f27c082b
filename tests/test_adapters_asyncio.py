"""What asyncio alone does to those who use it."""

import asyncio
import socket
from typing import Any

import pytest
from fronts import no_child_is_left
from live import raw_server

import mcp_sansio_adapters.asyncio as on_asyncio
from mcp_sansio import (
    Catalogue,
    Implementation,
    Prompt,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import ProcessPolicy, new_keys

PREFIX = b"io.modelcontextprotocol"
META = b'{"%s/protocolVersion":"2026-07-28","%s/clientCapabilities":{}}' % (PREFIX, PREFIX)

pytestmark = pytest.mark.live


def test_a_client_that_is_left_open_leaves_no_child() -> None:
    async def main() -> None:
        client = on_asyncio.open_stdio_client(raw_server())
        kept.append(client)
        await client.__aenter__()

    kept: list[Any] = []
    asyncio.run(main())
    while not no_child_is_left():
        pass  # it has been killed, and a thread is about to have waited for it


def test_entering_and_leaving_may_be_the_business_of_two_tasks() -> None:
    """As `asyncio.wait_for` had it before Python 3.12."""

    async def main() -> None:
        block = on_asyncio.open_stdio_client(raw_server())
        client = await asyncio.create_task(block.__aenter__())
        assert len(await client.list_prompts()) == 30
        await asyncio.create_task(block.__aexit__(None, None, None))

    asyncio.run(main())
    assert no_child_is_left()


def test_a_second_cancellation_is_no_reason_to_leave_a_child_behind() -> None:
    heard: list[bytes] = []

    async def live() -> None:
        policy = ProcessPolicy(close_grace=0.2, term_grace=0.2)
        command = raw_server(ignore_eof=True, ignore_sigterm=True)
        async with on_asyncio.open_stdio_client(command, policy=policy, on_stderr=heard.append):
            ready.set()
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(live())
        await ready.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    ready = asyncio.Event()
    asyncio.run(main())
    assert no_child_is_left()


def test_a_peer_who_does_not_read_does_not_hold_up_the_end() -> None:
    async def main() -> None:
        ours, theirs = socket.socketpair()
        server = asyncio.create_task(
            on_asyncio.serve_stream(speaker(), await asyncio.open_connection(sock=ours))
        )
        ask = b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"long","_meta":%s}}\n'
        theirs.send(ask % META)
        theirs.setblocking(False)
        await asyncio.get_running_loop().sock_recv(theirs, 1)
        server.cancel()
        with pytest.raises(asyncio.CancelledError):
            await server
        theirs.close()

    asyncio.run(main())


def speaker() -> Server:
    catalogue = Catalogue()
    catalogue.add(Prompt("long"), lambda: "x" * 10_000_000)
    layer = PromptServer(catalogue, PromptServerConfig(keys=new_keys()))
    return Server(ServerConfig(info=Implementation("x", "1")), layer)


def test_edits_after_the_end_of_the_loop_disturb_nobody() -> None:
    catalogue = Catalogue()
    layer = PromptServer(catalogue, PromptServerConfig(keys=new_keys()))

    async def main() -> None:
        async with on_asyncio.open_service(Server(ServerConfig(info=Implementation("x", "1")), layer)):
            hooks.append(layer.on_change)

    hooks: list[Any] = []
    asyncio.run(main())
    assert layer.on_change is None
    catalogue.add(Prompt("late"))
    hooks[0]("promptsListChanged")
