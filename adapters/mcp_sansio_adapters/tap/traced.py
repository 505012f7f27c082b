"""A conversation as a trace, for the checkers of `mcp_sansio.simulation`: records in, lines of JSON out.

A tap sees the messages, and nothing of what anybody made of them. The trace is that of a client whose server
is somebody else: what went to the server it has sent, what came from there it has taken in.
"""

from __future__ import annotations

from collections.abc import Iterable

import mcp_sansio._trace as kinds
from mcp_sansio_adapters.recording import Recorder, Redact

from .records import FROM_SERVER, TAP, TO_SERVER, Record, noted

CLIENT = "client-1"
LINK = "client-1/1"
KINDS = {TO_SERVER: kinds.SENT, FROM_SERVER: kinds.TAKEN}


class Traced:
    """A `Format`; made of one conversation. `redact` hides what must not be written."""

    def __init__(self, redact: Redact | None = None) -> None:
        self._lines: list[bytes] = []
        self._recorder = Recorder(self._lines.append, redact, source="tap")
        self._begun = False

    def __call__(self, record: Record) -> Iterable[bytes]:
        """The lines for one record."""
        if not self._begun:
            self._begun = True
            self._add(record, kinds.NODE, "client", link="")
            self._add(record, kinds.OPEN)
        if record.direction in KINDS:
            self._add(record, KINDS[record.direction], self._recorder.message(record.line))
        elif record.direction == TAP:
            self._noted(record)
        lines, self._lines[:] = [*self._lines], []
        return lines

    def _noted(self, record: Record) -> None:
        what = noted(record)
        if "lost" in what:
            self._add(record, kinds.FAULT, ["lost", what])
        elif "started" not in what:
            self._add(record, kinds.ENDED, "eof")

    def _add(self, record: Record, kind: str, data: object = None, link: str = LINK) -> None:
        self._recorder.add(record.time, kind, CLIENT, link, data=data)
