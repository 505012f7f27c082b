"""HTTP client: what is given up, streams that do not end, and how it all ends."""

from __future__ import annotations

import pytest
from clients import LEGACY, MODERN
from http_asking import SESSION, Asker, asks, body, header, legacy, modern

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Cancelled,
    Client,
    Closed,
    Disconnected,
    HttpClient,
    LocalProtocolError,
    Lost,
    TimedOut,
)
from mcp_sansio._http_client import LINGER

# --- giving up ----------------------------------------------------------------------------------------


def test_a_modern_call_that_is_cancelled_closes_its_exchange() -> None:
    web = modern()
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.client.cancel(call, 0.0)
    assert web.pull() == []
    assert made.closed
    web.answer(made, 200, b'{"jsonrpc":"2.0","id":2,"result":{}}')
    assert web.events() == [CallFailed(call, Cancelled())]


def test_a_legacy_call_that_is_cancelled_says_so_too() -> None:
    web = legacy()
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.client.cancel(call, 0.0)
    assert body(web.one("notifications/cancelled"))["params"] == {"requestId": body(made)["id"]}
    assert made.closed


def test_a_timeout_ends_one_exchange_and_nothing_else() -> None:
    web = legacy(quiet_timeout=10.0)
    slow, other = web.client.request("x/slow", None, 0.0), web.client.request("x/other", None, 0.0)
    made = web.one("x/slow")
    web.reply(web.one("x/other"), {})
    web.wait(10.0)
    assert made.closed
    assert web.events() == [CallSucceeded(other, {}), CallFailed(slow, TimedOut("quiet", 10.0))]
    web.client.request("x/next", None, web.now)
    assert header(web.one("x/next"), "Mcp-Session-Id") == SESSION


def test_a_call_that_has_not_left_has_no_exchange_to_close() -> None:
    web = modern()
    call = web.client.request("x/y", None, 0.0)
    web.client.cancel(call, 0.0)
    assert web.pull() == []


def test_a_reply_may_come_before_its_call_is_given_up() -> None:
    """The exchange is over already when the endpoint says that it is of no use."""
    web = modern()
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.client.cancel(call, 0.0)
    made.abort(0.0)
    assert web.pull() == []
    assert web.events() == [CallFailed(call, Cancelled())]


# --- streams that do not end --------------------------------------------------------------------------


def test_a_stream_may_end_as_it_should_after_its_response() -> None:
    web = modern()
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.stream(made, {"id": 2, "result": {"resultType": "complete"}})
    assert web.events() == [CallSucceeded(call, {"resultType": "complete"})]
    assert web.open("x/y") == [made]
    made.receive_eof(0.0)
    assert made.closed
    assert web.client.next_timeout() is None


def test_but_it_must_not_take_its_time() -> None:
    web = modern()
    web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.stream(made, {"id": 2, "result": {}})
    web.wait(LINGER)
    assert made.closed
    assert [type(event) for event in web.events()] == [CallSucceeded]


# --- the end ------------------------------------------------------------------------------------------


def test_closing_ends_the_session() -> None:
    web = legacy(http={"headers": [("Authorization", "t")]})
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.client.notify("notifications/x", None, 0.0)
    web.client.close(0.0)
    assert [asks(exchange) for exchange in web.pull()] == ["notifications/x", "DELETE"]
    assert made.closed
    assert web.of(CallFailed) == [CallFailed(call, Closed("closed"))]
    delete = web.one("DELETE")
    assert delete.headers == (
        ("MCP-Protocol-Version", LEGACY),
        ("Mcp-Session-Id", SESSION),
        ("Authorization", "t"),
    )
    assert delete.body == b""
    web.answer(web.one("notifications/x"), 202)
    assert not web.http.closed
    web.answer(delete, 204)
    assert web.http.closed


@pytest.mark.parametrize("status", [404, 405, 500])
def test_whatever_the_server_says_to_that(status: int) -> None:
    web = legacy()
    web.client.close(0.0)
    web.answer(web.one("DELETE"), status)
    assert web.http.closed
    assert web.count("initialize") == 1


def test_a_session_whose_end_is_lost_is_over() -> None:
    web = legacy()
    web.client.close(0.0)
    web.one("DELETE").abort(0.0)
    assert web.http.closed


def test_without_a_session_there_is_nothing_to_end() -> None:
    web = modern()
    web.client.close(0.0)
    assert web.pull() == []
    assert web.http.closed


def test_nothing_is_retried_after_the_end() -> None:
    web = Asker(versions=(LEGACY,))
    web.reply(web.one("initialize"), {"protocolVersion": LEGACY, "capabilities": {}})
    web.one("notifications/initialized").abort(0.0)
    web.client.close(0.0)
    web.wait(100.0)
    assert web.count("notifications/initialized") == 1
    assert web.http.closed


def test_a_client_can_go_on_elsewhere() -> None:
    web = legacy()
    call = web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.http.close(0.0, "moving")
    assert web.events() == [Disconnected("moving"), CallFailed(call, Lost("moving"))]
    assert made.closed
    assert [asks(exchange) for exchange in web.pull()] == ["DELETE"]
    web.answer(web.one("DELETE"), 204)
    assert web.http.closed
    web.http.close(0.0)
    assert web.pull() == []
    again = HttpClient(web.client, "/new", 0.0)
    exchange = again.next_exchange()
    assert exchange is not None
    assert (asks(exchange), exchange.target) == ("initialize", "/new")


def test_one_client_has_one_carrier() -> None:
    web = modern()
    with pytest.raises(LocalProtocolError):
        HttpClient(web.client, "/mcp", 0.0)


def test_the_loss_of_the_only_probe_is_not_the_end() -> None:
    web = Asker()
    assert isinstance(web.client, Client)
    web.one("server/discover").abort(0.0, "refused")
    web.wait(0.25)
    web.say_modern()
    assert web.client.version == MODERN
