"""Files that prompts show: read from the folder and from nowhere else, and made into content.

`Linked` is what one prompt file needs of its folder. It remembers what it read, so that whoever reads the
folder again can tell whether anything has changed.
"""

from __future__ import annotations

import base64
import os
import posixpath
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote, unquote

from mcp_sansio import AudioContent, BlobResource, ContentBlock, EmbeddedResource, ImageContent, TextResource

from .turns import Link

MAX_LINKED = 8 * 1024 * 1024
"""How many bytes the files may have together that one prompt shows."""

_TYPES: Mapping[str, str] = {
    "avif": "image/avif",
    "csv": "text/csv",
    "flac": "audio/flac",
    "gif": "image/gif",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "m4a": "audio/mp4",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "wav": "audio/wav",
    "webp": "image/webp",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}
Seen: TypeAlias = bytes | str
"""What a file holds, or why it cannot be read."""


class CannotShow(Exception):
    """A link that is left as text, and why."""


class Linked:
    """The files that one prompt shows. `folder` is where the prompt is, in `root`, with `/`."""

    def __init__(self, root: Path | None, folder: str) -> None:
        self.seen: dict[str, Seen] = {}
        self._root = root
        self._folder = folder
        self._room = MAX_LINKED

    def show(self, link: Link) -> ContentBlock:
        """The content that a link stands for; raises `CannotShow`."""
        path = self._path(link.address)
        kind = _TYPES.get(posixpath.splitext(path)[1][1:].lower())
        if link.image and (kind is None or not kind.startswith(("image/", "audio/"))):
            raise CannotShow("is no image and no sound that is known: write [name](file) to show a file")
        data = self._read(path)
        if link.image and kind is not None:
            make = ImageContent if kind.startswith("image/") else AudioContent
            return make(base64.b64encode(data).decode(), kind)
        return EmbeddedResource(_resource(f"prompts:///{quote(path)}", data, kind))

    def changed(self) -> bool:
        """Whether any of the files is not what it was."""
        return any(self._look(path) != seen for path, seen in self.seen.items())

    def _path(self, address: str) -> str:
        """Where a link leads, from the root."""
        written = unquote(address)
        path = posixpath.normpath(posixpath.join(self._folder, written))
        if written.startswith("/") or "\\" in written or path.split("/")[0] == "..":
            raise CannotShow("leads out of the folder: put the file into it")
        if any(part.startswith(".") for part in path.split("/")) or not path.isprintable():
            raise CannotShow("leads to a hidden file: call it something else")
        return path

    def _read(self, path: str) -> bytes:
        seen = self.seen[path] if path in self.seen else self._look(path)
        self.seen[path] = seen
        if isinstance(seen, str):
            raise CannotShow(seen)
        self._room -= len(seen)
        if self._room < 0:
            raise CannotShow(f"is too much: the files of a prompt may have {MAX_LINKED} bytes together")
        return seen

    def _look(self, path: str) -> Seen:
        if self._root is None:
            return "cannot be read: there is no folder"
        try:
            return read_inside(self._root, path, MAX_LINKED + 1)
        except OSError as error:
            return f"cannot be read: {error.strerror}"


def read_inside(root: Path, path: str, most: int) -> bytes:
    """The first `most` bytes of a plain file in the folder; no link may lead out. Raises `OSError`."""
    real = Path(os.path.realpath(root / path, strict=True))
    if not real.is_relative_to(os.path.realpath(root, strict=True)):
        raise PermissionError(0, "it is a link that leaves the folder")
    if not stat.S_ISREG(real.stat().st_mode):
        raise PermissionError(0, "it is not a plain file")
    with real.open("rb") as stream:
        return stream.read(most)


def _resource(uri: str, data: bytes, kind: str | None) -> TextResource | BlobResource:
    """Text if it is UTF-8, as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        blob = base64.b64encode(data).decode()
        return BlobResource(uri, blob, kind or "application/octet-stream")
    return TextResource(uri, text, kind or "text/plain")
