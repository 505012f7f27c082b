"""Which way an incoming message goes: the two eras on one channel.

Requests are routed by what they carry, never by what came before: `_meta` with the modern fields is
served statelessly; `initialize` opens a legacy session, scoped to the stream, for requests without them.
Both share one channel and one id space. What is wrong with a message is answered here; what is right
about it becomes a debt of the stream and goes to the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from ._calls import Reply
from ._debts import BatchReply
from ._errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    InvalidMessage,
    InvalidReply,
    RpcError,
)
from ._events import Diagnostic, IncomingRequest, NotificationReceived, PingAnswered, SessionStarted
from ._json import (
    Batch,
    ErrorResponse,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    error_bytes,
    result_bytes,
)
from ._meta import CLIENT_CAPABILITIES, CLIENT_INFO, VERSION, is_modern, meta_problem
from ._plain import is_id, is_object, params_of, shown, text
from ._structure import structure_or_none
from ._tables import SESSION, CallInput, Session, SessionInput
from ._topics import Listener
from ._types import Implementation
from ._versions import Era, supports

if TYPE_CHECKING:
    from ._stream import Stream


@attrs.frozen
class Caller:
    """Who makes a request, and in which revision: of a legacy session, or of one modern request."""

    era: Era
    version: str
    info: Implementation | None
    capabilities: Mapping[str, Any]


class Router:
    """The incoming side of one stream, and its legacy session."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._server = stream.server
        self._session = SESSION.start
        self._caller: Caller | None = None
        self._said: tuple[Any, ...] = ()  # of the last modern request that was good, and who made it
        self._modern_caller = Caller(Era.MODERN, "", None, {})
        self._changes: Mapping[str, int] = {}
        self._batch: BatchReply | None = None

    @property
    def ready(self) -> bool:
        """Whether a legacy client has said that it is initialized."""
        return self._session is Session.READY

    @property
    def version(self) -> str | None:
        """The revision of the legacy session, if there is one."""
        return None if self._caller is None else self._caller.version

    def receive(self, message: Message | Batch | Malformed, now: float) -> None:
        """Take one message in."""
        match message:
            case Request():
                self._requested(message, now)
            case Notification():
                self._notified(message, now)
            case Response() | ErrorResponse():
                self._answered(message, now)
            case Batch():
                self._batched(message, now)
            case _:
                self._malformed(message, now)

    def _error(self, wire_id: RequestId | None, code: int, message: str, data: Any = None) -> None:
        """Answer something that never became a debt."""
        omit = self.version is None or supports(self.version, "error_id_omitted")
        encoded = error_bytes(wire_id, RpcError(code, message, data), omit_null_id=omit)
        self._stream.reply(encoded, wire_id, self._stream.outlet, self._batch)

    def _malformed(self, message: Malformed, now: float) -> None:
        self._server.emit(Diagnostic("bad-message", message.reason, message.data, self._stream))
        call = self._stream.calls.answered(message.id) if message.reply else None
        if call is not None:
            self._stream.calls.end(call, CallInput.ANSWER, InvalidReply(message.reason), now)
        elif not message.reply and not _is_notification(message):
            self._error(message.id, message.code, message.reason)

    def _batched(self, message: Batch, now: float) -> None:
        """Batches: "MUST support receiving JSON-RPC batches", says 2025-03-26 and no other revision."""
        if self.version is None or not supports(self.version, "batching"):
            self._error(None, INVALID_REQUEST, "batches are not part of this protocol revision")
            return
        limit = self._server.config.max_in_flight
        if len(message.messages) > limit:
            self._error(None, INVALID_REQUEST, f"a batch may have {limit} messages")
            return
        batch = self._batch = BatchReply(self._stream.outlet)
        for part in message.messages:
            self.receive(part, now)
        self._batch = None
        batch.read = True
        self._stream.flush(batch)

    # requests

    def _requested(self, message: Request, now: float) -> None:
        if self._stream.uses(message.id):
            self._error(message.id, INVALID_REQUEST, f"id {shown(message.id)} is in use")
            return
        if self._stream.in_flight >= self._server.config.max_in_flight:
            self._error(message.id, INTERNAL_ERROR, "too many requests in flight")
            return
        try:
            params = params_of(message.params)
        except InvalidMessage as error:
            self._error(message.id, INVALID_PARAMS, str(error))
            return
        meta: Any = params.pop("_meta", None)
        if is_object(meta):
            self._route(message, params, meta, now)
        elif meta is None:
            self._route(message, params, {}, now)
        else:
            self._error(message.id, INVALID_PARAMS, "_meta must be an object")

    def _route(self, message: Request, params: dict[str, Any], meta: dict[str, Any], now: float) -> None:
        said = meta.get(VERSION), meta.get(CLIENT_INFO), meta.get(CLIENT_CAPABILITIES)
        if said == self._said and self._batch is None and message.method != "initialize":
            self._accept(message, params, meta, self._modern_caller, now)  # as with most requests
            return
        # To a server of legacy revisions alone these members mean nothing: -32022 would name it modern.
        served = self._server.config.of_era(Era.MODERN)
        modern = bool(served) and is_modern(meta)
        if message.method == "initialize":
            self._initialize(message, params, modern, now)
        elif modern:
            self._modern(message, params, meta, now)
        elif message.method == "ping":
            self._reply_now(message.id, b"{}")
            self._server.emit(PingAnswered(self._stream))
        elif self._caller is not None:
            self._accept(message, params, meta, self._caller, now)
        else:
            lacking = f"_meta lacks {VERSION}, and there is no session" if served else "there is no session"
            self._error(message.id, INVALID_PARAMS, lacking)

    def _reply_now(self, wire_id: RequestId, result: bytes) -> None:
        self._stream.reply(result_bytes(wire_id, result), wire_id, self._stream.outlet, self._batch)

    def _modern(self, message: Request, params: dict[str, Any], meta: dict[str, Any], now: float) -> None:
        """A modern request; one "missing any required field is malformed; the server MUST reject it"."""
        if self._batch is not None:
            self._error(message.id, INVALID_REQUEST, "batches are not part of modern revisions")
            return
        problem = meta_problem(meta)
        if problem is not None:
            self._error(message.id, INVALID_PARAMS, problem)
            return
        version = meta[VERSION]
        if version not in self._server.config.of_era(Era.MODERN):
            self._unsupported(message.id, version)
            return
        info, capabilities = meta.get(CLIENT_INFO), meta[CLIENT_CAPABILITIES]
        self._said = version, info, capabilities
        self._modern_caller = Caller(
            Era.MODERN, version, structure_or_none(Implementation, info), capabilities
        )
        self._accept(message, params, meta, self._modern_caller, now)

    def _unsupported(self, wire_id: RequestId, version: str) -> None:
        supported = [*self._server.config.of_era(Era.MODERN)]
        data = {"supported": supported, "requested": version}
        reason = f"Unsupported protocol version; supported: {', '.join(supported)}"
        self._error(wire_id, UNSUPPORTED_VERSION, reason, data)

    def _accept(
        self, message: Request, params: dict[str, Any], meta: dict[str, Any], caller: Caller, now: float
    ) -> None:
        stream = self._stream
        request = IncomingRequest(
            message.id,
            message.method,
            caller.era,
            caller.version,
            meta,
            stream,
            stream.principal,
            caller.info,
            caller.capabilities,
        )
        stream.owe(request, self._batch)
        self._server.dispatch(request, params, now)

    # the legacy session

    def _initialize(self, message: Request, params: dict[str, Any], modern: bool, now: float) -> None:
        legacy = self._server.config.of_era(Era.LEGACY)
        version = params.get("protocolVersion")
        if modern:
            names = ", ".join(self._server.config.of_era(Era.MODERN))
            self._error(message.id, METHOD_NOT_FOUND, f"initialize does not exist in {names}")
        elif self._caller is not None:
            self._error(message.id, INVALID_REQUEST, "initialize comes once, first and alone")
        elif not isinstance(version, str):
            # "A server that supports only modern versions SHOULD name the protocol versions it supports".
            served = ", ".join(self._server.config.versions)
            self._error(message.id, INVALID_PARAMS, f"protocolVersion must be a string, one of {served}")
        elif not legacy:
            self._unsupported(message.id, version)
        else:
            self._start_session(message.id, version if version in legacy else legacy[0], params)

    def _start_session(self, wire_id: RequestId, version: str, params: dict[str, Any]) -> None:
        """Answer the handshake; for a version that we do not know, with "another that it supports"."""
        info = structure_or_none(Implementation, params.get("clientInfo"))
        capabilities = params.get("capabilities")
        caller = Caller(Era.LEGACY, version, info, capabilities if is_object(capabilities) else {})
        self._caller = caller
        self._session = SESSION.next(self._session, SessionInput.INITIALIZE)
        self._changes = {name: topic.changes for name, topic in self._server.topics.items()}
        self._reply_now(wire_id, self._server.welcome(version))
        self._server.emit(SessionStarted(self._stream, version, caller.info, caller.capabilities))

    def _initialized(self) -> None:
        """The client is ready: from now on it is notified, first of what changed since the handshake."""
        before, self._session = self._session, SESSION.next(self._session, SessionInput.INITIALIZED)
        if before is Session.ANSWERED and self._caller is not None:
            listener = Listener(self._stream, None)
            self._stream.listen(listener, self._server.announced_topics(self._caller.version), self._changes)

    # notifications

    def _notified(self, message: Notification, now: float) -> None:
        try:
            params = params_of(message.params)
        except InvalidMessage as error:
            self._server.emit(
                Diagnostic("bad-notification", f"{message.method}: {error}", stream=self._stream)
            )
            return
        if message.method == "notifications/initialized":
            self._initialized()
        elif message.method == "notifications/cancelled":
            self._cancelled(params)
        elif message.method == "notifications/progress":
            problem = self._stream.calls.progressed(params, now)
            if problem is not None:
                self._server.emit(Diagnostic("bad-progress", problem, stream=self._stream))
        else:
            self._server.emit(NotificationReceived(message.method, params, self._stream))

    def _cancelled(self, params: Mapping[str, Any]) -> None:
        """Cancel what is still open; "unknown request IDs" and "already completed requests" are ignored."""
        wire_id = params.get("requestId")
        if is_id(wire_id):
            self._stream.cancel(wire_id, text(params.get("reason")))

    # requests of ours to a legacy client

    def _answered(self, message: Response | ErrorResponse, now: float) -> None:
        call = self._stream.calls.answered(message.id)
        if call is None:
            self._server.emit(
                Diagnostic("unknown-reply", f"nobody waits for {shown(message.id)}", stream=self._stream)
            )
        elif isinstance(message, Response):
            self._stream.calls.end(call, CallInput.ANSWER, Reply(message.result), now)
        else:
            self._stream.calls.end(call, CallInput.ANSWER, message.error, now)


def _is_notification(message: Malformed) -> bool:
    """Params that cannot be read in a message without an id: "the receiver MUST NOT send a response"."""
    return message.id is None and message.code == INVALID_PARAMS
