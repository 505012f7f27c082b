"""Nodes with a bug in how they treat bytes, one for each property of `_bytes`."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

from mcp_sansio.simulation._bytes import RoundTrip
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._server_node import ServerNode


class ChunkIsLine(ServerNode):
    """Whatever comes in one piece is taken for one line (B1)."""

    def receive(self, conn: str, data: bytes, now: float) -> None:
        super().receive(conn, data if data.endswith(b"\n") else data + b"\n", now)


class Squeamish(ClientNode):
    """A line that does not look like a message ends the connection (B3)."""

    begun: bytes = b""

    def receive(self, conn: str, data: bytes, now: float) -> None:
        super().receive(conn, data, now)
        *lines, self.begun = (self.begun + data).split(b"\n")
        if self._wire is not None and not all(line.startswith(b"{") for line in lines):
            self._wire.abort(now, "rubbish")


class CountsForAll(ClientNode):
    """Ids are counted once for all clients of the process (B4)."""

    counted: ClassVar[list[int]] = [0]

    def opened(self, conn: str, now: float) -> None:
        super().opened(conn, now)
        self.counted[0] += 100
        calls = attrgetter("_calls")(self.client)
        vars(calls)["_wire_ids"] = self.counted[0]


class Lossy(RoundTrip):
    """What is empty is not written (B5)."""

    @classmethod
    def written(cls, prompt: dict[str, Any]) -> Any:
        return {name: value for name, value in super().written(prompt).items() if value}
