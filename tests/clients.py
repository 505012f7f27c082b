"""Clients under test, with a server that the test writes by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pair import CLIENT
from script import Script

from mcp_sansio import Client, ClientConfig, ClientLayer, Diagnostic, Event

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
TAG = "io.modelcontextprotocol/subscriptionId"
CHANGED = "notifications/x/list_changed"
TOPIC = "xListChanged"
OTHER = "notifications/y/list_changed"
OTHER_TOPIC = "yListChanged"
SERVER_INFO = {"name": "hand", "version": "0"}
ELICIT = {"method": "elicitation/create", "params": {"message": "?", "mode": "form"}}


def discovered(versions: tuple[str, ...] = (MODERN,), **capabilities: Any) -> dict[str, Any]:
    """A result of `server/discover`."""
    return {"resultType": "complete", "supportedVersions": [*versions], "capabilities": capabilities}


def welcome(version: str = LEGACY, **capabilities: Any) -> dict[str, Any]:
    """A result of `initialize`."""
    return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": SERVER_INFO}


def wanted(state: Any = None, **requests: Any) -> dict[str, Any]:
    """An `input_required` result."""
    result: dict[str, Any] = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    if state is not None:
        result["requestState"] = state
    return result


def kinds(events: list[Event]) -> list[str]:
    """What sort of events these are: their class, or the kind of a diagnostic."""
    return [event.kind if isinstance(event, Diagnostic) else type(event).__name__ for event in events]


class Peer(Script):
    """A client, its wire, and its hand-written server."""

    def __init__(self, *layers: ClientLayer, wire: Mapping[str, Any] | None = None, **config: Any) -> None:
        self.client = Client(ClientConfig(info=CLIENT, **config), *layers)
        super().__init__(self.client, **(wire or {}))

    def last(self) -> dict[str, Any]:
        """The last message that has left."""
        self.sent()
        return self.log[-1]

    def ids(self, method: str) -> list[Any]:
        """The ids of all requests of a method so far."""
        self.sent()
        return [message["id"] for message in self.log if message.get("method") == method]

    def say_modern(self, **capabilities: Any) -> None:
        """Answer the probe."""
        self.reply(self.ids("server/discover")[-1], discovered(**capabilities))

    def say_legacy(self, version: str = LEGACY, **capabilities: Any) -> None:
        """Refuse the probe if there is one, and answer the handshake."""
        probes, handshakes = self.ids("server/discover"), self.ids("initialize")
        if not handshakes:
            self.error(probes[-1], -32601)
        self.reply(self.ids("initialize")[-1], welcome(version, **capabilities))


def modern(*layers: ClientLayer, offers: Mapping[str, Any] | None = None, **config: Any) -> Peer:
    """A client that has found a modern server; what has been sent and reported so far is read."""
    peer = Peer(*layers, **config)
    peer.say_modern(**(offers or {}))
    peer.sent()
    peer.events()
    return peer


def legacy(
    *layers: ClientLayer, version: str = LEGACY, offers: Mapping[str, Any] | None = None, **config: Any
) -> Peer:
    """A client that has found a legacy server."""
    peer = Peer(*layers, **config)
    peer.say_legacy(version, **(offers or {}))
    peer.sent()
    peer.events()
    return peer


class Topics(ClientLayer):
    """A layer that listens to two topics where the server declares them, and writes down what it hears."""

    announcements: Mapping[str, str] = {CHANGED: TOPIC, OTHER: OTHER_TOPIC}

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def filter(self, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        return {topic: True for topic in (TOPIC, OTHER_TOPIC) if topic in capabilities}

    def opened(self, now: float) -> None:
        self.heard.append(("opened",))

    def channel(self, topic: str, live: bool, now: float) -> None:
        self.heard.append(("channel", topic, live))

    def announced(self, topic: str, now: float) -> None:
        self.heard.append(("announced", topic))

    def closed(self, reason: str, now: float) -> None:
        self.heard.append(("closed", reason))

    def finished(self, reason: str, now: float) -> None:
        self.heard.append(("finished", reason))

    def lately(self) -> list[tuple[Any, ...]]:
        """What was heard since the last look."""
        heard, self.heard = self.heard, []
        return heard
