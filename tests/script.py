"""The odd peer: one machine driven by hand-written messages.

`Script(client)` plays a server, `Script(server)` a client; time is whatever `now` was last set to. What the
machine sends is looked at with `sent`, what it reports with `events`.
"""

from __future__ import annotations

import json
from typing import Any

from clocked import Clocked

from mcp_sansio import Client, LineWire, Server


class Script(Clocked):
    """A machine, its wire, and the peer that the test writes."""

    def __init__(self, machine: Client | Server, *, principal: str | None = None, **wire: Any) -> None:
        """`wire` are options of the `LineWire`."""
        self.machine: Client | Server = machine
        self.now = 0.0
        self.log: list[dict[str, Any]] = []
        self.wire = self._connect(principal, wire)

    def _connect(self, principal: str | None, options: dict[str, Any]) -> LineWire:
        if isinstance(self.machine, Server):
            return LineWire(self.machine.open(principal=principal), self.now, **options)
        return LineWire(self.machine, self.now, **options)

    def reconnect(self, *, principal: str | None = None, **wire: Any) -> None:
        """A new wire, after the old one has ended."""
        self.wire = self._connect(principal, wire)

    # --- what the peer says ---

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self.wire.receive_data(data, self.now)

    def say(self, **message: Any) -> None:
        """A message, without its `jsonrpc`."""
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def request(self, id: Any, method: str, params: Any = None) -> None:
        """A request."""
        self.say(id=id, method=method, **({} if params is None else {"params": params}))

    def notify(self, method: str, params: Any = None) -> None:
        """A notification."""
        self.say(method=method, **({} if params is None else {"params": params}))

    def reply(self, id: Any, result: Any) -> None:
        """A result."""
        self.say(id=id, result=result)

    def error(self, id: Any, code: int, message: str = "no", **more: Any) -> None:
        """An error; `data` may be added."""
        self.say(id=id, error={"code": code, "message": message, **more})

    # --- what the machine does ---

    def sent(self) -> list[dict[str, Any]]:
        """The messages that have left since the last look; `log` has all of them."""
        while self.machine.next_ready() is not None:
            pass
        lines = b"".join(self.wire.data_to_send()).splitlines()
        messages = [json.loads(line) for line in lines]
        self.log += messages
        return messages
