"""The client that the official conformance suite is run against.

The suite starts it for one scenario at a time, with the URL of a server of the suite's own; the environment
names the scenario and the revision. What the suite looks at is how the product behaves on the way; here are
only the requests that make it do so, and a look at what comes back. It exits with 1 when anything is not
as it must be:

    MCP_CONFORMANCE_SCENARIO=sse-retry python tests/conformance/client.py --adapter trio http://localhost:1234

"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import trio

import mcp_sansio_adapters.asyncio as on_asyncio
import mcp_sansio_adapters.trio as on_trio
from mcp_sansio import LEGACY_VERSIONS, MODERN_VERSIONS, ClientConfig, Implementation, InputNeeded
from mcp_sansio_adapters.asyncio import AsyncClient

CONFIRMED = {"action": "accept", "content": {"confirmed": True}}


class Visit:
    """One scenario: a client, and what it does."""

    def __init__(self, scenario: str, wire: str) -> None:
        self.config = ClientConfig(
            info=Implementation("mcp-sansio-conformance", "1.0"),
            capabilities={"elicitation": {}, "sampling": {}, "roots": {}},
            versions=(*(legacy for legacy in LEGACY_VERSIONS if legacy <= wire), *MODERN_VERSIONS),
        )
        self._act = SCENARIOS[scenario]
        self._client: AsyncClient | None = None

    async def run(self, front: Any, url: str) -> None:
        """Connect, and do what the scenario is about."""
        async with front.open_http_client(url, config=self.config, on_input=self._confirm) as client:
            self._client = client
            await self._act(client)

    async def _confirm(self, needed: InputNeeded) -> Mapping[str, Any]:
        """Confirm whatever is asked, and meanwhile make a request that has nothing to do with it."""
        assert self._client is not None
        assert await _call(self._client, "test_mrtr_unrelated") == "unrelated-ok"
        return dict.fromkeys(needed.requests, CONFIRMED)


async def _call(client: AsyncClient, tool: str) -> str:
    """Call a tool; the text of its result."""
    result = await client.request("tools/call", {"name": tool, "arguments": {}})
    text: str = result["content"][0]["text"]
    return text


# --- the scenarios ----------------------------------------------------------------------------------------


async def _lists_tools(client: AsyncClient) -> None:
    result = await client.request("tools/list")
    assert result["tools"] == []


async def _has_its_headers_looked_at(client: AsyncClient) -> None:
    (prompt,) = await client.list_prompts()
    await client.get_prompt(prompt.name)
    tools = await client.request("tools/list")
    for tool in tools["tools"]:
        await _call(client, tool["name"])
    resources = await client.request("resources/list")
    for resource in resources["resources"]:
        await client.request("resources/read", {"uri": resource["uri"]})


async def _goes_rounds(client: AsyncClient) -> None:
    assert await _call(client, "test_mrtr_echo_state") == "echo-state-ok"
    assert await _call(client, "test_mrtr_no_state") == "no-state-ok"
    assert await _call(client, "test_mrtr_no_result_type") == "no-result-type-test-ok"


async def _resumes_a_stream(client: AsyncClient) -> None:
    assert await _call(client, "test_reconnection") == "Reconnection test completed successfully"


Act: TypeAlias = Callable[[AsyncClient], Awaitable[None]]
SCENARIOS: Mapping[str, Act] = {
    "initialize": _lists_tools,
    "request-metadata": _lists_tools,
    "http-standard-headers": _has_its_headers_looked_at,
    "sep-2322-client-request-state": _goes_rounds,
    "sse-retry": _resumes_a_stream,
}


def main() -> None:
    """Read the command line and the environment, and go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapter", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument("url")
    options = parser.parse_args()
    visit = Visit(
        os.environ["MCP_CONFORMANCE_SCENARIO"],
        os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", MODERN_VERSIONS[-1]),
    )
    if options.adapter == "trio":
        trio.run(visit.run, on_trio, options.url)
    else:
        asyncio.run(visit.run(on_asyncio, options.url))


if __name__ == "__main__":
    main()
