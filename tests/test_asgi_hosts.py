"""The ASGI application under real hosts, uvicorn on asyncio and hypercorn on trio, over real sockets."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import Any

import attrs
import pytest
from asgi_hosts import HOSTS, PATIENCE, Events, Host, hosted, in_bytes, result_of, text_of
from pair import KEYS, SERVER, prompt
from serving import LIST_CHANGED
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from mcp_sansio import (
    Catalogue,
    HttpServerConfig,
    Prompt,
    PromptServer,
    PromptServerConfig,
    RequestHead,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import Unauthorized
from mcp_sansio_adapters.asgi import AsgiApp, asgi_app

pytestmark = [pytest.mark.live, pytest.mark.parametrize("host", HOSTS)]

LOOPS = {"uvicorn": "asyncio", "hypercorn": "trio"}
BIG = 4_000_000


def allowed(who: str | None, listed: Prompt) -> bool:
    """One prompt is hidden from one principal."""
    return (who, listed.name) != ("Eve", "big")


@attrs.define
class Scene:
    """A server with prompts, and what its tests look at."""

    loop: str
    catalogue: Catalogue = attrs.field(factory=lambda: Catalogue(visible=allowed))
    waiting: threading.Event = attrs.field(factory=threading.Event)
    cancelled: threading.Event = attrs.field(factory=threading.Event)

    def __attrs_post_init__(self) -> None:
        with self.catalogue.batch():
            self.catalogue.add(prompt("hello", "who"), lambda who: f"hello {who}")
            self.catalogue.add(prompt("wait"), self._wait)
            self.catalogue.add(prompt("big"), lambda: "x" * BIG)

    def app(self, config: HttpServerConfig | None = None, **options: Any) -> AsgiApp:
        """The application."""
        layer = PromptServer(self.catalogue, PromptServerConfig(keys=KEYS))
        server = Server(ServerConfig(info=SERVER), layer)
        return asgi_app(server, config, **options)

    async def _wait(self) -> str:
        self.waiting.set()
        try:
            await import_module(self.loop).sleep(PATIENCE)
        finally:
            self.cancelled.set()
        return "slept"


@contextmanager
def served(host: str, **options: Any) -> Generator[tuple[Host, Scene]]:
    """The application as the outermost one."""
    scene = Scene(LOOPS[host])
    app = scene.app(**options)
    with hosted(host, app, app.close) as running:
        yield running, scene


def names(result: Any) -> list[str]:
    return [each["name"] for each in result["prompts"]]


# --- the two eras ---


def test_modern_requests_are_answered(host: str) -> None:
    with served(host) as (web, _):
        assert names(web.result("prompts/list")) == ["big", "hello", "wait"]
        got = web.result("prompts/get", {"name": "hello", "arguments": {"who": "Ada"}})
        assert text_of(got) == "hello Ada"
        assert names(web.result("prompts/list", path="/mcp/?query=x")) == ["big", "hello", "wait"]
        unknown = web.call("no/such")
        assert (unknown.status, json.loads(unknown.read())["error"]["code"]) == (404, -32601)
        assert web.ask("PUT").status == 405


def test_legacy_sessions_are_kept_from_one_request_to_the_next(host: str) -> None:
    with served(host) as (web, scene):
        session = web.initialize()
        listed = result_of(web.post({"id": 1, "method": "prompts/list"}, Mcp_Session_Id=session))
        assert names(listed) == ["big", "hello", "wait"]
        pushed = Events(web.ask("GET", headers={"Mcp-Session-Id": session}))
        scene.catalogue.remove("big")
        assert pushed.next() == {"jsonrpc": "2.0", "method": LIST_CHANGED}
        assert web.ask("DELETE", headers={"Mcp-Session-Id": session}).status == 204
        assert pushed.next() is None
        assert web.post({"id": 2, "method": "prompts/list"}, Mcp_Session_Id=session).status == 404


def test_changes_made_on_any_thread_are_pushed(host: str) -> None:
    with served(host) as (web, scene):
        streams = [web.listen() for _ in range(3)]
        for number in range(3):
            scene.catalogue.add(prompt(f"new-{number}"), lambda: "new")
            assert [stream.next()["method"] for stream in streams] == [LIST_CHANGED] * 3


# --- bodies ---


def test_web_sockets_are_refused(host: str) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    with served(host) as (web, _):
        assert web.ask("GET", headers=upgrade).status == 403


def test_one_connection_carries_many_requests(host: str) -> None:
    with served(host) as (web, _):
        head, body = in_bytes("prompts/list")
        with web.raw(head + body) as sock:
            for _ in range(3):
                response = http.client.HTTPResponse(sock)
                response.begin()
                assert names(result_of(response)) == ["big", "hello", "wait"]
                sock.sendall(head + body)


def test_a_body_may_come_in_any_pieces(host: str) -> None:
    head, body = in_bytes("prompts/list", chunked=True)
    with served(host) as (web, _), web.raw(head) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in body:
            sock.sendall(b"1\r\n%c\r\n" % byte)
        sock.sendall(b"0\r\n\r\n")
        assert sock.recv(12) == b"HTTP/1.1 200"


def test_a_body_that_is_too_long_is_refused_before_it_has_come(host: str) -> None:
    head, _ = in_bytes("prompts/list", chunked=True)
    with (
        served(host, config=HttpServerConfig(max_body=1000)) as (web, _),
        web.raw(head + b"3e9\r\n" + b"x" * 1001) as sock,
    ):
        assert sock.recv(12) == b"HTTP/1.1 413"


def test_a_reader_may_be_slow(host: str) -> None:
    head, body = in_bytes("prompts/get", {"name": "big"}, Connection="close")
    with served(host) as (web, _), web.raw(head + body, buffer=4096) as sock:
        assert sock.recv(12) == b"HTTP/1.1 200"
        assert (
            text_of(web.result("prompts/get", {"name": "hello", "arguments": {"who": "all"}})) == "hello all"
        )
        size = 0
        while data := sock.recv(65536):
            size += len(data)
        assert size > BIG


# --- the end ---


def test_a_client_that_goes_away_cancels_what_it_asked_for(host: str) -> None:
    head, body = in_bytes("prompts/get", {"name": "wait"})
    with served(host) as (web, scene):
        with web.raw(head + body):
            assert scene.waiting.wait(PATIENCE)
            assert not scene.cancelled.is_set()
        assert scene.cancelled.wait(PATIENCE)
        assert names(web.result("prompts/list")) == ["big", "hello", "wait"]


def test_shutting_down_ends_streams_in_good_order(host: str) -> None:
    with served(host) as (web, scene):
        stream = web.listen()
        pushed = Events(web.ask("GET", headers={"Mcp-Session-Id": web.initialize()}))
        answers: list[int] = []
        caller = threading.Thread(
            target=lambda: answers.append(web.call("prompts/get", {"name": "wait"}).status)
        )
        caller.start()
        assert scene.waiting.wait(PATIENCE)
        stopper = threading.Thread(target=web.stop)
        stopper.start()
        assert stream.next()["result"]["resultType"] == "complete"
        assert stream.next() is None
        assert pushed.next() is None
        caller.join()
        assert answers == [503]
        assert scene.cancelled.wait(PATIENCE)
        stopper.join()


# --- where the application is ---


def without_lifespan(app: AsgiApp) -> Callable[..., Any]:
    async def outer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            raise NotImplementedError
        await app(scope, receive, send)

    return outer


def test_without_lifespan_the_first_request_starts_it(host: str) -> None:
    scene = Scene(LOOPS[host])
    app = scene.app()
    with hosted(host, without_lifespan(app), app.close) as web:
        assert names(web.result("prompts/list")) == ["big", "hello", "wait"]
        stream = web.listen()
        scene.catalogue.remove("big")
        assert stream.next()["method"] == LIST_CHANGED
        assert names(web.result("prompts/list")) == ["hello", "wait"]


@pytest.mark.parametrize("lifespan", [True, False])
def test_it_can_be_mounted_in_starlette(host: str, *, lifespan: bool) -> None:
    scene = Scene(LOOPS[host])
    app = scene.app()
    beneath = Scene(LOOPS[host]).app(HttpServerConfig(path="/mcp"))

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncGenerator[None]:
        async with app.running(), beneath.running():
            yield

    routes = [Mount("/deep/path", beneath), Route("/mcp", app), Route("/mcp/", app)]
    outer = Starlette(routes=routes, lifespan=running if lifespan else None)
    with hosted(host, outer, app.close) as web:
        for path in ("/mcp", "/mcp/", "/deep/path/mcp", "/deep/path/mcp/"):
            assert names(web.result("prompts/list", path=path)) == ["big", "hello", "wait"]
        assert web.call("prompts/list", path="/deep/path/other").status == 404
        session = web.initialize()
        pushed = Events(web.ask("GET", headers={"Mcp-Session-Id": session}, path="/mcp/"))
        scene.catalogue.remove("big")
        assert pushed.next()["method"] == LIST_CHANGED


# --- who is asking ---


def verdict(head: RequestHead) -> str | Unauthorized | None:
    match dict(head.headers).get("authorization", "").removeprefix("Bearer "):
        case "":
            return None
        case "boom":
            raise RuntimeError("a secret")
        case "old":
            return Unauthorized("Bearer")
        case "narrow":
            return Unauthorized('Bearer error="insufficient_scope"', 403, "more is needed")
        case name:
            return name


async def later(head: RequestHead) -> str | Unauthorized | None:
    return verdict(head)


@pytest.mark.parametrize("authenticate", [verdict, later])
def test_requests_are_authenticated(host: str, authenticate: Any, caplog: pytest.LogCaptureFixture) -> None:
    with served(host, authenticate=authenticate) as (web, _):
        assert names(web.result("prompts/list")) == ["big", "hello", "wait"]
        assert names(web.result("prompts/list", Authorization="Bearer Eve")) == ["hello", "wait"]
        refused = web.call("prompts/list", Authorization="Bearer old")
        assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert json.loads(refused.read())["error"]["message"] == "unauthorized"
        refused = web.call("prompts/list", Authorization="Bearer narrow")
        challenge = 'Bearer error="insufficient_scope"'
        assert (refused.status, refused.headers["WWW-Authenticate"]) == (403, challenge)
        assert json.loads(refused.read())["error"]["message"] == "more is needed"
        failed = web.call("prompts/list", Authorization="Bearer boom")
        assert failed.status == 500
        assert b"secret" not in failed.read()
        assert "a secret" in caplog.text


def test_a_session_belongs_to_whoever_opened_it(host: str) -> None:
    with served(host, authenticate=verdict) as (web, _):
        session = web.initialize(Authorization="Bearer Eve")
        ask = {"id": 1, "method": "prompts/list"}
        mine = web.post(ask, Mcp_Session_Id=session, Authorization="Bearer Eve")
        assert names(result_of(mine)) == ["hello", "wait"]
        for other in ({}, {"Authorization": "Bearer Ada"}):
            assert web.post(ask, Mcp_Session_Id=session, **other).status == 404
