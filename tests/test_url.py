"""Where an HTTP server is: what a person may write, what a request then says, and where a redirect leads."""

from __future__ import annotations

import pytest

from mcp_sansio import HttpUrl, LocalProtocolError


@pytest.mark.parametrize(
    ("text", "origin", "authority", "target", "port"),
    [
        ("http://example.com/mcp", "http://example.com", "example.com", "/mcp", 80),
        ("https://example.com", "https://example.com", "example.com", "/", 443),
        ("HTTPS://Example.COM:443/a?b=c&d", "https://example.com", "example.com", "/a?b=c&d", 443),
        ("http://localhost:8000?x", "http://localhost:8000", "localhost:8000", "/?x", 8000),
        ("http://[::1]:8000/mcp#top", "http://[::1]:8000", "[::1]:8000", "/mcp", 8000),
        ("http://[FE80::1]/", "http://[fe80::1]", "[fe80::1]", "/", 80),
        ("http://127.0.0.1:1/", "http://127.0.0.1:1", "127.0.0.1:1", "/", 1),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example", "xn--bcher-kva.example", "/%C3%BC", 80),
        ("http://a_b.internal.:80/x", "http://a_b.internal.", "a_b.internal.", "/x", 80),
        ("http://example.com:/x", "http://example.com", "example.com", "/x", 80),
    ],
)
def test_a_url_is_taken_apart(text: str, origin: str, authority: str, target: str, port: int) -> None:
    url = HttpUrl.parse(text)
    assert (url.origin, url.authority, url.target, url.port) == (origin, authority, target, port)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "http://"),
        ("example.com/mcp", "http://"),
        ("localhost:8000", "http://"),
        ("ftp://example.com", "http://"),
        ("stdio:x", "http://"),
        ("http:///mcp", "no host"),
        ("http:mcp", "no host"),
        ("http://user:secret@example.com/", "Authorization"),
        ("http://exa mple.com/", "spaces"),
        ("http://example.com/a b", "spaces"),
        ("http://example.com/\r\nX: y", "spaces"),
        ("http://example.com/\ud800", "spaces"),
        ("http://example.com:99999/", "no port"),
        ("http://example.com:0/", "no port"),
        ("http://example.com:http/", "host and port"),
        ("http://exa$mple.com/", "host name"),
        ("http://..com/", "host name"),
        (f"http://{'ü' * 100}.example/", "host name"),
        ("http://[::1/", "host and port"),
        ("http://[localhost]/", "IPv6"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(text: str, reason: str) -> None:
    with pytest.raises(LocalProtocolError, match=reason) as caught:
        HttpUrl.parse(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "ws://example.com/?token=secret",
        "http://example.com/ x#secret",
        "ws://user:secret@example.com/",
        "http://secret@exa mple.com",
    ],
)
def test_an_error_quotes_neither_query_nor_credentials(text: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        HttpUrl.parse(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("https://example.com:8443/x", "https://example.com:8443/x"),
        ("//other.example/x", "http://other.example/x"),
        ("/x", "http://example.com/x"),
        ("x", "http://example.com/a/x"),
        ("./x?y", "http://example.com/a/x?y"),
        ("../x", "http://example.com/x"),
        ("../../../x/", "http://example.com/x/"),
        ("x/..", "http://example.com/a/"),
        ("x/.", "http://example.com/a/x/"),
        ("/x/./y/../z", "http://example.com/x/z"),
        ("", "http://example.com/a/b?q"),
        ("?r", "http://example.com/a/b?r"),
        ("#top", "http://example.com/a/b?q"),
    ],
)
def test_a_reference_is_resolved(reference: str, expected: str) -> None:
    url = HttpUrl.parse("http://example.com/a/b?q").join(reference)
    assert url.origin + url.target == expected


@pytest.mark.parametrize("reference", ["ftp://example.com", "http://", "//", "a b", "http://u:p@example.com"])
def test_a_reference_that_leads_nowhere_is_refused(reference: str) -> None:
    with pytest.raises(LocalProtocolError):
        HttpUrl.parse("http://example.com/a/b").join(reference)
