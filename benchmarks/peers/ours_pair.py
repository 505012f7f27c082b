"""Our clients and their server in memory, in virtual time, driven by the contract as an adapter would.

Bytes go from one `LineWire` to the other as they are, what is there in one piece, as from a pipe; only those
clients are looked at that something came in for. Times of the configurations pass when `calm` lets them, by
jumping from one deadline to the next.
"""

from __future__ import annotations

from math import inf
from operator import attrgetter
from typing import Any

from benchmarks import work
from mcp_sansio import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    Catalogue,
    Client,
    ClientConfig,
    Event,
    Implementation,
    Keys,
    LineWire,
    Listed,
    ListingConfig,
    Prompt,
    PromptArgument,
    PromptClient,
    PromptRequested,
    PromptServer,
    PromptServerConfig,
    Server,
    ServerConfig,
)

KEYS = Keys(("benchmark", b"0123456789abcdef0123456789abcdef"))
VERSIONS = {"modern": MODERN_VERSIONS, "legacy": LEGACY_VERSIONS}


def prompt(number: int, revision: int = 0) -> Prompt:
    """A prompt of the benchmark."""
    spec = work.spec(number, revision)
    arguments = tuple(PromptArgument(**each) for each in spec.pop("arguments"))
    return Prompt(**spec, arguments=arguments)


def render(change: str = "", focus: str = "", language: str = "") -> str:
    """The function behind every prompt."""
    return work.render({"change": change, "focus": focus})


def make_catalogue(prompts: int) -> Catalogue:
    """The prompts of the benchmark."""
    catalogue = Catalogue()
    with catalogue.batch():
        for number in range(prompts):
            catalogue.add(prompt(number), render)
    return catalogue


def make_server(
    catalogue: Catalogue, page: int, era: str = "modern", **config: Any
) -> tuple[Server, PromptServer]:
    """A server of these prompts, as it comes, and its layer."""
    layer = PromptServer(catalogue, PromptServerConfig(keys=KEYS, page_size=page, ttl=60.0))
    info = Implementation("benchmark", "1")
    return Server(ServerConfig(info=info, versions=VERSIONS[era], **config), layer), layer


class End:
    """A client, both ends of its connection, and what it said last."""

    def __init__(self, house: House, era: str, listing: ListingConfig | None) -> None:
        self.prompts = PromptClient(listing)
        config = ClientConfig(info=Implementation("benchmark", "1"), versions=VERSIONS[era])
        self.client = Client(config, self.prompts)
        self.far = LineWire(house.server.open(), house.now)
        self.near = LineWire(self.client, house.now)
        self.far.token = self
        self.last: Event | None = None
        self.heard = 0
        self.due = inf

    @property
    def listed(self) -> list[Any]:
        """The list that this client has last been given."""
        return work.seen(self.last.snapshot) if isinstance(self.last, Listed) else []


class House:
    """A server, its clients, and the time."""

    def __init__(
        self,
        prompts: int,
        *,
        page: int = 100,
        era: str = "modern",
        clients: int = 1,
        listing: ListingConfig | None = None,
        announce: bool = True,
        **config: Any,
    ) -> None:
        """`announce`: whether clients are told of changes; `config` is for the server."""
        self.now = 0.0
        self.revision = 0
        self.catalogue = make_catalogue(prompts)
        self.server, self.prompt_server = make_server(self.catalogue, page, era, **config)
        if announce:
            self.prompt_server.on_change = self._changed
        self.ends = [End(self, era, listing) for _ in range(clients)]
        for end in self.ends:
            self.settle(end)

    def _changed(self, topic: str) -> None:
        self.server.changed(topic, self.now)

    def next_edit(self) -> Prompt:
        """The prompt as it will be after one more edit."""
        self.revision += 1
        return prompt(work.EDITED, self.revision)

    def put(self, edited: Prompt) -> None:
        """Edit the catalogue."""
        self.catalogue.put(edited, render)

    # --- the pump ---

    def settle(self, end: End | None = None) -> None:
        """Let everything happen that takes no time; `end` is the client that was given a command."""
        touched = [] if end is None else [end]
        while True:
            for each in touched:
                self._flush_client(each)
            touched = self._flush_server()
            if not touched:
                return

    def _flush_client(self, end: End) -> None:
        client = end.client
        while client.next_ready() is not None:
            if data := b"".join(end.near.data_to_send()):
                end.far.receive_data(data, self.now)
        while (event := client.next_event()) is not None:
            end.last = event
            end.heard += 1
        due = client.next_timeout()
        end.due = inf if due is None else due

    def _flush_server(self) -> list[End]:
        server = self.server
        touched: list[End] = []
        while (event := server.next_event()) is not None:
            if isinstance(event, PromptRequested):
                self.prompt_server.answer(event, event.call(), self.now)
        while (port := server.next_ready()) is not None:
            end: End = port.token
            if data := b"".join(end.far.data_to_send()):
                end.near.receive_data(data, self.now)
            touched.append(end)
        return touched

    def calm(self) -> None:
        """Let time pass until nothing is due within the next ten seconds."""
        horizon = self.now + 10.0
        while True:
            self.settle()
            upcoming = min(map(attrgetter("due"), self.ends), default=horizon)
            own = self.server.next_timeout()
            upcoming = upcoming if own is None else min(upcoming, own)
            if upcoming >= horizon:
                return
            self.now = upcoming
            self.server.handle_timeout(upcoming)
            for end in self.ends:
                if end.due <= upcoming:
                    end.client.handle_timeout(upcoming)
                    self._flush_client(end)
