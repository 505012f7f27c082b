"""Traces told by hand, of what a server hears and says: for the properties of servers and of liveness."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_sansio._meta import SUBSCRIPTION_ID
from mcp_sansio._subscription import ACKNOWLEDGED
from mcp_sansio._trace import Trace
from mcp_sansio._types import LIST_CHANGED, TOPIC
from mcp_sansio.simulation._checking import Checker, recheck

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


class ServerTale:
    """A server `s`, a client `c` with the connection `x`, and what happens one second after the other."""

    def __init__(self, **settings: Any) -> None:
        self.trace = Trace()
        self.time = 0.0
        self.note("node", "s", data="server")
        self.note("node", "c", data="client")
        if settings:
            self.tell("s", "settings", **settings)
        self.connect("x")

    def note(self, kind: str, node: str = "", link: str = "", data: Any = None) -> ServerTale:
        self.trace.add(self.time, kind, node, link, data=data)
        return self

    def after(self, seconds: float) -> ServerTale:
        self.time += seconds
        return self

    def tell(self, node: str, kind: str, link: str = "", **fields: Any) -> ServerTale:
        return self.note("obs", node, link, [kind, fields])

    def connect(self, link: str, client: str = "c", principal: str | None = None) -> ServerTale:
        self.note("open", "s", link)
        if principal is not None:
            self.tell("s", "caller", link, principal=principal)
        return self.note("open", client, link)

    def raw(self, kind: str, node: str, link: str, **message: Any) -> ServerTale:
        return self.note(kind, node, link, msgspec.json.encode({"jsonrpc": "2.0", **message}).decode())

    def asks(self, id: Any, method: str, link: str = "x", *, meta: Any = META, **params: Any) -> ServerTale:
        """A request leaves the client, and is taken in by the server."""
        body = {"id": id, "method": method, "params": {**params, **({"_meta": meta} if meta else {})}}
        return self.raw("out", "c", link, **body).raw("in", "s", link, **body)

    def notifies(self, method: str, link: str = "x", **params: Any) -> ServerTale:
        """So does a notification."""
        self.raw("out", "c", link, method=method, params=params)
        return self.raw("in", "s", link, method=method, params=params)

    def answers(self, id: Any, link: str = "x", **result: Any) -> ServerTale:
        """The server answers, and the client takes it in."""
        body = {"id": id, "result": result}
        return self.raw("out", "s", link, **body).raw("in", "c", link, **body)

    def refuses(self, id: Any, code: int = -32602, link: str = "x") -> ServerTale:
        body = {"id": id, "error": {"code": code, "message": "no"}}
        return self.raw("out", "s", link, **body).raw("in", "c", link, **body)

    def says(self, method: str, tag: Any = None, link: str = "x", **params: Any) -> ServerTale:
        """The server notifies the client."""
        meta = {} if tag is None else {"_meta": {SUBSCRIPTION_ID: tag}}
        body = {"method": method, "params": {**params, **meta}}
        return self.raw("out", "s", link, **body).raw("in", "c", link, **body)

    def listens(self, id: Any = 1, link: str = "x", **wanted: Any) -> ServerTale:
        return self.asks(id, "subscriptions/listen", link, notifications=wanted or {TOPIC: True})

    def acknowledges(self, id: Any = 1, link: str = "x", **granted: Any) -> ServerTale:
        return self.says(ACKNOWLEDGED, id, link, notifications=granted or {TOPIC: True})

    def changed(self, tag: Any = 1, link: str = "x") -> ServerTale:
        return self.says(LIST_CHANGED, tag, link)

    def session(self, *, announces: bool = True, ready: bool = True) -> ServerTale:
        """A legacy session."""
        prompts = {"listChanged": True} if announces else {}
        self.asks(0, "initialize", meta=None).answers(0, capabilities={"prompts": prompts})
        return self.notifies("notifications/initialized") if ready else self

    def edit(self, *names: str, remove: tuple[str, ...] = ()) -> ServerTale:
        """The list changes."""
        put = [[name, f"{name}{len(self.trace)}"] for name in names]
        return self.note("op", "s", data=["edit", {"put": put, "remove": list(remove)}])

    def page(self, id: Any, *names: str, link: str = "x", **more: Any) -> ServerTale:
        """A page, by names; tags are those of the last edits."""
        tags: dict[str, str] = {}
        for event in self.trace:
            if event.kind == "op" and event.data[0] == "edit":
                tags.update((name, tag) for name, tag in event.data[1]["put"])
        prompts = [{"name": name, "description": tags.get(name, "")} for name in names]
        return self.answers(id, link, **{"prompts": prompts, "ttlMs": 0, "cacheScope": "public", **more})

    def lists(self, id: Any, *names: str, cursor: Any = None, link: str = "x", **more: Any) -> ServerTale:
        """A page is asked for and comes."""
        where = {} if cursor is None else {"cursor": cursor}
        return self.asks(id, "prompts/list", link, **where).page(id, *names, link=link, **more)

    def ends(self, how: str = "hangup", node: str = "s", link: str = "x") -> ServerTale:
        return self.note("end", node, link, how)

    def phase(self, name: str) -> ServerTale:
        return self.note("phase", data=name)

    def rest(self) -> ServerTale:
        """All is quiet."""
        return self.phase("rest")


def problem(check: type[Checker], tale: ServerTale) -> str | None:
    """What a property finds wrong with a tale."""
    return next((violated.text for violated in recheck(tale.trace, (check,))), None)
