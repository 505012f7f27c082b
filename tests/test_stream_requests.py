"""Requests that a server makes of a legacy client."""

from __future__ import annotations

import pytest
from serving import Peer, held, legacy

from mcp_sansio import (
    CallFailed,
    CallSucceeded,
    Limits,
    LocalProtocolError,
    Lost,
    ProgressReported,
    TimedOut,
)


def test_a_request_to_a_legacy_client() -> None:
    peer = legacy()
    call = peer.server.request(peer.stream, "roots/list", None, 0.0)
    (request,) = peer.sent()
    assert request == {"jsonrpc": "2.0", "id": request["id"], "method": "roots/list"}
    peer.reply(request["id"], {"roots": []})
    assert peer.events() == [CallSucceeded(call, {"roots": []})]


def test_a_request_to_a_legacy_client_with_all_that_there_is() -> None:
    peer = legacy()
    params, meta = {"maxTokens": 5}, {"traceparent": "00-1"}
    call = peer.server.request(peer.stream, "sampling/createMessage", params, 0.0, meta=meta, progress=True)
    (request,) = peer.sent()
    token = request["params"]["_meta"]["progressToken"]
    assert request["params"] == {"maxTokens": 5, "_meta": {"progressToken": token, "traceparent": "00-1"}}
    peer.notify("notifications/progress", {"progressToken": token, "progress": 0.5, "total": 1})
    assert peer.events() == [ProgressReported(call, 0.5, 1)]


def test_a_legacy_client_that_does_not_reply_is_told_so() -> None:
    peer = legacy(quiet_timeout=5, total_timeout=None)
    call = peer.server.request(peer.stream, "roots/list", None, 0.0)
    (request,) = peer.sent()
    peer.wait(4.9)
    assert peer.events() == []
    peer.wait(0.1)
    assert peer.events() == [CallFailed(call, TimedOut("quiet", 5))]
    (cancelled,) = peer.sent()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": request["id"]}
    peer.reply(request["id"], {})
    assert len(peer.events()) == 1  # a late reply is a diagnostic


def test_a_request_may_have_limits_of_its_own() -> None:
    peer = legacy()
    call = peer.server.request(peer.stream, "roots/list", None, 0.0, limits=Limits(total=1.5))
    peer.wait(2)
    assert peer.events() == [CallFailed(call, TimedOut("total", 1.5))]


def test_requests_are_made_of_initialized_legacy_clients_only() -> None:
    """Modern "servers MUST NOT initiate JSON-RPC requests"."""
    modern = Peer()
    modern.listen("l")
    waiting = Peer()
    waiting.initialize(ready=False)
    finished = legacy()
    held(finished, 1)
    finished.wire.receive_eof(0.0)  # it will be answered, but cannot answer
    for peer in (modern, waiting, finished):
        with pytest.raises(LocalProtocolError, match="legacy clients only"):
            peer.server.request(peer.stream, "roots/list", None, 0.0)
        assert peer.sent() == []


def test_what_cannot_be_sent_has_no_effect() -> None:
    peer = legacy()
    for params, meta in (({"x": float("nan")}, None), ({"_meta": {}}, None), (None, {"progressToken": 1})):
        with pytest.raises(LocalProtocolError):
            peer.server.request(peer.stream, "roots/list", params, 0.0, meta=meta)
    assert peer.sent() == []
    assert peer.server.next_timeout() is None


def test_requests_end_with_the_input() -> None:
    peer = legacy()
    call = peer.server.request(peer.stream, "roots/list", None, 0.0)
    peer.wire.receive_eof(0.0)
    assert peer.events()[0] == CallFailed(call, Lost("end of input"))
    assert peer.server.next_timeout() is None
