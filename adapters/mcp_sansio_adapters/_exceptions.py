"""What the user-facing clients raise.

The core reports outcomes as values; a person who awaits a method wants an exception. There are few: the
connection is gone, the request failed, the prompt is gone, the server asked for input that nobody gives.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping

import attrs

from mcp_sansio import (
    Cancelled,
    Closed,
    Failure,
    HttpFailed,
    InputRequest,
    InvalidReply,
    Lost,
    McpError,
    NotSupported,
    RpcError,
    Snapshot,
    TimedOut,
    TooManyRounds,
    WalkFailed,
)

SHOWN_TAIL = 2000


@attrs.frozen
class Ending:
    """How a connection ended. `exit_code` is negative for a signal, as `subprocess` has it; it is None, and
    `stderr_tail` empty, where there is no child process. `status` is that of the HTTP reply that refused us.
    """

    reason: str
    exit_code: int | None = None
    stderr_tail: str = ""
    status: int | None = None

    def __str__(self) -> str:
        text = self.reason
        if self.exit_code is not None:
            text += f" ({describe_exit(self.exit_code)})"
        tail = self.stderr_tail.strip()[-SHOWN_TAIL:]
        return f"{text}; stderr: {tail}" if tail else text


class ConnectionFailed(McpError):
    """There is no connection to the server, or there is none any more.

    `reason` is a sentence; `exit_code` and `stderr_tail` are those of a child process, so far as it had
    any: the code is negative for a signal, and the tail is what it wrote to stderr last. `status` is that of
    the HTTP reply in place of which a message was expected while the client introduced itself, if that is
    why.
    """

    def __init__(self, ending: Ending) -> None:
        super().__init__(str(ending))
        self.reason = ending.reason
        self.exit_code = ending.exit_code
        self.stderr_tail = ending.stderr_tail
        self.status = ending.status


class CannotListen(ConnectionFailed):
    """A server cannot be reached at the address where it was to listen."""


class RequestFailed(McpError):
    """The server refused, or did not answer in time, or answered nonsense; the connection lives.

    `failure` is the core's own value (`RpcError`, `TimedOut`, `InvalidReply`, …; `WalkFailed` for a list);
    `snapshot`, if there is any, is what a caller may prefer to nothing.
    """

    def __init__(self, failure: Failure | WalkFailed, snapshot: Snapshot | None = None) -> None:
        super().__init__(describe_failure(failure))
        self.failure = failure
        self._snapshot = snapshot

    @property
    def snapshot(self) -> Snapshot | None:
        """The last list of prompts, fresh or stale."""
        return self._snapshot


class PromptGoneError(RequestFailed):
    """The server has no prompt of this name (any more)."""

    def __init__(self, name: str, error: RpcError, snapshot: Snapshot) -> None:
        super().__init__(error, snapshot)
        self.args = (f"the server has no prompt {name!r} (any more)",)
        self.name = name
        self._fresh = snapshot

    @property
    def snapshot(self) -> Snapshot:
        """The list that does not have the name."""
        return self._fresh


class InputNotGiven(McpError):
    """The server wants input first, and there is no `on_input` to give it. `requests` is what it wants."""

    def __init__(self, requests: Mapping[str, InputRequest]) -> None:
        super().__init__(f"the server asks for input: {', '.join(each.method for each in requests.values())}")
        self.requests = requests


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def describe_failure(failure: Failure | WalkFailed) -> str:
    """A failure in words."""
    text = "cancelled"
    match failure:
        case RpcError(code, message):
            text = f"the server refused: {message} ({code})"
        case TimedOut(limit, seconds):
            text = f"no answer within {seconds:g} s ({limit} timeout)"
        case Lost(reason) | Closed(reason):
            text = reason
        case InvalidReply(reason):
            text = f"the answer breaks the protocol: {reason}"
        case NotSupported(capability):
            text = f"the server does not offer {capability}"
        case TooManyRounds(rounds):
            text = f"the server asked for input more than {rounds} times"
        case HttpFailed(status, reason):
            text = f"the server answered with HTTP {status} {reason}".rstrip()
        case WalkFailed(reason, cause):
            text = f"the list is incomplete: {reason if cause is None else describe_failure(cause)}"
        case Cancelled():
            pass
    return text
