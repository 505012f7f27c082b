"""A client layer around one cached list: what prompts, tools and anything else with names have in common.

It asks for announcements where the server offers them, and passes on to its `Listing` what that must
hear of the connection. What can be done with the things that are listed is up to who derives from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._layers import ClientLayer
from ._listing import Listing, ListingConfig
from ._memory import ListSpec
from ._plain import member
from ._snapshot import Snapshot

if TYPE_CHECKING:
    from ._client import Client


class ListLayer(ClientLayer):
    """A layer whose list is `listing`. A hook that is overridden must call the one here."""

    def __init__(self, spec: ListSpec, config: ListingConfig | None = None) -> None:
        self.announcements: Mapping[str, str] = {spec.notification: spec.topic}
        self.listing: Listing = Listing(spec, config)

    @property
    def snapshot(self) -> Snapshot | None:
        """The last list, fresh or stale."""
        return self.listing.snapshot

    def bind(self, client: Client) -> None:
        """Called once, when the client is made."""
        super().bind(client)
        self.listing.bind(client)

    def filter(self, capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
        """Listen for changes where the server announces them."""
        spec = self.listing.spec
        announces = member(capabilities.get(spec.capability), "listChanged") is True
        return {spec.topic: True} if announces else {}

    def opened(self, now: float) -> None:
        """The era is known."""
        self.listing.opened(now)

    def channel(self, topic: str, live: bool, now: float) -> None:
        """The notification channel came or went."""
        self.listing.channel(live, now)

    def announced(self, topic: str, now: float) -> None:
        """The server's list changed."""
        self.listing.announced(now)

    def closed(self, reason: str, now: float) -> None:
        """The carrier is gone."""
        self.listing.closed(reason, now)

    def finished(self, reason: str, now: float) -> None:
        """Nothing can be asked any more."""
        self.listing.finished(reason, now)
