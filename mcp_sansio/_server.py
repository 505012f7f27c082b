"""The server: streams below, layers above, and the verbs between them.

A `Server` keeps no state per client of its own; every peer is a `Stream`, and what a request may rely on
is in the request. The server answers what belongs to the protocol itself (`server/discover`,
`subscriptions/listen`), hands every other method to the layer that owns it, and announces changes to
whoever listens, thinned out (`_topics`). It never blocks and never calls application code: what the
application has to do is an event, answered later by `respond` or `refuse`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import attrgetter
from typing import Any, cast

from ._calls import Limits, cancellation, encode_members, encode_meta, encode_notification
from ._checks import check_error
from ._contract import Send
from ._errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    LocalProtocolError,
    RpcError,
)
from ._events import CallId, HandlerFailed, IncomingRequest, RequestReceived, SubscriptionOpened
from ._input import INPUT_METHODS, missing_capabilities, unknown_requests
from ._json import (
    RequestId,
    decode,
    encode,
    encode_name,
    error_bytes,
    members,
    notification_bytes,
    result_bytes,
)
from ._layers import ServerLayer, owners
from ._machine import MachineBase
from ._meta import SERVER_INFO, SUBSCRIPTION_ID
from ._plain import MAX_QUOTED, is_object
from ._server_config import ServerConfig
from ._stream import Stream, tag
from ._structure import encode_typed
from ._topics import Listener, Topic
from ._types import InputRequired
from ._versions import Era, supports

_OWN_METHODS = ("initialize", "ping", "server/discover", "subscriptions/listen")
_OWN_NOTIFICATIONS = (
    "notifications/cancelled",
    "notifications/progress",
    "notifications/subscriptions/acknowledged",
)


class Server(MachineBase):
    """A server of any number of peers. Raises `LocalProtocolError` for layers that claim the same name."""

    def __init__(self, config: ServerConfig, *layers: ServerLayer) -> None:
        super().__init__()
        self.config = config
        self.layers = layers
        self.closed: bool = False
        # Encoded and read back, which checks every field now rather than when a client asks.
        self._identity = {v: decode(encode_typed(config.info, v)) for v in config.versions}
        self._named = {v: self._meta(v, {}) for v in config.versions}
        self.topics: dict[str, Topic] = {
            name: Topic(name, layer.topics[name], config.quiet, config.max_wait)
            for name, layer in owners(layers, attrgetter("topics")).items()
        }
        self._owners = owners(layers, attrgetter("methods"), (*_OWN_METHODS, *config.methods))
        owners(layers, lambda layer: layer.topics.values(), _OWN_NOTIFICATIONS)
        self._streams: dict[Stream, None] = {}
        self.on_close: list[Callable[[float], None]] = []  # of what carries streams and has an end of its own
        self._subscriptions = 0
        self._own_notifications = _OWN_NOTIFICATIONS + tuple(topic.method for topic in self.topics.values())
        for layer in layers:
            layer.bind(self)
        for version in config.versions:
            self.welcome(version)  # what cannot be encoded is refused now, not when a client asks

    # --- verbs ---

    def open(self, *, peer: object = None, principal: str | None = None) -> Stream:
        """A stream for a new peer, to be given to its wire.

        `principal` is whom the adapter has authenticated: it decides what the peer may see, and binds
        cursors and request states. Raises `LocalProtocolError` after `close`.
        """
        if self.closed:
            raise LocalProtocolError("the server is closed")
        stream = Stream(self, peer, principal)
        self._streams[stream] = None
        return stream

    def respond(self, request: IncomingRequest, result: Mapping[str, Any], now: float) -> None:
        """Answer a request. What every result carries in its revision is added.

        Raises `LocalProtocolError`, with no effect, if the result cannot be encoded or no answer is owed,
        and for an `input_required`, which `ask` sends.
        """
        if result.get("resultType") == "input_required":
            raise LocalProtocolError("input is asked for with `ask`")
        self.answer(request, self.encode_result(request.version, result), now)

    def ask(self, request: IncomingRequest, wanted: InputRequired, now: float) -> None:
        """Answer that input is needed first (patterns/mrtr); the client makes the request again with it.

        Never for what "the client has not declared support for in its capabilities": then the answer is
        the error -32021 with what is missing. Raises `LocalProtocolError`, with no effect, if no client
        can be asked so, or not in answer to this method or in this revision; and as `respond`.
        """
        if not supports(request.version, "input_required"):
            raise LocalProtocolError(f"{request.version} cannot ask for input")
        if request.method not in INPUT_METHODS + self.config.input_methods:
            raise LocalProtocolError(f"{request.method} cannot be answered by asking for input")
        plain: dict[str, Any] = decode(encode_typed(wanted, request.version))
        if not plain:
            raise LocalProtocolError("there is neither a request nor a state")
        unknown = unknown_requests(wanted.requests)
        if unknown:
            raise LocalProtocolError(f"no client can be asked for {unknown[0]}")
        missing = missing_capabilities(wanted.requests, request.client_capabilities)
        if missing:
            data = {"requiredCapabilities": missing}
            error = RpcError(MISSING_CLIENT_CAPABILITY, "Missing required client capability", data)
            self.refuse(request, error, now)
        else:
            self.answer(request, self.encode_result(request.version, plain, "input_required"), now)

    def answer(self, request: IncomingRequest, result: bytes, now: float, *, end: bytes = b"") -> None:
        """Answer a request with a result object that is encoded already, by `encode_result` for one. `end` is
        the rest of one that is shared but for that.
        """
        _stream(request).answer(request, result_bytes(request.id, result, end), now)

    def refuse(self, request: IncomingRequest, error: RpcError, now: float) -> None:
        """Answer a request with an error; raises `LocalProtocolError` for a code that is reserved."""
        check_error(error)
        _stream(request).answer(request, error_bytes(request.id, error, omit_null_id=False), now)

    def fail(self, request: IncomingRequest, reason: str, now: float) -> None:
        """Answer a request with a neutral -32603; `reason` goes into a local event only."""
        self.refuse(request, RpcError(INTERNAL_ERROR, "Internal error"), now)
        self.emit(HandlerFailed(request, reason))

    def changed(self, topic: str, now: float) -> None:
        """Something of `topic` changed: announce it, at once when quiet, else with what follows."""
        found = self.topics.get(topic)
        if found is None:
            raise LocalProtocolError(f"no layer has the topic {topic!r}")
        now = self.tick(now)
        found.changes += 1
        if found.burst.hit(now):
            found.announce()
        due = found.burst.due
        if due is not None and not self.closed:
            self.set_timer(self._calmed, due, topic)

    def request(
        self,
        stream: Stream,
        method: str,
        params: Mapping[str, Any] | None,
        now: float,
        *,
        meta: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        progress: bool = False,
    ) -> CallId:
        """Make a request of a legacy client.

        Modern "servers MUST NOT initiate JSON-RPC requests": raises `LocalProtocolError` unless the stream
        has an initialized legacy session, whose peer can still reply. So it does, here and in `notify`, where
        nobody takes what is sent and `ServerConfig.max_pending` bytes of it wait.
        """
        if not stream.ready or stream.ending:
            raise LocalProtocolError("requests can be made of initialized legacy clients only")
        stream.check_room()
        members, extra = encode_members(params), encode_meta(meta)
        call = stream.calls.open(method, members, now, meta=extra, limits=limits, progress=progress)
        stream.send_call(call)
        return call.id

    def notify(
        self,
        to: Stream | IncomingRequest,
        method: str,
        params: Mapping[str, Any] | None,
        now: float,
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """Send a notification: about a request that is still open, or to a legacy session.

        Raises `LocalProtocolError` otherwise, and for the notifications that have rules of their own and
        so verbs of their own (`progress`, `changed`, `end_subscription`).
        """
        if method in self._own_notifications:
            raise LocalProtocolError(f"{method} is sent by the library itself")
        self._notify(to, encode_notification(method, params, meta), now)

    def _notify(self, to: Stream | IncomingRequest, message: Send, now: float) -> None:
        if isinstance(to, IncomingRequest):
            stream = _stream(to)
            outlet = stream.owed(to).outlet
        elif to.ready:
            to.check_room()
            stream, outlet = to, None
        else:
            raise LocalProtocolError("a modern client is notified about its requests only")
        self.tick(now)
        stream.send(message, outlet)

    def progress(
        self,
        request: IncomingRequest,
        value: float,
        now: float,
        *,
        total: float | None = None,
        message: str | None = None,
    ) -> bool:
        """Report progress; false if the client did not ask for it.

        "The progress value MUST increase with each notification": raises `LocalProtocolError` otherwise,
        and for a request that is not open any more.
        """
        owed = _stream(request).owed(request)
        token = request.meta.get("progressToken")
        if type(token) not in (int, str):
            return False
        if owed.progress is not None and value <= owed.progress:
            raise LocalProtocolError("progress must increase")
        params: dict[str, Any] = {"progressToken": token, "progress": value}
        if total is not None:
            params["total"] = total
        if message is not None and supports(request.version, "progress_message"):
            params["message"] = message
        self._notify(request, encode_notification("notifications/progress", params), now)
        owed.progress = value
        return True

    def end_subscription(self, stream: Stream, listen: RequestId, now: float) -> None:
        """End a listen stream from our side, gracefully.

        The specification wants the tagged result (patterns/subscriptions) and a `notifications/cancelled`
        (patterns/cancellation): both, in this order, on a shared channel.
        """
        self.tick(now)
        if not stream.end_listener(listen, "ended by the server"):
            raise LocalProtocolError(f"no subscription {listen!r}")
        version = self.config.of_era(Era.MODERN)[0]
        result = self.encode_result(version, {"_meta": {SUBSCRIPTION_ID: listen}})
        stream.post(Send(result_bytes(listen, result), id=listen))
        if stream.shared:
            stream.post(cancellation(listen))

    def close(self, now: float, reason: str = "the server is shutting down") -> None:
        """End everything: subscriptions gracefully, requests in flight as cancelled."""
        now = self.tick(now)
        self.closed = True
        for topic in self.topics:
            self.cancel_timer(self._calmed, topic)
        for stream in [*self._streams]:
            for listen in stream.listens():
                self.end_subscription(stream, listen, now)
            stream.drop_owed(reason)
            stream.end_all_calls(reason, now)
            stream.receive_eof(reason, now)
        for closed in self.on_close:
            closed(now)

    # --- for layers and streams ---

    def encode_result(self, version: str, result: Mapping[str, Any], kind: str = "complete") -> bytes:
        """A result object as the revision wants it: in the modern era "the result MUST include a
        `resultType` field", and "servers SHOULD include" `serverInfo` "in every result's `_meta`".
        """
        if not supports(version, "result_type"):
            return encode(result)
        meta = self._named[version]
        if "_meta" in result:
            meta = self._meta(version, result["_meta"])
            result = {key: value for key, value in result.items() if key != "_meta"}
        kinds = b"" if "resultType" in result else b'"resultType":' + encode_name(kind)
        return b"{%b}" % b",".join([part for part in (kinds, members(result), meta) if part])

    def _meta(self, version: str, given: Any) -> bytes:
        """The encoded member `_meta` of a result; empty if there is nothing to say."""
        if not isinstance(given, Mapping):
            raise LocalProtocolError("the _meta of a result is a mapping")
        meta = dict(cast("Mapping[str, Any]", given))
        if self.config.name_itself:
            meta.setdefault(SERVER_INFO, self._identity[version])
        return b'"_meta":' + encode(meta) if meta else b""

    def capabilities(self, version: str) -> dict[str, Any]:
        """What is declared in this revision."""
        declared = dict(self.config.capabilities)
        for layer in self.layers:
            declared.update(layer.capabilities(version))
        return declared

    def announced_topics(self, version: str) -> tuple[str, ...]:
        """The topics that a client of this revision can listen to."""
        return tuple(topic for layer in self.layers for topic in layer.announced(version))

    def welcome(self, version: str) -> bytes:
        """The result of `initialize`."""
        result: dict[str, Any] = {
            "protocolVersion": version,
            "capabilities": self.capabilities(version),
            "serverInfo": self._identity[version],
        }
        if self.config.instructions is not None:
            result["instructions"] = self.config.instructions
        return encode(result)

    def dispatch(self, request: IncomingRequest, params: dict[str, Any], now: float) -> None:
        """Find who answers a request."""
        owner = self._owners.get(request.method)
        if owner is not None:
            owner.requested(request, params, now)
        elif request.era is Era.MODERN and request.method == "server/discover":
            self._discover(request, now)
        elif request.era is Era.MODERN and request.method == "subscriptions/listen":
            self._listen(request, params, now)
        elif request.method in self.config.methods:
            self.emit(RequestReceived(request, params))
        else:
            reason = f"Method not found: {request.method[:MAX_QUOTED]}"
            self.refuse(request, RpcError(METHOD_NOT_FOUND, reason), now)

    def catch_up(self, request: IncomingRequest, topic: str) -> None:
        """Before a list is answered that shows a change: have a pending notification of it written."""
        _stream(request).catch_up(topic)

    def ended(self, stream: Stream) -> None:
        """A stream is over."""
        self._streams.pop(stream, None)

    def subscription_ended(self, stream: Stream) -> None:
        """One listener fewer."""
        self._subscriptions -= 1

    # --- inside ---

    def _calmed(self, key: Hashable, now: float) -> None:
        topic = self.topics[str(key)]
        topic.burst.fire(now)
        topic.announce()

    def _discover(self, request: IncomingRequest, now: float) -> None:
        version = request.version
        result: dict[str, Any] = {
            "supportedVersions": [*self.config.of_era(Era.MODERN)],
            "capabilities": self.capabilities(version),
            "ttlMs": int(self.config.discover_ttl * 1000),
            "cacheScope": "public",
        }
        if self.config.instructions is not None:
            result["instructions"] = self.config.instructions
        self.respond(request, result, now)

    def _listen(self, request: IncomingRequest, params: Mapping[str, Any], now: float) -> None:
        """Open a subscription: its acknowledgement is "the first message carrying the subscription's ID",
        and reflects "the subset the server agreed to honor".
        """
        stream = _stream(request)
        wanted = params.get("notifications")
        if not is_object(wanted):
            self.refuse(request, RpcError(INVALID_PARAMS, "notifications must be an object"), now)
            return
        wrong = [name for name in self.topics if not isinstance(wanted.get(name), bool | None)]
        if wrong:
            self.refuse(request, RpcError(INVALID_PARAMS, f"notifications.{wrong[0]} must be a boolean"), now)
            return
        config = self.config
        if self._subscriptions >= config.max_subscriptions or len(stream.listens()) >= config.max_listens:
            self.refuse(request, RpcError(INTERNAL_ERROR, "too many subscriptions"), now)
            return
        offered = self.announced_topics(request.version)
        topics = tuple(name for name in offered if wanted.get(name) is True)
        listener = Listener(stream, request.id, tag(request.id))
        stream.begin_listening(request)
        acknowledged = encode({"notifications": dict.fromkeys(topics, True)})
        method = "notifications/subscriptions/acknowledged"
        stream.post(Send(notification_bytes(method, acknowledged, listener.tag), method))
        stream.listen(listener, topics)
        self._subscriptions += 1
        self.emit(SubscriptionOpened(stream, request.id, topics))


def _stream(request: IncomingRequest) -> Stream:
    if request.stream is None:
        raise LocalProtocolError("this request did not come from a client")
    return request.stream
