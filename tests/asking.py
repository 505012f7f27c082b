"""A client of prompts whose server is written by the test, message by message.

`Asking` goes through the handshake of a revision and then answers only what it is told to answer. It knows
which requests are in flight, so that a test answers "the list request" and fails where there is none, or
more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from pair import CLIENT
from script import Script

from mcp_sansio import (
    ArgumentCompleted,
    Client,
    ClientConfig,
    Event,
    InputNeeded,
    Listed,
    ListingConfig,
    Op,
    OpFailed,
    PageListed,
    PromptClient,
    PromptGone,
    PromptRendered,
    RpcError,
    Snapshot,
)

E = TypeVar("E")

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
CHANGED = "notifications/prompts/list_changed"
TAG = "io.modelcontextprotocol/subscriptionId"
DIGEST = "mcp-sansio/snapshot"
LAZY = ListingConfig(eager=False)
GET, COMPLETE = "prompts/get", "completion/complete"
UNKNOWN = RpcError(-32602, "no")
both_eras = pytest.mark.parametrize("version", [MODERN, LEGACY])
ENDS = (Listed, PageListed, PromptRendered, PromptGone, ArgumentCompleted, OpFailed)
DECLARED: dict[str, Any] = {"prompts": {"listChanged": True}, "completions": {}}
SILENT: dict[str, Any] = {"prompts": {}}


class Asking(Script):
    """The client, and what its server was asked. `unanswered` has the requests in flight by their ids."""

    def __init__(
        self,
        version: str = MODERN,
        *,
        declared: dict[str, Any] = DECLARED,
        prompts: PromptClient | None = None,
        listing: ListingConfig | None = None,
        connect: bool = True,
        acknowledge: bool = True,
        **config: Any,
    ) -> None:
        self.version = version
        self.unanswered: dict[Any, dict[str, Any]] = {}
        self.seen: list[Event] = []
        self.subscription: Any = None
        self.prompts = prompts or PromptClient(listing)
        capabilities = config.pop("capabilities", {"elicitation": {}})
        self.client = Client(
            ClientConfig(info=CLIENT, versions=(version,), capabilities=capabilities, **config), self.prompts
        )
        super().__init__(self.client)
        if connect:
            self.open(declared, acknowledge=acknowledge)

    # --- connections ---

    def open(self, declared: dict[str, Any] = DECLARED, *, acknowledge: bool = True) -> None:
        """Shake hands, and acknowledge the listen stream if one is asked for."""
        self.sent()
        if self.version == MODERN:
            (probe,) = self.asked("server/discover")
            self.result(probe, supportedVersions=[MODERN], capabilities=declared)
        else:
            (hello,) = self.asked("initialize")
            server = {"name": "scripted", "version": "1"}
            self.reply(
                hello["id"],
                {"protocolVersion": self.version, "capabilities": declared, "serverInfo": server},
            )
        self.sent()
        if acknowledge and self.asked("subscriptions/listen"):
            self.acknowledge()

    def acknowledge(self, **topics: bool) -> None:
        """Acknowledge the listen stream, with prompts unless told otherwise."""
        (listen,) = self.asked("subscriptions/listen")
        self.subscription = listen["id"]
        honoured = topics or {"promptsListChanged": True}
        self.notify(
            "notifications/subscriptions/acknowledged",
            {"_meta": {TAG: self.subscription}, "notifications": honoured},
        )

    def cut(self, *, flushed: bool = True) -> None:
        """The connection ends, with everything written or with what is queued unwritten."""
        if flushed:
            self.sent()
        self.wire.receive_eof(self.now, "cut")
        self.unanswered.clear()
        self.seen_so_far()

    def again(self, declared: dict[str, Any] = DECLARED, *, acknowledge: bool = True) -> None:
        """Another connection."""
        self.reconnect()
        self.open(declared, acknowledge=acknowledge)

    # --- what is asked ---

    def sent(self) -> list[dict[str, Any]]:
        messages = super().sent()
        for message in messages:
            if message.get("method") == "notifications/cancelled":
                self.unanswered.pop(message["params"]["requestId"], None)
            elif "id" in message and "method" in message:
                self.unanswered[message["id"]] = message
        return messages

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The requests of a method that are in flight."""
        self.sent()
        return [message for message in self.unanswered.values() if message["method"] == method]

    def one(self, method: str) -> dict[str, Any]:
        """The one request of a method that is in flight."""
        found = self.asked(method)
        assert len(found) == 1, f"one {method} expected, there are {len(found)}"
        return found[0]

    def walks(self) -> int:
        """How many walks have begun so far: list requests without a cursor."""
        self.sent()
        lists = [message for message in self.log if message.get("method") == "prompts/list"]
        return sum("cursor" not in message.get("params", {}) for message in lists)

    def pages(self) -> int:
        """How many pages have been asked for so far."""
        self.sent()
        return sum(message.get("method") == "prompts/list" for message in self.log)

    # --- what is answered ---

    def result(self, request: dict[str, Any], **members: Any) -> None:
        """Answer a request with a result of the revision's form."""
        head = {"resultType": "complete"} if self.version == MODERN else {}
        self.reply(request["id"], {**head, **members})

    def reply(self, id: Any, result: Any) -> None:
        self.unanswered.pop(id, None)
        super().reply(id, result)

    def error(self, id: Any, code: int, message: str = "no", **more: Any) -> None:
        self.unanswered.pop(id, None)
        super().error(id, code, message, **more)

    def page(
        self, names: Sequence[str | dict[str, Any]] = (), cursor: str | None = None, **members: Any
    ) -> None:
        """Answer the list request; fresh for a minute in the modern era unless told otherwise."""
        items = [{"name": name} if isinstance(name, str) else name for name in names]
        more: dict[str, Any] = {} if cursor is None else {"nextCursor": cursor}
        if self.version == MODERN:
            more |= {"ttlMs": 60_000, "cacheScope": "public"}
        self.result(self.one("prompts/list"), **{"prompts": items, **more, **members})

    def refuse(self, code: int = -32602, method: str = "prompts/list") -> None:
        """Answer the one request of a method with an error."""
        self.error(self.one(method)["id"], code)

    def changed(self) -> None:
        """Announce a change."""
        tag = {"_meta": {TAG: self.subscription}} if self.version == MODERN else None
        self.notify(CHANGED, tag)

    # --- what came of it ---

    def seen_so_far(self) -> list[Event]:
        """Every event since the beginning."""
        self.seen += self.events()
        return self.seen

    def every(self, kind: type[E]) -> list[E]:
        """Every event of a class since the beginning."""
        return [event for event in self.seen_so_far() if isinstance(event, kind)]

    def ends(self, op: Op) -> list[Any]:
        """The events that ended a command: none as long as it is under way."""
        return [event for event in self.every(object) if isinstance(event, ENDS) and event.op == op]

    def end(self, op: Op) -> Any:
        """The one event that ended a command."""
        ends = self.ends(op)
        assert len(ends) == 1, f"{op} ended {len(ends)} times"
        return ends[0]

    def listed(self, names: Sequence[str | dict[str, Any]] = ("a",), **members: Any) -> Snapshot:
        """Have the client list a single page."""
        op = self.prompts.list(self.now)
        self.page(names, **members)
        snapshot: Snapshot = self.end(op).snapshot
        return snapshot


def names(snapshot: Snapshot | None) -> list[str]:
    """The names of a list, in its order."""
    assert snapshot is not None
    return [prompt.name for prompt in snapshot]


def failure(asking: Asking, op: Op) -> Any:
    """Why a command failed."""
    ended = asking.end(op)
    assert isinstance(ended, OpFailed)
    return ended.failure


def get(asking: Asking, name: str = "a", **arguments: str) -> Op:
    """Send a get."""
    op = asking.prompts.get(name, arguments, asking.now)
    asking.sent()
    return op


def text(of: str) -> dict[str, Any]:
    return {"role": "user", "content": {"type": "text", "text": of}}


def render(asking: Asking, *messages: dict[str, Any], **members: Any) -> None:
    asking.result(asking.one(GET), messages=[*messages], **members)


QUESTION = {"q": {"method": "elicitation/create", "params": {"message": "?"}}}


def ask(asking: Asking, **members: Any) -> None:
    """Answer the get with a question."""
    asking.result(asking.one(GET), resultType="input_required", **(members or {"inputRequests": QUESTION}))


def answer(asking: Asking) -> dict[str, Any]:
    """Answer the question; the next leg."""
    needed = asking.every(InputNeeded)[-1]
    asking.client.provide_input(needed.call, {"q": {"action": "accept"}}, asking.now)
    return asking.one(GET)
