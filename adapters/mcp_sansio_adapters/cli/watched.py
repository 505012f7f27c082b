"""A list of prompts that is watched, as far as that needs neither a server nor a screen.

Events of the core go in with the time, and what can be shown comes out: how things stand, the prompts with
what happened to each of them last, and the latest changes. `now` is the adapters' clock; `offset` makes Unix
time of it.
"""

from __future__ import annotations

import math
from collections import deque

import attrs

from mcp_sansio import (
    ChannelChanged,
    Diagnostic,
    Disconnected,
    Event,
    HeadPassed,
    Invalidated,
    MessagePassed,
    Negotiated,
    Prompt,
    Snapshot,
    Updated,
)
from mcp_sansio._json import Notification, Request, parse

from .changes import ListChange, compared

REMEMBERED = 200
"""How many changes and notes are kept."""


@attrs.frozen
class Row:
    """A prompt, with what happened to it last and when, in Unix time; nothing since the first list."""

    prompt: Prompt
    what: str = ""
    time: float | None = None


class Watched:
    """What is known of a list that is watched, and of the connection to its server."""

    def __init__(self, now: float, offset: float) -> None:
        self.began = now
        self.offset = offset
        self.negotiated: Negotiated | None = None
        self.snapshot: Snapshot | None = None
        self.epoch = 0
        self.live: bool | None = None
        self.requests = 0
        self.notifications = 0
        self.restarts = 0
        self.losses = 0
        self.count = 0
        self.changes: deque[ListChange] = deque(maxlen=REMEMBERED)
        self.notes: deque[tuple[float, str]] = deque(maxlen=REMEMBERED)
        self._lost: tuple[float, str] | None = None
        self._shown: Snapshot | None = None
        self._stale: tuple[float, str] | None = None
        self._last: dict[str, tuple[str, float | None]] = {}

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._lost is None

    # --- what happens ---

    def hear(self, event: Event, now: float) -> str | None:
        """Take in an event of the core; a sentence if it is one that a person should hear of."""
        said = None
        match event:
            case Negotiated():
                said = self._negotiated(event, now)
            case Disconnected(reason):
                self._lost, self.live = (now, reason), None
                self.losses += 1
                said = f"the connection is lost: {reason}"
            case ChannelChanged(live=live, reason=reason):
                said = self._channel(live, reason)
            case Invalidated(epoch=epoch, reason=reason):
                self.epoch, self._stale = epoch, (now, reason)
            case Updated(epoch=epoch, snapshot=snapshot):
                said = self._updated(epoch, snapshot, now)
            case Diagnostic():
                said = f"{event.kind}: {event.text}"
            case _:
                pass
        return None if said is None else self.note(said, now)

    def overhear(self, passed: MessagePassed | HeadPassed) -> None:
        """Count what passes over the wire; a batch is nothing that we send, and hardly what is sent to us."""
        if not isinstance(passed, MessagePassed):
            return
        message = parse(passed.data)
        self.requests += passed.sent and isinstance(message, Request)
        self.notifications += not passed.sent and isinstance(message, Notification)

    def note(self, text: str, now: float) -> str:
        """Keep a sentence for people."""
        self.notes.append((now + self.offset, text))
        return text

    def publish(self, snapshot: Snapshot, now: float) -> ListChange | None:
        """A list to be shown: what changed since the last one, if anything did."""
        change = compared(self._shown, snapshot, now + self.offset)
        self._shown = snapshot
        if change is None or change.first:
            return change
        self.count += 1
        self.changes.append(change)
        for prompt in change.added:
            self._last[prompt.name] = ("added", change.time)
        for name, fields in change.changed.items():
            self._last[name] = (", ".join(fields), change.time)
        for name in change.removed:
            self._last.pop(name, None)
        return change

    def _negotiated(self, event: Negotiated, now: float) -> str | None:
        lost, self._lost = self._lost, None
        self.negotiated = event
        if lost is None:
            return None
        self.restarts += 1
        return f"connected again after {span(now - lost[0])} ({lost[1]})"

    def _channel(self, live: bool, reason: str) -> str | None:
        """A channel goes with its connection, of which has been told."""
        before, self.live = self.live, live if self.connected else None
        if not self.connected or before is None:
            return None
        self.losses += not live
        return "changes are announced again" if live else f"changes are not announced any more: {reason}"

    def _updated(self, epoch: int, snapshot: Snapshot, now: float) -> str | None:
        """The core publishes a walk that was overtaken, too; its list is stale from the beginning."""
        known = () if self.snapshot is None else self.snapshot.problems
        self.snapshot = snapshot
        self._stale = (now, "it changed meanwhile") if epoch < self.epoch else None
        self.epoch = max(self.epoch, epoch)
        new = [problem for problem in snapshot.problems if problem not in known]
        return f"left out: {'; '.join(new)}" if new else None

    # --- what is shown ---

    def freshness(self, now: float) -> str:
        """Whether the list may be used without asking, and for how long that has been so, or will be."""
        if self.snapshot is None:
            return "no list yet"
        if self._stale is not None:
            return f"stale for {span(now - self._stale[0])}: {self._stale[1]}"
        left = self.snapshot.expires - now
        if left == math.inf:
            return "fresh until a change is announced"
        return f"fresh for {span(left)} more" if left > 0 else f"expired {span(-left)} ago"

    def fresh(self, now: float) -> bool:
        """Whether the list may be used without asking."""
        return self.snapshot is not None and self._stale is None and now < self.snapshot.expires

    def rows(self) -> list[Row]:
        """All prompts, those that changed last first, the others in the order of the list."""
        prompts: tuple[Prompt, ...] = () if self._shown is None else self._shown.items
        rows = [Row(prompt, *self._last.get(prompt.name, ("", None))) for prompt in prompts]
        return sorted(rows, key=lambda row: math.inf if row.time is None else -row.time)

    def summary(self, now: float) -> str:
        """What came of it all."""
        interruptions = f", {counted(self.losses, 'interruption')}" if self.losses else ""
        size = 0 if self._shown is None else len(self._shown)
        changes = counted(self.count, "change")
        return f"watched for {span(now - self.began)}: {changes}{interruptions}; {counted(size, 'prompt')}"


def span(seconds: float) -> str:
    """A time span, for people."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
