"""A client that makes requests of no layer."""

from __future__ import annotations

from typing import Any

from clients import Peer

from mcp_sansio import CallId


def ask(peer: Peer, **options: Any) -> tuple[CallId, int]:
    """A request that has left, and its id on the wire."""
    call = peer.client.request("x/ask", None, peer.now, **options)
    return call, peer.last()["id"]


def progress(peer: Peer, token: Any, value: Any, **more: Any) -> None:
    peer.notify("notifications/progress", {"progressToken": token, "progress": value, **more})
