"""The client that people use, without its loop: commands in, waiters out, events into results.

A command starts an operation of the core and leaves a `Waiter`; the event that names the operation ends
it, with a result or an exception. How to wait is the front end's own affair: it puts a function into
`wake`, or looks at `done`. Whoever stops waiting calls `abandon`, which cancels the operation in the core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import attrs

from mcp_sansio import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ArgumentCompleted,
    CallFailed,
    CallId,
    CallSucceeded,
    Client,
    ClientConfig,
    Closed,
    Completion,
    Event,
    Failure,
    GetPromptResult,
    IncomingRequest,
    InputNeeded,
    Limits,
    LineWire,
    Listed,
    ListingConfig,
    LocalProtocolError,
    Lost,
    Negotiated,
    NegotiationFailed,
    Op,
    OpFailed,
    PageListed,
    ProgressReported,
    PromptClient,
    PromptGone,
    PromptRendered,
    RequestCancelled,
    RequestReceived,
    RpcError,
    Snapshot,
    Updated,
    WalkFailed,
)

from ._defaults import client_config, now
from ._exceptions import ConnectionFailed, Ending, InputNotGiven, PromptGoneError, RequestFailed
from ._hooks import Answers, Hooks, OnProgress, RequestAnswer, tell
from ._pump import Meter, Traffic
from ._recording import UNRECORDED, Recording
from ._waiting import Feed, Waiter, nothing


class Session:
    """A client of one server, whatever moves its bytes. Every command raises `ConnectionFailed` once the
    connection is gone for good, and `LocalProtocolError` for what cannot be sent.
    """

    def __init__(
        self,
        config: ClientConfig | None,
        listing: ListingConfig | None,
        hooks: Hooks,
        recording: Recording = UNRECORDED,
    ) -> None:
        self.hooks = hooks
        self.recording = recording
        self.prompts = PromptClient(listing)
        config = client_config(config, asks=hooks.on_input is not None)
        self.client = Client(recording.begin(config, self.prompts.listing.config), self.prompts)
        self.meter = Meter()
        self.negotiated: Negotiated | None = None
        self.ending: Ending | None = None
        self.loss: Ending | None = None  # set before a wire is told of its end, for what ends with it
        self.closing = False
        self.feeds: WeakSet[Feed] = WeakSet()
        self.settled: Callable[[], None] = nothing
        self.ask: Callable[[InputNeeded, Waiter[Any]], None] = _nothing_to_ask
        self.serve: Callable[[RequestReceived], None] = _ignore
        self.withdraw: Callable[[IncomingRequest], None] = _ignore
        self._refusal: NegotiationFailed | None = None
        self._waiters: dict[Op | CallId, Waiter[Any]] = {}

    @property
    def agreed(self) -> Negotiated:
        """What was agreed on with the server, the last time; `ConnectionFailed` if nothing was."""
        if self.negotiated is None:
            raise ConnectionFailed(self.ending or Ending("not connected yet"))
        return self.negotiated

    # --- commands ---

    def check(self) -> None:
        """Raise `ConnectionFailed` if there is no connection, and none will follow."""
        if self.ending is not None or self.client.done:
            raise ConnectionFailed(self.ending or self._refused(Ending("the client is closed")))

    def list_prompts(self, *, stale_ok: bool, limits: Limits | None) -> Waiter[Snapshot]:
        """The whole list, from the cache while that is fresh."""
        return self._begin(
            "list",
            lambda now: self.prompts.list(now, stale_ok=stale_ok, limits=limits),
            stale_ok=stale_ok or None,
            limits=limits,
        )

    def refresh_prompts(self, limits: Limits | None) -> Waiter[Snapshot]:
        """The whole list, by a walk that starts from now on."""
        return self._begin("refresh", lambda now: self.prompts.refresh(now, limits=limits), limits=limits)

    def list_page(self, cursor: str, limits: Limits | None) -> Waiter[PageListed]:
        """One page, past the cache."""
        return self._begin(
            "page",
            lambda now: self.prompts.list(now, cursor=cursor, limits=limits),
            cursor=cursor,
            limits=limits,
        )

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None,
        meta: Mapping[str, Any] | None,
        on_progress: OnProgress | None,
        limits: Limits | None,
    ) -> Waiter[GetPromptResult]:
        """A rendered prompt."""
        progress = on_progress is not None
        return self._begin(
            "get",
            lambda now: self.prompts.get(name, arguments, now, meta=meta, progress=progress, limits=limits),
            on_progress,
            name=name,
            arguments=arguments,
            meta=meta,
            progress=progress or None,
            limits=limits,
        )

    def complete(
        self,
        name: str,
        argument: str,
        value: str,
        context: Mapping[str, str] | None,
        limits: Limits | None,
    ) -> Waiter[Completion]:
        """Values for an argument of a prompt."""
        return self._begin(
            "complete",
            lambda now: self.prompts.complete(name, argument, value, now, context, limits=limits),
            name=name,
            argument=argument,
            value=value,
            context=context,
            limits=limits,
        )

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        meta: Mapping[str, Any] | None,
        on_progress: OnProgress | None,
        limits: Limits | None,
    ) -> Waiter[Mapping[str, Any]]:
        """The result of any request."""
        progress = on_progress is not None
        return self._begin(
            "request",
            lambda now: self.client.request(method, params, now, meta=meta, progress=progress, limits=limits),
            on_progress,
            method=method,
            params=params,
            meta=meta,
            progress=progress or None,
            limits=limits,
        )

    def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Send any notification."""
        self.check()
        when = now()
        self.recording.command("notify", when, method=method, params=params)
        self.client.notify(method, params, when)

    def abandon(self, waiter: Waiter[Any]) -> None:
        """Nobody waits any more; nothing happens if the operation is over."""
        if self._waiters.pop(waiter.key, None) is None:
            return
        waiter.stop_helper()
        when = now()
        if isinstance(waiter.key, Op):
            self.recording.command("cancel", when, op=waiter.key.number)
            self.prompts.cancel(waiter.key, when)
        else:
            self.recording.command("cancel", when, call=waiter.key.number)
            self.client.cancel(waiter.key, when)

    def give_input(self, needed: InputNeeded, answers: Answers) -> None:
        """Go on with an operation that wanted input; nothing happens if it is over."""
        if self._waiter(needed) is not None:
            when = now()
            self.recording.command("input", when, call=needed.call.number, answers=answers)
            self.client.provide_input(needed.call, answers, when)

    def give_up(self, needed: InputNeeded, error: BaseException) -> None:
        """End an operation that wanted input with an exception."""
        waiter = self._waiter(needed)
        if waiter is not None:
            self.abandon(waiter)
            waiter.finish(error=error)

    # --- what happens to the connection ---

    def wire(self) -> LineWire:
        """A byte stream for the client."""
        return self.recording.wire(self.client, now(), self.hooks.on_message)

    def due(self) -> None:
        """Something may be due."""
        when = now()
        self.recording.due(self.client.next_timeout(), when)
        self.client.handle_timeout(when)

    def close(self, reason: str = "closed") -> None:
        """Nothing more is wanted of the server."""
        when = now()
        self.recording.command("close", when, reason=reason)
        self.client.close(when, reason)

    @property
    def resumable(self) -> bool:
        """Whether another connection may follow one that was lost: not if the first had come to nothing."""
        return self.negotiated is not None and not self.client.done

    def finish(self, ending: Ending) -> None:
        """The last connection ended, or none was had: everything that waits fails."""
        if self.ending is None:
            self.ending = self.loss = self._refused(ending)
            self.close(str(self.ending))

    def wake_all(self) -> None:
        """Wake those whom no event ends: readers of changes, and who waits for the negotiation."""
        self.settled()
        for feed in [*self.feeds]:
            feed.wake()

    def handle(self, event: Event) -> None:
        """Take in an event of the core."""
        self.recording.event(event)
        tell(self.hooks.on_event, event)
        match event:
            case Listed(op, snapshot):
                self._end(op, snapshot)
            case PageListed(op):
                self._end(op, event)
            case PromptRendered(op, result):
                self._end(op, result)
            case ArgumentCompleted(op, completion):
                self._end(op, completion)
            case CallSucceeded(call, answer):
                self._end(call, answer)
            case OpFailed(op, failure, last):
                self._end(op, error=self._failure(failure, last))
            case CallFailed(call, failure):
                self._end(call, error=self._failure(failure, self.prompts.snapshot))
            case PromptGone(op, name, fresh, error):
                self._end(op, error=PromptGoneError(name, error, fresh))
            case _:
                self._note(event)

    # --- inside ---

    def _begin(
        self,
        verb: str,
        start: Callable[[float], Op | CallId],
        on_progress: OnProgress | None = None,
        **data: Any,
    ) -> Waiter[Any]:
        self.check()
        when = now()
        self.recording.command(verb, when, **data)
        waiter: Waiter[Any] = Waiter(start(when), on_progress)
        self.recording.began(waiter.key, data.get("name"))
        self._waiters[waiter.key] = waiter
        return waiter

    def _waiter(self, event: InputNeeded | ProgressReported) -> Waiter[Any] | None:
        return self._waiters.get(event.call if event.op is None else event.op)

    def _end(self, key: Op | CallId, value: Any = None, error: BaseException | None = None) -> None:
        waiter = self._waiters.pop(key, None)
        if waiter is not None:
            waiter.finish(value, error)

    def _refused(self, ending: Ending) -> Ending:
        """The same with the reason why there is nothing in common with the server, if that is why."""
        refusal = self._refusal
        if refusal is None:
            return ending
        return attrs.evolve(ending, reason=refusal.reason, status=refusal.status)

    def _failure(self, failure: Failure | WalkFailed, snapshot: Snapshot | None) -> Exception:
        """The connection's own failure where that is the cause, with all that is known about it."""
        cause = failure.failure if isinstance(failure, WalkFailed) else failure
        if isinstance(cause, Lost | Closed):
            return ConnectionFailed(self.loss or Ending(cause.reason))
        return RequestFailed(failure, snapshot)

    def _note(self, event: Event) -> None:
        """What is no end of an operation."""
        match event:
            case Negotiated():
                self.negotiated, self.loss = event, None
                self.settled()
            case NegotiationFailed():
                self._refusal = event
            case Updated():
                for feed in [*self.feeds]:
                    feed.updated(event)
            case InputNeeded():
                self._input_needed(event)
            case ProgressReported():
                self._progressed(event)
            case RequestReceived():
                self._asked(event)
            case RequestCancelled(request):
                self.withdraw(request)
            case _:
                pass

    def _progressed(self, event: ProgressReported) -> None:
        waiter = self._waiter(event)
        if waiter is not None:
            tell(waiter.on_progress, event)

    def _asked(self, event: RequestReceived) -> None:
        if self.hooks.on_request is None:
            self.respond(event, RpcError(METHOD_NOT_FOUND, f"nobody answers {event.request.method}"))
        else:
            self.serve(event)

    def _input_needed(self, needed: InputNeeded) -> None:
        waiter = self._waiter(needed)
        if waiter is None:
            return
        if self.hooks.on_input is None:
            self.give_up(needed, InputNotGiven(needed.requests))
        else:
            self.ask(needed, waiter)

    def respond(self, asked: RequestReceived, answer: RequestAnswer) -> None:
        """Answer a legacy server's request, unless it has been withdrawn; what cannot be sent is refused."""
        for candidate in (answer, RpcError(INTERNAL_ERROR, "Internal error")):
            with suppress(LocalProtocolError):
                when = now()
                self.recording.answer(asked.request, candidate, when)
                self.client.respond(asked.request, candidate, when)
                return


class ConnectedClient:
    """What every user-facing client shows without asking the server."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def negotiated(self) -> Negotiated:
        """What was agreed on with the server; after a restart, with the new one."""
        return self._session.agreed

    @property
    def snapshot(self) -> Snapshot | None:
        """The last list of prompts, fresh or stale."""
        return self._session.prompts.snapshot

    def feed(self) -> Feed:
        """The changes of the list from now on, for whoever waits for them in his own way."""
        return Feed(self._session)

    @property
    def traffic(self) -> Traffic:
        """What has gone over the wire so far."""
        meter, client = self._session.meter, self._session.client
        return Traffic(meter.sent, meter.received, client.messages_sent, client.messages_received)


def _ignore(_: object) -> None:
    pass


def _nothing_to_ask(needed: InputNeeded, waiter: Waiter[Any]) -> None:
    pass
