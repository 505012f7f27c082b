"""Carriers under a client."""

from __future__ import annotations

import json
from typing import Any

from clients import (
    MODERN,
    TOPIC,
    discovered,
)
from pair import CLIENT

from mcp_sansio import (
    Carrier,
    Client,
    ClientConfig,
    ClientLayer,
    Response,
    Send,
)


class Exchanges:
    """What carries each request in an exchange of its own; only its name is needed here."""

    token: Any = None
    closed = False
    want_read = True

    def receive_data(self, data: bytes, now: float) -> None:
        raise NotImplementedError

    def receive_eof(self, now: float, reason: str = "") -> None:
        raise NotImplementedError

    def data_to_send(self) -> list[bytes]:
        raise NotImplementedError

    def close(self, now: float) -> None:
        raise NotImplementedError

    def abort(self, now: float, reason: str = "") -> None:
        raise NotImplementedError


def exchanging(*layers: ClientLayer, era: str = "modern") -> tuple[Client, Carrier]:
    """A client on a carrier that is not shared, its era known; the server declares one topic."""
    client = Client(ClientConfig(info=CLIENT), *layers)
    carrier = Carrier(Exchanges(), shared=False)
    client.attach(carrier, 0.0)
    probe = client.next_outgoing()
    assert isinstance(probe, Send)
    assert probe.id == 1
    if era == "modern":
        client.receive(Response(1, json.dumps(discovered((MODERN,), **{TOPIC: True})).encode()), 0.0)
    else:
        client.receive(Response(1, b"{}"), 0.0)
        assert isinstance(client.next_outgoing(), Send)
        client.receive(Response(2, b'{"protocolVersion":"2025-11-25","capabilities":{}}'), 0.0)
        assert isinstance(client.next_outgoing(), Send)
    return client, carrier
