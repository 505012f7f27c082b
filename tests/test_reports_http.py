"""What has gone wrong between other people's clients and servers over HTTP, each trouble a test of its own.

These are whole requests and replies; the parts that they depend on (media types, line ends, lost sessions,
the rules of `Host`) are tested value by value where they live. What needs a connection runs over HTTP/1.1
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from http_asking import JSON, SESSION, SSE, Asker, header, legacy, modern
from pair import CLIENT
from serving import LEGACY, MODERN
from web import Web

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Client,
    ClientConfig,
    Diagnostic,
    Disconnected,
    HttpFailed,
    HttpUrl,
    InvalidReply,
    Listed,
    ListingConfig,
    Negotiated,
    NotificationReceived,
    OpFailed,
    ProgressReported,
    PromptClient,
    TimedOut,
    WalkFailed,
)
from mcp_sansio._http_reply import MEANINGS
from mcp_sansio.h11 import H11ClientWire, H11Pool, H11ServerWire

HTTP_LEGACY = LEGACY[1:]
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
HOST = b"Host: localhost\r\n"


# --- headers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", 'application/json;charset="UTF-8"'])
def test_a_content_type_may_name_its_charset(media: str) -> None:
    """Servers compared the whole field with `application/json`, and refused the rest."""
    assert Web().call("prompts/list", headers={"Content-Type": media}).status == 200
    assert header(Asker().one("server/discover"), "Content-Type") == "application/json"


def test_media_types_and_the_names_of_fields_have_no_case() -> None:
    """Both ends compared them letter by letter."""
    fields: dict[str, str | None] = {"Content-Type": None, "CONTENT-TYPE": "Application/JSON"}
    assert Web().call("prompts/list", headers=fields).status == 200
    web = modern()
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.head(made, 200, [("CONTENT-TYPE", "Text/Event-Stream; charset=UTF-8")])
    web.say(made, {"id": 2, "result": {}})
    assert web.events() == [CallSucceeded(call, {})]


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:6575", "LOCALHOST:80", "[::1]:3000"])
def test_a_local_server_is_reached_by_any_port(host: str) -> None:
    """A list of allowed hosts without ports refused every client, and IPv6 was cut at its first colon."""
    assert Web().call("prompts/list", headers={"Host": host}).status == 200


@pytest.mark.parametrize("host", ["192.168.1.5:8000", "0.0.0.0:8000", "box.lan", "[fe80::1]:8000"])
def test_whoever_lists_no_hosts_is_reached_by_loopback_names_only(host: str) -> None:
    """Servers that listened on all addresses took an empty list for no restriction."""
    assert Web().call("prompts/list", headers={"Host": host}).status == 403
    assert Web(http={"hosts": ()}).call("prompts/list", headers={"Host": host}).status == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("null", 403),
        ("http://localhost.evil.com", 403),
        ("http://localhost:3000", 200),
        (None, 200),
    ],
)
def test_an_opaque_origin_is_a_foreign_one(origin: str | None, status: int) -> None:
    """What could not be read as a URL was let through, and a prefix was enough."""
    assert Web().call("prompts/list", headers={"Origin": origin}).status == status


# --- events -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", HTTP_LEGACY)
def test_no_stream_begins_with_an_event_that_is_no_message(version: str) -> None:
    """Servers that number events begin with an empty one, on which older clients fail."""
    web = Web(http={"reply": "sse"})
    session = web.session(version)
    for stream in (session.call("prompts/list"), web.call("prompts/list")):
        assert stream.body.startswith(b'event: message\ndata: {"jsonrpc"')
    assert session.open("GET").body == b""


def test_every_event_of_a_reply_is_handled() -> None:
    """Clients took the first event for the reply."""
    web = legacy()
    call = web.client.request("prompts/get", {"name": "a"}, 0.0, progress=True)
    web.stream(
        web.one("prompts/get"),
        {"method": "notifications/message", "params": {"level": "info", "data": "x"}},
        {"method": "notifications/progress", "params": {"progressToken": 2, "progress": 1}},
        {"id": 2, "result": {"messages": []}},
    )
    told = web.events()
    assert [type(event) for event in told] == [NotificationReceived, ProgressReported, CallSucceeded]
    assert told[-1] == CallSucceeded(call, {"messages": []})


def test_an_unfinished_event_is_no_reply_while_the_stream_is_open() -> None:
    """A reply without its blank line left the caller waiting for ever."""
    web = legacy(quiet_timeout=10.0)
    call = web.client.request("prompts/list", None, 0.0)
    made = web.one("prompts/list")
    web.head(made, 200, SSE)
    made.receive_data(b'data: {"jsonrpc":"2.0","id":2,"result":{}}\n', 0.0)
    web.wait(10.0)
    assert web.events() == [CallFailed(call, TimedOut("quiet", 10.0))]
    assert made.closed


# --- sessions -----------------------------------------------------------------------------------------

LOST = b'data: {"error":"Session not found"}\n\n'


@pytest.mark.parametrize(
    ("status", "headers", "said", "failure"),
    [
        (200, SSE, LOST, InvalidReply("jsonrpc is not 2.0")),
        (503, (), b"", HttpFailed(503, MEANINGS[503])),
        (400, (), b"No valid session ID", HttpFailed(400, "No valid session ID")),
    ],
)
def test_a_lost_session_in_other_words_is_a_failure(
    status: int, headers: Sequence[tuple[str, str]], said: bytes, failure: Any
) -> None:
    """Only 404 says that a session is lost, but servers say it in many ways; clients hung on some of them."""
    web = legacy()
    call = web.client.request("prompts/list", None, 0.0)
    web.answer(web.one("prompts/list"), status, said, headers)
    assert web.events() == [CallFailed(call, failure)]


def test_our_server_says_404_of_an_unknown_session_and_400_of_a_missing_one() -> None:
    """The other side of the same trouble."""
    ping = {"id": 1, "method": "ping"}
    assert Web().post(ping, {"Mcp-Session-Id": "who"}).status == 404
    assert Web().post(ping).status == 400


def initialized(status: int, headers: Sequence[tuple[str, str]], said: bytes) -> Asker:
    """A client whose `notifications/initialized` was answered so."""
    web = Asker(versions=("2025-11-25",))
    web.reply(
        web.one("initialize"),
        {"protocolVersion": "2025-11-25", "capabilities": {}},
        [("Mcp-Session-Id", SESSION)],
    )
    web.answer(web.one("notifications/initialized"), status, said, headers)
    return web


@pytest.mark.parametrize("headers", [[("Content-Length", "0")], [], [("Transfer-Encoding", "chunked")]])
def test_a_notification_may_be_answered_by_an_empty_success(headers: list[tuple[str, str]]) -> None:
    """Clients insisted on 202, or on a media type where there is nothing."""
    web = initialized(200, headers, b"")
    web.client.request("ping", None, 0.0)
    assert len(web.open("ping")) == 1
    assert web.of(Diagnostic) == []


@pytest.mark.parametrize("said", [b"", b"null"])
def test_a_notification_may_be_answered_by_json_that_says_nothing(said: bytes) -> None:
    """Clients looked for a message in it."""
    web = initialized(200, JSON, said)
    assert web.of(Diagnostic) == []
    accepted = Web().session(ready=False).post({"method": "notifications/initialized"})
    assert (accepted.status, accepted.body, accepted.kind) == (202, b"", None)


@pytest.mark.parametrize("status", [405, 404, 406])
def test_a_server_without_a_stream_to_listen_on_is_no_failure(status: int) -> None:
    """A GET that is refused ended the connection, or was repeated without end."""
    prompts = PromptClient(ListingConfig(eager=False))
    web = legacy(prompts, offers={"prompts": {"listChanged": True}})
    listed = prompts.list(0.0)
    web.answer(web.one("GET"), status)
    web.reply(web.one("prompts/list"), {"prompts": [{"name": "a"}]})
    assert [event.op for event in web.of(Listed)] == [listed]
    web.wait(1000.0)
    assert web.count("GET") == 1


def test_a_modern_server_has_no_stream_to_listen_on() -> None:
    """Stateless servers left the GET open, and nothing ever came."""
    reply = Web(versions=(MODERN,)).begin("GET").take()
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


def test_a_request_that_times_out_is_given_up_alone() -> None:
    """Clients took a slow reply for a dead connection, and the session and the cache with it."""
    prompts = PromptClient(ListingConfig(eager=False))
    web = legacy(prompts, offers={"prompts": {}}, quiet_timeout=10.0)
    prompts.list(0.0)
    web.reply(web.one("prompts/list"), {"prompts": [{"name": "a"}]})
    refreshed = prompts.refresh(0.0)
    slow = web.one("prompts/list")
    web.events()
    web.wait(10.0)
    events = web.events()
    (failed,) = [event for event in events if isinstance(event, OpFailed)]
    assert failed.op == refreshed
    assert isinstance(failed.failure, WalkFailed)
    assert failed.failure.failure == TimedOut("quiet", 10.0)
    assert not [event for event in events if isinstance(event, Disconnected)]
    assert slow.closed
    assert prompts.snapshot is not None
    prompts.list(web.now)
    assert header(web.one("prompts/list"), "Mcp-Session-Id") == SESSION
    assert web.count("initialize") == 1


def test_a_lost_session_is_begun_anew_once_and_its_list_is_not_believed() -> None:
    """Clients kept the dead id, began sessions in a circle, or showed prompts of the old one."""
    prompts = PromptClient(ListingConfig(eager=False))
    web = legacy(prompts, offers={"prompts": {}})
    prompts.list(0.0)
    web.reply(web.one("prompts/list"), {"prompts": [{"name": "old"}]})
    got = prompts.get("old", None, 0.0)
    web.answer(web.one("prompts/get"), 404)
    assert header(web.one("initialize"), "Mcp-Session-Id") is None
    web.say_legacy(session="s-2", prompts={})
    prompts.list(web.now)
    assert header(web.one("prompts/list"), "Mcp-Session-Id") == "s-2"
    again = web.one("prompts/get")
    assert header(again, "Mcp-Session-Id") == "s-2"
    web.answer(again, 404)
    ends = [event.op for event in web.of(OpFailed)]
    assert got in ends
    web.pull()
    assert web.count("initialize") == 2


# --- odd JSON -----------------------------------------------------------------------------------------


def test_of_members_that_come_twice_the_last_counts() -> None:
    """Two parsers read two messages out of the same bytes."""
    reply = Web().session().raw(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}')
    assert reply.json == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_number_beyond_every_float_is_no_time() -> None:
    """It became infinity, and a list that is fresh for ever."""
    prompts = PromptClient(ListingConfig(eager=False))
    web = modern(prompts, offers={"prompts": {}})
    prompts.list(0.0)
    web.answer(
        web.one("prompts/list"), 200, b'{"jsonrpc":"2.0","id":2,"result":{"prompts":[],"ttlMs":1e400}}'
    )
    (listed,) = web.of(Listed)
    assert not listed.fresh


# --- one connection -----------------------------------------------------------------------------------


class Connection:
    """A connection of a client in a legacy session to our server, as bytes."""

    def __init__(self) -> None:
        self.web = Web()
        self.session = self.web.session()
        self.wire = H11ServerWire(self.web.http, 0.0)

    def send(self, data: bytes) -> bytes:
        """What comes back."""
        self.wire.receive_data(data, 0.0)
        back = b"".join(self.wire.data_to_send())
        self.web.wait(0.0)
        return back + b"".join(self.wire.data_to_send())

    def ask(self, method: str, *fields: str, body: bytes = b"") -> bytes:
        """Make a request; what comes back."""
        head = [f"{method} /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", *fields]
        return self.send("\r\n".join([*head, "", ""]).encode() + body)

    def ping(self, *fields: str, body: bytes = PING) -> bytes:
        """A request that is in order; what comes back."""
        session = f"Mcp-Session-Id: {self.session.id}"
        return self.ask("POST", session, f"Content-Length: {len(PING)}", *fields, body=body)


@pytest.mark.parametrize(
    ("method", "fields", "body", "status"),
    [
        ("HEAD", (), b"", 405),
        ("OPTIONS", (), b"", 405),
        ("PUT", ("Content-Length: 2",), b"{}", 405),
        ("POST", ("Content-Encoding: gzip", "Content-Length: 2"), b"\x1f\x8b", 415),
    ],
)
def test_a_connection_outlives_a_request_that_is_refused(
    method: str, fields: tuple[str, ...], body: bytes, status: int
) -> None:
    """The rest of the refused request was read as the next one, or the reply to HEAD had a body."""
    connection = Connection()
    assert connection.ask(method, *fields, body=body).startswith(b"HTTP/1.1 %d " % status)
    assert connection.ping().startswith(b"HTTP/1.1 200 ")
    assert not connection.wire.closed


def test_who_waits_for_a_go_ahead_gets_it() -> None:
    """Client and server waited for each other."""
    connection = Connection()
    assert connection.ping("Expect: 100-continue", body=b"").startswith(b"HTTP/1.1 100 ")
    assert connection.send(PING).startswith(b"HTTP/1.1 200 ")
    assert connection.ping().startswith(b"HTTP/1.1 200 ")


def replied(wire: H11ClientWire, status: bytes, *fields: bytes, body: bytes = b"") -> None:
    """Take the request on a connection of a client, and answer it."""
    assert wire.data_to_send()
    head = b"\r\n".join([b"HTTP/1.1 " + status, *fields, b"Content-Length: %d" % len(body), b"", b""])
    wire.receive_data(head + body, 0.0)


def test_what_is_said_to_a_notification_is_read_and_the_connection_used_again() -> None:
    """The body of a 202 was taken for an error, or was left in the connection."""
    client = Client(ClientConfig(info=CLIENT, versions=("2025-11-25",)))
    pool = H11Pool(client, HttpUrl.parse("http://localhost/mcp"), 0.0)
    wire = pool.next_wire()
    assert wire is not None
    wire.connected(0.0)
    welcome = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
    replied(wire, b"200 OK", b"Content-Type: application/json", body=welcome)
    assert pool.next_wire() is None
    replied(wire, b"202 Accepted", b"Content-Type: text/plain; charset=UTF-8", body=b"Accepted")
    client.request("ping", None, 0.0)
    assert pool.next_wire() is None
    assert b'"method":"ping"' in b"".join(wire.data_to_send())
    assert isinstance(client.next_event(), Negotiated)
    assert client.next_event() is None
