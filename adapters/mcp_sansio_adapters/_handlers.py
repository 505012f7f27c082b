"""What a server's events ask the application to do, as jobs that any front end can run.

A job has `work`, which calls the application's function and may return an awaitable, and a way to settle
the request with what came of it. It never runs inside the reader: the front end runs each in a task or
thread of its own and drops it when the peer gives up on the request. Where there is a loop, a job that may
block belongs in a thread; the awaitable that it may return is the loop's.

How a prompt's function is called: with the values of the arguments by keyword, so many of them as it
takes. If it has a parameter named `asked` (and the prompt no argument of that name), it gets the
`PromptRequested` there: the client's answers to an `AskInput`, the state it had returned then, the
principal, the progress token. What it raises becomes a neutral -32603, and is logged; an `RpcError` that
it returns is the client's to see.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from mcp_sansio import (
    METHOD_NOT_FOUND,
    CompletionRequested,
    Event,
    IncomingRequest,
    LocalProtocolError,
    PromptRequested,
    PromptServer,
    RequestCancelled,
    RequestReceived,
    RpcError,
    Server,
)

from ._defaults import now
from ._hooks import OnEvent, OnRequest, logger, tell
from ._recording import UNRECORDED, Recording


@attrs.frozen(eq=False)
class Job:
    """A request that the application answers; `blocks` says whether `work` may take its time."""

    request: IncomingRequest
    work: Callable[[], Any]
    settle: Callable[[Any, float], None]
    blocks: bool = False


def prompts_of(server: Server) -> PromptServer | None:
    """The layer of `server` that serves prompts."""
    return next((layer for layer in server.layers if isinstance(layer, PromptServer)), None)


class Handlers:
    """Turns the events of one server into jobs. `start` runs one, `stop` drops that of a request."""

    def __init__(
        self,
        server: Server,
        start: Callable[[Job], None],
        stop: Callable[[IncomingRequest], None],
        on_request: OnRequest | None = None,
        on_event: OnEvent | None = None,
        *,
        recording: Recording = UNRECORDED,
    ) -> None:
        self._server = server
        self.recording = recording
        self._prompts = prompts_of(server)
        self._start = start
        self._stop = stop
        self._on_request = on_request
        self._on_event = on_event

    def handle(self, event: Event) -> None:
        """Take in an event of the server."""
        self.recording.event(event)
        tell(self._on_event, event)
        match event:
            case PromptRequested(request) if self._prompts is not None:
                settle = partial(self._prompts.answer, event)
                self._start(Job(request, event.call, settle, event.blocks))
            case CompletionRequested(request) if self._prompts is not None:
                settle = partial(self._prompts.complete, event)
                self._start(Job(request, event.call, settle, event.blocks))
            case RequestReceived(request):
                work = partial(self._answer, event)
                self._start(Job(request, work, partial(self._server.respond, request)))
            case RequestCancelled(request):
                self._stop(request)
            case _:
                pass

    def progress(self, job: Job, value: float, total: float | None, message: str | None) -> bool:
        """Report progress of a job; false if its client did not ask for it."""
        when = now()
        self.recording.progress(job.request, when, value=value, total=total, message=message)
        return self._server.progress(job.request, value, when, total=total, message=message)

    def settle(self, job: Job, value: Any) -> None:
        """Answer with what the work came to."""
        when = now()
        try:
            self.recording.answer(job.request, value, when)
            if isinstance(value, RpcError):
                self._server.refuse(job.request, value, when)
            else:
                job.settle(value, when)
        except Exception as error:  # noqa: BLE001  # the application's values are its own
            self.fail(job, error)

    def fail(self, job: Job, error: Exception) -> None:
        """The work failed: the client is told nothing but that."""
        logger.error("%s failed", job.request.method, exc_info=error)
        when, reason = now(), f"{type(error).__name__}: {error}"
        try:
            self.recording.fail(job.request, reason, when)
            self._server.fail(job.request, reason, when)
        except LocalProtocolError:
            logger.debug("nobody waits for %s any more", job.request.method)

    def _answer(self, event: RequestReceived) -> Any:
        if self._on_request is None:
            return RpcError(METHOD_NOT_FOUND, f"nobody answers {event.request.method}")
        return self._on_request(event)
