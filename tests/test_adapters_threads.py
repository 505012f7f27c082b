"""Where the functions of a catalogue run, on every front end, and what becomes of those given up."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import socket
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from driven import META
from fronts import PATIENCE, AsyncFront, Front, text
from threaded import INFO, Flag, each_front, each_loop, given_up, together

import mcp_sansio_adapters.blocking as on_blocking
from mcp_sansio import (
    Catalogue,
    Entry,
    LocalProtocolError,
    Prompt,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import RequestFailed, cancelled, new_keys, report_progress
from mcp_sansio_adapters._threads import Threads, Work

# --- nobody waits for the slow ---


@each_front
def test_a_slow_function_delays_nobody(front: Front) -> None:
    catalogue, slow, others = Catalogue(), Flag(), Flag()

    @catalogue.prompt
    def waits() -> str:
        slow.set()
        others.wait()
        return "waited"

    @catalogue.prompt
    def release() -> str:
        others.set()
        return "released"

    async def live(client: Any) -> None:
        waiting = asyncio.create_task(client.get_prompt("waits"))
        await slow.reached()
        assert "waits" in (await client.refresh_prompts()).by_name
        assert text(await client.get_prompt("release")) == "released"
        assert text(await waiting) == "waited"

    together(front, catalogue, live)


@each_front
def test_a_slow_completer_delays_nobody(front: Front) -> None:
    catalogue, slow, others = Catalogue(), Flag(), Flag()

    def propose(value: str, _: Mapping[str, str]) -> list[str]:
        slow.set()
        others.wait()
        return [value + "!"]

    @catalogue.prompt(completers={"who": propose})
    def greet(who: str) -> str:
        others.set()
        return who

    async def live(client: Any) -> None:
        waiting = asyncio.create_task(client.complete("greet", "who", "a"))
        await slow.reached()
        assert text(await client.get_prompt("greet", {"who": "b"})) == "b"
        assert (await waiting).values == ("a!",)

    together(front, catalogue, live)


@each_loop
def test_only_what_may_block_leaves_the_loop(front: AsyncFront) -> None:
    catalogue, threads = Catalogue(), dict[str, threading.Thread]()

    def here(name: str) -> str:
        threads[name] = threading.current_thread()
        return name

    async def there() -> str:
        return here("awaited")

    catalogue.add(Prompt("plain"), lambda: here("plain"))
    catalogue.add(Entry(Prompt("quick"), lambda: here("quick"), blocking=False))
    catalogue.add(Prompt("async"), there)
    catalogue.add(Prompt("both"), lambda: (here("made"), there())[1])

    async def live(client: Any) -> None:
        for name, said in [("plain", "plain"), ("quick", "quick"), ("async", "awaited"), ("both", "awaited")]:
            assert text(await client.get_prompt(name)) == said

    together(front, catalogue, live)
    assert threads["quick"] is threads["awaited"]
    assert threads["plain"] is not threads["quick"]
    assert threads["plain"] is threads["made"]  # it is used again
    assert threads["plain"].daemon


@each_front
def test_context_variables_reach_the_thread(front: Front) -> None:
    place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")
    catalogue = Catalogue()

    @catalogue.prompt
    def where() -> str:
        found = place.get()
        place.set("moved")
        return found

    class Placed(type(front)):  # type: ignore[misc]  # the class of whichever front
        def run(self, scenario: Any, *args: Any) -> None:
            context = contextvars.copy_context()
            context.run(place.set, "here")
            context.run(super().run, scenario, *args)

    async def live(client: Any) -> None:
        assert [text(await client.get_prompt("where")) for _ in range(2)] == ["here", "here"]

    together(Placed(), catalogue, live)


@each_front
def test_what_a_thread_raises_is_ours_to_know(front: Front, caplog: pytest.LogCaptureFixture) -> None:
    catalogue = Catalogue()

    @catalogue.prompt
    def fails() -> str:
        raise StopIteration("a secret")

    async def live(client: Any) -> None:
        with pytest.raises(RequestFailed, match="Internal error"):
            await client.get_prompt("fails")

    together(front, catalogue, live)
    assert "a secret" in caplog.text


# --- given up ---


@each_front
def test_a_function_whose_request_is_given_up_can_find_out(front: Front) -> None:
    catalogue, begun, others, noticed = Catalogue(), Flag(), Flag(), Flag()

    @catalogue.prompt
    def polls() -> str:
        assert not cancelled()
        begun.set()
        others.wait()
        while not cancelled():
            pass
        assert not report_progress(1)
        noticed.set()
        return "nobody's to see"

    async def live(client: Any) -> None:
        polling = asyncio.create_task(client.get_prompt("polls"))
        await begun.reached()
        await given_up(polling)
        assert "polls" in (await client.refresh_prompts()).by_name
        others.set()
        await noticed.reached()

    together(front, catalogue, live)


@each_loop
def test_an_async_function_finds_out_by_being_cancelled(front: AsyncFront) -> None:
    catalogue, begun, noticed, found = Catalogue(), Flag(), Flag(), list[bool]()

    @catalogue.prompt
    async def waits() -> str:
        found.append(cancelled())
        begun.set()
        try:
            await front.event().wait()
        finally:
            found.append(cancelled())
            noticed.set()
        return "never"

    async def live(client: Any) -> None:
        waiting = asyncio.create_task(client.get_prompt("waits"))
        await begun.reached()
        await given_up(waiting)
        await noticed.reached()

    together(front, catalogue, live)
    assert found == [False, True]


@each_front
def test_whoever_ends_does_not_wait_for_a_function(front: Front) -> None:
    catalogue, begun, over, ended = Catalogue(), Flag(), Flag(), Flag()
    progress: list[bool] = []

    @catalogue.prompt
    def stays() -> str:
        begun.set()
        over.wait()
        progress.append(report_progress(1))
        ended.set()
        return "too late"

    async def live(client: Any) -> None:
        task = asyncio.create_task(client.get_prompt("stays"))
        await begun.reached()
        await given_up(task)

    together(front, catalogue, live)
    over.set()  # the loop of the server has ended by now
    ended.wait()
    assert progress == [False]


def test_there_are_requests_to_speak_of_only_while_one_is_answered() -> None:
    assert not cancelled()
    assert not report_progress(1)


# --- how many ---


@each_front
def test_a_function_that_nobody_waits_for_takes_up_its_thread(front: Front) -> None:
    catalogue, begun, release, order = Catalogue(), Flag(), Flag(), list[str]()

    @catalogue.prompt
    def slow() -> str:
        begun.set()
        release.wait()
        order.append("slow")
        return ""

    @catalogue.prompt
    def next_one() -> str:
        order.append("next")
        return "next"

    async def live(client: Any) -> None:
        first = asyncio.create_task(client.get_prompt("slow"))
        await begun.reached()
        await given_up(first)
        second = asyncio.create_task(client.get_prompt("next_one"))
        await client.refresh_prompts()
        assert order == []
        release.set()
        assert text(await second) == "next"

    together(front, catalogue, live, threads=1)
    assert order == ["slow", "next"]


@each_front
def test_what_is_given_up_in_line_is_not_begun(front: Front) -> None:
    catalogue, begun, release, called = Catalogue(), Flag(), Flag(), list[str]()

    def slow() -> str:
        begun.set()
        release.wait()
        return "slow"

    catalogue.add(Prompt("slow"), slow)

    def call(name: str) -> str:
        called.append(name)
        return name

    for name in ("second", "third"):
        catalogue.add(Prompt(name), partial(call, name))

    async def live(client: Any) -> None:
        first = asyncio.create_task(client.get_prompt("slow"))
        await begun.reached()
        second = asyncio.create_task(client.get_prompt("second"))
        await client.refresh_prompts()
        await given_up(second)
        await client.refresh_prompts()
        release.set()
        assert text(await first) == "slow"
        assert text(await client.get_prompt("third")) == "third"

    together(front, catalogue, live, threads=1)
    assert called == ["third"]


@each_loop
def test_what_is_given_up_as_it_arrives_is_not_begun(front: AsyncFront) -> None:
    catalogue, begun = Catalogue(), list[str]()

    @catalogue.prompt
    async def greet() -> str:
        begun.append("greet")
        return ""

    server = Server(ServerConfig(info=INFO), PromptServer(catalogue, PromptServerConfig(keys=new_keys())))
    ours, theirs = socket.socketpair()
    theirs.settimeout(PATIENCE)
    get = line(id=1, method="prompts/get", params={"name": "greet", **META})
    withdrawal = line(method="notifications/cancelled", params={"requestId": 1})
    ask = line(id=2, method="prompts/list", params=META)

    async def scenario(front: AsyncFront) -> None:
        async with front.module.open_service(server) as service:
            await front.serve(service, ours)

    serving = threading.Thread(target=front.run, args=(scenario,))
    serving.start()
    with theirs, theirs.makefile() as heard:
        for sent in (get + withdrawal + ask, ask):
            theirs.sendall(sent)
            assert json.loads(next(heard))["id"] == 2
    serving.join()
    assert begun == []


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


@each_front
def test_as_many_run_at_once_as_there_are_threads(front: Front) -> None:
    catalogue, everybody = Catalogue(), threading.Barrier(3)

    @catalogue.prompt
    def meets(number: int) -> str:
        everybody.wait(PATIENCE)
        return str(number)

    async def live(client: Any) -> None:
        asking = [client.get_prompt("meets", {"number": str(number)}) for number in range(9)]
        assert [text(each) for each in await asyncio.gather(*asking)] == [str(n) for n in range(9)]

    together(front, catalogue, live, threads=3)


@each_front
def test_no_thread_at_all_is_a_mistake(front: Front) -> None:
    ours, theirs = socket.socketpair()

    async def scenario(front: Front) -> None:
        if isinstance(front, AsyncFront):
            async with front.module.open_service(Server(ServerConfig(info=INFO)), threads=0):
                raise AssertionError("open")
        on_blocking.serve_stream(Server(ServerConfig(info=INFO)), ours, threads=0)

    with ours, theirs, pytest.raises(LocalProtocolError, match="threads"):
        front.run(scenario)


def call_of(function: Callable[[], Any]) -> tuple[Work, Flag]:
    done = Flag()
    return Work(contextvars.copy_context(), function, lambda _: done.set()), done


def test_a_system_without_threads_costs_what_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = Threads(2)
    begun, release = Flag(), Flag()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        work, done = call_of(lambda: 5)
        threads.start(work)
        done.wait()
        with pytest.raises(RuntimeError, match="thread"):
            work.result()

    def stay() -> None:
        begun.set()
        release.wait()

    first, _ = call_of(stay)
    threads.start(first)
    begun.wait()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        second, done = call_of(lambda: 6)
        threads.start(second)  # waits for the one that there is
    release.set()
    done.wait()
    assert second.result() == 6
    threads.close()


def test_what_is_dropped_leaves_no_coroutine_behind() -> None:
    async def later() -> None:
        raise AssertionError("awaited")

    def keep(made: list[Any]) -> Any:
        made.append(later())
        return made[0]

    for before in (True, False):
        made: list[Any] = []
        work, done = call_of(partial(keep, made))
        if before:
            work.drop()
        work.run()
        work.tell()
        assert done.is_set() is not before
        work.drop()
        assert inspect.getcoroutinestate(made[0]) == inspect.CORO_CLOSED
