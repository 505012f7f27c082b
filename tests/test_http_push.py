"""HTTP client: the stream on which a server says that something changed, in either era."""

from __future__ import annotations

from typing import Any

import pytest
from asking import CHANGED
from clients import LEGACY, TOPIC, Topics
from http_asking import SESSION, SSE, Asker, asks, body, error, header, legacy, modern

from mcp_sansio import (
    ChannelChanged,
    Diagnostic,
    Listed,
    ListingConfig,
    Negotiated,
    NotificationReceived,
    PromptClient,
)

PAGE = {"prompts": [{"name": "a"}]}


def push(*, offers: dict[str, Any] | None = None, **config: Any) -> tuple[Asker, Topics]:
    """A client that wants to be pushed to."""
    topics = Topics()
    web = legacy(topics, offers={TOPIC: {}} if offers is None else offers, **config)
    return web, topics


def prompting() -> tuple[Asker, PromptClient]:
    """A client of prompts whose legacy server announces changes."""
    prompts = PromptClient(ListingConfig(eager=False))
    return legacy(prompts, offers={"prompts": {"listChanged": True}}), prompts


# --- the push channel ---------------------------------------------------------------------------------


def test_a_legacy_server_pushes_on_a_stream_of_its_own() -> None:
    web, topics = push()
    assert web.client.channel(TOPIC) is None
    get = web.one("GET")
    assert get.headers == (
        ("Accept", "text/event-stream"),
        ("MCP-Protocol-Version", LEGACY),
        ("Mcp-Session-Id", SESSION),
    )
    web.stream(get)
    assert web.of(ChannelChanged) == [ChannelChanged(TOPIC, True, "the push channel is open")]
    topics.lately()
    web.say(get, {"method": "notifications/x/list_changed"}, {"method": "notifications/hello"})
    assert topics.lately() == [("announced", TOPIC)]
    assert [event.method for event in web.of(NotificationReceived)] == ["notifications/hello"]


def test_no_channel_is_opened_where_nothing_would_be_said() -> None:
    web, _ = push(offers={})
    web.wait(10.0)
    assert web.count("GET") == 0


def test_a_channel_is_opened_for_what_is_not_declared_if_that_counts() -> None:
    """Nothing waits for it, and nothing is concluded from its end."""
    web, topics = push(offers={}, unnegotiated="invalidate")
    topics.lately()
    get = web.one("GET")
    assert web.client.channel(TOPIC) is False
    web.stream(get)
    web.say(get, {"method": "notifications/x/list_changed"})
    assert topics.lately() == [("announced", TOPIC)]
    assert [event.kind for event in web.of(Diagnostic)] == ["not-negotiated"]
    get.receive_eof(web.now)
    assert topics.lately() == []
    web.wait(1.0)
    assert web.count("GET") == 2


def test_nothing_is_listed_before_the_channel_is_open() -> None:
    web, prompts = prompting()
    prompts.list(0.0)
    get = web.one("GET")
    assert web.open("prompts/list") == []
    web.stream(get)
    web.reply(web.one("prompts/list"), PAGE)
    (listed,) = web.of(Listed)
    assert listed.snapshot.verified
    web.say(get, {"method": CHANGED})
    prompts.list(0.0)
    assert len(web.open("prompts/list")) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 406])
def test_a_server_without_a_channel_is_not_asked_twice(status: int) -> None:
    web, topics = push()
    web.answer(web.one("GET"), status)
    assert [event.kind for event in web.of(Diagnostic)] == ["no-channel"]
    assert topics.lately()[-1] == ("channel", TOPIC, False)
    web.wait(100.0)
    assert web.count("GET") == 1
    assert web.count("initialize") == 1


def test_a_body_is_no_channel() -> None:
    web, _ = push()
    web.answer(web.one("GET"), 200, b"{}")
    assert [event.kind for event in web.of(Diagnostic)] == ["no-channel"]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_trouble_passes(status: int) -> None:
    web, _ = push()
    web.answer(web.one("GET"), status)
    web.wait(0.25)
    web.stream(web.one("GET"))
    assert web.client.channel(TOPIC) is True


@pytest.mark.parametrize("what", ["GET", "subscriptions/listen"])
@pytest.mark.parametrize(("said", "delay"), [("3", 3.0), ("3000", 30.0)])
def test_a_server_may_say_when_it_passes(what: str, said: str, delay: float) -> None:
    web = push()[0] if what == "GET" else modern(Topics(), offers={TOPIC: {}})
    web.answer(web.one(what), 503, b"", [("Retry-After", said)])
    web.wait(delay - 0.01)
    assert web.open(what) == []
    web.wait(0.01)
    assert len(web.open(what)) == 1


def test_an_encoded_stream_is_no_channel() -> None:
    web, _ = push()
    web.head(web.one("GET"), 200, (*SSE, ("Content-Encoding", "gzip")))
    assert [event.kind for event in web.of(Diagnostic)] == ["no-channel"]
    assert web.open("GET") == []


def test_a_channel_that_cannot_be_reached_is_tried_again() -> None:
    web, _ = push()
    for delay in (0.25, 0.5, 1.0):
        web.one("GET").abort(web.now)
        web.wait(delay - 0.01)
        assert web.open("GET") == []
        web.wait(0.01)
    web.stream(web.one("GET"))
    assert web.client.channel(TOPIC) is True


def test_a_channel_is_opened_again_where_it_broke_off() -> None:
    web, topics = push()
    get = web.one("GET")
    web.stream(get)
    get.receive_data(b"id: e7\nretry: 2000\ndata: \n\n", 0.0)
    topics.lately()
    get.receive_eof(0.0)
    assert topics.lately() == [("channel", TOPIC, False)]
    web.wait(1.99)
    assert web.open("GET") == []
    web.wait(0.01)
    get = web.one("GET")
    assert header(get, "Last-Event-ID") == "e7"
    web.stream(get)
    get.abort(web.now)
    web.wait(0.5)
    assert header(web.one("GET"), "Last-Event-ID") == "e7"


def test_a_channel_that_breaks_off_by_a_backward_clock_is_opened_again_no_sooner() -> None:
    web, _ = push()
    web.wait(10.0)
    get = web.one("GET")
    web.stream(get)
    get.abort(2.0)
    timeout = web.client.next_timeout()
    assert timeout is not None
    assert timeout > 10.0


def test_a_session_may_be_gone_when_the_channel_is_opened_again() -> None:
    web, _ = push()
    web.stream(web.one("GET"))
    web.one("GET").receive_data(b"id: e7\n\n", 0.0)
    web.one("GET").abort(0.0)
    web.wait(0.25)
    web.answer(web.one("GET"), 404)
    offers: dict[str, Any] = {TOPIC: {}}
    web.say_legacy(session="s-2", **offers)
    get = web.one("GET")
    assert header(get, "Mcp-Session-Id") == "s-2"
    assert header(get, "Last-Event-ID") is None
    assert len(web.of(Negotiated)) == 1


def test_a_channel_that_says_nothing_is_waited_for_while_the_rest_goes_on() -> None:
    web, prompts = prompting()
    prompts.list(0.0)
    get = web.one("GET")
    web.wait(10.0)
    assert [event.kind for event in web.of(Diagnostic)] == ["no-acknowledgement"]
    web.reply(web.one("prompts/list"), PAGE)
    assert len(web.of(Listed)) == 1
    web.stream(get)
    assert web.client.channel("promptsListChanged") is True


def test_a_channel_that_is_found_missing_late_is_not_asked_for_again() -> None:
    web, _ = push()
    get = web.one("GET")
    web.wait(10.0)
    web.answer(get, 405)
    web.wait(100.0)
    assert web.count("GET") == 1


def test_a_channel_is_closed_with_its_client() -> None:
    web, _ = push()
    get = web.one("GET")
    web.stream(get)
    web.client.close(0.0)
    assert [asks(made) for made in web.pull()] == ["DELETE"]
    assert get.closed


def test_what_was_not_asked_for_cannot_come_or_go() -> None:
    """The channel has been refused, or was never wanted."""
    web, topics = push(offers={})
    topics.lately()
    web.client.channels.push_opened(0.0)
    web.client.channels.push_refused(0.0)
    web.client.channels.push_lost(0.0, None)
    assert topics.lately() == []
    assert web.events() == []
    assert web.client.next_timeout() is None


# --- the modern channel -------------------------------------------------------------------------------


def test_a_modern_channel_is_an_exchange_that_stays() -> None:
    topics = Topics()
    web = modern(topics, offers={TOPIC: {}})
    listen = web.one("subscriptions/listen")
    tag = {"io.modelcontextprotocol/subscriptionId": body(listen)["id"]}
    acknowledged = {"_meta": tag, "notifications": {TOPIC: True}}
    web.stream(listen, {"method": "notifications/subscriptions/acknowledged", "params": acknowledged})
    assert web.client.channel(TOPIC) is True
    topics.lately()
    listen.receive_data(b":\n\n:\r\n", 0.0)
    web.say(listen, {"method": "notifications/x/list_changed", "params": {"_meta": tag}})
    assert topics.lately() == [("announced", TOPIC)]
    web.wait(1000.0)
    assert web.open("subscriptions/listen") == [listen]
    listen.abort(web.now)
    assert topics.lately() == [("channel", TOPIC, False)]
    web.wait(0.25)
    assert len(web.open("subscriptions/listen")) == 1


def test_a_modern_server_without_a_channel_is_not_asked_twice() -> None:
    web = modern(Topics(), offers={TOPIC: {}})
    web.refuse(web.one("subscriptions/listen"), 404, **error(-32601))
    web.wait(100.0)
    assert web.count("subscriptions/listen") == 1


def test_a_modern_channel_that_ends_is_opened_again() -> None:
    web = modern(Topics(), offers={TOPIC: {}})
    listen = web.one("subscriptions/listen")
    web.stream(listen, {"id": body(listen)["id"], "result": {}})
    listen.receive_eof(0.0)
    web.wait(0.25)
    assert len(web.open("subscriptions/listen")) == 1


def test_a_modern_channel_that_is_given_up_is_closed() -> None:
    web = modern(Topics(), offers={TOPIC: {}})
    listen = web.one("subscriptions/listen")
    tag = {"io.modelcontextprotocol/subscriptionId": body(listen)["id"]}
    acknowledged = {"_meta": tag, "notifications": {}}
    web.stream(listen, {"method": "notifications/subscriptions/acknowledged", "params": acknowledged})
    web.pull()
    assert listen.closed
