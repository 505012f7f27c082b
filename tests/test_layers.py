"""The escape hatch: what prompts have, anybody's layer has, and so has a request of no layer at all."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tools_layer
from pair import CLIENT, KEYS, SERVER, World
from script import Script
from tools_layer import TOPIC, Tool, ToolCalled, ToolClient, ToolResult, ToolServer

import mcp_sansio
from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    CallFailed,
    CallSucceeded,
    Cancelled,
    Client,
    ClientConfig,
    ClientLayer,
    InputNeeded,
    InputRequest,
    InputRequired,
    InvalidReply,
    Limits,
    Listed,
    LocalProtocolError,
    Lost,
    NotificationReceived,
    NotSupported,
    OpFailed,
    ProgressReported,
    RequestCancelled,
    RequestReceived,
    RpcError,
    Server,
    ServerConfig,
    ServerLayer,
    SessionStarted,
    SubscriptionOpened,
    TextContent,
    TimedOut,
    Updated,
)

EMPTY = {"type": "object"}
ASKING: dict[str, Any] = {"elicitation": {}}
NEWEST = (LEGACY_VERSIONS[-1], *MODERN_VERSIONS)
HELLO = ToolResult((TextContent("hello"),))

in_every_version = pytest.mark.parametrize("version", ALL_VERSIONS)
in_both_eras = pytest.mark.parametrize("version", NEWEST)


class Listener(ClientLayer):
    """A client layer that claims topics."""

    def __init__(self, **topics: str) -> None:
        self.announcements = {method: topic for topic, method in topics.items()}


class Announcer(ServerLayer):
    """A server layer that claims methods and topics."""

    def __init__(self, *methods: str, **topics: str) -> None:
        self.methods, self.topics = methods, topics


def server(*layers: ServerLayer) -> Server:
    return Server(ServerConfig(info=SERVER, methods=("x/application",)), *layers)


class ToolWorld(World):
    """A world whose ends have tools besides prompts."""

    def __init__(self, version: str, **world: Any) -> None:
        self.tools = ToolClient()
        self.tool_server = ToolServer({f"t{n}": Tool(f"t{n}", EMPTY) for n in range(5)}, KEYS)
        super().__init__(
            client=ClientConfig(
                info=CLIENT, capabilities=ASKING, versions=(version,), answers=("roots/list",)
            ),
            server=ServerConfig(info=SERVER, methods=("x/echo",)),
            client_layers=(self.tools,),
            server_layers=(self.tool_server,),
            **world,
        )

    def edit(self, *names: str) -> None:
        """Replace the tools."""
        self.tool_server.tools = {name: Tool(name, EMPTY) for name in names}
        self.server.changed(TOPIC, self.now)
        self.settle()

    def called(self) -> RequestReceived:
        """The last call that the server's application was handed."""
        self.run(until=lambda: bool(self.all(RequestReceived, server=True)))
        return self.all(RequestReceived, server=True)[-1]


def names(listed: Listed | Updated) -> list[str]:
    return [tool.name for tool in listed.snapshot]


# --- a list like that of prompts ----------------------------------------------------------------------


@in_every_version
def test_tools_are_listed_page_by_page(version: str) -> None:
    world = ToolWorld(version)
    op = world.tools.list(world.now)
    listed = world.outcome(op)
    assert names(listed) == ["t0", "t1", "t2", "t3", "t4"]
    assert listed.fresh
    assert listed.snapshot.verified
    assert len(world.requests("tools/list")) == 3
    assert world.outcome(world.tools.list(world.now)).snapshot is listed.snapshot
    assert len(world.requests("tools/list")) == 3


@in_every_version
def test_changes_of_tools_are_followed_and_prompts_left_alone(version: str) -> None:
    world = ToolWorld(version)
    world.outcome(world.tools.list(world.now))
    world.outcome(world.prompts.list(world.now))
    asked = len(world.requests("prompts/list"))
    world.edit("t1", "t9")
    update = world.all(Updated)[-1]
    assert (update.key, update.added, names(update)) == ("tools", ("t9",), ["t1", "t9"])
    assert update.removed == ("t0", "t2", "t3", "t4")
    assert len(world.requests("prompts/list")) == asked


def test_one_listen_stream_serves_all_layers() -> None:
    world = ToolWorld(MODERN_VERSIONS[0])
    (listen,) = world.requests("subscriptions/listen")
    assert listen["params"]["notifications"] == {"promptsListChanged": True, "toolsListChanged": True}
    world.tool_server.tools.clear()
    world.outcome(world.tools.list(world.now))
    world.run(1.0)
    world.edit("t1")
    (changed,) = world.notifications("notifications/tools/list_changed")
    assert changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == listen["id"]


@in_both_eras
def test_a_storm_of_changes_takes_few_walks(version: str) -> None:
    world = ToolWorld(version, latency=0.01)
    world.outcome(world.tools.list(world.now))
    before = len(world.requests("tools/list"))
    for number in range(200):
        world.at(world.now + number * 0.005, partial(world.edit, f"t{number}"))
    world.run(5.0)
    assert names(world.all(Updated)[-1]) == ["t199"]
    assert len(world.requests("tools/list")) - before <= 10


@in_both_eras
def test_a_lost_connection_makes_the_tools_suspect(version: str) -> None:
    world = ToolWorld(version)
    world.outcome(world.tools.list(world.now))
    world.disconnect()
    world.tool_server.tools = {"t7": Tool("t7", EMPTY)}
    world.connect()
    assert names(world.outcome(world.tools.list(world.now))) == ["t7"]


def test_a_server_without_tools_is_not_asked_for_them() -> None:
    tools = ToolClient()
    world = World(client_layers=(tools,))
    failed = world.outcome(tools.list(world.now))
    assert failed.failure == NotSupported("tools")
    assert world.requests("tools/list") == []


def test_one_malformed_tool_costs_that_tool() -> None:
    tools = ToolClient()
    script = Script(mcp_sansio.Client(ClientConfig(info=CLIENT, versions=LEGACY_VERSIONS), tools))
    script.sent()
    script.reply(1, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})
    tools.list(0.0)
    script.sent()
    script.reply(2, {"tools": [{"name": "good", "inputSchema": {}}, {"name": 7, "inputSchema": {}}]})
    (listed,) = script.of(Listed)
    assert names(listed) == ["good"]
    assert "tools[1]" in listed.snapshot.problems[0]


def test_a_foreign_cursor_is_refused() -> None:
    world = ToolWorld(MODERN_VERSIONS[0])
    call = world.client.request("tools/list", {"cursor": "made up"}, world.now)
    world.settle()
    (failed,) = world.all(CallFailed)
    assert failed == CallFailed(call, RpcError(-32602, "Unknown cursor"))


def test_time_does_not_go_back_for_a_layer_either() -> None:
    world = ToolWorld(MODERN_VERSIONS[0])
    listed = world.outcome(world.tools.list(world.now))
    world.client.handle_timeout(listed.snapshot.expires)
    asked = len(world.requests("tools/list"))
    world.tools.list(0.0)
    world.settle()
    assert len(world.requests("tools/list")) > asked, "at 0.0 it would still have been fresh"


def test_a_closed_client_takes_no_command_of_a_layer() -> None:
    world = ToolWorld(MODERN_VERSIONS[0])
    world.client.close(world.now)
    with pytest.raises(LocalProtocolError):
        world.tools.list(world.now)
    with pytest.raises(LocalProtocolError):
        world.tools.call("t1", {}, world.now)


# --- calls --------------------------------------------------------------------------------------------


@in_every_version
def test_a_call_reports_progress_and_is_answered(version: str) -> None:
    world = ToolWorld(version)
    op = world.tools.call("t1", {"x": [1, None]}, world.now)
    asked = world.called()
    assert asked.params == {"name": "t1", "arguments": {"x": [1, None]}}
    for step in (1, 2.5):
        assert world.server.progress(asked.request, step, world.now, total=3, message="working")
    world.tool_server.answer(asked.request, HELLO, world.now)
    world.settle()
    said = None if version == "2024-11-05" else "working"
    assert [(p.op, p.progress, p.total, p.message) for p in world.all(ProgressReported)] == [
        (op, 1, 3, said),
        (op, 2.5, 3, said),
    ]
    assert world.all(ToolCalled) == [ToolCalled(op, HELLO)]


@in_both_eras
def test_progress_extends_the_quiet_timeout_but_not_the_total_one(version: str) -> None:
    world = ToolWorld(version)
    op = world.tools.call("t1", {}, world.now)
    asked = world.called()
    for step in range(6):
        world.run(55.0)
        if step < 5:
            world.server.progress(asked.request, step, world.now)
            world.settle()
    assert [event for event in world.all(OpFailed) if event.op == op] == [
        OpFailed(op, TimedOut("total", 300.0))
    ]
    assert world.all(RequestCancelled, server=True)[-1].request is asked.request


@in_both_eras
def test_a_cancelled_call_is_cancelled_at_the_server_and_its_answer_refused(version: str) -> None:
    world = ToolWorld(version)
    call = world.client.request("tools/call", {"name": "t1"}, world.now)
    asked = world.called()
    world.client.cancel(call, world.now)
    world.settle()
    assert world.all(CallFailed) == [CallFailed(call, Cancelled())]
    assert [event.request for event in world.all(RequestCancelled, server=True)] == [asked.request]
    with pytest.raises(LocalProtocolError):
        world.tool_server.answer(asked.request, HELLO, world.now)


@in_both_eras
def test_a_call_of_a_lost_connection_is_lost(version: str) -> None:
    world = ToolWorld(version)
    op = world.tools.call("t1", {}, world.now)
    world.called()
    world.disconnect("cut")
    assert world.all(OpFailed) == [OpFailed(op, Lost("cut"))]


@in_both_eras
def test_an_unknown_tool_and_a_strange_answer_are_failures_of_that_call(version: str) -> None:
    world = ToolWorld(version)
    unknown = world.tools.call("t99", {}, world.now)
    world.settle()
    strange = world.tools.call("t1", {}, world.now)
    world.server.respond(world.called().request, {"content": "hello"}, world.now)
    world.settle()
    refused, misread = world.all(OpFailed)
    assert refused == OpFailed(unknown, RpcError(-32602, "Unknown tool"))
    assert misread.op == strange
    assert isinstance(misread.failure, InvalidReply)
    assert "$.content" in misread.failure.reason


def test_a_call_asks_for_input_on_the_way() -> None:
    world = ToolWorld(MODERN_VERSIONS[0])
    op = world.tools.call("t1", {"x": 1}, world.now)
    ask = InputRequest("elicitation/create", {"message": "which?", "requestedSchema": {}})
    world.server.ask(world.called().request, InputRequired({"which": ask}, "my state"), world.now)
    world.settle()
    (needed,) = world.all(InputNeeded)
    assert (needed.op, needed.requests, needed.round) == (op, {"which": ask}, 1)
    answer = {"action": "accept", "content": {"n": 2}}
    world.client.provide_input(needed.call, {"which": answer}, world.now)
    world.settle()
    retry = world.called()
    assert retry.params == {
        "name": "t1",
        "arguments": {"x": 1},
        "inputResponses": {"which": answer},
        "requestState": "my state",
    }
    world.tool_server.answer(retry.request, HELLO, world.now)
    world.settle()
    assert world.all(ToolCalled) == [ToolCalled(op, HELLO)]


# --- methods of no layer ------------------------------------------------------------------------------


@in_every_version
def test_any_method_passes_through(version: str) -> None:
    world = ToolWorld(version)
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    call = world.client.request("x/echo", {"a": "ä"}, world.now, meta=trace)
    asked = world.called()
    assert asked.params == {"a": "ä"}
    assert asked.request.meta["traceparent"] == trace["traceparent"]
    world.server.notify(asked.request, "notifications/x", {"half": "way"}, world.now)
    world.server.respond(asked.request, {"a": "ä"}, world.now)
    world.settle()
    (received,) = world.all(NotificationReceived)
    assert (received.method, received.params) == ("notifications/x", {"half": "way"})
    (succeeded,) = world.all(CallSucceeded)
    assert succeeded.call == call
    assert succeeded.result["a"] == "ä"


@in_every_version
def test_a_method_that_nobody_offers_is_refused(version: str) -> None:
    world = ToolWorld(version)
    call = world.client.request("x/nothing", None, world.now)
    world.settle()
    assert world.all(CallFailed) == [CallFailed(call, RpcError(-32601, "Method not found: x/nothing"))]


@in_every_version
def test_a_client_notifies_its_server(version: str) -> None:
    world = ToolWorld(version)
    world.client.notify("notifications/x", {"a": 1}, world.now)
    world.settle()
    (received,) = world.all(NotificationReceived, server=True)
    assert (received.method, received.params["a"]) == ("notifications/x", 1)


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_a_legacy_server_asks_its_client(version: str) -> None:
    world = ToolWorld(version)
    (started,) = world.all(SessionStarted, server=True)
    call = world.server.request(started.stream, "roots/list", None, world.now, limits=Limits(quiet=5.0))
    world.settle()
    (asked,) = world.all(RequestReceived)
    world.client.respond(asked.request, {"roots": []}, world.now)
    refused = world.server.request(started.stream, "sampling/createMessage", {}, world.now)
    world.settle()
    assert world.all(CallSucceeded, server=True) == [CallSucceeded(call, {"roots": []})]
    (failed,) = world.all(CallFailed, server=True)
    assert failed.call == refused
    assert isinstance(failed.failure, RpcError)
    assert failed.failure.code == -32601


def test_a_modern_server_asks_nothing() -> None:
    world = ToolWorld(MODERN_VERSIONS[0])
    (opened,) = world.all(SubscriptionOpened, server=True)
    with pytest.raises(LocalProtocolError):
        world.server.request(opened.stream, "roots/list", None, world.now)


# --- and all of it through the front door -------------------------------------------------------------


def test_the_tools_layer_uses_public_names_only() -> None:
    tree = ast.parse(Path(tools_layer.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    } | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "mcp"
    }
    assert {name for name in imported if name and "mcp" in name} == {"mcp_sansio"}
    assert used <= set(mcp_sansio.__all__)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)} | {
        "_keys",
        "_page_size",
    }
    private = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")}
    assert private <= own


# --- who owns what ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"x": "notifications/x"}, {"y": "notifications/x"}),
        ({"x": "notifications/x"}, {"x": "notifications/y"}),
        ({}, {"x": "notifications/progress"}),
        ({}, {"x": "notifications/cancelled"}),
        ({}, {"x": "notifications/subscriptions/acknowledged"}),
    ],
)
def test_a_topic_and_its_notification_belong_to_one_layer(
    first: dict[str, str], second: dict[str, str]
) -> None:
    with pytest.raises(LocalProtocolError, match="belongs to somebody else than Listener"):
        Client(ClientConfig(info=CLIENT), Listener(**first), Listener(**second))
    with pytest.raises(LocalProtocolError, match="belongs to somebody else than Announcer"):
        server(Announcer(**first), Announcer(**second))


@pytest.mark.parametrize(
    "method",
    ["x/taken", "x/application", "initialize", "ping", "server/discover", "subscriptions/listen"],
)
def test_a_method_belongs_to_one_layer(method: str) -> None:
    with pytest.raises(LocalProtocolError, match=method):
        server(Announcer("x/taken"), Announcer("x/free", method))


def test_what_a_layer_says_twice_it_claims_once() -> None:
    Client(ClientConfig(info=CLIENT), Listener(a="notifications/x", b="notifications/x"))
    assert [*server(Announcer("x/a", "x/a", a="notifications/x", b="notifications/x")).topics] == ["a", "b"]
