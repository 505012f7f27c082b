"""Commands in general: a layer of somebody's own gets waiting, clocks and gates for its requests."""

from __future__ import annotations

from typing import Any

import attrs
from asking import Asking

from mcp_sansio import (
    Call,
    CallSucceeded,
    Client,
    Event,
    InvalidReply,
    NotSupported,
    Op,
    OpFailed,
    Outcome,
    PromptClient,
)
from mcp_sansio._commands import Command, Commands
from mcp_sansio._structure import structure


@attrs.frozen
class Pong:
    """A result."""

    value: int


@attrs.define(eq=False, kw_only=True)
class Ping(Command):
    """A command whose answer is a number; needs a capability besides prompts."""

    def gate(self, client: Client) -> NotSupported | None:
        return None if "pings" in client.capabilities else NotSupported("pings")

    def read(self, op: Op, raw: bytes) -> Event:
        pong: Pong = structure(Pong, raw)
        call = self.call
        assert call is not None
        return CallSucceeded(call, {"value": pong.value})


class Pinging(PromptClient):
    """Prompts, and pings."""

    def __init__(self) -> None:
        super().__init__()
        self.pings = Commands(self.listing, self)

    def bind(self, client: Client) -> None:
        super().bind(client)
        self.pings.bind(client)

    def opened(self, now: float) -> None:
        super().opened(now)
        self.pings.opened(now)

    def ping(self, now: float) -> Op:
        op = self.client.new_op("ping")
        self.pings.begin(op, Ping(method="x/ping", began=now), now)
        return op

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        if call.op is not None and self.pings.find(call.op) is not None:
            self.pings.settle(call.op, outcome, now)


DECLARED: dict[str, Any] = {"prompts": {}, "pings": {}}


def pinging(**options: Any) -> tuple[Asking, Pinging]:
    prompts = Pinging()
    return Asking(prompts=prompts, **options), prompts


def test_a_command_ends_by_the_event_that_its_result_means() -> None:
    asking, prompts = pinging(declared=DECLARED)
    prompts.ping(0.0)
    asking.result(asking.one("x/ping"), value=5)
    assert [event.result for event in asking.every(CallSucceeded)] == [{"value": 5}]
    assert [*prompts.pings] == []


def test_a_result_of_the_wrong_form_is_an_invalid_reply() -> None:
    asking, prompts = pinging(declared=DECLARED)
    op = prompts.ping(0.0)
    asking.result(asking.one("x/ping"), value="5")
    assert isinstance(asking.end(op).failure, InvalidReply)


def test_commands_that_wait_are_sent_in_their_order_when_the_era_is_known() -> None:
    asking, prompts = pinging(connect=False)
    ops = [prompts.ping(0.0) for _ in range(3)]
    assert [*prompts.pings] == ops
    asking.open(DECLARED)
    requests = asking.asked("x/ping")
    assert len(requests) == 3
    for number, request in enumerate(requests):
        asking.result(request, value=number)
    assert [event.result["value"] for event in asking.every(CallSucceeded)] == [0, 1, 2]


def test_each_command_has_a_gate_of_its_own() -> None:
    asking, prompts = pinging(connect=False)
    waiting = prompts.ping(0.0)
    asking.open({"prompts": {}})
    for op in (waiting, prompts.ping(0.0)):
        assert asking.end(op) == OpFailed(op, NotSupported("pings"))
    assert asking.asked("x/ping") == []
