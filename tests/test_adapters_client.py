"""Clients of child processes, the same scenarios on every front end."""

import socket
import threading
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from fronts import (
    FRONTS,
    PONG,
    WELCOME,
    Command,
    Front,
    ask,
    by_hand,
    front_name,
    our_server,
    text,
)
from live import raw_server
from registry import CONTROL, Registry

from mcp_sansio import (
    Catalogue,
    ClientConfig,
    Era,
    Implementation,
    InputNeeded,
    LocalProtocolError,
    NotSupported,
    Prompt,
    PromptServer,
    PromptServerConfig,
    RequestReceived,
    RpcError,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import (
    ConnectionFailed,
    InputNotGiven,
    PromptGoneError,
    RequestFailed,
    blocking,
    new_keys,
)

pytestmark = [pytest.mark.live, pytest.mark.parametrize("front", FRONTS, ids=front_name)]

INFO = Implementation("test", "1")
MODERN = ClientConfig(info=INFO, versions=("2026-07-28",), backoff=0.01)
LEGACY = ClientConfig(info=INFO, versions=("2025-11-25",), backoff=0.01)
RETITLE = {"op": "retitle", "name": "prompt-001", "value": "New"}


async def lives(front: Front, command: Command, config: ClientConfig) -> None:
    async with front.open_stdio_client(command, config=config) as client:
        assert client.negotiated.version in config.versions
        changes = client.changes()
        prompts = await client.list_prompts()
        assert [prompt.name for prompt in prompts] == [shown["name"] for shown in Registry(30).list()]
        assert prompts.pages == 3
        assert (await anext(changes)).added == tuple(prompts.by_name)
        assert text(await client.get_prompt("prompt-001", {"topic": "rain"})) == "prompt-001: topic=rain"
        with pytest.raises(PromptGoneError, match="'nowhere'") as gone:
            await client.get_prompt("nowhere")
        assert (gone.value.name, len(gone.value.snapshot)) == ("nowhere", 30)
        with pytest.raises(RequestFailed, match="topic") as missing:
            await client.get_prompt("prompt-001")
        assert isinstance(missing.value.failure, RpcError)
        completion = await client.complete("prompt-002", "tone", "f")
        assert completion.values == ("formal", "furious")
        await client.get_prompt(CONTROL, RETITLE)
        assert (await anext(changes)).changed == ("prompt-001",)
        assert (await client.list_prompts()).by_name["prompt-001"].title == "New"
        assert client.snapshot.by_name["prompt-001"].title == "New"
        assert client.traffic.messages_received >= client.traffic.messages_sent > 8


@pytest.mark.parametrize("config", [MODERN, LEGACY], ids=["modern", "legacy"])
def test_a_client_lists_gets_completes_and_sees_changes(front: Front, config: ClientConfig) -> None:
    front.run(lives, raw_server(prompts=30, page=10), config)


def test_pages_requests_and_notifications_by_hand(front: Front) -> None:
    async def scenario(front: Front) -> None:
        async with front.open_stdio_client(raw_server()) as client:
            page = await client.list_page("20")
            assert [prompt.name for prompt in page.items][::9] == ["prompt-020", "prompt-029"]
            assert page.next_cursor is None
            assert client.snapshot is None
            result = await client.request("prompts/list", {"cursor": "10"}, meta={"x/y": 1})
            assert result["nextCursor"] == "20"
            with pytest.raises(RequestFailed, match="Method not found"):
                await client.request("test/unknown")
            await client.notify("notifications/test", {"some": "thing"})
            assert client.traffic.messages_sent == 6
            with pytest.raises(LocalProtocolError):
                await client.get_prompt("prompt-001", {"topic": 5})

    front.run(scenario)


def test_a_refreshed_list_is_asked_for_and_a_stale_one_may_be_enough(front: Front) -> None:
    async def scenario(front: Front) -> None:
        async with front.open_stdio_client(raw_server(quiet=True)) as client:
            before = await client.list_prompts()
            await client.get_prompt(CONTROL, RETITLE)
            assert await client.list_prompts(stale_ok=True) is before
            assert (await client.refresh_prompts()).by_name["prompt-001"].title == "New"

    front.run(scenario)


@pytest.mark.parametrize("distance", [1, 2])
def test_our_servers_answer_the_clients_of_the_other_front_ends(front: Front, distance: int) -> None:
    server = FRONTS[(FRONTS.index(front) + distance) % len(FRONTS)].name

    def give(needed: InputNeeded) -> dict[str, Any]:
        return {
            key: {"action": "accept", "content": {"topic": f"rain {needed.round}"}} for key in needed.requests
        }

    async def scenario(front: Front) -> None:
        reports: list[tuple[float, float | None]] = []
        async with front.open_stdio_client(our_server(server), on_input=give) as client:
            assert client.negotiated.era is Era.MODERN
            prompts = await client.list_prompts()
            assert (len(prompts), prompts.verified) == (43, True)
            assert text(await client.get_prompt("hello", {"topic": "rain"})) == "rain, calm"
            assert (await client.complete("hello", "tone", "ch", {"topic": "chaste"})).values == (
                "cheerful",
                "chaste",
            )
            assert text(await client.get_prompt("ask")) == "rain 2 after 2 rounds"
            result = await client.get_prompt(
                "progress", on_progress=lambda event: reports.append((event.progress, event.total))
            )
            assert (text(result), reports) == ("done", [(1, 2), (2, 2)])
            assert (await client.request("test/echo", {"a": [1]}))["echo"] == {"a": [1]}
            with pytest.raises(RequestFailed, match="Internal error") as failed:
                await client.get_prompt("boom")
            assert "secret" not in str(failed.value)
            changes = client.changes()
            await client.get_prompt("add", {"name": "new"})
            assert (await anext(changes)).added == ("new",)

    front.run(scenario)


def test_input_that_nobody_gives_ends_the_get(front: Front) -> None:
    def refuse(_: InputNeeded) -> dict[str, Any]:
        raise KeyError("no mood")

    def misunderstand(_: InputNeeded) -> dict[str, Any]:
        return {"something": "else"}

    async def scenario(front: Front) -> None:
        offers = ClientConfig(info=INFO, capabilities={"elicitation": {}})
        for hook, error in ((None, InputNotGiven), (refuse, KeyError), (misunderstand, LocalProtocolError)):
            async with front.open_stdio_client(our_server(), config=offers, on_input=hook) as client:
                with pytest.raises(error):
                    await client.get_prompt("ask")
                assert text(await client.get_prompt("hello", {"topic": "still there"}))
        async with front.open_stdio_client(our_server()) as client:
            with pytest.raises(RequestFailed, match="capability"):
                await client.get_prompt("ask")

    front.run(scenario)


# --- streams, and what servers ask of clients ---


def test_a_list_may_need_a_capability_that_the_server_lacks(front: Front) -> None:
    async def scenario(front: Front, sock: socket.socket) -> None:
        async with front.connect(sock) as client:
            with pytest.raises(RequestFailed, match="does not offer prompts") as failed:
                await client.list_prompts()
            assert failed.value.failure == NotSupported("prompts")

    discovered = '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}'
    by_hand(front, {"server/discover": (f'{{"jsonrpc":"2.0","id":ID,"result":{discovered}}}',)}, scenario)


def test_what_a_legacy_server_asks_is_answered(front: Front) -> None:
    def answer(asked: RequestReceived) -> Mapping[str, Any]:
        if asked.request.method == "x/fails":
            raise ValueError("a secret")
        return {"roots": []} if asked.request.method == "roots/list" else {"number": float("nan")}

    answers = {
        "initialize": (WELCOME,),
        "notifications/initialized": (
            ask(1, "roots/list"),
            ask(2, "x/fails"),
            ask(3, "x/unknown"),
            ask(4, "x/nan"),
        ),
        "ping": (PONG,),
    }

    async def scenario(front: Front, sock: socket.socket) -> None:
        config = attrs.evolve(LEGACY, answers=("roots/list", "x/fails", "x/nan"))
        async with front.connect(sock, config=config, on_request=answer) as client:
            for _ in range(3):
                await client.request("ping")

    heard = by_hand(front, answers, scenario)
    answered = [word for word in heard if word.startswith("answer")]
    assert answered[0] == "answer {'code': -32601, 'message': 'x/unknown is not offered by this client'}"
    assert sorted(answered[1:]) == [
        "answer {'code': -32603, 'message': 'Internal error'}",
        "answer {'code': -32603, 'message': 'Internal error'}",
        "answer {'roots': []}",
    ]


def test_what_a_legacy_server_asks_of_nobody_is_refused(front: Front) -> None:
    answers = {"initialize": (WELCOME, ask(1, "roots/list")), "ping": (PONG,)}

    async def scenario(front: Front, sock: socket.socket) -> None:
        async with front.connect(sock, config=attrs.evolve(LEGACY, answers=("roots/list",))) as client:
            await client.request("ping")

    heard = by_hand(front, answers, scenario)
    assert "answer {'code': -32601, 'message': 'nobody answers roots/list'}" in heard


def test_a_server_at_the_other_end_of_a_socket(front: Front) -> None:
    catalogue = Catalogue()
    catalogue.add(Prompt("hello"), lambda: "hello there")
    server = Server(ServerConfig(info=INFO), PromptServer(catalogue, PromptServerConfig(keys=new_keys())))
    ours, theirs = socket.socketpair()

    def live() -> None:
        with blocking.connect(ours) as client:
            got.append(text(client.get_prompt("hello")))
            changes = client.changes()
            catalogue.put(Prompt("new"))
            for change in changes:
                got.append(",".join(change.snapshot.by_name))
                break
            client.wait(0.01)
        got.append(",".join(change.key for change in changes))
        with pytest.raises(ConnectionFailed, match="closed"):
            client.wait(0.01)

    got: list[str] = []
    client = threading.Thread(target=live)
    client.start()
    front.run(lambda front: front.serve(server, theirs))
    client.join()
    assert got == ["hello there", "hello,new", ""]
    assert ours.fileno() == theirs.fileno() == -1


def test_a_silent_probe_leaves_time_for_the_handshake(front: Front) -> None:
    async def scenario(front: Front) -> None:
        config = ClientConfig(info=INFO, probe_timeout=0.02)
        async with front.open_stdio_client(raw_server(mute="server/discover"), config=config) as client:
            assert client.negotiated.era is Era.LEGACY
            assert len(await client.list_prompts()) == 30

    front.run(scenario)
