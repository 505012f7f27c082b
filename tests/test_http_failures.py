"""HTTP client: what a person is told of a reply that holds no message."""

from __future__ import annotations

import pytest
from http_asking import after, asked, legacy, outcome

from mcp_sansio import HttpFailed, Lost

RESPONSE = b'{"jsonrpc":"2.0","id":2,"result":{"a":1}}'


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, b"No valid\n  session ID\n", "No valid session ID"),
        (503, b"<p>" + b"x" * 1000, "<p>" + "x" * 197),
        (500, b"\xff!", "\ufffd!"),
        (418, b"", "no message"),
        (401, b" \n", "Unauthorized: credentials are missing, or not accepted"),
        (404, b"", "Not Found: nothing is served at this URL"),
        (405, b"", "Method Not Allowed: this URL is not made for messages"),
        (502, b"", "Bad Gateway: there is no sensible answer from the server behind it"),
        (403, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Host?"}}', "Host?"),
        (200, b"hello", "no message, but hello"),
        (200, b"", "no message"),
    ],
)
def test_the_reason_is_how_the_body_began_or_what_the_status_means(
    status: int, body: bytes, reason: str
) -> None:
    assert after(status, "text/plain", body) == HttpFailed(status, reason)


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"<!DOCTYPE html>\n<html><head><title>404\n  Not Found</title>", "a web page: 404 Not Found"),
        (b"\n<!-- made by x --> <HTML>" + b" " * 3000 + b"<Title lang=en>Hi", "a web page: Hi"),
        (b"<html><title>" + b"x" * 1000, "a web page: " + "x" * 200),
        (b"<html><title> </title>", "a web page"),
        (b"<html><body>Bad" + b" " * 5000 + b"<title>Late</title>", "a web page"),
    ],
)
def test_of_a_web_page_its_title_is_told(page: bytes, reason: str) -> None:
    assert after(502, "text/html", page) == HttpFailed(502, reason)
    assert after(200, "text/html", page) == HttpFailed(200, f"no message, but {reason}")


def test_how_long_the_server_asks_for_patience_is_told() -> None:
    web, made = asked()
    web.answer(made, 429, b"slower", [("Retry-After", "7")])
    assert outcome(web) == HttpFailed(429, "slower", 7.0)


@pytest.mark.parametrize(
    ("coding", "read"), [("identity", True), ("Identity", True), ("", True), ("gzip", False)]
)
def test_an_encoded_body_is_not_read(coding: str, read: bool) -> None:
    web, made = asked()
    web.answer(made, 200, RESPONSE, [("Content-Type", "application/json"), ("Content-Encoding", coding)])
    told = "no message, but a body that is encoded ('gzip'), which was not asked for"
    assert outcome(web) == ({"a": 1} if read else HttpFailed(200, told))


def test_a_session_may_be_lost_in_a_body_that_is_not_read() -> None:
    web, made = asked(legacy())
    web.head(made, 404, [("Content-Encoding", "gzip")])
    assert outcome(web) == Lost("the session is lost")
    assert len(web.open("initialize")) == 1
