"""Requests that a legacy server makes of a client.

A ping is answered here, being the one request with exactly one legal reply; what the configuration names
becomes an event, to be answered by `Client.respond`; anything else is refused. "Servers MUST NOT initiate
JSON-RPC requests" in the modern era: one that does gets no reply, since clients write no responses then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._checks import check_error
from ._contract import Send
from ._errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    InvalidMessage,
    LocalProtocolError,
    RpcError,
)
from ._events import Diagnostic, IncomingRequest, PingAnswered, RequestCancelled, RequestReceived
from ._json import Request, RequestId, encode, error_bytes, result_bytes
from ._plain import MAX_QUOTED, is_object, params_of, shown
from ._versions import Era

if TYPE_CHECKING:
    from ._client import Client


class IncomingRequests:
    """The server's open requests."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open: dict[RequestId, IncomingRequest] = {}

    def requested(self, message: Request) -> None:
        """Take a request in."""
        client = self._client
        if client.era is Era.MODERN:
            client.emit(Diagnostic("server-request", f"a modern server sent the request {message.method}"))
        elif message.method == "ping":
            client.post_urgent(Send(result_bytes(message.id, b"{}"), id=message.id))
            client.emit(PingAnswered())
        elif client.version is None or message.method not in client.config.answers:
            reason = f"{message.method[:MAX_QUOTED]} is not offered by this client"
            self.refuse(message.id, METHOD_NOT_FOUND, reason)
        elif message.id in self._open:
            self.refuse(message.id, INVALID_REQUEST, f"id {shown(message.id)} is in use")
        elif len(self._open) >= client.config.max_in_flight:
            self.refuse(message.id, INTERNAL_ERROR, "too many requests in flight")
        else:
            self._deliver(message, client.version)

    def _deliver(self, message: Request, version: str) -> None:
        try:
            params = params_of(message.params)
        except InvalidMessage as error:
            self.refuse(message.id, INVALID_PARAMS, str(error))
            return
        meta: Any = params.pop("_meta", None)
        request = IncomingRequest(
            message.id, message.method, Era.LEGACY, version, meta if is_object(meta) else {}
        )
        self._open[message.id] = request
        self._client.emit(RequestReceived(request, params))

    def refuse(self, wire_id: RequestId, code: int, reason: str) -> None:
        """Answer with an error what never became an event."""
        self._client.post(Send(error_bytes(wire_id, RpcError(code, reason), omit_null_id=False), id=wire_id))

    def respond(self, request: IncomingRequest, answer: Mapping[str, Any] | RpcError) -> None:
        """Answer. `LocalProtocolError`, with no effect, for a request not open or an answer not sendable."""
        if self._open.get(request.id) is not request:
            raise LocalProtocolError(f"request {request.id!r} is not open")
        if isinstance(answer, RpcError):
            check_error(answer)
            data = error_bytes(request.id, answer, omit_null_id=False)
        else:
            data = result_bytes(request.id, encode(dict(answer)))
        del self._open[request.id]
        self._client.post(Send(data, id=request.id))

    def cancelled(self, wire_id: RequestId, reason: str | None) -> None:
        """The server gave up on a request."""
        request = self._open.pop(wire_id, None)
        if request is not None:
            self._client.emit(RequestCancelled(request, reason))

    def detach(self, reason: str) -> None:
        """The carrier is gone, and with it whoever wanted an answer."""
        for wire_id in [*self._open]:
            self.cancelled(wire_id, reason)
