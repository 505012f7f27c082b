"""Records what clients and servers do, in the form that simulated worlds have: a trace.

    with open("session.jsonl", "wb") as file:
        recorder = Recorder(file.write)
        async with open_stdio_client(command, recorder=recorder) as client:
            ...

A party that is recorded notes everything that goes into its machine, with the very time that the machine is
given, and everything that comes out. So `mcp_sansio.simulation` can judge a trace by its checkers, and
run a later version of the library on the same input, to compare what it says byte for byte. One recorder
may be given to several parties; their events stand in the order in which they happened.

Secrets: of HTTP headers, those that authenticate are never written. What else must not be is the caller's to
`redact`: messages, what the application asked for and what it was told hold whatever it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any, Final, TypeAlias, cast
from weakref import WeakKeyDictionary

import attrs
import msgspec

import mcp_sansio._trace as kinds
from mcp_sansio import (
    CallId,
    CatalogueSnapshot,
    Client,
    ClientConfig,
    Endpoint,
    Entry,
    Event,
    HeadPassed,
    HttpClient,
    HttpServer,
    HttpServerConfig,
    IncomingRequest,
    InvalidMessage,
    LineWire,
    ListingConfig,
    MessagePassed,
    OnMessage,
    Op,
    PromptServer,
    Server,
    WireFailed,
)
from mcp_sansio._http_rules import path_of
from mcp_sansio._json import decode, encode
from mcp_sansio._reports import report
from mcp_sansio._trace import HIDDEN, Header, TraceEvent, text_of

from ._defaults import now
from ._hooks import logger
from ._recording import Jitter, Recording
from ._recording_http import RecordedHttpClient, RecordedHttpServer, link_of
from ._recording_plain import plain_answer, plain_argument, plain_config, plain_entry

__all__ = ["HIDDEN", "SECRET_HEADERS", "Recorder", "Redact", "hide"]

SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
"""The headers whose values are never written."""

Redact: TypeAlias = Callable[[Any], Any]
"""Makes of a JSON value what may be written: of each message, and of what stands for the application's doings
and what it is told. It must not change what it is given."""


def hide(*names: str) -> Redact:
    """A redaction that hides all texts, numbers and truth values below the members of these names, wherever
    those are: `hide("arguments", "text")` for one.
    """

    def redact(value: Any) -> Any:
        if isinstance(value, Mapping):
            members = cast("Mapping[str, Any]", value).items()
            return {name: _hidden(each) if name in names else redact(each) for name, each in members}
        if isinstance(value, list | tuple):
            return [redact(each) for each in cast("list[Any]", value)]
        return value

    return redact


def _hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _hidden(each) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_hidden(each) for each in cast("list[Any]", value)]
    return None if value is None else HIDDEN


class Recorder:
    """Writes a trace, line by line, each with its line end. `write` must not block; what it raises is logged.

    `redact` is applied before anything is written. A message that it cannot be applied to, for it is no
    JSON, is left out. `headers` are further ones whose values are hidden. `clock` gives the time where
    there is no machine that was told one. `source` is that of the trace's header.
    """

    def __init__(
        self,
        write: Callable[[bytes], object],
        redact: Redact | None = None,
        clock: Callable[[], float] = now,
        *,
        headers: tuple[str, ...] = (),
        source: str = "recording",
    ) -> None:
        self.clock = clock
        self.redact = redact
        self._write = write
        self._secret = SECRET_HEADERS | {name.lower() for name in headers}
        self._events = 0
        self._parties: dict[str, int] = {}
        self._lock = Lock()  # parties may live in several threads
        self._put(Header(source=source))

    def of_client(self) -> Recording:
        """The recording of a new client."""
        return _Party(self, self.name("client"), "client")

    def of_server(self, server: Server) -> Recording:
        """The recording of a new server."""
        return _ServerParty(self, self.name("server"), server)

    def name(self, role: str) -> str:
        """A name for the next node of a role."""
        number = self._parties[role] = self._parties.get(role, 0) + 1
        return f"{role}-{number}"

    def add(
        self, time: float, kind: str, node: str, link: str = "", *, data: Any = None, cause: int = -1
    ) -> int:
        """Write an event; its index."""
        with self._lock:
            event = TraceEvent(time, self._events, kind, node, link, cause, data)
            self._events += 1
            self._put(event)
        return event.index

    def _put(self, line: Header | TraceEvent) -> None:
        try:
            self._write(b"%b\n" % msgspec.json.encode(line))
        except Exception:  # noqa: BLE001  # a recording is no reason to break what is recorded
            logger.exception("an event could not be recorded")

    def plain(self, value: Any) -> Any:
        """What may be written of a JSON value."""
        if self.redact is None:
            return value
        try:
            return self.redact(value)
        except Exception:  # noqa: BLE001  # the application's; rather nothing is written than a secret
            logger.exception("a redaction failed")
            return HIDDEN

    def message(self, data: bytes) -> Any:
        """What may be written of a message: its very bytes, unless something has to be hidden."""
        if self.redact is None:
            return text_of(data)
        try:
            value = decode(data)
        except InvalidMessage:
            return HIDDEN
        redacted = self.plain(value)
        return text_of(data if redacted == value else encode(redacted))

    def head(self, head: HeadPassed) -> Any:
        """What may be written of the head of an HTTP message."""
        where = [] if head.target is None else [path_of(head.target)]
        return [head.start, self.fields(head.headers), *where]

    def fields(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """What may be written of the headers of an HTTP message."""
        return [(name, HIDDEN if name.lower() in self._secret else value) for name, value in headers]


class _Wire(LineWire):
    """A byte stream that is recorded."""

    def __init__(
        self, party: _Party, link: str, endpoint: Endpoint, now: float, on_message: OnMessage | None
    ) -> None:
        self._party = party
        self._link = link
        super().__init__(endpoint, now, on_message=party.listener(on_message, link))

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes in."""
        self._party.time = now
        super().receive_data(data, now)

    def receive_eof(self, now: float, reason: str = "end of input") -> None:
        """The peer has finished; the last line of its input is noted before that."""
        before = self._state
        self._party.time = now
        super().receive_eof(now, reason)
        if self._state is not before:
            self._party.ended(self._link, "eof", now, reason)

    def data_to_send(self) -> list[bytes]:
        """What may leave now; after that the wire may be at its end."""
        lives = not self.closed
        chunks = super().data_to_send()
        if lives and self.closed:
            self._party.ended(self._link, "hangup", self._party.clock())
        return chunks

    def abort(self, now: float, reason: str = "aborted") -> None:
        """End at once."""
        if not self.closed:
            self._party.ended(self._link, "reset", now, reason)
        super().abort(now, reason)


class _Party(Recording):
    """One party of a recording. `time` is what its machine was told last."""

    def __init__(self, recorder: Recorder, name: str, role: str) -> None:
        self.time = recorder.clock()
        self._recorder = recorder
        self.name = name
        self._links = 0
        self._cause = -1
        self._note(kinds.NODE, "", role)

    # --- what goes in ---

    def begin(self, config: ClientConfig, listing: ListingConfig) -> ClientConfig:
        """A client is about to be made of these."""
        self.command("settings", self.time, client=plain_config(config), listing=attrs.asdict(listing))
        promised = "max_wait", "eager"
        self.report(
            "settings",
            **{name: getattr(listing, name) for name in promised},
            max_rounds=config.max_rounds,
            unnegotiated=config.unnegotiated,
        )
        return attrs.evolve(
            config, jitter=Jitter(config.jitter, lambda value: self.drawn("jitter", value=value))
        )

    def command(self, verb: str, now: float, /, **data: Any) -> None:
        """The application is about to do something."""
        self.time = now
        given = {name: plain_argument(value) for name, value in data.items() if value is not None}
        self._came(kinds.COMMAND, "", [verb, self._recorder.plain(given)])

    def began(self, key: Op | CallId, name: str | None) -> None:
        """What it did has got this number."""
        if isinstance(key, Op):
            self.report("began", op=key.number, what=key.kind, **({} if name is None else {"name": name}))

    def due(self, when: float | None, now: float) -> None:
        """The machine is about to be told the time; that is news if something is due."""
        if when is not None and when <= now:
            self.time = now
            self._came(kinds.TIMER)

    def wire(self, endpoint: Endpoint, now: float, on_message: OnMessage | None = None) -> LineWire:
        """A byte stream for the endpoint."""
        return _Wire(self, self.opened(now), endpoint, now, on_message)

    def opened(self, now: float) -> str:
        """There is a connection for bytes; its name."""
        self.time = now
        self._links += 1
        link = f"{self.name}/{self._links}"
        self._came(kinds.OPEN, link)
        return link

    def ended(self, link: str, how: str, now: float, reason: str | None = None) -> None:
        """A connection is over, or half of it."""
        if reason is not None:
            self.command("ending", now, reason=reason)
        self.time = now
        self._came(kinds.ENDED, link, how)

    def answer(self, request: IncomingRequest, value: Any, now: float) -> None:
        """A request is about to be answered."""
        self._settle("answer", request, now, **plain_answer(request.method, value))

    def _settle(self, verb: str, request: IncomingRequest, now: float, **data: Any) -> None:
        self.command(verb, now, id=request.id, **data)

    def http_client(self, client: Client, target: str, now: float, **options: Any) -> HttpClient:
        """HTTP exchanges for the client."""
        return RecordedHttpClient(self, self._recorder, client, target, now, **options)

    def http_server(self, server: Server, config: HttpServerConfig) -> HttpServer:
        """HTTP exchanges for the server."""
        return RecordedHttpServer(self, self._recorder, server, config)

    def body(self, link: str, data: bytes | None, now: float) -> None:
        """A piece of a body has come, or its end."""
        self.time = now
        self._came(kinds.BODY_TAKEN, link, None if data is None else text_of(data))

    def complete(self, link: str, how: str) -> None:
        """An exchange is over by itself, or since nobody cares for it any more."""
        self._note(kinds.ENDED, link, how)

    def caller(self, link: str, principal: str | None) -> None:
        """Whose a connection is, or an exchange."""
        if principal is not None:
            self._note(kinds.OBSERVED, link, ["caller", {"principal": principal}])

    def drawn(self, verb: str, **data: Any) -> None:
        """Something was drawn, or decided, that the machine has asked for."""
        self._note(kinds.COMMAND, "", [verb, data])

    # --- what comes out ---

    def event(self, event: Event) -> None:
        """The machine has told the application something."""
        told = report(event)
        self.report(told.kind, **told.data)

    def report(self, kind: str, /, **fields: Any) -> None:
        """The application knows something now."""
        self._note(kinds.OBSERVED, "", [kind, self._recorder.plain(fields)])

    # --- what passes ---

    def listener(self, on_message: OnMessage | None, link: str | None = None) -> OnMessage:
        """What is to hear of messages; without a link, those of HTTP exchanges."""

        def hear(passed: MessagePassed | HeadPassed) -> None:
            self._passed(passed, link)
            if on_message is not None:
                on_message(passed)

        return hear

    def clock(self) -> float:
        """The time of what the machine is not told."""
        return max(self.time, self._recorder.clock())

    def _passed(self, passed: MessagePassed | HeadPassed, link: str | None) -> None:
        if passed.sent:
            self.time = self.clock()
        if link is None:
            link = link_of(passed.exchange, self.name)
        if isinstance(passed, HeadPassed) and passed.target is not None:
            self._note(kinds.OPEN, link.rpartition(".")[0], kinds.HTTP)
        if isinstance(passed, HeadPassed):
            kind, data = kinds.HEAD_SENT if passed.sent else kinds.HEAD_TAKEN, self._recorder.head(passed)
        else:
            kind, data = kinds.SENT if passed.sent else kinds.TAKEN, self._recorder.message(passed.data)
        note = self._note if passed.sent else self._came
        note(kind, link, data)

    def _came(self, kind: str, link: str = "", data: Any = None) -> None:
        """Note what comes from outside, and so is the cause of what follows."""
        self._cause = -1
        self._cause = self._note(kind, link, data)

    def _note(self, kind: str, link: str = "", data: Any = None) -> int:
        return self._recorder.add(self.time, kind, self.name, link, data=data, cause=self._cause)


class _ServerParty(_Party):
    """A server, with the prompts that it has at every moment."""

    def __init__(self, recorder: Recorder, name: str, server: Server) -> None:
        super().__init__(recorder, name, "server")
        layer = next((layer for layer in server.layers if isinstance(layer, PromptServer)), None)
        self._catalogue = None if layer is None else layer.catalogue
        self._known: Mapping[str, Entry] = {}
        self._seen: CatalogueSnapshot | None = None
        self._link_of: WeakKeyDictionary[object, str] = WeakKeyDictionary()
        self._streams = 0
        config = server.config
        promised = {"quiet": config.quiet, "max_wait": config.max_wait}
        if layer is not None:
            promised["state_ttl"] = layer.config.state_ttl
        self.report("settings", **promised)

    def wire(self, endpoint: Endpoint, now: float, on_message: OnMessage | None = None) -> LineWire:
        """A byte stream for one of the server's streams."""
        link = self._link_of[endpoint] = self.opened(now)
        self.caller(link, getattr(endpoint, "principal", None))
        return _Wire(self, link, endpoint, now, on_message)

    def fail(self, request: IncomingRequest, reason: str, now: float) -> None:
        """A request is about to be refused."""
        self._settle("answer", request, now, failed=reason)

    def progress(self, request: IncomingRequest, now: float, **data: Any) -> None:
        """Progress is about to be reported."""
        self._settle("progress", request, now, **data)

    def _settle(self, verb: str, request: IncomingRequest, now: float, **data: Any) -> None:
        super()._settle(verb, request, now, link=self._link_of.get(request.stream, ""), **data)

    def event(self, event: Event) -> None:
        """The machine has told the application something; streams without a connection have numbers. Of HTTP
        the exchanges are recorded, and not the connections, which fail on their own.
        """
        if isinstance(event, WireFailed) and event.stream is None:
            return
        request = getattr(event, "request", None)
        stream = None if request is None else request.stream
        if stream is not None and stream not in self._link_of:
            self._streams += 1
            self._link_of[stream] = f"#{self._streams}"
        super().event(event)

    def _note(self, kind: str, link: str = "", data: Any = None) -> int:
        """What the server has to offer is noted before anything that it may show in."""
        if kind != kinds.NODE and self._catalogue is not None:
            self._look(self._catalogue.snapshot)
        return super()._note(kind, link, data)

    def _look(self, snapshot: CatalogueSnapshot) -> None:
        if snapshot is self._seen:
            return
        before, self._known, self._seen = self._known, snapshot.entries, snapshot
        put = [entry for name, entry in snapshot.entries.items() if before.get(name) is not entry]
        removed = [name for name in before if name not in snapshot.entries]
        data = {
            "put": [[entry.prompt.name, entry.prompt.description or ""] for entry in put],
            "remove": removed,
            "prompts": [plain_entry(entry) for entry in put],
        }
        super()._note(kinds.COMMAND, "", ["edit", self._recorder.plain(data)])
