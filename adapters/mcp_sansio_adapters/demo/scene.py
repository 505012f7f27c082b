"""Where the demonstration plays: a copy of the sample folder, and the edits that are made to it.

What must come out of every step is read from the files themselves, past server and client.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from random import Random

from mcp_sansio import Prompt
from mcp_sansio_adapters.folder import PromptFolder

SAMPLES = Path(__file__).parent / "samples"
STORM = "storm"


class Scene:
    """A folder of prompts that changes. The names of prompts and files are the same but for `.md`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(SAMPLES, root)
        self._random = Random(20260728)  # noqa: S311  # the same storm every time

    def prompts(self) -> dict[str, Prompt]:
        """What a list must hold now."""
        entries = sorted(PromptFolder(self.root).read().entries, key=lambda entry: entry.prompt.name)
        return {entry.prompt.name: entry.prompt for entry in entries}

    def text(self, name: str, arguments: Mapping[str, str]) -> str:
        """What a prompt must render to now: its file without the front matter, with the blanks filled in."""
        body = self._path(name).read_text(encoding="utf-8").split("\n---\n", 1)[1].strip("\n")
        return re.sub(r"\{\{(\w+)\}\}", lambda blank: arguments[blank[1]], body)

    def write(self, name: str, title: str, body: str, required: tuple[str, ...] = ()) -> None:
        """Write a file, new or not."""
        arguments = "".join(f"\n  - {{name: {argument}, required: true}}" for argument in required)
        path = self._path(name)
        path.parent.mkdir(exist_ok=True)
        front = f"---\ntitle: {title}\narguments:{arguments or ' []'}\n---\n"
        path.write_text(f"{front}\n{body}\n", encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Change the text of a file."""
        text = self._path(name).read_text(encoding="utf-8")
        self._path(name).write_text(text.replace(old, new), encoding="utf-8")

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        self._path(new).parent.mkdir(exist_ok=True)
        self._path(old).rename(self._path(new))

    def remove(self, name: str) -> None:
        """Delete a file."""
        self._path(name).unlink()

    def storm_edit(self, number: int) -> None:
        """One of many edits: write, rewrite only the body, rename or remove one of a few files."""
        name, other = (f"{STORM}/{letter}" for letter in self._random.sample("abcdefghij", 2))
        kind = self._random.choice(("write", "write", "body", "rename", "remove"))
        if kind == "write" or not self._path(name).exists():
            self.write(name, f"Edit {number}", f"Edit {number}.")
        elif kind == "body":
            self.edit(name, "Edit", "Still edit")
        elif kind == "rename":
            self.rename(name, other)
        else:
            self.remove(name)

    def _path(self, name: str) -> Path:
        return self.root / f"{name}.md"
