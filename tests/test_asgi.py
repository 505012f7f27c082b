"""The ASGI application, message by message, on both loops."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest
from asgi_scene import GONE, Call, Scene, caller
from fronts import ASYNC_FRONTS, AsyncFront, front_name
from pair import prompt
from serving import ACKNOWLEDGED, LIST_CHANGED

from mcp_sansio import HttpServerConfig, LocalProtocolError, RequestHead, RequestReceived
from mcp_sansio_adapters import Unauthorized

ON_BOTH = pytest.mark.parametrize("front", ASYNC_FRONTS, ids=front_name)
PROGRESS = "notifications/progress"


# --- requests and responses ---


@ON_BOTH
def test_a_response_is_a_head_and_at_least_one_body(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front, options={"on_request": lambda asked: {"echo": asked.params["a"]}})
        async with scene.app.running():
            listed = await scene.ask("prompts/list").made(scene.app)
            assert (listed.status, listed.headers[b"content-type"]) == (200, b"application/json")
            assert listed.headers[b"content-length"] == b"%d" % len(listed.body)
            assert [each["name"] for each in listed.json["result"]["prompts"]] == ["hello", "wait"]
            echoed = await scene.ask("x/echo", {"a": 1}).made(scene.app)
            assert echoed.json["result"]["echo"] == 1
            session = await scene.session()
            pushed = await scene.call(session, b"", GONE, method="GET").made(scene.app)
            assert (pushed.status, pushed.headers[b"content-type"]) == (200, b"text/event-stream")
            assert pushed.sent[1:] == [{"type": "http.response.body", "body": b"", "more_body": True}]

    front.run(scenario)


@ON_BOTH
def test_a_body_comes_in_pieces_and_what_is_refused_is_not_waited_for(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        whole = scene.ask("prompts/list")
        for byte in (await whole.receive())["body"]:
            whole.put({"type": "http.request", "body": bytes([byte]), "more_body": True})
        whole.put({"type": "http.request"})
        assert (await whole.made(scene.app)).status == 200
        rest = {"type": "http.request", "body": b"{", "more_body": True}
        wrong = Call(front, {**whole.scope, "headers": [(b"host", b"evil.example")]}, rest)
        assert (await wrong.made(scene.app)).status == 403
        assert wrong.ended

    front.run(scenario)


@ON_BOTH
def test_output_waits_in_the_machine_until_the_host_has_taken_what_came_before(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        listening = scene.listen()

        async def host() -> None:
            await listening.says(ACKNOWLEDGED)
            listening.gate = front.event()
            scene.catalogue.add(prompt("first"))
            await listening.says(ACKNOWLEDGED, LIST_CHANGED)
            for number in range(10):
                scene.catalogue.add(prompt(f"more-{number}"))
                for _ in range(5):
                    await front.checkpoint()
            listening.gate.set()
            await listening.says(ACKNOWLEDGED, LIST_CHANGED, LIST_CHANGED)
            scene.app.close()

        await front.together(lambda: listening.made(scene.app), host)
        assert listening.events == [ACKNOWLEDGED, LIST_CHANGED, LIST_CHANGED, "answer"]
        assert listening.ended

    front.run(scenario)


# --- disconnection ---


@ON_BOTH
def test_who_goes_away_before_the_end_of_a_request_gets_nothing(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        part = {"type": "http.request", "body": b"{", "more_body": True}
        call = Call(front, scene.ask("prompts/list").scope, part, GONE)
        assert (await call.made(scene.app)).sent == []

    front.run(scenario)


@ON_BOTH
def test_who_goes_away_before_the_answer_cancels_a_modern_request(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        call = scene.ask("prompts/get", {"name": "wait"})

        async def host() -> None:
            await call.says(PROGRESS)
            call.put(GONE)

        await front.together(lambda: call.made(scene.app), host)
        await scene.until("waiting", "cancelled")
        assert call.events == [PROGRESS]
        assert not call.ended

    front.run(scenario)


@ON_BOTH
def test_who_goes_away_before_the_answer_does_not_cancel_a_legacy_request(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        named = await scene.session()
        message = {"id": 1, "method": "prompts/get", "params": {"name": "wait"}}
        call = scene.post(message, GONE, headers=named)
        assert (await call.made(scene.app)).sent == []
        await scene.until("waiting")
        scene.released.set()
        await scene.until("waiting", "waited")

    front.run(scenario)


@ON_BOTH
def test_a_send_that_is_under_way_is_left_to_the_host(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        call = scene.ask("prompts/get", {"name": "wait"})
        call.gate = front.event()

        async def host() -> None:
            while not call.sent:
                await front.checkpoint()
            call.put(GONE)
            await scene.until("waiting", "cancelled")
            call.gate.set()

        await front.together(lambda: call.made(scene.app), host)
        assert call.taken == len(call.sent) == 2

    front.run(scenario)


@ON_BOTH
def test_a_send_that_fails_says_that_nobody_is_there(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        call = scene.ask("prompts/get", {"name": "wait"})
        call.failure = BrokenPipeError()
        await call.made(scene.app)
        assert call.kinds == ["http.response.start"]
        await scene.until("waiting", "cancelled")

    front.run(scenario)


@ON_BOTH
def test_whatever_else_a_host_raises_is_raised_as_it_is(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        call = scene.ask("prompts/get", {"name": "wait"})
        call.failure = RuntimeError("sending")
        with pytest.raises(RuntimeError, match="sending"):
            await call.made(scene.app)
        await scene.until("waiting", "cancelled")
        call = scene.ask("prompts/get", {"name": "wait"}, RuntimeError("receiving"))
        with pytest.raises(RuntimeError, match="receiving"):
            await call.made(scene.app)
        assert call.sent == []

    front.run(scenario)


@ON_BOTH
def test_a_request_whose_task_is_cancelled_is_over(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        call = scene.ask("prompts/get", {"name": "wait"})
        await front.interrupt(lambda: call.made(scene.app), lambda: call.says(PROGRESS))
        await scene.until("waiting", "cancelled")
        assert (await scene.ask("prompts/list").made(scene.app)).status == 200

    front.run(scenario)


# --- where and who ---


@pytest.mark.parametrize(
    ("path", "root", "found"),
    [
        ("/mcp", "", True),
        ("/mcp/", "", True),
        ("/other", "", False),
        ("/deep/path/mcp", "/deep/path", True),
        ("/deep/path/mcp/", "/deep/path/", True),
        ("/deep/path", "/deep/path", False),
        ("/deep/pathmcp", "/deep/path", False),
        ("/mcp", "/deep/path", True),  # frameworks may have cut it off
        ("/mcp?", "", False),  # it was %3F, and a part of the path
    ],
)
def test_the_configured_path_is_below_the_mount(path: str, root: str, *, found: bool) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front, HttpServerConfig(path="/mcp"))
        call = scene.ask("prompts/list", path=path, root_path=root, raw_path=b"/whatever")
        assert (await call.made(scene.app)).status == (200 if found else 404)

    ASYNC_FRONTS[0].run(scenario)


def test_every_path_is_served_by_default() -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        assert (await scene.ask("prompts/list", path="/any/where").made(scene.app)).status == 200

    ASYNC_FRONTS[0].run(scenario)


def test_whoever_authenticates_sees_the_head_of_the_request() -> None:
    heads: list[RequestHead] = []

    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front, options={"authenticate": heads.append})
        told = {"raw_path": b"/m%63p", "query_string": b"a=%20", "client": ["127.0.0.1", 7000]}
        await scene.call([("X-Odd", "é")], b"", method="GET", **told).made(scene.app)
        await scene.call([], b"", path="/mcp/ü?:", client=None).made(scene.app)

    ASYNC_FRONTS[0].run(scenario)
    assert [(head.method, head.target) for head in heads] == [
        ("GET", "/m%63p?a=%20"),
        ("POST", "/mcp/%C3%BC%3F:"),
    ]
    assert heads[0].headers[-1] == ("x-odd", "é")
    assert [head.peer for head in heads] == [("127.0.0.1", 7000), None]


@ON_BOTH
def test_a_verdict_decides_who_asks(front: AsyncFront) -> None:
    verdicts: list[Any] = ["Ada", None, Unauthorized("Basic", 403, "not you"), RuntimeError("a secret")]

    def authenticate(_: RequestHead) -> Any:
        verdict = verdicts.pop(0)
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    async def scenario(front: AsyncFront) -> None:
        seen: list[str | None] = []

        def on_request(asked: RequestReceived) -> Mapping[str, Any]:
            seen.append(asked.request.principal)
            return {}

        scene = Scene(front, options={"authenticate": authenticate, "on_request": on_request})
        for _ in range(2):
            assert (await scene.ask("x/echo").made(scene.app)).status == 200
        assert seen == ["Ada", None]
        refused = await scene.ask("x/echo").made(scene.app)
        assert (refused.status, refused.headers[b"www-authenticate"]) == (403, b"Basic")
        assert refused.json["error"]["message"] == "not you"
        failed = await scene.ask("x/echo").made(scene.app)
        assert (failed.status, failed.ended, b"secret" in failed.body) == (500, True, False)
        assert seen == ["Ada", None]

    front.run(scenario)


@pytest.mark.parametrize(
    "wrong", [("",), ("two\r\nlines",), ("é",), ("Bearer ",), ("Bearer", 200), ("Bearer", 500)]
)
def test_a_refusal_must_be_one(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(LocalProtocolError):
        Unauthorized(*wrong)


# --- other scopes ---


@ON_BOTH
def test_web_sockets_are_refused_and_unknown_scopes_raise(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        app = Scene(front).app
        socket = await Call(front, {"type": "websocket"}, {"type": "websocket.connect"}).made(app)
        assert socket.kinds == ["websocket.close"]
        with pytest.raises(LocalProtocolError, match="'mqtt'"):
            await Call(front, {"type": "mqtt"}).made(app)

    front.run(scenario)


# --- life ---


def lifespan(front: AsyncFront, *incoming: Any) -> Call:
    return Call(front, {"type": "lifespan"}, {"type": "lifespan.startup"}, *incoming)


@ON_BOTH
def test_it_lives_from_startup_to_shutdown(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        life, listening = lifespan(front), scene.listen()

        async def host() -> None:
            while not life.sent:
                await front.checkpoint()
            assert life.kinds == ["lifespan.startup.complete"]
            second = await lifespan(front).made(scene.app)
            assert second.kinds == ["lifespan.startup.failed"]
            assert "runs once" in second.sent[0]["message"]
            await front.together(lambda: listening.made(scene.app), shut_down)

        async def shut_down() -> None:
            await listening.says(ACKNOWLEDGED)
            life.put({"type": "lifespan.shutdown"})

        await front.together(lambda: life.made(scene.app), host)
        assert life.kinds == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        assert listening.events == [ACKNOWLEDGED, "answer"]
        assert listening.ended
        assert (await scene.ask("prompts/list").made(scene.app)).status == 503
        with pytest.raises(LocalProtocolError):
            await scene.app.running().__aenter__()

    front.run(scenario)


@ON_BOTH
def test_the_first_requests_start_it_for_as_long_as_the_loop_lives(front: AsyncFront) -> None:
    scenes: list[Scene] = []

    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        scenes.append(scene)
        calls = [scene.ask("prompts/get", {"name": "hello"}) for _ in range(3)]

        async def first() -> None:
            caller.set("the first caller")
            await calls[0].made(scene.app)

        await front.together(first, *(lambda call=call: call.made(scene.app) for call in calls[1:]))
        texts = [call.json["result"]["messages"][0]["content"]["text"] for call in calls]
        assert texts == ["hello the first caller", "hello nobody", "hello nobody"]
        assert not scene.server.closed

    front.run(scenario)
    assert scenes[0].server.closed


@ON_BOTH
def test_what_is_started_by_a_request_does_not_live_in_its_context(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        callers: list[str] = []

        async def background() -> None:
            callers.append(caller.get())

        caller.set("the first caller")
        front.module.LOOP.detach(background)
        while not callers:
            await front.checkpoint()
        assert callers == ["nobody"]

    front.run(scenario)


@ON_BOTH
def test_a_start_that_is_cancelled_is_none(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        life = lifespan(front)
        await front.interrupt(lambda: life.made(scene.app), front.checkpoint)
        assert life.sent == []
        with pytest.raises(LocalProtocolError, match="stopped before"):
            await scene.ask("prompts/list").made(scene.app)

    front.run(scenario)


@ON_BOTH
def test_it_may_be_closed_before_it_runs(front: AsyncFront) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        scene.app.close()
        assert (await scene.ask("prompts/list").made(scene.app)).status == 503

    front.run(scenario)


def test_trio_need_not_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(front: AsyncFront) -> None:
        scene = Scene(front)
        assert (await scene.ask("prompts/list").made(scene.app)).status == 200

    monkeypatch.delitem(sys.modules, "trio")
    ASYNC_FRONTS[0].run(scenario)
