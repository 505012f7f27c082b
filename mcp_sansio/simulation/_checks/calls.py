"""Properties of a client's requests: their ids, their ends, and what belongs to which."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import msgspec

import mcp_sansio._trace as kinds
from mcp_sansio._plain import is_object, member
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger, params_of
from mcp_sansio.simulation._listeners import CANCELLED
from mcp_sansio.simulation._parties import Asked, key_of

LEGS = ("inputResponses", "requestState")
"""The members of a request that say it is a later leg of a multi round-trip."""

NEGOTIATION = ("server/discover", "initialize")

_canonical = msgspec.json.Encoder(order="sorted").encode


def first_leg(params: dict[str, Any]) -> bool:
    """Whether a request is no later leg."""
    return not any(leg in params for leg in LEGS)


@attrs.define(eq=False)
class _Offer:
    """An answer that asks for input; `rounds` is how many there have been for the request."""

    about: tuple[str, bytes]
    state: Any
    keys: frozenset[str]
    rounds: int


class RoundTripsApart(Checker):
    """A state goes back as it came, with the request that it belongs to and no other; and what comes of a
    round trip is never cached.
    """

    id = "C16"
    title = "round trips are apart"
    anchor = "basic/patterns/mrtr#client-requirements-basic-workflow"
    trusting = True
    kinds = (kinds.SENT, kinds.TAKEN, kinds.OBSERVED)
    reports = ("updated",)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._offers: dict[str, list[_Offer]] = {}
        self._rounds: dict[Asked, int] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.OBSERVED:
            return self._listed(event)
        request, message = self.ledger.request, self.ledger.message
        if request is None or message is None:
            return None
        if event.kind == kinds.TAKEN:
            result = message.get("result")
            if self.ledger.was is None and is_object(result) and result.get("resultType") == "input_required":
                self._offered(event.node, request, result)
        elif request.index == event.index and not first_leg(request.params):
            return self._later_leg(event.node, request)
        return None

    def _offered(self, node: str, request: Asked, result: dict[str, Any]) -> None:
        wanted = result.get("inputRequests")
        keys = frozenset(wanted if is_object(wanted) else ())
        offer = _Offer(_about(request), result.get("requestState"), keys, self._rounds.pop(request, 0) + 1)
        self._offers.setdefault(node, []).append(offer)

    def _later_leg(self, node: str, request: Asked) -> str | None:
        offers, about, state = self._offers.get(node, []), _about(request), request.params.get("requestState")
        given = request.params.get("inputResponses")
        given = frozenset(given if is_object(given) else ())
        for offer in offers:
            if offer.about == about and offer.state == state and offer.keys <= given:
                offers.remove(offer)
                self._rounds[request] = offer.rounds
                return self._too_many(offer.rounds)
        return f"request {request.id} ({request.method}) answers a question that it was not asked: {state!r}"

    def _too_many(self, rounds: int) -> str | None:
        most = self.client.settings.get("max_rounds")
        return None if most is None or rounds <= most else f"{rounds} rounds; at most {most} were promised"

    def _listed(self, event: TraceEvent) -> str | None:
        asked = self.client.first(event.data[1])
        if asked is None or asked.walk is None or all(page.complete for page in asked.walk.pages):
            return None
        return f"the list of request {asked.id} has a page that is no complete result"


def _about(request: Asked) -> tuple[str, bytes]:
    """What makes two requests the same, whichever leg they are."""
    params = {key: value for key, value in request.params.items() if key not in (*LEGS, "_meta")}
    return request.method, _canonical(params)


class IdDiscipline(Checker):
    """An id is used once; an answer belongs to the request with its id, by type and value; any other changes
    nothing.
    """

    id = "C18"
    title = "id discipline"
    anchor = "basic#requests"
    kinds = (kinds.SENT, kinds.ENDED, kinds.TAKEN, kinds.TIMER, kinds.OBSERVED)
    reports = ("updated", "odd")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._used: dict[tuple[str, Any], Asked] = {}
        self._answered: dict[str, Asked | None] = {}
        self._refused: dict[Asked, None] = {}
        self._alarmed: dict[str, int] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        request, message = self.ledger.request, self.ledger.message
        if event.kind == kinds.TAKEN:
            self._answered[event.node] = request if self.ledger.was is None else None
        elif event.kind == kinds.TIMER:
            self._alarmed[event.node] = event.index
        elif event.kind == kinds.ENDED:
            self._refused = {asked: None for asked in self._refused if asked.link != event.link}
        elif event.kind == kinds.OBSERVED:
            return self._reported(event)
        elif message is not None and "method" in message and "id" in message:
            return self._fresh_id(event.node, request, message["id"])
        elif request is not None:
            self._refused.pop(request, None)
        return None

    def _fresh_id(self, node: str, request: Asked | None, wire_id: Any) -> str | None:
        if type(wire_id) not in (int, str) or request is None:
            return f"the id {wire_id!r} is neither a string nor an integer"
        before = self._used.get((node, key_of(wire_id)))
        self._used[node, key_of(wire_id)] = request
        if before is request:
            return None  # it was lost with its HTTP exchange, and is made in another one
        if before is not None and before.over is None:
            return f"the id {wire_id!r} is that of {before.method}, which is in flight"
        if before is not None and before.link == request.link:
            return f"the id {wire_id!r} was that of {before.method} on the same connection"
        return None

    def _reported(self, event: TraceEvent) -> str | None:
        kind, fields = event.data
        client = self.client
        answered = self._answered.get(event.node)
        if kind == "updated":
            asked = client.first(fields)
            whole = asked is not None and asked.walk is not None and asked.walk.pages
            if whole or (asked is not None and any(r.over == "cancelled" for r in _requests(asked))):
                return None
            return f"a list of request {fields['asked']}, which was not answered"
        if fields["kind"] == "unknown-reply" and answered is not None and self._owed(event.node, answered):
            self._refused[answered] = None
        return None

    def _owed(self, node: str, asked: Asked) -> bool:
        """Whether an answer was still waited for: negotiation is given up without a word, when its time is
        over.
        """
        return asked.method not in NEGOTIATION or self._alarmed.get(node, -1) < asked.index

    def at_rest(self) -> str | None:
        """A request that was cancelled by then may have been given up already when its answer came."""
        for asked in self._refused:
            return f"the answer to request {asked.id!r} ({asked.method}) was taken for that to another"
        return None


def _requests(asked: Asked) -> list[Asked]:
    return [] if asked.walk is None else asked.walk.requests


ENDS = ("listed", "rendered", "gone", "completed", "paged", "failed")
"""The reports by which a command ends."""


class LateResponses(Checker):
    """What was given up stays given up: its answer changes nothing; and only what is under way is given up,
    once.
    """

    id = "C19"
    title = "late responses"
    anchor = "basic/patterns/cancellation#behavior-requirements"
    kinds = (kinds.SENT, kinds.OBSERVED, kinds.NODE)
    reports = (*ENDS, "updated")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._ended: dict[str, set[Any]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.SENT:
            return self._cancels(event)
        if event.kind == kinds.NODE:
            self._ended.pop(event.node, None)
            return None
        kind, fields = event.data
        if kind == "updated":
            return self._written(fields)
        ended = self._ended.setdefault(event.node, set())
        if fields["op"] in ended:
            return f"command {fields['op']} ends a second time: {kind}"
        ended.add(fields["op"])
        return None

    def _cancels(self, event: TraceEvent) -> str | None:
        message = self.ledger.message
        if message is None or message.get("method") != CANCELLED:
            return None
        request, wire_id = self.ledger.request, params_of(message).get("requestId")
        if self.ledger.http.carries(event.link) and self.ledger.was not in ("result", "error"):
            return None  # it had to wait for a connection until it was given up, or this is sent once more
        if request is None:
            return f"a cancellation of {wire_id!r}, which was never asked"
        if request.method == "initialize":
            return "initialize is cancelled"
        if self.ledger.was is None or not self._of_now(event):
            return None
        return f"a cancellation of {wire_id!r}, which is over: {self.ledger.was}"

    def _of_now(self, event: TraceEvent) -> bool:
        """Whether it was written as soon as it was meant; one that had to wait may have been overtaken."""
        where = self.ledger.where
        return 0 <= event.cause < len(where) and where[event.cause] == event.node

    def _written(self, fields: dict[str, Any]) -> str | None:
        asked = self.client.first(fields)
        if asked is not None and any(request.over == "cancelled" for request in _requests(asked)):
            return f"the list of request {asked.id} has a page that was given up"
        return None


class UnknownPrompt(Checker):
    """A prompt that the server does not know is asked for again once at most."""

    id = "C22"
    title = "unknown prompt"
    anchor = "server/prompts#error-handling"
    level = Level.LIBRARY
    kinds = (kinds.COMMAND, kinds.SENT)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._wanted: Counter[tuple[str, Any]] = Counter()
        self._sent: dict[tuple[str, Any], list[Asked]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.COMMAND:
            verb, data = event.data
            if verb == "get":
                self._wanted[event.node, data["name"]] += 1
            return None
        request = self.ledger.request
        if request is None or request.method != "prompts/get" or request.index != event.index:
            return None
        key = event.node, request.params.get("name")
        if not self._wanted[key] or not first_leg(request.params):
            return None
        sent = self._sent.setdefault(key, [])
        sent.append(request)
        if len(sent) <= 2 * self._wanted[key]:
            return None
        lost = sum(asked.over == "lost" for asked in sent)
        if len(sent) <= 2 * self._wanted[key] + lost:
            return None
        return f"{len(sent)} requests for {key[1]!r}, which was wanted {self._wanted[key]} times"


class NoLeak(Checker):
    """When all is quiet nothing is left of what is over: no request, no command, no deadline."""

    id = "C23"
    title = "no leak"
    anchor = "basic/patterns/cancellation#timeouts"
    level = Level.LIBRARY
    kinds = (kinds.OBSERVED, kinds.NODE)
    reports = ("began", *ENDS)
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._open: dict[str, dict[Any, str]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.NODE:
            self._open[event.node] = {}
            return None
        kind, fields = event.data
        commands = self._open.setdefault(event.node, {})
        if kind == "began":
            commands[fields["op"]] = fields["what"]
        else:
            commands.pop(fields["op"], None)
        return None

    def at_rest(self) -> str | None:
        for client in self.ledger.clients.values():
            rest = client.rest or {}
            left = self._open.get(client.name)
            if left:
                return f"{client.name}: a {next(iter(left.values()))} that never ends"
            if rest.get("timer") is not None:
                return f"{client.name} waits until {member(rest, 'timer')} for nothing"
            listening = client.listen is not None and client.listen.over is None
            if rest.get("in_flight", 0) > int(listening):
                return f"{client.name}: {rest['in_flight']} requests in flight, though all is quiet"
        return None
