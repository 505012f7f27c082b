"""The official Python SDK's client over HTTP and our server, a live process on one of our front ends, or the
ASGI application under uvicorn.

What happens in good order is seen by the client as a process of its own, and told in its report. Where
something is cut short, the client runs in the test. The other way round is in `test_official_sdk_http.py`.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from live import Report, Served, our_server, sdk_client, served
from mcp import Client, MCPError
from mcp.client.subscriptions import PromptsListChanged, SubscriptionLost
from registry import ASK, CONTROL, HANG, STATE, Registry

from mcp_sansio import ALL_VERSIONS, LEGACY_VERSIONS, MODERN_VERSIONS

pytestmark = [pytest.mark.live, pytest.mark.slow]

VERSIONS = tuple(version for version in ALL_VERSIONS if version > "2025")
"""The revisions that Streamable HTTP has."""

LEGACY, MODERN = LEGACY_VERSIONS[-1], MODERN_VERSIONS[-1]
PATIENCE = 30.0
"""How long a test may take before it is given up, in seconds: only ever reached by a failure."""

every_host = pytest.mark.parametrize("host", ["asyncio", "trio", "uvicorn"])
each_mode = pytest.mark.parametrize("mode", ["legacy", MODERN])


def registered(prompts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of the registry; our server lists the others, too."""
    return [prompt for prompt in prompts if not prompt["name"].startswith("__")]


def before(version: str, prompts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A list as a revision shows it: the first ones have no titles."""
    if version >= "2025-06-18":
        return prompts
    return [untitled(prompt) for prompt in prompts]


def untitled(shown: dict[str, Any]) -> dict[str, Any]:
    """A prompt or an argument without its title, and without those of its arguments."""
    kept = {name: value for name, value in shown.items() if name != "title"}
    if "arguments" in kept:
        kept["arguments"] = [untitled(argument) for argument in kept["arguments"]]
    return kept


def text(result: Any) -> str:
    """The text of a rendered prompt's only message, as the SDK has it."""
    content: str = result.messages[0].content.text
    return content


async def hanging(client: Client, number: int) -> None:
    """Wait until so many gets hang at the server."""
    while json.loads(text(await client.get_prompt(STATE)))["hanging"] != number:
        pass


async def names(client: Client) -> list[str]:
    """The names on the first page."""
    return [prompt.name for prompt in (await client.list_prompts()).prompts]


def run(scenario: Any) -> None:
    """Run a test's coroutine."""

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE):
            await scenario

    asyncio.run(bounded())


# --- what the client asks for ---


def visit(server: Served, version: str) -> Report:
    """Have the SDK's client do everything once."""
    return sdk_client(
        server.url,
        revision=version,
        get=[
            ("prompt-001", {"topic": "rain"}),
            ("nowhere", {}),
            ("prompt-001", {}),
            ("prompt-001", {"topic": ""}),
        ],
        complete=[("prompt-002", "tone", "f")],
        change=(CONTROL, {"op": "add", "name": "a-new-one", "value": "New"}),
    )


def check(report: Report, version: str) -> None:
    """It has seen all of that."""
    registry = Registry()
    assert report["protocolVersion"] == version
    assert registered(report["prompts"]) == before(version, registry.list())
    assert report["pages"] == 15
    rendered, unknown, missing, empty = report["got"]
    assert rendered["messages"][0]["content"]["text"] == "prompt-001: topic=rain"
    assert (unknown["error"]["code"], missing["error"]["code"]) == (-32602, -32602)
    assert "nowhere" in unknown["error"]["message"]
    assert "topic" in missing["error"]["message"]
    assert empty["messages"][0]["content"]["text"] == "prompt-001: topic="
    assert report["completed"][0]["completion"]["values"] == ["formal", "furious"]

    registry.change("add", "a-new-one", "New")
    assert report["changed"]
    assert registered(report["relisted"]) == before(version, registry.list())


@every_host
@pytest.mark.parametrize("version", VERSIONS)
def test_the_sdk_client_holds_what_our_server_has(host: str, version: str) -> None:
    """It is served in whichever revision it asks for."""
    with served(our_server(host)) as server:
        check(visit(server, version), version)


@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize("reply", ["json", "sse"])
def test_the_sdk_client_is_content_with_either_way_of_replying(reply: str, version: str) -> None:
    with served(our_server("asyncio", reply=reply)) as server:
        check(visit(server, version), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_sdk_client_finds_out_by_itself_what_our_server_speaks(version: str) -> None:
    with served(our_server("asyncio", prompts=3, revision=version)) as server:
        report = sdk_client(server.url, mode="auto")
    assert report["protocolVersion"] == version
    assert (report["discovered"] is not None) is (version == MODERN)
    assert report["capabilities"]["prompts"] == {"listChanged": True}
    assert registered(report["prompts"]) == before(version, Registry(3).list())


@every_host
def test_our_server_asks_and_the_sdk_client_answers(host: str) -> None:
    with served(our_server(host, prompts=3)) as server:
        report = sdk_client(server.url, get=[(ASK, {})], answer={"topic": "rain"})
    answered = report["got"][0]["messages"][0]["content"]["text"]
    assert answered == 'asked: {"action":"accept","content":{"topic":"rain"}}'


# --- what gets cut short ---


@every_host
@each_mode
def test_a_get_that_the_sdk_client_cancels_is_cancelled_at_our_server(host: str, mode: str) -> None:
    """In the legacy era the SDK's client sends `notifications/cancelled`; in the modern one it ends the
    exchange.
    """

    async def scenario(server: Served) -> None:
        async with Client(server.url, mode=mode) as client, Client(server.url) as other:
            getting = asyncio.create_task(client.get_prompt(HANG))
            await hanging(other, 1)
            getting.cancel()
            with suppress(asyncio.CancelledError):
                await getting
            await hanging(other, 0)
            assert "prompt-000" in await names(client)

    with served(our_server(host, prompts=3)) as server:
        run(scenario(server))


@every_host
def test_the_session_that_the_sdk_client_ends_is_forgotten(host: str) -> None:
    async def sessions(client: Client) -> Any:
        return json.loads(text(await client.get_prompt(STATE)))["sessions"]

    async def scenario(server: Served) -> None:
        async with Client(server.url) as modern:
            async with Client(server.url, mode="legacy") as client:
                await client.list_prompts()
                assert await sessions(modern) == 1
            assert await sessions(modern) == 0

    with served(our_server(host, prompts=3)) as server:
        run(scenario(server))


@every_host
def test_an_sdk_client_of_the_modern_era_survives_our_server(host: str) -> None:
    """The SDK's client says that its subscription is lost, and leaves it to the application to subscribe
    again; requests find the new process by themselves.
    """

    async def scenario(server: Served) -> None:
        async with Client(server.url, mode=MODERN, cache=None) as client:
            async with client.listen(prompts_list_changed=True) as stream:
                await client.get_prompt(CONTROL, {"op": "add", "name": "a-new-one"})
                assert await anext(stream) == PromptsListChanged()
                server.kill()
                with pytest.raises(SubscriptionLost):
                    await anext(stream)
            server.start_again()
            assert "a-new-one" not in await names(client)

    with served(our_server(host, prompts=3)) as server:
        run(scenario(server))


@every_host
def test_an_sdk_client_of_the_legacy_era_hears_that_our_server_does_not_know_its_session(host: str) -> None:
    """The specification has a client begin a new session on a 404. The SDK's does not: every later request
    fails with the same error, until the application makes another client.
    """

    async def scenario(server: Served) -> None:
        async with Client(server.url, mode="legacy") as client:
            assert "prompt-000" in await names(client)
            server.kill()
            server.start_again()
            for _ in range(2):
                with pytest.raises(MCPError, match="session"):
                    await client.list_prompts()
        async with Client(server.url, mode="legacy") as client:
            assert "prompt-000" in await names(client)

    with served(our_server(host, prompts=3)) as server:
        run(scenario(server))


@pytest.mark.parametrize("host", ["asyncio", "trio"])
def test_a_subscription_of_the_sdk_client_ends_in_good_order_when_our_server_does(host: str) -> None:
    """To the SDK's client that is the end of an iteration, and nothing is lost."""

    async def scenario(server: Served) -> None:
        async with (
            Client(server.url, mode=MODERN) as client,
            client.listen(prompts_list_changed=True) as stream,
        ):
            stopping = asyncio.create_task(asyncio.to_thread(server.stop))
            assert [event async for event in stream] == []
            assert await stopping == 0

    with served(our_server(host, prompts=3)) as server:
        run(scenario(server))
