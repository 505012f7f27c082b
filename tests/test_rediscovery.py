"""What a modern server declared is asked for again, once it is stale and something would be refused by it.

The hint of `server/discover` is a freshness hint like that of a list: nothing is polled, and what is declared
already is used without asking.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from asking import COMPLETE, DECLARED, LEGACY, SILENT, Asking, get, names
from clients import CHANGED, OTHER_TOPIC, TAG, TOPIC, Peer, Topics, discovered
from http_pair import Fate, HttpWorld
from pair import KEYS, SERVER, prompt

from mcp_sansio import (
    ArgumentCompleted,
    Catalogue,
    ChannelChanged,
    Completion,
    Era,
    Negotiated,
    NotSupported,
    OpFailed,
    PromptServerConfig,
    ServerConfig,
)

DISCOVER, LIST, LISTEN = "server/discover", "prompts/list", "subscriptions/listen"
NONE: dict[str, Any] = {}
MINUTE: dict[str, Any] = {"ttlMs": 60_000, "cacheScope": "public"}


def without_prompts(version: str = "2026-07-28", **hints: Any) -> Asking:
    """A client whose server declared nothing, with these hints."""
    asking = Asking(version, connect=False)
    asking.sent()
    if version == LEGACY:
        asking.open(NONE)
    else:
        declare(asking, NONE, **hints)
    return asking


def declare(asking: Asking, capabilities: dict[str, Any], **hints: Any) -> None:
    """Answer `server/discover`."""
    versions = ["2026-07-28"]
    asking.result(asking.one(DISCOVER), supportedVersions=versions, capabilities=capabilities, **hints)


def test_a_refusal_by_a_fresh_answer_stands() -> None:
    asking = without_prompts(**MINUTE)
    asking.wait(59.9)
    op = asking.prompts.list(asking.now)
    assert asking.end(op).failure == NotSupported("prompts")
    assert asking.asked(DISCOVER) == []


def test_what_is_refused_by_a_stale_answer_is_asked_for_again_first() -> None:
    asking = without_prompts(**MINUTE)
    asking.wait(60.0)
    assert asking.asked(DISCOVER) == []  # "clients SHOULD NOT treat TTL as a polling interval"
    listed, got = asking.prompts.list(asking.now), get(asking)
    asking.prompts.refresh(asking.now)
    assert asking.ends(listed) == asking.ends(got) == []
    assert asking.one(DISCOVER)["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
    declare(asking, SILENT, **MINUTE)
    assert asking.every(Negotiated)[-1].capabilities == SILENT
    assert asking.client.capabilities == SILENT
    asking.page(["a"])
    assert names(asking.end(listed).snapshot) == ["a"]
    asking.one("prompts/get")


def test_a_completion_asks_again_too() -> None:
    asking = Asking(declared=SILENT)
    asking.wait(1.0)
    op = asking.prompts.complete("a", "x", "v", asking.now)
    declare(asking, DECLARED)
    asking.sent()
    asking.acknowledge()
    asking.one(COMPLETE)
    assert asking.ends(op) == []


def test_a_server_that_still_declares_nothing_is_asked_once_for_each_moment() -> None:
    """An answer without a hint is stale at once, but serves what it was made for."""
    asking = without_prompts()
    asking.wait(1.0)
    ops = [asking.prompts.list(asking.now), get(asking), asking.prompts.list(asking.now)]
    declare(asking, NONE)
    ops.append(asking.prompts.list(asking.now))
    assert [asking.end(op).failure for op in ops] == [NotSupported("prompts")] * 4
    assert asking.asked(DISCOVER) == []
    asking.wait(1.0)
    asking.prompts.list(asking.now)
    asking.one(DISCOVER)


@pytest.mark.parametrize("how", ["error", "nonsense", "silence", "other versions"])
def test_what_is_stale_serves_if_there_is_no_newer_answer(how: str) -> None:
    asking = without_prompts()
    asking.wait(1.0)
    op = asking.prompts.list(asking.now)
    if how == "error":
        asking.refuse(-32603, DISCOVER)
    elif how == "nonsense":
        asking.result(asking.one(DISCOVER), supportedVersions=5)
    elif how == "silence":
        asking.one(DISCOVER)
        asking.wait(5.0)
    else:
        asking.result(asking.one(DISCOVER), supportedVersions=["2099-01-01"], capabilities=DECLARED)
    assert asking.end(op).failure == NotSupported("prompts")
    assert asking.client.era is Era.MODERN
    assert len(asking.every(Negotiated)) == 1


def test_what_is_declared_is_used_however_old_the_answer_is() -> None:
    asking = Asking(declared=SILENT)
    asking.wait(1000.0)
    asking.prompts.list(asking.now)
    asking.one(LIST)
    assert asking.asked(DISCOVER) == []


def test_what_a_session_has_agreed_on_is_not_asked_again() -> None:
    asking = without_prompts(LEGACY)
    asking.wait(1000.0)
    assert asking.end(asking.prompts.list(asking.now)).failure == NotSupported("prompts")
    assert asking.asked(DISCOVER) == asking.asked("initialize") == []


@pytest.mark.parametrize("flushed", [True, False])
def test_who_waits_for_the_answer_on_a_lost_connection_waits_for_the_next(flushed: bool) -> None:
    asking = without_prompts()
    asking.wait(1.0)
    op = asking.prompts.list(asking.now)
    asking.cut(flushed=flushed)
    assert asking.ends(op) == []
    asking.again()
    asking.page(["a"])
    assert names(asking.end(op).snapshot) == ["a"]


def test_a_client_that_is_closed_meanwhile_ends_everything() -> None:
    asking = without_prompts()
    asking.wait(1.0)
    op = asking.prompts.list(asking.now)
    asking.one(DISCOVER)
    asking.client.close(asking.now)
    assert isinstance(asking.end(op), OpFailed)
    assert asking.client.next_timeout() is None


# --- the channel ------------------------------------------------------------------------------------


def redeclared(peer: Peer, **capabilities: Any) -> None:
    """A second later, have the server say anew what it declares."""
    peer.wait(1.0)
    assert peer.client.recheck(peer.now)
    peer.reply(peer.ids(DISCOVER)[-1], discovered(**capabilities))
    peer.sent()


def listening(**capabilities: Any) -> tuple[Peer, Topics]:
    """A client that listens to one topic."""
    layer = Topics()
    peer = Peer(layer)
    peer.say_modern(**capabilities)
    acknowledge(peer, *capabilities)
    layer.lately()
    peer.events()
    return peer, layer


def acknowledge(peer: Peer, *topics: str) -> None:
    listen = peer.ids(LISTEN)[-1]
    honoured = dict.fromkeys(topics, True)
    peer.notify(
        "notifications/subscriptions/acknowledged", {"_meta": {TAG: listen}, "notifications": honoured}
    )


def test_a_channel_that_is_offered_from_then_on_is_opened() -> None:
    asking = without_prompts()
    asking.wait(1.0)
    op = asking.prompts.list(asking.now)
    declare(asking, DECLARED)
    asking.sent()
    assert asking.asked(LIST) == []  # listen first, then list
    asking.acknowledge()
    asking.page(["a"])
    assert asking.end(op).snapshot.verified


def test_the_same_topics_leave_the_channel_alone() -> None:
    peer, layer = listening(**{TOPIC: True})
    redeclared(peer, **{TOPIC: True})
    assert len(peer.ids(LISTEN)) == 1
    assert layer.lately() == [("opened",)]


def test_other_topics_take_another_channel() -> None:
    peer, layer = listening(**{TOPIC: True})
    first = peer.ids(LISTEN)[0]
    redeclared(peer, **{TOPIC: True, OTHER_TOPIC: True})
    cancelled = [m["params"] for m in peer.log if m.get("method") == "notifications/cancelled"]
    assert cancelled == [{"requestId": first}]
    assert layer.lately() == [("channel", TOPIC, False), ("opened",)]
    assert peer.of(ChannelChanged) == [ChannelChanged(TOPIC, False, "the server offers other topics")]
    peer.notify(CHANGED, {"_meta": {TAG: first}})
    assert layer.lately() == []
    acknowledge(peer, TOPIC, OTHER_TOPIC)
    assert layer.lately() == [("channel", TOPIC, True), ("channel", OTHER_TOPIC, True)]


def test_without_topics_there_is_no_channel() -> None:
    peer, layer = listening(**{TOPIC: True})
    redeclared(peer)
    assert len(peer.ids(LISTEN)) == 1
    assert layer.lately() == [("channel", TOPIC, False), ("opened",)]
    assert peer.client.next_timeout() is None


def test_a_channel_that_backs_off_does_not_come_back_with_old_topics() -> None:
    peer, layer = listening(**{TOPIC: True})
    peer.wait(0.9)
    peer.reply(peer.ids(LISTEN)[0], {"resultType": "complete"})
    assert layer.lately() == [("channel", TOPIC, False)]
    peer.wait(0.1)
    assert peer.client.recheck(peer.now)
    peer.reply(peer.ids(DISCOVER)[-1], discovered())
    peer.wait(60.0)
    assert len(peer.ids(LISTEN)) == 1


# --- over HTTP --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["request", "reply", None])
def test_a_server_that_has_learnt_something_is_believed(lost: Fate) -> None:
    """An exchange that is lost leaves things as they are."""
    fates = iter((None, lost))
    serving = PromptServerConfig(keys=KEYS, completions=False)
    server = ServerConfig(info=SERVER, discover_ttl=2.0)
    prompts = Catalogue()
    prompts.add(prompt("p", "a"), completers={"a": lambda value, _: [f"{value}!"]})
    world = HttpWorld(
        prompts=prompts,
        serving=serving,
        server=server,
        fate=lambda trip: next(fates) if trip.what == DISCOVER else None,
    )
    world.prompt_server.config = attrs.evolve(serving, completions=True)
    world.run(3.0)
    op = world.prompts.complete("p", "a", "v", world.now)
    refused = OpFailed(op, NotSupported("completions"), world.prompts.snapshot)
    assert world.outcome(op) == (refused if lost else ArgumentCompleted(op, Completion(("v!",), 1, False)))
    assert len(world.made(DISCOVER)) == 2
