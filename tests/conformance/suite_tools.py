"""The tools that the official conformance suite asks a server for, as a layer of somebody else's.

The suite looks at much of the protocol through tools: input that a server needs, what it may ask of whom,
log messages, announced changes. Here they are functions in a table, over the public names of the library.
A function gets the `ToolCall` and returns a result, text, a request for input, or an error.

What a tool remembers between two rounds travels through the client. It is sealed, and bound to the tool;
a state that comes back damaged is refused before the tool hears of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import attrs
from suite_prompts import form

from mcp_sansio import (
    INVALID_PARAMS,
    MODERN_VERSIONS,
    Era,
    IncomingRequest,
    InputRequest,
    InputRequired,
    Keys,
    LocalProtocolError,
    RpcError,
    Server,
    ServerLayer,
    seal,
    unseal,
)

TOPIC, CHANGED = "toolsListChanged", "notifications/tools/list_changed"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
COMING_AND_GOING = "test_dynamic_tool"


@attrs.frozen
class ToolCall:
    """A call as a tool sees it: `responses` and `state` are what a later round brings back."""

    server: Server
    request: IncomingRequest
    responses: Mapping[str, Mapping[str, Any]]
    state: Any
    now: float


@attrs.frozen
class Ask:
    """A tool needs input first; `state` is a JSON value that comes back with it, None for none."""

    requests: Mapping[str, InputRequest]
    state: Any = None


Answer: TypeAlias = str | Ask
Tool: TypeAlias = Callable[[ToolCall], Answer]


class ToolServer(ServerLayer):
    """Lists the tools and calls them. `change_prompts` is what one of them changes besides the tools."""

    methods = ("tools/list", "tools/call")
    topics = MappingProxyType({TOPIC: CHANGED})

    def __init__(self, keys: Keys, change_prompts: Callable[[], None]) -> None:
        self.tools = dict(TOOLS)
        self._keys = keys
        self.tools["test_trigger_tool_change"] = self._change_tools
        self.tools["test_trigger_prompt_change"] = lambda _call: _changed(change_prompts)

    def capabilities(self, version: str) -> Mapping[str, Any]:
        """Tools and changes of them; log messages only where each request says whether it wants them."""
        logging: dict[str, Any] = {"logging": {}} if version in MODERN_VERSIONS else {}
        return {"tools": {"listChanged": True}, **logging}

    def requested(self, request: IncomingRequest, params: dict[str, Any], now: float) -> None:
        """A list or a call."""
        if request.method == "tools/list":
            self._list(request, now)
            return
        try:
            tool = self.tools[_named(params, self.tools)]
            call = ToolCall(self.server, request, _responses(params), self._state(params), now)
        except _Refused as refused:
            self.server.refuse(request, RpcError(INVALID_PARAMS, str(refused)), now)
        else:
            self._answer(call, params["name"], tool(call))

    def _list(self, request: IncomingRequest, now: float) -> None:
        result: dict[str, Any] = {
            "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]
        }
        if request.era is Era.MODERN:
            result |= {"ttlMs": 60_000, "cacheScope": "public"}
        self.server.catch_up(request, TOPIC)
        self.server.respond(request, result, now)

    def _answer(self, call: ToolCall, name: str, answer: Answer) -> None:
        if isinstance(answer, str):
            content = [{"type": "text", "text": answer}]
            self.server.respond(call.request, {"content": content}, call.now)
            return
        state = None
        if answer.state is not None:
            state = seal(self._keys, "tool", (name,), json.dumps(answer.state).encode())
        try:
            self.server.ask(call.request, InputRequired(answer.requests, state), call.now)
        except LocalProtocolError as error:
            self.server.fail(call.request, str(error), call.now)

    def _state(self, params: Mapping[str, Any]) -> Any:
        token = params.get("requestState")
        if token is None:
            return None
        payload = unseal(self._keys, "tool", (params["name"],), token) if isinstance(token, str) else None
        if payload is None:
            raise _Refused("requestState: not valid for this request")
        return json.loads(payload)

    def _change_tools(self, call: ToolCall) -> Answer:
        if self.tools.pop(COMING_AND_GOING, None) is None:
            self.tools[COMING_AND_GOING] = _simple
        self.server.changed(TOPIC, call.now)
        return "The list of tools has changed."


class _Refused(Exception):
    """Leaves a request that has the wrong shape."""


def _named(params: Mapping[str, Any], tools: Mapping[str, Tool]) -> str:
    name = params.get("name")
    if not isinstance(name, str) or name not in tools:
        raise _Refused("name: unknown tool")
    return name


def _responses(params: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    found = params.get("inputResponses")
    if not isinstance(found, dict | None):
        raise _Refused("inputResponses: must be an object")
    responses = cast("dict[str, Any]", found or {})
    for key, response in responses.items():
        if not isinstance(response, dict):
            raise _Refused(f"inputResponses.{key}: must be an object")
    return responses


# --- the tools --------------------------------------------------------------------------------------------

NAME = form("What is your name?", name="string")
QUESTION = InputRequest(
    "sampling/createMessage",
    {
        "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}],
        "maxTokens": 100,
    },
)
ROOTS = InputRequest("roots/list")
STEPS = (
    form("Step 1: What is your name?", name="string"),
    form("Step 2: What is your favorite color?", color="string"),
)


def _simple(_call: ToolCall) -> Answer:
    return "This is a simple text response for testing."


def _changed(change: Callable[[], None]) -> Answer:
    change()
    return "The list has changed."


def _logging(call: ToolCall) -> Answer:
    """Says something meanwhile to a client that has asked for that, and to no other."""
    if LOG_LEVEL in call.request.meta:
        params = {"level": call.request.meta[LOG_LEVEL], "data": "at work"}
        call.server.notify(call.request, "notifications/message", params, call.now)
    return "Done."


def _asking(requests: Mapping[str, InputRequest], state: Any = None) -> Tool:
    """A tool that asks for the same until it has all of it, its state included."""

    def tool(call: ToolCall) -> Answer:
        if call.state != state or not requests.keys() <= call.responses.keys():
            return Ask(requests, state)
        return f"state-ok: {json.dumps({key: call.responses[key] for key in requests})}"

    return tool


def _multi_round(call: ToolCall) -> Answer:
    """Asks for one thing after the other; the state holds the answers that there are already."""
    answers: list[Any] = call.state or []
    answer = call.responses.get(f"step{len(answers) + 1}")
    if call.state is not None and answer is not None:
        answers.append(answer.get("content"))
    if len(answers) == len(STEPS):
        return f"The answers are {json.dumps(answers)}."
    return Ask({f"step{len(answers) + 1}": STEPS[len(answers)]}, answers)


def _capabilities(call: ToolCall) -> Answer:
    """Asks for what this client can do."""
    wanted = {"sampling": QUESTION, "elicitation": NAME, "roots": ROOTS}
    can = {key: request for key, request in wanted.items() if key in call.request.client_capabilities}
    if can.keys() <= call.responses.keys():
        return f"There were answers to {len(can)} requests."
    return Ask(can)


TOOLS: Mapping[str, Tool] = {
    "test_simple_text": _simple,
    "test_logging_tool": _logging,
    "test_missing_capability": _asking({"question": QUESTION}),
    "test_streaming_elicitation": _asking({"user_name": NAME}),
    "test_input_required_result_elicitation": _asking({"user_name": NAME}),
    "test_input_required_result_sampling": _asking({"capital_question": QUESTION}),
    "test_input_required_result_list_roots": _asking({"client_roots": ROOTS}),
    "test_input_required_result_request_state": _asking(
        {"confirm": form("Please confirm", ok="boolean")}, "confirming"
    ),
    "test_input_required_result_tampered_state": _asking(
        {"confirm": form("Please confirm", ok="boolean")}, "confirming"
    ),
    "test_input_required_result_multiple_inputs": _asking(
        {"user_name": NAME, "greeting": QUESTION, "client_roots": ROOTS}, "asking"
    ),
    "test_input_required_result_multi_round": _multi_round,
    "test_input_required_result_capabilities": _capabilities,
}
"""What the suite calls, and `test_simple_text` first, since it also calls whatever is listed first."""
