"""Properties of the pages that a server hands out: complete, hinted, the same to everybody who may ask."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

import mcp_sansio._trace as kinds
from mcp_sansio._errors import INVALID_REQUEST
from mcp_sansio._meta import VERSION
from mcp_sansio._plain import is_array, is_object, member
from mcp_sansio._trace import TraceEvent
from mcp_sansio.simulation._checking import Checker, Level
from mcp_sansio.simulation._ledger import Ledger
from mcp_sansio.simulation._parties import Owed, ServerParty, key_of

HINTED = ("prompts/list", "server/discover")
MAY_ASK = ("prompts/get", "resources/read", "tools/call")


def modern(params: dict[str, Any]) -> bool:
    """Whether a request says that it is one of the modern era."""
    return isinstance(member(params.get("_meta"), VERSION), str)


def cursor_of(params: dict[str, Any]) -> Any:
    """Where a page is to begin; None for the first."""
    return params.get("cursor")


def names_of(result: Any) -> tuple[str, ...]:
    """The names on a page."""
    prompts = member(result, "prompts")
    found = [member(prompt, "name") for prompt in prompts] if is_array(prompts) else []
    return tuple(name for name in found if isinstance(name, str))


@attrs.frozen(eq=False)
class _Chain:
    """Pages so far: of which server, for whom, since which event, and whether they show what all may see."""

    server: str
    principal: Any
    first: int
    names: tuple[str, ...]
    public: bool


class HonestPages(Checker):
    """Following the cursors shows every prompt that was there all the time exactly once; a cursor is good for
    whom it was issued to, and one that was not issued is refused.
    """

    id = "S6"
    title = "honest pages"
    anchor = "server/utilities/pagination#implementation-guidelines"
    level = Level.SHOULD
    kinds = (kinds.SENT, kinds.TAKEN)
    role = "server"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._issued: dict[tuple[Any, str], None] = {}
        self._chains: dict[tuple[str, str], _Chain] = {}
        self._continued: dict[tuple[str, Any], _Chain | None] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        server, owed, message = self.server, self.ledger.owed, self.ledger.message
        if owed is None or message is None or owed.method != "prompts/list":
            return None
        cursor = cursor_of(owed.params)
        if event.kind == kinds.TAKEN:
            if cursor is not None:
                key = event.link, key_of(owed.id)
                self._continued[key] = self._chains.get((event.link, str(cursor)))
            return None
        principal = server.principals.get(event.link)
        known = cursor is None or (principal, cursor) in self._issued
        if "result" not in message:
            code = member(message.get("error"), "code")
            gone = code == INVALID_REQUEST and self.ledger.http.carries(event.link)
            return None if known or gone else _refusal(cursor, code)
        if not known:
            return f"the cursor {cursor!r} is accepted, which was not issued to {principal or 'anybody'}"
        return self._page(server, owed, message["result"], event)

    def _page(self, server: ServerParty, owed: Owed, result: Any, event: TraceEvent) -> str | None:
        principal = server.principals.get(event.link)
        public = member(result, "cacheScope") != "private"
        chain = self._chain(server, owed, names_of(result), public=public)
        following = member(result, "nextCursor")
        if isinstance(following, str):
            self._issued[principal, following] = None
            if chain is not None:
                self._chains[event.link, following] = chain
            return None
        return None if chain is None or not server.known else _torn(server, chain, event.index)

    def _chain(
        self, server: ServerParty, owed: Owed, names: tuple[str, ...], *, public: bool
    ) -> _Chain | None:
        """The pages up to this one, if they are of one walk over one connection."""
        if cursor_of(owed.params) is None:
            return _Chain(server.name, server.principals.get(owed.link), owed.index, names, public)
        before = self._continued.pop((owed.link, key_of(owed.id)), None)
        if before is None:
            return None
        return attrs.evolve(before, names=before.names + names, public=before.public and public)


def _refusal(cursor: Any, code: Any) -> str | None:
    """What is wrong with it: "invalid cursors SHOULD result in an error with code -32602". A server that
    shuts down refuses everything, with -32603.
    """
    return None if code in (-32602, -32603) else f"the invalid cursor {cursor!r} is refused with {code}"


def _torn(server: ServerParty, chain: _Chain, last: int) -> str | None:
    states = [{name for name, _ in items} for items in server.between(chain.first, last)]
    for name in sorted(states[0].intersection(*states)):
        times = chain.names.count(name)
        if times > 1 or (times == 0 and chain.public):
            return f"{name} was there all the time, and is on the pages {times} times"
    return None


class Hinted(Checker):
    """Complete lists say how long and for whom they are good, for all pages alike; nothing else may ask for
    input than what can, and what asks is not to be cached.
    """

    id = "S7"
    title = "hints on every page"
    anchor = "server/utilities/caching#cacheable-results"
    kinds = (kinds.SENT,)
    role = "server"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._scopes: dict[tuple[str, str], str] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        owed, message = self.ledger.owed, self.ledger.message
        if owed is None or message is None or not is_object(message.get("result")) or not modern(owed.params):
            return None
        result = message["result"]
        if result.get("resultType") == "input_required":
            return _asking(owed, result)
        return _hints(result, owed.method) or self._scope(owed, result) if owed.method in HINTED else None

    def _scope(self, owed: Owed, result: dict[str, Any]) -> str | None:
        """Servers "MUST apply the same `cacheScope` to all response pages for a given list request"."""
        scope, cursor, following = result["cacheScope"], cursor_of(owed.params), result.get("nextCursor")
        before = self._scopes.get((owed.link, cursor), scope) if isinstance(cursor, str) else scope
        if isinstance(following, str):
            self._scopes[owed.link, following] = scope
        return None if before == scope else f"a page is {scope}, the one before was {before}"


def _asking(owed: Owed, result: dict[str, Any]) -> str | None:
    if owed.method not in MAY_ASK:
        return f"{owed.method} is answered by asking for input"
    hints = [hint for hint in ("ttlMs", "cacheScope") if hint in result]
    return f"a result that asks for input has {hints[0]}" if hints else None


def _hints(result: dict[str, Any], method: str) -> str | None:
    ttl, scope = result.get("ttlMs"), result.get("cacheScope")
    if type(ttl) is not int or ttl < 0:
        return f"ttlMs of {method} is {ttl!r}"
    return None if scope in ("public", "private") else f"cacheScope of {method} is {scope!r}"


_Content: TypeAlias = "tuple[tuple[str, ...], bool]"
"""The names on a page, and whether it is the last."""


FIRST = str(None)


class Stateless(Checker):
    """The same page is asked for twice while nothing changes: the same prompts are on it, whoever asks where.
    One of them may have fewer, for a server may change its mind about the size of a page.
    """

    id = "S9"
    title = "stateless"
    anchor = "basic#statelessness"
    kinds = (kinds.SENT, kinds.NODE)
    role = "server"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._pages: dict[tuple[str, Any, Any], tuple[int, _Content]] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        if event.kind == kinds.NODE:  # a process that starts anew may call its places by other names
            self._pages = {key: seen for key, seen in self._pages.items() if key[2] == FIRST}
            return None
        server, owed, message = self.server, self.ledger.owed, self.ledger.message
        if owed is None or message is None or owed.method != "prompts/list":
            return None
        last = server.versions[-1].index
        if "result" not in message or not server.known or last > owed.index or not modern(owed.params):
            return None
        names = names_of(message["result"])
        page = names, member(message["result"], "nextCursor") is None
        key = server.name, server.principals.get(event.link), str(cursor_of(owed.params))
        version, before = self._pages.get(key, (last, page))
        self._pages[key] = last, page
        if version != last or _alike(*sorted((page, before), key=_length)):
            return None
        return f"the page at {key[2]} has {names}, and had {before[0]}, though nothing has changed"


def _length(page: _Content) -> int:
    return len(page[0])


def _alike(short: _Content, long: _Content) -> bool:
    """Whether one page is the other, or begins as it does and says that there is more."""
    return short[0] == long[0][: len(short[0])] and (len(short[0]) == len(long[0]) or not short[1])


@attrs.frozen(eq=False)
class _Issued:
    principal: Any
    name: Any
    arguments: Any
    time: float


class GuardedState(Checker):
    """A request state that the server did not issue, or that was changed, is refused."""

    id = "S10"
    title = "request states are verified"
    anchor = "basic/patterns/mrtr#server-requirements-basic-workflow"
    kinds = (kinds.SENT,)
    role = "server"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._issued: dict[str, _Issued] = {}

    def on_event(self, event: TraceEvent) -> str | None:
        server, owed, message = self.server, self.ledger.owed, self.ledger.message
        if owed is None or message is None or owed.method != "prompts/get":
            return None
        if not is_object(message.get("result")):
            return None
        problem = self._accepted(server, owed) if owed.params.get("requestState") is not None else None
        state = message["result"].get("requestState")
        if isinstance(state, str):
            self._issued[state] = self._made(server, owed, event.time)
        return problem

    @staticmethod
    def _made(server: ServerParty, owed: Owed, now: float) -> _Issued:
        arguments: Any = owed.params.get("arguments") or {}
        return _Issued(server.principals.get(owed.link), owed.params.get("name"), arguments, now)

    def _accepted(self, server: ServerParty, owed: Owed) -> str | None:
        if str(owed.params["requestState"]) in self._issued:
            return None
        return f"request {owed.id!r} is served with a state that was never issued"


class BoundState(GuardedState):
    """A request state is good for the principal and the request that it was issued to, and not for ever."""

    id = "S10a"
    title = "request states are bound"
    level = Level.SHOULD

    def _accepted(self, server: ServerParty, owed: Owed) -> str | None:
        issued = self._issued.get(str(owed.params["requestState"]))
        if issued is None:
            return None
        now = self._made(server, owed, owed.time)
        for field in ("principal", "name", "arguments"):
            if getattr(now, field) != getattr(issued, field):
                return f"request {owed.id!r} is served with a state of another {field}"
        lifetime = server.settings.get("state_ttl")
        expired = lifetime is not None and owed.time > issued.time + lifetime
        if not expired or server.name in self.ledger.clocks:
            return None
        return f"request {owed.id!r} is served with a state that is {owed.time - issued.time:g} s old"
