"""A client and a server with one connection between them, whose messages wait until somebody has them
delivered: the world of the explorer, who decides everything that a world leaves to its tape.

What happens is noted in the words of a trace, so the same checkers judge it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._reports import Report
from mcp_sansio._trace import TraceEvent, bytes_of, text_of
from mcp_sansio.simulation._links import EOF, RESET
from mcp_sansio.simulation._node import Dial, Hangup, Node, Write

from .state_key import Ranked, StateKey, skeleton


@attrs.frozen
class Waiting:
    """A message on its way: its text, the event of its sending, and its text without the ids."""

    text: Any
    cause: int
    skeleton: str
    ranked: tuple[Ranked, ...]


class Pair:
    """Two nodes and what is between them. `fresh` are the events since they were last collected."""

    def __init__(self, client: Node, server: Node, names: tuple[str, str] = ("c1", "s1")) -> None:
        """The client has the first of the names."""
        self.now: float = 0.0
        self.nodes: dict[str, Node] = dict(zip(names, (client, server), strict=True))
        self.names = names
        self.conn: str = ""
        self.way: dict[str, deque[Waiting]] = {name: deque() for name in names}  # by who receives
        self.fresh: list[TraceEvent] = []
        self.noted: int = 0
        self.waiting: dict[Any, None] = {}  # the operations of the applications that have not ended
        self._cause = -1
        for name, node in self.nodes.items():
            node.name = name
            self._note(kinds.NODE, name, "", node.role)

    def start(self, name: str, prepare: Callable[[Node], None]) -> None:
        """A node begins; `prepare` is done to it first."""
        self.nodes[name].start(self.now)
        prepare(self.nodes[name])
        self._turn(name)

    def collect(self) -> list[TraceEvent]:
        """The events since the last time."""
        fresh, self.fresh = self.fresh, []
        return fresh

    def _note(self, kind: str, node: str, link: str = "", data: Any = None) -> int:
        self.fresh.append(TraceEvent(self.now, self.noted, kind, node, link, self._cause, data))
        self.noted += 1
        return self.noted - 1

    # --- steps ---

    def deliver(self, name: str) -> None:
        """Let a node take the next message in."""
        waiting = self.way[name].popleft()
        self._cause = waiting.cause
        self._cause = self._note(kinds.TAKEN, name, self.conn, waiting.text)
        self.nodes[name].receive(self.conn, bytes_of(waiting.text) + b"\n", self.now)
        self._turn(name)

    def command(self, name: str, verb: str, data: dict[str, Any]) -> None:
        """Have the application at a node do something."""
        self._cause = -1
        self._cause = self._note(kinds.COMMAND, name, "", [verb, data])
        self.nodes[name].command(verb, data, self.now)
        self._turn(name)

    def expire(self, name: str) -> None:
        """The next deadline of a node comes, at once."""
        self.now = max(self.now, self.due(name) or 0.0)
        self._cause = -1
        self._cause = self._note(kinds.TIMER, name)
        self.nodes[name].handle_timeout(self.now)
        self._turn(name)

    def pass_time(self, until: float) -> None:
        """Nothing happens until then."""
        self.now = until

    def lose(self) -> None:
        """The connection is reset, with all that is on its way."""
        self._cause = -1
        self._cause = self._note(kinds.FAULT, "", self.conn, ["cut-reset", {}])
        self._end(RESET, self.names)

    def due(self, name: str) -> float | None:
        """When the next deadline of a node is."""
        return self.nodes[name].next_timeout()

    # --- what nodes do ---

    def _turn(self, name: str) -> None:
        dials: list[str] = []
        for action in self.nodes[name].actions(self.now, ()):
            match action:
                case Write(conn, data) if conn == self.conn:
                    self._write(name, data)
                case Report(kind, fields):
                    self._note(kinds.OBSERVED, name, "", [kind, fields])
                    if "op" in fields:
                        self._follow(kind, fields["op"])
                case Dial(conn, _):
                    dials.append(conn)
                case Hangup(conn, reset) if conn == self.conn:
                    self._note(kinds.ENDED, name, conn, "hangup")
                    self._end(RESET if reset else EOF, (self._other(name),))
                case _:
                    pass  # it is about a connection that is over
        for conn in dials:
            self._connect(conn)

    def _follow(self, kind: str, op: Any) -> None:
        if kind == "began":
            self.waiting[op] = None
        else:
            self.waiting.pop(op, None)

    def _write(self, name: str, data: bytes) -> None:
        other = self._other(name)
        for line in data.split(b"\n")[:-1]:
            text = text_of(line)
            self._cause = self._note(kinds.SENT, name, self.conn, text)
            self.way[other].append(Waiting(text, self._cause, *skeleton(str(text))))

    def _other(self, name: str) -> str:
        return self.names[self.names[0] == name]

    def _connect(self, conn: str) -> None:
        self.conn = conn
        for name in reversed(self.names):
            self._note(kinds.OPEN, name, conn)
            self.nodes[name].opened(conn, self.now)
            self._turn(name)

    def _end(self, how: str, names: Sequence[str]) -> None:
        conn, self.conn = self.conn, ""
        for waiting in self.way.values():
            waiting.clear()
        for name in names:
            self._note(kinds.ENDED, name, conn, how)
            self.nodes[name].closed(conn, how, self.now)
            self._turn(name)

    # --- what it is like ---

    def key(self, also: Callable[[StateKey], None]) -> bytes:
        """What all that may happen from here on depends on."""
        key = StateKey(self.now)
        key.add(bool(self.conn))
        for name, node in self.nodes.items():
            node.state(key)
            key.add(len(self.way[name]))
            for waiting in self.way[name]:
                key.message(waiting.skeleton, waiting.ranked)
        also(key)
        return key.digest()

    def rest(self) -> None:
        """All is quiet: every node says in what state it is."""
        self._cause = -1
        self._note(kinds.PHASE, "", "", "rest")
        for name, node in self.nodes.items():
            self._note(kinds.OBSERVED, name, "", ["rest", dict(node.observe())])
