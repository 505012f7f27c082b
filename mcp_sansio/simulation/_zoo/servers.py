"""Servers with a bug: one mistake each, of a kind that real servers make, to see that it is found.

A bug is a subclass of one room of the core, which takes the room's place in one server as it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_sansio._catalogue import CatalogueSnapshot
from mcp_sansio._coalescer import Coalescer
from mcp_sansio._contract import Send
from mcp_sansio._events import IncomingRequest
from mcp_sansio._json import RequestId, decode, encode
from mcp_sansio._prompt_server import PromptServer
from mcp_sansio._request_state import Origin, StateSeal
from mcp_sansio._server import Server
from mcp_sansio._stream import Stream
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._topics import Listener, Marker
from mcp_sansio.simulation._scenarios import TORTURE, Scenario
from mcp_sansio.simulation._server_node import ServerNode

from .clients import become
from .scenes_server import PRINCIPALS, SHUTDOWN, STORM
from .variant import Variant

Bug = Callable[[ServerNode], None]

NOBODY = Origin(None, "prompts/get", "", {})


def _prompts(bug: type[PromptServer]) -> Bug:
    """Put a bug in front of the layer that the server has, which may be an odd one already."""

    def change(node: ServerNode) -> None:
        object.__setattr__(node.prompts, "__class__", type(bug.__name__, (bug, type(node.prompts)), {}))

    return change


def _bursts(bug: type[Coalescer]) -> Bug:
    """Thin announcements out in another way."""

    def change(node: ServerNode) -> None:
        for topic in node.server.topics.values():
            topic.burst = bug(node.config.quiet, node.config.max_wait)

    return change


def _streams(bug: type[Stream]) -> Bug:
    """Give every stream that the server opens another class."""

    def change(node: ServerNode) -> None:
        opened = node.server.open

        def open_stream(**who: Any) -> Stream:
            stream = opened(**who)
            object.__setattr__(stream, "__class__", bug)
            return stream

        object.__setattr__(node.server, "open", open_stream)

    return change


# --- announcements --------------------------------------------------------------------------------------


class LateAcknowledgement(Stream):
    """The acknowledgement leaves after the first notification, or with the next answer."""

    def post(self, entry: Send | Marker) -> None:
        held: list[Send] = self.__dict__.setdefault("held", [])
        if isinstance(entry, Send) and entry.method == ACKNOWLEDGED:
            held.append(entry)
            return
        super().post(entry)
        while held:
            super().post(held.pop())


class LastForgotten(Server):
    """What was held back is never announced."""

    def _calmed(self, key: Any, now: float) -> None:
        self.topics[key].burst.fire(now)


class CopyOfTheList(PromptServer):
    """Lists are answered from a copy that is renewed every two seconds, changes are announced at once."""

    copied: tuple[float, CatalogueSnapshot] | None = None
    asked: float = 0.0

    def _list(self, request: IncomingRequest, params: Mapping[str, Any], now: float) -> None:
        self.asked = now
        super()._list(request, params, now)

    def _page(self, request: IncomingRequest, start: str | None) -> tuple[bytes, str | None]:
        if self.copied is None or self.asked >= self.copied[0] + 2.0:
            self.copied = self.asked, self.catalogue.snapshot
        return self._encode_page(self.copied[1], request.version, start, None)


class Restarting(Coalescer):
    """The quiet period begins anew with every change, and there is no maximum."""

    @property
    def due(self) -> float | None:
        return None if super().due is None else self._last + self._quiet


class Leisurely(Coalescer):
    """Every change waits for others, also the first one after quiet."""

    def hit(self, now: float, *, busy: bool = False) -> bool:
        return super().hit(now, busy=True)


class Always(Coalescer):
    """Every change is announced at once."""

    def hit(self, now: float, *, busy: bool = False) -> bool:
        return super().hit(now, busy=busy) or self.fire(now)


class Loud(PromptServer):
    """Changes are announced to sessions even where that was not declared."""

    def announced(self, version: str) -> tuple[str, ...]:
        return tuple(self.topics)


class Forgetful(Marker):
    """Remembers no announcement."""

    __slots__ = ()

    def set(self) -> None:
        self.told = -1
        super().set()


class Queueing(Stream):
    """Every announcement of a change is queued, whether or not the listener knows of it."""

    def listen(self, listener: Listener, topics: tuple[str, ...], told: Mapping[str, int] = {}) -> None:
        super().listen(listener, topics, told)
        for marker in listener.markers.values():
            object.__setattr__(marker, "__class__", Forgetful)


# --- pages --------------------------------------------------------------------------------------------


class Positions(PromptServer):
    """A cursor is a number of prompts to skip, so a page is torn when some come or go before it."""

    def _page(self, request: IncomingRequest, start: str | None) -> tuple[bytes, str | None]:
        snapshot, at = self.catalogue.snapshot, int(start or 0)
        before = snapshot.names[min(at, len(snapshot.names)) - 1] if at and snapshot.names else None
        result, last = self._encode_page(snapshot, request.version, before, None)
        return result, None if last is None else str(at + self.config.page_size)


class AnyCursor(PromptServer):
    """A cursor is good whoever it was issued to."""

    def _binding(self, request: IncomingRequest) -> tuple[str, ...]:
        return ("prompts",)


class TwoScopes(PromptServer):
    """The last page is private, the others are public."""

    def _page(self, request: IncomingRequest, start: str | None) -> tuple[bytes, str | None]:
        result, last = super()._page(request, start)
        return result.replace(b'"public"', b'"private"') if last is None else result, last


class OnceOnly(PromptServer):
    """What a connection has been shown is left out of the next list that it asks for."""

    def _page(self, request: IncomingRequest, start: str | None) -> tuple[bytes, str | None]:
        shown: dict[Any, dict[str, None]] = self.__dict__.setdefault("shown", {})
        seen = shown.setdefault(request.stream, {})
        encoded, last = super()._page(request, start)
        result: dict[str, Any] = decode(encoded + b"}")
        names = dict.fromkeys([prompt["name"] for prompt in result["prompts"]])
        result["prompts"] = [prompt for prompt in result["prompts"] if start or prompt["name"] not in seen]
        seen.update(names)
        return encode(result)[:-1], last


# --- answers ------------------------------------------------------------------------------------------


class Twice(Stream):
    """Whoever renders a prompt gets the answer twice."""

    def answer(self, request: IncomingRequest, message: bytes, now: float) -> None:
        super().answer(request, message, now)
        if request.method == "prompts/get":
            self.send(Send(message, id=request.id), None)


class Deaf(Stream):
    """What was cancelled is answered all the same."""

    def cancel(self, wire_id: RequestId, reason: str | None) -> None:
        self.end_listener(wire_id, "cancelled by the client")


class Credulous(StateSeal):
    """A request state is read without a look at its seal."""

    def open(self, origin: Origin, token: object, now: float) -> tuple[Any] | None:
        return (token,)


class Unbound(StateSeal):
    """A request state is good for every request of everybody."""

    def seal(self, origin: Origin, state: Any, now: float) -> str:
        return super().seal(NOBODY, state, now)

    def open(self, origin: Origin, token: object, now: float) -> tuple[Any] | None:
        return super().open(NOBODY, token, now)


# --- the end ------------------------------------------------------------------------------------------


class Wordless(Server):
    """A shutdown closes the connections, and answers no subscription."""

    def close(self, now: float, reason: str = "") -> None:
        self.closed = True
        for stream in [*self._streams]:
            stream.drop_owed(reason)
            stream.receive_eof(reason, now)


class LastWord(Server):
    """A shutdown announces a change to everybody."""

    def close(self, now: float, reason: str = "") -> None:
        for topic in self.topics.values():
            for marker in topic.markers:
                marker.stream.post(marker.notification)
        super().close(now)


def _bug(name: str, found_by: str, bug: type, change: str | Bug, scenario: Scenario = TORTURE) -> Variant:
    alter: Any = become(change, bug) if isinstance(change, str) else change
    return Variant(name, bug.__doc__ or "", found_by, scenario, server=alter)


_STATES = "prompts._states"

SERVER_ZOO: Sequence[Variant] = (
    _bug(
        "acknowledged after the first notification", "S1", LateAcknowledgement, _streams(LateAcknowledgement)
    ),
    _bug("lost trailing announcement", "S2", LastForgotten, "server"),
    _bug("announced before it can be seen", "S2", CopyOfTheList, _prompts(CopyOfTheList)),
    _bug("debounce that restarts", "S3", Restarting, _bursts(Restarting), STORM),
    _bug("first change held", "S3a", Leisurely, _bursts(Leisurely)),
    _bug("no debounce", "S4", Always, _bursts(Always)),
    _bug("announced to who did not ask", "S5", Loud, _prompts(Loud)),
    _bug("cursors that count", "S6", Positions, _prompts(Positions)),
    _bug("cursor of another principal accepted", "S6", AnyCursor, _prompts(AnyCursor), PRINCIPALS),
    _bug("scope of the last page", "S7", TwoScopes, _prompts(TwoScopes)),
    _bug("answers twice", "S8", Twice, _streams(Twice)),
    _bug("answers after a cancellation", "S8a", Deaf, _streams(Deaf)),
    _bug("remembers what a connection has seen", "S9", OnceOnly, _prompts(OnceOnly)),
    _bug("state without a look at its seal", "S10", Credulous, _STATES, PRINCIPALS),
    _bug("state for everybody", "S10a", Unbound, _STATES, PRINCIPALS),
    _bug("a queue for each subscriber", "S11", Queueing, _streams(Queueing)),
    _bug("shutdown without a word", "S12", Wordless, "server", SHUTDOWN),
    _bug("announcement after a shutdown", "S12", LastWord, "server", SHUTDOWN),
)
"""Every server with a bug, in the order of the properties that find them."""
