"""Those who wait for a session: for the end of one operation, or for changes of the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from mcp_sansio import CallId, Op, Updated

from ._exceptions import ConnectionFailed
from ._hooks import OnProgress

if TYPE_CHECKING:
    from ._session import Session

T = TypeVar("T")


def nothing() -> None:
    """What is done for who is not there yet."""


class Waiter(Generic[T]):
    """Somebody who waits for the end of one operation. `stop_helper` ends what is done for it meanwhile."""

    def __init__(self, key: Op | CallId, on_progress: OnProgress | None = None) -> None:
        self.key = key
        self.on_progress = on_progress
        self.wake: Callable[[], None] = nothing
        self.stop_helper: Callable[[], object] = nothing
        self.done = False
        self._value: T | None = None
        self._error: BaseException | None = None

    def finish(self, value: T | None = None, error: BaseException | None = None) -> None:
        """The operation is over."""
        self._value, self._error, self.done = value, error, True
        self.stop_helper()
        self.wake()

    def result(self) -> T:
        """What came of it; raises what went wrong."""
        if self._error is not None:
            raise self._error
        return cast("T", self._value)


class Feed:
    """The changes of the list for one reader.

    At most one change waits. A reader who is slower than the server gets one that spans all that
    happened since the last one that he saw; so nothing is lost, and nothing piles up.
    """

    def __init__(self, session: Session) -> None:
        self.wake: Callable[[], None] = nothing
        self._session = session
        self._seen = session.prompts.snapshot
        self._latest: Updated | None = None
        session.feeds.add(self)

    def updated(self, event: Updated) -> None:
        """A list was published."""
        self._latest = event
        self.wake()

    def take(self) -> Updated | None:
        """The next change; None if nothing has changed. Raises `ConnectionFailed` when none can come."""
        latest, self._latest = self._latest, None
        if latest is not None:
            added, removed, changed = latest.snapshot.difference(self._seen)
            self._seen = latest.snapshot
            if added or removed or changed:
                return Updated(latest.key, latest.epoch, latest.snapshot, added, removed, changed)
        if self._session.ending is not None and not self._session.closing:
            raise ConnectionFailed(self._session.ending)
        return None

    @property
    def ended(self) -> bool:
        """Whether the client has been closed, so that no change will come."""
        return self._session.closing
