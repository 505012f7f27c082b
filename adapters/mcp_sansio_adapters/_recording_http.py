"""HTTP as it is recorded: what an exchange is fed is noted, with the very time, before the exchange has it.

Heads and messages are heard of where they pass. Noted here is what there is beside them: the pieces of
bodies, how an exchange ended, and what the machine asks others for: the ids of sessions, and further headers.
Connections are not recorded, nor is what is refused because it has no right to be here, which the machine
never sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import attrs

from mcp_sansio import Client, HttpClient, HttpExchange, HttpServer, HttpServerConfig, OnMessage, Send, Server
from mcp_sansio._contract import Port
from mcp_sansio._http_errands import ClientErrand
from mcp_sansio._http_exchange import End, Head, HttpRequest
from mcp_sansio._http_reply import ClientExchange
from mcp_sansio._http_rules import path_of
from mcp_sansio._trace import bytes_of

Fields = Iterable[tuple[str, str]]


class Party(Protocol):
    """Whose exchanges these are."""

    time: float
    name: str

    def command(self, verb: str, now: float, /, **data: Any) -> None: ...
    def body(self, link: str, data: bytes | None, now: float) -> None: ...
    def ended(self, link: str, how: str, now: float, reason: str | None = None) -> None: ...
    def complete(self, link: str, how: str) -> None: ...
    def caller(self, link: str, principal: str | None) -> None: ...
    def drawn(self, verb: str, **data: Any) -> None: ...


class Censor(Protocol):
    """What may be written."""

    redact: Callable[[Any], Any] | None

    def message(self, data: bytes) -> Any: ...
    def fields(self, headers: Fields) -> list[tuple[str, str]]: ...


def link_of(number: int, name: str = "") -> str:
    """The link of an exchange of the party of that name, on a connection that carries nothing else."""
    return f"{name}/http{number}.1"


class Body:
    """A body as it may be written: as it comes, or, where something may have to be hidden, in pieces of which
    that can be said, which are the lines of events and else all of it.
    """

    def __init__(self, censor: Censor) -> None:
        self._censor = censor
        self._held = bytearray()

    def take(self, data: bytes, *, events: bool = False) -> bytes:
        """What can be written when this has come."""
        if self._censor.redact is None:
            return data
        self._held += data
        at = self._held.rfind(b"\n") + 1 if events else 0
        lines = bytes(self._held[:at]).splitlines(keepends=True)
        del self._held[:at]
        return b"".join(map(self._line, lines))

    def rest(self, *, events: bool = False) -> bytes:
        """What can be written now that it is over."""
        rest = bytes(self._held)
        self._held.clear()
        return self._line(rest) if events else bytes_of(self._censor.message(rest)) if rest else b""

    def _line(self, line: bytes) -> bytes:
        """A line of an event stream, with its end. Comments may have anything in them, and mean nothing."""
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        end = line[len(line.rstrip(b"\r\n")) :]
        if name == b"data":
            return b"data: " + bytes_of(self._censor.message(value.strip())) + end
        return line if name else b":" * bool(value) + end


# --- a client ---


class RecordedHttpClient(HttpClient):
    """The exchanges of a client that is recorded."""

    def __init__(
        self, party: Any, censor: Censor, client: Client, target: str, now: float, **options: Any
    ) -> None:
        self.party: Party = party
        self.censor = censor
        self._asks = options.pop("request_headers", None)
        more = None if self._asks is None else self._more_headers
        settings = {"target": path_of(target), "headers": censor.fields(options.get("headers", ()))}
        settings |= {name: options[name] for name in ("origin", "max_body") if name in options}
        party.command("http", now, **settings, more=more is not None)
        super().__init__(client, target, now, request_headers=more, **options)

    def new_exchange(self, errand: ClientErrand, number: int) -> ClientExchange:
        """One that is recorded."""
        return RecordedExchange(self, errand, self._max_body, self._on_message, number)

    def finish(self, errand: ClientErrand) -> None:
        """An exchange that is under way for the errand is of no use any more."""
        exchange = self._errands.get(errand)
        super().finish(errand)
        if isinstance(exchange, RecordedExchange):
            exchange.dropped()

    def _more_headers(self, message: Send) -> Fields:
        try:
            headers = [*self._asks(message)]
        except Exception as error:
            self.party.drawn("headers", failed=repr(error))
            raise
        self.party.drawn("headers", fields=self.censor.fields(headers))
        return headers


class RecordedExchange(ClientExchange):
    """An exchange of such a client."""

    def __init__(
        self, http: RecordedHttpClient, errand: ClientErrand, limit: int, heard: OnMessage | None, number: int
    ) -> None:
        super().__init__(errand, limit, heard, number)
        self._party = http.party
        self._link = link_of(number, http.party.name)
        self._body = Body(http.censor)
        self._feeding = False
        self._told = False

    def receive_head(self, status: int, headers: Fields, now: float) -> None:
        """Take the head of the reply in."""
        self._feeding, self._party.time = True, now
        super().receive_head(status, headers, now)
        self._fed()

    def receive_data(self, data: bytes, now: float) -> None:
        """Take some of the body in."""
        self._came(self._body.take(data, events=self._events is not None), now)
        super().receive_data(data, now)
        self._fed()

    def receive_eof(self, now: float) -> None:
        """The reply is complete."""
        self._came(self._body.rest(events=self._events is not None), now)
        self._came(None, now)
        super().receive_eof(now)
        self._fed()

    def abort(self, now: float, reason: str = "the connection broke") -> None:
        """There will be no reply, or no more of it."""
        if not self.closed:
            self._told = True
            self._party.ended(self._link, "reset", now, reason)
        super().abort(now, reason)

    def dropped(self) -> None:
        """It is closed; if that is not what it has just been fed, it was dropped."""
        if not (self._feeding or self._told):
            self._told = True
            self._party.complete(self._link, "hangup")

    def _came(self, data: bytes | None, now: float) -> None:
        self._feeding = True
        if not self.closed and data != b"":
            self._party.body(self._link, data, now)

    def _fed(self) -> None:
        self._feeding = False
        if self.closed and not self._told:
            self._told = True
            self._party.complete(self._link, "complete")


# --- a server ---


class RecordedHttpServer(HttpServer):
    """The exchanges of a server that is recorded."""

    def __init__(self, party: Any, censor: Censor, server: Server, config: HttpServerConfig) -> None:
        self.party: Party = party
        self.censor = censor
        self._new_id = config.new_session_id
        if self._new_id is not None:
            config = attrs.evolve(config, new_session_id=self._session_id)
        super().__init__(server, config)

    def exchange(self, method: str, target: str, headers: Fields, now: float, **options: Any) -> HttpExchange:
        """A request whose head has come."""
        self.party.time = self.server.tick(now)
        exchange = super().exchange(method, target, headers, now, **options)
        self.party.caller(link_of(self._made, self.party.name), options.get("principal"))
        return exchange

    def new_exchange(
        self,
        request: HttpRequest,
        port: Port | None = None,
        number: int = 0,
        on_message: OnMessage | None = None,
    ) -> HttpExchange:
        """One that is recorded, if it is counted."""
        given = request, port, number, on_message
        return RecordedHttpExchange(self, *given) if number else super().new_exchange(*given)

    def _session_id(self) -> str:
        made = "" if self._new_id is None else self._new_id()
        [(_, shown)] = self.censor.fields([("mcp-session-id", made)])
        self.party.drawn("session", id=shown)
        return made


class RecordedHttpExchange(HttpExchange):
    """An exchange of such a server."""

    def __init__(
        self, http: RecordedHttpServer, request: HttpRequest, port: Port | None, number: int, heard: Any
    ) -> None:
        super().__init__(http, request, port, number, heard)
        self._party = http.party
        self._link = link_of(number, http.party.name)
        self._noted = Body(http.censor)

    def receive_data(self, data: bytes, now: float) -> None:
        """Take a part of the request's body."""
        self._came(self._noted.take(data), now)
        super().receive_data(data, now)

    def receive_eof(self, now: float) -> None:
        """The request is complete."""
        self._came(self._noted.rest(), now)
        self._came(None, now)
        super().receive_eof(now)

    def abort(self, now: float, reason: str = "the peer is gone") -> None:
        """The peer is gone."""
        if not self.closed:
            self._party.ended(self._link, "reset", now, reason)
        super().abort(now, reason)

    def outputs(self) -> list[Head | bytes | End]:
        """What can be written now."""
        out = super().outputs()
        if any(isinstance(each, End) for each in out):
            self._party.complete(self._link, "complete")
        return out

    def _came(self, data: bytes | None, now: float) -> None:
        if self.want_read and data != b"":
            self._party.body(self._link, data, now)
