"""Finding out the era of a server over HTTP: what is evidence, what is not, and what is only trouble."""

from __future__ import annotations

from typing import Any

import pytest
from clients import LEGACY, MODERN, discovered, welcome
from http_asking import SSE, Asker, body, error, header

from mcp_sansio import (
    CallSucceeded,
    Era,
    Negotiated,
    NegotiationFailed,
    PromptClient,
    RpcError,
    Verdict,
)

UNKNOWN = b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}'


def failure(web: Asker) -> NegotiationFailed:
    (failed,) = web.of(NegotiationFailed)
    web.pull()
    assert web.http.closed
    return failed


# --- evidence -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 202, 400, 404, 405, 406, 410, 415, 422])
@pytest.mark.parametrize("said", [b"", b"Bad Request", b"{}", b'{"error":"no session"}'])
def test_an_answer_that_no_modern_server_gives_means_legacy(status: int, said: bytes) -> None:
    web = Asker()
    web.answer(web.one("server/discover"), status, said)
    web.say_legacy()
    assert web.client.era is Era.LEGACY


@pytest.mark.parametrize("status", [200, 400, 404])
@pytest.mark.parametrize("code", [-32602, -32600, 0, -32000, -32601, -32004])
def test_so_does_any_error_that_is_not_modern(status: int, code: int) -> None:
    web = Asker()
    web.refuse(web.one("server/discover"), status, id=None, **error(code, "initialize first"))
    web.say_legacy()
    assert web.client.era is Era.LEGACY


def test_a_version_error_means_modern_and_is_answered_once_per_version() -> None:
    web = Asker()
    told = error(-32022, data={"supported": [MODERN], "requested": MODERN})
    web.refuse(web.one("server/discover"), 400, **told)
    again = web.one("server/discover")
    assert header(again, "MCP-Protocol-Version") == MODERN
    web.say_modern()
    assert web.client.version == MODERN
    assert web.count("initialize") == 0


@pytest.mark.parametrize(
    "data", [{"requested": MODERN, "supported": ["2026-10-01"]}, None, {"supported": None}, [], MODERN]
)
def test_without_a_common_version_there_is_no_handshake(data: Any) -> None:
    web = Asker()
    web.refuse(web.one("server/discover"), 400, **error(-32022, data=data))
    failed = failure(web)
    assert isinstance(failed.error, RpcError)
    assert failed.error.code == -32022
    assert web.count("initialize") == 0


@pytest.mark.parametrize("code", [-32020, -32021])
def test_other_modern_errors_are_modern_whatever_the_status(code: int) -> None:
    web = Asker()
    web.refuse(web.one("server/discover"), 400, **error(code))
    web.refuse(web.one("server/discover"), 400, **error(code))
    assert failure(web).error == RpcError(code, "no")


def test_the_probe_may_be_answered_by_a_stream() -> None:
    web = Asker()
    probe = web.one("server/discover")
    web.stream(probe, {"id": body(probe)["id"], "result": discovered()})
    assert web.client.version == MODERN


def test_so_may_the_handshake_session_and_all() -> None:
    web = Asker(versions=(LEGACY,))
    hello = web.one("initialize")
    web.head(hello, 200, (*SSE, ("MCP-SESSION-ID", "s-9")))
    web.say(hello, {"id": body(hello)["id"], "result": welcome()})
    assert header(web.one("notifications/initialized"), "mcp-session-id") == "s-9"


@pytest.mark.parametrize("status", [200, 404, 405])
@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_who_answers_with_no_message_is_named_by_the_status(status: int, version: str) -> None:
    web = Asker(versions=(version,))
    (first,) = web.pull()
    web.answer(first, status)
    assert failure(web).status == status


def test_an_error_that_is_a_message_needs_no_status() -> None:
    web = Asker(versions=(LEGACY,))
    web.refuse(web.one("initialize"), 400, **error(-32000))
    assert failure(web).status is None


# --- no evidence --------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403, 407])
@pytest.mark.parametrize("said", [b"", UNKNOWN])
def test_a_refusal_of_our_credentials_ends_it(status: int, said: bytes) -> None:
    for versions in ((MODERN, LEGACY), (LEGACY,)):
        web = Asker(versions=versions)
        (first,) = web.pull()
        web.answer(first, status, said)
        failed = failure(web)
        assert f"HTTP {status}" in failed.reason
        assert failed.status == status
        assert len(web.made) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503])
@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_trouble_is_given_some_time(status: int, version: str) -> None:
    method = "server/discover" if version == MODERN else "initialize"
    web = Asker(versions=(version,))
    for delay in (0.25, 0.5, 1.0):
        web.answer(
            web.one(method), status, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
        )
        web.wait(delay)
    web.answer(web.one(method), status)
    assert failure(web).reason.startswith(f"no answer to {method}: HTTP {status}")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "delay"),
    [
        ("2", 2.0),
        ("0", 0.25),
        ("86400", 30.0),
        ("9" * 5000, 30.0),
        ("-1", 0.25),
        ("1.5", 0.25),
        ("2, 2", 0.25),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.25),
    ],
)
@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_a_server_may_say_how_much_time(status: int, said: str, delay: float, version: str) -> None:
    """In seconds, and not more than is ever waited; a date would need a clock."""
    method = "server/discover" if version == MODERN else "initialize"
    web = Asker(versions=(version,))
    web.answer(web.one(method), status, b"", [("Retry-After", said)])
    web.wait(delay - 0.01)
    assert web.open(method) == []
    web.wait(0.01)
    assert len(web.open(method)) == 1


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
def test_a_server_elsewhere_says_nothing_about_this_one(status: int) -> None:
    web = Asker()
    web.head(web.one("server/discover"), status, [("Location", "https://new.example/mcp?key=secret")])
    failed = failure(web)
    assert failed.reason.startswith(
        f"no answer to server/discover: HTTP {status} redirects to 'https://new.example/mcp', "
    )
    assert "secret" not in failed.reason
    assert len(web.made) == 1


def test_trouble_that_passes_leaves_no_trace() -> None:
    web = Asker()
    call = web.client.request("x/y", None, 0.0)
    web.answer(web.one("server/discover"), 503)
    web.wait(0.25)
    web.one("server/discover").abort(web.now)
    web.wait(0.5)
    web.say_modern()
    web.reply(web.one("x/y"), {})
    assert web.of(CallSucceeded) == [CallSucceeded(call, {})]


def test_a_server_that_cannot_be_reached_is_given_up() -> None:
    web = Asker()
    for delay in (0.25, 0.5, 1.0):
        web.one("server/discover").abort(web.now, "refused")
        web.wait(delay)
    web.one("server/discover").abort(web.now, "refused")
    assert failure(web).reason == "no answer to server/discover: refused"


def test_a_lost_handshake_is_made_again_and_may_still_offer_an_older_version() -> None:
    web = Asker(versions=(LEGACY, "2025-06-18"))
    web.one("initialize").abort(0.0)
    web.wait(0.25)
    web.refuse(web.one("initialize"), 200, **error(-32602))
    assert body(web.one("initialize"))["params"]["protocolVersion"] == "2025-06-18"


# --- silence ------------------------------------------------------------------------------------------


def silent() -> Asker:
    """A server that has not answered the probe in time."""
    web = Asker()
    web.wait(5.0)
    return web


def test_a_silent_server_is_greeted_and_the_probe_let_go_of() -> None:
    web = silent()
    probe = web.one("server/discover")
    web.reply(web.one("initialize"), welcome())
    web.answer(web.one("notifications/initialized"), 202)
    web.pull()
    assert web.client.era is Era.LEGACY
    assert probe.closed


def test_the_probe_may_be_lost_while_hands_are_shaken() -> None:
    web = silent()
    web.one("server/discover").abort(web.now)
    assert web.of(NegotiationFailed) == []
    web.reply(web.one("initialize"), welcome())
    assert [event.era for event in web.of(Negotiated)] == [Era.LEGACY]


def test_the_handshake_may_be_lost_while_the_probe_is_awaited() -> None:
    web = silent()
    web.one("initialize").abort(web.now)
    web.wait(0.25)
    web.reply(web.one("initialize"), welcome())
    assert [event.era for event in web.of(Negotiated)] == [Era.LEGACY]


@pytest.mark.parametrize("late", [True, False])
def test_a_late_answer_to_the_probe_counts_when_the_handshake_is_lost_for_good(late: bool) -> None:
    web = silent()
    if late:
        web.reply(web.one("server/discover"), discovered())
    else:
        web.refuse(web.one("server/discover"), 200, **error(-32601))
    for delay in (0.25, 0.5, 1.0, 0.0):
        web.one("initialize").abort(web.now, "refused")
        web.wait(delay)
    if late:
        assert [event.era for event in web.of(Negotiated)] == [Era.MODERN]
    else:
        assert failure(web).reason == "no answer to initialize: refused"


# --- what people are told -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 405])
def test_the_old_transport_is_named(status: int) -> None:
    web = Asker()
    web.answer(web.one("server/discover"), status)
    web.answer(web.one("initialize"), status)
    assert "HTTP+SSE transport of 2024-11-05" in failure(web).reason


def test_an_error_of_the_protocol_is_not_that() -> None:
    web = Asker(versions=(LEGACY,))
    web.refuse(web.one("initialize"), 400, **error(-32000, "not today"))
    assert "not today" in failure(web).reason


def test_an_odd_answer_to_the_handshake_says_what_it_was() -> None:
    web = Asker(versions=(LEGACY,))
    web.answer(web.one("initialize"), 418, b"a teapot")
    assert failure(web).reason == "initialize failed: HTTP 418 a teapot"


def test_a_verdict_skips_the_probe() -> None:
    web = Asker(PromptClient(), verdict=Verdict(Era.LEGACY, LEGACY))
    web.say_legacy()
    assert web.count("server/discover") == 0
