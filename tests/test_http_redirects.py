"""Redirects: which are followed, where they lead, and what is said of those that are not."""

from __future__ import annotations

import pytest
from clients import LEGACY, discovered, welcome
from http_asking import SSE, Asker, legacy, modern
from pooled import Far, Near, asked, ok

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Diagnostic,
    HttpFailed,
    NegotiationFailed,
    PromptClient,
)

# --- redirects ----------------------------------------------------------------------------------------


def redirected(near: Near, far: Far, status: int, location: str | None) -> None:
    """Answer with a redirect, and let follow what follows."""
    fields = () if location is None else (f"Location: {location}",)
    near.answer(far, ok(b"", *fields, status=status))
    near.wait(0)


@pytest.mark.parametrize("location", ["/new?x", "http://localhost:8000/new?x", "new?x"])
def test_a_redirect_within_the_origin_is_followed(location: str) -> None:
    near = Near()
    far = near.welcomed()
    asked(near, "tools/call")
    redirected(near, far, 307, location)
    again = near.far[-1]
    assert again.heads[-1].startswith("POST /new?x ")
    assert again.asked[-1] == far.asked[-1]
    near.reply(again, {})
    assert len(near.of(CallSucceeded)) == 1
    assert asked(near).heads[-1].startswith("POST /mcp ")


def test_a_permanent_redirect_holds_for_what_follows() -> None:
    near = Near()
    redirected(near, near.pull()[0], 308, "/new")
    near.reply(near.far[-1], discovered())
    assert asked(near).heads[-1].startswith("POST /new ")


@pytest.mark.parametrize(
    ("statuses", "later"),
    [((308, 308), "/b"), ((307, 308), "/mcp"), ((308, 307), "/a"), ((308, 307, 308), "/a")],
)
def test_what_is_permanent_holds_up_to_the_first_that_is_not(statuses: tuple[int, ...], later: str) -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    for status, location in zip(statuses, ("/a", "/b", "/c"), strict=False):
        redirected(near, far, status, location)
        far = near.far[-1]
    near.reply(far, {})
    assert asked(near).heads[-1].startswith(f"POST {later} ")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308, 399])
@pytest.mark.parametrize(
    "location", ["http://other.example/mcp?token=1", "https://localhost:8000/mcp", "x y", None]
)
def test_other_redirects_are_told_and_not_followed(status: int, location: str | None) -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    redirected(near, far, status, location)
    (failed,) = near.of(CallFailed)
    assert isinstance(failed.failure, HttpFailed)
    assert failed.failure.status == status
    assert "not followed" in failed.failure.reason
    assert "token" not in failed.failure.reason
    assert len(near.far) == 1


def test_five_redirects_in_a_row_are_followed_and_no_more() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    for number in range(5):
        redirected(near, far, 307, f"/{number}")
        far = near.far[-1]
        assert far.heads[-1].startswith(f"POST /{number} ")
    redirected(near, far, 307, "/5")
    (failed,) = near.of(CallFailed)
    assert failed.failure == HttpFailed(
        307, "redirects to '/5', which is not followed: there were 5 before it"
    )


def test_a_reference_is_resolved_where_it_was_met() -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    redirected(near, far, 307, "/a/b?c")
    redirected(near, near.far[-1], 307, "d")
    assert near.far[-1].heads[-1].startswith("POST /a/d ")


@pytest.mark.parametrize(
    ("status", "location", "reason"),
    [
        (
            301,
            "/x?token=1",
            "redirects to '/x', which is not followed: it is not 307 or 308, which keep the method",
        ),
        (307, None, "redirects to nowhere, which is not followed: it is not at this server"),
        (
            308,
            "https://me:secret@other.example/x#y",
            "redirects to 'https://other.example/x', which is not followed: it is not at this server",
        ),
    ],
)
def test_a_person_is_told_where_it_leads_and_why_nobody_goes_there(
    status: int, location: str | None, reason: str
) -> None:
    near = Near()
    far = near.welcomed()
    asked(near)
    redirected(near, far, status, location)
    assert [each.failure for each in near.of(CallFailed)] == [HttpFailed(status, reason)]


def test_nothing_goes_over_an_open_line_that_was_meant_for_a_secure_one() -> None:
    near = Near(url="https://example.com/mcp")
    redirected(near, near.pull()[0], 308, "http://example.com/mcp")
    assert near.pool.closed


@pytest.mark.parametrize(
    ("location", "target"),
    [("/x", "/x"), ("x?y", "/x?y"), ("//other.example/x", None), ("http://localhost/x", None)],
)
def test_without_an_origin_what_names_a_server_is_not_followed(location: str, target: str | None) -> None:
    web = modern()
    web.client.request("x/y", None, 0.0)
    web.head(web.one("x/y"), 308, [("Location", location)])
    web.wait(0.0)
    assert [made.target for made in web.open("x/y")] == ([] if target is None else [target])


def test_a_message_is_redirected_with_its_method_and_its_body() -> None:
    web = modern()
    web.client.notify("notifications/x", {"a": 1}, 0.0)
    first = web.one("notifications/x")
    web.head(first, 307, [("Location", "/y")])
    web.wait(0.0)
    second = web.one("notifications/x")
    assert (second.method, second.headers, second.body) == (first.method, first.headers, first.body)
    assert second.target == "/y"
    web.answer(second, 202)
    assert web.events() == []


def test_nothing_overtakes_initialized_on_its_way_elsewhere() -> None:
    web = Asker(versions=(LEGACY,))
    web.reply(web.one("initialize"), welcome())
    web.client.request("ping", None, 0.0)
    web.head(web.one("notifications/initialized"), 307, [("Location", "/y")])
    web.wait(0.0)
    assert web.open("ping") == []
    web.answer(web.one("notifications/initialized"), 202)
    assert len(web.open("ping")) == 1


def test_a_stream_that_is_taken_up_again_may_be_redirected_each_time() -> None:
    web = legacy()
    web.client.request("x/y", None, 0.0)
    made = web.one("x/y")
    web.head(made, 200, SSE)
    made.receive_data(b"id: e1\nretry: 0\ndata: \n\n", 0.0)
    made.receive_eof(0.0)
    web.wait(0.25)
    for delay in (0.5, 1.0):
        for number in range(5):
            web.head(web.one("GET"), 307, [("Location", f"/{number}")])
            web.wait(0.0)
        web.one("GET").abort(web.now)
        web.wait(delay)
    assert web.one("GET").repeatable


@pytest.mark.parametrize("status", [300, 301, 304, 305, 399])
@pytest.mark.parametrize("body", [b"", b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'])
def test_a_redirect_says_nothing_about_the_era_whatever_its_body_says(status: int, body: bytes) -> None:
    near = Near(versions=("2026-07-28", LEGACY))
    (far,) = near.pull()
    near.answer(far, ok(body, "Location: http://other.example/mcp", status=status))
    (failed,) = near.of(NegotiationFailed)
    assert "http://other.example/mcp" in failed.reason
    assert failed.status == status
    assert far.asked[1:] == []


@pytest.mark.parametrize("status", [300, 304, 305])
def test_a_redirect_is_no_success_of_a_message_or_a_stream(status: int) -> None:
    near = Near(PromptClient(), versions=(LEGACY,))
    (far,) = near.pull()
    near.reply(far, welcome(prompts={"listChanged": True}))
    redirected(near, far, status, None)
    assert [each.kind for each in near.of(Diagnostic)] == ["message-refused"]
    (stream,) = [far for far in near.far if far.asked[-1] == "GET"]
    redirected(near, stream, status, None)
    near.wait(100)
    assert sum(far.asked.count("GET") for far in near.far) == 1


def test_a_message_or_a_stream_that_is_redirected_elsewhere_is_refused() -> None:
    near = Near(PromptClient(), versions=(LEGACY,))
    (far,) = near.pull()
    near.reply(far, welcome(prompts={"listChanged": True}))
    redirected(near, far, 302, "/x")
    assert [each.kind for each in near.of(Diagnostic)] == ["message-refused"]
    (stream,) = [far for far in near.far if far.asked[-1] == "GET"]
    redirected(near, stream, 307, "http://other.example/x")
    near.wait(100)
    assert sum(far.asked.count("GET") for far in near.far) == 1


def test_a_connection_that_is_not_needed_any_more_is_not_opened() -> None:
    near = Near()
    near.welcomed()
    asked(near)
    near.client.request("x/a", None, 0.0)
    given_up = near.client.request("x/b", None, 0.0)
    first = near.pool.next_wire()
    near.client.cancel(given_up, 0.0)
    assert near.pool.next_wire() is None
    assert first is not None
