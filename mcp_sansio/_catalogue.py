"""The prompts that a server has: edited by the application, read as immutable snapshots.

An edit works on a draft and publishes it as the next snapshot; a batch of edits publishes once.
Readers hold whatever snapshot they took. The *epoch* counts changes of what `prompts/list` shows, told
by a digest over the encoded prompts, so an edit that only exchanges a handler, or nothing at all, is
no change. To exchange who may know of a prompt is one, for nobody can tell what that hides. Prompts are
kept in code-point order of their names, which makes every name a position that a page can start after,
whether or not the prompt of that name still exists.

Publishing one edit costs time linear in the size of the catalogue: make many edits in one `batch`.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar, Unpack, final, overload

import attrs

from ._entry import Completer, Entry, PromptOptions
from ._errors import LocalProtocolError
from ._types import Prompt

F = TypeVar("F", bound=Callable[..., Any])


@final
@attrs.frozen(eq=False)
class CatalogueSnapshot:
    """The catalogue as it was published once.

    `entries` are by name, in the order of `names`, which is by code point. `epoch` and `digest` belong
    to what `prompts/list` shows: the digest of equal prompts is equal in every process. `restricted` says
    whether not everybody may know of every prompt, so far as the prompts themselves say that.
    """

    epoch: int
    entries: Mapping[str, Entry]
    names: tuple[str, ...]
    digest: str
    restricted: bool = False

    def page_after(
        self, name: str | None, size: int, allowed: Callable[[Prompt], bool] | None = None
    ) -> tuple[tuple[Entry, ...], bool]:
        """Up to `size` entries that come after `name`, and whether any come after those.

        None is before the first name. Prompts that are not `allowed` count as if they did not exist.
        """
        start = 0 if name is None else bisect_right(self.names, name)
        if allowed is None:
            names = self.names[start : start + size]
            return tuple(map(self.entries.__getitem__, names)), start + size < len(self.names)
        page: list[Entry] = []
        for position in range(start, len(self.names)):
            entry = self.entries[self.names[position]]
            if allowed(entry.prompt):
                if len(page) == size:
                    return tuple(page), True
                page.append(entry)
        return tuple(page), False


def _snapshot(epoch: int, entries: Mapping[str, Entry], digest: str) -> CatalogueSnapshot:
    restricted = bool(_audience(entries))
    return CatalogueSnapshot(epoch, MappingProxyType(entries), tuple(entries), digest, restricted)


def _digest(entries: Iterable[Entry]) -> str:
    return hashlib.sha256(b"".join([entry.fingerprint for entry in entries])).hexdigest()


def _audience(entries: Mapping[str, Entry]) -> dict[str, object]:
    """Who may know of the prompts that not everybody may know of."""
    return {name: entry.visible for name, entry in entries.items() if entry.visible is not None}


def _entry(
    prompt: Prompt | Entry, render: Callable[..., Any] | None, completers: Mapping[str, Completer] | None
) -> Entry:
    if not isinstance(prompt, Entry):
        return Entry(prompt, render, completers)
    if render is not None or completers is not None:
        raise LocalProtocolError(f"prompt {prompt.prompt.name!r} is an entry, which has its own functions")
    return prompt


@final
class Catalogue:
    """All prompts of a server, each by its exact name.

    `visible` tells whether a principal (None: nobody in particular) may know of a prompt; without it
    everybody may, unless the prompt has a predicate of its own, which counts as well. `on_change` is
    called after the publication of every snapshot with a new epoch, after all who `watch`; when one of
    them raises, that reaches the editor, and the edit stands. Edits belong on one thread at a time, while
    `snapshot` may be read from any. Edits that cannot be made raise `LocalProtocolError` and change nothing.
    """

    def __init__(
        self, *, visible: Callable[[str | None, Prompt], bool] | None = None, max_prompts: int = 100_000
    ) -> None:
        self.visible = visible
        self.on_change: Callable[[], None] | None = None
        self._watchers: list[Callable[[], None]] = []
        self._max_prompts = max_prompts
        self._entries: dict[str, Entry] = {}  # those of the snapshot
        self._snapshot = _snapshot(0, self._entries, _digest(()))
        self._draft: dict[str, Entry] | None = None  # while a batch is open

    @property
    def snapshot(self) -> CatalogueSnapshot:
        """What was published last; edits of an open batch are not in it."""
        return self._snapshot

    def watch(self, told: Callable[[], None]) -> None:
        """Have `told` called as `on_change` is: whoever serves these prompts, and several may, hears so."""
        self._watchers.append(told)

    @overload
    def prompt(self, function: F, /, **options: Unpack[PromptOptions]) -> F: ...

    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...

    def prompt(self, function: Any = None, /, **options: Unpack[PromptOptions]) -> Any:
        """Add a function as a prompt whose name is new, as `Entry.of` reads it: a decorator, with options or
        without, that leaves the function as it is.
        """
        if function is None:
            return partial(self.prompt, **options)
        self.add(Entry.of(function, **options))
        return function

    def add(
        self,
        prompt: Prompt | Entry,
        render: Callable[..., Any] | None = None,
        completers: Mapping[str, Completer] | None = None,
    ) -> None:
        """Add a prompt whose name is new; the arguments are those of `Entry`, or an entry."""
        entry = _entry(prompt, render, completers)
        if entry.prompt.name in self._edited():
            raise LocalProtocolError(f"there is a prompt {entry.prompt.name!r} already")
        self._store(entry)

    def put(
        self,
        prompt: Prompt | Entry,
        render: Callable[..., Any] | None = None,
        completers: Mapping[str, Completer] | None = None,
    ) -> None:
        """Add a prompt, in place of any other of its name, as `add` does."""
        self._store(_entry(prompt, render, completers))

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

    def _edited(self) -> dict[str, Entry]:
        return self._entries if self._draft is None else self._draft

    def _begin(self) -> dict[str, Entry]:
        return dict(self._entries) if self._draft is None else self._draft

    def _insert(self, draft: dict[str, Entry], entry: Entry) -> None:
        if len(draft) >= self._max_prompts and entry.prompt.name not in draft:
            room = f"a catalogue has room for {self._max_prompts} prompts"
            raise LocalProtocolError(f"prompt {entry.prompt.name!r} is too many: {room}")
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
        names = sorted(draft)
        entries = draft if names == [*draft] else {name: draft[name] for name in names}
        digest = _digest(entries.values())
        before = self._snapshot
        changed = digest != before.digest or _audience(entries) != _audience(before.entries)
        self._entries = entries
        self._snapshot = _snapshot(before.epoch + changed, entries, digest)
        if changed:
            self._tell()

    def _tell(self) -> None:
        hears = [*self._watchers] if self.on_change is None else [*self._watchers, self.on_change]
        with ExitStack() as everybody:  # for one that raises must not keep the others from hearing
            for told in reversed(hears):
                everybody.callback(told)
