"""The official Python SDK as a live peer, in both roles, over real child processes.

Our client, on asyncio and on trio, talks to a server on the SDK; the SDK's client talks to `mcp-sansio
serve`. Each protocol version is forced in turn, and what each side holds in the end is compared with the
registry or the folder that the server serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from live import sdk_client, sdk_server
from registry import ASK, CONTROL, HANG, Registry

import mcp_sansio_adapters.asyncio as on_asyncio
import mcp_sansio_adapters.trio as on_trio
from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    ClientConfig,
    Era,
    Implementation,
    InputNeeded,
    LocalProtocolError,
    RpcError,
    Snapshot,
    TextContent,
    Updated,
    Verdict,
    unstructure,
)
from mcp_sansio_adapters import PromptGoneError, RequestFailed

pytestmark = [pytest.mark.live, pytest.mark.slow]

ME = Implementation("mcp-sansio-tests", "1.0")
Body = Callable[[Any], Awaitable[None]]


@contextlib.asynccontextmanager
async def connected(front: Any, command: tuple[str, ...], **config: Any) -> AsyncIterator[Any]:
    """Our client of a child process."""
    on_input = config.pop("on_input", None)
    settings = ClientConfig(info=ME, **config)
    async with front.open_stdio_client(command, config=settings, on_input=on_input) as client:
        yield client


def run(front: Any, body: Callable[[], Awaitable[None]]) -> None:
    """Run a test's coroutine on the loop of a front end."""
    if front is on_asyncio:

        async def limited() -> None:
            async with asyncio.timeout(60):
                await body()

        asyncio.run(limited())
        return

    async def patient() -> None:
        with trio.fail_after(60):
            await body()

    trio.run(patient)


def plain(snapshot: Snapshot) -> list[dict[str, Any]]:
    """A list as JSON, in the form of the newest revision."""
    return [unstructure(prompt, ALL_VERSIONS[-1]) for prompt in snapshot]


both_loops = pytest.mark.parametrize("front", [on_asyncio, on_trio], ids=["asyncio", "trio"])


@both_loops
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_our_client_holds_what_the_sdk_server_has(front: Any, version: str) -> None:
    """137 prompts in pages of 10: listed, rendered, refused, completed, and listed again after a change.

    The SDK's own client, given the same server, keeps no list: every call of `list_prompts` is one page, and
    what a notification does is left to a callback of the application.
    """

    async def body() -> None:
        registry = Registry()
        async with connected(front, sdk_server(revision=version), versions=(version,)) as client:
            assert client.negotiated.version == version
            snapshot = await client.list_prompts()
            assert plain(snapshot) == registry.list()
            assert (snapshot.pages, snapshot.verified, snapshot.problems) == (14, True, ())

            rendered = await client.get_prompt("prompt-001", {"topic": "rain"})
            assert rendered.messages[0].content == TextContent("prompt-001: topic=rain")
            with pytest.raises(PromptGoneError):
                await client.get_prompt("nowhere")
            with pytest.raises(RequestFailed) as missing:
                await client.get_prompt("prompt-001")
            assert not isinstance(missing.value, PromptGoneError)
            assert isinstance(missing.value.failure, RpcError)
            assert missing.value.failure.code == -32602
            assert (await client.complete("prompt-002", "tone", "f")).values == ("formal", "furious")

            changes = client.changes()
            await client.get_prompt(CONTROL, {"op": "add", "name": "a-new-one", "value": "New"})
            registry.change("add", "a-new-one", "New")
            change = await anext(changes)
            assert (change.added, change.removed, change.changed) == (("a-new-one",), (), ())
            assert plain(await client.list_prompts()) == registry.list()

    run(front, body)


@both_loops
def test_our_client_finds_out_by_itself_which_era_the_sdk_server_speaks(front: Any) -> None:
    async def body() -> None:
        for era, found in (("legacy", Era.LEGACY), ("modern", Era.MODERN), ("both", Era.MODERN)):
            async with connected(front, sdk_server(prompts=3, era=era)) as client:
                assert client.negotiated.era is found
                assert plain(await client.list_prompts()) == Registry(3).list()

    run(front, body)


def test_a_verdict_of_an_earlier_run_saves_the_probe_and_is_corrected_when_it_is_wrong() -> None:
    """The SDK's client has no such memory: with `mode="auto"` it probes on every connection."""

    async def body() -> None:
        legacy = Verdict(Era.LEGACY, LEGACY_VERSIONS[-1])
        async with connected(on_asyncio, sdk_server(prompts=3, era="legacy"), verdict=legacy) as client:
            assert client.negotiated.verdict == legacy
            assert client.traffic.messages_sent == 2  # initialize and initialized
        async with connected(on_asyncio, sdk_server(prompts=3, era="modern"), verdict=legacy) as client:
            assert client.negotiated.verdict == Verdict(Era.MODERN, MODERN_VERSIONS[-1])

    run(on_asyncio, body)


@both_loops
def test_the_sdk_server_asks_and_our_client_answers(front: Any) -> None:
    async def body() -> None:
        asked: list[InputNeeded] = []

        def answer(needed: InputNeeded) -> dict[str, Any]:
            asked.append(needed)
            return {key: {"action": "accept", "content": {"topic": "rain"}} for key in needed.requests}

        asking = sdk_server(prompts=3, era="modern")
        offered: dict[str, Any] = {"elicitation": {}}
        async with connected(front, asking, on_input=answer, capabilities=offered) as client:
            rendered = await client.get_prompt(ASK)
        text = 'asked: {"action":"accept","content":{"topic":"rain"}}'
        assert rendered.messages[0].content == TextContent(text)
        assert [needed.round for needed in asked] == [1]

    run(front, body)


def test_a_cancelled_get_is_cancelled_at_the_sdk_server_and_the_connection_lives() -> None:
    async def body() -> None:
        async with connected(on_asyncio, sdk_server(prompts=3)) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.get_prompt(HANG), 0.2)
            assert plain(await client.list_prompts()) == Registry(3).list()

    run(on_asyncio, body)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_change_between_two_pages_of_the_sdk_server_never_gives_a_torn_list(era: str) -> None:
    """The SDK's server answers each page from its registry of the moment, so a change between two pages
    tears the walk; the notification that comes with it has our client walk once more.
    """

    async def body() -> None:
        async with connected(on_asyncio, sdk_server(era=era, change_at=20)) as client:
            changes = client.changes()
            await client.list_prompts()
            change: Updated = await anext(changes)
            while not change.snapshot.verified:
                change = await anext(changes)
            registry = Registry()
            registry.change("add", "added-meanwhile")
            names = [prompt["name"] for prompt in registry.list()]
            assert sorted(change.snapshot.by_name) == names

    run(on_asyncio, body)


def test_arguments_that_are_no_strings_never_reach_the_sdk_server() -> None:
    async def body() -> None:
        async with connected(on_asyncio, sdk_server(prompts=3)) as client:
            before = client.traffic.messages_sent
            with pytest.raises(LocalProtocolError):
                await client.get_prompt("prompt-001", {"topic": 7})
            assert client.traffic.messages_sent == before

    run(on_asyncio, body)


# --- the SDK's client against our server ------------------------------------------------------------------

GREETING = """---
description: Greets somebody
arguments:
  - name: who
    description: Whom to greet
    required: true
---
Say hello to {{who}}.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of 23 prompts."""
    for number in range(22):
        text = f"---\ntitle: Note {number}\n---\nThis is note {number}.\n"
        (tmp_path / f"note-{number:02}.md").write_text(text, encoding="utf-8")
    (tmp_path / "greet.md").write_text(GREETING, encoding="utf-8")
    return tmp_path


def serve(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "mcp_sansio_adapters", "serve", str(folder), "--page-size", "10")


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_the_sdk_client_holds_what_our_server_has(folder: Path, version: str) -> None:
    report = sdk_client(
        serve(folder),
        revision=version,
        get=[("greet", {"who": "Ada"}), ("nowhere", {}), ("greet", {}), ("greet", {"who": ""})],
        write=(folder / "added.md", "A new one.\n"),
    )
    assert report["protocolVersion"] == version
    names = sorted(["greet", *(f"note-{number:02}" for number in range(22))])
    assert [prompt["name"] for prompt in report["prompts"]] == names
    assert report["pages"] == 3
    greet = report["prompts"][0]
    assert greet["arguments"] == [{"name": "who", "description": "Whom to greet", "required": True}]
    titled = version >= "2025-06-18"
    assert ("title" in report["prompts"][1]) is titled

    rendered, unknown, missing, empty = report["got"]
    assert rendered["messages"][0]["content"]["text"].strip() == "Say hello to Ada."
    assert (unknown["error"]["code"], missing["error"]["code"]) == (-32602, -32602)
    assert "nowhere" in unknown["error"]["message"]
    assert "who" in missing["error"]["message"]
    assert empty["messages"][0]["content"]["text"].strip() == "Say hello to ."

    assert report["changed"]
    assert [prompt["name"] for prompt in report["relisted"]] == sorted(["added", *names])


def test_the_sdk_client_discovers_our_server_by_itself(folder: Path) -> None:
    report = sdk_client(serve(folder), mode="auto")
    assert report["protocolVersion"] == MODERN_VERSIONS[-1]
    assert report["discovered"] is not None
    assert report["discovered"]["supportedVersions"] == [*MODERN_VERSIONS]
    assert report["capabilities"]["prompts"] == {"listChanged": True}
    assert len(report["prompts"]) == 23
