"""What a function that answers a request can say and ask meanwhile, wherever it runs.

`Handling` is the request as its function sees it: whether somebody still waits for the answer, and a way to
report progress. It is found by a context variable, so it is there in the function's task or thread, and in
what is started from there with a copy of its context. Progress belongs to the thread that drives the server:
from any other it is brought there, and the function waits until it has been taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from typing import Any

Report = Callable[[float, float | None, str | None], bool]
Portal = Callable[[Callable[[], None]], None]

_handling: ContextVar[Handling | None] = ContextVar("mcp_sansio_handling", default=None)


class Handling:
    """A request that a function answers. Made in the thread that drives the server, which is where `report`
    is called and whither `portal` leads. `withdraw` drops what is done for it elsewhere.
    """

    def __init__(self, report: Report, portal: Portal) -> None:
        self.over = False
        self.withdraw: Callable[[], None] = _nothing
        self._report = report
        self._portal = portal
        self._home = threading.get_ident()
        self._unanswered: set[Future[bool]] = set()

    def enter(self) -> None:
        """Let this be what the functions below find in the current context."""
        _handling.set(self)

    def end(self) -> None:
        """Nobody waits for the answer any more, or it has been given. In the thread of the server."""
        self.over = True
        self.withdraw()
        for answer in [*self._unanswered]:
            answer.cancel()

    def report(self, *progress: Any) -> bool:
        """Report progress, from any thread."""
        if threading.get_ident() == self._home:
            return not self.over and self._report(*progress)
        answer: Future[bool] = Future()
        self._unanswered.add(answer)
        try:
            if self.over:  # looked at last: from here on `end` would see the answer
                return False
            self._portal(lambda: self._take(answer, *progress))
            return answer.result()
        except CancelledError:
            return False
        finally:
            self._unanswered.discard(answer)

    def _take(self, answer: Future[bool], *progress: Any) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(self._report(*progress))
        except Exception as error:  # noqa: BLE001  # it belongs to the function
            answer.set_exception(error)


def _nothing() -> None:
    pass


def cancelled() -> bool:
    """Whether nobody waits any more for what the current prompt's function, or completer, returns.

    An `async` function is cancelled then. One that runs in a thread cannot be: what it returns is dropped,
    and it had better look here from time to time. Outside of any request this is false.
    """
    handling = _handling.get()
    return handling is not None and handling.over


def report_progress(value: float, total: float | None = None, message: str | None = None) -> bool:
    """Report progress of the request that the current function answers; it leaves at once.

    False if nobody hears it: the client did not ask for progress, or has given up, or there is no request.
    Raises `LocalProtocolError` for a `value` that is not greater than the last one.
    """
    handling = _handling.get()
    return handling is not None and handling.report(value, total, message)
