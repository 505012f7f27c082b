"""A wire of lines between a client and a script, and an endpoint that only listens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pair import CLIENT
from script import Script

from mcp_sansio import (
    CallId,
    Carrier,
    Client,
    ClientConfig,
    LineWire,
    Outgoing,
)

MODERN = "2026-07-28"
DISCOVERED = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {}}


class Listener:
    """An endpoint that only writes down what it is told, and sends what it was given."""

    def __init__(self, *outgoing: Outgoing) -> None:
        self.told: list[Any] = []
        self.outgoing = list(outgoing)
        self.done = False
        self.want_read = True
        self.carrier: Carrier | None = None

    def attach(self, carrier: Carrier, now: float) -> None:
        self.carrier = carrier

    def carried_by(self, carrier: Carrier) -> bool:
        return carrier is self.carrier

    def recognizes(self, wire_id: int | str, result: bytes) -> bool:
        return False

    def receive(self, message: Any, now: float) -> None:
        self.told.append(message)

    def receive_eof(self, reason: str, now: float) -> None:
        self.told.append(("eof", reason))

    def detach(self, reason: str, now: float) -> None:
        self.carrier = None

    def fail(self, reason: str, now: float) -> None:
        self.told.append(("fail", reason))
        self.carrier = None

    def next_outgoing(self) -> Outgoing | None:
        return self.outgoing.pop(0) if self.outgoing else None


def heard(pieces: Iterable[bytes], **options: Any) -> list[Any]:
    """What an endpoint is told when these pieces arrive, and then the end."""
    endpoint = Listener()
    wire = LineWire(endpoint, 0.0, **options)
    for piece in pieces:
        wire.receive_data(piece, 0.0)
    wire.receive_eof(0.0)
    return endpoint.told


def modern(**wire: Any) -> tuple[Script, Client]:
    """A client whose server has turned out to be modern."""
    client = Client(ClientConfig(info=CLIENT))
    script = Script(client, **wire)
    script.reply(script.sent()[0]["id"], DISCOVERED)
    script.events()
    return script, client


def asked(script: Script, client: Client) -> tuple[CallId, int]:
    """A request under way, and its id on the wire."""
    call = client.request("x/ask", None, script.now)
    return call, script.sent()[-1]["id"]


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"
