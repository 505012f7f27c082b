"""The official SDK's types as a second opinion on every message that a server sends, in every revision."""

from __future__ import annotations

from typing import Any

import mcp_types as sdk
import pytest
from mcp_types.methods import (
    parse_server_notification,
    parse_server_request,
    parse_server_result,
    serialize_server_result,
    validate_client_notification,
    validate_client_request,
)
from pydantic import TypeAdapter
from serving import CLIENT_INFO, EVERY, LEGACY, LIST_CHANGED, MODERN, TOPIC, Peer, envelope

from mcp_sansio import (
    AskInput,
    AudioContent,
    BlobResource,
    Catalogue,
    Completion,
    CompletionRequested,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    Icon,
    ImageContent,
    Implementation,
    InputRequest,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptRequested,
    ResourceLink,
    RpcError,
    TextContent,
    TextResource,
)

MESSAGE: TypeAdapter[Any] = TypeAdapter(sdk.JSONRPCMessage)
ICONS = (Icon("data:image/png;base64,ZA==", "image/png", ("48x48",), "light"),)
SERVER = Implementation("s", "1", "Title", "what it does", "https://example.org/", ICONS)
BLOCKS: dict[str, list[ContentBlock]] = {
    "2024-11-05": [
        TextContent("t"),
        ImageContent("ZA==", "image/png"),
        EmbeddedResource(TextResource("file:///a%20b", "x", "text/plain")),
        EmbeddedResource(BlobResource("file:///b", "ZA==")),
    ],
    "2025-03-26": [AudioContent("ZA==", "audio/wav")],
    "2025-06-18": [ResourceLink("file:///a", "a", "A", size=5, icons=ICONS, meta={"k": 1})],
}


def prompts() -> Catalogue:
    made = Catalogue()
    arguments = (PromptArgument("a", "A", "an argument", required=True), PromptArgument("b"))
    for name in ("full", "plain", "third"):
        made.add(Prompt(name, "Title", "text", arguments, ICONS, {"k": [1]}), completers={"a": ["x", "y"]})
    made.put(Prompt("plain"))
    return made


class Oracle(Peer):
    """A peer that has the official types read each message that it gets."""

    def __init__(self, version: str, **config: Any) -> None:
        self.methods: dict[Any, str] = {}
        self.checked: list[str] = []
        self.spoken = version
        super().__init__(prompts(), info=SERVER, instructions="be nice", **config)
        self.speak(version)

    def request(self, id: Any, method: str, params: Any = None) -> None:
        self.methods[id] = method
        super().request(id, method, params)

    def sent(self) -> list[dict[str, Any]]:
        messages = super().sent()
        for message in messages:
            self.check(message)
        return messages

    def check(self, message: dict[str, Any]) -> None:
        """What we sent is what they read, with nothing lost and nothing added."""
        # From 2025-11-25 on an error has no id where that could not be read; the official type wants a null.
        anonymous = {"id": None} if "error" in message and self.spoken >= "2025-11-25" else {}
        frame = MESSAGE.validate_python({**anonymous, **message}, by_name=False)
        if "result" in message:
            assert isinstance(frame, sdk.JSONRPCResponse)
            method = self.methods[message["id"]]
            parse_server_result(method, self.spoken, message["result"])
            assert serialize_server_result(method, self.spoken, message["result"]) == message["result"]
        elif "error" in message:
            assert isinstance(frame, sdk.JSONRPCError)
            method = f"error {message['error']['code']}"
        elif "id" in message:
            method = message["method"]
            parse_server_request(method, self.spoken, message.get("params"))
        else:
            method = message["method"]
            parse_server_notification(method, self.spoken, message.get("params"))
        self.checked.append(method)


INFO = {CLIENT_INFO: {"name": "c", "version": "1"}}


@pytest.fixture(params=EVERY)
def oracle(request: pytest.FixtureRequest) -> Oracle:
    return Oracle(request.param)


def use(oracle: Oracle, id: Any, method: str, params: dict[str, Any], **meta: Any) -> None:
    """A request, in the revision that is spoken."""
    if oracle.spoken == MODERN:
        oracle.say_modern(id, method, params, **INFO, **meta)
    else:
        oracle.request(id, method, {**params, **({"_meta": meta} if meta else {})})


def test_the_handshake(oracle: Oracle) -> None:
    if oracle.spoken == MODERN:
        use(oracle, 1, "server/discover", {})
        oracle.sent()
        assert oracle.checked == ["server/discover"]
    else:
        oracle.request(1, "ping")
        oracle.sent()
        assert oracle.checked == ["initialize", "ping"]


def test_lists(oracle: Oracle) -> None:
    use(oracle, 1, "prompts/list", {})
    (reply,) = oracle.sent()
    cursor = reply["result"]["nextCursor"]
    meta = {"_meta": envelope(**INFO)} if oracle.spoken == MODERN else {}
    validate_client_request("prompts/list", oracle.spoken, {"cursor": cursor, **meta})
    use(oracle, 2, "prompts/list", {"cursor": cursor})
    oracle.sent()
    assert oracle.checked[-2:] == ["prompts/list"] * 2


def test_rendered_prompts(oracle: Oracle) -> None:
    blocks = [block for since, those in BLOCKS.items() if since <= oracle.spoken for block in those]
    use(oracle, 1, "prompts/get", {"name": "full", "arguments": {"a": "1"}})
    (asked,) = oracle.of(PromptRequested)
    messages = tuple(PromptMessage("assistant", block) for block in blocks)
    oracle.prompts.answer(asked, GetPromptResult(messages, "text", {"k": 1}), 0.0)
    (reply,) = oracle.sent()
    assert len(reply["result"]["messages"]) == len(blocks)
    assert oracle.checked[-1] == "prompts/get"


@pytest.mark.parametrize("values", [["x"] * 3, ["x"] * 101, Completion(("x",), 7, has_more=True)])
def test_completions(oracle: Oracle, values: Any) -> None:
    oracle.catalogue.put(
        Prompt("own", arguments=(PromptArgument("a"),)), completers={"a": lambda _value, _context: []}
    )
    oracle.sent()
    params = {"ref": {"type": "ref/prompt", "name": "own"}, "argument": {"name": "a", "value": ""}}
    use(oracle, 1, "completion/complete", params)
    (asked,) = oracle.of(CompletionRequested)
    oracle.prompts.complete(asked, values, 0.0)
    oracle.sent()
    assert oracle.checked[-1] == "completion/complete"


def test_changes(oracle: Oracle) -> None:
    if oracle.spoken == MODERN:
        use(oracle, "l", "subscriptions/listen", {"notifications": {TOPIC: True}})
    oracle.edit("new")
    oracle.sent()
    assert oracle.checked[-1] == LIST_CHANGED


def test_progress(oracle: Oracle) -> None:
    use(oracle, 1, "prompts/get", {"name": "plain"}, progressToken="t")
    (asked,) = oracle.of(PromptRequested)
    oracle.server.progress(asked.request, 1, 0.0)
    oracle.server.progress(asked.request, 1.5, 0.0, total=2, message="soon")
    oracle.sent()
    assert oracle.checked[-2:] == ["notifications/progress"] * 2


def test_the_end_of_a_subscription() -> None:
    oracle = Oracle(MODERN)
    use(oracle, "l", "subscriptions/listen", {"notifications": {TOPIC: True}})
    oracle.server.end_subscription(oracle.stream, "l", 0.0)
    oracle.sent()
    assert oracle.checked == [
        "notifications/subscriptions/acknowledged",
        "subscriptions/listen",
        "notifications/cancelled",
    ]


def test_asking_for_input() -> None:
    oracle = Oracle(MODERN)
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    message = {"role": "user", "content": {"type": "text", "text": "t"}}
    requests = {
        "form": InputRequest(
            "elicitation/create", {"mode": "form", "message": "m", "requestedSchema": schema}
        ),
        "url": InputRequest("elicitation/create", {"mode": "url", "message": "m", "url": "https://e/"}),
        "sampling": InputRequest("sampling/createMessage", {"messages": [message], "maxTokens": 5}),
        "roots": InputRequest("roots/list"),
    }
    able: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
    for ask in (AskInput(requests, {"step": 1}), AskInput(state="again")):
        use(oracle, 1, "prompts/get", {"name": "plain"}, capabilities=able)
        (asked,) = oracle.of(PromptRequested)
        oracle.prompts.answer(asked, ask, 0.0)
        oracle.sent()
    assert oracle.checked == ["prompts/get"] * 2


def test_errors(oracle: Oracle) -> None:
    oracle.raw(b"{\n")
    oracle.raw(b"7\n")
    use(oracle, 1, "prompts/get", {"name": "ghost"})
    use(oracle, 2, "nonsense", {})
    assert [reply["error"]["code"] for reply in oracle.sent()] == [-32700, -32600, -32602, -32601]


def test_the_error_for_versions() -> None:
    oracle = Oracle(MODERN)
    use(oracle, 1, "server/discover", {}, version="2099-01-01")
    (reply,) = oracle.sent()
    data = sdk.UnsupportedProtocolVersionErrorData.model_validate(reply["error"]["data"])
    assert (data.supported, data.requested) == ([MODERN], "2099-01-01")


def test_the_error_for_missing_capabilities() -> None:
    oracle = Oracle(MODERN)
    use(oracle, 1, "prompts/get", {"name": "plain"})
    (asked,) = oracle.of(PromptRequested)
    oracle.prompts.answer(asked, AskInput({"r": InputRequest("roots/list")}), 0.0)
    (reply,) = oracle.sent()
    data = sdk.MissingRequiredClientCapabilityErrorData.model_validate(reply["error"]["data"])
    assert data.required_capabilities.roots is not None


def test_errors_of_the_application(oracle: Oracle) -> None:
    use(oracle, 1, "prompts/get", {"name": "plain"})
    (asked,) = oracle.of(PromptRequested)
    oracle.server.refuse(asked.request, RpcError(-31000, "no", [1]), 0.0)
    oracle.sent()
    assert oracle.checked[-1] == "error -31000"


@pytest.mark.parametrize("version", LEGACY)
def test_requests_to_a_legacy_client(version: str) -> None:
    oracle = Oracle(version, quiet_timeout=1)
    oracle.server.request(oracle.stream, "roots/list", None, 0.0)
    oracle.server.request(oracle.stream, "ping", None, 0.0, progress=True)
    oracle.sent()
    oracle.wait(2)
    oracle.sent()
    assert oracle.checked[1:] == ["roots/list", "ping"] + ["notifications/cancelled"] * 2
    validate_client_notification("notifications/initialized", version, None)
