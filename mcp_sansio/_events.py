"""Everything a machine reports, as immutable values.

Events queue in the order in which things happened and carry all that is needed to act on them, so
nothing has to be asked back. `next_event()` hands them out one by one and never raises: what the
peer did wrong is an event too. The client's and the server's events share one vocabulary; where
both ends report the same kind of thing (a request, a notification, progress), it is the same class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from ._errors import Failure, RpcError
from ._json import RequestId
from ._types import Completion, GetPromptResult, Implementation, InputRequest, Prompt
from ._versions import Era

if TYPE_CHECKING:
    from ._entry import Entry
    from ._snapshot import Snapshot
    from ._stream import Stream


@attrs.frozen
class CallId:
    """A request of ours. It stays the same when a retry gives the request a new id on the wire."""

    number: int


@attrs.frozen
class Op:
    """A command to a layer (list, get, complete), which may take several requests or none."""

    number: int
    kind: str


@attrs.frozen(eq=False)
class IncomingRequest:
    """A request of the peer, to be answered once with `respond` or `refuse`.

    `meta` is the request's whole `_meta`, trace context and unknown keys included. `stream`,
    `principal` and the client's identity are set on a server only.
    """

    id: RequestId
    method: str
    era: Era
    version: str
    meta: Mapping[str, Any]
    stream: Stream | None = None
    principal: str | None = None
    client_info: Implementation | None = None
    client_capabilities: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen
class Verdict:
    """What a client found out about a server's era, to be persisted and handed in again.

    Versioning, "Backward Compatibility": clients "MAY persist it across restarts of the same server
    configuration, re-probing if the cached assumption later fails".
    """

    era: Era
    version: str


# --- both ends -------------------------------------------------------------------------------------


@attrs.frozen
class Diagnostic:
    """Something odd that changed nothing: `kind` is a stable word, `text` a sentence for people."""

    kind: str
    text: str
    data: bytes = b""
    stream: Stream | None = None


@attrs.frozen
class WireFailed:
    """A wire ended because its framing broke or it was aborted. `wire` is the one that failed."""

    wire: object
    reason: str
    stream: Stream | None = None


@attrs.frozen
class NotificationReceived:
    """A notification that no layer owns."""

    method: str
    params: Mapping[str, Any]
    stream: Stream | None = None


@attrs.frozen
class RequestReceived:
    """A request that no layer owns; answer it with `respond` or `refuse`."""

    request: IncomingRequest
    params: Mapping[str, Any]


@attrs.frozen
class RequestCancelled:
    """The peer gave up on a request; its handler should stop, and no answer is sent."""

    request: IncomingRequest
    reason: str | None


@attrs.frozen
class PingAnswered:
    """A ping of the peer was answered; nothing is left to do."""

    stream: Stream | None = None


@attrs.frozen
class ProgressReported:
    """Progress on a request of ours (patterns/progress)."""

    call: CallId
    progress: float
    total: float | None = None
    message: str | None = None
    op: Op | None = None


@attrs.frozen
class CallSucceeded:
    """A generic request of ours was answered; `result` is the decoded result object."""

    call: CallId
    result: Mapping[str, Any]


@attrs.frozen
class CallFailed:
    """A generic request of ours ended without a result."""

    call: CallId
    failure: Failure


@attrs.frozen
class LayerEvent:
    """The base of events that layers of other people's making emit."""


# --- client ----------------------------------------------------------------------------------------


@attrs.frozen
class Negotiated:
    """The era is known and the connection is usable; or what was known has been asked for again."""

    era: Era
    version: str
    capabilities: Mapping[str, Any]
    server_info: Implementation | None
    instructions: str | None

    @property
    def verdict(self) -> Verdict:
        """What to persist, for `ClientConfig.verdict` of a later run."""
        return Verdict(self.era, self.version)


@attrs.frozen
class NegotiationFailed:
    """No common ground with the server. `supported` lists its versions where it named any; `status` is that
    of an HTTP reply without a message, where that was the answer.
    """

    reason: str
    error: RpcError | None = None
    supported: tuple[str, ...] = ()
    status: int | None = None


@attrs.frozen
class Disconnected:
    """The carrier is gone. Requests in flight have ended as `Lost`; the caches are suspect."""

    reason: str


@attrs.frozen
class ChannelChanged:
    """Whether changes of `topic` ("promptsListChanged") are announced from now on."""

    topic: str
    live: bool
    reason: str


@attrs.frozen
class InputNeeded:
    """The server wants input before it goes on (patterns/mrtr): answer with `provide_input`."""

    call: CallId
    requests: Mapping[str, InputRequest]
    round: int
    op: Op | None = None


@attrs.frozen
class Invalidated:
    """The cached list of `key` is stale from now on; `epoch` is the new epoch."""

    key: str
    epoch: int
    reason: str


@attrs.frozen
class Updated:
    """A list was published. The three tuples say by name how it differs from the one before."""

    key: str
    epoch: int
    snapshot: Snapshot
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def unchanged(self) -> bool:
        """The content is the same as before; only its freshness moved."""
        return not (self.added or self.removed or self.changed)


@attrs.frozen
class Listed:
    """The answer to a list command. `fresh` is false for a snapshot that is known to be stale."""

    op: Op
    snapshot: Snapshot
    fresh: bool


@attrs.frozen
class PageListed:
    """The answer to a list command with a cursor of the caller's own; it never enters the cache."""

    op: Op
    items: tuple[Any, ...]
    next_cursor: str | None
    problems: tuple[str, ...]


@attrs.frozen
class PromptRendered:
    """The answer to a get command."""

    op: Op
    result: GetPromptResult


@attrs.frozen
class PromptGone:
    """A get failed and a list asked for afterwards no longer has the name."""

    op: Op
    name: str
    snapshot: Snapshot
    error: RpcError


@attrs.frozen
class ArgumentCompleted:
    """The answer to a complete command."""

    op: Op
    completion: Completion


@attrs.frozen
class OpFailed:
    """A command ended without its answer. `snapshot` is the last list, for a caller who can use it."""

    op: Op
    failure: Failure | WalkFailed
    snapshot: Snapshot | None = None


@attrs.frozen
class WalkFailed:
    """A listing did not come to its end. `reason` is a stable word; `partial` holds what had arrived.

    Reasons: "error" (see `failure`), "pages", "items", "bytes" (a configured limit), "no-progress" (the
    server kept sending cursors with pages that add nothing), "cursor" (refused twice).
    """

    reason: str
    failure: Failure | None
    partial: tuple[Any, ...] = ()


# --- server ----------------------------------------------------------------------------------------


@attrs.frozen
class SessionStarted:
    """A legacy client was answered its `initialize`."""

    stream: Stream
    version: str
    client_info: Implementation | None
    capabilities: Mapping[str, Any]


@attrs.frozen
class SubscriptionOpened:
    """A client listens; `topics` are those that the acknowledgement names."""

    stream: Stream
    id: RequestId
    topics: tuple[str, ...]


@attrs.frozen
class SubscriptionEnded:
    """A subscription is over, by whichever side."""

    stream: Stream
    id: RequestId
    reason: str


@attrs.frozen
class StreamEnded:
    """A stream's carrier is gone; requests in flight were reported as cancelled before."""

    stream: Stream
    reason: str


@attrs.frozen
class PromptRequested:
    """A prompt is to be rendered: `call` its function, then `PromptServer.answer` or `Server.fail`.

    `arguments` are the client's texts, `values` what the function is called with: the same, converted.
    `responses` and `state` are those of a multi round-trip: the client's answers to the input that
    was asked for, and the application's own state as it was returned then.
    """

    request: IncomingRequest
    entry: Entry
    arguments: Mapping[str, str]
    responses: Mapping[str, Any]
    state: Any = None
    values: Mapping[str, Any] = attrs.field(factory=dict[str, Any])

    @property
    def prompt(self) -> Prompt:
        """The catalogue's definition of the prompt."""
        return self.entry.prompt

    @property
    def blocks(self) -> bool:
        """Whether `call` may take its time, and belongs in a thread."""
        return self.entry.blocks()

    def call(self) -> Any:
        """Call the prompt's function; what it returns may be an awaitable, what it raises is its own.

        Raises `LocalProtocolError` if it has none.
        """
        return self.entry.call(self.values, self)


@attrs.frozen
class CompletionRequested:
    """An argument is to be completed: `call` the completer, then `PromptServer.complete` or `Server.fail`."""

    request: IncomingRequest
    entry: Entry
    argument: str
    value: str
    context: Mapping[str, str]
    completer: Callable[[str, Mapping[str, str]], Any]

    @property
    def prompt(self) -> Prompt:
        """The catalogue's definition of the prompt."""
        return self.entry.prompt

    @property
    def blocks(self) -> bool:
        """Whether `call` may take its time, and belongs in a thread."""
        return self.entry.blocks(self.argument)

    def call(self) -> Any:
        """Call the completer; what it returns may be an awaitable, what it raises is its own."""
        return self.completer(self.value, self.context)


@attrs.frozen
class HandlerFailed:
    """A request was answered with a neutral -32603; `reason` is what the client was not told."""

    request: IncomingRequest
    reason: str


Event = (
    Diagnostic
    | WireFailed
    | NotificationReceived
    | RequestReceived
    | RequestCancelled
    | PingAnswered
    | ProgressReported
    | CallSucceeded
    | CallFailed
    | LayerEvent
    | Negotiated
    | NegotiationFailed
    | Disconnected
    | ChannelChanged
    | InputNeeded
    | Invalidated
    | Updated
    | Listed
    | PageListed
    | PromptRendered
    | PromptGone
    | ArgumentCompleted
    | OpFailed
    | SessionStarted
    | SubscriptionOpened
    | SubscriptionEnded
    | StreamEnded
    | PromptRequested
    | CompletionRequested
    | HandlerFailed
)
"""Everything that `next_event()` returns."""
