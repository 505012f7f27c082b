"""What passes over a wire is heard as it is, whatever is made of it."""

from __future__ import annotations

import json
from typing import Any

from clients import LEGACY, MODERN, discovered, welcome
from http_asking import SSE, Asker
from pair import CLIENT, SERVER
from script import Script
from serving import TOPIC
from visits import LISTEN, call
from web import Web

from mcp_sansio import Client, ClientConfig, HeadPassed, MessagePassed, Server, ServerConfig
from mcp_sansio.h11 import H11ServerWire

Heard = list[MessagePassed | HeadPassed]


def received(heard: Heard) -> list[bytes]:
    return [each.data for each in heard if isinstance(each, MessagePassed) and not each.sent]


def methods(heard: Heard) -> list[str]:
    """What was asked."""
    sent = [each.data for each in heard if isinstance(each, MessagePassed) and each.sent]
    return [json.loads(data)["method"] for data in sent]


# --- lines ------------------------------------------------------------------------------------------


def script(heard: Heard, **wire: Any) -> Script:
    config = ClientConfig(info=CLIENT, versions=(MODERN,))
    return Script(Client(config), on_message=heard.append, **wire)


def test_lines_are_heard_as_they_are_however_wrong_they_are() -> None:
    heard: Heard = []
    peer = script(heard)
    peer.sent()
    lines = [b'{"jsonrpc":"2.0", "id":1.0,"result":{"nextCursor":null},"x":1}', b"noise", b"\xff", b"[]"]
    peer.raw(b"\n".join(lines) + b"\r\n \n" + b"rest")
    peer.wire.receive_eof(peer.now)
    assert received(heard) == [*lines, b"rest"]
    assert {each.exchange for each in heard} == {0}


def test_what_is_sent_is_heard_when_it_leaves() -> None:
    heard: Heard = []
    peer = script(heard)
    assert heard == []
    sent = peer.sent()
    assert [json.loads(each.data) for each in heard if isinstance(each, MessagePassed)] == sent
    assert methods(heard) == ["server/discover"]


def test_of_a_line_over_the_limit_the_beginning_is_heard() -> None:
    heard: Heard = []
    peer = script(heard, max_line=20)
    peer.raw(b"x" * 10_000 + b"\n")
    (beginning,) = received(heard)
    assert beginning == b"x" * 20


def test_a_server_is_heard_in_the_same_way() -> None:
    heard: Heard = []
    peer = Script(Server(ServerConfig(info=SERVER)), on_message=heard.append)
    peer.request(1, "ping")
    (reply,) = peer.sent()
    assert [
        (each.sent, json.loads(each.data)["id"]) for each in heard if isinstance(each, MessagePassed)
    ] == [
        (False, 1),
        (True, 1),
    ]
    assert reply["id"] == 1


# --- HTTP -------------------------------------------------------------------------------------------


def asker(heard: Heard, **options: Any) -> Asker:
    return Asker(http={"on_message": heard.append, **options}, versions=(MODERN,))


def test_heads_and_bodies_are_heard_by_their_exchange() -> None:
    heard: Heard = []
    near = asker(heard)
    probe = near.one("server/discover")
    near.answer(probe, 200, b'{"jsonrpc":"2.0","id":1,"result":{}} ', (("Content-Type", "application/json"),))
    head, body, status, reply = heard
    assert isinstance(head, HeadPassed)
    assert (head.sent, head.start, head.exchange) == (True, "POST", 1)
    assert ("Mcp-Method", "server/discover") in head.headers
    assert body == MessagePassed(True, probe.body, 1)
    assert status == HeadPassed(False, 200, (("Content-Type", "application/json"),), 1)
    assert reply == MessagePassed(False, b'{"jsonrpc":"2.0","id":1,"result":{}} ', 1)


def test_exchanges_are_counted() -> None:
    heard: Heard = []
    near = asker(heard)
    near.reply(near.one("server/discover"), discovered())
    near.client.request("tools/list", None, near.now)
    near.client.request("tools/list", None, near.now)
    near.pull()
    assert [each.exchange for each in heard if isinstance(each, HeadPassed) and each.sent] == [1, 2, 3]


def test_of_a_stream_every_message_is_heard() -> None:
    heard: Heard = []
    near = asker(heard)
    probe = near.one("server/discover")
    near.head(probe, 200, SSE)
    probe.receive_data(b"event: other\ndata: x\n\ndata: noise\n\ndata: {}\n\n", near.now)
    assert received(heard) == [b"noise", b"{}"]


def test_of_an_event_and_a_body_over_the_limit_the_beginning_is_heard() -> None:
    for headers, data in ((SSE, b"data: " + b"x" * 1000), ((), b"x" * 1000)):
        heard: Heard = []
        near = asker(heard, max_body=100)
        probe = near.one("server/discover")
        near.head(probe, 200, headers)
        probe.receive_data(data, near.now)
        probe.receive_eof(near.now)
        (beginning,) = received(heard)
        assert data.startswith(beginning)
        assert len(beginning) < len(data)


def test_an_empty_body_and_a_get_are_only_a_head() -> None:
    heard: Heard = []
    near = Asker(http={"on_message": heard.append}, versions=(LEGACY,))
    near.reply(near.one("initialize"), welcome(), (("Mcp-Session-Id", "s"),))
    told = near.one("notifications/initialized")
    heard.clear()
    near.answer(told, 202)
    near.client.close(near.now)
    near.pull()
    assert [type(each) for each in heard] == [HeadPassed, HeadPassed]
    assert [each.start for each in heard if isinstance(each, HeadPassed)] == [202, "DELETE"]


def test_a_server_hears_both_sides_of_its_exchanges() -> None:
    heard: Heard = []
    wire = H11ServerWire(Web().http, 0.0, on_message=heard.append)
    wire.receive_data(call("server/discover"), 0.0)
    written = b"".join(wire.data_to_send())
    asked, body, status, reply = heard
    assert isinstance(asked, HeadPassed)
    assert (asked.sent, asked.start, asked.exchange) == (False, "POST", 1)
    assert isinstance(body, MessagePassed)
    assert (body.sent, json.loads(body.data)["method"]) == (False, "server/discover")
    assert isinstance(status, HeadPassed)
    assert (status.sent, status.start, status.exchange) == (True, 200, 1)
    assert isinstance(reply, MessagePassed)
    assert reply.sent
    assert written.endswith(reply.data)


def test_a_server_hears_every_message_of_a_stream_and_nothing_of_an_empty_body() -> None:
    heard: Heard = []
    web = Web()
    wire = H11ServerWire(web.http, 0.0, on_message=heard.append)
    wire.receive_data(LISTEN, 0.0)
    wire.data_to_send()
    web.server.changed(TOPIC, 1.0)
    wire.data_to_send()
    told = [
        json.loads(each.data)["method"] for each in heard if isinstance(each, MessagePassed) and each.sent
    ]
    assert told == ["notifications/subscriptions/acknowledged", "notifications/prompts/list_changed"]
    other = H11ServerWire(web.http, 1.0, on_message=heard.append)
    heard.clear()
    other.receive_data(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1.0)
    other.data_to_send()
    assert [type(each) for each in heard] == [HeadPassed, HeadPassed, MessagePassed]
    assert heard[0].exchange == 2
