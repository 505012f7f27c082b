"""What a prompt's function may return, made into a result.

Text is a user message; so is a content block; a message is itself; a sequence is several of those. There
is no guessing beyond that: a mapping, None or a number is a mistake in the function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import attrs

from ._errors import LocalProtocolError
from ._types import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    InputRequest,
    PromptMessage,
    ResourceLink,
    TextContent,
)

_PARTS = (str, TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)


@attrs.frozen
class AskInput:
    """Returned by a prompt's function that needs input first (patterns/mrtr).

    `requests` are what the client is asked, by keys of the function's own choice; without any the client
    simply tries again. `state` is a JSON value that comes back with the answers; it is sealed against
    changes but readable, so nothing secret belongs into it.
    """

    requests: Mapping[str, InputRequest] = attrs.field(factory=dict[str, InputRequest])
    state: Any = None


Part: TypeAlias = str | PromptMessage | ContentBlock
Rendered: TypeAlias = Part | Sequence[Part] | GetPromptResult | AskInput
"""What a prompt's function may return: text, a message, a content block, several of those, a whole result, or
a question."""


def user(content: str | ContentBlock) -> PromptMessage:
    """A message of the user's: text, or a content block."""
    return PromptMessage("user", TextContent(content) if isinstance(content, str) else content)


def assistant(content: str | ContentBlock) -> PromptMessage:
    """A message of the assistant's: text, or a content block."""
    return PromptMessage("assistant", TextContent(content) if isinstance(content, str) else content)


def as_result(rendered: object) -> GetPromptResult:
    """The result that a function's return value stands for; `LocalProtocolError` if it stands for none."""
    if isinstance(rendered, GetPromptResult):
        return rendered
    if (
        not isinstance(rendered, _PARTS)
        and isinstance(rendered, Sequence)
        and not isinstance(rendered, bytes)
    ):
        return GetPromptResult(tuple(_message(part) for part in cast("Sequence[object]", rendered)))
    return GetPromptResult((_message(rendered),))


def _message(part: object) -> PromptMessage:
    if isinstance(part, PromptMessage):
        return part
    if isinstance(part, _PARTS):
        return user(part)
    raise LocalProtocolError(f"a prompt returned {type(part).__name__}, which is no message")
