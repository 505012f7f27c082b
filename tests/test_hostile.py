"""Peers that speak the protocol's words in any order: nothing that they say raises, and nothing is lost.

Messages are put together from the protocol's own names, methods, ids and results, so that they get past the
parser and deep into the machines; between them the wire is read or not, time passes, and connections end.
Whatever comes, a server serves the next honest client, and each command of a client ends exactly once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st
from pair import CLIENT, KEYS, SERVER, catalogue
from script import Script

from mcp_sansio import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    ArgumentCompleted,
    CallFailed,
    CallSucceeded,
    Client,
    ClientConfig,
    Event,
    InputNeeded,
    Listed,
    OpFailed,
    PageListed,
    PromptClient,
    PromptGone,
    PromptRendered,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)

PROMPTS = {"prompts": {"listChanged": True}, "completions": {}}
DISCOVERED = {"resultType": "complete", "supportedVersions": [*MODERN_VERSIONS], "capabilities": PROMPTS}
WELCOME = {"protocolVersion": LEGACY_VERSIONS[-1], "capabilities": PROMPTS}
LISTEN = {"promptsListChanged": True}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSIONS[0],
    "io.modelcontextprotocol/clientCapabilities": {},
}

NAMES = [
    *(
        "_meta",
        "requestId",
        "progressToken",
        "progress",
        "total",
        "message",
        "notifications",
        "cursor",
        "name",
    ),
    *(
        "arguments",
        "protocolVersion",
        "capabilities",
        "clientInfo",
        "prompts",
        "promptsListChanged",
        "messages",
    ),
    *("resultType", "supportedVersions", "nextCursor", "ttlMs", "cacheScope", "completion", "values", "ref"),
    *(
        "inputRequests",
        "inputResponses",
        "requestState",
        "code",
        "data",
        "supported",
        "argument",
        "type",
        "id",
    ),
    *("jsonrpc", "method", "params", "result", "error", "role", "content", "listChanged", *META),
    SUBSCRIPTION,
]
METHODS = [
    *("initialize", "ping", "server/discover", "subscriptions/listen", "prompts/list", "prompts/get"),
    *("completion/complete", "x/echo", "notifications/initialized", "notifications/cancelled"),
    *("notifications/progress", "notifications/prompts/list_changed", "sampling/createMessage", ACKNOWLEDGED),
]
WORDS = ["", "a", "1", "p0001", "2.0", "complete", "input_required", "public", "user", "text", "ref/prompt"]
CODES = [-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -32002, 0]


@attrs.frozen
class Answer:
    """A reply to the last request: what is given, or one of those that a good server would send."""

    body: dict[str, Any] | int


ids = st.one_of(st.integers(0, 6), st.sampled_from(["1", "a", 1.0, 1.5, None, True, -1, 2**70]))
scalars = st.one_of(ids, st.sampled_from([*WORDS, *METHODS, *MODERN_VERSIONS, *LEGACY_VERSIONS]), st.floats())
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)
metas = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.just(value) for name, value in META.items()},
        SUBSCRIPTION: ids,
        "progressToken": ids,
    },
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "_meta": metas,
        "requestId": ids,
        "progressToken": ids,
        "progress": st.one_of(st.integers(0, 3), scalars),
        "notifications": st.dictionaries(st.just("promptsListChanged"), st.booleans()),
        "name": st.sampled_from(["p0001", "p9", 1]),
        "protocolVersion": st.sampled_from([*LEGACY_VERSIONS, 1]),
    },
)
PAGE = {"resultType": "complete", "prompts": [{"name": "p0001"}]}
ASK = {
    "resultType": "input_required",
    "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "?"}}},
}
PLAUSIBLE: dict[str, list[Any]] = {
    "server/discover": [DISCOVERED],
    "initialize": [WELCOME],
    "prompts/list": [PAGE, {**PAGE, "nextCursor": "c"}, {**PAGE, "ttlMs": 1000}],
    "prompts/get": [{"resultType": "complete", "messages": []}, ASK, {**ASK, "requestState": "s"}],
    "completion/complete": [{"resultType": "complete", "completion": {"values": ["a"]}}],
}
results = st.one_of(st.sampled_from([result for some in PLAUSIBLE.values() for result in some]), values)
errors = st.fixed_dictionaries(
    {"code": st.sampled_from(CODES), "message": st.just("no")}, optional={"data": values}
)
methods = st.sampled_from(METHODS)
numbers = st.integers(1, 8)
tagged = numbers.map(lambda number: {"_meta": {SUBSCRIPTION: number}})
pointed = st.one_of(
    st.tuples(st.just("notifications/cancelled"), numbers.map(lambda number: {"requestId": number})),
    st.tuples(st.just("notifications/progress"), numbers.map(lambda n: {"progressToken": n, "progress": n})),
    st.tuples(st.just(ACKNOWLEDGED), tagged.map(lambda tag: {**tag, "notifications": LISTEN})),
    st.tuples(st.just("notifications/prompts/list_changed"), tagged),
).map(lambda pair: {"method": pair[0], "params": pair[1]})
messages = st.one_of(
    st.fixed_dictionaries({"id": ids, "method": methods, "params": parameters}),
    st.fixed_dictionaries({"method": methods, "params": st.one_of(parameters, values)}),
    st.fixed_dictionaries({"id": ids, "result": results}),
    st.fixed_dictionaries({"id": ids, "error": st.one_of(errors, values)}),
    st.lists(st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ids, "method": methods}), max_size=3),
    values,
)
answers = st.one_of(
    st.integers(0, 2),
    st.fixed_dictionaries({"result": results}),
    st.fixed_dictionaries({"error": st.one_of(errors, values)}),
).map(Answer)
happenings = st.sampled_from(["read", "wait", "end", "cut"])
steps = st.lists(st.one_of(pointed, answers, happenings, messages, st.binary(max_size=8)), max_size=30)


def encoded(message: Any) -> bytes:
    if isinstance(message, dict):
        message = {"jsonrpc": "2.0", **message}
    return json.dumps(message).encode() + b"\n"


def answer(script: Script, how: Answer) -> None:
    """Reply to the last request that the machine has sent, if there was one."""
    asked = [message for message in script.log if {"id", "method"} <= set(message)]
    if not asked:
        return
    body = how.body
    if isinstance(body, int):
        good = PLAUSIBLE.get(asked[-1]["method"], [{"resultType": "complete"}])
        body = {"result": good[body % len(good)]}
    script.say(id=asked[-1]["id"], **body)


def play(script: Script, action: Any) -> list[Event]:
    """Let the peer do something; the events that come of it."""
    if action == "read":
        script.sent()
    elif action == "wait":
        script.wait(3.0)
    elif action == "end":
        script.wire.receive_eof(script.now)
    elif action == "cut":
        script.wire.abort(script.now)
    elif isinstance(action, Answer):
        answer(script, action)
    else:
        script.raw(action if isinstance(action, bytes) else encoded(action))
    return script.events()


@given(steps)
def test_a_server_survives_any_client(actions: list[Any]) -> None:
    prompts = PromptServer(catalogue(3), PromptServerConfig(keys=KEYS))
    script = Script(Server(ServerConfig(info=SERVER), prompts))
    for action in actions:
        for event in play(script, action):
            if isinstance(event, PromptRequested):
                prompts.answer(event, "rendered", script.now)
        if script.wire.closed:
            script.reconnect()
    script.reconnect()
    script.request("good", "prompts/list", {"_meta": META})
    (reply,) = script.sent()
    assert len(reply["result"]["prompts"]) == 3


COMMANDS = ["list", "refresh", "get", "complete", "page", "request", "cancel"]
ENDS = (Listed, PageListed, PromptRendered, PromptGone, ArgumentCompleted, OpFailed)


class Commander:
    """A client's application: gives commands, and counts how they end."""

    def __init__(self, known: str) -> None:
        """`known` says how far the server has been honest."""
        self.prompts = PromptClient()
        self.client = Client(ClientConfig(info=CLIENT, capabilities={"elicitation": {}}), self.prompts)
        self.script = Script(self.client)
        self.started: list[Any] = []
        self.ended: Counter[Any] = Counter()
        if known != "nothing":
            self.script.sent()
            self.script.reply(1, DISCOVERED) if known != "legacy" else self.script.error(1, -32601)
        if known == "legacy":
            self.script.sent()
            self.script.reply(2, WELCOME)
        if known == "listening":
            self.script.sent()
            self.script.notify(ACKNOWLEDGED, {"_meta": {SUBSCRIPTION: 2}, "notifications": LISTEN})

    def command(self, verb: str) -> None:
        """Give a command, while that is possible."""
        if self.client.done:
            return
        prompts, now = self.prompts, self.script.now
        verbs: dict[str, Callable[[], Any]] = {
            "list": lambda: prompts.list(now),
            "refresh": lambda: prompts.refresh(now),
            "get": lambda: prompts.get("p0001", None, now),
            "complete": lambda: prompts.complete("p0001", "a", "", now),
            "page": lambda: prompts.list(now, cursor="c"),
            "request": lambda: self.client.request("x/echo", None, now),
        }
        if verb in verbs:
            self.started.append(verbs[verb]())
        elif self.started:
            self.prompts.cancel(self.started[-1], now)

    def take(self, events: list[Event]) -> None:
        """Look at events; input that is asked for is given."""
        for event in events:
            if isinstance(event, ENDS):
                self.ended[event.op] += 1
            elif isinstance(event, CallSucceeded | CallFailed):
                self.ended[event.call] += 1
            elif isinstance(event, InputNeeded):
                self.client.provide_input(event.call, {key: {} for key in event.requests}, self.script.now)


phases = st.lists(st.tuples(st.sampled_from(COMMANDS), st.booleans(), steps), max_size=6)


@given(st.sampled_from(["nothing", "modern", "listening", "legacy"]), phases)
def test_a_client_survives_any_server_and_each_command_ends_once(
    known: str, phases: list[tuple[str, bool, list[Any]]]
) -> None:
    app = Commander(known)
    for verb, reading, actions in phases:
        app.command(verb)
        for action in actions:
            if reading:
                app.script.sent()
            app.take(play(app.script, action))
            if app.script.wire.closed and not app.client.done:
                app.script.reconnect()
    app.client.close(app.script.now)
    app.take(app.script.events())
    assert app.ended == Counter(app.started)
    app.script.wait(10_000.0)
    assert app.client.next_timeout() is None
    assert app.script.events() == []
