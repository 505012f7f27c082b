"""The functions of the application that the adapters call, and how they are called.

Those that only listen must neither block nor raise; what they raise is logged, and costs nothing else. Those
that give an answer may be asynchronous where there is a loop; what they raise belongs to whoever asked.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import attrs

from mcp_sansio import (
    Event,
    HeadPassed,
    InputNeeded,
    LocalProtocolError,
    MessagePassed,
    OnMessage,
    ProgressReported,
    RequestHead,
    RequestReceived,
    RpcError,
)

T = TypeVar("T")

logger = logging.getLogger("mcp_sansio_adapters")

_CHALLENGE = re.compile(r"[!-~](?:[ -~]*[!-~])?")

Answers: TypeAlias = Mapping[str, Any]
OnInput: TypeAlias = Callable[[InputNeeded], Answers | Awaitable[Answers]]
"""Gives the input that a server wants: for every key of `requests` the result of that request."""

RequestAnswer: TypeAlias = Mapping[str, Any] | RpcError
OnRequest: TypeAlias = Callable[[RequestReceived], RequestAnswer | Awaitable[RequestAnswer]]
"""Answers a request that belongs to no layer: with its result, or with an error."""

OnEvent: TypeAlias = Callable[[Event], None]
"""Hears of every event of the core, before anything is done about it."""

OnProgress: TypeAlias = Callable[[ProgressReported], None]
"""Hears of the progress of one request."""

OnStderr: TypeAlias = Callable[[bytes], None]
"""Hears what a child process writes to stderr, as it comes."""


@attrs.frozen
class Unauthorized:
    """A request is refused: `challenge` is its `WWW-Authenticate`, `reason` is for people.

    Raises `LocalProtocolError` for a challenge that no header can hold, and a `status` other than 4xx.
    """

    challenge: str
    status: int = 401
    reason: str = "unauthorized"

    def __attrs_post_init__(self) -> None:
        if not _CHALLENGE.fullmatch(self.challenge):
            raise LocalProtocolError("a challenge is visible ASCII in one line")
        if not 400 <= self.status < 500:
            raise LocalProtocolError("a request is refused with a status from 400 to 499")


Principal: TypeAlias = str | None
Authenticate: TypeAlias = Callable[
    [RequestHead], Principal | Unauthorized | Awaitable[Principal | Unauthorized]
]
"""Says on whose behalf an HTTP request comes: a name, None for nobody in particular, or a refusal."""


@attrs.frozen
class Undecided:
    """The hook that was to say on whose behalf a request comes has failed."""


Verdict: TypeAlias = Principal | Unauthorized | Undecided


@attrs.frozen
class Hooks:
    """What a client calls."""

    on_input: OnInput | None = None
    on_request: OnRequest | None = None
    on_event: OnEvent | None = None
    on_message: OnMessage | None = None


def tell(listener: Callable[[T], None] | None, news: T) -> None:
    """Call a function that only listens."""
    if listener is None:
        return
    try:
        listener(news)
    except Exception:  # it is the application's, and no reason to break the connection
        logger.exception("a hook failed")


def guarded(listener: OnMessage | None) -> OnMessage | None:
    """The function in a form that does not raise; None stays None, so that nothing is told to nobody."""
    if listener is None:
        return None

    def hear(passed: MessagePassed | HeadPassed) -> None:
        tell(listener, passed)

    return hear


def value_of(function: Callable[..., Any] | None, *args: object) -> Any:
    """Call a function for its answer, where there is no loop that could await one."""
    value = None if function is None else function(*args)
    if inspect.iscoroutine(value):
        value.close()
        raise LocalProtocolError("an asynchronous function needs an event loop")
    return value


async def verdict_of(authenticate: Authenticate | None, head: RequestHead) -> Verdict:
    """On whose behalf a request comes; what the hook raises is logged, and nobody's to see."""
    try:
        verdict: Verdict = await awaited(authenticate, head)
    except Exception:  # whatever an application raises is its own
        logger.exception("authenticating %s %s failed", head.method, head.target)
        verdict = Undecided()
    return verdict


async def awaited(function: Callable[..., Any] | None, *args: object) -> Any:
    """Call a function for its answer, whether or not it is asynchronous."""
    value = None if function is None else function(*args)
    return await value if inspect.isawaitable(value) else value
