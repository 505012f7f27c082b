"""Prompts for servers: a catalogue answered over the wire.

A layer over `Server`. Lists are answered at once, from prompts that were encoded when they were first
shown; rendering and completing are the application's, by events. Cursors are positions in key space,
sealed and bound to the catalogue and the caller, so every node that shares the keys can continue any walk
and nothing that survives is skipped or repeated, whatever changes between two pages. One predicate over
the caller decides what may be listed, got and completed; as soon as there is one, pages are private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar, cast

import attrs

from ._catalogue import Catalogue, CatalogueSnapshot
from ._checks import from_
from ._content import AskInput, Rendered, as_result
from ._entry import Entry
from ._errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    LocalProtocolError,
    RpcError,
)
from ._events import CompletionRequested, IncomingRequest, PromptRequested
from ._json import encode
from ._layers import ServerLayer
from ._plain import is_object, member, shown, text
from ._request_state import Origin, StateSeal
from ._sealing import Keys, seal, unseal
from ._signature import Unconvertible
from ._structure import SNAPSHOT_DIGEST, unstructure_typed
from ._types import LIST_CHANGED, TOPIC, Completion, InputRequired, Prompt
from ._versions import Era, supports, wire_shape

P = ParamSpec("P")
T = TypeVar("T")

MAX_VALUES = 100


def _unlimited(_request: IncomingRequest, _now: float) -> bool:
    return True


@attrs.frozen(kw_only=True)
class PromptServerConfig:
    """How prompts are served. Times are seconds.

    `keys` seal cursors and request states: give every node, and every later run, the same. `label` names
    the catalogue in them. Pages show `page_size` prompts, and so many as `kept_pages` stay encoded. `ttl`
    is the freshness that lists promise. `list_changed` and `completions` are what is declared.
    `unix_offset` is what has to be added to `now` for Unix time, which the expiry of a request state (after
    `state_ttl`) is in. `allow_completion` limits the rate: false refuses. Raises `LocalProtocolError` for
    numbers out of range.
    """

    keys: Keys
    label: str = "prompts"
    page_size: int = attrs.field(default=100, validator=from_(1))
    kept_pages: int = attrs.field(default=4096, validator=from_(1))
    ttl: float = attrs.field(default=60.0, validator=from_(0))
    list_changed: bool = True
    completions: bool = True
    state_ttl: float = attrs.field(default=600.0, validator=from_(0))
    unix_offset: float = 0.0
    allow_completion: Callable[[IncomingRequest, float], bool] = _unlimited


class PromptServer(ServerLayer):
    """The prompts of one catalogue.

    Set `on_change` to hear of every change of the list, on the thread that made it: an adapter turns
    that into `Server.changed(topic, now)`. Set `failure` to why the catalogue could not be loaded: as long
    as there is one, every request ends as a neutral -32603 and a `HandlerFailed` event, for a list that
    nobody could read is not an empty one.
    """

    methods: tuple[str, ...] = ("prompts/list", "prompts/get", "completion/complete")
    topics: Mapping[str, str] = MappingProxyType({TOPIC: LIST_CHANGED})

    def __init__(self, catalogue: Catalogue, config: PromptServerConfig) -> None:
        self.catalogue = catalogue
        self.config = config
        self.on_change: Callable[[str], None] | None = None
        self.failure: str | None = None
        self._handlers = {
            "prompts/list": self._list,
            "prompts/get": self._get,
            "completion/complete": self._complete,
        }
        self._states = StateSeal(config.keys, config.label, config.state_ttl, config.unix_offset)
        self._pages: dict[tuple[str, str | None], tuple[bytes, str | None]] = {}
        self._pages_of: CatalogueSnapshot | None = None
        self._cursors: dict[tuple[str | None, str], str] = {}  # by who asks, and the name that they stand for
        self._issued: dict[tuple[str | None, str], str] = {}  # the other way round
        catalogue.watch(self._changed)

    # --- layer ---

    def capabilities(self, version: str) -> Mapping[str, Any]:
        """Servers that support prompts "MUST declare the `prompts` capability"."""
        declared: dict[str, Any] = {"prompts": {"listChanged": True} if self.config.list_changed else {}}
        if self.config.completions and supports(version, "completions_capability"):
            declared["completions"] = {}
        return declared

    def announced(self, version: str) -> tuple[str, ...]:
        """Changes are announced where that is declared."""
        return tuple(self.topics) if self.config.list_changed else ()

    def requested(self, request: IncomingRequest, params: dict[str, Any], now: float) -> None:
        """A prompts request."""
        if self.failure is not None:
            self.server.fail(request, self.failure, now)
            return
        try:
            self._handlers[request.method](request, params, now)
        except _Refused as refused:
            self.server.refuse(request, refused.error, now)
        except _HookFailed as failed:
            self.server.fail(request, str(failed), now)

    # --- verbs ---

    def answer(self, asked: PromptRequested, rendered: Rendered, now: float) -> None:
        """Answer a `PromptRequested` with what the prompt's function returned.

        Text, a message, a content block, several of those, a whole `GetPromptResult`, or an `AskInput`. What
        is none of these, or has no form in the client's revision, becomes a neutral -32603 and a
        `HandlerFailed` event. Raises `LocalProtocolError` if the request is not open any more.
        """
        if isinstance(rendered, AskInput):
            self._ask(asked, rendered, now)
            return
        request = asked.request
        try:
            plain = unstructure_typed(as_result(rendered), request.version)
            encoded = self.server.encode_result(request.version, plain)
        except LocalProtocolError as error:
            self.server.fail(request, str(error), now)
            return
        self.server.answer(request, encoded, now)

    def complete(self, asked: CompletionRequested, values: Sequence[str] | Completion, now: float) -> None:
        """Answer a `CompletionRequested`; more than 100 values are cut, and `hasMore` says so."""
        self._propose(asked.request, values, now)

    # --- list ---

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change(TOPIC)

    def _list(self, request: IncomingRequest, params: Mapping[str, Any], now: float) -> None:
        cursor = params.get("cursor")
        result, last = self._page(request, None if cursor is None else self._position(request, cursor))
        end = b"}" if last is None else b',"nextCursor":%b}' % encode(self._cursor(request, last))
        self.server.catch_up(request, TOPIC)
        self.server.answer(request, result, now, end=end)

    def _binding(self, request: IncomingRequest) -> tuple[str, ...]:
        who = () if request.principal is None else (request.principal,)
        return (self.config.label, "prompts/list", *who)

    def _position(self, request: IncomingRequest, cursor: object) -> str:
        """The name that the page starts after: "invalid cursors SHOULD result in" -32602."""
        name = None
        if isinstance(cursor, str):
            issued = self._issued.get((request.principal, cursor))
            if issued is not None:
                return issued
            name = unseal(self.config.keys, "cursor", self._binding(request), cursor)
        if name is None:
            raise _Refused(INVALID_PARAMS, "cursor: not issued here")
        return name.decode()

    def _cursor(self, request: IncomingRequest, last: str) -> str:
        """The cursor of the page after `last`. Those that were issued are known again while there is room."""
        key = (request.principal, last)
        if key not in self._cursors:
            if len(self._cursors) >= self.config.kept_pages:
                self._cursors.clear()
                self._issued.clear()
            cursor = seal(self.config.keys, "cursor", self._binding(request), last.encode())
            self._cursors[key] = cursor
            self._issued[request.principal, cursor] = last
        return self._cursors[key]

    def _page(self, request: IncomingRequest, start: str | None) -> tuple[bytes, str | None]:
        """The result for a page, but for its end, and the name that the next one starts after."""
        snapshot = self.catalogue.snapshot
        if self._private(snapshot):
            return self._encode_page(snapshot, request.version, start, request.principal)
        if self._pages_of is not snapshot:
            self._pages, self._pages_of = {}, snapshot
        key = (request.version, start)
        if key not in self._pages:
            # Cursors of old snapshots can start a page anywhere.
            if len(self._pages) >= self.config.kept_pages:
                self._pages.clear()
            self._pages[key] = self._encode_page(snapshot, request.version, start, None)
        return self._pages[key]

    def _encode_page(
        self, snapshot: CatalogueSnapshot, version: str, start: str | None, principal: str | None
    ) -> tuple[bytes, str | None]:
        allowed, shape = self._allowed(snapshot, principal), wire_shape(version)
        entries, more = snapshot.page_after(start, self.config.page_size, allowed)
        prompts = b",".join([entry.encoded(shape) for entry in entries])
        rest = self.server.encode_result(version, self._hints(snapshot, version))[1:-1]
        result = b'{"prompts":[%b]%b' % (prompts, b"," + rest if rest else b"")
        return result, entries[-1].prompt.name if more else None

    def _hints(self, snapshot: CatalogueSnapshot, version: str) -> dict[str, Any]:
        """What a page says beside its prompts."""
        private = self._private(snapshot)
        hints: dict[str, Any] = {} if private else {"_meta": {SNAPSHOT_DIGEST: snapshot.digest}}
        if supports(version, "cache_hints"):
            hints["ttlMs"] = int(self.config.ttl * 1000)
            hints["cacheScope"] = "private" if private else "public"
        return hints

    def _private(self, snapshot: CatalogueSnapshot) -> bool:
        """Whether pages may differ from one principal to the next, and are nobody else's to keep."""
        return snapshot.restricted or self.catalogue.visible is not None

    def _allowed(self, snapshot: CatalogueSnapshot, principal: str | None) -> Callable[[Prompt], bool] | None:
        """What decides whether the caller may know of a prompt; None where everybody may."""
        if not self._private(snapshot):
            return None
        for_all = self.catalogue.visible

        def allowed(prompt: Prompt) -> bool:
            own = snapshot.entries[prompt.name].visible
            return (own is None or bool(_call(own, principal))) and (
                for_all is None or bool(_call(for_all, principal, prompt))
            )

        return allowed

    # --- get ---

    def _entry(self, request: IncomingRequest, name: object, field: str) -> Entry:
        """A prompt that the caller may not see is indistinguishable from an unknown one."""
        if not isinstance(name, str):
            raise _Refused(INVALID_PARAMS, f"{field}: must be a string")
        snapshot = self.catalogue.snapshot
        entry = snapshot.entries.get(name)
        allowed = self._allowed(snapshot, request.principal)
        if entry is None or (allowed is not None and not allowed(entry.prompt)):
            raise _Refused(INVALID_PARAMS, f"{field}: unknown prompt {shown(name)}")
        return entry

    def _get(self, request: IncomingRequest, params: Mapping[str, Any], now: float) -> None:
        entry = self._entry(request, params.get("name"), "name")
        arguments = _strings("arguments", params.get("arguments"))
        missing = [a.name for a in entry.prompt.arguments if a.required and a.name not in arguments]
        if missing:
            raise _Refused(INVALID_PARAMS, f"arguments: missing required {', '.join(missing)}")
        try:
            values = entry.how.values(arguments)
        except Unconvertible as error:
            raise _Refused(INVALID_PARAMS, str(error)) from None
        responses, state = self._resumed(request, entry.prompt.name, arguments, params, now)
        self.server.emit(PromptRequested(request, entry, arguments, responses, state, values))

    def _resumed(
        self,
        request: IncomingRequest,
        name: str,
        arguments: Mapping[str, str],
        params: Mapping[str, Any],
        now: float,
    ) -> tuple[Mapping[str, Any], Any]:
        """What a retry brings back: "servers MUST treat requestState as an attacker-controlled input"."""
        if request.era is Era.LEGACY:
            return {}, None
        responses, token = _responses(params.get("inputResponses")), params.get("requestState")
        if token is None:
            return responses, None
        opened = self._states.open(_origin(request, name, arguments), token, now)
        if opened is None:
            raise _Refused(INVALID_PARAMS, "requestState: not valid for this request")
        return responses, opened[0]

    def _ask(self, asked: PromptRequested, ask: AskInput, now: float) -> None:
        """Ask for input, if this client can be asked."""
        try:
            state = self._states.seal(
                _origin(asked.request, asked.prompt.name, asked.arguments), ask.state, now
            )
            self.server.ask(asked.request, InputRequired(ask.requests, state), now)
        except LocalProtocolError as error:
            self.server.fail(asked.request, str(error), now)

    # --- complete ---

    def _complete(self, request: IncomingRequest, params: Mapping[str, Any], now: float) -> None:
        if not self.config.completions:
            raise _Refused(METHOD_NOT_FOUND, "completions are not supported")
        if not _call(self.config.allow_completion, request, now):
            raise _Refused(INTERNAL_ERROR, "too many completion requests")
        ref, argument = params.get("ref"), params.get("argument")
        context = params.get("context") if supports(request.version, "completion_context") else None
        if member(ref, "type") != "ref/prompt":
            raise _Refused(INVALID_PARAMS, "ref: must be a ref/prompt")
        entry = self._entry(request, member(ref, "name"), "ref.name")
        name, value = text(member(argument, "name")), text(member(argument, "value"))
        if name is None or value is None:
            raise _Refused(INVALID_PARAMS, "argument: must be an object with the strings name and value")
        if name not in [declared.name for declared in entry.prompt.arguments]:
            raise _Refused(INVALID_PARAMS, f"argument.name: the prompt has no argument {shown(name)}")
        if context is not None and not is_object(context):
            raise _Refused(INVALID_PARAMS, "context: must be an object")
        known = _strings("context.arguments", member(context, "arguments"))
        completer = entry.completers.get(name, ())
        if callable(completer):
            self.server.emit(CompletionRequested(request, entry, name, value, known, completer))
        else:
            self._propose(request, _call(_matching, completer, value), now)

    def _propose(self, request: IncomingRequest, values: object, now: float) -> None:
        try:
            plain = unstructure_typed(_completion(values), request.version)
            encoded = self.server.encode_result(request.version, {"completion": plain})
        except LocalProtocolError as error:
            self.server.fail(request, str(error), now)
            return
        self.server.answer(request, encoded, now)


class _Refused(Exception):
    """Leaves a handler with the error that the client gets."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = RpcError(code, message)


class _HookFailed(Exception):
    """Leaves a handler when a function of the application's has raised."""


def _call(hook: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call what the configuration brought along: its failure is one request's, never that of all peers."""
    try:
        return hook(*args, **kwargs)
    except Exception as error:
        raise _HookFailed(f"{type(error).__name__}: {error}") from error


def _matching(values: Sequence[str], start: str) -> list[str]:
    return [value for value in values if value.startswith(start)]


def _origin(request: IncomingRequest, name: str, arguments: Mapping[str, str]) -> Origin:
    return Origin(request.principal, request.method, name, arguments)


def _responses(value: object) -> dict[str, Any]:
    """Servers "SHOULD validate that the data provided by the client is a valid InputResponses object"."""
    if value is None:
        return {}
    if not is_object(value):
        raise _Refused(INVALID_PARAMS, "inputResponses: must be an object")
    for key, response in value.items():
        if not is_object(response):
            raise _Refused(INVALID_PARAMS, f"inputResponses.{key}: must be an object")
    return value


def _strings(field: str, value: object) -> dict[str, str]:
    """Arguments are strings, "arguments?: { [key: string]: string }"; nothing else is made into text."""
    if value is None:
        return {}
    if not is_object(value):
        raise _Refused(INVALID_PARAMS, f"{field}: must be an object")
    for name, argument in value.items():
        if not isinstance(argument, str):
            raise _Refused(INVALID_PARAMS, f"{field}.{name}: must be a string")
    return value


def _completion(values: object) -> Completion:
    """Completion values: "Maximum 100 items per response"."""
    found: object = values.values if isinstance(values, Completion) else values
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise LocalProtocolError(f"a completer returned {type(found).__name__}, not a sequence")
    every = tuple(cast("Sequence[str]", found))
    some, cut = every[:MAX_VALUES], len(every) > MAX_VALUES
    if isinstance(values, Completion):
        return attrs.evolve(values, values=some, has_more=cut or values.has_more)
    return Completion(some, len(every), cut)
