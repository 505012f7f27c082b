"""A folder of prompt files as a catalogue: every file a prompt, folders in front of its name.

`oncall/handover.md` is `oncall/handover`, unless its front matter names it otherwise. `PromptFolder.read`
reads everything again each time, for that is cheap and cannot miss anything, and keeps what a file said
last when it can be read no longer: a bad file costs itself at most, never another one. The entries go into
the catalogue as one change; where only bodies changed, that is no change of the list. Names are looked up,
never opened, and a link that leaves the folder is not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from mcp_sansio import Catalogue, Entry, LocalProtocolError

from .file import MAX_FILE, PromptFile, is_prompt_file, parse_file
from .linked import Linked, read_inside
from .problem import Problem, UnreadableFile

_LOOKS = 5


@attrs.frozen
class Reading:
    """What a folder holds: an entry for every prompt, and what is wrong with its files."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()


@attrs.frozen
class _Known:
    """What is known of a file: its bytes when it was read last, and what became of them.

    `entry` is what is served, which is `good`, the last sound version, where there is one. `linked` are the
    files that it shows, `line` is where its name stands.
    """

    raw: bytes
    entry: Entry | None
    good: Entry | None
    problems: tuple[Problem, ...]
    linked: Linked | None = None
    line: int = 1


@attrs.define
class _Found:
    """The prompt files of a folder, sorted, and the folders in it that were not entered; all with `/`.

    `linked` are links, `closed` could not be read, for the reason that is given.
    """

    files: list[str] = attrs.Factory(list[str])
    linked: list[str] = attrs.Factory(list[str])
    closed: dict[str, str] = attrs.Factory(dict[str, str])

    def problems(self) -> Iterator[Problem]:
        """What is said of the folders that were not entered."""
        for folder in sorted(self.linked):
            reason = "is a link to a folder, and those are not entered: put the folder itself here"
            yield Problem(folder, None, reason, "warning")
        for folder, reason in sorted(self.closed.items()):
            yield Problem(folder, None, f"the folder cannot be read: {reason}")


class PromptFolder:
    """The prompt files under `root`, with a memory of the last good version of each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, _Known] = {}
        self._last = Reading()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was wrong when the folder was read last."""
        return self._last.problems

    def load(self, catalogue: Catalogue) -> tuple[Problem, ...]:
        """Read the folder into the catalogue, as one change."""
        reading = self.read()
        catalogue.replace(reading.entries)
        return reading.problems

    def read(self) -> Reading:
        """Read the folder. Of two files with one name the first by path is served.

        When the folder itself cannot be read, everything stays as it was.
        """
        try:
            known, found = self._settled()
        except OSError as error:
            reason = f"the folder cannot be read: {error.strerror}"
            self._last = attrs.evolve(self._last, problems=(Problem(str(self.root), None, reason),))
            return self._last
        self._known = known
        self._last = self._reading(found)
        return self._last

    def misses_files(self) -> bool:
        """Whether a file that was there has gone, for good or while it is being saved or renamed."""
        return not all(os.path.exists(self.root / file) for file in self._known)  # noqa: PTH110  # never raises

    def _settled(self) -> tuple[dict[str, _Known], _Found]:
        """All files, looked at again while they come and go: one that moves must not be missed twice."""
        found = _find(self.root)
        for _ in range(_LOOKS):
            known = self._read_all(found)
            again = _find(self.root)
            if again == found and [*known] == again.files:
                break
            found = again
        else:
            known = self._read_all(found)
        return dict(sorted({**self._behind(found.closed), **known}.items())), found

    def _read_all(self, found: _Found) -> dict[str, _Known]:
        return {file: known for file in found.files if (known := self._read(file)) is not None}

    def _behind(self, closed: Iterable[str]) -> dict[str, _Known]:
        """What is known of the files of folders that cannot be read any more."""
        inside = tuple(f"{folder}/" for folder in closed)
        return {file: known for file, known in self._known.items() if file.startswith(inside)}

    def _reading(self, found: _Found) -> Reading:
        owners: dict[str, str] = {}
        entries: list[Entry] = []
        problems = [*found.problems()]
        for file, known in self._known.items():
            problems += known.problems
            if known.entry is None:
                continue
            name = known.entry.prompt.name
            if name in owners:
                reason = f"not served, for {owners[name]} is called {name!r} already: rename one of them"
                problems.append(Problem(file, known.line, reason))
            else:
                owners[name] = file
                entries.append(known.entry)
        return Reading(tuple(entries), tuple(problems))

    def _read(self, file: str) -> _Known | None:
        """What is known of a file now; None if it has gone since it was found."""
        before = self._known.get(file)
        good = before.good if before is not None else None
        try:
            raw = read_inside(self.root, file, MAX_FILE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            return _Known(b"", good, good, (Problem(file, None, f"cannot be read: {error.strerror}"),))
        if before is None or before.raw != raw or before.linked is None or before.linked.changed():
            return self._parse(file, raw, good)
        return before

    def _parse(self, file: str, raw: bytes, good: Entry | None) -> _Known:
        """A sound file becomes the last good version; any other is served only while there is none."""
        linked = Linked(self.root, file.rpartition("/")[0])
        try:
            parsed = parse_file(file, raw, linked)
            entry = _entry(parsed)
        except UnreadableFile as error:
            return _Known(raw, good, good, (Problem(file, error.line, error.reason),), linked)
        if parsed.sound:
            return _Known(raw, entry, entry, parsed.problems, linked, parsed.name_line)
        return _Known(raw, good or entry, good, parsed.problems, linked, parsed.name_line)


def _entry(parsed: PromptFile) -> Entry:
    try:
        return Entry(parsed.prompt, parsed.render, blocking=False)
    except LocalProtocolError as error:
        raise UnreadableFile(str(error), parsed.name_line) from error


def _find(root: Path) -> _Found:
    """All prompt files. Hidden files and folders are none, linked folders neither."""
    found = _Found()

    def fail(error: OSError) -> None:
        if Path(error.filename) == root:
            raise error
        if not isinstance(error, FileNotFoundError):
            found.closed[Path(error.filename).relative_to(root).as_posix()] = str(error.strerror)

    for folder, folders, files in os.walk(root, onerror=fail):
        here = Path(folder)
        folders[:] = [name for name in folders if not name.startswith(".")]
        found.linked += [
            (here / name).relative_to(root).as_posix() for name in folders if (here / name).is_symlink()
        ]
        found.files += [(here / base).relative_to(root).as_posix() for base in filter(is_prompt_file, files)]
    found.files.sort()
    return found
