"""Our client over HTTP and the official Python SDK's server, a live process.

Each revision that HTTP has is forced in turn, on both loops, whether the server answers with streams or with
JSON. What the client holds in the end is compared with the registry that the server serves. The other way
round is in `test_official_sdk_http_client.py`.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager
from itertools import count
from typing import Any

import pytest
from fronts import ASYNC_FRONTS, AsyncFront, front_name, text
from live import Served, sdk_server, served
from registry import ASK, CONTROL, FORGET, HANG, POLL, STATE, Registry

from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    ClientConfig,
    Disconnected,
    Era,
    Event,
    Implementation,
    InputNeeded,
    RpcError,
    Snapshot,
    Updated,
    Verdict,
    unstructure,
)
from mcp_sansio_adapters import ConnectionFailed, PromptGoneError, RequestFailed

pytestmark = [pytest.mark.live, pytest.mark.slow]

ME = Implementation("mcp-sansio-tests", "1.0")
VERSIONS = tuple(version for version in ALL_VERSIONS if version > "2025")
"""The revisions that Streamable HTTP has."""

LEGACY, MODERN = LEGACY_VERSIONS[-1], MODERN_VERSIONS[-1]

every_front = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=front_name)
each_era = pytest.mark.parametrize("version", [LEGACY, MODERN])


def connected(front: AsyncFront, server: Served, **config: Any) -> AbstractAsyncContextManager[Any]:
    """Our client of a server."""
    hooks = {name: config.pop(name) for name in ("on_input", "on_event") if name in config}
    client: AbstractAsyncContextManager[Any] = front.module.open_http_client(
        server.url, config=ClientConfig(info=ME, backoff=0.05, **config), **hooks
    )
    return client


def plain(snapshot: Snapshot) -> list[dict[str, Any]]:
    """A list as JSON, in the form of the newest revision."""
    return [unstructure(prompt, ALL_VERSIONS[-1]) for prompt in snapshot]


async def state(client: Any) -> dict[str, int]:
    """What the server says that it holds."""
    held: dict[str, int] = json.loads(text(await client.get_prompt(STATE)))
    return held


async def add(client: Any, registry: Registry, name: str) -> None:
    """Have the server add a prompt, and note that it has."""
    await client.get_prompt(CONTROL, {"op": "add", "name": name})
    registry.change("add", name)


async def hanging(front: AsyncFront, client: Any, number: int) -> None:
    """Wait until so many gets hang at the server."""
    while (await state(client))["hanging"] != number:
        await front.checkpoint()


@pytest.fixture
def sdk() -> Generator[Served]:
    """A server that keeps sessions and answers with streams, in either era."""
    with served(sdk_server(http=True)) as server:
        yield server


# --- what a client asks for ---


@every_front
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("replies", ["sse", "json"])
def test_our_client_holds_what_the_sdk_server_has(front: AsyncFront, version: str, replies: str) -> None:
    """137 prompts in pages of 10: listed, rendered, refused, completed, and listed again after a change.

    One of the modern era answers with JSON even where it may stream, as long as there is nothing but the
    reply.
    """

    async def scenario(front: AsyncFront) -> None:
        registry = Registry()
        async with connected(front, server) as client:
            assert client.negotiated.version == version
            snapshot = await client.list_prompts()
            assert plain(snapshot) == registry.list()
            assert (snapshot.pages, snapshot.verified, snapshot.problems) == (14, True, ())

            assert text(await client.get_prompt("prompt-001", {"topic": "rain"})) == "prompt-001: topic=rain"
            with pytest.raises(PromptGoneError):
                await client.get_prompt("nowhere")
            with pytest.raises(RequestFailed) as missing:
                await client.get_prompt("prompt-001")
            assert not isinstance(missing.value, PromptGoneError)
            assert isinstance(missing.value.failure, RpcError)
            assert missing.value.failure.code == -32602
            assert (await client.complete("prompt-002", "tone", "f")).values == ("formal", "furious")

            changes = client.changes()
            await add(client, registry, "a-new-one")
            change = await anext(changes)
            assert (change.added, change.removed, change.changed) == (("a-new-one",), (), ())
            assert plain(await client.list_prompts()) == registry.list()

    with served(sdk_server(http=True, revision=version, json=replies == "json")) as server:
        front.run(scenario)


@every_front
@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_changes_that_the_sdk_server_does_not_declare_count_where_we_say_so(
    front: AsyncFront, version: str
) -> None:
    """Over HTTP the SDK's server never declares `listChanged` in the legacy era, and sends it all the same;
    for the other tests it is made to declare it. Nobody can tell from when on it would be heard.
    """

    async def scenario(front: AsyncFront) -> None:
        async with connected(front, server, versions=(version,), unnegotiated="invalidate") as client:
            assert plain(await client.list_prompts()) == Registry(3).list()
            changes = client.changes()

            async def change() -> None:
                for number in count():
                    await client.get_prompt(CONTROL, {"op": "add", "name": f"new-{number:03}"})

            await front.interrupt(change, lambda: anext(changes))
            assert "new-000" in (await client.list_prompts(stale_ok=True)).by_name

    with served(sdk_server(http=True, prompts=3, undeclared=True)) as server:
        front.run(scenario)


@every_front
@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_a_server_without_sessions_is_asked_again_where_it_cannot_announce(
    front: AsyncFront, version: str
) -> None:
    """Asked for a stream to push on, the SDK's server opens one without a session, too, on which nothing
    will ever come; it declares no `listChanged`, so our client does not ask.
    """

    async def scenario(front: AsyncFront) -> None:
        registry = Registry(25)
        async with connected(front, server, versions=(version,)) as client:
            snapshot = await client.list_prompts()
            assert (plain(snapshot), snapshot.verified) == (registry.list(), False)
            await add(client, registry, "a-new-one")
            assert await client.list_prompts() is snapshot
            assert plain(await client.refresh_prompts()) == registry.list()

    with served(sdk_server(http=True, prompts=25, stateless=True, undeclared=True)) as server:
        front.run(scenario)


@every_front
def test_our_client_finds_out_by_itself_which_era_the_sdk_server_speaks(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront, server: Served, found: Era) -> None:
        async with connected(front, server) as client:
            assert client.negotiated.era is found
            assert plain(await client.list_prompts()) == Registry(3).list()

    for era, found in (("legacy", Era.LEGACY), ("modern", Era.MODERN), ("both", Era.MODERN)):
        with served(sdk_server(http=True, prompts=3, era=era)) as server:
            front.run(scenario, server, found)


@every_front
def test_a_verdict_of_an_earlier_run_that_is_wrong_is_corrected(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        legacy, modern = Verdict(Era.LEGACY, LEGACY), Verdict(Era.MODERN, MODERN)
        with served(sdk_server(http=True, prompts=3, era="modern")) as server:
            async with connected(front, server, verdict=legacy) as client:
                assert client.negotiated.verdict == modern
        with served(sdk_server(http=True, prompts=3, era="legacy")) as server:
            async with connected(front, server, verdict=modern) as client:
                assert client.negotiated.verdict == legacy

    front.run(scenario)


@every_front
@pytest.mark.parametrize("replies", ["sse", "json"])
def test_the_sdk_server_asks_and_our_client_answers(front: AsyncFront, replies: str) -> None:
    async def scenario(front: AsyncFront) -> None:
        asked: list[InputNeeded] = []

        def answer(needed: InputNeeded) -> dict[str, Any]:
            asked.append(needed)
            return {key: {"action": "accept", "content": {"topic": "rain"}} for key in needed.requests}

        offered: dict[str, Any] = {"elicitation": {}}
        async with connected(front, server, on_input=answer, capabilities=offered) as client:
            rendered = await client.get_prompt(ASK)
        assert text(rendered) == 'asked: {"action":"accept","content":{"topic":"rain"}}'
        assert [needed.round for needed in asked] == [1]

    with served(sdk_server(http=True, prompts=3, json=replies == "json")) as server:
        front.run(scenario)


@every_front
def test_a_reply_is_fetched_from_where_the_sdk_server_went_on_with_it(front: AsyncFront) -> None:
    """A server that keeps events may end the stream of a request, and answer when it is asked to go on."""

    async def scenario(front: AsyncFront) -> None:
        async with connected(front, server, versions=(LEGACY,)) as client:
            assert text(await client.get_prompt(POLL)) == "polled"
            assert plain(await client.list_prompts()) == Registry(3).list()

    with served(sdk_server(http=True, prompts=3, resumable=True)) as server:
        front.run(scenario)


# --- what a client takes back ---


@every_front
@pytest.mark.parametrize("replies", ["sse", "json"])
@each_era
def test_a_cancelled_get_is_cancelled_at_the_sdk_server(
    front: AsyncFront, version: str, replies: str
) -> None:
    """In the modern era the end of the exchange is what cancels; where the SDK's server answers with JSON, it
    does not notice that, and its handler runs for ever. In the legacy era it answers what was cancelled with
    an error of its own, -32800.
    """

    async def scenario(front: AsyncFront) -> None:
        left = 1 if (version, replies) == (MODERN, "json") else 0
        async with connected(front, server, versions=(version,)) as client, connected(front, server) as other:
            await front.interrupt(lambda: client.get_prompt(HANG), lambda: hanging(front, other, 1))
            await hanging(front, other, left)
            assert plain(await client.list_prompts()) == Registry(3).list()
            assert (await state(other))["hanging"] == left

    with served(sdk_server(http=True, prompts=3, json=replies == "json")) as server:
        front.run(scenario)


@every_front
def test_our_client_ends_its_session_in_the_end(front: AsyncFront, sdk: Served) -> None:
    """The SDK's server keeps what it has of a session that was ended, for as long as it runs."""

    async def scenario(front: AsyncFront) -> None:
        async with connected(front, sdk) as modern:
            async with connected(front, sdk, versions=(LEGACY,)) as client:
                await client.list_prompts()
                assert (await state(modern))["sessions"] == 1
            assert (await state(modern))["sessions"] == 0

    front.run(scenario)


# --- what gets lost ---


@every_front
@each_era
def test_a_change_between_two_pages_never_gives_a_torn_list(front: AsyncFront, version: str) -> None:
    """As over stdio, the SDK's server answers each page from its registry of the moment."""

    async def scenario(front: AsyncFront) -> None:
        async with connected(front, server, versions=(version,)) as client:
            changes = client.changes()
            await client.list_prompts()
            change: Updated = await anext(changes)
            while not change.snapshot.verified:
                change = await anext(changes)
            registry = Registry()
            registry.change("add", "added-meanwhile")
            assert plain(change.snapshot) == registry.list()

    with served(sdk_server(http=True, change_at=20)) as server:
        front.run(scenario)


@every_front
def test_a_session_that_the_sdk_server_ends_is_begun_again(front: AsyncFront, sdk: Served) -> None:
    """The SDK's own client gives up for good: every later call fails with the server's error."""

    async def scenario(front: AsyncFront) -> None:
        registry, seen = Registry(), list[Event]()
        async with (
            connected(front, sdk) as modern,
            connected(front, sdk, versions=(LEGACY,), on_event=seen.append) as client,
        ):
            await client.list_prompts()
            assert text(await modern.get_prompt(FORGET)) == "ended 1"
            await add(modern, registry, "a-new-one")
            assert text(await client.get_prompt("a-new-one")) == "a-new-one: "
            assert plain(await client.list_prompts()) == registry.list()
            assert [event for event in seen if isinstance(event, Disconnected)]

            changes = client.changes()
            await add(client, registry, "another")
            assert (await anext(changes)).added == ("another",)

    front.run(scenario)


@every_front
@each_era
def test_a_server_that_was_killed_is_found_again_at_its_place(
    front: AsyncFront, version: str, sdk: Served
) -> None:
    """The list that our client holds in the end is that of the new process."""

    async def scenario(front: AsyncFront) -> None:
        async with connected(front, sdk, versions=(version,)) as client:
            await add(client, Registry(), "a-new-one")
            await client.refresh_prompts()
            changes = client.changes()
            sdk.kill()
            with pytest.raises(ConnectionFailed):
                await client.get_prompt("prompt-000")
            sdk.start_again()
            assert (await anext(changes)).removed == ("a-new-one",)

            registry = Registry()
            await add(client, registry, "another")
            assert (await anext(changes)).added == ("another",)
            assert plain(await client.list_prompts()) == registry.list()

    front.run(scenario)
