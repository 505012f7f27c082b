"""Judges of prompts: lists, what is got, completions, and the greetings of the legacy era."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mcp_sansio import INVALID_PARAMS
from mcp_sansio._plain import is_array, is_object, member

from .conversation import UNKNOWN, Asked, Conversation
from .judges_messages import refused_over_http
from .rule import Evidence

CHANGED = "notifications/prompts/list_changed"


def bad_cursor(talk: Conversation) -> Iterator[Evidence]:
    """Pages whose next cursor is there, and no string."""
    for page in talk.pages:
        if not isinstance((page.result or {}).get("nextCursor", ""), str):
            yield page.evidence


def bad_list(talk: Conversation) -> Iterator[Evidence]:
    """Lists without an array of prompts that have names."""
    for asked in talk.asked("prompts/list"):
        if asked.result is not None:
            prompts = asked.result.get("prompts")
            if not is_array(prompts) or not all(isinstance(member(each, "name"), str) for each in prompts):
                yield asked.evidence


def twice_on_a_page(talk: Conversation) -> Iterator[Evidence]:
    """Names that a page has twice."""
    for page in talk.pages:
        names = Counter(str(member(prompt, "name")) for prompt in (page.result or {})["prompts"])
        if any(times > 1 for times in names.values()):
            yield page.evidence


def walks(talk: Conversation) -> Iterator[list[Asked]]:
    """The pages of each list that was asked for from its beginning to its end, one after the other."""
    open_: list[Asked] = []
    for page in talk.pages:
        cursor = page.params.get("cursor")
        if cursor is None:
            open_ = []
        elif not open_ or cursor != (open_[-1].result or {}).get("nextCursor"):
            continue
        open_.append(page)
        if (page.result or {}).get("nextCursor") is None:
            yield open_
            open_ = []


def _repeated(walk: list[Asked]) -> set[str]:
    pages = Counter(name for page in walk for name in {*_listed(page)})
    return {name for name, times in pages.items() if times > 1}


def _listed(page: Asked) -> list[str]:
    return [str(member(prompt, "name")) for prompt in (page.result or {})["prompts"]]


def twice_in_a_list(talk: Conversation) -> Iterator[Evidence]:
    """Names that are on two pages whenever the list is read; once may be a change while it was read."""
    repeated = [_repeated(walk) for walk in walks(talk)]
    if len(repeated) > 1:
        always = [name for name in sorted(repeated[0]) if all(name in names for names in repeated)]
        yield from (f"{name!r} is on several pages" for name in always)


def foreign_cursor(talk: Conversation) -> Iterator[Evidence]:
    """Cursors that the server never gave, answered by anything but -32602."""
    given = [(page.result or {}).get("nextCursor") for page in talk.pages]
    for asked in talk.asked("prompts/list"):
        cursor = asked.params.get("cursor")
        if cursor and cursor not in given and asked.replies and asked.code != INVALID_PARAMS:
            yield asked.evidence


def unknown_name(talk: Conversation) -> Iterator[Evidence]:
    """Prompts in no list, answered by anything but -32602."""
    for asked in talk.asked("prompts/get"):
        unknown = talk.pages and asked.params.get("name") not in talk.prompts
        if unknown and asked.replies and asked.code != INVALID_PARAMS:
            yield asked.evidence


def missing_argument(talk: Conversation) -> Iterator[Evidence]:
    """Prompts that were got without an argument they require, answered by anything but -32602."""
    for asked in talk.asked("prompts/get"):
        prompt = talk.prompts.get(str(asked.params.get("name")), {})
        wanting = member(asked.result, "resultType") == "input_required"
        other = asked.replies and asked.code != INVALID_PARAMS and not wanting
        if other and _lacking(prompt, asked.params.get("arguments")):
            yield asked.evidence


def _lacking(prompt: dict[str, Any], given: Any) -> bool:
    arguments = prompt.get("arguments")
    required = [each for each in arguments if member(each, "required") is True] if is_array(arguments) else []
    return any(member(each, "name") not in (given if is_object(given) else {}) for each in required)


def wrong_type(talk: Conversation) -> Iterator[Evidence]:
    """Prompts that were rendered with arguments that are no strings."""
    for asked in talk.asked("prompts/get"):
        given = asked.params.get("arguments")
        numbers = is_object(given) and any(not isinstance(value, str) for value in given.values())
        if numbers and asked.result is not None:
            yield asked.evidence


def bad_message(talk: Conversation) -> Iterator[Evidence]:
    """Rendered prompts with other roles than two, or content that is no single object with a type."""
    for asked in talk.asked("prompts/get"):
        if asked.result is not None and asked.result.get("resultType") != "input_required":
            messages = asked.result.get("messages")
            if not is_array(messages) or not all(map(_is_message, messages)):
                yield asked.evidence


def _is_message(message: Any) -> bool:
    content = member(message, "content")
    return member(message, "role") in ("user", "assistant") and isinstance(member(content, "type"), str)


def undeclared_prompts(talk: Conversation) -> Iterator[Evidence]:
    """Prompts of a server that did not declare any."""
    if talk.capabilities is not None and "prompts" not in talk.capabilities and talk.prompts:
        yield talk.pages[0].evidence


def undeclared_change(talk: Conversation) -> Iterator[Evidence]:
    """Changes announced by a server that did not say it would."""
    declared = talk.capabilities
    if declared is not None and member(declared.get("prompts"), "listChanged") is not True:
        yield from (said.data for said in talk.told(CHANGED))


def too_many_values(talk: Conversation) -> Iterator[Evidence]:
    """Completions of more than 100 values."""
    for asked in talk.asked("completion/complete"):
        values = member(member(asked.result, "completion"), "values")
        if is_array(values) and len(values) > 100:
            yield asked.evidence


def undeclared_completion(talk: Conversation) -> Iterator[Evidence]:
    """Completions by a server that did not declare any."""
    if talk.capabilities is not None and "completions" not in talk.capabilities:
        yield from (each.evidence for each in talk.asked("completion/complete") if each.result is not None)


def bad_ping(talk: Conversation) -> Iterator[Evidence]:
    """Pings whose answer is not empty."""
    for asked in talk.asked("ping"):
        other = asked.result is None or asked.result.keys() - {"_meta"}
        if asked.replies and other and not asked.said.batch and not refused_over_http(talk, asked):
            yield asked.evidence


def bad_welcome(talk: Conversation) -> Iterator[Evidence]:
    """Answers to `initialize` without capabilities, or without the server's name and version."""
    for asked in talk.asked("initialize"):
        info = member(asked.result, "serverInfo")
        named = isinstance(member(info, "name"), str) and isinstance(member(info, "version"), str)
        if asked.result is not None and not (named and is_object(asked.result.get("capabilities"))):
            yield asked.evidence


def bad_version(talk: Conversation) -> Iterator[Evidence]:
    """A revision that does not exist, agreed to."""
    for asked in talk.asked("initialize"):
        if asked.params.get("protocolVersion") == UNKNOWN == member(asked.result, "protocolVersion"):
            yield asked.evidence
