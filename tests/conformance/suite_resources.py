"""The one resource that the official conformance suite needs of a server, as a layer of somebody else's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_sansio import INVALID_PARAMS, Era, IncomingRequest, RpcError, ServerLayer

URI = "test://static-text"


class ResourceServer(ServerLayer):
    """Lists and reads the resource; there are no templates."""

    methods = ("resources/list", "resources/templates/list", "resources/read")

    def capabilities(self, version: str) -> Mapping[str, Any]:
        """Resources, which never change."""
        return {"resources": {}}

    def requested(self, request: IncomingRequest, params: dict[str, Any], now: float) -> None:
        """A list or a read."""
        if request.method == "resources/list":
            listed = {"uri": URI, "name": "static-text", "mimeType": "text/plain"}
            self._answer(request, {"resources": [listed]}, now)
        elif request.method == "resources/templates/list":
            self._answer(request, {"resourceTemplates": []}, now)
        elif params.get("uri") == URI:
            content = {"uri": URI, "mimeType": "text/plain", "text": "A resource for testing."}
            self._answer(request, {"contents": [content]}, now)
        else:
            self.server.refuse(request, RpcError(INVALID_PARAMS, "Resource not found"), now)

    def _answer(self, request: IncomingRequest, result: dict[str, Any], now: float) -> None:
        if request.era is Era.MODERN:
            result |= {"ttlMs": 60_000, "cacheScope": "public"}
        self.server.respond(request, result, now)
