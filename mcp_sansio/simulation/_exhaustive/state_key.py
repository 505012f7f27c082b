"""What the behaviour of a pair of nodes depends on, in a form in which equal states are equal bytes.

Everything that is reachable from a node belongs to its state, unless a table here says that it does not
matter: so what a library grows is part of the key until somebody says otherwise, and a mistake makes
more states, not fewer. Times count relative to now, for nothing looks at a clock but to compare; ids, epochs
and other counts by their order, for they are only compared with each other; and what has passed longer ago
than any window that is looked back on has just passed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial
from hashlib import blake2b
from operator import itemgetter
from types import BuiltinMethodType, FunctionType, MappingProxyType, MethodType
from typing import Any, ClassVar, Final, TypeAlias, cast

import msgspec

from mcp_sansio._catalogue import CatalogueSnapshot
from mcp_sansio._events import CallId, Op
from mcp_sansio._timers import Timers
from mcp_sansio._types import Prompt

HORIZON: Final = 1.0
"""Seconds that anything looks back; no window of an explored scope may be longer."""

SETTLED: Final = frozenset(
    (
        # set once, when the object is made
        *(
            "config",
            "_config",
            "_listing",
            "serving",
            "spec",
            "_spec",
            "_limits",
            "limits",
            "_keys",
            "_states",
        ),
        *("announcements", "_announced", "_identity", "_owners", "_own_notifications", "layers", "_layers"),
        *(
            "_abandoned",
            "_left",
            "_classify",
            "_make",
            "_pace",
            "_asks",
            "_principals",
            "name",
            "_to",
            "note",
        ),
        *(
            "_plain",
            "_welcome",
            "meta",
            "_quiet",
            "_max_wait",
            "methods",
            "_max_items",
            "_head_size",
            "_limit",
        ),
        *("_max_depth", "_on_message", "on_change", "_watchers", "_max_prompts", "key", "notification"),
        *("_rounds", "wants_progress", "_tried", "_version_probed", "info", "recognizes", "_named"),
        # leads back to what is walked anyway
        *("_client", "ListLayer.client", "ServerLayer.server", "PromptServer.server", "_server", "_stream"),
        *("_machine", "stream", "PromptServer.catalogue", "_endpoint", "_owner", "Commands._listing"),
        # counted, and never looked at
        *("_serial", "Client._ops", "Server._ops", "_calls_made", "_wire_ids", "messages_sent", "_handled"),
        *("messages_received", "_conns", "_clock", "received", "token", "peer", "tag"),
        # follows from what else is in the key
        *("PromptServer._pages", "_pages_of", "_encoded", "Memory._items", "Collector.by_name", "_seen"),
        *("_looked_at", "Snapshot.by_name", "page", "values", "names", "problems", "begin", "end", "_awake"),
        *(
            "_heard",
            "_recognized",
            "recognized",
            "Memory._item",
            "PromptServer._handlers",
            "Catalogue._entries",
        ),
    )
)
"""Attributes, by themselves or with the class that has them, that the key leaves out."""

TIMES: Final = frozenset(
    ("_dial_at", "quiet_at", "total_at", "_since", "_first", "_last", "_judged", "began")
)
PASSED: Final = frozenset(("_checked",))  # only whether it has
AHEAD: Final = frozenset(("expires", "_expires"))  # only how long it will be until then
RANKS: Final = {
    **dict.fromkeys(("wire_id", "asked", "id"), "request"),
    "epoch": "epoch",
    "moves": "moves",
    **dict.fromkeys(("changes", "told", "_changes"), "change"),
}
"""Attributes with numbers of which only the order matters, among those of a kind."""

_IDS = re.compile(
    r'"(?:id|requestId|progressToken|io\.modelcontextprotocol/subscriptionId)":(\d+)|"v(\d+)"'
    r'|"[^"]*/snapshot[^"]*":"\w+"'
)
"""The ids in a message; the version of a prompt, which is its description; and what follows from that."""

Ranked: TypeAlias = tuple[str, float]
"""A number of which only the order matters, among those of its kind."""

PLAIN: Final = frozenset((str, bytes, int, float, bool, type(None)))


def skeleton(text: str) -> tuple[str, tuple[Ranked, ...]]:
    """A message without its ids and versions, and these."""
    found = [("request", int(i)) if i else ("version", int(v)) for i, v in _IDS.findall(text) if i or v]
    return _IDS.sub("#", text), tuple(found)


class StateKey:
    """Gathers a state, piece by piece, in an order that equal states share."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._out: list[Any] = []
        self._places: list[tuple[int, Ranked]] = []
        self._seen: dict[Any, int] = {}
        self._walkers: dict[type, Callable[[Any], None]] = {
            Prompt: lambda prompt: self.text(f'{prompt.name} "{prompt.description}"'),
            CatalogueSnapshot: self._catalogue,
            Timers: self._timers,
            Op: lambda op: self.rank("op", op.number),
            CallId: lambda call: self.rank("call", call.number),
            partial: lambda made: self.walk((made.func, made.args, made.keywords)),
            **dict.fromkeys((FunctionType, MethodType, BuiltinMethodType), self._function),
            **dict.fromkeys((list, tuple, deque), self._sequence),
            **dict.fromkeys((dict, MappingProxyType), self._mapping),
        }

    def add(self, *values: Any) -> None:
        """Plain values that are part of the state."""
        self._out.extend(values)

    def rank(self, kind: str, value: float) -> None:
        """A number of which only the order among those of its kind matters."""
        self._places.append((len(self._out), (kind, value)))
        self._out.append(None)

    def text(self, text: str) -> None:
        """A text with ids in it."""
        self.message(*skeleton(text))

    def message(self, skeleton: str, ranked: Iterable[Ranked]) -> None:
        """A text whose ids are known."""
        self._out.append(skeleton)
        for kind, value in ranked:
            self.rank(kind, value)

    def requests(self) -> set[float]:
        """The ids of all requests that the state knows of so far."""
        return {value for _, (kind, value) in self._places if kind == "request"}

    def digest(self) -> bytes:
        """The key."""
        kinds: dict[str, set[float]] = {}
        for _, (kind, value) in self._places:
            kinds.setdefault(kind, set()).add(value)
        ranks = {(kind, v): at for kind, values in kinds.items() for at, v in enumerate(sorted(values))}
        for place, ranked in self._places:
            self._out[place] = ranks[ranked]
        return blake2b(msgspec.msgpack.encode(self._out), digest_size=16).digest()

    # --- walking ---

    def walk(self, value: Any) -> None:
        """Anything that belongs to the state, with all that can be reached from it."""
        kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind in PLAIN:
            self._out.append(value)
        elif kind in self._walkers:
            self._walkers[kind](value)
        elif isinstance(value, Enum):
            self._out.append(value.name)
        elif isinstance(value, type):
            self._out.append(value.__qualname__)
        else:
            self._object(value, kind)

    def _function(self, function: Any) -> None:
        self._out.append(function.__qualname__)

    def _catalogue(self, snapshot: CatalogueSnapshot) -> None:
        self._sequence(entry.prompt for entry in snapshot.entries.values())

    def _sequence(self, values: Iterable[Any]) -> None:
        self._out.append("[")
        for value in values:
            self.walk(value)
        self._out.append("]")

    def _mapping(self, mapping: Mapping[Any, Any]) -> None:
        self._out.append("{")
        for key, value in mapping.items():
            if type(key) is int:
                self.rank("request", key)
            elif type(key) is not str or not key.rpartition("-")[2].isdigit():  # the name of a connection
                self.walk(key)
            self.walk(value)
        self._out.append("}")

    def _timers(self, timers: Timers) -> None:
        """What is due, in that order, and how soon."""
        heap, live = timers._heap, timers._live  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        for when, serial, key in sorted(heap, key=itemgetter(0, 1)):
            if live.get(key) == serial:
                self._out.append(self._ago(when))
                self.walk(key)

    def _object(self, value: Any, kind: type[Any]) -> None:
        if _is_itself(kind):
            if value in self._seen:
                self._out.append(self._seen[value])
                return
            self._seen[value] = len(self._seen)
        self._out.append(kind.__name__)
        for name, how in _plan(kind, value):
            found = getattr(value, name, None)
            if how is not None:
                how(self, name, found)
            elif type(found) in PLAIN:
                self._out.append(found)
            else:
                self.walk(found)

    def _when(self, _: str, value: Any) -> None:
        self._out.append(self._ago(value)) if type(value) is float else self.walk(value)

    def _whether(self, _: str, value: float) -> None:
        self._out.append(value < self._now)

    def _until(self, _: str, value: Any) -> None:
        self._out.append(round(max(value - self._now, 0.0), 6))

    def _data(self, _: str, value: bytes) -> None:
        self.text(value.decode())

    def _ranked(self, name: str, value: Any) -> None:
        kind = RANKS[name]
        if isinstance(value, dict):
            for key, number in cast("dict[str, float]", value).items():
                self._out.append(key)
                self.rank(kind, number)
        elif type(value) is int:
            self.rank(kind, value)
        else:
            self.walk(value)

    def _ago(self, when: float) -> float:
        return round(max(when - self._now, -HORIZON), 6)

    how: ClassVar[Mapping[str, Callable[[StateKey, str, Any], None]]] = {
        **dict.fromkeys(TIMES, _when),
        **dict.fromkeys(PASSED, _whether),
        **dict.fromkeys(AHEAD, _until),
        **dict.fromkeys(RANKS, _ranked),
        **dict.fromkeys(("data", "raw"), _data),
    }


How: TypeAlias = Callable[[StateKey, str, Any], None]

_PLANS: dict[tuple[type, int], tuple[tuple[str, How | None], ...]] = {}


def _plan(kind: type, value: Any) -> tuple[tuple[str, How | None], ...]:
    """The attributes that count, in order, and how each is told; none is ever taken away from an object."""
    own: dict[str, Any] = getattr(value, "__dict__", {})
    plan = _PLANS.get((kind, len(own)))
    if plan is None:
        slots = [name for base in kind.__mro__ for name in vars(base).get("__slots__", ())]
        names = sorted({*slots, *own} - {"__weakref__"})
        plan = _PLANS[kind, len(own)] = tuple((n, StateKey.how.get(n)) for n in names if _counts(kind, n))
    return plan


def _is_itself(kind: Any) -> bool:
    """Whether an object of this kind equals no other."""
    return kind.__eq__ is object.__eq__


def _counts(kind: type, name: str) -> bool:
    return name not in SETTLED and not any(f"{base.__name__}.{name}" in SETTLED for base in kind.__mro__)
