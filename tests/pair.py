"""A client and a server in one virtual-time world, for tests.

`World` holds a real `Client` and a real `Server`, the two `LineWire`s between them and a clock that jumps
from one thing to the next. Bytes take `latency` seconds each way and keep their order; every message that
crosses is recorded with its time. Prompts are rendered by their `render` function as soon as they are asked
for, unless `hold` keeps them. Nothing sleeps and nothing is random.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from mcp_sansio import (
    Catalogue,
    Client,
    ClientConfig,
    ClientLayer,
    CompletionRequested,
    Event,
    Implementation,
    Keys,
    LineWire,
    ListingConfig,
    Op,
    Prompt,
    PromptArgument,
    PromptClient,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
    ServerLayer,
)

E = TypeVar("E")

KEYS = Keys(("k1", b"0123456789abcdef0123456789abcdef"))
CLIENT = Implementation("test-client", "1.0")
SERVER = Implementation("test-server", "2.0")


def prompt(name: str, *required: str, optional: Iterable[str] = (), **fields: Any) -> Prompt:
    """A prompt with some arguments."""
    arguments = [PromptArgument(argument, required=True) for argument in required]
    arguments += [PromptArgument(argument) for argument in optional]
    return Prompt(name, arguments=tuple(arguments), **fields)


def catalogue(count: int = 25) -> Catalogue:
    """`count` prompts p0000, p0001 …, each rendering its name."""
    made = Catalogue()
    with made.batch():
        for number in range(count):
            name = f"p{number:04}"
            made.add(prompt(name), lambda name=name: f"this is {name}")
    return made


class World:
    """Both ends, the bytes between them, and time."""

    def __init__(
        self,
        *,
        prompts: Catalogue | None = None,
        client: ClientConfig | None = None,
        server: ServerConfig | None = None,
        listing: ListingConfig | None = None,
        serving: PromptServerConfig | None = None,
        client_layers: tuple[ClientLayer, ...] = (),
        server_layers: tuple[ServerLayer, ...] = (),
        latency: float = 0.0,
        principal: str | None = None,
        connect: bool = True,
        **config: Any,
    ) -> None:
        """`config` goes into the `ClientConfig` where none is given (`versions=…` for one)."""
        self.now = 0.0
        self.latency = latency
        self.principal = principal
        self.hold = False
        self.catalogue = catalogue() if prompts is None else prompts
        self.prompt_server = PromptServer(
            self.catalogue, serving or PromptServerConfig(keys=KEYS, page_size=10)
        )
        self.server = Server(server or ServerConfig(info=SERVER), self.prompt_server, *server_layers)
        self.prompts = PromptClient(listing)
        self.client = Client(client or ClientConfig(info=CLIENT, **config), self.prompts, *client_layers)
        self.prompt_server.on_change = self._changed
        self.events: list[tuple[float, Event]] = []
        self.server_events: list[tuple[float, Event]] = []
        self.sent: list[tuple[float, dict[str, Any]]] = []
        self.received: list[tuple[float, dict[str, Any]]] = []
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        if connect:
            self.connect()

    # --- links ---

    def connect(self) -> None:
        """Make a new connection; bytes of the old one that are still under way arrive nowhere."""
        self.server_wire = LineWire(self.server.open(principal=self.principal), self.now)
        self.client_wire = LineWire(self.client, self.now)
        self.settle()

    def disconnect(self, reason: str = "cut") -> None:
        """Cut the connection: both ends see the end at once."""
        self.client_wire.receive_eof(self.now, reason)
        self.server_wire.abort(self.now, reason)
        self.settle()

    def _flush(self, wire: LineWire) -> None:
        """Whatever a wire has goes to its peer, after the latency."""
        outward = wire is self.client_wire
        target = self.server_wire if outward else self.client_wire
        data = b"".join(wire.data_to_send())
        if data:
            log = self.sent if outward else self.received
            log += [(self.now, json.loads(line)) for line in data.splitlines()]
            self.at(self.now + self.latency, lambda: target.receive_data(data, self.now))

    # --- time ---

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Do something at a time of its own."""
        heapq.heappush(self._queue, (when, next(self._order), action))

    def settle(self) -> None:
        """Let everything happen that takes no time."""
        self._turn()
        while self._queue and self._queue[0][0] <= self.now:
            heapq.heappop(self._queue)[2]()
            self._turn()

    def run(self, seconds: float = 1000.0, *, until: Callable[[], bool] | None = None) -> None:
        """Let time pass, jumping from one thing to the next; at most `seconds`, or `until` something."""
        end = self.now + seconds
        self.settle()
        while not (until is not None and until()):
            upcoming = self._upcoming()
            if upcoming is None or upcoming > end:
                break
            self.now = max(self.now, upcoming)
            self.settle()
            for machine in (self.client, self.server):
                machine.handle_timeout(self.now)
            self.settle()
        else:
            return
        self.now = end if until is None else self.now

    def _upcoming(self) -> float | None:
        times = [self.client.next_timeout(), self.server.next_timeout()]
        times.append(self._queue[0][0] if self._queue else None)
        known = [time for time in times if time is not None]
        return min(known) if known else None

    def _turn(self) -> None:
        """The pump of an adapter, for both machines."""
        busy = True
        while busy:
            busy = False
            for machine in (self.client, self.server):
                while (wire := machine.next_ready()) is not None:
                    if wire is self.client_wire or wire is self.server_wire:
                        assert isinstance(wire, LineWire)
                        self._flush(wire)
                    busy = True
            busy |= self._hear()

    def _hear(self) -> bool:
        """Take in what both machines report; whether that was anything."""
        heard = False
        while (event := self.client.next_event()) is not None:
            self.events.append((self.now, event))
            heard = True
        while (event := self.server.next_event()) is not None:
            self.server_events.append((self.now, event))
            self._serve(event)
            heard = True
        return heard

    # --- the application ---

    def _begin_anew(self) -> None:
        """Another server, with the same prompts, that knows nothing of what this one knew."""
        self.prompt_server = PromptServer(self.catalogue, PromptServerConfig(keys=KEYS, page_size=10))
        self.server = Server(ServerConfig(info=SERVER), self.prompt_server)
        self.prompt_server.on_change = self._changed

    def _changed(self, topic: str) -> None:
        self.server.changed(topic, self.now)

    def _serve(self, event: Event) -> None:
        if self.hold:
            return
        if isinstance(event, PromptRequested) and event.entry.render is not None:
            rendered = event.entry.render(**event.arguments)
            self.prompt_server.answer(event, rendered, self.now)
        elif isinstance(event, CompletionRequested) and callable(event.completer):
            self.prompt_server.complete(event, event.completer(event.value, event.context), self.now)

    # --- what happened ---

    def all(self, kind: type[E], *, server: bool = False) -> list[E]:
        """Every event of a class so far, in order."""
        log = self.server_events if server else self.events
        return [event for _, event in log if isinstance(event, kind)]

    def outcome(self, op: Op) -> Any:
        """The event that ended a command; runs until it is there."""
        self.run(until=lambda: self._ended(op) is not None)
        return self._ended(op)

    def _ended(self, op: Op) -> Event | None:
        ends = ("Listed", "PageListed", "PromptRendered", "PromptGone", "ArgumentCompleted", "OpFailed")
        for _, event in self.events:
            if type(event).__name__ in ends and getattr(event, "op", None) == op:
                return event
        return None

    def requests(self, method: str) -> list[dict[str, Any]]:
        """Every message of a method that the client sent."""
        return [message for _, message in self.sent if message.get("method") == method]

    def notifications(self, method: str) -> list[dict[str, Any]]:
        """Every message of a method that the server sent."""
        return [message for _, message in self.received if message.get("method") == method]
