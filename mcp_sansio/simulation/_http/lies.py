"""The lies of servers over HTTP: those that they tell over lines, in the bodies of replies and in events.

A reply is one body, which carries one message, so that a lie of two messages is told in events alone. Lengths
are those of what is said in the end: the bytes are HTTP/1.1, whatever they mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcp_sansio._sse import encode_event
from mcp_sansio.simulation._faults import Fault
from mcp_sansio.simulation._faults_peer import LIES, Lie, in_place_of, peer_fault
from mcp_sansio.simulation._links import Pipe, Rule
from mcp_sansio.simulation._tape import Tape

_BODY = re.compile(rb"(content-type: application/json\r\ncontent-length: )\d+(\r\n(?:.+\r\n)*\r\n)(\{.*\})")
_EVENT = re.compile(rb"[0-9a-f]+\r\n(?:event: message\n)?data: (\{[^\n]*\})\n\n\r\n")


def _tell(lie: Lie) -> Rule:
    """A rule that lies about the first message of a write that can be lied about."""

    def rule(pipe: Pipe, data: bytes) -> bool:
        tape = pipe.world.tape
        told = _in_body(lie, tape, data) or _in_event(lie, tape, data)
        if told is not None:
            pipe.send(told)
        return told is not None

    return rule


def _in_body(lie: Lie, tape: Tape, data: bytes) -> bytes | None:
    found = _BODY.search(data)
    told = None if found is None else in_place_of(lie, tape, found[3])
    if found is None or told is None or len(told) > 1:
        return None
    body = b"".join(told)
    return data[: found.start()] + found[1] + b"%d" % len(body) + found[2] + body


def _in_event(lie: Lie, tape: Tape, data: bytes) -> bytes | None:
    for found in _EVENT.finditer(data):
        told = in_place_of(lie, tape, found[1])
        if told is not None:
            chunks = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in map(encode_event, told))
            return data[: found.start()] + chunks + data[found.end() :]
    return None


PEER_HTTP: Sequence[Fault] = tuple(peer_fault(name, about, _tell(lie)) for name, about, lie in LIES)
"""Every lie, over HTTP."""
