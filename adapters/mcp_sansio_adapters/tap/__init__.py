"""A tap between a host and a server: what they say passes untouched, and is recorded beside that.

`relay` moves the bytes, `recorder` takes a copy to a thread of its own, `records` makes a conversation of it,
and `pretty` shows that to a person.
"""

from .pretty import Pretty
from .recorder import Format, Recorder
from .records import CHILD_ERRORS, FROM_SERVER, TO_SERVER, Lines, Record
from .relay import relay
from .traced import Traced

__all__ = [
    "CHILD_ERRORS",
    "FROM_SERVER",
    "TO_SERVER",
    "Format",
    "Lines",
    "Pretty",
    "Record",
    "Recorder",
    "Traced",
    "relay",
]
