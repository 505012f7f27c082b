"""Properties of what a client makes of what it was told: lists and answers are as they came."""

from __future__ import annotations

from typing import Any

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._plain import is_array, is_object, member
from mcp_sansio._structure import MAX_TTL
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._ledger_http import is_modern
from mcp_sansio.simulation._parties import items_of
from mcp_sansio.simulation._walks import Page

NONSENSE = "bad-hint"
AT_ONCE = 1e-6


class HintsBelieved(Checker):
    """A list has what its pages had, is good for as long as all of them are and for whom all of them are; a
    client of ours complains of hints that are none, and of no others.
    """

    id = "C24"
    title = "a list is what its pages say"
    anchor = "server/utilities/caching#cacheable-results"
    kinds = (kinds.OBSERVED,)
    reports = ("updated", "odd")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._odd: dict[str, list[tuple[int, str]]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        kind, fields = event.data
        if kind == "odd":
            if fields["kind"] == NONSENSE:
                self._odd.setdefault(event.node, []).append((event.index, fields["text"]))
            return None
        asked = self.client.first(fields)
        if asked is None or asked.walk is None or not asked.walk.complete:
            return None
        pages = asked.walk.pages
        return self._differs(event, fields, pages) or self._complains(event.node, pages[0].index, pages)

    def _differs(self, event: TraceEvent, fields: dict[str, Any], pages: list[Page]) -> str | None:
        if fields["private"] != any(page.private for page in pages):
            return f"private: {fields['private']}, and by what its pages say that is not so"
        if not self.ledger.honest:
            return None
        if all(page.items is not None for page in pages) and items_of(fields["items"]) != _together(pages):
            return "a list has other items than its pages had"
        until = _until(pages)
        if until is None or "expires" not in fields or event.node in self.ledger.clocks:
            return None
        if abs((fields["expires"] or 0.0) - until) > AT_ONCE:
            return f"a list is good until {fields['expires']} s, its pages are until {until:g} s"
        return None

    def _complains(self, node: str, since: int, pages: list[Page]) -> str | None:
        said = [text.split(": ")[-1] for index, text in self._odd.get(node, ()) if index > since]
        if not self.client.settings or said == [f"{hint} is nonsense" for p in pages for hint in p.nonsense]:
            return None
        return f"complaints about the hints of pages that had others: {said}"


def _together(pages: list[Page]) -> tuple[tuple[str, str], ...]:
    """The items of all pages; of two with one name, the first."""
    found: dict[str, str] = {}
    for page in pages:
        for name, tag in page.items or ():
            found.setdefault(name, tag)
    return tuple(found.items())


def _until(pages: list[Page]) -> float | None:
    """Until when a list is good; None where that is left to the client."""
    ends: list[float] = []
    for page in pages:
        if page.ttl is None and not is_modern(page.asked.params):
            return None
        ends.append(page.time + min(page.ttl or 0.0, MAX_TTL))
    return min(ends)


@attrs.frozen
class _Answer:
    """An answer that has come, and what an application should be told of it."""

    index: int
    id: Any
    kind: str
    told: Any


class AnswersTold(Checker):
    """A good answer is told to who asked, as it came, and nobody calls it unreadable."""

    id = "C25"
    title = "an answer is told as it came"
    anchor = "basic#responses"
    level = Level.LIBRARY
    trusting = True
    kinds = (kinds.TAKEN, kinds.OBSERVED, kinds.NODE)
    reports = ("rendered", "completed", "failed")
    role = "client"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._came: dict[str, list[_Answer]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.OBSERVED:
            return self._told(event.node, *event.data)
        came = self._came.setdefault(event.node, [])
        if event.kind == kinds.NODE:
            came.clear()
        elif (answer := self._answer(event)) is not None:
            came.append(answer)
        return None

    def at_rest(self) -> str | None:
        for node, came in self._came.items():
            if came and self.ledger.clients[node].settings:
                return f"{node} is never told of the answer to request {came[0].id}"
        return None

    def _answer(self, event: TraceEvent) -> _Answer | None:
        request, message = self.ledger.request, self.ledger.message
        if request is None or message is None or self.ledger.was is not None:
            return None
        result = message.get("result")
        if not is_object(result) or result.get("resultType", "complete") != "complete":
            return None
        if request.method == "prompts/get" and is_array(result.get("messages")):
            texts = [member(member(each, "content"), "text") for each in result["messages"]]
            return _Answer(event.index, request.id, "rendered", texts)
        if request.method == "completion/complete":
            values = member(member(result, "completion"), "values")
            return _Answer(event.index, request.id, "completed", values)
        return None

    def _told(self, node: str, kind: str, fields: dict[str, Any]) -> str | None:
        if kind == "failed":
            unread = fields.get("reason") == "InvalidReply"
            return f"the answer to command {fields.get('op')} is called unreadable" if unread else None
        told, came = fields.get("texts", fields.get("values")), self._came.get(node)
        found = next((each for each in came or () if (each.kind, each.told) == (kind, told)), None)
        if found is None and came:
            return f"{kind}: {told!r}, and what came was {came[0].told!r}"
        if found is not None and came is not None:
            came.remove(found)
        return None
