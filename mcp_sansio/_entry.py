"""A prompt with what serves it: its function, its completers, and who may know of it.

An entry is made of a definition and a function (`Entry(Prompt(…), render)`), which gets texts; or of a
function alone (`Entry.of`), whose signature and docstring define the prompt, and which gets values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias, TypedDict, Unpack

import attrs

from ._errors import LocalProtocolError
from ._plain import shown
from ._signature import ASKED, Signature, describe, is_asynchronous, signature_of
from ._structure import encode_typed
from ._types import Icon, Prompt
from ._versions import ALL_VERSIONS, wire_shape

MAX_NAME_SIZE = 1024
"""The longest name of a prompt, in bytes of UTF-8: every cursor carries one."""

Completer: TypeAlias = Callable[[str, Mapping[str, str]], Any] | Sequence[str]
"""Proposes values for an argument: a function of what was typed so far and of the arguments already
known, or simply all the values there are."""


class PromptOptions(TypedDict, total=False):
    """What a prompt is told beside its function.

    `name`, `title`, `description`, `icons` and `meta` are those of `Prompt`; without a name it has that of
    the function, without a description the first paragraph of the docstring. `completers` are by argument.
    `visible` tells whether a principal (None: nobody in particular) may know of the prompt. `blocking=False`
    says that the function is quick and may be called where everybody waits for it.
    """

    name: str
    title: str
    description: str
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    completers: Mapping[str, Completer]
    visible: Callable[[str | None], bool]
    blocking: bool


def _copy(completers: Mapping[str, Completer] | None) -> Mapping[str, Completer]:
    return MappingProxyType(dict(completers or {}))


def _fingerprint(entry: Entry) -> bytes:
    try:
        encoded = entry.encoded(wire_shape(ALL_VERSIONS[-1]))
    except LocalProtocolError as error:
        raise LocalProtocolError(f"prompt {shown(entry.prompt.name)} cannot be listed: {error}") from error
    return hashlib.sha256(encoded).digest()


def _completes(completer: object) -> bool:
    return callable(completer) or (isinstance(completer, Sequence) and not isinstance(completer, str))


@attrs.frozen
class Entry:
    """A prompt with what serves it: `render` makes its messages, `completers` are by argument name.

    `visible` tells whether a principal may know of it; without it everybody may. An adapter runs functions
    that are not `async` in threads, unless `blocking` is false. `signature` says how `render` is called:
    without one it gets the texts of the client, as many of them as it takes, whatever it may be annotated
    with.

    Raises `LocalProtocolError` for a prompt that could not be listed: one whose values have the wrong
    types, whose name is empty or over `MAX_NAME_SIZE`, which names an argument twice, or which has
    completers for arguments that it does not have.
    """

    prompt: Prompt
    render: Callable[..., Any] | None = None
    completers: Mapping[str, Completer] = attrs.field(default=None, converter=_copy)
    visible: Callable[[str | None], bool] | None = attrs.field(default=None, kw_only=True)
    blocking: bool = attrs.field(default=True, kw_only=True)
    signature: Signature | None = attrs.field(default=None, kw_only=True)
    forms: dict[str, bytes] = attrs.field(init=False, eq=False, repr=False, factory=dict[str, bytes])
    """What `encoded` has returned, by shape."""
    fingerprint: bytes = attrs.field(
        init=False, eq=False, repr=False, default=attrs.Factory(_fingerprint, takes_self=True)
    )
    """A hash of the prompt as the newest revision shows it."""

    def __attrs_post_init__(self) -> None:
        name = self.prompt.name
        if not 1 <= len(name.encode()) <= MAX_NAME_SIZE:
            called = shown(name) if name else f"titled {shown(self.prompt.title)}"
            raise LocalProtocolError(f"prompt {called}: a name must have 1 to {MAX_NAME_SIZE} bytes")
        arguments = {argument.name for argument in self.prompt.arguments}
        if len(arguments) < len(self.prompt.arguments):
            raise LocalProtocolError(f"prompt {name!r} has two arguments of one name")
        for hook in (self.render, self.visible):
            if hook is not None and not callable(hook):
                raise LocalProtocolError(f"prompt {name!r}: {shown(hook)} is no function")
        for argument, completer in self.completers.items():
            if argument not in arguments:
                raise LocalProtocolError(f"prompt {name!r} has no argument {argument!r} to complete")
            if not _completes(completer):
                raise LocalProtocolError(
                    f"prompt {name!r}: what completes {argument!r} must be a function or a sequence of "
                    f"strings, not one: {shown(completer)}"
                )

    @classmethod
    def of(cls, function: Callable[..., Any], /, **options: Unpack[PromptOptions]) -> Entry:
        """The prompt that a function is.

        Its parameters are the arguments, required unless they have a default; their annotations say what
        the texts of clients are converted to, and the values of enums, literals and `bool` are proposed
        when they are completed. What describes an argument stands under `Args:` in the docstring, or in
        `Annotated[str, "…"]`; a `PromptArgument` in its place names and titles it, too. A parameter named
        `asked` is no argument and gets the `PromptRequested`.

        Raises `LocalProtocolError`, naming the prompt and the parameter, for annotations without a
        conversion, parameters that no client could give, and as `Entry` does.
        """
        found = describe(function, options.get("name"))
        prompt = Prompt(
            found.name,
            options.get("title"),
            options.get("description", found.description),
            found.arguments,
            tuple(options.get("icons", ())),
            options.get("meta"),
        )
        completers: dict[str, Completer] = {**found.values, **options.get("completers", {})}
        visible, blocking = options.get("visible"), options.get("blocking", True)
        return cls(
            prompt, function, completers, visible=visible, blocking=blocking, signature=found.signature
        )

    def encoded(self, shape: str) -> bytes:
        """The prompt as `prompts/list` shows it in the revisions of one `wire_shape`; made once."""
        if shape not in self.forms:
            self.forms[shape] = encode_typed(self.prompt, shape)
        return self.forms[shape]

    @cached_property
    def how(self) -> Signature:
        """How `render` is called."""
        if self.signature is not None:
            return self.signature
        return Signature({}) if self.render is None else signature_of(self.render)

    def blocks(self, argument: str | None = None) -> bool:
        """Whether a call of `render`, or of what completes an argument, may take its time: it is not `async`,
        nor known to be quick.
        """
        if argument is None:
            return self.blocking and not self.how.asynchronous
        return self.blocking and not is_asynchronous(self.completers[argument])

    def call(self, values: Mapping[str, Any], asked: object) -> Any:
        """Call `render` with these values, and with `asked` if it takes that; an argument of that name
        comes first. What it returns may be an awaitable. Raises `LocalProtocolError` if there is none.
        """
        if self.render is None:
            raise LocalProtocolError(f"prompt {self.prompt.name!r} has no function")
        given = {ASKED: asked} if self.how.takes_asked else {}
        return self.render(**{**given, **values})
