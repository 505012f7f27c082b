"""What the protocol itself says in `_meta`, and what a modern request must say there.

"Every request carries its protocol version": the members below make a request modern, whatever carries it,
so the rule about them is here once, for the router of a stream and for HTTP.
"""

from __future__ import annotations

from typing import Any

from ._plain import is_object

VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


def is_modern(meta: Any) -> bool:
    """Whether the `_meta` of a request has any member that only modern requests have."""
    return is_object(meta) and (VERSION in meta or CLIENT_CAPABILITIES in meta)


def meta_problem(meta: Any) -> str | None:
    """What the `_meta` of a modern request lacks: one "missing any required field is malformed"."""
    if not is_object(meta):
        return f"_meta lacks {VERSION}"
    if not isinstance(meta.get(VERSION), str):
        return f"_meta lacks a usable {VERSION}"
    if not is_object(meta.get(CLIENT_CAPABILITIES)):
        return f"_meta lacks a usable {CLIENT_CAPABILITIES}"
    return None
