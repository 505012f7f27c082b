"""Prompts for clients: list, get, complete, and what to do about names that have gone stale.

A layer over `Client`. The list is a `Listing`. A get never needs a list; but when it fails in a way that
may mean "unknown name", the error is judged by a list that was asked for after the get was sent: the
name is gone (`PromptGone`, with the list), or it is there and something has moved since (one retry), or
nothing has moved (the error stands). An operation that waited for its answer when the carrier was lost
is sent once more on the next one if it is safe to repeat: a list always, a get on its first leg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

import attrs

from ._calls import Call, Limits, Outcome, Reply, encode_members, encode_meta
from ._client import Client
from ._commands import Command, Commands
from ._errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Cancelled,
    Closed,
    LocalProtocolError,
    Lost,
    NotSupported,
    RpcError,
)
from ._events import ArgumentCompleted, Op, OpFailed, PromptGone, PromptRendered
from ._json import encode
from ._list_layer import ListLayer
from ._listing import Listing, ListingConfig
from ._memory import ListSpec
from ._paging import page_command
from ._snapshot import Snapshot
from ._structure import SharingReader, structure
from ._types import LIST_CHANGED, TOPIC, Completion, GetPromptResult, Prompt
from ._versions import Feature, supports
from ._waiters import Result

PROMPTS = ListSpec(
    key="prompts",
    method="prompts/list",
    notification=LIST_CHANGED,
    topic=TOPIC,
    capability="prompts",
    reader=partial(SharingReader, Prompt, "arguments"),
    name=attrgetter("name"),
)


def may_mean_unknown(error: RpcError) -> bool:
    """Whether an error to `prompts/get` may mean that the name is unknown.

    The specification says -32602 (server/prompts, "Error Handling"); the others are what real servers
    answer.
    """
    return error.code in (INVALID_PARAMS, INTERNAL_ERROR, METHOD_NOT_FOUND, -32002, -32001, 0)


@attrs.define(eq=False, kw_only=True)
class _Get(Command):
    """A get under way; `saw` is the list that the caller saw, `moves` how often the listing had moved when
    the request was made.
    """

    name: str
    listing: Listing
    saw: Snapshot | None
    moves: int = 0
    resent: bool = False
    retried: bool = False

    def prepare(self, client: Client) -> bytes:
        self.moves = self.listing.moves
        return self.members

    def read(self, op: Op, raw: bytes) -> PromptRendered:
        return PromptRendered(op, structure(GetPromptResult, raw))

    def moved(self, listed: Prompt) -> bool:
        """Whether the prompt is new or redefined since the caller saw a list, or may have changed since."""
        redefined = self.saw is not None and self.saw.by_name.get(self.name) != listed
        return redefined or self.listing.moves != self.moves


@attrs.frozen
class _CompleteResult:
    completion: Completion


@attrs.define(eq=False, kw_only=True)
class _Complete(Command):
    """A completion under way."""

    context: bytes

    def gate(self, client: Client) -> NotSupported | None:
        """2024-11-05 has no such capability: try, and accept -32601."""
        declared = client.capabilities.get("completions") is not None
        if declared or not _supports(client, "completions_capability"):
            return None
        return NotSupported("completions")

    def prepare(self, client: Client) -> bytes:
        if self.context and _supports(client, "completion_context"):
            return self.members + b"," + self.context
        return self.members

    def read(self, op: Op, raw: bytes) -> ArgumentCompleted:
        return ArgumentCompleted(op, structure(_CompleteResult, raw).completion)


class PromptClient(ListLayer):
    """The prompts of one server, for one authorization context.

    `classify` replaces `may_mean_unknown`. The commands return an `Op`; what comes of it is an event that
    names it. `limits` are those of one command, in place of what is configured: `total` counts from the
    command on, whatever is done for it, and `quiet` for its requests; who waits for a list has no request of
    their own. Raises `LocalProtocolError` for arguments that cannot be sent; nothing has happened then.
    """

    def __init__(
        self,
        config: ListingConfig | None = None,
        *,
        classify: Callable[[RpcError], bool] = may_mean_unknown,
    ) -> None:
        super().__init__(PROMPTS, config)
        self._classify = classify
        self._commands = Commands(self.listing, self)

    # --- commands ---

    def list(
        self, now: float, *, cursor: str | None = None, stale_ok: bool = False, limits: Limits | None = None
    ) -> Op:
        """List the prompts: `Listed`, at once if the cache is fresh (or `stale_ok` and there is any).

        With a `cursor` of the caller's own: `PageListed`, that one page, past the cache.
        """
        if cursor is not None:
            encode(_string("cursor", cursor))
        op, now = self.begin("list", now)
        if cursor is None:
            self.listing.list(op, now, stale_ok=stale_ok, limits=limits)
        else:
            self._commands.begin(op, page_command(PROMPTS, cursor, now, limits), now)
        return op

    def refresh(self, now: float, *, limits: Limits | None = None) -> Op:
        """List the prompts by a walk that starts from now on."""
        op, now = self.begin("refresh", now)
        self.listing.refresh(op, now, limits=limits)
        return op

    def get(
        self,
        name: str,
        arguments: Mapping[str, str] | None,
        now: float,
        *,
        meta: Mapping[str, Any] | None = None,
        progress: bool = False,
        limits: Limits | None = None,
    ) -> Op:
        """Render a prompt: `PromptRendered`, `PromptGone` or `OpFailed`, perhaps after `InputNeeded`."""
        params: dict[str, Any] = {"name": _string("name", name)}
        if arguments:
            params["arguments"] = _strings("arguments", arguments)
        members, extra = encode_members(params), encode_meta(meta)
        op, now = self.begin("get", now)
        get = _Get(
            method="prompts/get",
            members=members,
            began=now,
            limits=limits,
            meta=extra,
            progress=progress,
            name=name,
            listing=self.listing,
            saw=self.snapshot,
        )
        self._commands.begin(op, get, now)
        return op

    def complete(
        self,
        name: str,
        argument: str,
        value: str,
        now: float,
        context: Mapping[str, str] | None = None,
        *,
        limits: Limits | None = None,
    ) -> Op:
        """Complete an argument of a prompt: `ArgumentCompleted`. `context` has those known already."""
        params = {
            "ref": {"type": "ref/prompt", "name": _string("name", name)},
            "argument": {"name": _string("argument", argument), "value": _string("value", value)},
        }
        known = _strings("context", context or {})
        members = encode_members(params)
        encoded = encode_members({"context": {"arguments": known}}) if known else b""
        op, now = self.begin("complete", now)
        complete = _Complete(
            method="completion/complete", members=members, began=now, limits=limits, context=encoded
        )
        self._commands.begin(op, complete, now)
        return op

    def cancel(self, op: Op, now: float) -> None:
        """Give up on a command; nothing happens if it has ended already."""
        now = self.client.tick(now)
        waited = self.listing.leave(op, now)
        if self._commands.find(op) is not None:
            self._commands.fail(op, Cancelled(), now)
        elif waited:
            self.client.emit(OpFailed(op, Cancelled(), self.snapshot))

    def principal_changed(self, now: float) -> None:
        """Another authorization context from now on: the cache of the old one is unreadable at once."""
        self.listing.forget(self.client.tick(now))

    # --- layer ---

    def bind(self, client: Client) -> None:
        """Called once, when the client is made."""
        super().bind(client)
        self._commands.bind(client)

    def opened(self, now: float) -> None:
        """The era is known: go on with what waited for it."""
        super().opened(now)
        self._commands.opened(now)

    def finished(self, reason: str, now: float) -> None:
        """Nothing can be asked any more."""
        super().finished(reason, now)
        for op in self._commands:
            self._commands.fail(op, Closed(reason), now)

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """A request was answered, or will not be."""
        op, command = call.op, self._commands.find(call.op)
        if op is None or command is None:
            return
        if (
            isinstance(outcome, Reply)
            or not isinstance(command, _Get)
            or not self._recovers(op, command, call, outcome, now)
        ):
            self._commands.settle(op, outcome, now)

    def _recovers(self, op: Op, get: _Get, call: Call, outcome: Outcome, now: float) -> bool:
        """Whether a get goes on after what became of its request."""
        first_leg = call.rounds == 0
        if isinstance(outcome, Lost) and first_leg and not get.resent:
            get.resent = True
            self._commands.send_again(op, now)
            return True
        if isinstance(outcome, RpcError) and self._classify(outcome):
            judge = partial(self._judge, op, get, outcome, first_leg=first_leg)
            self.listing.judge(op, call.wire_id, judge, now, call.total_at)
            return True
        return False

    def _judge(
        self, op: Op, get: _Get, error: RpcError, result: Result, now: float, *, first_leg: bool
    ) -> None:
        """What a newer list says about an error: the name is gone, something moved, or neither."""
        if not isinstance(result, Snapshot):
            self._commands.fail(op, error, now)
            return
        listed = result.by_name.get(get.name)
        if listed is None:
            self._commands.end(op, PromptGone(op, get.name, result, error), now)
        elif first_leg and not get.retried and get.moved(listed):
            get.retried = True
            self._commands.send(op, now)
        else:
            self._commands.fail(op, error, now)


def _supports(client: Client, feature: Feature) -> bool:
    return client.version is not None and supports(client.version, feature)


def _string(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise LocalProtocolError(f"{what} must be a string, not {type(value).__name__}")
    return value


def _strings(what: str, values: Mapping[Any, Any]) -> dict[str, str]:
    """Arguments are strings on the wire: "arguments?: { [key: string]: string }"."""
    for key, value in values.items():
        _string(what, key)
        if not isinstance(value, str):  # then its whole name is worth the making
            _string(f"{what}[{key!r}]", value)
    return dict(values)
