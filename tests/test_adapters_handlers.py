"""How a server's events become jobs, and what the jobs come to, without a loop."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from fronts import text

from mcp_sansio import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Catalogue,
    Client,
    ClientConfig,
    Event,
    HandlerFailed,
    Implementation,
    LineWire,
    LocalProtocolError,
    Prompt,
    PromptArgument,
    PromptClient,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    RpcError,
    Server,
    ServerConfig,
)
from mcp_sansio_adapters import new_keys
from mcp_sansio_adapters._handlers import Handlers, Job, prompts_of
from mcp_sansio_adapters._hooks import value_of

INFO = Implementation("test", "1")


class Desk:
    """A server whose jobs are run at once, and a client that asks it."""

    def __init__(self, *entries: tuple[Prompt, Callable[..., Any] | None], **hooks: Any) -> None:
        catalogue = Catalogue()
        for prompt, render in entries:
            catalogue.add(prompt, render, {each.name: complete for each in prompt.arguments})
        self.layer = PromptServer(catalogue, PromptServerConfig(keys=new_keys()))
        self.server = Server(ServerConfig(info=INFO, methods=("x/y",)), self.layer)
        self.prompts = PromptClient()
        self.client = Client(ClientConfig(info=INFO), self.prompts)
        self.answers: list[Event] = []
        self.failures: list[HandlerFailed] = []
        self.handlers = Handlers(self.server, self.run, lambda _: None, on_event=self.hear, **hooks)
        self.wires = LineWire(self.server.open(), 0.0), LineWire(self.client, 0.0)

    def hear(self, event: Event) -> None:
        if isinstance(event, HandlerFailed):
            self.failures.append(event)

    def run(self, job: Job) -> None:
        try:
            value = job.work()
        except ValueError as error:
            self.handlers.fail(job, error)
        else:
            self.handlers.settle(job, value)

    def pump(self) -> Event:
        busy = True
        while busy:
            moved = [wire.data_to_send() for wire in self.wires]
            for wire, chunks in zip(reversed(self.wires), moved, strict=True):
                wire.receive_data(b"".join(chunks), 0.0)
            events = [machine.next_event() for machine in (self.server, self.client)]
            if events[0] is not None:
                self.handlers.handle(events[0])
            if events[1] is not None:
                self.answers.append(events[1])
            busy = any(moved) or events != [None, None]
        return self.answers[-1]

    def get(self, name: str, **arguments: str) -> Any:
        self.prompts.get(name, arguments, 0.0)
        answer: Any = self.pump()
        return answer


def complete(value: str, context: Mapping[str, str]) -> list[str]:
    return [value + "!", *context.values()]


def prompt(name: str, *arguments: str) -> Prompt:
    return Prompt(name, arguments=tuple(PromptArgument(each) for each in arguments))


def test_a_prompt_gets_as_many_arguments_as_it_takes() -> None:
    def few(topic: str) -> str:
        return topic

    def all_of_them(**arguments: str) -> str:
        return repr(arguments)

    def asks(topic: str, asked: PromptRequested) -> str:
        return f"{topic} {asked.prompt.name}"

    def asks_for_all(asked: PromptRequested, **arguments: str) -> str:
        return f"{arguments} {asked.prompt.name}"

    desk = Desk(
        (prompt("few", "topic"), few),
        (prompt("all", "topic"), all_of_them),
        (prompt("asks", "topic"), asks),
        (prompt("own", "asked"), lambda asked: asked),
        (prompt("asks all", "topic"), asks_for_all),
    )
    assert text(desk.get("few", topic="rain", tone="calm").result) == "rain"
    assert text(desk.get("all", topic="rain", tone="calm").result) == "{'topic': 'rain', 'tone': 'calm'}"
    assert text(desk.get("asks", topic="rain").result) == "rain asks"
    assert text(desk.get("own", asked="argument").result) == "argument"
    assert text(desk.get("asks all", topic="rain").result) == "{'topic': 'rain'} asks all"


def test_what_goes_wrong_in_a_prompt_is_ours_to_know(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> str:
        raise ValueError("a secret")

    desk = Desk(
        (prompt("fails"), fail),
        (prompt("empty"), None),
        (prompt("wrong"), lambda: 5),
        (prompt("refuses"), lambda: RpcError(-32602, "not on Sundays")),
        (prompt("reserved"), lambda: RpcError(-32042, "never")),
    )
    for name in ("fails", "wrong", "reserved"):
        assert desk.get(name).failure == RpcError(INTERNAL_ERROR, "Internal error")
    assert "a secret" in desk.failures[0].reason
    assert "a secret" in caplog.text
    assert desk.get("refuses").failure == RpcError(-32602, "not on Sundays")
    with pytest.raises(LocalProtocolError, match="no function"):
        desk.get("empty")


def test_arguments_are_completed_and_other_requests_answered() -> None:
    desk = Desk((prompt("some", "topic"), None), on_request=lambda asked: {"method": asked.request.method})
    desk.prompts.complete("some", "topic", "ra", 0.0, {"tone": "calm"})
    answer: Any = desk.pump()
    assert answer.completion.values == ("ra!", "calm")
    desk.client.request("x/y", None, 0.0)
    answer = desk.pump()
    assert answer.result["method"] == "x/y"
    silent = Desk()
    silent.client.request("x/y", None, 0.0)
    answer = silent.pump()
    assert answer.failure.code == METHOD_NOT_FOUND


def test_a_hook_that_raises_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk((prompt("some"), lambda: "hello"))
    desk.hear = lambda _: 1 / 0  # type: ignore[method-assign, assignment]  # a bug of the application's
    desk.handlers = Handlers(desk.server, desk.run, lambda _: None, on_event=desk.hear)
    assert text(desk.get("some").result) == "hello"
    assert "ZeroDivisionError" in caplog.text


def test_without_a_loop_an_asynchronous_function_is_a_mistake() -> None:
    async def later() -> int:
        return 5

    assert value_of(lambda number: number + 1, 5) == 6
    assert value_of(None) is None
    with pytest.raises(LocalProtocolError, match="event loop"):
        value_of(later)


def test_an_answer_that_comes_too_late_is_dropped() -> None:
    jobs: list[Job] = []
    desk = Desk((prompt("some"), lambda: "hello"))
    desk.handlers = Handlers(desk.server, jobs.append, lambda _: None)
    op = desk.prompts.get("some", None, 0.0)
    desk.pump()
    desk.prompts.cancel(op, 0.0)
    desk.pump()
    desk.handlers.settle(jobs[0], "hello")
    desk.handlers.fail(jobs[0], ValueError())
    assert desk.server.next_event() is None


def test_the_layer_that_serves_prompts_is_found() -> None:
    desk = Desk()
    assert prompts_of(desk.server) is desk.layer
    assert prompts_of(Server(ServerConfig(info=INFO))) is None
