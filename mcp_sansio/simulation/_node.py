"""What lives in a world: anything that takes bytes and time in, and gives bytes and one deadline out.

A `Node` has no port to write to: what it wants done it hands out as actions whenever the world asks, which
is after everything that it was told. Times are those of the node's own clock. A sans-IO object of any make
becomes a node by `receive` and `actions`; the other methods have defaults. What the world cannot see by
itself, a node reports: `Report` is what an application would have been told.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from mcp_sansio._line_wire import MAX_LINE
from mcp_sansio._passing import OnMessage
from mcp_sansio._reports import Report

if TYPE_CHECKING:
    from ._exhaustive.state_key import StateKey


@attrs.frozen
class Dial:
    """Open a connection, by a name that is new, to another node."""

    conn: str
    to: str


@attrs.frozen
class Write:
    """Send bytes over a connection."""

    conn: str
    data: bytes


@attrs.frozen
class Hangup:
    """Close a connection, after what was written before; with `reset`, without that."""

    conn: str
    reset: bool = False


Action: TypeAlias = Dial | Write | Hangup | Report

Note: TypeAlias = Callable[[str, str, Any], None]
"""Adds an event to the trace at once: its kind, the connection and the data."""


def _nobody(kind: str, link: str, data: Any) -> None:
    """Before it is placed in a world, nobody listens to a node."""


class Node:
    """A party to a conversation; `receive` and `actions` are what every one has to say itself.

    `name` and `note` are set by the world; `role` ("client", "server") is what checkers hold it to. With
    `tells`, the node notes the messages that it sends and takes in by itself (what is not newline-delimited);
    else the world cuts them out of the bytes. What comes in is fed to it in pieces that end with `unit`,
    whole if that is empty, so that what it reports stands between the right messages. `speaks` is
    noted of its connections as they open: "http" if they carry exchanges. `max_line` and `on_message` are
    those of the wires of our own nodes, for whoever drives one alone.
    """

    name: str = ""
    role: str = "node"
    note: Note = staticmethod(_nobody)
    tells: bool = False
    unit: bytes = b"\n"
    speaks: str | None = None
    max_line: int = MAX_LINE
    on_message: OnMessage | None = None

    def start(self, now: float) -> None:
        """The world begins, or the process does anew after a crash: nothing of before is remembered."""

    def accepting(self) -> bool:
        """Whether it can be dialled now."""
        return True

    def opened(self, conn: str, now: float) -> None:
        """A connection that this node dialled or was dialled by can be used."""

    def receive(self, conn: str, data: bytes, now: float) -> None:
        """Bytes have arrived."""
        raise NotImplementedError

    def closed(self, conn: str, how: str, now: float) -> None:
        """A connection is over: "eof", "reset" or "refused"."""

    def reading(self, conn: str) -> bool:
        """Whether bytes of a connection are welcome; until they are, they wait and fill its buffer."""
        return True

    def next_timeout(self) -> float | None:
        """When `handle_timeout` is due, by the node's clock."""
        return None

    def handle_timeout(self, now: float) -> None:
        """The deadline has come."""

    def actions(self, now: float, full: Container[str]) -> Iterable[Action]:
        """What is to be done now; nothing more should be written to connections in `full`, which changes with
        what is done.
        """
        raise NotImplementedError

    def command(self, verb: str, data: Mapping[str, Any], now: float) -> None:
        """The application does something, as the workload has it."""
        raise NotImplementedError(f"{type(self).__name__} knows no {verb}")

    def calm(self, now: float) -> None:
        """Nothing goes wrong any more: whatever it would go on with for ever, it may stop."""

    def observe(self) -> Mapping[str, Any]:
        """The state that matters when all is quiet."""
        return {}

    def state(self, key: StateKey) -> None:
        """Add all that its behaviour depends on, if it is to be explored."""
        key.walk(self)
