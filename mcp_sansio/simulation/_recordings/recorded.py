"""Our client and our server as nodes that do what a recording has: they neither dial nor decide anything.

Their verbs are those that the adapters' recorder writes. What an application answered is given to the new
core in the form in which it was recorded, so it is encoded anew; prompts are served as they were listed, with
functions that are never called.
"""

from __future__ import annotations

import abc
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from typing import Any

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._calls import Limits
from mcp_sansio._catalogue import Catalogue
from mcp_sansio._client import Client
from mcp_sansio._client_config import ClientConfig
from mcp_sansio._content import AskInput
from mcp_sansio._entry import Entry
from mcp_sansio._errors import LocalProtocolError, RpcError
from mcp_sansio._events import (
    CallId,
    CompletionRequested,
    Event,
    IncomingRequest,
    Op,
    PromptRequested,
    RequestReceived,
)
from mcp_sansio._http_server import HttpServerConfig
from mcp_sansio._line_wire import LineWire
from mcp_sansio._listing import ListingConfig
from mcp_sansio._plain import is_array
from mcp_sansio._prompt_client import PromptClient
from mcp_sansio._prompt_server import PromptServer, PromptServerConfig
from mcp_sansio._reports import Report, report
from mcp_sansio._server import Server
from mcp_sansio._server_config import ServerConfig
from mcp_sansio._stream import Stream
from mcp_sansio._structure import structure_value
from mcp_sansio._trace import Trace
from mcp_sansio._types import Completion, GetPromptResult, Implementation, InputRequest, Prompt
from mcp_sansio.simulation._links import EOF
from mcp_sansio.simulation._node import Action, Hangup, Node, Write

from .exchanges import BODY, HEAD, ClientExchanges, Exchanges, ServerExchanges


def _commands(trace: Trace, name: str, verb: str) -> list[Mapping[str, Any]]:
    """What a node did of one kind, in order."""
    return [e.data[1] for e in trace if e.node == name and e.kind == kinds.COMMAND and e.data[0] == verb]


def _known(cls: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The members that a class still has; lists are tuples, as configs want them."""
    names = {field.name for field in attrs.fields(cls)}
    return {k: tuple(v) if is_array(v) else v for k, v in data.items() if k in names}


class _Recorded(Node, abc.ABC):
    """What both have in common: a wire for each connection, and how it ends."""

    def __init__(self) -> None:
        self._wires: dict[str, LineWire] = {}
        self._reason: str | None = None
        self._told: list[Report] = []
        self._asked: dict[tuple[str, Any], Event] = {}
        self._exchanges: Exchanges[Any] | None = None
        self._verbs: dict[str, Callable[[Mapping[str, Any], float], None]] = {"ending": self._ending}

    def receive(self, conn: str, data: bytes, now: float) -> None:
        if conn in self._wires:
            self._wires[conn].receive_data(data, now)

    def closed(self, conn: str, how: str, now: float) -> None:
        reason, self._reason = self._reason or how, None
        wire = self._wires.get(conn)
        if self._exchanges is not None:
            self._exchanges.closed(conn, now, reason)
        if wire is not None and how == EOF:
            wire.receive_eof(now, reason)
        elif wire is not None:
            del self._wires[conn]
            wire.abort(now, reason)

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        """Do what was done; what was misuse then is misuse now, and does nothing."""
        act = self._verbs.get(verb)
        if act is not None:
            with suppress(LocalProtocolError):
                act(data, now)

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        if "" not in full:
            yield from self._reports()
        for conn in [conn for conn in self._wires if conn not in full]:
            data = b"".join(self._wires[conn].data_to_send())
            if data:
                yield Write(conn, data)
            if self._wires[conn].closed:
                del self._wires[conn]
                yield Hangup(conn)

        if self._exchanges is not None:
            yield from self._exchanges.actions(full)

    def _reports(self) -> Iterable[Report]:
        told, self._told = self._told, []
        yield from told
        while (event := self._event()) is not None:
            yield report(event)

    def _carry(self, exchanges: Exchanges[Any]) -> None:
        """Have exchanges over HTTP."""
        self._exchanges = exchanges
        self._verbs |= {HEAD: exchanges.head, BODY: exchanges.body}

    @abc.abstractmethod
    def _event(self) -> Event | None:
        """The machine's next event."""

    def _ending(self, data: Mapping[str, Any], _now: float) -> None:
        self._reason = data["reason"]


class RecordedClient(_Recorded):
    """A client of whoever it was connected to. `jitter` are the random numbers that it drew."""

    role = "client"

    def __init__(self, config: ClientConfig, listing: ListingConfig, jitter: Iterable[float] = ()) -> None:
        super().__init__()
        drawn = deque(jitter)
        config = attrs.evolve(config, jitter=lambda: drawn.popleft() if drawn else 1.0)
        self.prompts: PromptClient = PromptClient(listing)
        self.client: Client = Client(config, self.prompts)
        self._verbs |= {
            "list": lambda data, now: self._began(self.prompts.list(now, **_limited(data))),
            "page": lambda data, now: self._began(self.prompts.list(now, **_limited(data))),
            "refresh": lambda data, now: self._began(self.prompts.refresh(now, **_limited(data))),
            "get": self._get,
            "complete": lambda data, now: self._began(self.prompts.complete(now=now, **_limited(data)), data),
            "request": self._request,
            "notify": lambda data, now: self.client.notify(now=now, **_with_params(data)),
            "cancel": self._cancel,
            "input": lambda data, now: self.client.provide_input(CallId(data["call"]), data["answers"], now),
            "answer": self._answer,
            "close": lambda data, now: self.client.close(now, data["reason"]),
        }
        self._ops: dict[int, Op] = {}

    @classmethod
    def of(cls, trace: Trace, name: str) -> RecordedClient:
        """The client of a recording, with the settings that it had."""
        settings = _commands(trace, name, "settings")[0]
        http = _commands(trace, name, "http")
        config = _known(ClientConfig, settings["client"])
        config["info"] = structure_value(Implementation, config["info"])
        client = cls(
            ClientConfig(**config),
            ListingConfig(**_known(ListingConfig, settings["listing"])),
            [data["value"] for data in _commands(trace, name, "jitter")],
        )
        if http:
            exchanges = ClientExchanges(client, client.client, http[0], _commands(trace, name, "headers"))
            client._carry(exchanges)
            client._verbs["http"] = exchanges.begin
        return client

    def opened(self, conn: str, now: float) -> None:
        self._wires[conn] = LineWire(self.client, now)

    def handle_timeout(self, now: float) -> None:
        self.client.handle_timeout(now)

    def _event(self) -> Event | None:
        while self.client.next_ready() is not None:
            pass
        event = self.client.next_event()
        if isinstance(event, RequestReceived):
            self._asked["", event.request.id] = event
        return event

    def start(self, now: float) -> None:
        """Say what it promises of its own accord."""
        listing, config = self.prompts.listing.config, self.client.config
        promised = {"max_wait": listing.max_wait, "eager": listing.eager}
        more = {"max_rounds": config.max_rounds, "unnegotiated": config.unnegotiated}
        self._told.append(Report("settings", promised | more))

    def _began(self, op: Op, data: Mapping[str, Any] | None = None) -> None:
        self._ops[op.number] = op
        named = {} if data is None else {"name": data["name"]}
        self._told.append(Report("began", {"op": op.number, "what": op.kind, **named}))

    def _get(self, data: Mapping[str, Any], now: float) -> None:
        given = _limited(data)
        name, arguments = given.pop("name"), given.pop("arguments", None)
        self._began(self.prompts.get(name, arguments, now, **given), data)

    def _request(self, data: Mapping[str, Any], now: float) -> None:
        self.client.request(now=now, **_with_params(data))

    def _cancel(self, data: Mapping[str, Any], now: float) -> None:
        if "call" in data:
            self.client.cancel(CallId(data["call"]), now)
        elif data["op"] in self._ops:
            self.prompts.cancel(self._ops[data["op"]], now)

    def _answer(self, data: Mapping[str, Any], now: float) -> None:
        asked = self._asked.get(("", data["id"]))
        if isinstance(asked, RequestReceived):
            answer = RpcError(**data["error"]) if "error" in data else data["result"]
            self.client.respond(asked.request, answer, now)


class RecordedServer(_Recorded):
    """A server of whoever connected. `principals` are those of connections, where they had one.

    The configs are the caller's to give: keys are never recorded.
    """

    role = "server"

    def __init__(
        self, config: ServerConfig, serving: PromptServerConfig, principals: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._streams: dict[Stream, str] = {}
        self.catalogue: Catalogue = Catalogue()
        self.prompts: PromptServer = PromptServer(self.catalogue, serving)
        self.server: Server = Server(config, self.prompts)
        self._principals = principals or {}
        self._verbs |= {
            "edit": self._edit,
            "changed": lambda data, now: self.server.changed(data["topic"], now),
            "answer": self._answer,
            "progress": self._progress,
            "close": lambda _, now: self.server.close(now),
        }

    @classmethod
    def of(
        cls,
        trace: Trace,
        name: str,
        config: ServerConfig,
        serving: PromptServerConfig,
        http: HttpServerConfig | None = None,
    ) -> RecordedServer:
        """The server of a recording, if it had these configs; `http` is that of HTTP, session ids are as they
        were.
        """
        told = [event for event in trace if event.node == name and event.kind == kinds.OBSERVED]
        callers = {e.link: e.data[1]["principal"] for e in told if e.data[0] == "caller"}
        server = cls(config, serving, callers)
        ids = _commands(trace, name, "session")
        server._carry(ServerExchanges(server, server.server, http or HttpServerConfig(), ids, callers))
        return server

    def start(self, now: float) -> None:
        """Say what it promises of its own accord."""
        config = self.server.config
        promised = {"quiet": config.quiet, "max_wait": config.max_wait}
        self._told.append(Report("settings", promised | {"state_ttl": self.prompts.config.state_ttl}))

    def opened(self, conn: str, now: float) -> None:
        principal = self._principals.get(conn)
        self._wires[conn] = LineWire(self.server.open(peer=conn, principal=principal), now)
        if principal is not None:
            self.note(kinds.OBSERVED, conn, ["caller", {"principal": principal}])

    def handle_timeout(self, now: float) -> None:
        self.server.handle_timeout(now)

    def _event(self) -> Event | None:
        while self.server.next_ready() is not None:
            pass
        event = self.server.next_event()
        request = getattr(event, "request", None)
        link = "" if request is None or request.stream is None else self._link(request.stream)
        if isinstance(event, PromptRequested | CompletionRequested | RequestReceived):
            self._asked[link, event.request.id] = event
        return event

    def _link(self, stream: Stream) -> str:
        """The name of a stream: its connection, or a number."""
        if stream.peer is not None:
            return str(stream.peer)
        return self._streams.setdefault(stream, f"#{len(self._streams) + 1}")

    def _edit(self, data: Mapping[str, Any], _now: float) -> None:
        with self.catalogue.batch():
            for name in data["remove"]:
                self.catalogue.remove(name)
            for listed in data["prompts"]:
                completers = {name: each or _unasked for name, each in listed["completers"].items()}
                self.catalogue.put(Entry(structure_value(Prompt, listed["prompt"]), None, completers))

    def _answer(self, data: Mapping[str, Any], now: float) -> None:
        asked = self._asked.get((data["link"], data["id"]))
        if isinstance(asked, PromptRequested | CompletionRequested | RequestReceived):
            self._settle(asked, asked.request, data, now)

    def _settle(self, asked: Event, request: IncomingRequest, data: Mapping[str, Any], now: float) -> None:
        match data:
            case {"failed": reason}:
                self.server.fail(request, reason, now)
            case {"error": error}:
                self.server.refuse(request, RpcError(**error), now)
            case {"ask": ask} if isinstance(asked, PromptRequested):
                wanted = {key: InputRequest(**each) for key, each in ask.items()}
                self.prompts.answer(asked, AskInput(wanted, data.get("state")), now)
            case {"completion": found} if isinstance(asked, CompletionRequested):
                self.prompts.complete(asked, Completion(**_known(Completion, found)), now)
            case {"values": values} if isinstance(asked, CompletionRequested):
                self.prompts.complete(asked, values, now)
            case {"result": result} if isinstance(asked, PromptRequested):
                self.prompts.answer(asked, structure_value(GetPromptResult, result), now)
            case _:
                self.server.respond(request, data["result"], now)

    def _progress(self, data: Mapping[str, Any], now: float) -> None:
        asked = self._asked.get((data["link"], data["id"]))
        if isinstance(asked, PromptRequested | CompletionRequested | RequestReceived):
            told = {name: data.get(name) for name in ("total", "message")}
            self.server.progress(asked.request, data["value"], now, **told)


def _limited(data: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a command, its limits as the core has them."""
    given = dict(data)
    if "limits" in given:
        given["limits"] = Limits(**given["limits"])
    return given


def _with_params(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"params": None, **_limited(data)}


def _unasked(_value: str, _known: Mapping[str, str]) -> list[str]:
    """What was proposed is in the recording."""
    return []
