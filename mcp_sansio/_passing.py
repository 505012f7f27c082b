"""What passes over a wire, as it is, before anything is made of it.

A wire that is given an `OnMessage` calls it with each message that it takes in or gives out, however wrong
the message is; over HTTP, also with what stands above the bodies. The endpoint neither knows nor cares.
Nothing here has the time, since pulling has none: whoever listens looks at his own clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import attrs


@attrs.frozen
class MessagePassed:
    """One message has passed, or what came in the place of one.

    `data` is a line without its line end, the data of an event, or a body; of what was over the limit it is
    the beginning. `exchange` counts the HTTP exchanges of an end from 1; on a byte stream it is 0.
    """

    sent: bool
    data: bytes
    exchange: int = 0


@attrs.frozen
class HeadPassed:
    """The head of a request or a reply of one HTTP exchange has passed: `start` is the method of the one, the
    status of the other. `target` is that of a request.
    """

    sent: bool
    start: str | int
    headers: tuple[tuple[str, str], ...]
    exchange: int
    target: str | None = None


OnMessage: TypeAlias = Callable[[MessagePassed | HeadPassed], None]
"""Hears of all that passes over a wire, in the order in which the wire had it. It must not raise."""
