"""Catalogues for tests."""

from __future__ import annotations

from mcp_sansio._catalogue import Catalogue
from mcp_sansio._entry import Entry
from mcp_sansio._types import Prompt


class Watched:
    """A catalogue and what its hook saw: the epochs that were current when it was called."""

    def __init__(self, *names: str) -> None:
        self.catalogue = Catalogue()
        self.catalogue.replace(Entry(Prompt(name)) for name in names)
        self.seen: list[int] = []
        self.catalogue.on_change = lambda: self.seen.append(self.catalogue.snapshot.epoch)

    @property
    def names(self) -> tuple[str, ...]:
        return self.catalogue.snapshot.names
