"""Clients of prompts under a script, led into any of their states, and a server to be asked."""

from __future__ import annotations

from typing import Any

from pair import CLIENT, KEYS, SERVER, catalogue
from script import Script

from mcp_sansio import (
    LEGACY_VERSIONS,
    CallId,
    Client,
    ClientConfig,
    Limits,
    PromptClient,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)

MODERN = "2026-07-28"
ASKING: dict[str, Any] = {"elicitation": {}}
PROMPTS: dict[str, Any] = {"prompts": {"listChanged": True}}
DISCOVERED = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": PROMPTS}
WELCOME = {
    "protocolVersion": "2025-11-25",
    "capabilities": PROMPTS,
    "serverInfo": {"name": "s", "version": "1"},
}
WANTED = {
    "resultType": "input_required",
    "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "?"}}},
}
UNSUPPORTED = -32022


class Driven(Script):
    """A client of prompts under a script."""

    def __init__(self, **config: Any) -> None:
        self.prompts = PromptClient()
        self.client = Client(ClientConfig(info=CLIENT, capabilities=ASKING, **config), self.prompts)
        super().__init__(self.client)


def probing(**config: Any) -> Driven:
    script = Driven(**config)
    script.sent()
    return script


def shaking() -> Driven:
    return probing(versions=LEGACY_VERSIONS)


def overlapping() -> Driven:
    script = probing()
    script.wait(5.0)
    script.sent()
    return script


def opening() -> Driven:
    script = probing()
    script.reply(1, DISCOVERED)
    script.sent()
    return script


def unacknowledged() -> Driven:
    script = opening()
    script.wait(10.0)
    return script


def acknowledge(script: Script, **topics: bool) -> None:
    meta = {"io.modelcontextprotocol/subscriptionId": 2}
    script.notify("notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": topics})
    script.sent()


def listening() -> Driven:
    script = opening()
    acknowledge(script, promptsListChanged=True)
    return script


def legacy() -> Driven:
    script = shaking()
    script.reply(1, WELCOME)
    script.sent()
    return script


def lose(script: Script) -> None:
    script.wire.receive_eof(script.now)


def close(script: Script) -> None:
    script.machine.close(script.now)


def waiting_call() -> tuple[Driven, CallId]:
    script = probing()
    return script, script.client.request("x/wait", None, 0.0, limits=Limits(total=1.0))


def sent_call() -> tuple[Driven, CallId]:
    script = listening()
    call = script.client.request("tools/call", None, script.now, limits=Limits(total=1.0))
    script.sent()
    return script, call


def asked_call() -> tuple[Driven, CallId]:
    script, call = sent_call()
    script.reply(3, WANTED)
    return script, call


def walking() -> Driven:
    script = listening()
    script.prompts.list(script.now)
    script.sent()
    return script


META = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
LISTEN = {"notifications": {"promptsListChanged": True}, **META}


def serving() -> tuple[Script, Server, PromptServer]:
    prompts = PromptServer(catalogue(3), PromptServerConfig(keys=KEYS))
    server = Server(ServerConfig(info=SERVER), prompts)
    return Script(server), server, prompts
