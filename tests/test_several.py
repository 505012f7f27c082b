"""Several servers at once: whatever one of them does, the others are there."""

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from fronts import ASYNC_FRONTS, AsyncFront, TrioFront, front_name, no_child_is_left, our_server, text
from live import our_server as http_server
from live import raw_server, served
from registry import CONTROL, HANG

import mcp_sansio_adapters.trio as on_trio
from mcp_sansio import ClientConfig, Implementation, ListingConfig, LocalProtocolError, Prompt
from mcp_sansio_adapters import ConnectionFailed, ProcessPolicy, PromptGoneError, RequestFailed
from mcp_sansio_adapters.hosts import HostServer
from mcp_sansio_adapters.several import LabelledPrompt, ServerFailed, Several, SeveralPrompts

on_both = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=front_name)
live = pytest.mark.live

IMPATIENT = ProcessPolicy(restarts=0, close_grace=0.1, term_grace=0.1)
BRISK = ClientConfig(info=Implementation("test", "1"), backoff=0.01)
RETITLE = {"op": "retitle", "name": "prompt-001", "value": "New"}
GARBAGE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"prompts": {}}}
    if asked["method"] == "prompts/list":
        result = {"resultType": "complete", "prompts": "many"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

Opener = Callable[[], AbstractAsyncContextManager[Any]]


def started(front: AsyncFront, command: Any, **options: Any) -> Opener:
    options = {"policy": IMPATIENT, "config": BRISK, **options}
    return partial(front.open_stdio_client, command, **options)


def raw(front: AsyncFront, **named: Any) -> Opener:
    return started(front, raw_server(**named))


def names(found: SeveralPrompts, label: str) -> list[str]:
    snapshot = found.servers[label].snapshot
    assert snapshot is not None
    return [prompt.name for prompt in snapshot]


async def used_up(several: Several, label: str) -> None:
    """Ask a server until it is gone."""
    with suppress(ConnectionFailed, ServerFailed):
        while True:
            await several.get_prompt(label, "prompt-000")


# --- one misbehaves, the others are there ---


@live
@on_both
def test_servers_of_every_kind_hide_nobody(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront, url: str) -> None:
        openers = {
            "ours": started(front, our_server(front.name)),
            "raw": raw(front, prompts=3),
            "again": raw(front, prompts=2, legacy=True),
            "web": partial(front.module.open_http_client, url),
            "hangs": raw(front, mute="server/discover", silent=True),
            "dies": raw(front, exit_at=0, exit_code=7),
            "garbage": started(front, [sys.executable, "-c", GARBAGE]),
            "nowhere": started(front, ["/no/such/program"]),
            "misused": partial(front.module.open_http_client, "no URL"),
        }
        async with front.module.open_several(openers, patience=4.0) as several:
            assert several.labels == tuple(openers)
            found = await several.list_prompts()
            assert [*found.servers] == [*openers]
            assert "hello" in names(found, "ours")
            assert names(found, "raw") == ["prompt-000", "prompt-001", "prompt-002"]
            assert names(found, "again") == ["prompt-000", "prompt-001"]
            assert names(found, "web")[-1] == "prompt-003"
            failures = found.failures
            assert [*failures] == ["hangs", "dies", "garbage", "nowhere", "misused"]
            assert str(failures["hangs"]) == "no answer within 4 s"
            assert isinstance(failures["dies"], ConnectionFailed)
            assert failures["dies"].exit_code == 7
            assert isinstance(failures["garbage"], RequestFailed)
            assert "prompts" in str(failures["garbage"])
            assert "cannot be started" in str(failures["nowhere"])
            assert isinstance(failures["misused"], LocalProtocolError)
            chosen = found.by_name["raw/prompt-001"]
            assert (
                text(await several.get_prompt(chosen.label, chosen.name, {"topic": "x"}))
                == "prompt-001: topic=x"
            )
            with pytest.raises(ServerFailed, match=r"^dies: .*7") as failed:
                await several.get_prompt("dies", "prompt-001")
            assert (failed.value.label, failed.value.failure) == ("dies", failures["dies"])
            with pytest.raises(PromptGoneError):
                await several.get_prompt("again", "prompt-002")
            with pytest.raises(LocalProtocolError, match="no server 'rwa'; there are 'ours', 'raw'"):
                await several.client("rwa")

    with served(http_server(front.name, prompts=4)) as web:
        front.run(scenario, web.url)
    assert no_child_is_left()


@live
@on_both
def test_nobody_waits_for_a_server_that_he_did_not_ask_for(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        openers = {"hangs": raw(front, mute="server/discover", silent=True), "there": raw(front)}
        async with front.module.open_several(openers, patience=600.0) as several:
            assert text(await several.get_prompt("there", "prompt-000")) == "prompt-000: "

    front.run(scenario)
    assert no_child_is_left()


@live
@on_both
def test_a_server_of_a_configuration_is_opened_as_it_says(front: AsyncFront, tmp_path: Path) -> None:
    script = "import os, sys; sys.stderr.write(os.environ['TOLD'] + ' ' + os.getcwd()); sys.exit(3)"
    one = HostServer("one", (sys.executable, "-c", script), {"TOLD": "so"}, str(tmp_path))

    async def scenario(front: AsyncFront, url: str) -> None:
        openers = {
            "one": partial(front.module.open_server, one, config=BRISK),
            "two": partial(front.module.open_server, HostServer("two", url=url)),
        }
        async with front.module.open_several(openers) as several:
            found = await several.list_prompts()
            assert str(found.failures["one"]).endswith(f"so {tmp_path}")
            assert "prompt-000" in names(found, "two")

    with served(http_server(front.name, prompts=1)) as web:
        front.run(scenario, web.url)


# --- changes, losses, and coming back ---


@live
@on_both
def test_changes_come_with_the_label_of_their_server(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        async with front.module.open_several({"a": raw(front), "b": raw(front)}) as several:
            changes = several.changes()
            await several.list_prompts()
            first = [await anext(changes), await anext(changes)]
            assert {(each.label, len(each.change.added)) for each in first} == {("a", 30), ("b", 30)}
            await several.get_prompt("b", CONTROL, RETITLE)
            change = await anext(changes)
            assert (change.label, change.change.changed) == ("b", ("prompt-001",))
            later = several.changes()
            await several.get_prompt("a", CONTROL, RETITLE)
            assert (await anext(later)).label == "a"

    front.run(scenario)


@live
@on_both
def test_a_lost_server_is_told_and_can_be_opened_again(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        opens: list[str] = []

        def flaky() -> Any:
            opens.append("flaky")
            return raw(front, prompts=1, **({"exit_at": 4} if len(opens) == 1 else {}))()

        lazy = ListingConfig(eager=False)
        steady = started(front, raw_server(prompts=2), listing=lazy)
        async with front.module.open_several({"steady": steady, "flaky": flaky}) as several:
            changes = several.changes()
            await several.client("flaky")
            several.reopen("flaky")  # which has not failed
            await used_up(several, "flaky")
            while (change := await anext(changes)).failure is None:
                pass
            assert change.label == "flaky"
            assert isinstance(change.failure, ConnectionFailed)
            found = await several.list_prompts()
            assert [*found.failures] == ["flaky"]
            several.reopen("flaky")
            found = await several.list_prompts()
            assert not found.failures
            while (change := await anext(changes)).label != "flaky":
                pass
            assert change.change.added == ("prompt-000",)

    front.run(scenario)
    assert no_child_is_left()


@live
@on_both
def test_cancelling_the_block_parts_from_all(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        entered = front.event()

        async def work() -> None:
            openers = {"hangs": raw(front, mute="server/discover", silent=True), "there": raw(front)}
            async with front.module.open_several(openers) as several:
                await several.client("there")
                entered.set()
                await several.get_prompt("there", HANG)

        await front.interrupt(work, entered.wait)

    front.run(scenario)
    assert no_child_is_left()


@live
@on_both
def test_changes_end_with_the_block_and_what_it_raises_comes_out_as_it_is(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        left: list[Any] = []

        async def work() -> None:
            async with front.module.open_several({"a": raw(front)}) as several:
                left.extend((several, several.changes()))
                await several.client("a")
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            await work()
        several, changes = left
        assert [change async for change in changes] == []
        with pytest.raises(ServerFailed):
            await several.client("a")
        several.reopen("a")
        assert [*(await several.list_prompts()).failures] == ["a"]

    front.run(scenario)


# --- in virtual time, with openers that only wait ---


class After:
    """A server that takes so long to fail."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def __aenter__(self) -> Any:
        await trio.sleep(self._seconds)
        raise OSError(f"after {self._seconds:g} s")

    async def __aexit__(self, *_: object) -> None:
        raise AssertionError("was not entered")


def test_each_server_has_a_time_limit_of_its_own() -> None:
    async def scenario() -> None:
        openers = {"late": partial(After, 29), "never": partial(After, 1e9), "early": partial(After, 1)}
        async with on_trio.open_several(openers) as several:
            assert trio.current_time() == begin
            with pytest.raises(ServerFailed, match="early: after 1 s"):
                await several.client("early")
            assert trio.current_time() == begin + 1
            found = await several.list_prompts()
            assert trio.current_time() == begin + 30
            assert {label: str(failure) for label, failure in found.failures.items()} == {
                "late": "after 29 s",
                "never": "no answer within 30 s",
                "early": "after 1 s",
            }
            several.reopen("early")
            with pytest.raises(ServerFailed):
                await several.client("early")
            assert trio.current_time() == begin + 31

    clock = trio.testing.MockClock(autojump_threshold=0)
    begin = clock.current_time()

    trio.run(scenario, clock=clock)


def test_a_limit_that_cannot_be_is_refused() -> None:
    async def scenario(front: AsyncFront) -> None:
        with pytest.raises(LocalProtocolError, match="total"):
            async with front.module.open_several({}, patience=-1.0):
                raise AssertionError("entered")

    TrioFront().run(scenario)


# --- names ---


def test_display_names_never_collide() -> None:
    labels = ("a", "a/b", "a%2Fb", "a%", "", "/", "ä b")
    wire_names = ("b", "b/c", "", "/", "%2Fb", "c")
    prompts = [LabelledPrompt(label, Prompt(name)) for label in labels for name in wire_names]
    shown = {prompt.display_name: prompt for prompt in prompts}
    assert len(shown) == len(prompts)
    assert LabelledPrompt("code", Prompt("review", description="d")).display_name == "code/review"
    assert LabelledPrompt("a/b", Prompt("c")).display_name == "a%2Fb/c"
