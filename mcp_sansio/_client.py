"""The client endpoint: messages in, messages out, events for the application.

A `Client` owns everything that is not about bytes and not about prompts: the era (`_negotiation`), the
one call table (`_calls`), the notification channel (`_subscription`) and the outbox. What it is used
for is up to its layers, which have the same verbs as the application. Negotiation is a barrier in the
outbox: until it is through, only its own messages leave; then `notifications/initialized`, then the
listen request, then everything that has been asked for meanwhile, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from ._calls import (
    Call,
    CallOptions,
    Calls,
    Limits,
    Owner,
    Reply,
    cancellation,
    encode_members,
    encode_meta,
    encode_notification,
)
from ._client_config import ClientConfig
from ._contract import Abandon, Carrier, Outgoing, Send
from ._errors import (
    Cancelled,
    Closed,
    Failure,
    InvalidMessage,
    InvalidReply,
    LocalProtocolError,
    Lost,
    RpcError,
)
from ._events import (
    CallId,
    Diagnostic,
    Disconnected,
    IncomingRequest,
    NotificationReceived,
    Op,
    WireFailed,
)
from ._incoming import IncomingRequests
from ._json import (
    Batch,
    ErrorResponse,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
)
from ._layers import ClientLayer
from ._machine import MachineBase
from ._negotiation import Negotiator
from ._outbox import Outbox, waits
from ._plain import is_id, params_of, shown, text
from ._rounds import RoundTrips
from ._structure import result_head, structure
from ._subscription import Subscriptions
from ._tables import CallInput, CallState
from ._types import Implementation, InputRequired
from ._versions import Era, supports

_QUEUED, _LEGACY = CallState.QUEUED, Era.LEGACY  # an attribute of an enum costs as much as a call

_OWN_REQUESTS = ("initialize", "subscriptions/listen")
_OWN_NOTIFICATIONS = ("notifications/initialized", "notifications/cancelled")
"""What changes the state that is kept here; `server/discover` and `ping` do not, so that anybody may ask."""


class Client(MachineBase):
    """A client of one server, over one carrier after the other. `messages_sent` and `messages_received` count
    what has gone over them; `limits` are those of requests without their own.
    """

    want_read = True

    def __init__(self, config: ClientConfig, *layers: ClientLayer) -> None:
        super().__init__()
        self.config = config
        self.done: bool = False
        self.messages_sent: int = 0
        self.messages_received: int = 0
        self.era: Era | None = None
        """The server's era; None until it is known."""
        self.version: str | None = None
        """The negotiated revision; None until it is known."""
        self.capabilities: Mapping[str, Any] = {}
        """What the server declared, in `initialize` or `server/discover`."""
        self.server_info: Implementation | None = None
        """What the server says that it is; for display only."""
        self._layers = layers
        self._carrier: Carrier | None = None
        self._outbox = Outbox()
        self.limits: Limits = Limits(config.quiet_timeout, config.total_timeout)
        self._calls = Calls(self, self.limits, self._abandon)
        self._rounds = RoundTrips(self, self._calls)
        self._incoming = IncomingRequests(self)
        self._negotiator = Negotiator(self)
        self.channels: Subscriptions = Subscriptions(self, layers)
        for layer in layers:
            layer.bind(self)

    # --- what is known of the server ---

    def channel(self, topic: str) -> bool | None:
        """Whether changes of `topic` are announced; None while that is being found out."""
        return self.channels.state(topic)

    @property
    def in_flight(self) -> int:
        """How many requests have not ended, the one for announcements included."""
        return len(self._calls)

    # --- verbs ---

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        now: float,
        *,
        meta: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        progress: bool = False,
        layer: Owner | None = None,
        op: Op | None = None,
    ) -> CallId:
        """Make a request, of any method.

        `meta` travels in `_meta`; `progress` asks for progress notifications. Without a `layer` the
        outcome is a `CallSucceeded` or `CallFailed`. A request made before the era is known waits for
        it, its clocks running. Raises `LocalProtocolError` if it cannot be encoded or the client is
        closed, and for the requests that the client makes by itself: a layer has it listen to a topic.
        """
        if method in _OWN_REQUESTS:
            raise LocalProtocolError(f"{method} is sent by the library itself")
        members, extra = encode_members(params), encode_meta(meta)
        return self.open_call(
            method, members, now, meta=extra, limits=limits, progress=progress, owner=layer, op=op
        ).id

    def notify(self, method: str, params: Mapping[str, Any] | None, now: float) -> None:
        """Send a notification, of any method.

        Raises `LocalProtocolError` as `request` does; a cancellation is sent by `cancel`.
        """
        self._check_open()
        if method in _OWN_NOTIFICATIONS:
            raise LocalProtocolError(f"{method} is sent by the library itself")
        message = encode_notification(method, params)
        self.tick(now)
        self.post(message)

    def provide_input(self, call: CallId, answers: Mapping[str, Any], now: float) -> None:
        """Answer an `InputNeeded`; the request goes out again with the answers.

        "For each key in the response's inputRequests field, the same key must appear here": raises
        `LocalProtocolError` if a key is missing or unknown, or nothing was asked.
        """
        self._rounds.provide(call, answers, now)

    def respond(self, request: IncomingRequest, answer: Mapping[str, Any] | RpcError, now: float) -> None:
        """Answer a request that a legacy server made."""
        self._incoming.respond(request, answer)
        self.tick(now)

    def cancel(self, call: CallId, now: float) -> None:
        """Give up on a call; nothing happens if it has ended already."""
        found = self._calls.find(call)
        if found is not None:
            self._calls.end(found, CallInput.CANCEL, Cancelled(), self.tick(now))

    def close(self, now: float, reason: str = "closed") -> None:
        """End everything; what was not answered ends as `Closed`."""
        if not self.done:
            self._finish(reason, self.tick(now))

    # --- endpoint ---

    def attach(self, carrier: Carrier, now: float) -> None:
        """Connect; `LocalProtocolError` if closed or connected already."""
        self._check_open()
        if self._carrier is not None:
            raise LocalProtocolError("a carrier is attached already")
        self._carrier = carrier
        self._negotiator.start(self.tick(now))

    def carried_by(self, carrier: Carrier) -> bool:
        """Whether `carrier` is the one that is attached."""
        return self._carrier is carrier

    def recognizes(self, wire_id: RequestId, result: bytes) -> bool:
        """Whether a result need not be parsed: it is that of the last time, but for what has been read."""
        return self._calls.recognizes(wire_id, result)

    def receive(self, message: Message | Batch | Malformed, now: float) -> None:
        """Take one message in."""
        now = self.tick(now)
        self.messages_received += 1
        if self.done:
            return
        match message:
            case Response():
                self._answered(message, now)
            case ErrorResponse():
                self._refused(message, now)
            case Notification():
                self._notified(message, now)
            case Request():
                self._incoming.requested(message)
            case Batch():
                self._batch(message, now)
            case _:
                self._malformed(message, now)

    def receive_eof(self, reason: str, now: float) -> None:
        """The server will say nothing more, so nothing more can be asked of it."""
        self.detach(reason, now)

    def detach(self, reason: str, now: float) -> None:
        """The carrier is gone: what had left ends as `Lost`, what had not waits for the next one."""
        if self._carrier is None:
            return
        now = self.tick(now)
        self._wake()
        self._carrier = None
        if self.done:
            return
        unsent = self._outbox.detach()
        self._incoming.detach(reason)
        self._negotiator.detach()
        self.emit(Disconnected(reason))
        for layer in self._layers:
            layer.closed(reason, now)
        self.channels.detach(now)
        self._calls.end_all(CallInput.LOSE, Lost(reason), now)
        for call in filter(waits, unsent):  # negotiation begins anew on the next carrier
            self._calls.end(call, CallInput.CANCEL, Cancelled(), now)

    def settle(self, wire_id: RequestId, failure: Failure, now: float) -> None:
        """The exchange of one request ended without its reply; the carrier, and all else on it, lives."""
        call = self._calls.answered(wire_id)
        if call is not None:
            lost = isinstance(failure, Lost)
            self._calls.end(call, CallInput.LOSE if lost else CallInput.ANSWER, failure, self.tick(now))

    def session_lost(self, now: float) -> None:
        """The server has forgotten the session: begin a new one on the same carrier.

        "When a client receives HTTP 404 in response to a request containing an MCP-Session-Id, it MUST start
        a new session." What had left is lost; what is safe to repeat is asked again.
        """
        carrier = self._carrier
        if carrier is not None and not self.done:
            self.detach("the session is lost", now)
            self.attach(carrier, now)

    def fail(self, reason: str, now: float) -> None:
        """The carrier broke."""
        if self._carrier is not None and not self.done:
            self.emit(WireFailed(self._carrier.wire, reason))
        self.detach(reason, now)

    def next_outgoing(self) -> Outgoing | None:
        """The next message for the wire."""
        era_known = self.era is not None
        while (entry := self._outbox.next(era_known=era_known)) is not None:
            if isinstance(entry, Call):
                if entry.state is _QUEUED:
                    self._calls.pulled(entry)
                    self.messages_sent += 1
                    return entry.message(self._negotiator.meta)
            elif not self._is_unwritable(entry):
                self.messages_sent += isinstance(entry, Send)
                return entry
        return None

    # --- for the negotiator, the channels and layers ---

    def open_call(self, method: str, members: bytes, now: float, **options: Unpack[CallOptions]) -> Call:
        """`request` for those who have encoded what they ask, and need the call itself; one that is `urgent`
        passes the barrier.
        """
        self._check_open()
        call = self._calls.open(method, members, now, **options)
        if call.urgent:
            self.post_urgent(call)
        else:
            self.post(call)
        return call

    @property
    def shared(self) -> bool:
        """Whether everything travels on one channel; false where each request has its own exchange."""
        return self._carrier is None or self._carrier.shared

    def post(self, entry: Call | Outgoing) -> None:
        """Send something when its turn comes."""
        self._outbox.post(entry)
        self._wake()

    def post_urgent(self, entry: Call | Outgoing) -> None:
        """Send something ahead of everything that waits."""
        self._outbox.post_urgent(entry)
        self._wake()

    def negotiated(self, now: float) -> None:
        """The era is known: open the channel first, then let everybody go on."""
        self.channels.opened(now)
        for layer in self._layers:
            layer.opened(now)
        self._wake()

    def recheck(self, now: float) -> bool:
        """Before something is refused because the server has not declared it: ask again what it declares, if
        the answer is stale. True while one is awaited; then the layers' `opened` is called once more.
        """
        return self._negotiator.recheck(now)

    def give_up(self, reason: str, now: float) -> None:
        """Negotiation failed for good; the wire is to be closed."""
        self._finish(reason, now)

    def forget(self, call: Call, now: float) -> None:
        """End a call of which the server has said that it is over, without a message about it."""
        self._calls.end(call, CallInput.ANSWER, Closed("ended by the server"), now)

    # --- inside ---

    def _check_open(self) -> None:
        if self.done:
            raise LocalProtocolError("the client is closed")

    def _finish(self, reason: str, now: float) -> None:
        """Layers first: what they wait for is theirs to end, with what they know. Requests end here; what
        asks for no reply still leaves, if it was free to.
        """
        may_leave = self.era is not None
        for layer in self._layers:
            layer.finished(reason, now)
        self._negotiator.close()
        self._incoming.detach(reason)
        self.channels.detach(now)
        self.done = True
        self._calls.end_all(CallInput.CLOSE, Closed(reason), now)
        self._outbox.finish(era_known=may_leave)
        self._wake()

    def _wake(self) -> None:
        if self._carrier is not None:
            self.wake(self._carrier.wire)

    def _is_unwritable(self, entry: Outgoing) -> bool:
        """Modern clients "MUST NOT write JSON-RPC responses", not even to what was asked before they knew."""
        return self.era is Era.MODERN and isinstance(entry, Send) and entry.method is None

    def _abandon(self, call: Call) -> None:
        """Tell the server that nobody waits: "stdio: the client MUST send notifications/cancelled";
        "Streamable HTTP: closing the SSE response stream is the cancellation signal", in the modern era. In
        the legacy one it says nothing, but the exchange has become useless. Negotiation is never cancelled.
        """
        if self._carrier is None:
            return
        shared = self._carrier.shared
        negotiation = call.urgent and call.method != "subscriptions/listen"
        if not negotiation and (shared or self.era is not Era.MODERN):
            self.post(cancellation(call.wire_id))
        if not shared:
            self.post(Abandon(call.wire_id))

    # replies

    def _answered(self, message: Response, now: float) -> None:
        call = self._calls.answered(message.id)
        if call is None:
            self._late(message.id)
            return
        try:
            head = self.era is not _LEGACY and message.result is not call.recognized
            kind = result_head(message.result) if head else "complete"
            if kind == "input_required":
                self._rounds.asked(call, structure(InputRequired, message.result), now)
                return
            known = kind == "complete" or kind in self.config.result_types
            outcome = Reply(message.result) if known else InvalidReply(f"unknown resultType {shown(kind)}")
        except InvalidMessage as error:
            outcome = InvalidReply(str(error))
        self._calls.end(call, CallInput.ANSWER, outcome, now)

    def _refused(self, message: ErrorResponse, now: float) -> None:
        call = self._calls.answered(message.id)
        if call is not None:
            self._calls.end(call, CallInput.ANSWER, message.error, now)
        elif message.id is None:
            error = message.error
            self.emit(Diagnostic("error-without-id", f"the server reports {error.code}: {error.message}"))
        else:
            self._late(message.id)

    def _late(self, wire_id: RequestId) -> None:
        self.emit(Diagnostic("unknown-reply", f"a reply to {shown(wire_id)}, which nobody waits for"))

    # notifications

    def _notified(self, message: Notification, now: float) -> None:
        if self.channels.again(message, now):
            return
        try:
            params = params_of(message.params)
        except InvalidMessage as error:
            self.emit(Diagnostic("bad-notification", f"{message.method}: {error}"))
            return
        if message.method == "notifications/progress":
            problem = self._calls.progressed(params, now)
            if problem is not None:
                self.emit(Diagnostic("bad-progress", problem))
        elif message.method == "notifications/cancelled":
            self._cancelled(params, now)
        elif not self.channels.notified(message, params, now):
            self.emit(NotificationReceived(message.method, params))

    def _cancelled(self, params: Mapping[str, Any], now: float) -> None:
        wire_id = params.get("requestId")
        if self.era is Era.MODERN:
            self.channels.cancelled(wire_id, now)
        elif is_id(wire_id):
            self._incoming.cancelled(wire_id, text(params.get("reason")))

    def _batch(self, message: Batch, now: float) -> None:
        """Batches came and went with 2025-03-26."""
        if self.version is not None and supports(self.version, "batching"):
            for part in message.messages:
                self.receive(part, now)
        else:
            self.emit(Diagnostic("batch", "a batch, which this revision does not have"))

    def _malformed(self, message: Malformed, now: float) -> None:
        call = self._calls.answered(message.id) if message.reply else None
        if call is not None:
            self._calls.end(call, CallInput.ANSWER, InvalidReply(message.reason), now)
            return
        self.emit(Diagnostic("bad-message", message.reason, message.data))
        if message.id is not None and not message.reply and self.era is Era.LEGACY:
            self._incoming.refuse(message.id, message.code, message.reason)
