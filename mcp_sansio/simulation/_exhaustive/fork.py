"""Copies of what runs in a world: whole nodes, with everything they hold, so that both may go on.

A copy is made by writing the objects down and reading them back, in memory and never from elsewhere; what
never changes (settings, secrets, prompts with their functions) is not written but shared.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from copyreg import dispatch_table
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from mcp_sansio._catalogue import CatalogueSnapshot
from mcp_sansio._client_config import ClientConfig
from mcp_sansio._entry import Entry
from mcp_sansio._listing import ListingConfig
from mcp_sansio._memory import ListSpec, PageRead
from mcp_sansio._prompt_server import PromptServerConfig
from mcp_sansio._sealing import Keys
from mcp_sansio._server_config import ServerConfig
from mcp_sansio._snapshot import Snapshot
from mcp_sansio._structure import SharingReader
from mcp_sansio.simulation._server_node import entry

T = TypeVar("T")

SHARED = (ClientConfig, ListingConfig, ServerConfig, PromptServerConfig, ListSpec, Keys)
"""Of these there are few."""

IMMUTABLE = (Snapshot, CatalogueSnapshot, PageRead)
"""Of these there are many, each known by itself alone."""


class Frozen(Generic[T]):
    """Something as it was at one moment; `thaw` makes as many of it as are wanted."""

    __slots__ = ("_data",)

    def __init__(self, value: T) -> None:
        out = io.BytesIO()
        _Writer(out, pickle.HIGHEST_PROTOCOL).dump(value)
        self._data = out.getvalue()

    def thaw(self) -> T:
        """A copy."""
        made: T = pickle.loads(self._data)  # noqa: S301 - our own, of a moment ago
        return made


_shared: list[Any] = []
_places: dict[Any, int] = {}


def forget() -> None:
    """Nothing that is frozen is wanted any more."""
    _shared.clear()
    _places.clear()


def _place(value: Any) -> tuple[Callable[[int], Any], tuple[int]]:
    at = _places.setdefault(value, len(_shared))
    if at == len(_shared):
        _shared.append(value)
    return _shared_at, (at,)


def _share(value: Any) -> tuple[Callable[[int], Any], tuple[int]]:
    for at, known in enumerate(_shared):
        if known is value:
            return _shared_at, (at,)
    _shared.append(value)
    return _shared_at, (len(_shared) - 1,)


def _shared_at(index: int) -> Any:
    return _shared[index]


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@lru_cache(1024)
def _entry(name: str, tag: str) -> Entry:
    return entry(name, tag)


class _Writer(pickle.Pickler):
    dispatch_table = {  # noqa: RUF012 - pickle wants it so
        **dispatch_table,
        **dict.fromkeys(SHARED, _share),
        **dict.fromkeys(IMMUTABLE, _place),
        Entry: lambda made: (_entry, (made.prompt.name, made.prompt.description)),
        SharingReader: lambda reader: (SharingReader, (reader.cls, reader.shared)),
        msgspec.json.Decoder: lambda decoder: (_decoder, (decoder.type,)),
    }
