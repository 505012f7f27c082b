"""Lines too long, marks at the beginning, ends of lines and of streams: nodes do the same with them."""

from __future__ import annotations

from functools import partial

import pytest

from mcp_sansio import LEGACY_VERSIONS, MODERN_VERSIONS
from mcp_sansio._passing import HeadPassed, MessagePassed
from mcp_sansio._trace import Trace
from mcp_sansio.simulation._bytes import ByteProperty, Make
from mcp_sansio.simulation._bytes_lines import LINE_CHECKS, Beginnings, Endings, LongLines, Overheard
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._exhaustive.cuts import CANONICAL, canonical_client, canonical_server
from mcp_sansio.simulation._run import run
from mcp_sansio.simulation._server_node import ServerNode
from mcp_sansio.simulation._tape import Lenient

ERAS = (MODERN_VERSIONS[-1:], LEGACY_VERSIONS[-1:])
SESSIONS = tuple(run(scenario, Lenient(())).trace for scenario in CANONICAL)


@pytest.mark.parametrize("check", LINE_CHECKS, ids=lambda check: check.id)
@pytest.mark.parametrize(("versions", "trace"), [*zip(ERAS, SESSIONS, strict=True)], ids=["modern", "legacy"])
def test_the_library_has_it(check: type[ByteProperty], versions: tuple[str, ...], trace: Trace) -> None:
    assert check.judge(trace, "s1", partial(canonical_server, versions)) is None
    assert check.judge(trace, "c1", partial(canonical_client, versions)) is None


class Boundless(ServerNode):
    """Believes that every line is short enough."""

    def opened(self, conn: str, now: float) -> None:
        self.max_line = 1 << 30
        super().opened(conn, now)


class Narrow(ServerNode):
    """Takes one byte less than it promises."""

    def opened(self, conn: str, now: float) -> None:
        self.max_line -= 1
        super().opened(conn, now)


class Unmarked(ServerNode):
    """Knows nothing of byte order marks."""

    def receive(self, conn: str, data: bytes, now: float) -> None:
        super().receive(conn, data.replace(b"\xef\xbb\xbf", b"."), now)


class Marked(ServerNode):
    """Reads over every byte order mark."""

    def receive(self, conn: str, data: bytes, now: float) -> None:
        super().receive(conn, data.replace(b"\xef\xbb\xbf", b""), now)


class Strict(ClientNode):
    """A line without its end is none."""

    def closed(self, conn: str, how: str, now: float) -> None:
        self.receive(conn, b" ..", now)
        super().closed(conn, how, now)


class Returns(ServerNode):
    """A carriage return is a part of the line."""

    def receive(self, conn: str, data: bytes, now: float) -> None:
        super().receive(conn, data.replace(b"\r", b"."), now)


class Deaf(ServerNode):
    """Says nothing of what passes."""

    def opened(self, conn: str, now: float) -> None:
        self.on_message = None
        super().opened(conn, now)


class HalfDeaf(ServerNode):
    """Says nothing of what comes in."""

    def opened(self, conn: str, now: float) -> None:
        hear = self.on_message

        def writes(passed: MessagePassed | HeadPassed) -> None:
            if hear is not None and passed.sent:
                hear(passed)

        self.on_message = writes
        super().opened(conn, now)


class Inventive(ServerNode):
    """Says something else of lines that are too long."""

    def opened(self, conn: str, now: float) -> None:
        hear = self.on_message

        def invents(passed: MessagePassed | HeadPassed) -> None:
            if hear is not None and isinstance(passed, MessagePassed):
                hear(MessagePassed(passed.sent, passed.data.replace(b"xxx", b"y")))

        self.on_message = invents
        super().opened(conn, now)


SERVED = partial(canonical_server, ERAS[0])


@pytest.mark.parametrize(
    ("check", "node", "make"),
    [
        (LongLines, "s1", partial(SERVED, Boundless)),
        (LongLines, "s1", partial(SERVED, Narrow)),
        (Beginnings, "s1", partial(SERVED, Unmarked)),
        (Beginnings, "s1", partial(SERVED, Marked)),
        (Endings, "c1", partial(canonical_client, ERAS[0], Strict)),
        (Endings, "s1", partial(SERVED, Returns)),
        (Overheard, "s1", partial(SERVED, Deaf)),
        (Overheard, "s1", partial(SERVED, HalfDeaf)),
        (Overheard, "s1", partial(SERVED, Inventive)),
    ],
)
def test_a_bug_is_found(check: type[ByteProperty], node: str, make: Make) -> None:
    assert check.judge(SESSIONS[0], node, make) is not None


def test_who_took_nothing_in_has_nothing_to_judge() -> None:
    for check in LINE_CHECKS:
        assert check.judge(Trace(), "s1", SERVED) is None
