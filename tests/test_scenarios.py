"""What a client and a server of ours live through, the same over stdio and HTTP, on both loops, in both eras.

Every scenario is one coroutine, and knows neither the transport nor the loop. The server is a real process,
and does what its prompts are asked for (`adapter_server.py`).
"""

import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest
from fronts import ASYNC_FRONTS, text
from stage import TRANSPORTS, VERSIONS, Stage

from mcp_sansio import (
    InputNeeded,
    Limits,
    ListingConfig,
    NotSupported,
    ProgressReported,
    RpcError,
    TimedOut,
    WalkFailed,
)
from mcp_sansio_adapters import ConnectionFailed, PromptGoneError, RequestFailed

pytestmark = [pytest.mark.live, pytest.mark.slow]

Scenario: TypeAlias = Callable[[Stage], Coroutine[Any, Any, None]]
SCENARIOS: list[tuple[Scenario, tuple[str, ...]]] = []
LAZY = ListingConfig(eager=False)


def scenario(*options: str) -> Callable[[Scenario], Scenario]:
    """A scenario, with the options of the server that it needs."""

    def register(function: Scenario) -> Scenario:
        SCENARIOS.append((function, options))
        return function

    return register


@pytest.mark.parametrize(("play", "options"), SCENARIOS, ids=[each.__name__ for each, _ in SCENARIOS])
@pytest.mark.parametrize("era", VERSIONS)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("front", ASYNC_FRONTS, ids=lambda front: front.name)
def test_scenario(front: Any, transport: str, era: str, play: Scenario, options: tuple[str, ...]) -> None:
    stage = Stage(front, transport, era)

    async def bounded(_front: Any) -> None:
        await play(stage)

    with stage.serving(*options):
        front.run(bounded)


async def code_of(asked: Any) -> int:
    """The code of the error with which a request is refused."""
    with pytest.raises(RequestFailed) as caught:
        await asked
    failure = caught.value.failure
    assert isinstance(failure, RpcError), failure
    return failure.code


# --- lists ---


@scenario()
async def a_list_comes_in_pages_and_whole(stage: Stage) -> None:
    async with stage.client(listing=LAZY) as client:
        snapshot = await client.list_prompts()
        names = [prompt.name for prompt in snapshot]
        assert names == sorted(names)
        assert {"hello", "more-0000", "more-0024"} < set(names)
        assert len(names) > 30  # pages of ten
        assert snapshot.verified
        assert client.negotiated.version == VERSIONS[stage.era]


@scenario("--prompts", "300")
async def a_long_list_is_as_whole_as_a_short_one(stage: Stage) -> None:
    async with stage.client(listing=LAZY) as client:
        snapshot = await client.list_prompts()
        assert sum(prompt.name.startswith("more-") for prompt in snapshot) == 300


@scenario()
async def a_fresh_list_costs_nothing(stage: Stage) -> None:
    async with stage.client() as client:
        first = await client.list_prompts()
        before = client.traffic.messages_sent
        if stage.era == "legacy":  # a modern list says for how long it is fresh
            assert await client.list_prompts() is first
            assert client.traffic.messages_sent == before
        assert await client.list_prompts(stale_ok=True) is first
        await client.refresh_prompts()
        assert client.traffic.messages_sent > before


@scenario()
async def a_page_can_be_asked_for_by_hand(stage: Stage) -> None:
    async with stage.client() as client:
        first = await client.request("prompts/list")
        second = await client.list_page(first["nextCursor"])
        assert len(first["prompts"]) == len(second.items) == 10
        assert first["prompts"][-1]["name"] < second.items[0].name


@scenario()
async def a_cursor_that_nobody_issued_is_refused(stage: Stage) -> None:
    async with stage.client() as client:
        for cursor in ("", "nonsense"):
            assert await code_of(client.list_page(cursor)) == -32602


@scenario()
async def a_cursor_of_the_server_that_was_before_is_refused_and_the_list_comes_whole(stage: Stage) -> None:
    async with stage.client() as client:
        page = await client.request("prompts/list")
        await restarted(stage, client)
        assert await code_of(client.list_page(page["nextCursor"])) == -32602
        assert len(await client.refresh_prompts()) > 30


@scenario("--bare")
async def a_server_without_prompts_is_not_asked_for_any(stage: Stage) -> None:
    async with stage.client() as client:
        before = client.traffic.messages_sent
        with pytest.raises(RequestFailed) as caught:
            await client.list_prompts()
        assert isinstance(caught.value.failure, NotSupported | WalkFailed)
        assert client.traffic.messages_sent - before <= 1  # stale discovery may be asked for again


# --- changes ---


@scenario()
async def a_change_is_announced(stage: Stage) -> None:
    async with stage.client() as client:
        await client.list_prompts()
        changes = client.changes()
        await client.get_prompt("add", {"name": "new"})
        assert (await anext(changes)).added == ("new",)
        await client.get_prompt("remove", {"name": "new"})
        assert (await anext(changes)).removed == ("new",)


@scenario()
async def a_burst_of_edits_costs_few_walks_and_the_last_one_counts(stage: Stage) -> None:
    async with stage.client() as client:
        await client.list_prompts()
        changes = client.changes()
        before = client.traffic.messages_sent
        await client.get_prompt("burst-of", {"edits": "200"})
        while (burst := client.snapshot.by_name.get("burst")) is None or burst.description != "edit 199":
            await anext(changes)
        assert client.traffic.messages_sent - before < 60  # a walk is five requests


@scenario()
async def an_edit_that_no_list_shows_is_announced_to_nobody(stage: Stage) -> None:
    async with stage.client() as client:
        await client.list_prompts()
        changes = client.changes()
        await client.get_prompt("rewrite", {"name": "more-0003"})
        await client.get_prompt("add", {"name": "other"})
        change = await anext(changes)
        assert (change.added, change.changed) == (("other",), ())
        assert "✓" in text(await client.get_prompt("more-0003"))


# --- names ---


@scenario()
async def a_name_that_is_gone_is_told_with_the_list_that_lacks_it(stage: Stage) -> None:
    async with stage.client(listing=LAZY) as client:
        assert "more-0001" in (await client.list_prompts()).by_name
        await client.get_prompt("remove", {"name": "more-0001"})
        with pytest.raises(PromptGoneError) as caught:
            await client.get_prompt("more-0001")
        assert "more-0001" not in caught.value.snapshot.by_name
        assert "more-0002" in caught.value.snapshot.by_name


@scenario()
async def a_name_that_the_client_has_not_seen_yet_is_no_problem(stage: Stage) -> None:
    async with stage.client(listing=LAZY) as client:
        await client.list_prompts()
        await client.get_prompt("add", {"name": "unseen"})
        assert text(await client.get_prompt("unseen")).isdecimal()


@scenario()
async def a_missing_argument_is_told_apart_from_an_unknown_name(stage: Stage) -> None:
    async with stage.client() as client:
        with pytest.raises(RequestFailed, match="topic") as caught:
            await client.get_prompt("hello")
        assert not isinstance(caught.value, PromptGoneError)
        with pytest.raises(PromptGoneError):
            await client.get_prompt("no-such-prompt")


# --- gets ---


@scenario()
async def any_text_passes_and_nothing_is_not_the_same_as_missing(stage: Stage) -> None:
    async with stage.client() as client:
        for topic in ("", " ", "ü\u2028\n\r\n\0 ✓ 🎈", '"quoted\\"'):
            assert text(await client.get_prompt("hello", {"topic": topic})) == f"{topic}, calm"


@scenario()
async def large_requests_and_large_replies_pass(stage: Stage) -> None:
    async with stage.client() as client:
        topic = "x" * 1_500_000
        assert text(await client.get_prompt("hello", {"topic": topic})) == f"{topic}, calm"
        assert len(text(await client.get_prompt("big", {"size": "2000000"})).encode()) == 2_000_000


@scenario()
async def a_failing_handler_tells_nothing_and_the_connection_lives(stage: Stage) -> None:
    async with stage.client() as client:
        with pytest.raises(RequestFailed) as caught:
            await client.get_prompt("boom")
        assert isinstance(caught.value.failure, RpcError)
        assert caught.value.failure.code == -32603
        assert "secret" not in str(caught.value)
        await client.get_prompt("pid")


@scenario()
async def a_slow_handler_delays_nobody(stage: Stage) -> None:
    async with stage.client() as client:
        order: list[str] = []

        async def slow() -> None:
            assert text(await client.get_prompt("wait")) == "waited"
            order.append("slow")

        async def quick() -> None:
            for _ in range(20):
                await client.get_prompt("hello", {"topic": "x"})
            order.append("quick")
            await client.get_prompt("release")

        await stage.front.together(slow, quick)
        assert order == ["quick", "slow"]


@scenario()
async def fifty_gets_at_once_each_get_their_own_answer(stage: Stage) -> None:
    async with stage.client() as client:
        answers: dict[int, str] = {}

        def asking(number: int) -> Callable[[], Coroutine[Any, Any, None]]:
            async def ask() -> None:
                answers[number] = text(await client.get_prompt("hello", {"topic": str(number)}))

            return ask

        await stage.front.together(*map(asking, range(50)))
        assert answers == {number: f"{number}, calm" for number in range(50)}


@scenario()
async def a_get_that_is_given_up_is_cancelled_at_the_server(stage: Stage) -> None:
    async with stage.client() as client:
        await stage.front.interrupt(lambda: client.get_prompt("wait"), lambda: counted(client, "waiting"))
        await counted(client, "cancelled")


@scenario()
async def a_get_that_takes_too_long_ends_and_the_connection_lives(stage: Stage) -> None:
    async with stage.client() as client:
        with pytest.raises(RequestFailed) as caught:
            await client.get_prompt("wait", limits=Limits(total=0.2))
        assert isinstance(caught.value.failure, TimedOut)
        await counted(client, "cancelled")


@scenario()
async def progress_is_heard(stage: Stage) -> None:
    async with stage.client() as client:
        heard: list[ProgressReported] = []
        await client.get_prompt("progress", on_progress=heard.append)
        assert [(each.progress, each.total) for each in heard] == [(1, 2), (2, 2)]


@scenario()
async def a_server_may_ask_before_it_answers_where_the_revision_has_that(stage: Stage) -> None:
    def fill_in(needed: InputNeeded) -> dict[str, Any]:
        return {key: {"action": "accept", "content": {"topic": "tea"}} for key in needed.requests}

    async with stage.client(on_input=fill_in) as client:
        if stage.era == "modern":
            assert text(await client.get_prompt("ask")) == "tea after 2 rounds"
        else:
            assert await code_of(client.get_prompt("ask")) == -32603


# --- the rest of the protocol ---


@scenario()
async def arguments_are_completed(stage: Stage) -> None:
    async with stage.client() as client:
        assert (await client.complete("hello", "tone", "ch")).values == ("cheerful",)
        known = {"topic": "chilly"}
        assert (await client.complete("hello", "tone", "ch", known)).values == ("cheerful", "chilly")


@scenario()
async def any_other_method_passes(stage: Stage) -> None:
    async with stage.client() as client:
        await client.notify("notifications/test/hello", {"a": 1})
        answer = await client.request("test/echo", {"deep": [{"ü": None}]})
        assert answer["echo"]["deep"] == [{"ü": None}]
        assert await code_of(client.request("test/unknown")) == -32601


# --- endings ---


@scenario()
async def a_server_that_dies_is_found_again_with_what_changed_meanwhile(stage: Stage) -> None:
    async with stage.client() as client:
        await client.list_prompts()
        changes = client.changes()
        await client.get_prompt("add", {"name": "gone-with-the-process"})
        assert "gone-with-the-process" in (await anext(changes)).added
        await restarted(stage, client)
        while "gone-with-the-process" in client.snapshot.by_name:
            await anext(changes)
        await client.get_prompt("add", {"name": "after"})
        while "after" not in client.snapshot.by_name:
            await anext(changes)


@scenario()
async def a_server_that_is_told_to_end_is_found_again(stage: Stage) -> None:
    async with stage.client() as client:
        await client.list_prompts()
        await restarted(stage, client, signal.SIGTERM)
        assert len(await client.refresh_prompts()) > 30


@scenario()
async def a_client_may_leave_while_it_is_owed_an_answer(stage: Stage) -> None:
    connected, ended = stage.front.event(), stage.front.event()
    clients: list[Any] = []

    async def own() -> None:
        async with stage.client() as client:
            clients.append(client)
            connected.set()
            await counted(client, "waiting")

    async def wait() -> None:
        await connected.wait()
        with pytest.raises(ConnectionFailed):
            await clients[0].get_prompt("wait")
        ended.set()

    await stage.front.together(own, wait)
    assert ended.is_set()


async def counted(client: Any, what: str) -> None:
    """Return when the server has counted one of these."""
    while text(await client.get_prompt(what)) != "1":
        pass


async def restarted(stage: Stage, client: Any, how: signal.Signals = signal.SIGKILL) -> None:
    """Return when another server answers."""
    before = text(await client.get_prompt("pid"))
    stage.restart(how, int(before))
    while True:
        try:
            if text(await client.get_prompt("pid")) != before:
                return
        except (RequestFailed, ConnectionFailed):
            pass  # the old one is gone, and the new one not yet there
        await stage.front.checkpoint()
