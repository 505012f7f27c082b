"""A client that is finding out which era its server speaks."""

from __future__ import annotations

from typing import Any

from clients import Peer

from mcp_sansio import NegotiationFailed

UNSUPPORTED, HEADERS, CAPABILITY = -32022, -32020, -32021
OLD = "2025-06-18"


def methods(peer: Peer) -> list[str]:
    """What has left since the last look."""
    return [message.get("method", "reply") for message in peer.sent()]


def failure(peer: Peer) -> NegotiationFailed:
    """How negotiation failed, and that it did so for good."""
    [event] = peer.of(NegotiationFailed)
    assert peer.client.done
    assert peer.sent() == []
    assert peer.wire.closed
    assert peer.client.next_timeout() is None
    return event


def overlap(**config: Any) -> Peer:
    """A client whose probe was met by silence and which is shaking hands now."""
    peer = Peer(**config)
    assert methods(peer) == ["server/discover"]
    peer.wait(5.0)
    assert methods(peer) == ["initialize"]
    return peer
