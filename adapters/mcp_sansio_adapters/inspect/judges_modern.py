"""Judges of the modern era: what it adds to results and errors, and its subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_sansio import INVALID_PARAMS, MODERN_VERSIONS
from mcp_sansio._meta import CLIENT_CAPABILITIES, SERVER_INFO, SUBSCRIPTION_ID, VERSION
from mcp_sansio._plain import is_array, is_object, member

from .conversation import LISTEN, UNKNOWN, Asked, Conversation, tag_of
from .judges_messages import CLIENT_FEATURES, refused_over_http
from .judges_prompts import CHANGED, walks
from .rule import Evidence

UNSUPPORTED_VERSION = -32022
DEFINED = (-32020, -32021, UNSUPPORTED_VERSION)
CACHED = ("server/discover", "prompts/list")
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
MAY_ASK = ("prompts/get", "resources/read", "tools/call")
FILTERS = {
    CHANGED: "promptsListChanged",
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
"""By which member of the filter a notification is asked for."""


def _results(talk: Conversation) -> Iterator[tuple[Asked, dict[str, Any]]]:
    return (
        (asked, asked.result)
        for asked in talk.requests
        if asked.version in MODERN_VERSIONS and asked.result is not None
    )


def no_result_type(talk: Conversation) -> Iterator[Evidence]:
    """Results that do not say what they are."""
    return (each.evidence for each, result in _results(talk) if not isinstance(result.get("resultType"), str))


def no_server_info(talk: Conversation) -> Iterator[Evidence]:
    """Results that do not say whose they are."""
    return (
        each.evidence for each, result in _results(talk) if member(result.get("_meta"), SERVER_INFO) is None
    )


def _cacheable(talk: Conversation) -> Iterator[tuple[Asked, dict[str, Any]]]:
    for asked, result in _results(talk):
        if asked.method in CACHED and result.get("resultType", "complete") == "complete":
            yield asked, result


def no_hints(talk: Conversation) -> Iterator[Evidence]:
    """Cacheable results without their hints."""
    return (
        each.evidence for each, result in _cacheable(talk) if not {"ttlMs", "cacheScope"} <= result.keys()
    )


def bad_ttl(talk: Conversation) -> Iterator[Evidence]:
    """Times to live that are negative, or no integers."""
    for asked, result in _cacheable(talk):
        ttl = result.get("ttlMs", 0)
        whole = type(ttl) is int or (type(ttl) is float and ttl.is_integer())
        if not whole or ttl < 0:
            yield asked.evidence


def bad_scope(talk: Conversation) -> Iterator[Evidence]:
    """Scopes of a cache that do not exist."""
    for asked, result in _cacheable(talk):
        if result.get("cacheScope", "public") not in ("public", "private"):
            yield asked.evidence


def reserved_code(talk: Conversation) -> Iterator[Evidence]:
    """Errors with codes that are nobody's to use."""
    for asked in talk.requests:
        code = asked.code
        known = type(code) is int
        if known and (code in (-32002, -32042) or (-32099 <= code <= -32020 and code not in DEFINED)):
            yield asked.evidence


def untagged(talk: Conversation) -> Iterator[Evidence]:
    """Changes announced without saying to which subscription."""
    for said in talk.told(CHANGED):
        if member(member(said.member("params"), "_meta"), SUBSCRIPTION_ID) is None:
            yield said.data


def not_acknowledged(talk: Conversation) -> Iterator[Evidence]:
    """Changes announced on a subscription before its acknowledgement."""
    for asked in talk.asked(LISTEN):
        wanted = asked.said.member("id")
        tagged = [said for said in talk.received if tag_of(said.value) == wanted]
        if tagged and tagged[0].member("method") != ACKNOWLEDGED:
            yield tagged[0].data


def never_acknowledged(talk: Conversation) -> Iterator[Evidence]:
    """Subscriptions on which nothing was ever said, nor were they refused, though somebody waited."""
    for asked in talk.asked(LISTEN) if talk.patient and not talk.cut else ():
        wanted = asked.said.member("id")
        begun = any(tag_of(said.value) == wanted for said in talk.received)
        if not begun and not asked.replies and not refused_over_http(talk, asked):
            yield asked.evidence


def unwanted(talk: Conversation) -> Iterator[Evidence]:
    """Notifications of a kind that the subscription did not ask for."""
    for asked in talk.asked(LISTEN):
        wanted = asked.params.get("notifications")
        for said in talk.received:
            feature = FILTERS.get(str(said.member("method")))
            mine = feature is not None and tag_of(said.value) == asked.said.member("id")
            if mine and not member(wanted, str(feature)):
                yield said.data


def bad_discovery(talk: Conversation) -> Iterator[Evidence]:
    """Discoveries without revisions or capabilities."""
    for asked in talk.asked("server/discover"):
        if asked.result is not None and asked.version in MODERN_VERSIONS:
            versions = asked.result.get("supportedVersions")
            known = is_array(versions) and versions and all(isinstance(each, str) for each in versions)
            if not (known and is_object(asked.result.get("capabilities"))):
                yield asked.evidence


def version_accepted(talk: Conversation) -> Iterator[Evidence]:
    """A revision that does not exist, answered by anything but -32022."""
    return (
        asked.evidence
        for asked in talk.requests
        if asked.version == UNKNOWN and asked.replies and asked.code != UNSUPPORTED_VERSION
    )


def version_data(talk: Conversation) -> Iterator[Evidence]:
    """-32022 that does not say which revisions there are, or which was asked for."""
    for asked in talk.requests:
        if asked.code == UNSUPPORTED_VERSION:
            data = member(asked.replies[0].member("error"), "data")
            named = is_array(member(data, "supported")) and isinstance(member(data, "requested"), str)
            if not named:
                yield asked.evidence


def malformed_accepted(talk: Conversation) -> Iterator[Evidence]:
    """Requests that do not say what the client can, answered by anything but -32602."""
    for asked in talk.requests:
        meta = asked.params.get("_meta")
        lacks = is_object(meta) and meta.get(VERSION) in MODERN_VERSIONS and CLIENT_CAPABILITIES not in meta
        if lacks and asked.replies and asked.code != INVALID_PARAMS:
            yield asked.evidence


def _wanting(talk: Conversation) -> Iterator[tuple[Asked, dict[str, Any]]]:
    return (
        (asked, result) for asked, result in _results(talk) if result.get("resultType") == "input_required"
    )


def empty_input(talk: Conversation) -> Iterator[Evidence]:
    """Demands of input that demand nothing."""
    return (
        each.evidence
        for each, result in _wanting(talk)
        if not {"inputRequests", "requestState"} & result.keys()
    )


def misplaced_input(talk: Conversation) -> Iterator[Evidence]:
    """Demands of input where there can be none."""
    return (each.evidence for each, _ in _wanting(talk) if each.method not in MAY_ASK)


def undeclared_input(talk: Conversation) -> Iterator[Evidence]:
    """Demands of input that the client did not say it can give."""
    for asked, result in _wanting(talk):
        declared = member(asked.params.get("_meta"), CLIENT_CAPABILITIES)
        wanted = result.get("inputRequests")
        methods = [member(each, "method") for each in wanted.values()] if is_object(wanted) else []
        features = [CLIENT_FEATURES[each] for each in methods if each in CLIENT_FEATURES]
        if any(member(declared, feature) is None for feature in features):
            yield asked.evidence


def mixed_scopes(talk: Conversation) -> Iterator[Evidence]:
    """Lists whose pages are not all of one scope."""
    for walk in walks(talk):
        scopes = [str((page.result or {}).get("cacheScope")) for page in walk]
        if "public" in scopes and "private" in scopes:
            yield f"the pages are {', '.join(scopes)}"
