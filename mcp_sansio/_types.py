"""The values that prompts are made of, each written once.

Every class is a frozen attrs class whose names are those of the specification in Python spelling; lists
are tuples, free-form JSON objects are mappings. The codec (`_structure`) derives everything else from
these classes: a wire name is the camelCase of the field's name unless its metadata says otherwise
(`wire`), a field belongs to all revisions unless its metadata names the first one (`since`), and a class
with a `type` is one of a union that is told apart by that member. Instances have no slot for weak
references, which lets the codec fill them quickly (`_shapes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import attrs

from ._versions import V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25

Role: TypeAlias = Literal["user", "assistant"]
"""Who says a message."""

_SINCE_2025_06 = {"since": V2025_06_18}
_SINCE_2025_11 = {"since": V2025_11_25}
_META = {"since": V2025_06_18, "wire": "_meta"}

LIST_CHANGED = "notifications/prompts/list_changed"
TOPIC = "promptsListChanged"
"""How a change of the list of prompts is announced, and by which member of a filter that is asked for."""


@attrs.frozen(weakref_slot=False)
class Annotations:
    """Hints about a content block.

    `audience`: whom it is for; None when unsaid. `priority`: from 0 (optional) to 1 (required).
    `last_modified`: an ISO 8601 date, passed on unread.
    """

    audience: tuple[Role, ...] | None = None
    priority: float | None = attrs.field(default=None, metadata={"minimum": 0, "maximum": 1})
    last_modified: str | None = attrs.field(default=None, metadata=_SINCE_2025_06)


@attrs.frozen(weakref_slot=False)
class Icon:
    """An image for user interfaces. `sizes` are like "48x48" or "any"; `theme` is the background it suits."""

    src: str
    mime_type: str | None = None
    sizes: tuple[str, ...] = ()
    theme: Literal["light", "dark"] | None = None


@attrs.frozen(weakref_slot=False)
class Implementation:
    """What a client or server says that it is. A claim, never an identity."""

    name: str
    version: str
    title: str | None = attrs.field(default=None, metadata=_SINCE_2025_06)
    description: str | None = attrs.field(default=None, metadata=_SINCE_2025_11)
    website_url: str | None = attrs.field(default=None, metadata=_SINCE_2025_11)
    icons: tuple[Icon, ...] = attrs.field(default=(), metadata=_SINCE_2025_11)


@attrs.frozen(weakref_slot=False)
class TextContent:
    """Plain text."""

    type: ClassVar[str] = "text"
    since: ClassVar[str] = V2024_11_05

    text: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


@attrs.frozen(weakref_slot=False)
class ImageContent:
    """An image; `data` is base64 text, passed on undecoded."""

    type: ClassVar[str] = "image"
    since: ClassVar[str] = V2024_11_05

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


@attrs.frozen(weakref_slot=False)
class AudioContent:
    """Sound, from revision 2025-03-26 on; `data` is base64 text, passed on undecoded."""

    type: ClassVar[str] = "audio"
    since: ClassVar[str] = V2025_03_26

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


@attrs.frozen(weakref_slot=False)
class ResourceLink:
    """A resource that the server can read, by reference, from revision 2025-06-18 on. `size` is in bytes."""

    type: ClassVar[str] = "resource_link"
    since: ClassVar[str] = V2025_06_18

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: tuple[Icon, ...] = attrs.field(default=(), metadata=_SINCE_2025_11)
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


@attrs.frozen(weakref_slot=False)
class TextResource:
    """The contents of a resource that is text."""

    uri: str
    text: str
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


@attrs.frozen(weakref_slot=False)
class BlobResource:
    """The contents of a resource that is binary; `blob` is base64 text, passed on undecoded."""

    uri: str
    blob: str
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


@attrs.frozen(weakref_slot=False)
class EmbeddedResource:
    """A resource with its contents."""

    type: ClassVar[str] = "resource"
    since: ClassVar[str] = V2024_11_05

    resource: TextResource | BlobResource
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
"""What a message may hold, told apart by `type`."""


@attrs.frozen(weakref_slot=False)
class PromptMessage:
    """One message of a rendered prompt."""

    role: Role
    content: ContentBlock


@attrs.frozen(weakref_slot=False)
class PromptArgument:
    """An argument that a prompt takes; its value is always a string. `required` absent means no."""

    name: str
    title: str | None = attrs.field(default=None, metadata=_SINCE_2025_06)
    description: str | None = None
    required: bool | None = None


@attrs.frozen(weakref_slot=False)
class Prompt:
    """A prompt as `prompts/list` shows it: what it is called and what it takes, not what it says."""

    name: str
    title: str | None = attrs.field(default=None, metadata=_SINCE_2025_06)
    description: str | None = None
    arguments: tuple[PromptArgument, ...] = ()
    icons: tuple[Icon, ...] = attrs.field(default=(), metadata=_SINCE_2025_11)
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata=_META)


@attrs.frozen(weakref_slot=False)
class GetPromptResult:
    """A rendered prompt. `extra` holds the result's members that the specification does not name."""

    messages: tuple[PromptMessage, ...]
    description: str | None = None
    meta: Mapping[str, Any] | None = attrs.field(default=None, metadata={"wire": "_meta"})
    extra: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(weakref_slot=False)
class Completion:
    """Values for an argument, best first, at most 100. `total` counts all there are, if known."""

    values: tuple[str, ...]
    total: int | None = None
    has_more: bool | None = None


@attrs.frozen(weakref_slot=False)
class InputRequest:
    """One thing that a server wants from the client before it answers, for example an elicitation."""

    method: str
    params: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(weakref_slot=False)
class InputRequired:
    """A server's answer that it needs input first. `state` is opaque and goes back byte for byte."""

    requests: Mapping[str, InputRequest] = attrs.field(
        factory=dict[str, InputRequest], metadata={"wire": "inputRequests"}
    )
    state: str | None = attrs.field(default=None, metadata={"wire": "requestState"})
