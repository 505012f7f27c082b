"""The HTTP exchanges of a recorded client or server, made once more: what each was fed, it is fed.

Exchanges bear the names that they have in the trace, by their number. What was hidden, since it
authenticates, is replaced by a word that is sent in its place; nothing can be told apart by it.
"""

from __future__ import annotations

import abc
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._client import Client
from mcp_sansio._contract import Send
from mcp_sansio._http_client import HttpClient
from mcp_sansio._http_exchange import End, HttpExchange
from mcp_sansio._http_reply import ClientExchange
from mcp_sansio._http_rules import path_of
from mcp_sansio._http_server import HttpServer, HttpServerConfig
from mcp_sansio._passing import HeadPassed, MessagePassed
from mcp_sansio._server import Server
from mcp_sansio._trace import HIDDEN, text_of
from mcp_sansio.simulation._node import Hangup, Node

HEAD, BODY = "http-head", "http-body"
"""What a node is told that has exchanges: the head of a message, and a piece of a body, or its end."""

STAND_IN = "hidden"

Draws = Iterable[Mapping[str, Any]]
Fields = Sequence[Sequence[str]]


class _Failed(Exception):
    """What an application raised; all that is known of it is how it looked."""

    def __repr__(self) -> str:
        return str(self)


class Exchange(Protocol):
    """What all exchanges have."""

    def receive_data(self, data: bytes, now: float) -> None: ...
    def receive_eof(self, now: float) -> None: ...
    def abort(self, now: float, reason: str) -> None: ...


E = TypeVar("E", bound=Exchange)


class Exchanges(abc.ABC, Generic[E]):
    """Those of one end, and what is noted of them. Each is closed once: by what it is fed, or for good."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._open: dict[str, E] = {}

    @abc.abstractmethod
    def head(self, data: Mapping[str, Any], now: float) -> None:
        """The head of a message has come."""

    def body(self, data: Mapping[str, Any], now: float) -> None:
        """A piece of its body, or the end."""
        exchange = self._open.get(data["link"])
        if exchange is not None and data["data"] is None:
            exchange.receive_eof(now)
        elif exchange is not None:
            exchange.receive_data(data["data"], now)

    def closed(self, link: str, now: float, reason: str) -> None:
        """There will be no more of it."""
        exchange = self._open.pop(link, None)
        if exchange is not None:
            exchange.abort(now, reason)

    @abc.abstractmethod
    def actions(self, full: Container[str]) -> Iterator[Hangup]:
        """Have those say what they have to say that are not in `full`, and say which are over."""

    def link(self, number: int) -> str:
        """The name of an exchange in the trace."""
        return f"{self._node.name}/http{number}.1"

    def passed(self, passed: MessagePassed | HeadPassed) -> None:
        """Note what the exchanges say, and the messages that they make of what they are fed."""
        link = self.link(passed.exchange)
        if isinstance(passed, MessagePassed):
            self._node.note(kinds.SENT if passed.sent else kinds.TAKEN, link, text_of(passed.data))
        elif passed.sent:
            where = [] if passed.target is None else [path_of(passed.target)]
            self._node.note(kinds.HEAD_SENT, link, [passed.start, passed.headers, *where])


class ClientExchanges(Exchanges[ClientExchange]):
    """Those of a client. `settings` are what was noted of its `HttpClient`, `headers` what its application
    had to add to each request.
    """

    def __init__(self, node: Node, client: Client, settings: Mapping[str, Any], headers: Draws) -> None:
        super().__init__(node)
        self._client = client
        self._settings = settings
        self._headers = deque(headers)
        self._http: HttpClient | None = None
        self._made = 0

    def begin(self, _settings: Mapping[str, Any], now: float) -> None:
        """Attach to the client."""
        told = dict(self._settings)
        target, headers, asks = told.pop("target"), told.pop("headers"), told.pop("more")
        self._http = HttpClient(
            self._client,
            target,
            now,
            headers=plain_fields(headers),
            request_headers=self._more if asks else None,
            on_message=self.passed,
            **told,
        )

    def _more(self, _message: Send) -> Iterable[tuple[str, str]]:
        drawn: Mapping[str, Any] = self._headers.popleft() if self._headers else {"fields": ()}
        if "failed" in drawn:
            raise _Failed(drawn["failed"])
        return plain_fields(drawn["fields"])

    def head(self, data: Mapping[str, Any], now: float) -> None:
        """The head of a reply has come."""
        exchange = self._open.get(data["link"])
        if exchange is not None:
            exchange.receive_head(data["start"], plain_fields(data["fields"]), now)

    def actions(self, full: Container[str]) -> Iterator[Hangup]:
        """Make the next exchanges if one of them is asked for, and say which are over."""
        wanted = [link for link in self._open if link not in full]
        if self.link(self._made + 1) not in full or any(not self._open[link].closed for link in wanted):
            self._pull()
        for link in [link for link in wanted if self._open[link].closed]:
            del self._open[link]
            yield Hangup(link)

    def _pull(self) -> None:
        while self._http is not None and (fresh := self._http.next_exchange()) is not None:
            self._made += 1
            self._open[self.link(self._made)] = fresh


class ServerExchanges(Exchanges[HttpExchange]):
    """Those of a server. `ids` are those of its sessions, and `principals` whose the exchanges were."""

    def __init__(
        self, node: Node, server: Server, config: HttpServerConfig, ids: Draws, principals: Mapping[str, str]
    ) -> None:
        super().__init__(node)
        self._ids = deque(each["id"] for each in ids)
        self._hidden = 0
        self._principals = principals
        self._http = HttpServer(server, attrs.evolve(config, new_session_id=self._session_id))

    def _session_id(self) -> str:
        """Of ids that are hidden the first alone is what clients seem to send."""
        made: str = self._ids.popleft() if self._ids else HIDDEN
        if made == HIDDEN:
            self._hidden += 1
            made = STAND_IN * self._hidden
        return made

    def head(self, data: Mapping[str, Any], now: float) -> None:
        """The head of a request has come."""
        link, principal = data["link"], self._principals.get(data["link"])
        asked = data["start"], data["target"][0], plain_fields(data["fields"])
        self._open[link] = self._http.exchange(*asked, now, principal=principal, on_message=self.passed)
        if principal is not None:
            self._node.note(kinds.OBSERVED, link, ["caller", {"principal": principal}])

    def actions(self, full: Container[str]) -> Iterator[Hangup]:
        """Have the exchanges say what they have to say, and say which are over."""
        for link in [link for link in self._open if link not in full]:
            if any(isinstance(each, End) for each in self._open[link].outputs()):
                del self._open[link]
                yield Hangup(link)


def plain_fields(fields: Fields) -> list[tuple[str, str]]:
    """Headers as they can be sent."""
    return [(name, STAND_IN if value == HIDDEN else value) for name, value in fields]


def shown_fields(expected: Fields, found: Fields) -> Fields:
    """Headers as a recording shows them, which hides some."""
    hidden = {name for name, value in expected if value == HIDDEN}
    return [[name, HIDDEN if name in hidden else value] for name, value in found]
