"""Our client as a node: it dials, and dials again when a connection is lost, as an adapter would.

The verbs of the workload are the commands of `PromptClient`. Each connection carries newline-delimited
JSON, as a child process does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from mcp_sansio._client import Client
from mcp_sansio._client_config import ClientConfig
from mcp_sansio._events import InputNeeded, Op
from mcp_sansio._line_wire import LineWire
from mcp_sansio._listing import ListingConfig
from mcp_sansio._prompt_client import PromptClient
from mcp_sansio._reports import Report, items, report

from ._links import RESET
from ._node import Action, Dial, Hangup, Node, Write

ACCEPTED: Mapping[str, Any] = {"action": "accept", "content": {}}

REDIAL = 0.2
"""Seconds until a lost connection is dialled again; each further failure doubles them, up to `REDIAL_MAX`."""

REDIAL_MAX = 10.0


class ClientNode(Node):
    """A client of one server node. `make` makes its layer and may be given a variant of it."""

    role = "client"

    def __init__(
        self,
        to: str,
        config: ClientConfig,
        listing: ListingConfig | None = None,
        *,
        make: Callable[[ListingConfig | None], PromptClient] = PromptClient,
    ) -> None:
        self._to = to
        self._config = config
        self._listing = listing
        self._make = make
        self._conns = 0
        self._started = False
        self._boot()

    def _boot(self) -> None:
        self.prompts: PromptClient = self._make(self._listing)
        self.client: Client = Client(self._config, self.prompts)
        self._wire: LineWire | None = None
        self._dial_at: float | None = None
        self._failures = 0
        self._ops: list[Op] = []
        self._told: list[Report] = []

    # --- connections ---

    def start(self, now: float) -> None:
        if self._started:
            self._boot()
        self._started = True
        self._dial_at = now
        self._tell("settings", **self.settings())

    def settings(self) -> dict[str, Any]:
        """What it says of itself."""
        listing = self.prompts.listing.config
        return {
            "eager": listing.eager,
            "max_wait": listing.max_wait,
            "max_rounds": self._config.max_rounds,
            "unnegotiated": self._config.unnegotiated,
        }

    def _tell(self, kind: str, **fields: Any) -> None:
        self._told.append(Report(kind, fields))

    def opened(self, conn: str, now: float) -> None:
        self._wire = LineWire(self.client, now, max_line=self.max_line, on_message=self.on_message)
        self._wire.token = conn
        self._failures = 0

    def receive(self, conn: str, data: bytes, now: float) -> None:
        if self._wire is not None and self._wire.token == conn:
            self._wire.receive_data(data, now)

    def closed(self, conn: str, how: str, now: float) -> None:
        wire = self._wire
        if wire is not None and wire.token == conn:
            if how == RESET:
                wire.abort(now, "reset")
            else:
                wire.receive_eof(now)
        elif wire is None:
            self._redial(now)

    def _redial(self, now: float) -> None:
        if not self.client.done:
            self._dial_at = now + min(REDIAL * 2.0 ** min(self._failures, 16), REDIAL_MAX)
            self._failures += 1

    def next_timeout(self) -> float | None:
        due = self.client.next_timeout()
        if self._dial_at is None or (due is not None and due < self._dial_at):
            return due
        return self._dial_at

    def handle_timeout(self, now: float) -> None:
        self.client.handle_timeout(now)

    # --- the pump ---

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        if self._dial_at is not None and now >= self._dial_at:
            self._dial_at = None
            self._conns += 1
            yield Dial(f"{self.name}-{self._conns}", self._to)
        told, self._told = self._told, []
        yield from told
        client = self.client
        while True:
            yield from self._pump(now, full)
            event = client.next_event()
            if event is None:
                return
            if isinstance(event, InputNeeded):
                answers = dict.fromkeys(event.requests, ACCEPTED)
                client.provide_input(event.call, answers, now)
            yield report(event)

    def _pump(self, now: float, full: Container[str]) -> Iterable[Action]:
        """What is to be written now."""
        while self.client.next_ready() is not None:
            pass
        wire = self._wire
        if wire is None or (wire.token in full and not wire.closed):
            return
        data = b"".join(wire.data_to_send())
        if data:
            yield Write(wire.token, data)
        if wire.closed:
            self._wire = None
            self._redial(now)
            yield Hangup(wire.token)

    # --- the application ---

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        if self.client.done:
            return
        match verb:
            case "list":
                stale_ok = data.get("stale_ok", False)
                self._begun(self.prompts.list(now, stale_ok=stale_ok), stale_ok=stale_ok)
            case "refresh":
                self._begun(self.prompts.refresh(now))
            case "get":
                self._begun(self.prompts.get(data["name"], data.get("arguments"), now), name=data["name"])
            case "complete":
                self._begun(self.prompts.complete(data["name"], "topic", data["value"], now))
            case "cancel" if self._ops:
                back: int = data["back"] % len(self._ops)
                self.prompts.cancel(self._ops[-1 - back], now)
            case "principal":
                self.prompts.principal_changed(now)
                if self._wire is not None:
                    self._wire.abort(now, "another principal")
            case "leave" if self._wire is not None:
                self._wire.close(now)
            case _:
                pass

    def _begun(self, op: Op, **fields: Any) -> None:
        self._ops.append(op)
        self._tell("began", op=op.number, what=op.kind, **fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the list that the client holds."""
        snapshot = self.prompts.snapshot
        return () if snapshot is None else tuple(snapshot.by_name)

    @property
    def expires(self) -> float:
        """When the list that the client holds expires, by its clock."""
        snapshot = self.prompts.snapshot
        return math.inf if snapshot is None else snapshot.expires

    @property
    def connected(self) -> bool:
        """Whether the server can be reached, as far as is known."""
        return self._wire is not None

    def observe(self) -> Mapping[str, Any]:
        """What is held, and what is still under way."""
        snapshot = self.prompts.snapshot
        due = self.next_timeout()
        return {
            "items": items(snapshot),
            "verified": snapshot is not None and snapshot.verified,
            "current": snapshot is not None and snapshot.epoch == self.prompts.listing.epoch,
            "connected": self.connected,
            "eager": self.prompts.listing.config.eager,
            "in_flight": self.client.in_flight,
            "timer": due,
            "era": None if self.client.era is None else self.client.era.value,
            "closed": self.client.done,
        }
