"""The cached list of a client: when it is stale, and when it is fetched again.

Every invalidation raises the *epoch*; a walk remembers the epoch in which its first page was asked
for, and its snapshot is fresh only while that epoch lasts. At most one walk runs and one more is
wanted, however many ask (`Walk` in `_tables`, `Waiters`). Invalidations that the server announces are
thinned out by a `Coalescer`; a caller who asks is never made to wait for that. Walks start only when the
notification channel has been opened or is known not to come ("listen first, then list"), so that no
change falls between the two. The machinery knows what it lists through a `ListSpec` alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, cast

import attrs

from ._calls import Call, Limits, Outcome, Reply, encode_members
from ._checks import from_
from ._coalescer import Coalescer
from ._errors import (
    INTERNAL_ERROR,
    Closed,
    Failure,
    InvalidMessage,
    InvalidReply,
    Lost,
    NotSupported,
    RpcError,
)
from ._events import Diagnostic, Invalidated, Listed, Op, OpFailed, Updated, WalkFailed
from ._memory import ListSpec, Memory
from ._snapshot import Collector, Snapshot
from ._tables import WALK, Walk, WalkInput
from ._versions import Era
from ._waiters import Answer, Result, Waiters

if TYPE_CHECKING:
    from ._client import Client


MAX_LOSSES = 2
"""How often one walk asks again for pages whose exchanges were lost."""


@attrs.frozen(kw_only=True)
class ListingConfig:
    """How a cached list behaves. Times are seconds.

    `eager`: an announced change is fetched at once, else when somebody asks. `quiet` and `max_wait`
    thin out announcements. `heuristic`: how long a list without `ttlMs` is fresh in the legacy era
    when no change would be announced. `wait`: how long a caller waits for a list in all. The other
    limits end a walk that does not come to its end. Raises `LocalProtocolError` for what is no time.
    """

    eager: bool = True
    quiet: float = attrs.field(default=0.1, validator=from_(0))
    max_wait: float = attrs.field(default=1.0, validator=from_(0))
    heuristic: float = attrs.field(default=60.0, validator=from_(0))
    wait: float | None = attrs.field(default=300.0, validator=from_(0))
    max_pages: int = attrs.field(default=1000, validator=from_(1))
    max_items: int = attrs.field(default=100_000, validator=from_(1))
    max_bytes: int = attrs.field(default=256 * 1024 * 1024, validator=from_(1))
    no_progress: int = attrs.field(default=3, validator=from_(1))


@attrs.define(eq=False)
class _Running:
    """The walk that is under way; `asked` is the wire id of the request for its first page."""

    epoch: int
    eager: bool
    restarted: bool
    asked: int
    call: Call
    collector: Collector
    cursor: str | None = None
    losses: int = 0


class Listing:
    """One cached list of one client."""

    def __init__(self, spec: ListSpec, config: ListingConfig | None = None) -> None:
        self.spec = spec
        self.config: ListingConfig = config or ListingConfig()
        self.snapshot: Snapshot | None = None
        self.epoch: int = 0
        self.moves: int = 0
        self._state = WALK.start
        self._running: _Running | None = None
        self._memory = Memory(spec)
        self._waiters = Waiters(self._unwant)
        self._eager = False
        self._burst = Coalescer(self.config.quiet, self.config.max_wait)
        self._judged = -math.inf
        self._failures = 0
        self._retrying = False
        self._live = False

    def bind(self, client: Client) -> None:
        """Called once, by the layer that this list belongs to."""
        self._client = client
        self._waiters.bind(client)

    # --- commands ---

    def fresh(self, now: float) -> bool:
        """Whether the snapshot may be used without asking: "fresh while now < t_received + ttlMs"."""
        snapshot = self.snapshot
        return snapshot is not None and snapshot.epoch == self.epoch and now < snapshot.expires

    def list(self, op: Op, now: float, *, stale_ok: bool = False, limits: Limits | None = None) -> None:
        """Answer `op` from the cache if that is fresh (or stale is good enough), else by a walk.

        `limits.total` takes the place of `ListingConfig.wait`.
        """
        fresh = self.fresh(now)
        if self.snapshot is not None and (fresh or stale_ok):
            self._client.emit(Listed(op, self.snapshot, fresh))
        else:
            self._join(op, self._answer(op), now, self._patience(limits))

    def refresh(self, op: Op, now: float, *, limits: Limits | None = None) -> None:
        """Answer `op` by a walk that starts from now on; `limits` as for `list`."""
        self.invalidate("refresh", now)
        self._join(op, self._answer(op), now, self._patience(limits))

    def _patience(self, limits: Limits | None) -> float | None:
        return self.config.wait if limits is None else limits.total

    def leave(self, op: Op, now: float) -> bool:
        """`op` waits no longer, if it did; what nobody else wants is given up."""
        waited = self._waiters.leave(op)
        if waited:
            self._unwant(now)
        return waited

    def judge(self, op: Op, since: int, answer: Answer, now: float, until: float | None) -> None:
        """Answer with a list that was asked for after the request with the wire id `since`; not later than
        at `until`.

        For that a walk is made at most once per `max_wait`; inside that time the list has to do that the
        walk under way will bring, else the last one.
        """
        snapshot, running = self.snapshot, self._running
        limits = [self.config.wait, None if until is None else until - now]
        limit = min((seconds for seconds in limits if seconds is not None), default=None)
        if snapshot is not None and snapshot.asked > since:
            answer(snapshot, now)
        elif running is not None and running.asked > since:
            self._waiters.join(op, answer, now, limit)
        elif now >= self._judged + self.config.max_wait:
            self._judged = now
            self.invalidate("stale name", now, evidence=True)
            self._join(op, answer, now, limit)
        elif self._state is Walk.WALKING:
            self._waiters.join(op, answer, now, limit)
        elif self._state is not Walk.IDLE:
            self._waiters.queue(op, answer, now, limit)
        else:
            answer(WalkFailed("error", None) if snapshot is None else snapshot, now)

    def invalidate(self, reason: str, now: float, *, evidence: bool = False) -> None:
        """The list is stale. `evidence` is a doubt of our own, which proves no change."""
        held = self.snapshot is not None and self.snapshot.epoch == self.epoch
        self.epoch += 1
        self.moves += not evidence
        if held:
            self._client.emit(Invalidated(self.spec.key, self.epoch, reason))

    def forget(self, now: float) -> None:
        """The authorization context has changed: nothing that was read in the old one may be used."""
        self.invalidate("the authorization context changed", now)
        self.snapshot = None
        self._memory = Memory(self.spec)
        if self._running is not None:
            self._abort(now)
            self._want()
            self._try_start(now)

    # --- what the layer hears ---

    def opened(self, now: float) -> None:
        """Requests can be made."""
        gate = self.gate()
        if gate is not None:
            self._waiters.fail(gate, now)
            self._unwant(now)
            return
        self._try_start(now)

    def channel(self, live: bool, now: float) -> None:
        """The channel came or went: "in doubt, invalidate"; or it is known not to come."""
        moved, self._live = live != self._live, live
        if moved and (self.snapshot is not None or self._running is not None):
            self.invalidate("notification channel opened" if live else "notification channel lost", now)
            if self.config.eager:
                self._want_eagerly(now)
        self._try_start(now)

    def announced(self, now: float) -> None:
        """The server says that the list changed."""
        self.invalidate("list_changed", now)
        if not self.config.eager:
            return
        if self._burst.hit(now, busy=self._running is not None):
            self._want_eagerly(now)
        due = self._burst.due
        if due is not None:
            self._client.set_timer(self._calmed, due)

    def closed(self, reason: str, now: float) -> None:
        """The carrier is gone: what ran is dropped, and begins anew on the next one."""
        self._live = False
        if self.snapshot is not None:
            self.invalidate("disconnected", now)
            self._eager = self.config.eager
        self._waiters.lost(reason, now)
        self._abort(now)
        if self._eager or self._waiters.queued:
            self._want()
        self._unwant(now)

    def finished(self, reason: str, now: float) -> None:
        """Nothing can be asked any more."""
        self._abort(now)
        self._eager = False
        self._client.cancel_timer(self._calmed)
        self._client.cancel_timer(self._retry)
        self._waiters.fail(Closed(reason), now)
        self._unwant(now)

    def concluded(self, call: Call, outcome: Outcome, now: float) -> None:
        """A page request is over."""
        if self._running is None or call is not self._running.call:
            return
        if not isinstance(outcome, Reply):
            self._page_failed(self._running, outcome, now)
            return
        try:
            self._page(self._running, outcome.raw, now)
        except InvalidMessage as error:
            self._walk_failed(self._running, "error", InvalidReply(str(error)), now)

    # --- wanting and starting ---

    def gate(self) -> NotSupported | None:
        """Why the list cannot be asked for, if the server is known not to have declared it."""
        if self._client.era is None or self._client.capabilities.get(self.spec.capability) is not None:
            return None
        return NotSupported(self.spec.capability)

    @property
    def ready(self) -> bool:
        """Whether the list may be asked for now."""
        return self._client.era is not None and self.gate() is None

    def _join(self, op: Op, answer: Answer, now: float, limit: float | None) -> None:
        """A waiter joins a running walk only if nothing was invalidated since its first request."""
        gate = self.gate()
        if gate is not None and not self._client.recheck(now):
            answer(gate, now)
            return
        if self._running is not None and self._running.epoch == self.epoch:
            self._waiters.join(op, answer, now, limit)
        else:
            self._waiters.queue(op, answer, now, limit)
            self._want()
            self._try_start(now)

    def _want(self) -> None:
        self._state = WALK.next(self._state, WalkInput.WANT)

    def _want_eagerly(self, now: float) -> None:
        self._eager = True
        self._want()
        self._try_start(now)

    def _unwant(self, now: float) -> None:
        """Give up what nobody waits for."""
        if not self._waiters.queued and not self._eager:
            self._state = WALK.next(self._state, WalkInput.UNWANT)
        running = self._running
        if running is not None and not self._waiters.joined and not running.eager:
            self._abort(now)
            self._try_start(now)

    def _calmed(self, _: Hashable, now: float) -> None:
        self._burst.fire(now)
        self._want_eagerly(now)

    def _retry(self, _: Hashable, now: float) -> None:
        self._retrying = False
        self._want_eagerly(now)

    def _try_start(self, now: float) -> None:
        if self._state is not Walk.WANTED or not self.ready:
            return
        if self._client.channel(self.spec.topic) is not None:
            self._state = WALK.next(self._state, WalkInput.START)
            self._take_over()
            self._first_page(now, restarted=False)

    def _take_over(self) -> None:
        """The walk that starts is also the one that an eager walk which failed is to be tried again by."""
        if self._retrying:
            self._client.cancel_timer(self._retry)
            self._eager, self._retrying = True, False

    def _first_page(self, now: float, *, restarted: bool) -> None:
        """Ask for the first page. What has been announced so far is thereby acted on, whoever asked first."""
        held = self._burst.fire(now)
        if held:
            self._client.cancel_timer(self._calmed)
        eager, self._eager = self._eager or held, False
        self._waiters.started()
        call = self._request(None, 0, now)
        collector = Collector(self.spec, self._memory, self.config.max_items)
        self._running = _Running(self.epoch, eager, restarted, call.wire_id, call, collector)

    def _request(self, cursor: str | None, number: int, now: float) -> Call:
        """Ask for page `number` of a walk."""
        members = b"" if cursor is None else encode_members({"cursor": cursor})
        recognizes = partial(self._memory.recognizes, number)
        return self._client.open_call(self.spec.method, members, now, owner=self, recognizes=recognizes)

    # --- pages ---

    def _page(self, walk: _Running, raw: bytes, now: float) -> None:
        collector = walk.collector
        cursor = collector.add(raw, now, self._lifetime())
        for hint in collector.nonsense:
            self._client.emit(Diagnostic("bad-hint", f"{self.spec.method}: {hint} is nonsense"))
        if self._means_done(walk):
            collector.drop_last()
            cursor = None
        limit = self._limit(collector, more=cursor is not None)
        if limit is not None:
            self._walk_failed(walk, limit, None, now)
        elif cursor is None:
            self._publish(walk, now)
        else:
            walk.cursor = cursor
            walk.call = self._request(cursor, collector.pages, now)

    def _lifetime(self) -> float:
        """How long a page without `ttlMs` is fresh: the modern era says not at all."""
        if self._client.era is Era.MODERN:
            return 0.0
        return math.inf if self._live else self.config.heuristic

    def _means_done(self, walk: _Running) -> bool:
        """Legacy servers that mean "done" by an empty cursor answer it with a page again that they have
        sent before; the modern revision says that "an empty string is a valid cursor".
        """
        return self._client.era is Era.LEGACY and walk.cursor == "" and walk.collector.repeats()

    def _limit(self, collector: Collector, *, more: bool) -> str | None:
        config = self.config
        if collector.items > config.max_items:
            return "items"
        if collector.bytes > config.max_bytes:
            return "bytes"
        if more and collector.pages >= config.max_pages:
            return "pages"
        return "no-progress" if more and collector.idle >= config.no_progress else None

    def _publish(self, walk: _Running, now: float) -> None:
        undisturbed = self._live and walk.epoch == self.epoch  # a channel that comes or goes raises the epoch
        before = self.snapshot
        snapshot = walk.collector.snapshot(walk.epoch, walk.asked, now, undisturbed=undisturbed)
        self.snapshot = snapshot
        self._failures = 0
        self._client.emit(Updated(self.spec.key, walk.epoch, snapshot, *snapshot.difference(before)))
        self._finish_walk(snapshot, now)

    def _finish_walk(self, answer: Snapshot | WalkFailed, now: float) -> None:
        self._running = None
        self._state = WALK.next(self._state, WalkInput.FINISH)
        self._waiters.answer(answer, now)
        self._try_start(now)

    def _page_failed(self, walk: _Running, failure: Failure, now: float) -> None:
        """Give up, or begin anew: "if a cursor becomes invalid, the client SHOULD discard all cached pages
        and re-fetch from the beginning". Once.
        """
        refused = isinstance(failure, RpcError) and failure.code != INTERNAL_ERROR
        if isinstance(failure, Lost) and walk.losses < MAX_LOSSES:
            self._client.set_timer(self._ask_again, now + self._client.config.delay(walk.losses), walk)
            walk.losses += 1
        elif not refused or walk.cursor is None:
            self._walk_failed(walk, "error", failure, now)
        elif walk.restarted:
            self._walk_failed(walk, "cursor", failure, now)
        else:
            self._eager = self._eager or walk.eager
            self._first_page(now, restarted=True)
            self._unwant(now)

    def _ask_again(self, key: Hashable, now: float) -> None:
        """A page whose exchange was lost is safe to ask for again."""
        walk = cast("_Running", key)
        walk.call = self._request(walk.cursor, walk.collector.pages, now)

    def _walk_failed(self, walk: _Running, reason: str, failure: Failure | None, now: float) -> None:
        """Keep the last snapshot; try again only for those who want to be kept up to date. Who does not
        wait for the walk is told, too.
        """
        if walk.eager:
            self._client.set_timer(self._retry, now + self._client.config.delay(self._failures))
            self._retrying = True
            self._failures += 1
        if not self._waiters.joined:
            text = f"{self.spec.method}: {reason if failure is None else failure}"
            self._client.emit(Diagnostic("walk-failed", text))
        partial = tuple(walk.collector.by_name.values())
        self._finish_walk(WalkFailed(reason, failure, partial), now)

    def _abort(self, now: float) -> None:
        """Drop the walk; late pages are ignored, and who waits for it waits for the next one."""
        running, self._running = self._running, None
        if running is not None:
            self._client.cancel_timer(self._ask_again, running)
            self._state = WALK.next(self._state, WalkInput.ABORT)
            self._eager = self._eager or running.eager
            self._waiters.dropped()
            self._client.cancel(running.call.id, now)

    # --- answers ---

    def _answer(self, op: Op) -> Answer:
        return partial(self._answered, op)

    def _answered(self, op: Op, result: Result, now: float) -> None:
        if isinstance(result, Snapshot):
            self._client.emit(Listed(op, result, self.fresh(now)))
        else:
            self._client.emit(OpFailed(op, result, self.snapshot))
