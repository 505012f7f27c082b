"""What a client would never say, said by hand on connections of their own, for the rules to judge.

Each function speaks one conversation. The legacy era: a ping before `initialize`, a revision that does not
exist, a batch where there were batches; over HTTP the headers and methods of the transport. The modern era:
a revision that does not exist, a request without a member that it must have, and a subscription.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from mcp_sansio import LEGACY_VERSIONS, Era, Negotiated, __version__
from mcp_sansio._meta import CLIENT_CAPABILITIES, CLIENT_INFO, VERSION
from mcp_sansio._plain import member
from mcp_sansio_adapters.hosts import HostServer

from .conversation import ELSEWHERE, LISTEN, UNKNOWN, Conversation
from .voices import HttpVoice, Voice, started

BATCHES = "2025-03-26"
HEADER = "MCP-Protocol-Version"
INFO = {"name": "mcp-sansio", "version": __version__}
UNHEARD_OF = "notifications/mcp-sansio-inspect-no-such-thing"
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


Script: TypeAlias = Callable[[Voice, Negotiated], Awaitable[None]]


async def speak(server: HostServer, agreed: Negotiated, patience: float) -> list[Conversation]:
    """Everything that can be said to a server in the era that was agreed on; only what had any answer."""
    if server.url is not None:
        talks = [await _over_http(server, server.url, agreed, patience)]
    else:
        talks = [await _over_stdio(server, speaks, agreed, patience) for speaks in _scripts(agreed)]
    return [talk for talk in talks if any(not entry.sent for entry in talk.entries)]


async def _over_stdio(
    server: HostServer, speaks: Script, agreed: Negotiated, patience: float
) -> Conversation:
    async with started(server, patience) as voice:
        await speaks(voice, agreed)
    return _conversation(voice, agreed, "stdio")


def _scripts(agreed: Negotiated) -> list[Script]:
    if agreed.era is Era.MODERN:
        return [_modern]
    return [_strange_version, *([_batch] if agreed.version == BATCHES else [])]


async def _over_http(server: HostServer, url: str, agreed: Negotiated, patience: float) -> Conversation:
    voice = HttpVoice(url, server.headers, patience)
    if agreed.era is Era.MODERN:
        await _modern(voice, agreed)
        await _modern_http(voice, agreed)
    else:
        await _legacy_http(voice, agreed)
    return _conversation(voice, agreed, "http")


def _conversation(voice: Voice, agreed: Negotiated, carrier: Any) -> Conversation:
    """What was said; in the legacy era, in the revision that the server chose, if that is one."""
    heard = voice.heard
    talk = Conversation(heard.entries, carrier, agreed.version, patient=True, cut=heard.cut)
    for asked in talk.asked("initialize"):
        chosen = member(asked.result, "protocolVersion")
        if carrier == "stdio" and chosen in LEGACY_VERSIONS:
            return Conversation(heard.entries, carrier, chosen, patient=True, cut=heard.cut)
    return talk


# --- the legacy era ---------------------------------------------------------------------------------


def _request(number: int, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": method,
        **({} if params is None else {"params": params}),
    }


def _initialize(number: int, version: str) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO}
    return _request(number, "initialize", params)


async def _strange_version(voice: Voice, _agreed: Negotiated) -> None:
    await voice.say(_request(1, "ping"))
    await voice.say(_initialize(2, UNKNOWN))


async def _batch(voice: Voice, agreed: Negotiated) -> None:
    await voice.say(_initialize(1, agreed.version))
    await voice.say(INITIALIZED)
    await voice.say([_request(2, "ping"), _request(3, "ping")])


async def _legacy_http(voice: HttpVoice, agreed: Negotiated) -> None:
    await voice.say(_initialize(1, UNKNOWN))
    await _left(voice)
    await voice.say(_initialize(2, agreed.version))
    fields = {HEADER: agreed.version}
    await voice.say(INITIALIZED, fields)
    await voice.say(_request(3, "ping"), {HEADER: UNKNOWN})
    await voice.say(_request(4, "ping"), {**fields, "Origin": ELSEWHERE})
    await voice.exchange("GET", {**fields, "Accept": "text/event-stream"})
    if agreed.version == BATCHES:
        await voice.say([_request(5, "ping"), _request(6, "ping")], fields)
    if voice.session is not None:
        await voice.exchange("DELETE", fields)
        await voice.say(_request(7, "ping"), fields)


async def _left(voice: HttpVoice) -> None:
    """The session of the revision that does not exist is not needed."""
    if voice.session is not None:
        await voice.exchange("DELETE", {})
        voice.session = None


# --- the modern era ---------------------------------------------------------------------------------


def _modern_request(number: int, method: str, version: str, **params: Any) -> dict[str, Any]:
    meta = {VERSION: version, CLIENT_INFO: INFO, CLIENT_CAPABILITIES: {}}
    return _request(number, method, {"_meta": meta, **params})


def _fields(message: dict[str, Any]) -> dict[str, str]:
    """What the headers of a modern request say."""
    return {HEADER: message["params"]["_meta"][VERSION], "Mcp-Method": message["method"]}


async def _modern(voice: Voice, agreed: Negotiated) -> None:
    strange = _modern_request(1, "server/discover", UNKNOWN)
    await voice.say(strange, _fields(strange))
    lacking = _modern_request(2, "server/discover", agreed.version)
    del lacking["params"]["_meta"][CLIENT_CAPABILITIES]
    await voice.say(lacking, _fields(lacking))
    if member(agreed.capabilities.get("prompts"), "listChanged") is True:
        listen = _modern_request(3, LISTEN, agreed.version, notifications={"promptsListChanged": True})
        await voice.say(listen, _fields(listen))


async def _modern_http(voice: HttpVoice, agreed: Negotiated) -> None:
    ask = _modern_request(4, "server/discover", agreed.version)
    await voice.say(ask, {**_fields(ask), "Mcp-Method": "prompts/list"})
    ask = _modern_request(5, "server/discover", agreed.version)
    await voice.say(ask, {**_fields(ask), "Origin": ELSEWHERE})
    told = {"jsonrpc": "2.0", "method": UNHEARD_OF, "params": ask["params"]}
    await voice.say(told, _fields(told))
