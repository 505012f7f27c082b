"""The exceptions and failure values of the core.

Two kinds, kept apart. *Exceptions* are raised for local mistakes only: `LocalProtocolError` means
that the caller asked for something the protocol forbids, and that the call had no effect at all.
*Outcomes* are values inside events: what became of a call or an operation. Nothing that the peer
does raises.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs

PARSE_ERROR = -32700
"""The message is no JSON."""
INVALID_REQUEST = -32600
"""The message is no request."""
METHOD_NOT_FOUND = -32601
"""There is no such method here."""
INVALID_PARAMS = -32602
"""The params are not what the method takes; an unknown prompt or a missing argument, too."""
INTERNAL_ERROR = -32603
"""The request failed for a reason of the other side's own."""
HEADER_MISMATCH = -32020
"""A header says something else than the body."""
MISSING_CLIENT_CAPABILITY = -32021
"""The client has not declared what the answer would need."""
UNSUPPORTED_VERSION = -32022
"""The revision is not served; the error's data name those that are."""


class McpError(Exception):
    """Base of every exception that this library raises."""


class LocalProtocolError(McpError):
    """The local caller misused the API; the call had no effect."""


class Inexpressible(LocalProtocolError):
    """A value that the negotiated revision has no form for (audio before 2025-03-26 …)."""


class InvalidMessage(McpError):
    """Bytes of the peer that do not have the form the specification gives.

    Raised inside the core only, where it becomes an event or an error reply; `path` is the JSON path
    of the offending value ("$.messages[0].role") and `reason` the sentence without it.
    """

    def __init__(self, reason: str, path: str = "$") -> None:
        super().__init__(f"{reason} at {path}" if path != "$" else reason)
        self.reason = reason
        self.path = path


@attrs.frozen
class RpcError:
    """A JSON-RPC error object as the peer sent it, or as we send it."""

    code: int
    message: str
    data: Any = None


@attrs.frozen
class TimedOut:
    """No reply in time. `limit` says which clock ran out, `seconds` how long it was set to."""

    limit: Literal["quiet", "total"]
    seconds: float


@attrs.frozen
class Lost:
    """The carrier ended before the reply. Whether the peer acted on the request is unknown."""

    reason: str


@attrs.frozen
class Cancelled:
    """The local caller cancelled."""


@attrs.frozen
class Closed:
    """The endpoint was closed, or has given up negotiating, so nothing can be asked any more."""

    reason: str


@attrs.frozen
class InvalidReply:
    """The reply broke the specification; `reason` carries the JSON path."""

    reason: str


@attrs.frozen
class NotSupported:
    """The peer did not declare `capability`; nothing was sent."""

    capability: str


@attrs.frozen
class TooManyRounds:
    """The peer asked for input more often than the configured limit of `rounds`."""

    rounds: int


@attrs.frozen
class HttpFailed:
    """The server answered with an HTTP status that carries no message of the protocol. `retry_after`: for how
    many seconds it asks to be left alone, as far as that is heeded.
    """

    status: int
    reason: str
    retry_after: float | None = None


Failure = (
    RpcError | TimedOut | Lost | Cancelled | Closed | InvalidReply | NotSupported | TooManyRounds | HttpFailed
)
"""Why a call failed: the peer's own error, or one of the local reasons."""
