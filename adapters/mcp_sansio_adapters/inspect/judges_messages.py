"""Judges of messages as such: JSON-RPC, the carrier's framing, what nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_sansio import METHOD_NOT_FOUND, Era
from mcp_sansio._plain import is_id, is_object, member

from .conversation import LISTEN, Asked, Conversation, Said, key_of
from .rule import Evidence

SLOW = ("prompts/get", "completion/complete")
"""What may take any time, so that silence says nothing."""

METHODS = (
    *("initialize", "server/discover", "ping", "prompts/list", "prompts/get", "completion/complete"),
    *("resources/list", "resources/read", "resources/templates/list", "resources/subscribe"),
    *("resources/unsubscribe", "tools/list", "tools/call", "logging/setLevel", LISTEN),
    *("tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"),
)
"""The methods that a server may know."""

CLIENT_FEATURES = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""What a legacy server may ask, and the capability of the client that it needs."""


def noise(talk: Conversation) -> Iterator[Evidence]:
    """What is no message at all."""
    for said in talk.received:
        if not is_object(said.value) or not (said.has_method or said.is_reply):
            yield said.data


def other_version(talk: Conversation) -> Iterator[Evidence]:
    """Messages that do not say `"jsonrpc": "2.0"`."""
    return (
        said.data
        for said in talk.received
        if (said.has_method or said.is_reply) and said.member("jsonrpc") != "2.0"
    )


def result_and_error(talk: Conversation) -> Iterator[Evidence]:
    """Replies with both, and results that are no objects."""
    for said in talk.received:
        if said.is_reply and ({"result", "error"} <= said.value.keys() or _odd_result(said)):
            yield said.data


def _odd_result(said: Said) -> bool:
    return "result" in said.value and not is_object(said.value["result"])


def bad_error(talk: Conversation) -> Iterator[Evidence]:
    """Errors without a code that is an integer and a message that is a string."""
    for said in talk.received:
        if said.is_reply and "error" in said.value and "result" not in said.value:
            error = said.value["error"]
            if type(member(error, "code")) is not int or not isinstance(member(error, "message"), str):
                yield said.data


def wrong_id(talk: Conversation) -> Iterator[Evidence]:
    """Replies with an id that no request had which is open; what comes with an HTTP error may be anything."""
    failed = {said.exchange for each in talk.exchanges if each.status >= 400 for said in each.replies}
    open_: set[tuple[str, Any]] = set()
    for sent, said in sorted(_both(talk), key=lambda each: each[1].at):
        key = key_of(said)
        if sent and said.has_method and is_id(key[1]):
            open_.add(key)
        elif not sent and said.is_reply and "id" in said.value and key[1] is not None:
            if not is_id(key[1]) or key not in open_:
                if said.exchange not in failed:
                    yield said.data
            else:
                open_.remove(key)


def _both(talk: Conversation) -> Iterator[tuple[bool, Said]]:
    yield from ((True, said) for said in talk.sent)
    yield from ((False, said) for said in talk.received)


def null_id(talk: Conversation) -> Iterator[Evidence]:
    """Requests of the server's without an id that can be."""
    return (
        said.data
        for said in talk.received
        if said.has_method and "id" in said.value and not is_id(said.value["id"])
    )


def no_answer(talk: Conversation) -> Iterator[Evidence]:
    """Requests that were never answered, silence being allowed to none of them.

    What is asked while a server is busy with something slow is none of them.
    """
    for asked in () if talk.cut else talk.requests:
        answered = asked.replies or refused_over_http(talk, asked)
        if not answered and asked.method in SLOW:
            return
        silent_by_right = asked.method == LISTEN or (
            asked.method == "server/discover" and talk.era is Era.LEGACY
        )
        if not answered and not silent_by_right and not asked.said.batch:
            yield asked.evidence


def refused_over_http(talk: Conversation, asked: Asked) -> bool:
    """Whether the server said no by a status, and so without an id, or sent us elsewhere."""
    number = asked.said.exchange
    return any(each.number == number and each.status >= 300 for each in talk.exchanges)


def batch_unanswered(talk: Conversation) -> Iterator[Evidence]:
    """Requests of a batch that were not answered."""
    return (asked.evidence for asked in talk.requests if asked.said.batch and asked.result is None)


def answered_notification(talk: Conversation) -> Iterator[Evidence]:
    """Errors to nobody, on a channel where only notifications could have caused them."""
    return (
        said.data
        for said in talk.received
        if said.is_reply and said.member("id") is None and _well_formed(talk)
    )


def _well_formed(talk: Conversation) -> bool:
    """Whether all that was sent was readable, so that no error without an id was ever due."""
    return all(is_object(said.value) and not said.batch for said in talk.sent)


def unknown_method(talk: Conversation) -> Iterator[Evidence]:
    """Methods that cannot exist, answered by a result or another code than -32601."""
    for asked in talk.requests:
        other = type(asked.code) is int and asked.code != METHOD_NOT_FOUND
        if asked.method not in METHODS and (other or asked.result is not None):
            yield asked.evidence


def server_request(talk: Conversation) -> Iterator[Evidence]:
    """Requests of a modern server's."""
    return (said.data for said in talk.received if said.has_method and "id" in said.value)


def undeclared_request(talk: Conversation) -> Iterator[Evidence]:
    """Requests of a legacy server's for what the client did not declare."""
    declared: Any = {}
    for asked in talk.asked("initialize"):
        declared = asked.params.get("capabilities")
    for said in talk.received:
        feature = CLIENT_FEATURES.get(str(said.member("method")))
        if feature is not None and "id" in said.value and member(declared, feature) is None:
            yield said.data
