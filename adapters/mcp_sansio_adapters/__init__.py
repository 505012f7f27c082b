"""Adapters that move bytes, time and cancellation between a machine of `mcp_sansio` and the real world.

`mcp_sansio_adapters.asyncio`, `.trio` and `.blocking` are imported by name, so that no event loop is loaded
unless it is asked for. Here is what they share: the exceptions that clients raise, how child processes are
treated, and what the core wants to be given by somebody who has a clock and randomness.
"""

from ._defaults import new_keys, now, unix_offset
from ._exceptions import CannotListen, ConnectionFailed, InputNotGiven, PromptGoneError, RequestFailed
from ._handling import cancelled, report_progress
from ._hooks import Unauthorized
from ._options import (
    ClientOptions,
    HttpOptions,
    HttpServerOptions,
    ProcessOptions,
    ServerOptions,
    StdioOptions,
)
from ._process import ProcessPolicy
from ._pump import Traffic

__all__ = [
    "CannotListen",
    "ClientOptions",
    "ConnectionFailed",
    "HttpOptions",
    "HttpServerOptions",
    "InputNotGiven",
    "ProcessOptions",
    "ProcessPolicy",
    "PromptGoneError",
    "RequestFailed",
    "ServerOptions",
    "StdioOptions",
    "Traffic",
    "Unauthorized",
    "cancelled",
    "new_keys",
    "now",
    "report_progress",
    "unix_offset",
]
