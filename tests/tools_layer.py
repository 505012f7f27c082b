"""Tools, as somebody else might add them: a layer for each end, written against the public names only.

The client has a cached list that follows `notifications/tools/list_changed` in both eras, and calls with
progress and input on the way. The server lists a mapping of tools in pages and hands calls to the
application, which may ask for input first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import attrs

import mcp_sansio as mcp

METHOD, CALL = "tools/list", "tools/call"
CHANGED, TOPIC = "notifications/tools/list_changed", "toolsListChanged"


@attrs.frozen
class Tool:
    """A tool's definition."""

    name: str
    input_schema: Mapping[str, Any]
    description: str | None = None


@attrs.frozen
class ToolResult:
    """What a tool had to say."""

    content: tuple[mcp.ContentBlock, ...]
    is_error: bool = False


@attrs.frozen
class ToolCalled(mcp.LayerEvent):
    """The answer to a call."""

    op: mcp.Op
    result: ToolResult


TOOLS = mcp.ListSpec(
    key="tools",
    method=METHOD,
    notification=CHANGED,
    topic=TOPIC,
    capability="tools",
    reader=lambda: partial(mcp.structure, Tool),
    name=lambda tool: tool.name,
)


class ToolClient(mcp.ListLayer):
    """The tools of one server."""

    def __init__(self, config: mcp.ListingConfig | None = None) -> None:
        super().__init__(TOOLS, config)

    def list(self, now: float) -> mcp.Op:
        """List the tools: `Listed`."""
        op, now = self.begin("list tools", now)
        self.listing.list(op, now)
        return op

    def call(self, name: str, arguments: Mapping[str, Any], now: float) -> mcp.Op:
        """Call a tool: `ToolCalled`, with `ProgressReported` and `InputNeeded` on the way."""
        op, now = self.begin("call tool", now)
        params = {"name": name, "arguments": arguments}
        self.client.request(CALL, params, now, progress=True, layer=self, op=op)
        return op

    def concluded(self, call: mcp.Call, outcome: mcp.Outcome, now: float) -> None:
        """A call was answered, or will not be."""
        assert call.op is not None
        try:
            if isinstance(outcome, mcp.Reply):
                self.client.emit(ToolCalled(call.op, mcp.structure(ToolResult, outcome.raw)))
            else:
                self.client.emit(mcp.OpFailed(call.op, outcome))
        except mcp.InvalidMessage as error:
            self.client.emit(mcp.OpFailed(call.op, mcp.InvalidReply(str(error))))


class ToolServer(mcp.ServerLayer):
    """A mapping of tools; calls are `RequestReceived` events, to be answered with the verbs below."""

    methods = (METHOD, CALL)
    topics = MappingProxyType({TOPIC: CHANGED})

    def __init__(self, tools: dict[str, Tool], keys: mcp.Keys, page_size: int = 2) -> None:
        self.tools = tools
        self._keys = keys
        self._page_size = page_size

    def capabilities(self, version: str) -> Mapping[str, Any]:
        """Tools, and changes of them."""
        return {"tools": {"listChanged": True}}

    def requested(self, request: mcp.IncomingRequest, params: dict[str, Any], now: float) -> None:
        """A list or a call."""
        if request.method == METHOD:
            self._list(request, params, now)
        elif params.get("name") in self.tools:
            self.server.emit(mcp.RequestReceived(request, params))
        else:
            self.server.refuse(request, mcp.RpcError(mcp.INVALID_PARAMS, "Unknown tool"), now)

    def answer(self, request: mcp.IncomingRequest, result: ToolResult, now: float) -> None:
        """Answer a call."""
        self.server.respond(request, mcp.unstructure(result, request.version), now)

    def _list(self, request: mcp.IncomingRequest, params: dict[str, Any], now: float) -> None:
        start = self._position(params.get("cursor"))
        if start is None:
            self.server.refuse(request, mcp.RpcError(mcp.INVALID_PARAMS, "Unknown cursor"), now)
            return
        names = [name for name in sorted(self.tools) if name > start]
        page, rest = names[: self._page_size], names[self._page_size :]
        listed = [mcp.unstructure(self.tools[name], request.version) for name in page]
        result: dict[str, Any] = {"tools": listed}
        if rest:
            result["nextCursor"] = mcp.seal(self._keys, "cursor", (METHOD,), page[-1].encode())
        if request.era is mcp.Era.MODERN:
            result |= {"ttlMs": 60_000, "cacheScope": "public"}
        self.server.respond(request, result, now)

    def _position(self, cursor: object) -> str | None:
        if cursor is None:
            return ""
        name = mcp.unseal(self._keys, "cursor", (METHOD,), cursor) if isinstance(cursor, str) else None
        return None if name is None else name.decode()
