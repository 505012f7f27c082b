"""What an application may say about a request besides its answer: a question, progress, a notification."""

from __future__ import annotations

from typing import Any

import pytest
from serving import (
    ACKNOWLEDGED,
    ECHO,
    EVERY,
    FORM,
    LIST_CHANGED,
    MODERN,
    SERVER_INFO,
    answering,
    received,
)

from mcp_sansio import (
    InputRequest,
    InputRequired,
    LocalProtocolError,
)

# --- asking for input -------------------------------------------------------------------------------


def test_any_layer_can_ask_for_input() -> None:
    peer = answering(MODERN, methods=("tools/call",))
    request = received(peer, "tools/call", capabilities={"elicitation": {}})
    peer.server.ask(request, InputRequired({"__proto__": FORM}, "opaque"), 0.0)
    result = peer.sent()[0]["result"]
    assert result.pop("_meta")[SERVER_INFO]["name"] == "test-server"
    assert result == {
        "resultType": "input_required",
        "inputRequests": {"__proto__": {"method": FORM.method, "params": dict(FORM.params)}},
        "requestState": "opaque",
    }


def test_an_extension_may_ask_in_answer_to_its_own_methods() -> None:
    peer = answering(MODERN, input_methods=ECHO)
    peer.server.ask(received(peer), InputRequired({}, "again"), 0.0)
    assert peer.sent()[0]["result"]["requestState"] == "again"


@pytest.mark.parametrize(
    ("version", "method", "wanted", "reason"),
    [
        ("2025-11-25", "tools/call", InputRequired({}, "s"), "2025-11-25"),
        (MODERN, "x/echo", InputRequired({}, "s"), "x/echo"),
        (MODERN, "tools/call", InputRequired(), "neither"),
        (MODERN, "tools/call", InputRequired({"a": InputRequest("tools/call")}), "tools/call"),
        (MODERN, "tools/call", InputRequired({"a": FORM}, 5), "InputRequired"),  # type: ignore[arg-type]  # the mistake
        (MODERN, "tools/call", InputRequired({"a": 5}), "InputRequest"),  # type: ignore[dict-item]  # the mistake
    ],
)
def test_input_that_nobody_can_be_asked_for(version: str, method: str, wanted: Any, reason: str) -> None:
    peer = answering(version, methods=(*ECHO, "tools/call"))
    request = received(peer, method)
    with pytest.raises(LocalProtocolError, match=reason):
        peer.server.ask(request, wanted, 0.0)
    assert peer.sent() == []
    peer.server.respond(request, {}, 0.0)
    assert peer.sent()[0]["id"] == 1


@pytest.mark.parametrize(
    ("declared", "requests", "missing"),
    [
        ({}, [FORM], {"elicitation": {"form": {}}}),
        ({"elicitation": None}, [FORM], {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}}}, [FORM], {"elicitation": {"form": {}}}),
        (
            {"elicitation": {}},
            [InputRequest("elicitation/create", {"mode": "url"})],
            {"elicitation": {"url": {}}},
        ),
        (
            {"elicitation": {"form": {}}},
            [InputRequest("elicitation/create", {"mode": [1]})],
            {"elicitation": {"[1]": {}}},
        ),
        ({"sampling": {}}, [InputRequest("roots/list")], {"roots": {}}),
        (
            {},
            [FORM, InputRequest("roots/list"), InputRequest("sampling/createMessage")],
            {"elicitation": {"form": {}}, "roots": {}, "sampling": {}},
        ),
    ],
)
def test_a_client_is_not_asked_for_what_it_did_not_declare(
    declared: dict[str, Any], requests: list[InputRequest], missing: dict[str, Any]
) -> None:
    peer = answering(MODERN, methods=("tools/call",))
    request = received(peer, "tools/call", capabilities=declared)
    peer.server.ask(request, InputRequired(dict(zip("abc", requests, strict=False)), "s"), 0.0)
    (reply,) = peer.sent()
    assert reply["error"]["code"] == -32021
    assert reply["error"]["data"] == {"requiredCapabilities": missing}


@pytest.mark.parametrize(
    ("declared", "request_"),
    [
        ({"elicitation": {}}, InputRequest("elicitation/create", {})),
        ({"elicitation": {}}, InputRequest("elicitation/create", {"mode": None})),
        ({"elicitation": {"form": {}, "url": {}}}, InputRequest("elicitation/create", {"mode": "url"})),
        ({"roots": {}}, InputRequest("roots/list")),
        ({"sampling": {"tools": {}}}, InputRequest("sampling/createMessage", {"maxTokens": 1})),
    ],
)
def test_a_client_is_asked_for_what_it_declared(declared: dict[str, Any], request_: InputRequest) -> None:
    peer = answering(MODERN, methods=("tools/call",))
    request = received(peer, "tools/call", capabilities=declared)
    peer.server.ask(request, InputRequired({"a": request_}), 0.0)
    assert peer.sent()[0]["result"]["inputRequests"]["a"]["method"] == request_.method


# --- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize("token", ["t", 0, 2**53 + 1])
def test_progress(version: str, token: Any) -> None:
    peer = answering(version)
    request = received(peer, progressToken=token)
    assert peer.server.progress(request, 0.5, 0.0, total=2, message="half")
    assert peer.server.progress(request, 1, 0.0)
    first, second = (message["params"] for message in peer.sent())
    said = {} if version == "2024-11-05" else {"message": "half"}
    assert first == {"progressToken": token, "progress": 0.5, "total": 2, **said}
    assert second == {"progressToken": token, "progress": 1}


@pytest.mark.parametrize(
    "token", [{}, {"progressToken": None}, {"progressToken": True}, {"progressToken": 1.5}]
)
def test_progress_that_nobody_asked_for_is_not_sent(token: dict[str, Any]) -> None:
    peer = answering(MODERN)
    assert not peer.server.progress(received(peer, **token), 1, 0.0)
    assert peer.sent() == []


def test_progress_increases() -> None:
    peer = answering(MODERN)
    request = received(peer, progressToken=1)
    peer.server.progress(request, 1, 0.0)
    for value in (1, 0.5, float("nan"), float("inf")):
        with pytest.raises(LocalProtocolError):
            peer.server.progress(request, value, 0.0)
    peer.server.progress(request, 1.5, 0.0)
    assert [message["params"]["progress"] for message in peer.sent()] == [1, 1.5]


def test_progress_stops_with_the_reply() -> None:
    peer = answering(MODERN)
    request = received(peer, progressToken=1)
    peer.server.respond(request, {}, 0.0)
    with pytest.raises(LocalProtocolError, match="not open"):
        peer.server.progress(request, 1, 0.0)
    assert len(peer.sent()) == 1


# --- notifications ----------------------------------------------------------------------------------


def test_a_notification_about_a_request() -> None:
    peer = answering(MODERN)
    request = received(peer)
    peer.server.notify(request, "notifications/message", {"level": "info", "data": 1}, 0.0, meta={"k": 1})
    peer.server.respond(request, {}, 0.0)
    message, _ = peer.sent()
    assert message["params"] == {"level": "info", "data": 1, "_meta": {"k": 1}}
    with pytest.raises(LocalProtocolError, match="not open"):
        peer.server.notify(request, "notifications/message", None, 0.0)


def test_a_notification_to_a_legacy_session() -> None:
    peer = answering("2025-06-18")
    peer.server.notify(peer.stream, "notifications/message", None, 0.0)
    assert peer.sent() == [{"jsonrpc": "2.0", "method": "notifications/message"}]


def test_a_modern_client_is_notified_about_its_requests_only() -> None:
    peer = answering(MODERN)
    with pytest.raises(LocalProtocolError, match="its requests only"):
        peer.server.notify(peer.stream, "notifications/message", None, 0.0)


@pytest.mark.parametrize(
    "method", ["notifications/cancelled", "notifications/progress", ACKNOWLEDGED, LIST_CHANGED]
)
def test_notifications_with_rules_of_their_own_have_no_back_door(method: str) -> None:
    """Modern servers "MUST NOT send `notifications/cancelled` for any other purpose", for one."""
    peer = answering("2025-11-25")
    for to in (peer.stream, received(peer)):
        with pytest.raises(LocalProtocolError, match="by the library itself"):
            peer.server.notify(to, method, {}, 0.0)
    assert peer.sent() == []


@pytest.mark.parametrize(
    ("method", "params", "meta"),
    [
        ("x", {"_meta": {}}, None),
        ("x", {"a": float("nan")}, None),
        ("\ud83d", None, None),
        ("x", None, {"k": {1}}),
    ],
)
def test_a_notification_that_cannot_be_sent_has_no_effect(method: str, params: Any, meta: Any) -> None:
    peer = answering("2025-11-25")
    with pytest.raises(LocalProtocolError):
        peer.server.notify(peer.stream, method, params, 0.0, meta=meta)
    assert peer.sent() == []
