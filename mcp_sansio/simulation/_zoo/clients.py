"""Clients with bugs that clients have: each breaks a property that a checker has to find.

A bug is a subclass of one room of the core, which takes the room's place in one client: `become` changes the
class of a part that is there already, so nothing else in the process is any different.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Unpack

import attrs

from mcp_sansio._calls import Call, CallOptions, Calls, Limits, Outcome, cancellation
from mcp_sansio._client import Client
from mcp_sansio._coalescer import Coalescer
from mcp_sansio._errors import Cancelled, RpcError
from mcp_sansio._events import CallId, Event, Listed, Op, OpFailed, PromptRendered, WalkFailed
from mcp_sansio._json import RequestId, encode
from mcp_sansio._listing import Listing
from mcp_sansio._memory import Memory
from mcp_sansio._prompt_client import PromptClient
from mcp_sansio._snapshot import Collector, Snapshot
from mcp_sansio._subscription import Subscriptions
from mcp_sansio._tables import Walk
from mcp_sansio._waiters import Result
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._scenarios import TORTURE, Scenario

from .scenes_client import BUSY, EARLY, FOREIGN_TAGS, STORM, TWO_SERVERS
from .variant import Variant


def become(path: str, bug: type) -> Callable[[ClientNode], None]:
    """Give the part of a client that is found by a path of attributes another class."""
    find = attrgetter(path)

    def change(node: ClientNode) -> None:
        object.__setattr__(find(node), "__class__", bug)

    return change


# --- what is fresh ------------------------------------------------------------------------------------


class DirtyFlagCleared(Listing):
    """What was announced during a walk is forgotten when the walk ends."""

    def _finish_walk(self, answer: Snapshot | WalkFailed, now: float) -> None:
        if isinstance(answer, Snapshot):
            self.snapshot = answer = attrs.evolve(answer, epoch=self.epoch)
        super()._finish_walk(answer, now)


class TtlAlone(Listing):
    """A list is fresh until it expires, whatever has been announced."""

    def fresh(self, now: float) -> bool:
        return self.snapshot is not None and now < self.snapshot.expires


class CoverageIgnored(Listing):
    """That announcements begin means nothing for what is held."""

    def invalidate(self, reason: str, now: float, *, evidence: bool = False) -> None:
        if reason != "notification channel opened":
            super().invalidate(reason, now, evidence=evidence)


class NoGapRecovery(Listing):
    """What was fresh before a gap is fresh after it."""

    def invalidate(self, reason: str, now: float, *, evidence: bool = False) -> None:
        if reason != "disconnected" and not reason.startswith("notification channel"):
            super().invalidate(reason, now, evidence=evidence)


class FreshAtTheBound(Listing):
    """A list is fresh at the very moment at which it expires."""

    def fresh(self, now: float) -> bool:
        return super().fresh(now) or (
            self.snapshot is not None and self.snapshot.epoch == self.epoch and now == self.snapshot.expires
        )


class FirstPage(Collector):
    """A list is as fresh as its first page."""

    first: float | None = None

    def add(self, raw: bytes, now: float, default_lifetime: float) -> str | None:
        cursor = super().add(raw, now, default_lifetime)
        self.first = self._expires if self.first is None else self.first
        self._expires = self.first
        return cursor


class TtlTimer(Listing):
    """A list is fetched anew when it expires."""

    def _finish_walk(self, answer: Snapshot | WalkFailed, now: float) -> None:
        super()._finish_walk(answer, now)
        if isinstance(answer, Snapshot) and now < answer.expires < now + 3600.0:
            self._client.set_timer(self._retry, answer.expires)


class StaleWhileRevalidate(Listing):
    """A stale list is handed out at once, and a new one fetched behind."""

    def list(self, op: Op, now: float, *, stale_ok: bool = False, limits: Limits | None = None) -> None:
        if self.snapshot is None or self.fresh(now):
            super().list(op, now, stale_ok=stale_ok, limits=limits)
        else:
            self._client.emit(Listed(op, self.snapshot, fresh=False))
            self._want_eagerly(now)


# --- walks --------------------------------------------------------------------------------------------


class LostTrailingRerun(Listing):
    """A change that is announced during a walk causes no other."""

    def announced(self, now: float) -> None:
        if self._running is None:
            super().announced(now)
        else:
            self.invalidate("list_changed", now)


class LostTrailingHit(Coalescer):
    """What comes in a quiet period is dropped."""

    def hit(self, now: float, *, busy: bool = False) -> bool:
        leads = super().hit(now, busy=busy)
        self.fire(now)
        return leads


class TwoAtOnce(Listing):
    """Who asks has a walk of his own, whatever walks already; what arrives last is believed."""

    walks: tuple[Any, ...] = ()

    def _want(self) -> None:
        self._state = Walk.WANTED

    def _first_page(self, now: float, *, restarted: bool) -> None:
        super()._first_page(now, restarted=restarted)
        self.walks = (*self.walks, self._running)

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        found = [walk for walk in self.walks if walk.call is call]
        if found and not isinstance(outcome, Cancelled):
            self._running, self._state = found[0], Walk.WALKING
            super().concluded(call, outcome, now)
            if found[0].call is call:
                self.walks = tuple(walk for walk in self.walks if walk is not found[0])

    def closed(self, reason: str, now: float) -> None:
        self.walks = ()
        super().closed(reason, now)


class RestartOnChange(Listing):
    """A walk begins anew whenever the list changes."""

    def announced(self, now: float) -> None:
        super().announced(now)
        if self._running is not None:
            self._abort(now)
            self._want_eagerly(now)


class RestartingDebounce(Coalescer):
    """It waits for quiet, however long that takes."""

    @property
    def due(self) -> float | None:
        return None if super().due is None else self._last + self._quiet

    def hit(self, now: float, *, busy: bool = False) -> bool:
        return super().hit(now, busy=True)


class OldCursor(Listing):
    """A walk goes on where it was, over the next connection."""

    cursor: str | None = None

    def closed(self, reason: str, now: float) -> None:
        self.cursor = None if self._running is None else self._running.cursor
        super().closed(reason, now)

    def _request(self, cursor: str | None, number: int, now: float) -> Call:
        kept, self.cursor = self.cursor, None
        return super()._request(kept if cursor is None else cursor, number, now)


class EmptyIsNone(Collector):
    """An empty cursor is none."""

    def add(self, raw: bytes, now: float, default_lifetime: float) -> str | None:
        return super().add(raw, now, default_lifetime) or None


class Torn(Collector):
    """A list is whole, however it was read."""

    def one_digest(self) -> bool:
        return True


class ByLength(Memory):
    """A page is known by its place and its length."""

    lengths: Mapping[tuple[int, int], Any] = {}

    def read(self, index: int, raw: bytes, room: int | None = None) -> Any:
        key = index, len(raw)
        self.lengths = {key: super().read(index, raw, room), **self.lengths}
        return self.lengths[key]


def collecting(bug: type[Collector]) -> Callable[[ClientNode], None]:
    """Have every walk of a client collect its pages in another way."""

    class Collecting(Listing):
        def _first_page(self, now: float, *, restarted: bool) -> None:
            super()._first_page(now, restarted=restarted)
            object.__setattr__(attrgetter("_running.collector")(self), "__class__", bug)

    return become("prompts.listing", Collecting)


# --- apart --------------------------------------------------------------------------------------------


class Borrowing(Listing):
    """There is one cache for all servers of a name."""

    lender: Listing

    def list(self, op: Op, now: float, *, stale_ok: bool = False, limits: Limits | None = None) -> None:
        lent = self.lender.snapshot
        if lent is not None and self.snapshot is None:
            self._client.emit(Listed(op, lent, fresh=True))
        else:
            super().list(op, now, stale_ok=stale_ok, limits=limits)


def one_cache() -> Callable[[ClientNode], None]:
    """Have all clients use the cache of the first."""
    first: list[Listing] = []

    def share(node: ClientNode) -> None:
        listing = node.prompts.listing
        if node.name == "c1":
            first[:] = [listing]
        else:
            object.__setattr__(listing, "__class__", Borrowing)
            vars(listing)["lender"] = first[0]

    return share


class ContextKept(Listing):
    """What was read for another principal is stale, and still there."""

    def forget(self, now: float) -> None:
        self.invalidate("the authorization context changed", now)


class StateAgain(Client):
    """A state that was given for one request goes with the next one, too."""

    state: str | None = None

    def open_call(self, method: str, members: bytes, now: float, **options: Unpack[CallOptions]) -> Call:
        if method == "prompts/get" and self.state is not None:
            members += b',"requestState":' + encode(self.state)
        return super().open_call(method, members, now, **options)

    def provide_input(self, call: CallId, answers: Mapping[str, Any], now: float) -> None:
        found = self._calls.find(call)
        self.state = None if found is None else found.request_state
        super().provide_input(call, answers, now)


# --- requests -----------------------------------------------------------------------------------------


class ReusedIds(Calls):
    """Ids are counted to 4, and from the beginning again."""

    def _start_leg(self, call: Call, now: float) -> None:
        self._wire_ids %= 4
        while self._wire_ids + 1 in self._by_wire:
            self._wire_ids += 1
        super()._start_leg(call, now)


class FalsyZero(Calls):
    """Ids are counted from 0, and 0 is none."""

    def _start_leg(self, call: Call, now: float) -> None:
        call.wire_id = call.wire_id or -1
        super()._start_leg(call, now)

    def answered(self, wire_id: RequestId | None) -> Call | None:
        return super().answered(wire_id) if wire_id else None


def from_zero(node: ClientNode) -> None:
    """Have a client count its requests from 0."""
    calls = attrgetter("client._calls")(node)
    object.__setattr__(calls, "__class__", FalsyZero)
    vars(calls)["_wire_ids"] = -1


class LateAccepted(PromptClient):
    """A command that was given up ends once more when its answer comes."""

    def cancel(self, op: Op, now: float) -> None:
        command = self._commands.find(op)
        call = (
            None
            if command is None or command.call is None
            else attrgetter("_calls")(self.client).find(command.call)
        )
        if call is None:
            super().cancel(op, now)
        else:
            self.client.post(cancellation(call.wire_id))
            self.client.emit(OpFailed(op, Cancelled(), self.snapshot))


class EndlessRetry(PromptClient):
    """A prompt that is unknown is asked for until it is known."""

    def _judge(
        self, op: Op, get: Any, error: RpcError, result: Result, now: float, *, first_leg: bool
    ) -> None:
        self._commands.send(op, now)


class NeverEnding(PromptClient):
    """A list that is given up while it is waited for has no end."""

    def cancel(self, op: Op, now: float) -> None:
        if not self.listing.leave(op, now):
            super().cancel(op, now)


class SharedAnyway(Collector):
    """A list is for everybody, whatever its pages say."""

    def snapshot(self, epoch: int, asked: int, now: float, *, undisturbed: bool) -> Snapshot:
        made = super().snapshot(epoch, asked, now, undisturbed=undisturbed)
        return attrs.evolve(made, private=not made.private)


class Mute(Client):
    """An answer that has come is not told."""

    def emit(self, event: Event) -> None:
        if not isinstance(event, PromptRendered):
            super().emit(event)


# --- the channel --------------------------------------------------------------------------------------


class ReopenedAtOnce(Subscriptions):
    """A subscription that ends is opened at once."""

    def _ended(self, now: float, retry: float | None = None) -> None:
        super()._ended(now, retry)
        self._client.cancel_timer(self._open)
        self._open(None, now)


class AnyTag(Subscriptions):
    """An announcement is an announcement, of whichever subscription."""

    def _judge(self, topic: str, params: Mapping[str, Any]) -> tuple[str | None, bool]:
        problem, counts = super()._judge(topic, params)
        return problem, counts or problem == "foreign-subscription"


class EarlyDropped(Subscriptions):
    """What comes before the acknowledgement was not said."""

    def _judge(self, topic: str, params: Mapping[str, Any]) -> tuple[str | None, bool]:
        problem, counts = super()._judge(topic, params)
        return (None, False) if problem == "before-acknowledgement" else (problem, counts)


_LISTING, _BURST, _MEMORY = "prompts.listing", "prompts.listing._burst", "prompts.listing._memory"
_CALLS, _CHANNEL, _PROMPTS = "client._calls", "client.channels", "prompts"


def _bug(
    name: str,
    found_by: str,
    bug: type,
    path: str = _LISTING,
    scenario: Scenario = TORTURE,
    *,
    client: Callable[[ClientNode], None] | None = None,
) -> Variant:
    """A variant that is told by the class of the part that has the bug."""
    return Variant(name, bug.__doc__ or "", found_by, scenario, client=client or become(path, bug))


CLIENT_ZOO: Sequence[Variant] = (
    _bug("stale page after invalidation", "C1", TtlAlone),
    _bug("dirty flag cleared on completion", "C1", DirtyFlagCleared),
    _bug("acknowledgement without invalidation", "C2", CoverageIgnored),
    _bug("lost trailing rerun", "C3", LostTrailingRerun, scenario=BUSY),
    _bug("lost trailing hit", "C3", LostTrailingHit, _BURST, BUSY),
    _bug("last arrival wins", "C4", TwoAtOnce),
    _bug("no gap recovery", "C5", NoGapRecovery),
    _bug("pages known by their length", "C6", ByLength, _MEMORY),
    _bug("torn walk called verified", "C7", Torn, client=collecting(Torn)),
    _bug("cursor of an old epoch", "C8", OldCursor),
    _bug("falsy empty cursor", "C8", EmptyIsNone, client=collecting(EmptyIsNone)),
    _bug("two walks at once", "C9", TwoAtOnce),
    _bug("restart on every change", "C10", RestartOnChange, scenario=STORM),
    _bug("restarting debounce", "C10", RestartingDebounce, _BURST, STORM),
    _bug("fresh at the bound", "C11", FreshAtTheBound),
    _bug("TTL of the first page only", "C11", FirstPage, client=collecting(FirstPage)),
    _bug("TTL as a timer", "C12", TtlTimer),
    _bug("stale while revalidating", "C13", StaleWhileRevalidate),
    _bug("one cache for servers of a name", "C14", Borrowing, scenario=TWO_SERVERS, client=one_cache()),
    _bug("cache of another principal", "C15", ContextKept),
    _bug("state sent with another request", "C16", StateAgain, "client"),
    _bug("subscription reopened at once", "C17", ReopenedAtOnce, _CHANNEL),
    _bug("id reused", "C18", ReusedIds, _CALLS),
    _bug("falsy id 0", "C18", FalsyZero, client=from_zero),
    _bug("late response accepted after cancel", "C19", LateAccepted, _PROMPTS),
    _bug("any subscription's announcement counts", "C20", AnyTag, _CHANNEL, FOREIGN_TAGS),
    _bug("early announcement dropped", "C21", EarlyDropped, _CHANNEL, EARLY),
    _bug("endless retry of an unknown name", "C22", EndlessRetry, _PROMPTS),
    _bug("cancelled list never ends", "C23", NeverEnding, _PROMPTS),
    _bug("scope of a page ignored", "C24", SharedAnyway, client=collecting(SharedAnyway)),
    _bug("answer kept", "C25", Mute, "client"),
)
"""The bugs, in the order of the properties that find them."""
