"""One stream of a server: the endpoint of one peer's channel, with what is open on it.

Requests are routed by what they carry, never by what came before: `_meta` with the modern fields is
served statelessly; `initialize` opens a legacy session, which is scoped to the stream. Both may share
one channel and one id space. The stream knows which replies are owed, who listens, and what waits to be
written; methods belong to the server and its layers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from ._calls import Call, Calls, Reply
from ._contract import Carrier, Outgoing, Send
from ._errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Closed,
    InvalidMessage,
    InvalidReply,
    LocalProtocolError,
    Lost,
    RpcError,
)
from ._events import (
    Diagnostic,
    IncomingRequest,
    NotificationReceived,
    PingAnswered,
    RequestCancelled,
    SessionStarted,
    StreamEnded,
    SubscriptionEnded,
    WireFailed,
)
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
    notification_bytes,
    request_bytes,
    result_bytes,
)
from ._json import members as object_members
from ._plain import is_id, is_object, params_of, text
from ._structure import structure_value
from ._tables import REPLY, SESSION, CallInput, ReplyInput, Session, SessionInput
from ._tables import Reply as ReplyState
from ._topics import SUBSCRIPTION_ID, Listener, Marker
from ._types import Implementation
from ._versions import Era, supports

if TYPE_CHECKING:
    from ._server import Server

VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@attrs.define(eq=False)
class _Batch:
    """The replies to one 2025-03-26 batch, which go out together."""

    waiting: int = 0
    parts: list[bytes] = attrs.field(factory=list[bytes])


@attrs.define(eq=False)
class Owed:
    """A request whose reply is owed."""

    request: IncomingRequest
    batch: _Batch | None
    state: ReplyState = REPLY.start
    progress: float | None = None


@attrs.frozen
class Caller:
    """Who makes a request, and in which revision: of a legacy session, or of one modern request."""

    era: Era
    version: str
    info: Implementation | None
    capabilities: Mapping[str, Any]


class Stream:
    """One peer of a server. `peer` is for display, `principal` is whom the adapter has authenticated."""

    def __init__(self, server: Server, peer: object, principal: str | None) -> None:
        self.server = server
        self.peer = peer
        self.principal = principal
        self.done = False
        self._session = SESSION.start
        self._caller: Caller | None = None
        self._carrier: Carrier | None = None
        self._outbox: deque[Send | Marker] = deque()
        self._pending = 0
        self._owed: dict[RequestId, Owed] = {}
        self._listeners: dict[RequestId | None, Listener] = {}
        self._finishing = False
        self._batch: _Batch | None = None
        self.calls = Calls(server, self._abandon)

    @property
    def version(self) -> str | None:
        """The revision of the legacy session, if there is one."""
        return None if self._caller is None else self._caller.version

    @property
    def want_read(self) -> bool:
        """False while more output waits than `ServerConfig.max_pending`."""
        return self._pending <= self.server.config.max_pending

    @property
    def ready(self) -> bool:
        """Whether a legacy client has said that it is initialized."""
        return self._session is Session.READY

    @property
    def shared(self) -> bool:
        """Whether everything of this peer travels on one channel."""
        return self._carrier is not None and self._carrier.shared

    # --- endpoint ---

    def attach(self, carrier: Carrier, now: float) -> None:
        """The stream has its carrier, the only one of its life."""
        if self._carrier is not None or self.done:
            raise LocalProtocolError("a stream has one carrier")
        self.server.tick(now)
        self._carrier = carrier

    def carried_by(self, carrier: Carrier) -> bool:
        """Whether `carrier` is the one that is attached."""
        return self._carrier is carrier

    def receive(self, message: Message | Batch | Malformed, now: float) -> None:
        """Take one message in."""
        now = self.server.tick(now)
        if self._finishing:
            return
        match message:
            case Request():
                self._requested(message, now)
            case Notification():
                self._notified(message, now)
            case Response() | ErrorResponse():
                self._answered(message, now)
            case Batch():
                self._batched(message, now)
            case Malformed():
                self._malformed(message, now)

    def receive_eof(self, reason: str, now: float) -> None:
        """The peer has finished: what it asked for may still be answered, nobody listens any more."""
        now = self.server.tick(now)
        self._finishing = True
        for listen in [*self._listeners]:
            self.end_listener(listen, reason)
        self.calls.end_all(CallInput.LOSE, Lost(reason), now)
        self._finish_if_idle(reason)

    def detach(self, reason: str, now: float) -> None:
        """The carrier is gone, and with it all that was open."""
        if self.done:
            return
        self._outbox.clear()
        self._pending = 0
        self.drop_owed(reason)
        self.receive_eof(reason, now)

    def fail(self, reason: str, now: float) -> None:
        """The carrier broke."""
        if not self.done:
            self.server.emit(WireFailed(self._carrier and self._carrier.wire, reason, self))
            self.detach(reason, now)

    def next_outgoing(self) -> Outgoing | None:
        """The next message for the wire."""
        while self._outbox:
            entry = self._outbox.popleft()
            message = entry.pull() if isinstance(entry, Marker) else entry
            if message is not None:
                self._pending -= len(message.data) if isinstance(entry, Send) else 0
                self._finish_if_idle("drained")
                return message
        self._finish_if_idle("drained")
        return None

    # --- for the server ---

    def post(self, entry: Send | Marker) -> None:
        """Queue something to be written."""
        if self.done or self._carrier is None:
            return
        self._outbox.append(entry)
        self._pending += len(entry.data) if isinstance(entry, Send) else 0
        self.server.wake(self._carrier.wire)

    def owed(self, request: IncomingRequest) -> Owed:
        """The debt for `request`; `LocalProtocolError` if it is settled."""
        owed = self._owed.get(request.id)
        if owed is None or owed.request is not request:
            raise LocalProtocolError(f"request {request.id!r} is not open any more")
        return owed

    def answer(self, request: IncomingRequest, message: bytes, now: float) -> None:
        """Settle a debt with an encoded response."""
        owed = self.owed(request)
        self.server.tick(now)
        self._settle(owed, ReplyInput.ANSWER)
        if owed.batch is None:
            self.post(Send(message, id=request.id))
        else:
            owed.batch.parts.append(message)
            self._flush_batch(owed.batch)
        self._finish_if_idle("drained")

    def listen(self, listener: Listener, topics: tuple[str, ...]) -> None:
        """Add a listener; its acknowledgement has been posted."""
        self._listeners[listener.id] = listener
        for name in topics:
            listener.join(self.server.topics[name])

    def begin_listening(self, request: IncomingRequest) -> None:
        """The reply to a listen request is its end, so it is no debt meanwhile."""
        del self._owed[request.id]

    def end_listener(self, listen: RequestId | None, reason: str) -> bool:
        """Remove a listener; whether there was one."""
        listener = self._listeners.pop(listen, None)
        if listener is None:
            return False
        for name in listener.states:
            listener.leave(self.server.topics[name])
        if listen is not None:
            self.server.subscription_ended(self)
            self.server.emit(SubscriptionEnded(self, listen, reason))
        return True

    def listens(self) -> list[RequestId]:
        """The ids of the open listen requests."""
        return [listen for listen in self._listeners if listen is not None]

    def catch_up(self, topic: str) -> None:
        """Write a pending notification before the list that shows the change."""
        for listener in self._listeners.values():
            if topic in listener.states:
                listener.mark(self.server.topics[topic])

    def end_all_calls(self, reason: str, now: float) -> None:
        """The server closes: nothing more is asked of this peer."""
        self.calls.end_all(CallInput.CLOSE, Closed(reason), now)

    def drop_owed(self, reason: str) -> None:
        """Tell the application that what it is working on is not wanted any more."""
        for owed in [*self._owed.values()]:
            self._settle(owed, ReplyInput.DROP)
            self.server.emit(RequestCancelled(owed.request, reason))

    # --- inside ---

    def _settle(self, owed: Owed, how: ReplyInput) -> None:
        owed.state = REPLY.next(owed.state, how)
        del self._owed[owed.request.id]
        if owed.batch is not None:
            owed.batch.waiting -= 1

    def _finish_if_idle(self, reason: str) -> None:
        if not self._finishing or self.done or self._owed or self._outbox:
            return
        self.done = True
        self.server.emit(StreamEnded(self, reason))
        self.server.ended(self)
        if self._carrier is not None:
            self.server.wake(self._carrier.wire)

    def _flush_batch(self, batch: _Batch) -> None:
        if batch.waiting == 0 and batch.parts and batch is not self._batch:
            self.post(Send(b"[" + b",".join(batch.parts) + b"]"))
            batch.parts.clear()

    def _error(self, wire_id: RequestId | None, code: int, message: str, data: Any = None) -> None:
        """Answer something that never became a debt."""
        omit = self.version is None or supports(self.version, "error_id_omitted")
        encoded = error_bytes(wire_id, RpcError(code, message, data), omit_null_id=omit)
        if self._batch is not None:
            self._batch.parts.append(encoded)
        else:
            self.post(Send(encoded, id=wire_id))

    def _malformed(self, message: Malformed, now: float) -> None:
        self.server.emit(Diagnostic("bad-message", message.reason, message.data, self))
        call = self.calls.answered(message.id) if message.reply else None
        if call is not None:
            self.calls.end(call, CallInput.ANSWER, InvalidReply(message.reason), now)
        elif not message.reply:
            self._error(message.id, message.code, message.reason)

    def _batched(self, message: Batch, now: float) -> None:
        """Batches: "MUST support receiving JSON-RPC batches", says 2025-03-26 and no other revision."""
        if self.version is None or not supports(self.version, "batching"):
            self._error(None, INVALID_REQUEST, "batches are not part of this protocol revision")
            return
        batch = self._batch = _Batch()
        for part in message.messages:
            self.receive(part, now)
        self._batch = None
        self._flush_batch(batch)

    # requests

    def _requested(self, message: Request, now: float) -> None:
        if message.id in self._owed or message.id in self._listeners:
            self._error(message.id, INVALID_REQUEST, f"id {message.id!r} is in use")
            return
        if len(self._owed) >= self.server.config.max_in_flight:
            self._error(message.id, INTERNAL_ERROR, "too many requests in flight")
            return
        try:
            params = params_of(message.params)
        except InvalidMessage as error:
            self._error(message.id, INVALID_PARAMS, str(error))
            return
        meta: Any = params.pop("_meta", {})
        if is_object(meta):
            self._route(message, params, meta, now)
        else:
            self._error(message.id, INVALID_PARAMS, "_meta must be an object")

    def _route(self, message: Request, params: dict[str, Any], meta: dict[str, Any], now: float) -> None:
        modern = VERSION in meta or CLIENT_CAPABILITIES in meta
        if message.method == "initialize":
            self._initialize(message, params, modern, now)
        elif modern:
            self._modern(message, params, meta, now)
        elif message.method == "ping":
            self._reply_now(message.id, b"{}")
            self.server.emit(PingAnswered(self))
        elif self._caller is not None:
            self._accept(message, params, meta, self._caller, now)
        else:
            self._error(message.id, INVALID_PARAMS, f"_meta lacks {VERSION}, and there is no session")

    def _reply_now(self, wire_id: RequestId, result: bytes) -> None:
        encoded = result_bytes(wire_id, result)
        if self._batch is not None:
            self._batch.parts.append(encoded)
        else:
            self.post(Send(encoded, id=wire_id))

    def _modern(self, message: Request, params: dict[str, Any], meta: dict[str, Any], now: float) -> None:
        """A modern request; one "missing any required field is malformed; the server MUST reject it"."""
        version, capabilities = meta.get(VERSION), meta.get(CLIENT_CAPABILITIES)
        if not isinstance(version, str) or not is_object(capabilities):
            wrong = CLIENT_CAPABILITIES if isinstance(version, str) else VERSION
            self._error(message.id, INVALID_PARAMS, f"_meta lacks a usable {wrong}")
            return
        supported = self.server.config.of_era(Era.MODERN)
        if version not in supported:
            self._unsupported(message.id, version)
            return
        try:
            info = structure_value(Implementation, meta[CLIENT_INFO]) if CLIENT_INFO in meta else None
        except InvalidMessage:
            info = None  # "intended for display": nothing depends on it
        self._accept(message, params, meta, Caller(Era.MODERN, version, info, capabilities), now)

    def _unsupported(self, wire_id: RequestId, version: object) -> None:
        supported = [*self.server.config.of_era(Era.MODERN)]
        data = {"supported": supported, "requested": version}
        reason = f"Unsupported protocol version; supported: {', '.join(supported)}"
        self._error(wire_id, UNSUPPORTED_VERSION, reason, data)

    def _accept(
        self, message: Request, params: dict[str, Any], meta: dict[str, Any], caller: Caller, now: float
    ) -> None:
        request = IncomingRequest(
            message.id,
            message.method,
            caller.era,
            caller.version,
            meta,
            self,
            self.principal,
            caller.info,
            caller.capabilities,
        )
        batch = self._batch if caller.era is Era.LEGACY else None
        if batch is not None:
            batch.waiting += 1
        self._owed[request.id] = Owed(request, batch)
        self.server.dispatch(request, params, now)

    # the legacy session

    def _initialize(self, message: Request, params: dict[str, Any], modern: bool, now: float) -> None:
        legacy = self.server.config.of_era(Era.LEGACY)
        version = params.get("protocolVersion")
        if modern:
            names = ", ".join(self.server.config.of_era(Era.MODERN))
            self._error(message.id, METHOD_NOT_FOUND, f"initialize does not exist in {names}")
        elif not legacy:
            self._unsupported(message.id, version)
        elif self._caller is not None or self._batch is not None:
            self._error(message.id, INVALID_REQUEST, "initialize comes once, first and alone")
        elif not isinstance(version, str):
            self._error(message.id, INVALID_PARAMS, "protocolVersion must be a string")
        else:
            self._start_session(message.id, version if version in legacy else legacy[0], params)

    def _start_session(self, wire_id: RequestId, version: str, params: dict[str, Any]) -> None:
        """Answer the handshake; for a version that we do not know, with "another that it supports"."""
        try:
            info = structure_value(Implementation, params.get("clientInfo"))
        except InvalidMessage:
            info = None
        capabilities = params.get("capabilities")
        caller = Caller(Era.LEGACY, version, info, capabilities if is_object(capabilities) else {})
        self._caller = caller
        self._session = SESSION.next(self._session, SessionInput.INITIALIZE)
        self.listen(Listener(self, None), ())
        self._reply_now(wire_id, self.server.welcome(version))
        self.server.emit(SessionStarted(self, version, caller.info, caller.capabilities))

    def _initialized(self) -> None:
        """The client is ready: from now on it may be notified."""
        before, self._session = self._session, SESSION.next(self._session, SessionInput.INITIALIZED)
        if before is Session.ANSWERED:
            listener = self._listeners[None]
            for name in self.server.announced_topics(self.version or ""):
                listener.join(self.server.topics[name])

    # notifications

    def _notified(self, message: Notification, now: float) -> None:
        try:
            params = params_of(message.params)
        except InvalidMessage as error:
            self.server.emit(Diagnostic("bad-notification", f"{message.method}: {error}", stream=self))
            return
        if message.method == "notifications/initialized":
            self._initialized()
        elif message.method == "notifications/cancelled":
            self._cancelled(params)
        elif message.method == "notifications/progress":
            problem = self.calls.progressed(params, now)
            if problem is not None:
                self.server.emit(Diagnostic("bad-progress", problem, stream=self))
        else:
            self.server.emit(NotificationReceived(message.method, params, self))

    def _cancelled(self, params: Mapping[str, Any]) -> None:
        """Cancel what is still open; "unknown request IDs" and "already completed requests" are ignored."""
        wire_id = params.get("requestId")
        if not is_id(wire_id):
            return
        owed = self._owed.get(wire_id)
        if owed is not None:
            self._settle(owed, ReplyInput.CANCEL)
            self.server.emit(RequestCancelled(owed.request, text(params.get("reason"))))
            if owed.batch is not None:
                self._flush_batch(owed.batch)
        else:
            self.end_listener(wire_id, "cancelled by the client")

    # requests of ours to a legacy client

    def _answered(self, message: Response | ErrorResponse, now: float) -> None:
        call = self.calls.answered(message.id)
        if call is None:
            self.server.emit(
                Diagnostic("unknown-reply", f"a reply to {message.id!r}, which nobody waits for", stream=self)
            )
        elif isinstance(message, Response):
            self.calls.end(call, CallInput.ANSWER, Reply(message.result), now)
        else:
            self.calls.end(call, CallInput.ANSWER, message.error, now)

    def send_call(self, call: Call) -> None:
        """Post a request; it counts as sent, since nothing on a server waits for anything."""
        progress = b'"progressToken":%d' % call.wire_id if call.wants_progress else b""
        meta = b",".join(part for part in (progress, call.meta) if part) or None
        self.calls.pulled(call)
        self.post(
            Send(request_bytes(call.wire_id, call.method, call.params(), meta), call.method, call.wire_id)
        )

    def _abandon(self, call: Call) -> None:
        params = b'{"requestId":%d}' % call.wire_id
        self.post(Send(notification_bytes("notifications/cancelled", params, None)))


def tag(wire_id: RequestId) -> bytes:
    """The `_meta` member that ties a notification to its subscription."""
    return object_members({SUBSCRIPTION_ID: wire_id})
