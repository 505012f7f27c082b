"""What only an event loop can do to a client: cancel it at any time, time it out, use it from many tasks."""

import socket
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from fronts import (
    ASYNC_FRONTS,
    WELCOME,
    AsyncFront,
    announced,
    ask,
    by_hand,
    front_name,
    no_child_is_left,
    our_server,
    text,
)
from live import raw_server
from registry import CONTROL

from mcp_sansio import (
    Catalogue,
    ClientConfig,
    Implementation,
    InputNeeded,
    ListingConfig,
    Prompt,
    PromptServer,
    PromptServerConfig,
    RequestReceived,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import ConnectionFailed, ProcessPolicy, new_keys

pytestmark = [pytest.mark.live, pytest.mark.parametrize("front", ASYNC_FRONTS, ids=front_name)]

INFO = Implementation("test", "1")
SILENT = raw_server(mute="server/discover")


class Stderr:
    """What a server says on stderr, to be waited for."""

    def __init__(self, front: AsyncFront) -> None:
        self.heard = b""
        self._front = front
        self._waiting: list[tuple[bytes, Any]] = []

    def __call__(self, data: bytes) -> None:
        self.heard += data
        for word, event in self._waiting:
            if word in self.heard:
                event.set()

    async def says(self, word: bytes) -> None:
        event = self._front.event()
        self._waiting.append((word, event))
        self(b"")
        await event.wait()


async def enter(front: AsyncFront, **options: Any) -> None:
    """Try to become the client of a server that never says who it is."""
    async with front.open_stdio_client(SILENT, **options):
        raise AssertionError("entered")


# --- cancelled methods ---


def test_a_cancelled_get_is_cancelled_at_the_server_and_nothing_else_is(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        stderr = Stderr(front)
        async with front.open_stdio_client(our_server(front.name), on_stderr=stderr) as client:
            await front.interrupt(lambda: client.get_prompt("wait"), lambda: stderr.says(b"waiting"))
            await stderr.says(b"cancelled")
            assert text(await client.get_prompt("hello", {"topic": "still there"})) == "still there, calm"

    front.run(scenario)


def test_every_method_can_be_given_up_after_a_while(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        lazy = ListingConfig(eager=False)
        mute = [f"--mute={method}" for method in ("prompts/list", "prompts/get", "completion/complete")]
        async with front.open_stdio_client((*raw_server(), *mute), listing=lazy) as client:
            methods = (
                client.list_prompts,
                client.refresh_prompts,
                lambda: client.list_page("10"),
                lambda: client.get_prompt("prompt-000"),
                lambda: client.complete("prompt-002", "tone", "f"),
                lambda: client.request("prompts/list"),
                lambda: anext(client.changes()),
            )
            for method in methods:
                async with front.within(0.02):
                    await method()
                    raise AssertionError("answered")
            page = await client.request("server/discover")
            assert page["supportedVersions"] == ["2026-07-28"]

    front.run(scenario)


def test_requests_of_many_tasks_are_answered_out_of_order(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        stderr, order = Stderr(front), list[str]()

        async with front.open_stdio_client(our_server(front.name), on_stderr=stderr) as client:

            async def wait() -> None:
                order.append(text(await client.get_prompt("wait")))

            async def release() -> None:
                await stderr.says(b"waiting")
                for number in range(20):
                    assert text(await client.get_prompt("hello", {"topic": str(number)})) == f"{number}, calm"
                order.append(text(await client.get_prompt("release")))

            await front.together(wait, release)
        assert order == ["released", "waited"]

    front.run(scenario)


def test_input_is_asked_for_beside_everything_else_and_no_longer_than_wanted(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        asked, given_up = front.event(), front.event()

        async def think(_: InputNeeded) -> Mapping[str, Any]:
            asked.set()
            try:
                await front.event().wait()
            finally:
                given_up.set()
            return {}

        async with front.open_stdio_client(our_server(front.name), on_input=think) as client:

            async def answered_meanwhile() -> None:
                await asked.wait()
                assert text(await client.get_prompt("hello", {"topic": "rain"})) == "rain, calm"

            await front.interrupt(lambda: client.get_prompt("ask"), answered_meanwhile)
            await given_up.wait()

    front.run(scenario)


# --- cancelled clients ---


def test_entering_can_be_cancelled_at_any_step(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        async def some_steps(number: int) -> None:
            for _ in range(number):
                await front.checkpoint()

        for number in (*range(12), 30, 60):
            await front.interrupt(partial(enter, front), partial(some_steps, number))
            assert no_child_is_left()

    front.run(scenario)


def test_entering_can_be_timed_out(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        async with front.within(0.05):
            await enter(front)
        assert no_child_is_left()

    front.run(scenario)


def test_a_cancelled_client_still_ends_a_server_that_will_not_go(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        stderr = Stderr(front)
        command = announced(raw_server(ignore_eof=True, ignore_sigterm=True))
        policy = ProcessPolicy(close_grace=0.05, term_grace=0.05)
        ready = front.event()

        async def live() -> None:
            async with front.open_stdio_client(command, policy=policy, on_stderr=stderr):
                ready.set()
                await front.event().wait()

        await front.interrupt(live, ready.wait)
        assert no_child_is_left()

    front.run(scenario)


def test_what_the_block_raises_comes_out_as_it_is(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        for error in (KeyError("mine"), ExceptionGroup("ours", [ValueError()]), SystemExit(3)):
            with pytest.raises(type(error)) as raised:
                async with front.open_stdio_client(raw_server()):
                    raise error
            assert raised.value is error
        assert no_child_is_left()

    front.run(scenario)


# --- changes ---


def test_a_slow_reader_gets_one_change_for_many_and_every_reader_all_of_them(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        async with front.open_stdio_client(raw_server()) as client:
            await client.list_prompts()
            slow, quick = client.changes(), client.changes()
            for name in ("a", "b", "c"):
                await client.get_prompt(CONTROL, {"op": "add", "name": name})
                assert (await anext(quick)).added == (name,)
            late = client.changes()
            await client.get_prompt(CONTROL, {"op": "remove", "name": "a"})
            assert (await anext(quick)).removed == ("a",)
            assert (await anext(late)).removed == ("a",)
            change = await anext(slow)
            assert (change.added, change.removed) == (("b", "c"), ())

    front.run(scenario)


def test_changes_end_with_the_client_and_fail_with_the_connection(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        async with front.open_stdio_client(raw_server()) as client:
            changes = client.changes()
        assert [change async for change in changes] == []
        once = ProcessPolicy(restarts=0)
        async with front.open_stdio_client(our_server(front.name), policy=once) as client:
            changes = client.changes()

            async def watch() -> None:
                with pytest.raises(ConnectionFailed, match="exit code 5"):
                    await anext(changes)

            async def end() -> None:
                with pytest.raises(ConnectionFailed, match="exit code 5"):
                    await client.get_prompt("exit", {"code": "5"})

            await front.together(watch, end)

    front.run(scenario)


def test_closing_a_client_fails_what_others_still_wait_for(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        stderr = Stderr(front)
        async with front.open_stdio_client(our_server(front.name), on_stderr=stderr) as client:
            pass
        with pytest.raises(ConnectionFailed, match="closed"):
            await client.list_prompts()

        async def wait(client: Any) -> None:
            with pytest.raises(ConnectionFailed, match="closed"):
                await client.get_prompt("wait")

        async def close() -> None:
            async with front.open_stdio_client(our_server(front.name), on_stderr=stderr) as client:
                with pytest.raises(ConnectionFailed, match="exit code 5"):
                    await client.request("prompts/get", {"name": "exit", "arguments": {"code": "5"}})
                clients.append(client)
                opened.set()
                await stderr.says(b"waiting")

        async def wait_elsewhere() -> None:
            await opened.wait()
            await wait(clients[0])

        opened, clients = front.event(), list[Any]()
        await front.together(close, wait_elsewhere)

    front.run(scenario)


# --- in one process ---


def small_server(*names: str) -> tuple[Server, Catalogue]:
    catalogue = Catalogue(visible=lambda who, prompt: prompt.name != "secret" or who == "root")
    for name in names:
        catalogue.add(Prompt(name), lambda: "hello")
    layer = PromptServer(catalogue, PromptServerConfig(keys=new_keys()))
    return Server(ServerConfig(info=INFO, quiet=0.01), layer), catalogue


def test_one_service_serves_many_peers_each_for_himself(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        server, catalogue = small_server("public", "secret")
        pairs = [socket.socketpair() for _ in range(3)]
        seen: list[tuple[str, ...]] = []

        async def live(number: int) -> None:
            async with front.connect(pairs[number][1]) as client:
                seen.append(tuple((await client.list_prompts()).by_name))
                changes = client.changes()
                if len(seen) == len(pairs):
                    catalogue.add(Prompt("new"))
                assert (await anext(changes)).added == ("new",)

        async with front.module.open_service(server) as service:
            await front.together(
                *(
                    lambda n=n: front.serve(service, pairs[n][0], "root" if n == 0 else None)
                    for n in range(3)
                ),
                *(lambda n=n: live(n) for n in range(3)),
            )
        assert sorted(seen) == [("public",), ("public",), ("public", "secret")]

    front.run(scenario)


def test_a_stream_that_ends_ends_its_client(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        server, _ = small_server("public")
        ours, theirs = socket.socketpair()

        async def live() -> None:
            async with front.connect(theirs) as client:
                await client.list_prompts()
                ours.shutdown(socket.SHUT_RDWR)
                with pytest.raises(ConnectionFailed):
                    await anext(client.changes())
                with pytest.raises(ConnectionFailed):
                    await client.get_prompt("public")

        await front.together(lambda: front.serve(server, ours), live)

    front.run(scenario)


def test_a_service_whose_block_is_left_ends_its_streams(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        server, _ = small_server("public")
        ours, theirs = socket.socketpair()
        ready = front.event()

        async def live() -> None:
            async with front.connect(theirs) as client:
                await client.list_prompts()
                ready.set()
                with pytest.raises(ConnectionFailed):
                    await anext(client.changes())

        async def serve() -> None:
            async with front.module.open_service(server) as service:
                await front.interrupt(lambda: front.serve(service, ours), ready.wait)

        await front.together(serve, live)

    front.run(scenario)


def test_the_clock_of_the_client_goes_on(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        hasty = ClientConfig(info=INFO, quiet_timeout=0.05)
        async with front.open_stdio_client(our_server(front.name), config=hasty) as client:
            with pytest.raises(Exception, match="no answer within"):
                await client.get_prompt("wait")

    front.run(scenario)


def test_what_a_legacy_server_has_asked_can_be_withdrawn(front: AsyncFront) -> None:
    withdrawal = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}'
    answers = {"initialize": (WELCOME, ask(7, "roots/list")), "notifications/now": (withdrawal,)}

    async def scenario(front: AsyncFront, sock: socket.socket) -> None:
        asked, withdrawn = front.event(), front.event()

        async def think(_: RequestReceived) -> Mapping[str, Any]:
            asked.set()
            try:
                await front.event().wait()
            finally:
                withdrawn.set()
            return {}

        config = ClientConfig(info=INFO, versions=("2025-11-25",), answers=("roots/list",))
        async with front.connect(sock, config=config, on_request=think) as client:
            await asked.wait()
            await client.notify("notifications/now")
            await withdrawn.wait()

    assert [word for word in by_hand(front, answers, scenario) if word.startswith("answer")] == []
