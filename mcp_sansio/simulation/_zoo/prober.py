"""A client that does what no client should: it tries cursors and request states that are not its own.

It speaks the modern revision over lines, one request for each command, and knows what all probers have seen.
It is neither "client" nor "server", so that nothing is expected of it; its server is held to everything.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import msgspec

from mcp_sansio._meta import CLIENT_CAPABILITIES, VERSION
from mcp_sansio._plain import is_object, member
from mcp_sansio._versions import MODERN_VERSIONS
from mcp_sansio.simulation._node import Action, Dial, Node, Write

META: Mapping[str, Any] = {VERSION: MODERN_VERSIONS[-1], CLIENT_CAPABILITIES: {"elicitation": {}}}


Asking: TypeAlias = "tuple[str, dict[str, Any]]"
"""A method and its parameters."""


@attrs.define(eq=False)
class Loot:
    """What probers have seen, oldest first: cursors, and states with the parameters they were answers to."""

    cursors: list[str] = attrs.field(factory=list[str])
    states: list[tuple[str, dict[str, Any]]] = attrs.field(factory=list[tuple[str, dict[str, Any]]])


class Prober(Node):
    """Asks, by the command "probe", whatever its `choice` says."""

    role = "prober"

    def __init__(self, to: str, loot: Loot) -> None:
        self._to = to
        self._loot = loot
        self._reset()

    def _reset(self) -> None:
        self._conn: str | None = None
        self._dialled = 0
        self._asked: dict[int, dict[str, Any]] = {}
        self._listens: list[int] = []
        self._partial = b""
        self._out: list[Action] = []

    def start(self, now: float) -> None:
        self._reset()
        self._dial()

    def _dial(self) -> None:
        self._dialled += 1
        self._out.append(Dial(f"{self.name}-{self._dialled}", self._to))

    def opened(self, conn: str, now: float) -> None:
        self._conn, self._partial = conn, b""

    def closed(self, conn: str, how: str, now: float) -> None:
        self._conn = None

    def receive(self, conn: str, data: bytes, now: float) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._read(line)

    def _read(self, line: bytes) -> None:
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        result = member(message, "result")
        asked = self._asked.get(member(message, "id") or 0)
        if asked is not None and is_object(result):
            cursor, state = result.get("nextCursor"), result.get("requestState")
            if isinstance(cursor, str) and cursor not in self._loot.cursors:
                self._loot.cursors.append(cursor)
            if isinstance(state, str):
                self._loot.states.append((state, asked))

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        out, self._out = self._out, []
        return out

    # --- what it tries ---

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        conn = self._conn
        if conn is None:
            self._dial()
            return
        rest, way = divmod(int(data["choice"]), len(_WAYS))
        method, params = _WAYS[way](self._loot, rest)
        if method == "notifications/cancelled":
            params["requestId"] = len(self._asked)
            self._write(conn, {"jsonrpc": "2.0", "method": method, "params": params})
            return
        number = len(self._asked) + 1
        self._asked[number] = params
        request: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {**params, "_meta": META},
        }
        self._write(conn, request)

    def _write(self, conn: str, message: dict[str, Any]) -> None:
        self._out.append(Write(conn, msgspec.json.encode(message) + b"\n"))


def _first_page(_loot: Loot, _choice: int) -> Asking:
    return "prompts/list", {}


def _any_page(loot: Loot, choice: int) -> Asking:
    return "prompts/list", {"cursor": _some(loot.cursors, choice, "never issued")}


def _forged_page(loot: Loot, choice: int) -> Asking:
    return "prompts/list", {"cursor": _forge(_some(loot.cursors, choice, "never issued"))}


def _get(_loot: Loot, choice: int) -> Asking:
    return "prompts/get", {"name": f"p{choice % 3:03}", "arguments": {"topic": str(choice % 2)}}


def _retry(loot: Loot, choice: int) -> Asking:
    state, params = _some(loot.states, choice, ("never issued", _get(loot, choice)[1]))
    return "prompts/get", {**params, "requestState": state, "inputResponses": {}}


def _another(loot: Loot, choice: int) -> Asking:
    return "prompts/get", {**_retry(loot, choice)[1], **_get(loot, choice // 8)[1]}


def _forged_retry(loot: Loot, choice: int) -> Asking:
    params = _retry(loot, choice)[1]
    return "prompts/get", {**params, "requestState": _forge(params["requestState"])}


def _listen(_loot: Loot, choice: int) -> Asking:
    wanted = {"promptsListChanged": True} if choice % 2 else {"toolsListChanged": True}
    return "subscriptions/listen", {"notifications": wanted}


def _cancel(_loot: Loot, _choice: int) -> Asking:
    return "notifications/cancelled", {}


_WAYS: Sequence[Callable[[Loot, int], Asking]] = (
    _first_page,
    _any_page,
    _forged_page,
    _get,
    _retry,
    _another,
    _forged_retry,
    _listen,
    _cancel,
)


def _some(options: Sequence[Any], choice: int, otherwise: Any) -> Any:
    return options[-1 - choice % len(options)] if options else otherwise


def _forge(token: str) -> str:
    """The token with one character changed."""
    at = len(token) // 2
    return token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
