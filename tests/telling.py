"""Traces told by hand: a client and its server, message by message, and what a property says of them."""

from __future__ import annotations

import json
from typing import Any

import mcp_sansio._trace as kinds
from mcp_sansio._trace import Trace
from mcp_sansio.simulation._checking import Auditor, Checker, Violated

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
TAG = "io.modelcontextprotocol/subscriptionId"
CHANGED = "notifications/prompts/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
A, B = ("a", "1"), ("b", "1")
Item = tuple[str, str]


class Tale:
    """One client, `c`, and one server, `s`, connected by `x`. Every event is caused by the one before."""

    def __init__(self, *items: Item, server: bool = True, modern: bool = True) -> None:
        self.trace = Trace()
        self.time = 0.0
        self.link = "x"
        self.modern = modern
        self._asked: dict[Any, str] = {}
        if server:
            self.note(kinds.NODE, "s", data="server")
        if items:
            self.edit(put=items)
        self.note(kinds.NODE, "c", data="client")
        self.connect("x")

    def note(
        self, kind: str, node: str = "", link: str = "", *, data: Any = None, cause: int | None = None
    ) -> int:
        before = len(self.trace) - 1 if cause is None else cause
        return self.trace.add(self.time, kind, node, link, data=data, cause=before)

    # --- the world ---

    def wait(self, seconds: float) -> Tale:
        self.time += seconds
        return self

    def connect(self, link: str, server: str = "s") -> Tale:
        self.link = link
        self.note(kinds.OPEN, server, link)
        self.note(kinds.OPEN, "c", link)
        return self

    def lose(self) -> Tale:
        self.note(kinds.ENDED, "c", self.link, data="eof")
        return self

    def restart(self) -> Tale:
        self.note(kinds.NODE, "c", data="client")
        return self

    def fault(self, kind: str, node: str = "") -> Tale:
        self.note(kinds.FAULT, node, data=[kind, {}])
        return self

    def timer(self) -> Tale:
        self.note(kinds.TIMER, "c")
        return self

    def edit(self, put: tuple[Item, ...] = (), remove: tuple[str, ...] = (), server: str = "s") -> Tale:
        self.note(kinds.COMMAND, server, data=["edit", {"put": [*put], "remove": [*remove]}])
        return self

    def command(self, verb: str, **fields: Any) -> Tale:
        self.note(kinds.COMMAND, "c", data=[verb, fields])
        return self

    def tell(self, kind: str, /, **fields: Any) -> Tale:
        self.note(kinds.OBSERVED, "c", data=[kind, fields])
        return self

    def rest(self, *items: Item, held: tuple[Item, ...] | None = None, **fields: Any) -> Tale:
        """All is quiet: the server has `items`, the client what is `held`."""
        self.note(kinds.PHASE, data="rest")
        self.note(kinds.OBSERVED, "s", data=["rest", {"items": [*items]}])
        state = {"items": None if held is None else [*held], "connected": True, "current": True}
        return self.tell("rest", **{**state, **fields})

    def phase(self, name: str) -> Tale:
        self.note(kinds.PHASE, data=name)
        return self

    def exchange(self, link: str) -> Tale:
        """Over HTTP: what follows is said in an exchange of its own."""
        self.link = link
        self.note(kinds.HEAD_SENT, "c", link, data=["POST", []])
        return self

    def drops(self) -> Tale:
        """The exchange ends without its answer."""
        self.note(kinds.ENDED, "c", self.link, data="eof")
        return self

    # --- messages ---

    def sends(self, message: Any, *, cause: int | None = None) -> Tale:
        self.note(kinds.SENT, "c", self.link, data=json.dumps({"jsonrpc": "2.0", **message}), cause=cause)
        return self

    def takes(self, message: Any) -> Tale:
        text = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
        self.note(kinds.TAKEN, "c", self.link, data=text)
        return self

    def asks(self, id: Any, method: str = "prompts/list", **params: Any) -> Tale:
        """The client makes a request."""
        if self.modern and method != "initialize":
            params["_meta"] = META
        return self.sends({"id": id, "method": method, "params": params})

    def cancels(self, id: Any, *, cause: int | None = None) -> Tale:
        return self.sends({"method": "notifications/cancelled", "params": {"requestId": id}}, cause=cause)

    def gets(self, id: Any, **result: Any) -> Tale:
        """The client takes a result."""
        return self.takes({"id": id, "result": {"resultType": "complete", **result}})

    def fails(self, id: Any, code: int = -32602) -> Tale:
        return self.takes({"id": id, "error": {"code": code, "message": "no"}})

    def page(
        self, id: Any, cursor: str | None = None, ttl: Any = 60_000, scope: str = "public", **more: Any
    ) -> Tale:
        """The client takes a page of the list."""
        result: dict[str, Any] = {"prompts": [], "ttlMs": ttl, "cacheScope": scope, **more}
        if cursor is not None:
            result["nextCursor"] = cursor
        return self.gets(id, **{key: value for key, value in result.items() if value is not None})

    def walk(self, id: Any, *items: Item, **page: Any) -> Tale:
        """The client reads and publishes a list of one page."""
        return self.asks(id).page(id, **page).updated(id, *items)

    def listens(self, id: Any = 100) -> Tale:
        """The client listens, and that is acknowledged."""
        return self.asks(id, "subscriptions/listen").acknowledged(id)

    def acknowledged(self, id: Any, *, honoured: bool = True) -> Tale:
        params = {"_meta": {TAG: id}, "notifications": {"promptsListChanged": True} if honoured else {}}
        return self.takes({"method": ACKNOWLEDGED, "params": params})

    def changed(self, tag: Any = 100) -> Tale:
        """A change is announced."""
        return self.takes({"method": CHANGED, "params": {} if tag is None else {"_meta": {TAG: tag}}})

    def session(self, id: Any = 1, *, announces: bool = True) -> Tale:
        """A legacy session begins."""
        self.modern = False
        self.asks(id, "initialize")
        prompts = {"listChanged": True} if announces else {}
        return self.gets(id, capabilities={"prompts": prompts})

    # --- reports ---

    def settings(self, **fields: Any) -> Tale:
        given = {"eager": True, "max_wait": 1.0, "max_rounds": 2, "unnegotiated": "ignore"}
        return self.tell("settings", **{**given, **fields})

    def updated(self, asked: Any, *items: Item, verified: bool = False, private: bool = False) -> Tale:
        return self.tell("updated", asked=asked, items=[*items], verified=verified, private=private)

    def listed(
        self, asked: Any, *items: Item, op: int = 1, fresh: bool = True, verified: bool = False
    ) -> Tale:
        return self.tell("listed", op=op, asked=asked, items=[*items], fresh=fresh, verified=verified)

    def began(self, op: int, what: str = "list", **fields: Any) -> Tale:
        return self.command(what, **fields).tell("began", op=op, what=what, **fields)


def problem(check: type[Checker], tale: Tale) -> str | None:
    """What a property says of a tale."""
    auditor = Auditor((check,))
    try:
        for event in tale.trace:
            auditor(event)
        auditor.finish()
    except Violated as violated:
        return violated.text
    return None
