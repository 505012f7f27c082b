"""Servers with a bug: one mistake each, of a kind that real servers make, to see that it is found.

A variant alters one server node as it starts, before it has said anything, and leaves the library as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


from mcp_sansio._coalescer import Coalescer
from mcp_sansio._contract import Send
from mcp_sansio._json import RequestId
from mcp_sansio._request_state import Origin
from mcp_sansio._stream import Stream
from mcp_sansio._topics import Marker

from ._listeners import ACKNOWLEDGED
from ._scenarios import TORTURE, Scenario
from ._scenes_server import PRINCIPALS, SHUTDOWN, STORM
from ._server_node import ServerNode
from ._variant import Variant

Alter = Callable[[Stream], None]


def _streams(node: ServerNode, alter: Alter) -> None:
    """Alter every stream that the server opens."""
    opened = node.server.open

    def open_stream(**who: Any) -> Stream:
        stream = opened(**who)
        alter(stream)
        return stream

    node.server.open = open_stream  # type: ignore[method-assign]


def _acknowledges_late(node: ServerNode) -> None:
    """The acknowledgement leaves after the first notification, or with the next answer."""

    def alter(stream: Stream) -> None:
        post, held = stream.post, list[Send | Marker]()

        def late(entry: Send | Marker) -> None:
            if isinstance(entry, Send) and entry.method == ACKNOWLEDGED:
                held.append(entry)
                return
            post(entry)
            while held:
                post(held.pop())

        stream.post = late  # type: ignore[method-assign]

    _streams(node, alter)


def _forgets_the_last(node: ServerNode) -> None:
    """What was held back is never announced."""

    def calmed(key: Any, now: float) -> None:
        node.server.topics[key].burst.fire(now)

    node.server._calmed = calmed  # type: ignore[method-assign]


def _announces_too_early(node: ServerNode) -> None:
    """Lists are answered from a copy that is renewed every two seconds, changes are announced at once."""
    prompts, current, listed = node.prompts, node.prompts._current, node.prompts._list
    held: list[tuple[float, Any]] = []
    clock = [0.0]

    def timed(request: Any, params: Mapping[str, Any], now: float) -> None:
        clock[0] = now
        listed(request, params, now)

    def late() -> Any:
        if not held or clock[0] >= held[-1][0] + 2.0:
            held[:] = [(clock[0], current())]
        return held[-1][1]

    prompts._list = timed  # type: ignore[method-assign]
    prompts._current = late  # type: ignore[method-assign]


class _Restarting(Coalescer):
    """Waits for quiet, however long that takes."""

    @property
    def due(self) -> float | None:
        held = super().due is not None
        return self._last + self._quiet if held else None


def _starves(node: ServerNode) -> None:
    """The quiet period begins anew with every change, and there is no maximum."""
    for topic in node.server.topics.values():
        topic.burst = _Restarting(node.config.quiet, node.config.max_wait)


class _Always(Coalescer):
    """Acts on everything."""

    def hit(self, now: float, *, busy: bool = False) -> bool:
        return True


def _thins_nothing_out(node: ServerNode) -> None:
    """Every change is announced at once."""
    for topic in node.server.topics.values():
        topic.burst = _Always(0.0, 0.0)


def _tells_everybody(node: ServerNode) -> None:
    """Changes are announced to sessions even where that was not declared."""
    node.prompts.announced = lambda version: tuple(node.prompts.topics)  # type: ignore[method-assign]


def _counts_positions(node: ServerNode) -> None:
    """A cursor is a number of prompts to skip, so a page is torn when some are added or removed before it."""
    prompts, size = node.prompts, node.serving.page_size

    def page(snapshot: Any, shape: str, start: str | None, request: Any) -> tuple[bytes, str | None]:
        at = int(start or 0)
        entries = [*snapshot.entries.values()]
        shown = b",".join(prompts._encode(entry, shape) for entry in entries[at : at + size])
        return b"[" + shown + b"]", str(at + size) if at + size < len(entries) else None

    prompts._page = page  # type: ignore[method-assign]


def _takes_any_cursor(node: ServerNode) -> None:
    """A cursor is good whoever it was issued to."""
    node.prompts._binding = lambda request: ("prompts",)  # type: ignore[method-assign]


def _changes_its_mind(node: ServerNode) -> None:
    """The last page is private, the others are public."""
    encode = node.server.encode_result

    def flip(version: str, result: Mapping[str, Any], kind: str = "complete") -> bytes:
        last = "cacheScope" in result and "nextCursor" not in result and "supportedVersions" not in result
        return encode(version, {**result, "cacheScope": "private"} if last else result, kind)

    node.server.encode_result = flip  # type: ignore[method-assign]


def _answers_twice(node: ServerNode) -> None:
    """Whoever completes an argument or renders a prompt gets the answer twice."""

    def alter(stream: Stream) -> None:
        answer = stream.answer

        def twice(request: Any, message: bytes, now: float) -> None:
            answer(request, message, now)
            if request.method == "prompts/get":
                stream.send(Send(message, id=request.id), None)

        stream.answer = twice  # type: ignore[method-assign]

    _streams(node, alter)


def _ignores_cancellations(node: ServerNode) -> None:
    """What was cancelled is answered all the same."""

    def alter(stream: Stream) -> None:
        def cancel(wire_id: RequestId, reason: str | None) -> None:
            stream.end_listener(wire_id, "cancelled by the client")

        stream.cancel = cancel  # type: ignore[method-assign]

    _streams(node, alter)


def _remembers_connections(node: ServerNode) -> None:
    """What has been shown on a connection once is left out of its next list."""
    prompts = node.prompts
    shown: dict[Any, set[str]] = {}

    def rest(snapshot: Any, shape: str, start: str | None, request: Any) -> tuple[bytes, str | None]:
        seen = shown.setdefault(request.stream, set())
        entries, more = snapshot.page_after(start, node.serving.page_size)
        new = [entry for entry in entries if start is not None or entry.prompt.name not in seen]
        seen.update(entry.prompt.name for entry in entries)
        encoded = b",".join(prompts._encode(entry, shape) for entry in new)
        return b"[" + encoded + b"]", entries[-1].prompt.name if more else None

    prompts._page = rest  # type: ignore[method-assign]


def _believes_states(node: ServerNode) -> None:
    """A request state is read without a look at its seal."""

    def opened(origin: Origin, token: object, now: float) -> tuple[Any]:
        return (token,)

    node.prompts._states.open = opened  # type: ignore[method-assign]


def _binds_nothing(node: ServerNode) -> None:
    """A request state is good for every request of everybody."""
    states = node.prompts._states
    seal, opened = states.seal, states.open
    nobody = Origin(None, "prompts/get", "", {})

    def sealed(origin: Origin, state: Any, now: float) -> str:
        return seal(nobody, state, now)

    def unsealed(origin: Origin, token: object, now: float) -> tuple[Any] | None:
        return opened(nobody, token, now)

    states.seal, states.open = sealed, unsealed  # type: ignore[method-assign]


class _Forgetful(dict[str, int]):
    """Remembers no announcement."""

    def __getitem__(self, topic: str) -> int:
        return -1


def _queues_for_each(node: ServerNode) -> None:
    """Every announcement of a change is queued, whether or not the listener knows of it."""

    def alter(stream: Stream) -> None:
        listen = stream.listen

        def queue(listener: Any, topics: Sequence[str], told: Mapping[str, int] = {}) -> None:
            listen(listener, tuple(topics), told)
            listener.told = _Forgetful(listener.told)

        stream.listen = queue  # type: ignore[method-assign]

    _streams(node, alter)


def _leaves_without_a_word(node: ServerNode) -> None:
    """A shutdown closes the connections, and answers no subscription."""

    def close(now: float, reason: str = "") -> None:
        node.server.closed = True
        for stream in [*node.server._streams]:
            stream.drop_owed(reason)
            stream.receive_eof(reason, now)

    node.server.close = close  # type: ignore[method-assign]


def _has_the_last_word(node: ServerNode) -> None:
    """A shutdown announces a change to everybody."""
    close = node.server.close

    def announced(now: float, reason: str = "") -> None:
        for topic in node.server.topics.values():
            for listener in topic.listeners:
                listener.stream.post(topic.notification(listener))
        close(now)

    node.server.close = announced  # type: ignore[method-assign]


def _variant(make: Callable[[ServerNode], None], found: str, scenario: Scenario = TORTURE) -> Variant:
    name = make.__name__.strip("_").replace("_", "-")
    return Variant(name, (make.__doc__ or "").strip(), found, scenario, server=make)


SERVERS: Sequence[Variant] = (
    _variant(_acknowledges_late, "S1"),
    _variant(_forgets_the_last, "S2"),
    _variant(_announces_too_early, "S2"),
    _variant(_starves, "S3", STORM),
    _variant(_thins_nothing_out, "S4"),
    _variant(_tells_everybody, "S5"),
    _variant(_counts_positions, "S6"),
    _variant(_takes_any_cursor, "S6", PRINCIPALS),
    _variant(_changes_its_mind, "S7"),
    _variant(_answers_twice, "S8"),
    _variant(_ignores_cancellations, "S8a"),
    _variant(_remembers_connections, "S9"),
    _variant(_believes_states, "S10", PRINCIPALS),
    _variant(_binds_nothing, "S10a", PRINCIPALS),
    _variant(_queues_for_each, "S11"),
    _variant(_leaves_without_a_word, "S12", SHUTDOWN),
    _variant(_has_the_last_word, "S12", SHUTDOWN),
)
"""Every server with a bug."""
