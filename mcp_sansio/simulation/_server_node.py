"""Our server as a node: streams for whoever dials, a catalogue that the workload edits, handlers that take
their time.

A prompt is rendered when it is asked for and answered after a delay of the world's choosing, so that handlers
run at the same time even where requests come in one after the other. A restart forgets all but the catalogue.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcp_sansio._catalogue import Catalogue
from mcp_sansio._content import AskInput
from mcp_sansio._entry import Entry
from mcp_sansio._events import (
    CompletionRequested,
    Event,
    IncomingRequest,
    PromptRequested,
    RequestCancelled,
)
from mcp_sansio._line_wire import LineWire
from mcp_sansio._prompt_server import PromptServer, PromptServerConfig
from mcp_sansio._reports import Report, report
from mcp_sansio._server import Server
from mcp_sansio._server_config import ServerConfig
from mcp_sansio._trace import OBSERVED
from mcp_sansio._types import InputRequest, Prompt, PromptArgument

from ._links import RESET
from ._node import Action, Hangup, Node, Write

if TYPE_CHECKING:
    from mcp_sansio._h11_server import H11ServerWire

ASK = InputRequest("elicitation/create", {"message": "which?", "requestedSchema": {"type": "object"}})


@lru_cache(4096)
def entry(name: str, tag: str) -> Entry:
    """A prompt of the workloads: its `tag` is its description, and stands in what it renders."""

    def render(topic: str = "") -> str:
        return f"{name}@{tag} {topic}".strip()

    return Entry(
        Prompt(name, description=tag, arguments=(PromptArgument("topic"),)),
        render,
        {"topic": ("alpha", "beta", "gamma")},
    )


def _at_once() -> float:
    return 0.0


def _never() -> bool:
    return False


class ServerNode(Node):
    """A server; `edit` puts and removes prompts in its catalogue, `login` says whose a client will be when it
    dials again, `close` shuts it down gracefully.

    `pace` says how long the next handler takes, `asks` whether it asks for input first.
    `principals` names whom the connections of a dialling node belong to. `make` may make a variant.
    """

    role = "server"

    def __init__(
        self,
        config: ServerConfig,
        serving: PromptServerConfig,
        *,
        pace: Callable[[], float] = _at_once,
        asks: Callable[[], bool] = _never,
        principals: Mapping[str, str] | None = None,
        make: Callable[[Catalogue, PromptServerConfig], PromptServer] = PromptServer,
    ) -> None:
        self.catalogue: Catalogue = Catalogue()
        self.config = config
        self.serving = serving
        self._pace, self._asks = pace, asks
        self._principals = dict(principals or {})
        self._make = make
        self._started = False
        self._boot()

    def _boot(self) -> None:
        self.prompts: PromptServer = self._make(self.catalogue, self.serving)
        self.server: Server = Server(self.config, self.prompts)
        self._changed: list[str] = []  # a new one: the layer of before still watches the catalogue
        self.prompts.on_change = self._changed.append
        self._wires: dict[str, LineWire | H11ServerWire] = {}
        self._ready: dict[str, None] = {}
        self._handlers: list[tuple[float, int, Event, Any]] = []
        self._handled = 0
        self._told: list[Report] = []

    # --- connections ---

    def start(self, now: float) -> None:
        if self._started:
            self._boot()
        self._started = True
        promised = {
            "quiet": self.config.quiet,
            "max_wait": self.config.max_wait,
            "state_ttl": self.serving.state_ttl,
        }
        self._told.append(Report("settings", promised))

    def accepting(self) -> bool:
        return not self.server.closed

    def opened(self, conn: str, now: float) -> None:
        principal = self._principals.get(conn.rpartition("-")[0])
        stream = self.server.open(peer=conn, principal=principal)
        wire = LineWire(stream, now, max_line=self.max_line, on_message=self.on_message)
        wire.token = conn
        self._wires[conn] = wire
        if principal is not None:
            self.note(OBSERVED, conn, ["caller", {"principal": principal}])

    def receive(self, conn: str, data: bytes, now: float) -> None:
        if conn in self._wires:
            self._wires[conn].receive_data(data, now)

    def closed(self, conn: str, how: str, now: float) -> None:
        wire = self._wires.get(conn)
        if wire is not None and how == RESET:
            wire.abort(now, "reset")
        elif wire is not None:
            wire.receive_eof(now)

    def reading(self, conn: str) -> bool:
        wire = self._wires.get(conn)
        return wire is None or wire.want_read or wire.closed

    def next_timeout(self) -> float | None:
        due = self.server.next_timeout()
        if self._handlers and (due is None or self._handlers[0][0] < due):
            return self._handlers[0][0]
        return due

    def handle_timeout(self, now: float) -> None:
        self.server.handle_timeout(now)
        while self._handlers and self._handlers[0][0] <= now:
            _, _, asked, answer = heapq.heappop(self._handlers)
            self._answer(asked, answer, now)

    # --- the pump ---

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        server = self.server
        told, self._told = self._told, []
        yield from told
        while True:
            while (port := server.next_ready()) is not None:
                self._ready[port.token] = None
            due = [conn for conn in self._ready if conn not in full]
            for conn in due:
                del self._ready[conn]
                yield from self._flush(conn)
            event = server.next_event()
            if event is not None:
                self._serve(event, now)
                yield report(event)
            elif not due:
                return

    def _flush(self, conn: str) -> Iterable[Action]:
        wire = self._wires.get(conn)
        if wire is None:
            return
        data = b"".join(wire.data_to_send())
        if data:
            yield Write(conn, data)
        if wire.closed:
            del self._wires[conn]
            yield Hangup(conn)

    # --- the application ---

    def _serve(self, event: Event, now: float) -> None:
        match event:
            case PromptRequested():
                asks = not event.responses and event.request.era.value == "modern" and self._asks()
                answer = AskInput({"which": ASK}, "state") if asks else event.call()
                self._later(event, answer, now)
            case CompletionRequested():
                self._later(event, event.call(), now)
            case RequestCancelled(request):
                self._handlers = [h for h in self._handlers if _request(h[2]) is not request]
                heapq.heapify(self._handlers)
            case _:
                pass

    def _later(self, event: Event, answer: Any, now: float) -> None:
        self._handled += 1
        heapq.heappush(self._handlers, (now + self._pace(), self._handled, event, answer))

    def _answer(self, asked: Event, answer: Any, now: float) -> None:
        if isinstance(asked, PromptRequested):
            self.prompts.answer(asked, answer, now)
        elif isinstance(asked, CompletionRequested):
            self.prompts.complete(asked, answer, now)

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        catalogue = self.catalogue
        with catalogue.batch():
            for name in data.get("remove", ()):
                catalogue.remove(name)
            for name, tag in data.get("put", ()):
                catalogue.put(entry(name, tag))
        if verb == "close":
            self.server.close(now)
        elif verb == "login":
            self._principals[data["client"]] = data["who"]
        changed, self._changed[:] = self._changed[:], []
        for topic in changed:
            self.server.changed(topic, now)

    @property
    def items(self) -> list[tuple[str, str]]:
        """The catalogue as a list is reported."""
        entries = self.catalogue.snapshot.entries.values()
        return [(entry.prompt.name, entry.prompt.description or "") for entry in entries]

    def observe(self) -> Mapping[str, Any]:
        """The catalogue, and what is still under way."""
        return {
            "items": self.items,
            "connections": len(self._wires),
            "handlers": len(self._handlers),
            "timer": self.next_timeout(),
        }


def _request(event: Event) -> IncomingRequest | None:
    return event.request if isinstance(event, PromptRequested | CompletionRequested) else None
