"""Judges of HTTP: statuses, content types and headers, exchange by exchange.

What is said about credentials, patience and failures (401, 403, 429, 5xx …) is no evidence about the
protocol, nor is a redirect, so exchanges that ended so are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcp_sansio import METHOD_NOT_FOUND
from mcp_sansio._meta import CLIENT_CAPABILITIES, VERSION
from mcp_sansio._plain import is_id, is_object, member

from .conversation import ELSEWHERE, UNKNOWN, Conversation, Exchange
from .rule import Evidence

HEADER_MISMATCH = -32020
BAD_REQUEST = (HEADER_MISMATCH, -32021, -32022)
"""Errors that are 400 by definition."""

UNDECIDED = (401, 403, 407, 408, 409, 429)
TOLD = 202


def _decided(talk: Conversation, method: str = "POST") -> Iterator[Exchange]:
    for each in talk.exchanges:
        known = each.status < 300 or (400 <= each.status < 500 and each.status not in UNDECIDED)
        if each.method == method and known:
            yield each


def _requests(talk: Conversation) -> Iterator[Exchange]:
    for each in _decided(talk):
        if each.asked is not None and each.asked.has_method and is_id(each.asked.member("id")):
            yield each


def _code(exchange: Exchange) -> object:
    error = exchange.replies[-1].member("error") if exchange.replies else None
    return member(error, "code")


def content_type(talk: Conversation) -> Iterator[Evidence]:
    """Answers that are neither JSON nor a stream of events."""
    for each in _requests(talk):
        if each.status < 300 and each.media not in ("application/json", "text/event-stream"):
            yield each.evidence


def notification_status(talk: Conversation) -> Iterator[Evidence]:
    """Notifications that were accepted otherwise than by 202."""
    for each in _decided(talk):
        told = each.asked is not None and each.asked.has_method and "id" not in each.asked.value
        if told and each.status < 300 and each.status != TOLD:
            yield each.evidence


def session_id(talk: Conversation) -> Iterator[Evidence]:
    """Session ids of other than visible ASCII characters."""
    for each in talk.exchanges:
        session = each.headers.get("mcp-session-id")
        if session is not None and not all("!" <= char <= "~" for char in session):
            yield f"Mcp-Session-Id: {session!r}"


def version_header(talk: Conversation) -> Iterator[Evidence]:
    """A revision that does not exist, answered by another status than 400."""
    for each in _decided(talk):
        if each.sent.get("mcp-protocol-version") == UNKNOWN and each.status != 400:
            yield each.evidence


def origin(talk: Conversation) -> Iterator[Evidence]:
    """Requests of a page from elsewhere, served by a server of this machine."""
    for each in talk.exchanges:
        if each.local and each.sent.get("origin") == ELSEWHERE and each.status < 300:
            yield each.evidence


def get_stream(talk: Conversation) -> Iterator[Evidence]:
    """A GET that gives neither a stream nor 405."""
    for each in _decided(talk, "GET"):
        streams = each.status == 200 and each.media == "text/event-stream"
        if not streams and each.status != 405 and each.sent.get("accept") == "text/event-stream":
            yield each.evidence


def ended_session(talk: Conversation) -> Iterator[Evidence]:
    """Requests in a session that was ended, answered by another status than 404."""
    ended: set[str] = set()
    for each in talk.exchanges:
        session = each.sent.get("mcp-session-id", "")
        if each.method == "DELETE" and each.status < 300:
            ended.add(session)
        elif session and session in ended and each.status < 300:
            yield each.evidence


def unknown_method_status(talk: Conversation) -> Iterator[Evidence]:
    """Methods that are not there by their code, but there by their status."""
    for each in _requests(talk):
        if _code(each) == METHOD_NOT_FOUND and each.status != 404:
            yield each.evidence


def error_status(talk: Conversation) -> Iterator[Evidence]:
    """Errors that must be 400, and are not."""
    for each in _requests(talk):
        if _code(each) in BAD_REQUEST and each.status != 400:
            yield each.evidence


def malformed_status(talk: Conversation) -> Iterator[Evidence]:
    """Requests without a member that they must have, refused with another status than 400."""
    for each in _requests(talk):
        meta = member(each.asked.member("params"), "_meta") if each.asked is not None else None
        lacks = is_object(meta) and VERSION in meta and CLIENT_CAPABILITIES not in meta
        if lacks and member(each.replies[0].value if each.replies else None, "error") and each.status != 400:
            yield each.evidence


def header_mismatch(talk: Conversation) -> Iterator[Evidence]:
    """Headers that contradict the body, answered by anything but a 400 with -32020."""
    for each in _requests(talk):
        says = each.sent.get("mcp-method")
        differs = each.asked is not None and says is not None and says != each.asked.member("method")
        if differs and (each.status != 400 or _code(each) != HEADER_MISMATCH):
            yield each.evidence
