"""Prompts for clients: list, get, complete, and what to do about names that have gone stale.

A layer over `Client`. The list is a `Listing`. A get never needs a list; but when it fails in a way that
may mean "unknown name", the error is judged by a list that was asked for after the get was sent: the
name is gone (`PromptGone`, with the list), or it is there and something has moved since (one retry), or
nothing has moved (the error stands). An operation that waited for its answer when the carrier was lost
is sent once more on the next one if it is safe to repeat: a list always, a get on its first leg.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import attrs

from ._calls import Call, Outcome, Reply
from ._client import Client
from ._errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Cancelled,
    Closed,
    Failure,
    InvalidMessage,
    InvalidReply,
    LocalProtocolError,
    Lost,
    NotSupported,
    RpcError,
    TimedOut,
)
from ._events import ArgumentCompleted, CallId, Op, OpFailed, PromptGone, PromptRendered, WalkFailed
from ._json import encode
from ._json import members as object_members
from ._list_layer import ListLayer
from ._listing import Answer, ListingConfig
from ._paging import Pager
from ._snapshot import ListSpec, Snapshot
from ._structure import structure, structure_value
from ._types import Completion, GetPromptResult, Prompt
from ._versions import supports

LIST_CHANGED = "notifications/prompts/list_changed"
TOPIC = "promptsListChanged"


def _prompt(raw: bytes) -> Prompt:
    return structure(Prompt, raw)


def _name(prompt: Prompt) -> str:
    return prompt.name


PROMPTS = ListSpec("prompts", "prompts/list", LIST_CHANGED, TOPIC, "prompts", _prompt, _name)


def may_mean_unknown(error: RpcError) -> bool:
    """Whether an error to `prompts/get` may mean that the name is unknown.

    The specification says -32602 (server/prompts, "Error Handling"); the others are what real servers
    answer.
    """
    return error.code in (INVALID_PARAMS, INTERNAL_ERROR, METHOD_NOT_FOUND, -32002, -32001, 0)


@attrs.define(eq=False)
class _Get:
    """A get under way."""

    name: str
    params: Mapping[str, Any]
    meta: Mapping[str, Any] | None
    progress: bool
    seen: Prompt | None
    moves: int
    call: CallId | None = None
    retried: bool = False
    resent: bool = False
    error: RpcError | None = None


@attrs.define(eq=False)
class _Complete:
    """A completion under way."""

    params: Mapping[str, Any]
    context: Mapping[str, str]
    call: CallId | None = None


class PromptClient(ListLayer):
    """The prompts of one server, for one authorization context.

    `classify` replaces `may_mean_unknown`. The commands return an `Op`; what comes of it is an event that
    names it. Raises `LocalProtocolError` for arguments that cannot be sent; nothing has happened then.
    """

    def __init__(
        self,
        config: ListingConfig | None = None,
        *,
        classify: Callable[[RpcError], bool] = may_mean_unknown,
    ) -> None:
        super().__init__(PROMPTS, config)
        self._pager = Pager(self.listing)
        self._classify = classify
        self._gets: dict[Op, _Get] = {}
        self._completes: dict[Op, _Complete] = {}

    # --- commands ---

    def list(self, now: float, *, cursor: str | None = None, stale_ok: bool = False) -> Op:
        """List the prompts: `Listed`, at once if the cache is fresh (or `stale_ok` and there is any).

        With a `cursor` of the caller's own: `PageListed`, that one page, past the cache.
        """
        op = self._begin("list", now)
        if cursor is None:
            self.listing.list(op, now, stale_ok=stale_ok)
        else:
            encode(cursor)
            self._pager.page(op, cursor, now)
        return op

    def refresh(self, now: float) -> Op:
        """List the prompts by a walk that starts from now on."""
        op = self._begin("refresh", now)
        self.listing.refresh(op, now)
        return op

    def get(
        self,
        name: str,
        arguments: Mapping[str, str] | None,
        now: float,
        *,
        meta: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> Op:
        """Render a prompt: `PromptRendered`, `PromptGone` or `OpFailed`, perhaps after `InputNeeded`."""
        params: dict[str, Any] = {"name": _string("name", name)}
        if arguments:
            params["arguments"] = _strings("arguments", arguments)
        object_members(params)
        op = self._begin("get", now)
        snapshot = self.snapshot
        seen = snapshot.by_name.get(name) if snapshot is not None else None
        self._gets[op] = _Get(name, params, meta, progress, seen, self.listing.moves)
        self._arm(op, now)
        self._send_get(op, now)
        return op

    def complete(
        self,
        name: str,
        argument: str,
        value: str,
        now: float,
        context: Mapping[str, str] | None = None,
    ) -> Op:
        """Complete an argument of a prompt: `ArgumentCompleted`. `context` has those known already."""
        params = {
            "ref": {"type": "ref/prompt", "name": _string("name", name)},
            "argument": {"name": _string("argument", argument), "value": _string("value", value)},
        }
        known = _strings("context", context or {})
        object_members({**params, **known})
        op = self._begin("complete", now)
        self._completes[op] = _Complete(params, known)
        self._arm(op, now)
        self._send_complete(op, now)
        return op

    def cancel(self, op: Op, now: float) -> None:
        """Give up on a command; nothing happens if it has ended already."""
        left = self.listing.leave(op, now) or self._pager.leave(op, now)
        started = self._gets.pop(op, None) or self._completes.pop(op, None)
        if started is not None:
            self._drop_call(started.call, now)
        if left or started is not None:
            self._fail(op, Cancelled())

    def principal_changed(self, now: float) -> None:
        """Another authorization context from now on: the cache of the old one is unreadable at once."""
        self.listing.forget(self.client.tick(now))

    # --- layer ---

    def bind(self, client: Client) -> None:
        """Called once, when the client is made."""
        super().bind(client)
        self._pager.bind(client)

    def opened(self, now: float) -> None:
        """The era is known: go on with what waited for it."""
        super().opened(now)
        self._pager.opened(now)
        for op, get in [*self._gets.items()]:
            if get.call is None and get.error is None:
                self._send_get(op, now)
        for op, complete in [*self._completes.items()]:
            if complete.call is None:
                self._send_complete(op, now)

    def finished(self, reason: str, now: float) -> None:
        """Nothing can be asked any more."""
        super().finished(reason, now)
        self._pager.finished(Closed(reason))
        for op in [*self._gets, *self._completes]:
            self._forget(op)
            self._fail(op, Closed(reason))

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """A get or a completion was answered, or will not be."""
        op = call.op
        if op is None:
            return
        if op in self._gets:
            self._got(op, self._gets[op], call, outcome, now)
        elif op in self._completes:
            self._completed(op, outcome)

    # --- inside ---

    def _begin(self, kind: str, now: float) -> Op:
        if self.client.done:
            raise LocalProtocolError("the client is closed")
        self.client.tick(now)
        return self.client.new_op(kind)

    def _arm(self, op: Op, now: float) -> None:
        """The clock of the whole command; each request of it has its own clocks besides."""
        total = self.client.config.total_timeout
        if total is not None:
            self.client.set_timer(self._timed_out, now + total, op)

    def _timed_out(self, key: Hashable, now: float) -> None:
        op = key
        started = self._gets.get(op) or self._completes.get(op)  # type: ignore[call-overload]  # the key is the op
        if isinstance(op, Op) and started is not None:
            self.listing.leave(op, now)
            self._forget(op)
            self._drop_call(started.call, now)
            self._fail(op, TimedOut("total", self.client.config.total_timeout or 0.0))

    def _forget(self, op: Op) -> None:
        self._gets.pop(op, None)
        self._completes.pop(op, None)
        self.client.cancel_timer(self._timed_out, op)

    def _drop_call(self, call: CallId | None, now: float) -> None:
        if call is not None:
            self.client.cancel(call, now)

    def _fail(self, op: Op, failure: Failure | WalkFailed) -> None:
        self.client.emit(OpFailed(op, failure, self.snapshot))

    def _end(self, op: Op, failure: Failure) -> None:
        self._forget(op)
        self._fail(op, failure)

    # get

    def _send_get(self, op: Op, now: float) -> None:
        gate = self.listing.gate()
        if gate is not None:
            self._end(op, gate)
        elif self.listing.ready:
            get = self._gets[op]
            get.call = self.client.request(
                "prompts/get",
                get.params,
                now,
                meta=get.meta,
                progress=get.progress,
                layer=self,
                op=op,
            )

    def _got(self, op: Op, get: _Get, call: Call, outcome: Outcome, now: float) -> None:
        first_leg = call.rounds == 0
        if isinstance(outcome, Reply):
            self._rendered(op, outcome)
        elif isinstance(outcome, Lost) and first_leg and not get.resent:
            get.resent, get.call = True, None
            self.client.set_timer(self._resend, now, op)
        elif isinstance(outcome, RpcError) and self._classify(outcome):
            get.error = outcome
            self.listing.judge(op, call.id, self._judgement(op, get, outcome, first_leg), now)
        else:
            self._end(op, outcome)

    def _rendered(self, op: Op, reply: Reply) -> None:
        try:
            result = structure(GetPromptResult, reply.raw)
        except InvalidMessage as error:
            self._end(op, InvalidReply(str(error)))
            return
        self._forget(op)
        self.client.emit(PromptRendered(op, result))

    def _resend(self, key: Hashable, now: float) -> None:
        """Not inside the loss: by now the carrier is gone, or another exchange can be had."""
        get = self._gets.get(key)  # type: ignore[call-overload]  # the key is the op
        if isinstance(key, Op) and get is not None and get.call is None:
            self._send_get(key, now)

    def _judgement(self, op: Op, get: _Get, error: RpcError, first_leg: bool) -> Answer:
        """What a newer list says about an error: the name is gone, something moved, or neither."""

        def judge(result: Snapshot | Failure | WalkFailed, now: float) -> None:
            if not isinstance(result, Snapshot):
                self._end(op, error)
                return
            listed = result.by_name.get(get.name)
            if listed is None:
                self._forget(op)
                self.client.emit(PromptGone(op, get.name, result, error))
                return
            redefined = get.seen is not None and listed != get.seen
            moved = redefined or self.listing.moves != get.moves
            if moved and first_leg and not get.retried:
                get.retried, get.error = True, None
                self._send_get(op, now)
            else:
                self._end(op, error)

        return judge

    # complete

    def _send_complete(self, op: Op, now: float) -> None:
        gate = self.listing.gate() or self._completion_gate()
        if gate is not None:
            self._end(op, gate)
        elif self.listing.ready:
            complete = self._completes[op]
            complete.call = self.client.request(
                "completion/complete", self._completion_params(complete), now, layer=self, op=op
            )

    def _completion_gate(self) -> NotSupported | None:
        """2024-11-05 has no such capability: "try, and accept -32601"."""
        version = self.client.version
        if version is None or not supports(version, "completions_capability"):
            return None
        return None if "completions" in self.client.capabilities else NotSupported("completions")

    def _completion_params(self, complete: _Complete) -> Mapping[str, Any]:
        version = self.client.version
        if complete.context and version is not None and supports(version, "completion_context"):
            return {**complete.params, "context": {"arguments": complete.context}}
        return complete.params

    def _completed(self, op: Op, outcome: Outcome) -> None:
        if not isinstance(outcome, Reply):
            self._end(op, outcome)
            return
        try:
            completion = structure_value(Completion, outcome.decode().get("completion"))
        except InvalidMessage as error:
            self._end(op, InvalidReply(str(error)))
            return
        self._forget(op)
        self.client.emit(ArgumentCompleted(op, completion))


def _string(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise LocalProtocolError(f"{what} must be a string, not {type(value).__name__}")
    return value


def _strings(what: str, values: Mapping[str, str]) -> dict[str, str]:
    """Arguments are strings on the wire: "arguments?: { [key: string]: string }"."""
    return {_string(what, key): _string(f"{what}[{key!r}]", value) for key, value in values.items()}
