"""Every way in which a small conversation can go: exhaustive exploration of the real objects.

The choice is which pending thing happens next: a message of either direction is delivered, an application
does something, a deadline comes, a list expires, the connection is lost. States are copies of the nodes;
those with equal keys are one, reached by the shortest path. Checkers watch every step, with what happened
on the path to it behind them, and judge what must hold when all is quiet wherever nothing is pending any
more. Steps that lead back to where they began, while nobody does anything, would go on for ever.

The bounds are part of the verdict. A deadline that has come is kept before anything else happens, and
messages take less than `PATIENCE`: a deadline further away than that comes only when nothing is on its way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import attrs

from mcp_sansio._client_config import ClientConfig
from mcp_sansio._listing import ListingConfig
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._server_config import ServerConfig
from mcp_sansio._trace import VERDICT, Header, Trace, TraceEvent
from mcp_sansio._versions import MODERN_VERSIONS
from mcp_sansio.simulation._checking import Auditor, Checker, Violated
from mcp_sansio.simulation._checks.properties import PROPERTIES
from mcp_sansio.simulation._client_node import ClientNode
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._node import Node
from mcp_sansio.simulation._parties import Version
from mcp_sansio.simulation._run import Quiescence
from mcp_sansio.simulation._scenarios import CLIENT, KEYS, SERVER
from mcp_sansio.simulation._server_node import ServerNode

from .fork import Frozen, forget
from .pair import Pair
from .state_key import StateKey

PATIENCE = 1.0
TTL = 0.5

C, S = "c1", "s1"


@attrs.frozen(kw_only=True)
class Scope:
    """What may happen at most: so many changes, losses of the connection, lists, gets and cancellations by
    the application, and expiries; so many messages on their way in each direction before one has to
    be delivered; a list of so many pages. `quiet` is how long both ends hold changes back.
    """

    changes: int = 4
    losses: int = 2
    in_flight: int = 2
    pages: int = 2
    lists: int = 1
    gets: int = 0
    cancels: int = 1
    expiries: int = 1
    quiet: float = 0.0
    eager: bool = True
    versions: tuple[str, ...] = MODERN_VERSIONS

    def __str__(self) -> str:
        fields = attrs.asdict(self)
        fields.pop("versions")
        return ", ".join(f"{name} {value}" for name, value in fields.items())


Budget: TypeAlias = tuple[int, ...]
_SPENT = ("changes", "losses", "lists", "gets", "cancels", "expiries")


@attrs.frozen
class Explored:
    """What came of it. `trace` leads to the violation; `complete` if every state of the scope was seen."""

    scope: Scope
    states: int
    transitions: int
    rests: int
    violation: Violated | None
    trace: Trace | None
    complete: bool

    def __str__(self) -> str:
        size = f"{self.states} states, {self.transitions} transitions, {self.rests} of them at rest"
        if self.violation is not None:
            return f"{self.violation} ({size})"
        return f"{'complete' if self.complete else 'not complete'} for {self.scope}: {size}"


@attrs.frozen(eq=False)
class _State:
    """A node of the graph: how it was reached, and what it is, until its successors are known."""

    parent: int
    events: Sequence[TraceEvent]
    budget: Budget


Step: TypeAlias = tuple[str, str]
Whole: TypeAlias = tuple[Pair, Auditor]


def client_of(scope: Scope) -> ClientNode:
    """The client of a scope: no request of it times out, and it looks back no further than the key does."""
    return ClientNode(
        S,
        ClientConfig(
            info=CLIENT,
            versions=scope.versions,
            quiet_timeout=None,
            total_timeout=None,
            backoff_max=1.0,
        ),
        ListingConfig(eager=scope.eager, quiet=scope.quiet, max_wait=2 * scope.quiet, wait=None),
    )


def server_of(scope: Scope) -> ServerNode:
    """The server of a scope: one prompt to a page."""
    return ServerNode(
        ServerConfig(
            info=SERVER, quiet=scope.quiet, max_wait=2 * scope.quiet, discover_ttl=0.0, quiet_timeout=None
        ),
        PromptServerConfig(keys=KEYS, page_size=1, ttl=TTL),
    )


def as_it_is(_node: Node) -> None:
    """Nothing is altered."""


class Explorer:
    """One exploration. `prepare` is done to each node as it starts, which may make a variant of it; `met` is
    told of every state that is reached, by its number, on whichever way.
    """

    def __init__(
        self,
        scope: Scope,
        checks: Iterable[type[Checker]],
        *,
        prepare: Callable[[Node], None] = as_it_is,
        met: Callable[[int, Pair, Budget], None] | None = None,
        most: int = 1_000_000,
    ) -> None:
        self.scope = scope
        self._checks = tuple(checks)
        self._prepare = prepare
        self._met = met
        self._most = most
        self._known: dict[bytes, int] = {}
        self._states: list[_State] = []
        self._edges: list[tuple[int, int]] = []
        self._frontier: list[tuple[int, Frozen[Whole]]] = []
        self._rests = 0

    def run(self) -> Explored:
        """Explore; the first violation ends it, and no other has a shorter path."""
        try:
            self._begin()
            complete = self._spread()
            self._look_for_cycles()
        except _Found as found:
            return self._explored(found.violated, self._trace(found), complete=False)
        finally:
            forget()
        return self._explored(None, None, complete=complete)

    def _explored(self, violation: Violated | None, trace: Trace | None, *, complete: bool) -> Explored:
        size = len(self._states), len(self._edges), self._rests
        return Explored(self.scope, *size, violation, trace, complete)

    # --- the graph ---

    def _begin(self) -> None:
        pair = Pair(client_of(self.scope), server_of(self.scope))
        auditor = Auditor(self._checks)
        pair.start(S, self._prepare)
        pair.command(S, "edit", self._content(0))
        pair.start(C, self._prepare)
        self._reach(-1, pair, auditor, (0,) * len(_SPENT))

    def _spread(self) -> bool:
        while self._frontier:
            frontier, self._frontier = self._frontier, []
            for at, frozen in frontier:
                if len(self._states) > self._most:
                    return False
                self._expand(at, frozen)
        return True

    def _expand(self, at: int, frozen: Frozen[Whole]) -> None:
        budget = self._states[at].budget
        whole = frozen.thaw()
        steps = [*self.steps(whole[0], budget)]
        if not any(kind in ("deliver", "timer") for kind, _ in steps):
            self._rest(at, frozen)
        for kind, name in steps:
            pair, auditor = whole if (kind, name) == steps[0] else frozen.thaw()
            spent = self.take(pair, kind, name, budget)
            self._reach(at, pair, auditor, spent)

    def _reach(self, parent: int, pair: Pair, auditor: Auditor, budget: Budget) -> None:
        events = pair.collect()
        self._watch(parent, auditor, events)
        key = pair.key(lambda key: _remember(key, auditor.ledger, budget))
        at = self._known.setdefault(key, len(self._states))
        self._edges.append((parent, at))
        if at == len(self._states):
            self._states.append(_State(parent, events, budget))
            self._frontier.append((at, Frozen((pair, auditor))))
        if self._met is not None:
            self._met(at, pair, budget)

    def _watch(self, at: int, auditor: Auditor, events: Sequence[TraceEvent]) -> None:
        try:
            for event in events:
                auditor(event)
        except Violated as violated:
            raise _Found(violated, at, events) from None

    def _rest(self, at: int, frozen: Frozen[Whole]) -> None:
        """Nothing is pending: who is not eager is asked once more, as at the end of every run."""
        pair, auditor = frozen.thaw()
        self._rests += 1
        if not self.scope.eager:
            pair.command(C, "list", {})
            while (step := next(self._pending(pair), None)) is not None:
                self.take(pair, *step, (0,) * len(_SPENT))
        pair.rest()
        events = pair.collect()
        self._watch(at, auditor, events)
        try:
            auditor.finish()
        except Violated as violated:
            raise _Found(violated, at, events) from None

    # --- steps ---

    def _full(self, pair: Pair) -> list[str]:
        return [name for name in (S, C) if len(pair.way[name]) >= self.scope.in_flight]

    def _hurried(self, pair: Pair) -> bool:
        """Whether what is pending comes before anything else."""
        overdue = any((pair.due(name) or math.inf) <= pair.now for name in (S, C))
        return overdue or bool(self._full(pair))

    def _pending(self, pair: Pair) -> Iterator[Step]:
        """What happens by itself: a deadline that has come, else messages, or a later deadline."""
        due = sorted((when, name) for name in (S, C) if (when := pair.due(name)) is not None)
        if due and due[0][0] <= pair.now:
            yield "timer", due[0][1]
            return
        full = self._full(pair)
        busy = full or [name for name in (S, C) if pair.way[name]]
        yield from (("deliver", name) for name in busy)
        for when, name in due:
            if not full and when == due[0][0] and (not busy or when < pair.now + PATIENCE):
                yield "timer", name

    def steps(self, pair: Pair, budget: Budget) -> Iterator[Step]:
        """All that can happen next."""
        pending = [*self._pending(pair)]
        yield from pending
        if self._hurried(pair):
            return
        left = {kind: spent < getattr(self.scope, kind) for kind, spent in zip(_SPENT, budget, strict=True)}
        if left["changes"]:
            yield "changes", S
        for kind in ("lists", "gets"):
            if left[kind]:
                yield kind, C
        if left["cancels"] and pair.waiting:
            yield "cancels", C
        if left["losses"] and pair.conn:
            yield "losses", C
        if left["expiries"] and self._expires(pair) and not any(kind == "timer" for kind, _ in pending):
            yield "expiries", C

    def take(self, pair: Pair, kind: str, name: str, budget: Budget) -> Budget:
        """Do a step; what is spent after it."""
        match kind:
            case "deliver":
                pair.deliver(name)
                return budget
            case "timer":
                pair.expire(name)
                return budget
            case "changes":
                pair.command(S, "edit", self._content(budget[0] + 1))
            case "lists":
                pair.command(C, "list", {})
            case "gets":
                pair.command(C, "get", {"name": "p0"})
            case "cancels":
                pair.command(C, "cancel", {"back": 0})
            case "losses":
                pair.lose()
            case _:
                pair.pass_time(self._expires(pair) or pair.now)
        spent = _SPENT.index(kind)
        return (*budget[:spent], budget[spent] + 1, *budget[spent + 1 :])

    def _content(self, version: int) -> dict[str, list[tuple[str, str]]]:
        """Every prompt is another one, so that pages of two versions can be told apart."""
        return {"put": [(f"p{page}", f"v{version}") for page in range(self.scope.pages)]}

    def _expires(self, pair: Pair) -> float | None:
        node = pair.nodes[C]
        snapshot = node.prompts.snapshot if isinstance(node, ClientNode) else None
        return snapshot.expires if snapshot is not None and snapshot.expires > pair.now else None

    # --- what was found ---

    def _look_for_cycles(self) -> None:
        states = endless(len(self._states), self._edges)
        if states:
            text = f"nobody does anything, and it goes on for ever: {len(states)} states follow each other"
            raise _Found(Violated(Quiescence, text, self._length(states[0]) - 1), states[0], ())

    def _length(self, at: int) -> int:
        return sum(map(len, self._path(at)))

    def _path(self, at: int) -> Iterator[Sequence[TraceEvent]]:
        """The events on the way to a state, the last ones first."""
        while at >= 0:
            yield self._states[at].events
            at = self._states[at].parent

    def _trace(self, found: _Found) -> Trace:
        """The path to a violation, as a trace like any other."""
        trace = Trace(Header(scenario="explored"))
        for piece in [found.events, *self._path(found.at)][::-1]:
            trace.events.extend(piece)
        violated = found.violated
        del trace.events[violated.index + 1 :]
        trace.add(
            trace.events[-1].time, VERDICT, data=[violated.property, violated.text], cause=violated.index
        )
        return trace


class _Found(Exception):
    def __init__(self, violated: Violated, at: int, events: Sequence[TraceEvent]) -> None:
        super().__init__(str(violated))
        self.violated = violated
        self.at = at
        self.events = events


def _remember(key: StateKey, ledger: Ledger, budget: Budget) -> None:
    """What happened before, as far as the lists depend on it that are held or on their way."""
    key.add(budget)
    known = key.requests()
    for client in ledger.clients.values():
        key.add(client.covered)
        key.rank("seen", client.epoch)
        for asked in client.asked.values():
            if asked.method == "prompts/list" and (asked.over is None or asked.id in known):
                key.rank("request", asked.id)
                key.rank("seen", asked.epoch)
                key.rank("version", sum(v.index <= asked.index for v in _versions(ledger)) - 1)


def _versions(ledger: Ledger) -> Iterator[Version]:
    for server in ledger.servers.values():
        yield from server.versions


def endless(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The states of a graph that are on a cycle, or between two."""
    alive = set(range(count))
    inner = [(a, b) for a, b in edges if a >= 0]
    size = -1
    while size != len(alive):
        size = len(alive)
        for here, there in ((0, 1), (1, 0)):
            linked = {edge[there] for edge in inner if edge[here] in alive}
            alive &= linked
    return sorted(alive)


SMALL = Scope(changes=1, losses=1, expiries=0)
MEDIUM = Scope(changes=2, losses=1)
FULL = Scope()


def explore(scope: Scope = MEDIUM, checks: Iterable[type[Checker]] = PROPERTIES) -> Explored:
    """Explore a scope of the library as it is."""
    return Explorer(scope, checks).run()
