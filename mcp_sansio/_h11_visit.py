"""How far a connection of an HTTP server is, as a table, and how patient it is on its way.

Here is what can be said of it without bytes; `_h11_server` does the rest.
"""

from __future__ import annotations

import attrs

from ._checks import from_
from ._tables import Table, Word


@attrs.frozen(kw_only=True)
class H11Config:
    """How patient the connections of a server are. Times are seconds, None for ever.

    `request_timeout` is what a request may take from its first byte, the first one from the connection's
    beginning, to the last; `idle_timeout` the time between requests; `write_timeout` what the peer may take
    to read what has been handed out. `linger` limits for how long the rest of a refused body is dropped.
    `max_head` limits the head of a request, `max_pipelined` what is kept of later ones, in bytes. Raises
    `LocalProtocolError` for numbers out of range.
    """

    request_timeout: float | None = attrs.field(default=60.0, validator=from_(0))
    idle_timeout: float | None = attrs.field(default=75.0, validator=from_(0))
    write_timeout: float | None = attrs.field(default=60.0, validator=from_(0))
    linger: float = attrs.field(default=2.0, validator=from_(0))
    max_head: int = attrs.field(default=65_536, validator=from_(1))
    max_pipelined: int = attrs.field(default=65_536, validator=from_(1))


class Visit(Word):
    """How far a connection is with the request of the moment."""

    DUE = "request due"
    IDLE = "idle"
    ASKING = "asking"
    OPEN = "open"
    REST = "rest"
    LINGERING = "lingering"
    LAST = "last"
    CLOSED = "closed"


class VisitInput(Word):
    """What moves a connection."""

    BYTES = "first bytes"
    ASK = "whose request"
    BEGIN = "request"
    DONE = "reply and body complete"
    EARLY = "reply complete, body short"
    LINGER = "reply complete, body dropped"
    END = "nothing more is read"
    DRAINED = "output written"
    ABORT = "abort"


VISIT = Table(
    "visit",
    "A connection of an HTTP server: one request after the other, and a rest that nobody reads.",
    Visit.DUE,
    {
        (Visit.IDLE, VisitInput.BYTES): Visit.DUE,
        (Visit.DUE, VisitInput.ASK): Visit.ASKING,
        (Visit.DUE, VisitInput.BEGIN): Visit.OPEN,
        (Visit.ASKING, VisitInput.BEGIN): Visit.OPEN,
        (Visit.OPEN, VisitInput.DONE): Visit.IDLE,
        (Visit.OPEN, VisitInput.EARLY): Visit.REST,
        (Visit.REST, VisitInput.DONE): Visit.IDLE,
        **{(state, VisitInput.LINGER): Visit.LINGERING for state in (Visit.DUE, Visit.ASKING, Visit.OPEN)},
        **{
            (state, VisitInput.END): Visit.LAST
            for state in (Visit.DUE, Visit.IDLE, Visit.ASKING, Visit.OPEN, Visit.REST, Visit.LINGERING)
        },
        (Visit.LAST, VisitInput.DRAINED): Visit.CLOSED,
        **{(state, VisitInput.ABORT): Visit.CLOSED for state in Visit if state is not Visit.CLOSED},
    },
)

PHRASES = {
    200: b"OK",
    202: b"Accepted",
    204: b"No Content",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    406: b"Not Acceptable",
    408: b"Request Timeout",
    413: b"Content Too Large",
    415: b"Unsupported Media Type",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    501: b"Not Implemented",
    503: b"Service Unavailable",
    505: b"HTTP Version Not Supported",
}
"""What the statuses are called that this library sends; it means nothing to anybody but people."""
