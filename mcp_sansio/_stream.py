"""One stream of a server: the endpoint of one peer's channel, with what is open on it.

The stream knows which replies are owed, who listens, and what waits to be written. What comes in is
routed by `_routing`, and answered by the server and its layers. After the peer has finished, what is
owed is still written; then the stream is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ._calls import Call, Calls, Limits, cancellation
from ._contract import Carrier, Outgoing, Outlet, Send
from ._debts import BatchReply, Owed
from ._errors import (
    Closed,
    LocalProtocolError,
    Lost,
)
from ._events import (
    IncomingRequest,
    RequestCancelled,
    StreamEnded,
    SubscriptionEnded,
    WireFailed,
)
from ._json import (
    Batch,
    Malformed,
    Message,
    RequestId,
)
from ._json import members as object_members
from ._meta import SUBSCRIPTION_ID
from ._routing import Router
from ._tables import REPLY, CallInput, ReplyInput
from ._topics import Listener, Marker

if TYPE_CHECKING:
    from ._server import Server


class Stream:
    """One peer of a server. `peer` is for display, `principal` is whom the adapter has authenticated."""

    def __init__(self, server: Server, peer: object, principal: str | None) -> None:
        self.server = server
        self.peer = peer
        self.principal = principal
        self.done: bool = False
        self._carrier: Carrier | None = None
        self._outbox: deque[Send | Marker] | None = None
        self._pending = 0
        self.on_withdrawn: Callable[[RequestId], None] = _nothing  # for whoever has what was answered
        self._unwritten: dict[RequestId, int] = {}  # how many answers to an id wait to be written
        self._withdrawn: dict[RequestId, None] = {}  # an empty set would take three times as much
        self._owed: dict[RequestId, Owed] = {}
        self._listeners: dict[RequestId | None, Listener] = {}
        self._outlet: Outlet | None = None  # of the message that is being received
        self._ending: str | None = None
        self._router = Router(self)
        limits = Limits(server.config.quiet_timeout, server.config.total_timeout)
        self.calls: Calls = Calls(server, limits, self._abandon)

    @property
    def want_read(self) -> bool:
        """False while more output waits than `ServerConfig.max_pending`."""
        return self._pending <= self.server.config.max_pending

    def check_room(self) -> None:
        """Raise `LocalProtocolError` where nobody takes what is written, and enough of it waits already: a
        legacy session over HTTP may never open its GET stream.
        """
        if self._carrier is None and not self.want_read:
            raise LocalProtocolError("nobody takes what is sent to this session, and too much of it waits")

    @property
    def ready(self) -> bool:
        """Whether a legacy client has said that it is initialized."""
        return self._router.ready

    @property
    def version(self) -> str | None:
        """The revision of the legacy session; None before `initialize` and for modern peers."""
        return self._router.version

    @property
    def ending(self) -> bool:
        """Whether the peer has finished; it is answered what it asked for, but will not reply."""
        return self._ending is not None

    @property
    def shared(self) -> bool:
        """Whether everything of this peer travels on one channel."""
        return self._carrier is not None and self._carrier.shared

    # --- endpoint ---

    def attach(self, carrier: Carrier, now: float) -> None:
        """The stream has a carrier; `LocalProtocolError` if it has one already, or is over."""
        if self._carrier is not None or self.done:
            raise LocalProtocolError("a stream has one carrier at a time")
        self.server.tick(now)
        self._carrier = carrier
        if self._outbox:
            self.server.wake(carrier.wire)

    def unplug(self, now: float) -> None:
        """The carrier is gone, and that means nothing: what is open waits for the next one.

        So it is with a legacy session over HTTP, whose push channel comes and goes ("disconnection SHOULD
        NOT be interpreted as the client cancelling its request").
        """
        self.server.tick(now)
        self._carrier = None

    def carried_by(self, carrier: Carrier) -> bool:
        """Whether `carrier` is the one that is attached."""
        return self._carrier is carrier

    def recognizes(self, wire_id: RequestId, result: bytes) -> bool:
        """A server asks for nothing twice."""
        return False

    def receive(self, message: Message | Batch | Malformed, now: float, outlet: Outlet | None = None) -> None:
        """Take one message in; what there is to say about it goes to `outlet`, if there is one."""
        now = self.server.tick(now)
        if self._ending is None:
            self._outlet = outlet
            self._router.receive(message, now)
            self._outlet = None

    def receive_eof(self, reason: str, now: float) -> None:
        """The peer has finished: what it asked for may still be answered, nobody listens any more."""
        now = self.server.tick(now)
        self._ending = reason
        for listen in [*self._listeners]:
            self.end_listener(listen, reason)
        self.calls.end_all(CallInput.LOSE, Lost(reason), now)
        self._end_if_idle()

    def detach(self, reason: str, now: float) -> None:
        """The carrier is gone, and with it all that was open."""
        if self.done:
            return
        self.drop_owed(reason)
        self._outbox = None
        self._unwritten.clear()
        self._withdrawn.clear()
        self._pending = 0
        self.receive_eof(reason, now)

    def fail(self, reason: str, now: float) -> None:
        """The carrier broke."""
        if not self.done:
            self.server.emit(WireFailed(self._carrier and self._carrier.wire, reason, self))
            self.detach(reason, now)

    def next_outgoing(self) -> Outgoing | None:
        """The next message for the wire."""
        message, outbox = None, self._outbox
        while outbox and message is None:
            entry = outbox.popleft()
            message = entry.pull() if isinstance(entry, Marker) else self._take(entry)
        if not outbox:
            self._outbox = None
        if self._ending is not None:
            self._end_if_idle()
        return message

    # --- for the server ---

    @property
    def outlet(self) -> Outlet | None:
        """Where answers to the message go that is being received; None for the carrier."""
        return self._outlet

    def send(self, message: Send, outlet: Outlet | None) -> None:
        """Send something about a message that came in to the outlet that came with it."""
        if outlet is None:
            self.post(message)
        else:
            outlet.put(message)

    def reply(
        self, message: bytes, wire_id: RequestId | None, outlet: Outlet | None, batch: BatchReply | None
    ) -> None:
        """Send a response; one of a batch waits for the others, and counts as output that waits."""
        if batch is not None:
            batch.parts.append(message)
            self._pending += len(message) if outlet is None else 0
            self.flush(batch)
        elif outlet is not None:
            outlet.put(Send(message, None, wire_id))
        else:
            if wire_id is not None:
                self._unwritten[wire_id] = self._unwritten.get(wire_id, 0) + 1
            self.post(Send(message, None, wire_id))

    def post(self, entry: Send | Marker) -> None:
        """Queue something to be written, as soon as there is a carrier."""
        if self.done:
            return
        if self._outbox is None:
            self._outbox = deque()
        self._outbox.append(entry)
        if isinstance(entry, Send):
            self._pending += len(entry.data)
        if self._carrier is not None:
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
        self.reply(message, request.id, owed.outlet, owed.batch)
        if self._ending is not None:
            self._end_if_idle()

    def listen(self, listener: Listener, topics: tuple[str, ...], told: Mapping[str, int] = {}) -> None:
        """Add a listener; `told` counts the changes that it knows of, where those are not all."""
        self._listeners[listener.id] = listener
        for name in topics:
            topic = self.server.topics[name]
            listener.join(topic, told.get(name, topic.changes))

    def begin_listening(self, request: IncomingRequest) -> None:
        """The reply to a listen request is its end, so it is no debt meanwhile."""
        del self._owed[request.id]

    def end_listener(self, listen: RequestId | None, reason: str) -> bool:
        """Remove a listener; whether there was one."""
        listener = self._listeners.pop(listen, None)
        if listener is None:
            return False
        listener.leave()
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
            if topic in listener.markers:
                listener.markers[topic].set()

    def end_all_calls(self, reason: str, now: float) -> None:
        """The server closes: nothing more is asked of this peer."""
        self.calls.end_all(CallInput.CLOSE, Closed(reason), now)

    def drop_owed(self, reason: str) -> None:
        """Tell the application that what it is working on is not wanted any more."""
        for owed in [*self._owed.values()]:
            self._drop(owed, ReplyInput.DROP, reason)

    def owe(self, request: IncomingRequest, batch: BatchReply | None) -> None:
        """Take on a debt."""
        if batch is not None:
            batch.waiting += 1
        self._owed[request.id] = Owed(request, batch, self._outlet)

    @property
    def in_flight(self) -> int:
        """How many replies are owed."""
        return len(self._owed)

    def uses(self, wire_id: RequestId) -> bool:
        """Whether a request with this id is open."""
        return wire_id in self._owed or wire_id in self._listeners

    def cancel(self, wire_id: RequestId, reason: str | None) -> None:
        """The client gives up on a request, or stops listening; an unknown id means nothing. An answer that
        waits to be written is none any more: servers "MUST NOT send any further messages for" the request.
        """
        owed = self._owed.get(wire_id)
        if owed is None:
            if wire_id in self._unwritten:
                self._withdrawn[wire_id] = None
            self.on_withdrawn(wire_id)
            self.end_listener(wire_id, "cancelled by the client")
            return
        self._drop(owed, ReplyInput.CANCEL, reason)

    def flush(self, batch: BatchReply) -> None:
        """Send the replies to a batch, once it has been read and all are there."""
        if not batch.read or batch.waiting:
            return
        if batch.parts:
            self._pending -= sum(map(len, batch.parts)) if batch.outlet is None else 0
            self.send(Send(b"[" + b",".join(batch.parts) + b"]"), batch.outlet)
            batch.parts.clear()
        elif batch.outlet is not None:
            batch.outlet.end()

    # --- inside ---

    def _take(self, message: Send) -> Send | None:
        """A message that is to be written; None if it answers a request which was cancelled meanwhile."""
        self._pending -= len(message.data)
        wire_id = message.id
        if wire_id is None or message.method is not None or wire_id not in self._unwritten:
            return message
        left = self._unwritten.pop(wire_id) - 1
        if left:
            self._unwritten[wire_id] = left
        if wire_id not in self._withdrawn:
            return message
        del self._withdrawn[wire_id]
        return None

    def _drop(self, owed: Owed, how: ReplyInput, reason: str | None) -> None:
        """A request is not answered; those of its batch that are, still go out."""
        self._settle(owed, how)
        self.server.emit(RequestCancelled(owed.request, reason))
        if owed.batch is not None:
            self.flush(owed.batch)
        elif owed.outlet is not None:
            owed.outlet.end()

    def _settle(self, owed: Owed, how: ReplyInput) -> None:
        owed.state = REPLY.next(owed.state, how)
        del self._owed[owed.request.id]
        if owed.batch is not None:
            owed.batch.waiting -= 1

    def _end_if_idle(self) -> None:
        unwritten = self._outbox and self._carrier is not None
        if self.done or self._ending is None or self._owed or unwritten:
            return
        self.done = True
        self.server.emit(StreamEnded(self, self._ending))
        self.server.ended(self)
        if self._carrier is not None:
            self.server.wake(self._carrier.wire)

    def send_call(self, call: Call) -> None:
        """Post a request; it counts as sent, since nothing on a server waits for anything."""
        self.calls.pulled(call)
        self.post(call.message())

    def _abandon(self, call: Call) -> None:
        self.post(cancellation(call.wire_id))


def tag(wire_id: RequestId) -> bytes:
    """The `_meta` member that ties a notification to its subscription."""
    return object_members({SUBSCRIPTION_ID: wire_id})


def _nothing(wire_id: RequestId) -> None:
    pass
