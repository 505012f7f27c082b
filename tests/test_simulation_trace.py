"""Traces: written, read back, identified."""

from __future__ import annotations

import pytest

from mcp_sansio._trace import Header, Trace, bytes_of, text_of


def made() -> Trace:
    trace = Trace(Header(scenario="s", seed=4, tape=(("x", 3, 1),)))
    first = trace.add(0.1, "out", "c", "x", data="text")
    trace.add(0.25, "in", "s", "x", data=["a", {"b": None}], cause=first)
    return trace


def test_a_trace_is_lines_of_json() -> None:
    head, *body = made().lines()
    assert head.startswith(b'{"format":"mcp-sansio-trace/1","library":"')
    assert body == [
        b'{"t":0.1,"i":0,"k":"out","n":"c","l":"x","d":"text"}',
        b'{"t":0.25,"i":1,"k":"in","n":"s","l":"x","c":0,"d":["a",{"b":null}]}',
    ]


def test_it_is_read_back() -> None:
    trace = Trace.parse(made().lines())
    assert trace.header == made().header
    assert list(trace) == list(made())
    assert len(trace) == 2


def test_the_digest_is_that_of_the_events() -> None:
    other = made()
    other.header = Header()
    assert other.digest() == made().digest()
    other.add(1.0, "end")
    assert other.digest() != made().digest()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "not a trace"),
        ([b'{"format":"another/1"}'], "not a trace"),
        ([b"{"], "line 1"),
        ([*made().lines(), b'{"t":"x"}'], "line 4"),
        ([b"\xff"], "line 1"),
    ],
)
def test_what_is_no_trace_is_refused(lines: list[bytes], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Trace.parse(lines)


@pytest.mark.parametrize("data", [b"", b"text", "é".encode(), b"\xff\x00"])
def test_bytes_come_back(data: bytes) -> None:
    assert bytes_of(text_of(data)) == data
