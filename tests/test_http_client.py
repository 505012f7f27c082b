"""HTTP client: the headers of every exchange, what may overtake what, and what asks for no reply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from clients import LEGACY, MODERN
from http_asking import SESSION, Asker, asks, body, header, legacy, modern

from mcp_sansio import (
    CallSucceeded,
    Diagnostic,
    Disconnected,
    LocalProtocolError,
    RequestReceived,
    Send,
)

BOTH = "application/json, text/event-stream"


def names(exchange: Any) -> list[str]:
    return [name for name, _ in exchange.headers]


# --- headers ------------------------------------------------------------------------------------------


def test_the_probe_mirrors_its_own_version() -> None:
    probe = Asker().one("server/discover")
    assert (probe.method, probe.target) == ("POST", "/mcp")
    assert probe.headers == (
        ("Accept", BOTH),
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", MODERN),
        ("Mcp-Method", "server/discover"),
    )
    assert body(probe)["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "greet"}, "greet"),
        ("tools/call", {"name": "us-west1"}, "us-west1"),
        ("resources/read", {"uri": "file:///a", "name": "b"}, "file:///a"),
        ("prompts/get", {"name": "Hello, 世界"}, "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ("prompts/get", {"name": " padded "}, "=?base64?IHBhZGRlZCA=?="),
        ("prompts/get", {"name": "line1\nline2"}, "=?base64?bGluZTEKbGluZTI=?="),
        ("prompts/get", {"name": "=?base64?literal?="}, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("prompts/get", {"name": 5}, None),
        ("prompts/get", None, None),
        ("prompts/list", {"name": "greet"}, None),
        ("x/y\r\nEvil: 1", {}, None),
    ],
)
def test_modern_requests_mirror_method_and_name(method: str, params: Any, name: str | None) -> None:
    web = modern()
    web.client.request(method, params, 0.0)
    made = web.one(method)
    assert header(made, "MCP-Protocol-Version") == MODERN
    assert header(made, "Mcp-Name") == name
    assert header(made, "Mcp-Method") in (method, "=?base64?eC95DQpFdmlsOiAx?=")
    assert not any("\n" in value for _, value in made.headers)


def test_modern_notifications_carry_the_version_that_was_agreed() -> None:
    web = modern()
    web.client.notify("notifications/x", {"a": 1}, 0.0)
    made = web.one("notifications/x")
    assert header(made, "MCP-Protocol-Version") == MODERN
    assert header(made, "Mcp-Method") == "notifications/x"


def test_initialize_has_neither_version_nor_session() -> None:
    web = Asker(versions=(LEGACY,))
    assert names(web.one("initialize")) == ["Accept", "Content-Type"]


def test_a_legacy_session_puts_its_id_and_version_on_everything() -> None:
    web = legacy(answers=("x/ask",))
    web.client.request("prompts/get", {"name": "a"}, 0.0)
    web.client.notify("notifications/x", None, 0.0)
    get = web.one("prompts/get")
    web.stream(get, {"id": 7, "method": "x/ask"})
    (asked,) = web.of(RequestReceived)
    web.client.respond(asked.request, {"b": 2}, 0.0)
    (initialized,) = [made for made in web.made if asks(made) == "notifications/initialized"]
    for made in (get, initialized, web.one("notifications/x"), web.one("POST")):
        assert made.headers == (
            ("Accept", BOTH),
            ("Content-Type", "application/json"),
            ("MCP-Protocol-Version", LEGACY),
            ("Mcp-Session-Id", SESSION),
        )
    assert body(web.one("POST")) == {"jsonrpc": "2.0", "id": 7, "result": {"b": 2}}


def test_a_server_without_session_ids_gets_none() -> None:
    web = legacy(session=None)
    web.client.request("ping", None, 0.0)
    assert names(web.one("ping")) == ["Accept", "Content-Type", "MCP-Protocol-Version"]


@pytest.mark.parametrize("session", ["", "a b", "ä", "a\x7f", "a, b"])
def test_a_session_id_that_cannot_be_sent_is_none(session: str) -> None:
    web = Asker(versions=(LEGACY,))
    web.say_legacy(session=session)
    assert [event.kind for event in web.of(Diagnostic)] == ["bad-session-id"]
    web.client.request("ping", None, 0.0)
    assert header(web.one("ping"), "Mcp-Session-Id") is None


def test_a_modern_server_has_no_sessions() -> None:
    web = Asker(versions=(MODERN,))
    web.reply(
        web.one("server/discover"),
        {"supportedVersions": [MODERN], "capabilities": {}},
        [("Mcp-Session-Id", "x")],
    )
    web.client.request("x/y", None, 0.0)
    assert header(web.one("x/y"), "Mcp-Session-Id") is None


def test_headers_of_the_application() -> None:
    def more(message: Send) -> Iterable[tuple[str, str]]:
        return [("Mcp-Param-Region", "us")] if message.method == "tools/call" else []

    web = Asker(
        versions=(MODERN,), http={"headers": [("Authorization", "Bearer x")], "request_headers": more}
    )
    web.say_modern()
    web.client.request("tools/call", {"name": "a"}, 0.0)
    assert header(web.made[0], "Authorization") == "Bearer x"
    assert "Mcp-Param-Region" not in names(web.made[0])
    assert web.one("tools/call").headers[-2:] == (("Authorization", "Bearer x"), ("Mcp-Param-Region", "us"))


@pytest.mark.parametrize(
    "bad",
    [
        [("a b", "x")],
        [("X", "1\r\nY: 2")],
        [("X", " 12")],
        [("X", "12 ")],
        [("X", "\t")],
        [("", "x")],
        [("Mcp-name", "x")],
        [("Accept-Encoding", "x")],
    ],
)
def test_headers_that_cannot_be_sent_are_refused(bad: list[tuple[str, str]]) -> None:
    with pytest.raises(LocalProtocolError) as raised:
        Asker(http={"headers": bad})
    assert bad[0][1] not in str(raised.value) or bad[0][1] == "x"

    web = Asker(http={"request_headers": lambda _: bad})
    assert header(web.one("server/discover"), "Mcp-Method") == "server/discover"
    assert [event.kind for event in web.of(Diagnostic)] == ["request-headers"]


def test_a_hook_that_fails_costs_its_headers_only() -> None:
    def broken(_: Send) -> Iterable[tuple[str, str]]:
        raise RuntimeError("oops")

    web = Asker(http={"request_headers": broken})
    web.say_modern()
    assert "oops" in web.of(Diagnostic)[0].text
    assert web.client.version == MODERN


# --- what may overtake what ---------------------------------------------------------------------------


def test_exchanges_overtake_each_other() -> None:
    web = modern()
    calls = [web.client.request(f"x/{number}", None, 0.0) for number in range(3)]
    for number in (2, 0, 1):
        web.reply(web.one(f"x/{number}"), {"number": number})
    ended = {event.call: event.result["number"] for event in web.of(CallSucceeded)}
    assert ended == {calls[0]: 0, calls[1]: 1, calls[2]: 2}
    assert [event for event in web.made if not event.closed] == []


def test_nothing_overtakes_initialized() -> None:
    web = Asker(versions=(LEGACY,))
    web.client.request("ping", None, 0.0)
    web.reply(web.one("initialize"), {"protocolVersion": LEGACY, "capabilities": {}})
    assert [asks(made) for made in web.pull()] == ["notifications/initialized"]
    assert web.pull() == []
    web.head(web.one("notifications/initialized"), 202)
    assert [asks(made) for made in web.pull()] == ["ping"]


def test_a_session_in_which_initialized_does_not_arrive_is_none() -> None:
    web = Asker(versions=(LEGACY,))
    web.client.request("ping", None, 0.0)
    web.reply(web.one("initialize"), {"protocolVersion": LEGACY, "capabilities": {}})
    for seconds in (0.25, 0.5, 1.0):
        web.one("notifications/initialized").abort(web.now)
        assert web.pull() == []
        web.wait(seconds)
    assert web.open("ping") == []
    web.one("notifications/initialized").abort(web.now)
    assert web.count("notifications/initialized") == 4
    assert web.of(Disconnected) == [Disconnected("the session is lost")]
    web.say_legacy()
    assert len(web.open("ping")) == 1


def test_a_server_that_does_not_answer_initialized_may_have_heard_it() -> None:
    web = Asker(versions=(LEGACY,), quiet_timeout=10.0)
    web.reply(web.one("initialize"), {"protocolVersion": LEGACY, "capabilities": {}})
    web.pull()
    web.wait(9.0)
    web.client.request("ping", None, web.now)
    web.wait(1.0)
    assert len(web.open("ping")) == 1
    assert [event.kind for event in web.of(Diagnostic)] == ["message-lost"]


@pytest.mark.parametrize("status", [400, 404])
def test_a_server_that_refuses_initialized_is_asked_all_the_same(status: int) -> None:
    web = Asker(versions=(LEGACY,))
    web.client.request("ping", None, 0.0)
    web.reply(web.one("initialize"), {"protocolVersion": LEGACY, "capabilities": {}})
    web.answer(web.one("notifications/initialized"), status)
    assert [event.kind for event in web.of(Diagnostic)] == ["message-refused"]
    assert len(web.open("ping")) == 1


def test_who_is_in_trouble_is_told_again_that_we_are_initialized() -> None:
    """Else the session would never be one in which changes are announced, and its lists stay "fresh"."""
    web = Asker(versions=(LEGACY,))
    web.client.request("ping", None, 0.0)
    web.reply(web.one("initialize"), {"protocolVersion": LEGACY, "capabilities": {}})
    web.answer(web.one("notifications/initialized"), 503, b"", (("Retry-After", "2"),))
    assert web.pull() == []
    web.wait(1.9)
    assert web.count("notifications/initialized") == 1
    web.wait(0.1)
    web.answer(web.one("notifications/initialized"), 202)
    assert web.of(Diagnostic) == []
    assert len(web.open("ping")) == 1


def test_who_stays_in_trouble_is_asked_all_the_same() -> None:
    web = Asker(versions=(LEGACY,))
    web.client.request("ping", None, 0.0)
    web.reply(web.one("initialize"), {"protocolVersion": LEGACY, "capabilities": {}})
    for _ in range(4):
        assert web.open("ping") == []
        web.answer(web.one("notifications/initialized"), 500)
        web.wait(1.0)
    assert [event.kind for event in web.of(Diagnostic)] == ["message-refused"]
    assert web.count("notifications/initialized") == 4
    assert len(web.open("ping")) == 1


# --- messages that ask for no reply -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (202, (), b""),
        (200, (), b""),
        (204, (), b""),
        (200, (("Content-Type", "application/json"), ("Content-Length", "0")), b""),
        (200, (("Content-Type", "application/json"),), b"null"),
        (200, (("Transfer-Encoding", "chunked"),), b""),
        (202, (("Content-Type", "text/plain; charset=UTF-8"),), b"Accepted"),
        (200, (("Content-Type", "text/event-stream"),), b'data: {"jsonrpc":"2.0","method":"x"}\n\n'),
        (202, (("Content-Encoding", "gzip"),), b"\x1f\x8b"),
    ],
)
def test_any_success_will_do_for_a_notification(
    status: int, headers: tuple[tuple[str, str], ...], said: bytes
) -> None:
    web = modern()
    web.client.notify("notifications/x", None, 0.0)
    web.answer(web.one("notifications/x"), status, said, headers)
    assert web.events() == []
    assert web.open("notifications/x") == []


def test_a_notification_that_is_refused_or_lost_is_reported() -> None:
    web = modern()
    web.client.notify("notifications/x", None, 0.0)
    web.answer(web.one("notifications/x"), 403)
    web.client.notify("notifications/x", None, 0.0)
    web.one("notifications/x").abort(0.0, "reset")
    web.client.notify("notifications/x", None, 0.0)
    web.one("notifications/x").receive_eof(0.0)
    assert [(event.kind, event.text) for event in web.of(Diagnostic)] == [
        ("message-refused", "notifications/x: HTTP 403"),
        ("message-lost", "notifications/x: reset"),
        ("message-lost", "notifications/x: closed without an answer"),
    ]


def test_a_notification_does_not_wait_for_ever() -> None:
    web = modern(quiet_timeout=10.0)
    web.client.notify("notifications/x", None, 0.0)
    made = web.one("notifications/x")
    web.wait(9.0)
    assert web.open("notifications/x") == [made]
    web.wait(1.0)
    assert made.closed
    assert [event.text for event in web.of(Diagnostic)] == ["notifications/x: no answer in time"]
    assert web.client.next_timeout() is None


def test_without_a_timeout_it_does() -> None:
    web = modern(quiet_timeout=None, total_timeout=None)
    web.client.notify("notifications/x", None, 0.0)
    web.pull()
    assert web.client.next_timeout() is None
