"""The prompts that a server has: edited by the application, read as immutable snapshots.

An edit works on a draft and publishes it as the next snapshot; a batch of edits publishes once.
Readers hold whatever snapshot they took. The *epoch* counts changes of what `prompts/list` shows, told
by a digest over the encoded prompts, so an edit that only exchanges a handler, or nothing at all, is
no change. Prompts are kept in code-point order of their names, which makes every name a position that
a page can start after, whether or not the prompt of that name still exists.

Publishing one edit costs time linear in the size of the catalogue: make many edits in one `batch`.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any, TypeAlias, final

import attrs

from ._errors import LocalProtocolError
from ._structure import encode_typed
from ._types import Prompt
from ._versions import ALL_VERSIONS

MAX_NAME_SIZE = 1024
"""The longest name of a prompt, in bytes of UTF-8: every cursor carries one."""

Completer: TypeAlias = Callable[[str, Mapping[str, str]], Any] | Sequence[str]
"""Proposes values for an argument: a function of what was typed so far and of the arguments already
known, or simply all the values there are."""


def _copy(completers: Mapping[str, Completer] | None) -> Mapping[str, Completer]:
    return MappingProxyType(dict(completers or {}))


def _fingerprint(entry: Entry) -> bytes:
    return hashlib.sha256(encode_typed(entry.prompt, ALL_VERSIONS[-1])).digest()


@attrs.frozen
class Entry:
    """A prompt with what serves it: `render` makes its messages, `completers` are by argument name.

    Arguments are text on the wire, and text is what `render` gets, whatever it may be annotated with.

    Raises `LocalProtocolError` for a prompt that could not be listed: one whose values have the wrong
    types, whose name is empty or over `MAX_NAME_SIZE`, which names an argument twice, or which has
    completers for arguments that it does not have.
    """

    prompt: Prompt
    render: Callable[..., Any] | None = None
    completers: Mapping[str, Completer] = attrs.field(default=None, converter=_copy)
    fingerprint: bytes = attrs.field(
        init=False, eq=False, repr=False, default=attrs.Factory(_fingerprint, takes_self=True)
    )
    """A hash of the prompt as the newest revision shows it."""

    def __attrs_post_init__(self) -> None:
        name = self.prompt.name
        if not 1 <= len(name.encode()) <= MAX_NAME_SIZE:
            raise LocalProtocolError(f"the name of a prompt must have 1 to {MAX_NAME_SIZE} bytes")
        arguments = {argument.name for argument in self.prompt.arguments}
        if len(arguments) < len(self.prompt.arguments):
            raise LocalProtocolError(f"prompt {name!r} has two arguments of one name")
        for argument, completer in self.completers.items():
            if argument not in arguments:
                raise LocalProtocolError(f"prompt {name!r} has no argument {argument!r} to complete")
            if isinstance(completer, str):
                raise LocalProtocolError(
                    f"the values for {argument!r} must be a sequence of strings, not one"
                )


@final
@attrs.frozen(eq=False)
class CatalogueSnapshot:
    """The catalogue as it was published once.

    `entries` are by name, in the order of `names`, which is by code point. `epoch` and `digest` belong
    to what `prompts/list` shows: the digest of equal prompts is equal in every process.
    """

    epoch: int
    entries: Mapping[str, Entry]
    names: tuple[str, ...]
    digest: str

    def page_after(
        self, name: str | None, size: int, allowed: Callable[[Prompt], bool] | None = None
    ) -> tuple[tuple[Entry, ...], bool]:
        """Up to `size` entries that come after `name`, and whether any come after those.

        None is before the first name. Prompts that are not `allowed` count as if they did not exist.
        """
        page: list[Entry] = []
        start = 0 if name is None else bisect_right(self.names, name)
        for position in range(start, len(self.names)):
            entry = self.entries[self.names[position]]
            if allowed is None or allowed(entry.prompt):
                if len(page) == size:
                    return tuple(page), True
                page.append(entry)
        return tuple(page), False


def _snapshot(epoch: int, entries: Mapping[str, Entry], digest: str) -> CatalogueSnapshot:
    return CatalogueSnapshot(epoch, MappingProxyType(entries), tuple(entries), digest)


def _digest(entries: Iterable[Entry]) -> str:
    return hashlib.sha256(b"".join(entry.fingerprint for entry in entries)).hexdigest()


@final
class Catalogue:
    """All prompts of a server, each by its exact name.

    `visible` tells whether a principal (None: nobody in particular) may know of a prompt; without it
    everybody may. `on_change` is called after the publication of every snapshot with a new epoch, after
    all who `watch`; when one of them raises, that reaches the editor, and the edit stands. Edits belong on
    one thread at a time, while `snapshot` may be read from any. Edits that cannot be made raise
    `LocalProtocolError` and change nothing.
    """

    def __init__(
        self, *, visible: Callable[[str | None, Prompt], bool] | None = None, max_prompts: int = 100_000
    ) -> None:
        self.visible = visible
        self.on_change: Callable[[], None] | None = None
        self._watchers: list[Callable[[], None]] = []
        self._max_prompts = max_prompts
        self._snapshot = _snapshot(0, {}, _digest(()))
        self._draft: dict[str, Entry] | None = None  # while a batch is open

    @property
    def snapshot(self) -> CatalogueSnapshot:
        """What was published last; edits of an open batch are not in it."""
        return self._snapshot

    def watch(self, told: Callable[[], None]) -> None:
        """Have `told` called as `on_change` is: whoever serves these prompts, and several may, hears so."""
        self._watchers.append(told)

    def add(
        self,
        prompt: Prompt,
        render: Callable[..., Any] | None = None,
        completers: Mapping[str, Completer] | None = None,
    ) -> None:
        """Add a prompt whose name is new; the arguments are those of `Entry`."""
        entry = Entry(prompt, render, completers)
        if prompt.name in self._edited():
            raise LocalProtocolError(f"there is a prompt {prompt.name!r} already")
        self._store(entry)

    def put(
        self,
        prompt: Prompt,
        render: Callable[..., Any] | None = None,
        completers: Mapping[str, Completer] | None = None,
    ) -> None:
        """Add a prompt, in place of any other of its name; the arguments are those of `Entry`."""
        self._store(Entry(prompt, render, completers))

    def remove(self, name: str) -> None:
        """Take a prompt out; there must be one of this name."""
        if name not in self._edited():
            raise LocalProtocolError(f"there is no prompt {name!r}")
        draft = self._begin()
        del draft[name]
        self._commit(draft)

    def replace(self, entries: Iterable[Entry]) -> None:
        """Let these be all prompts, as one change."""
        draft: dict[str, Entry] = {}
        for entry in entries:
            if entry.prompt.name in draft:
                raise LocalProtocolError(f"there are two prompts {entry.prompt.name!r}")
            self._insert(draft, entry)
        self._commit(draft)

    @contextmanager
    def batch(self) -> Generator[None]:
        """Make one change of all edits in the block; an exception undoes them and goes on.

        A batch inside a batch joins it when it ends well. One that fails undoes its own edits; the
        outer one goes on if it handles the exception. A batch must not stay open across an `await`,
        for other tasks' edits would join it.
        """
        outer = self._draft
        self._draft = dict(self._edited())
        try:
            yield
            draft = self._draft
        finally:
            self._draft = outer
        self._commit(draft)

    def _edited(self) -> Mapping[str, Entry]:
        return self._snapshot.entries if self._draft is None else self._draft

    def _begin(self) -> dict[str, Entry]:
        return dict(self._snapshot.entries) if self._draft is None else self._draft

    def _insert(self, draft: dict[str, Entry], entry: Entry) -> None:
        if len(draft) >= self._max_prompts and entry.prompt.name not in draft:
            raise LocalProtocolError(f"a catalogue has room for {self._max_prompts} prompts")
        draft[entry.prompt.name] = entry

    def _store(self, entry: Entry) -> None:
        draft = self._begin()
        self._insert(draft, entry)
        self._commit(draft)

    def _commit(self, draft: dict[str, Entry]) -> None:
        """Hand the draft to the batch around it, or publish it."""
        if self._draft is None:
            self._publish(draft)
        else:
            self._draft = draft

    def _publish(self, draft: dict[str, Entry]) -> None:
        entries = {name: draft[name] for name in sorted(draft)}
        digest = _digest(entries.values())
        before = self._snapshot
        changed = digest != before.digest
        self._snapshot = _snapshot(before.epoch + changed, entries, digest)
        if changed:
            self._tell()

    def _tell(self) -> None:
        hears = [*self._watchers] if self.on_change is None else [*self._watchers, self.on_change]
        with ExitStack() as everybody:  # for one that raises must not keep the others from hearing
            for told in reversed(hears):
                everybody.callback(told)
