"""A folder of prompt files as a catalogue: every file a prompt, folders in front of its name.

`oncall/handover.md` is `oncall/handover`, unless its front matter names it otherwise. `PromptFolder.read`
reads everything again each time, for that is cheap and cannot miss anything, and keeps what a file said
last when it can be read no longer: a bad file costs itself at most, never another one. The entries go into
the catalogue as one change; where only bodies changed, that is no change of the list. Names are looked up,
never opened, and a link that leaves the folder is not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import attrs

from mcp_sansio import Catalogue, Entry, LocalProtocolError

from .file import MAX_FILE, Problem, PromptFile, UnreadableFile, is_prompt_file, parse_file


@attrs.frozen
class Reading:
    """What a folder holds: an entry for every prompt, and what is wrong with its files."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()


@attrs.frozen
class _Known:
    """What is known of a file: its bytes when it was read last, and what became of them.

    `entry` is what is served, which is `good`, the last sound version, where there is one.
    """

    raw: bytes
    entry: Entry | None
    good: Entry | None
    problems: tuple[Problem, ...]


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
            files = sorted(_files(self.root))
        except OSError as error:
            reason = f"the folder cannot be read: {error.strerror}"
            self._last = attrs.evolve(self._last, problems=(Problem(str(self.root), None, reason),))
            return self._last
        self._known = {file: known for file in files if (known := self._read(file)) is not None}
        self._last = self._reading()
        return self._last

    def _reading(self) -> Reading:
        owners: dict[str, str] = {}
        entries: list[Entry] = []
        problems: list[Problem] = []
        for file, known in self._known.items():
            problems += known.problems
            if known.entry is None:
                continue
            name = known.entry.prompt.name
            if name in owners:
                reason = f"not served, for {owners[name]} is called {name!r} already: rename one of them"
                problems.append(Problem(file, None, reason))
            else:
                owners[name] = file
                entries.append(known.entry)
        return Reading(tuple(entries), tuple(problems))

    def _read(self, file: str) -> _Known | None:
        """What is known of a file now; None if it has gone since it was found."""
        before = self._known.get(file)
        good = before.good if before is not None else None
        try:
            raw = self._bytes(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            return _Known(b"", good, good, (Problem(file, None, f"cannot be read: {error.strerror}"),))
        if before is not None and before.raw == raw:
            return before
        try:
            parsed = parse_file(file, raw)
            entry = Entry(parsed.prompt, parsed.render)
        except UnreadableFile as error:
            return _Known(raw, good, good, (Problem(file, error.line, error.reason),))
        except LocalProtocolError as error:
            return _Known(raw, good, good, (Problem(file, None, str(error)),))
        return self._judge(raw, parsed, entry, good)

    def _judge(self, raw: bytes, parsed: PromptFile, entry: Entry, good: Entry | None) -> _Known:
        """A sound file becomes the last good version; any other is served only while there is none."""
        if parsed.sound:
            return _Known(raw, entry, entry, parsed.problems)
        return _Known(raw, good or entry, good, parsed.problems)

    def _bytes(self, file: str) -> bytes:
        path = self.root / file
        if path.is_symlink() and not _real(path).is_relative_to(_real(self.root)):
            raise PermissionError(0, "it is a link that leaves the folder")
        with path.open("rb") as stream:
            return stream.read(MAX_FILE + 1)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path, strict=True))


def _files(root: Path) -> Iterator[str]:
    """The paths of all prompt files, with `/`. Hidden files and folders are none, linked folders neither."""

    def fail(error: OSError) -> None:
        if Path(error.filename) == root:
            raise error

    for folder, folders, files in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for base in filter(is_prompt_file, files):
            yield (Path(folder) / base).relative_to(root).as_posix()
