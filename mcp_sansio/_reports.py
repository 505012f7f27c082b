"""The vocabulary of reports: what an application is told, in words that any implementation can use.

A node that wraps another library reports the same kinds with the same fields as far as it knows them, and
checkers read nothing else. A list is reported as pairs of a name and its `tag`, which in the simulated
workloads is the prompt's description: it changes with the prompt, so two versions of a list differ by it.

| kind | fields |
|---|---|
| `settings` | eager, max_wait, max_rounds, unnegotiated: what a client promises of its own accord |
| `settings` (of a server) | quiet, max_wait (of announcements), state_ttl (of a request state) |
| `caller` | principal: whom a connection belongs to, as a server knows it |
| `began` | op, what, stale_ok, name: a command got a number |
| `negotiated` | era, version |
| `disconnected` | reason |
| `channel` | live |
| `invalidated` | epoch, reason |
| `updated` | epoch, asked, verified, private, items |
| `listed` | op, fresh, epoch, asked, verified, private, items |
| `rendered`, `gone`, `completed`, `paged` | op, and what came of it |
| `failed` | op, what, reason, code; `asked` of the list that was handed out with it |
| `odd` | kind, text |
| `rest` | the state when all is quiet |

`asked` is the id of the request for the list's first page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs

from ._events import (
    ArgumentCompleted,
    CallFailed,
    CallSucceeded,
    ChannelChanged,
    Diagnostic,
    Disconnected,
    Event,
    HandlerFailed,
    InputNeeded,
    Invalidated,
    Listed,
    Negotiated,
    NegotiationFailed,
    OpFailed,
    PageListed,
    PromptGone,
    PromptRendered,
    SubscriptionEnded,
    SubscriptionOpened,
    Updated,
    WalkFailed,
    WireFailed,
)
from ._snapshot import Snapshot

Fields: TypeAlias = dict[str, Any]


@attrs.frozen
class Report:
    """The application at a node is told something; `data` are the fields that go with its kind."""

    kind: str
    data: Mapping[str, Any]


def items(snapshot: Snapshot | None) -> list[tuple[str, str]] | None:
    """A list as reports have it."""
    if snapshot is None:
        return None
    return [(prompt.name, prompt.description or "") for prompt in snapshot.items]


def _snapshot(snapshot: Snapshot) -> Fields:
    return {
        "epoch": snapshot.epoch,
        "asked": snapshot.asked,
        "verified": snapshot.verified,
        "private": snapshot.private,
        "expires": None if snapshot.expires == float("inf") else snapshot.expires,
        "items": items(snapshot),
    }


def _failed(event: OpFailed) -> Fields:
    failure = event.failure
    reason = failure.reason if isinstance(failure, WalkFailed) else type(failure).__name__
    held = None if event.snapshot is None else event.snapshot.asked
    return {
        "op": event.op.number,
        "what": event.op.kind,
        "reason": reason,
        "code": _code(failure),
        "asked": held,
    }


def _code(failure: Any) -> int | None:
    inner = failure.failure if isinstance(failure, WalkFailed) else failure
    code: int | None = getattr(inner, "code", None)
    return code


def _texts(event: PromptRendered) -> list[str | None]:
    return [getattr(message.content, "text", None) for message in event.result.messages]


_TELL: dict[type, tuple[str, Callable[[Any], Fields]]] = {
    Negotiated: ("negotiated", lambda e: {"era": e.era.value, "version": e.version}),
    NegotiationFailed: ("negotiation-failed", lambda e: {"reason": e.reason}),
    Disconnected: ("disconnected", lambda e: {"reason": e.reason}),
    ChannelChanged: ("channel", lambda e: {"topic": e.topic, "live": e.live, "reason": e.reason}),
    Invalidated: ("invalidated", lambda e: {"epoch": e.epoch, "reason": e.reason}),
    Updated: ("updated", lambda e: _snapshot(e.snapshot)),
    Listed: ("listed", lambda e: {"op": e.op.number, "fresh": e.fresh, **_snapshot(e.snapshot)}),
    PageListed: ("paged", lambda e: {"op": e.op.number, "next": e.next_cursor}),
    PromptRendered: ("rendered", lambda e: {"op": e.op.number, "texts": _texts(e)}),
    PromptGone: ("gone", lambda e: {"op": e.op.number, "name": e.name, **_snapshot(e.snapshot)}),
    ArgumentCompleted: ("completed", lambda e: {"op": e.op.number, "values": list(e.completion.values)}),
    OpFailed: ("failed", _failed),
    CallSucceeded: ("answered", lambda e: {"call": e.call.number}),
    CallFailed: ("call-failed", lambda e: {"call": e.call.number, "reason": type(e.failure).__name__}),
    InputNeeded: ("input-needed", lambda e: {"call": e.call.number, "round": e.round}),
    Diagnostic: ("odd", lambda e: {"kind": e.kind, "text": e.text}),
    WireFailed: ("wire-failed", lambda e: {"reason": e.reason}),
    HandlerFailed: ("handler-failed", lambda e: {"reason": e.reason}),
    SubscriptionOpened: ("subscribed", lambda e: {"id": e.id, "topics": list(e.topics)}),
    SubscriptionEnded: ("unsubscribed", lambda e: {"id": e.id, "reason": e.reason}),
}


def report(event: Event) -> Report:
    """What an event of the library is called in a trace; its fields are made of plain values."""
    kind, fields = _TELL.get(type(event), (type(event).__name__, _nothing))
    return Report(kind, fields(event))


def _nothing(_: Any) -> Mapping[str, Any]:
    return {}
