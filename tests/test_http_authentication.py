"""On whose behalf a request comes, asked of the application while the connection waits: over real sockets."""

from __future__ import annotations

from typing import Any

import pytest
from fronts import ASYNC_FRONTS, AsyncFront
from pair import KEYS, SERVER, prompt

from mcp_sansio import (
    Catalogue,
    ClientConfig,
    Implementation,
    PromptServer,
    PromptServerConfig,
    RequestHead,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import ConnectionFailed, Unauthorized

pytestmark = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=lambda front: front.name)

IMPATIENT = ClientConfig(info=Implementation("c", "1"), backoff=0.001, backoff_max=0.002)


def judge(head: RequestHead) -> str | Unauthorized | None:
    """Ada, nobody in particular, somebody without a right to be here, or a failure of our own."""
    credential = dict(head.headers).get("authorization", "")
    if credential == "broken":
        raise RuntimeError("a secret")
    return {"ada": "Ada", "": None}.get(credential, Unauthorized('Bearer realm="x"', reason="not you"))


def served() -> Server:
    """A server that shows one of its two prompts to Ada only."""
    catalogue = Catalogue(visible=lambda principal, shown: shown.name == "all" or principal == "Ada")
    for name in ("all", "hers"):
        catalogue.add(prompt(name), lambda: "text")
    return Server(ServerConfig(info=SERVER), PromptServer(catalogue, PromptServerConfig(keys=KEYS)))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_hook_decides_who_sees_what_and_who_is_refused(
    front: AsyncFront, asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def later(head: RequestHead) -> str | Unauthorized | None:
        await front.checkpoint()
        return judge(head)

    async def listed(url: str, token: str) -> list[str]:
        headers = {"Authorization": token} if token else {}
        async with front.module.open_http_client(url, headers=headers, config=IMPATIENT) as client:
            return [shown.name for shown in await client.list_prompts()]

    async def scenario(front: Any) -> None:
        hook = later if asynchronous else judge
        async with front.module.open_http_server(served(), authenticate=hook) as running:
            assert await listed(running.url, "ada") == ["all", "hers"]
            assert await listed(running.url, "") == ["all"]
            with pytest.raises(ConnectionFailed, match=r"HTTP 401 .*not you") as refused:
                await listed(running.url, "bob")
            assert refused.value.status == 401
            with pytest.raises(ConnectionFailed, match="HTTP 500 ") as caught:
                await listed(running.url, "broken")
            assert caught.value.status == 500
            assert "secret" not in str(caught.value)
            assert await listed(running.url, "ada") == ["all", "hers"]

    front.run(scenario)
    assert "authenticating POST /mcp failed" in caplog.text
