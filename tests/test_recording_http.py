"""Sessions over HTTP that were recorded on real sockets, and are executed once more: both ends, in both eras.

A recorded session is a test of the next version of the library, so what is changed in it here must be found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import pytest
from asgi_scene import GONE, Scene
from fronts import ASYNC_FRONTS, AsyncFront, front_name
from live import sdk_server, served
from recordings import make
from recordings.server import CONFIG, SERVING, catalogue
from registry import ASK, CONTROL

from mcp_sansio import (
    ClientConfig,
    HttpServerConfig,
    Implementation,
    PromptServer,
    RequestReceived,
    RpcError,
    Server,
)
from mcp_sansio._sse import SseDecoder
from mcp_sansio._trace import BODY_TAKEN, HIDDEN, Trace
from mcp_sansio.simulation import (
    PROPERTIES,
    Difference,
    RecordedClient,
    RecordedServer,
    reexecute,
    verdicts,
)
from mcp_sansio_adapters import RequestFailed, Unauthorized
from mcp_sansio_adapters.recording import Recorder, hide

pytestmark = pytest.mark.live

each_loop = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=front_name)
each_era = pytest.mark.parametrize("era", make.ERAS)
HTTP = HttpServerConfig()
CONFIGURED = attrs.evolve(CONFIG, methods=("own/mute",))


def client_again(trace: Trace) -> Difference | None:
    return reexecute(trace, "client-1", RecordedClient.of(trace, "client-1"))


def server_again(trace: Trace, http: HttpServerConfig = HTTP) -> Difference | None:
    node = RecordedServer.of(trace, "server-1", CONFIGURED, SERVING, http)
    return reexecute(trace, "server-1", node)


def options(era: str) -> dict[str, Any]:
    info = Implementation("recording", "1.0")
    config = ClientConfig(info=info, versions=make.ERAS[era], capabilities={"elicitation": {}}, backoff=0.05)
    return {"config": config, "on_input": make.answers}


async def everything(front: AsyncFront, client: Any) -> None:
    """Whatever a client does."""
    changes = client.changes()
    await client.list_prompts()
    await client.get_prompt("add", {"name": "one"})
    await anext(changes)
    await client.get_prompt("slow", on_progress=lambda _: None)
    await client.complete("remove", "name", "o", {"name": "one"})
    for name in ("ask", "fail", "unknown"):
        with suppress(RequestFailed):
            await client.get_prompt(name)
    async with front.within(0):
        await client.refresh_prompts()
    await client.refresh_prompts()
    await client.get_prompt("remove", {"name": "one"})
    await anext(changes)
    await client.notify("notifications/roots/list_changed")


def session(
    front: AsyncFront, era: str, talk: Callable[..., Any] | None = None, reply: Any = "auto", **more: Any
) -> list[bytes]:
    """A conversation of our client with our server, and both in one recording."""
    lines: list[bytes] = []
    recorder = Recorder(lines.append, more.pop("redact", None), headers=more.pop("hidden", ()))
    ids = map("session-{}".format, itertools.count())
    http = HttpServerConfig(new_session_id=lambda: next(ids), reply=reply)
    serving = {name: more.pop(name) for name in ("authenticate", "on_request") if name in more}
    server = Server(CONFIGURED, PromptServer(catalogue(), SERVING))

    async def scenario(front: AsyncFront) -> None:
        async with front.module.open_http_server(
            server, config=http, recorder=recorder, **serving
        ) as running:
            given = {**options(era), **more, "recorder": recorder}
            async with front.module.open_http_client(running.url, **given) as client:
                await (everything(front, client) if talk is None else talk(client))

    front.run(scenario)
    return lines


@each_loop
@each_era
@pytest.mark.parametrize("reply", ["auto", "json", "sse"])
def test_both_ends_do_the_same_again(front: AsyncFront, era: str, reply: Any) -> None:
    trace = Trace.parse(session(front, era, reply=reply))
    assert client_again(trace) is None
    assert server_again(trace, HttpServerConfig(reply=reply)) is None


@each_loop
@each_era
def test_what_either_end_did_breaks_no_property(front: AsyncFront, era: str) -> None:
    async def talk(client: Any) -> None:
        changes = client.changes()
        await client.list_prompts()
        await client.get_prompt("add", {"name": "one"})
        await anext(changes)

    trace = Trace.parse(session(front, era, talk))
    for name in ("client-1", "server-1"):
        alone = Trace(trace.header)
        alone.events = [event for event in trace if event.node == name]
        judged = [each for each in verdicts(alone, PROPERTIES) if each.judged]
        assert len(judged) > 10
        assert [str(each) for each in judged if each.violation] == []


@each_loop
@each_era
def test_what_is_given_up_and_what_fails_is_given_up_and_fails(front: AsyncFront, era: str) -> None:
    """In the modern era by the end of the exchange, in the legacy one by a message."""
    asked = front.event()

    async def mute(_: RequestReceived) -> Any:
        asked.set()
        await front.event().wait()

    async def talk(client: Any) -> None:
        with pytest.raises(RequestFailed):
            await client.request("own/unheard", {})
        await front.interrupt(lambda: client.request("own/mute", {}), asked.wait)
        await client.list_prompts()

    trace = Trace.parse(session(front, era, talk, on_request=mute))
    asking = {e.link for e in trace if e.kind == "out" and "own/mute" in e.data}
    assert [e.data for e in trace if e.kind == "end" and e.link in asking] == ["hangup"]
    assert client_again(trace) is None
    assert server_again(trace) is None


# --- who is who, and what nobody may read ---


@each_loop
@each_era
def test_what_authenticates_is_not_written_and_whose_a_request_is_is(front: AsyncFront, era: str) -> None:
    """So are headers that the application adds to a request; the id of a session is, if that is wished."""

    async def talk(client: Any) -> None:
        await client.list_prompts()
        await client.get_prompt("add", {"name": "one"})

    def caller(head: Any) -> Any:
        who = dict(head.headers).get("authorization", "")
        return "somebody" if "secret" in who else Unauthorized("Bearer")

    def more(message: Any) -> list[tuple[str, str]]:
        if message.method == "prompts/list":
            return [("Mcp-Param-Own", "open")]
        raise ValueError

    lines = session(
        front,
        era,
        talk,
        headers={"Authorization": "Bearer secret", "X-Own": "secret"},
        request_headers=more,
        authenticate=caller,
        hidden=("x-own", "Mcp-Session-Id"),
    )
    trace = Trace.parse(lines)
    written = b"".join(lines)
    assert b"secret" not in written
    assert b"session-0" not in written
    assert b'"principal":"somebody"' in written
    assert b'["Mcp-Param-Own","open"]' in written
    assert b'"failed":"ValueError()"' in written
    assert client_again(trace) is None
    assert server_again(trace) is None


@each_loop
@each_era
@pytest.mark.parametrize("reply", ["json", "sse"])
def test_what_is_hidden_is_hidden_in_bodies_too(front: AsyncFront, era: str, reply: Any) -> None:
    async def talk(client: Any) -> None:
        await client.list_prompts()
        await client.get_prompt("add", {"name": "my secret"})

    redact = hide("text", "texts")
    lines = session(front, era, talk, reply, redact=redact)
    trace = Trace.parse(lines)
    texts = [event.data for event in trace if event.kind == BODY_TAKEN and event.data is not None]
    assert any(f'"text":"{HIDDEN}"' in text for text in texts)
    assert [text for text in texts if "there is" in text] == []
    assert client_again(trace) is None


# --- what has changed is found ---


def planted(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Change the library."""
    if what == "header":
        monkeypatch.setattr("mcp_sansio._http_client.EVENT_STREAM", "text/changed")
    elif what == "status":
        monkeypatch.setattr("mcp_sansio._http_exchange.status_of", lambda *_, **__: 299)
    else:
        monkeypatch.setattr(SseDecoder, "feed", lambda *_: [])


@each_era
@pytest.mark.parametrize(
    ("what", "client", "server"),
    [("header", "text/changed", None), ("status", None, "299"), ("events", "nothing", None)],
)
def test_a_changed_library_is_told_by_the_first_difference(
    monkeypatch: pytest.MonkeyPatch, era: str, what: str, client: Any, server: Any
) -> None:
    trace = Trace.parse(session(ASYNC_FRONTS[0], era, reply="sse" if what == "events" else "json"))
    planted(monkeypatch, what)
    found = client_again(trace)
    assert client is None if found is None else client in str(found.found)
    found = server_again(trace, HttpServerConfig(reply="sse" if what == "events" else "json"))
    assert server is None if found is None else server in str(found.found)


# --- others ---


@each_loop
def test_an_asgi_application_does_the_same_again(front: AsyncFront) -> None:
    lines: list[bytes] = []

    def answer(asked: RequestReceived) -> Any:
        return {"own": 1} if asked.params.get("good") else RpcError(-7, "no")

    given = {"recorder": Recorder(lines.append), "on_request": answer}

    async def scenario(_: AsyncFront) -> None:
        async with scene.app.running():
            await scene.ask("prompts/list").made(scene.app)
            await scene.ask("x/echo", {"good": True}).made(scene.app)
            await scene.ask("x/echo", {"good": False}).made(scene.app)
            opened = await scene.session()
            await scene.call(opened, b"", GONE, method="GET").made(scene.app)

    scene = Scene(front, options=given)
    front.run(scenario)
    trace = Trace.parse(lines)
    layer = next(each for each in scene.app.server.layers if isinstance(each, PromptServer))
    node = RecordedServer.of(trace, "server-1", scene.app.server.config, layer.config)
    assert reexecute(trace, "server-1", node) is None


@pytest.mark.slow
@each_loop
@each_era
@pytest.mark.parametrize("replies", ["sse", "json"])
def test_our_client_of_a_server_on_the_official_sdk_does_the_same_again(
    front: AsyncFront, era: str, replies: str
) -> None:
    lines: list[bytes] = []

    async def scenario(front: AsyncFront) -> None:
        given = {**options(era), "recorder": Recorder(lines.append)}
        given["on_input"] = lambda needed: {
            key: {"action": "accept", "content": {"topic": "bees"}} for key in needed.requests
        }
        async with front.module.open_http_client(server.url, **given) as client:
            changes = client.changes()
            await client.list_prompts()
            await client.complete("prompt-002", "tone", "f")
            for name in ("prompt-003", "unknown", ASK):
                await failing(client, name)
            await client.get_prompt(CONTROL, {"op": "add", "name": "a-new-one"})
            await anext(changes)
            await client.list_prompts()

    async def failing(client: Any, name: str) -> None:
        with suppress(RequestFailed):
            await client.get_prompt(name)

    with served(sdk_server(http=True, prompts=25, page=10, json=replies == "json")) as server:
        front.run(scenario)
    trace = Trace.parse(lines)
    assert client_again(trace) is None
    assert [str(each) for each in verdicts(trace, PROPERTIES) if each.violation] == []
