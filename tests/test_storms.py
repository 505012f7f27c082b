"""Storms in virtual time: changes faster than walks, and changes between any two pages.

What has to hold is always the same: newer and newer lists are published however hard it storms, the number
of walks is bounded, at most one list request is in flight, no torn list claims to be verified, and after the
last change the client holds the server's list.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from asking import Asking, both_eras, names
from pair import KEYS, SERVER, World, catalogue, prompt

from mcp_sansio import (
    Catalogue,
    ListingConfig,
    PromptServerConfig,
    ServerConfig,
    Snapshot,
    Updated,
)


def most_in_flight(world: World, method: str) -> int:
    """The most requests of a method that the client was waiting for at any one time."""
    asked = {message["id"]: now for now, message in world.sent if message.get("method") == method}
    answered = {message["id"]: now + world.latency for now, message in world.received if "id" in message}
    steps = [(now, 1) for now in asked.values()]
    steps += [(answered[wire_id], -1) for wire_id in asked if wire_id in answered]
    running = most = 0
    for _, step in sorted(steps):  # at one time answers come first
        running += step
        most = max(most, running)
    return most


def walks(world: World) -> int:
    return sum("cursor" not in request.get("params", {}) for request in world.requests("prompts/list"))


def holds_the_servers_list(world: World) -> bool:
    """Whether the client has what the server has, fresh and verified."""
    snapshot = world.prompts.snapshot
    assert snapshot is not None
    served = {name: entry.prompt for name, entry in world.catalogue.snapshot.entries.items()}
    return snapshot.verified and world.prompts.listing.fresh(world.now) and dict(snapshot.by_name) == served


@pytest.mark.slow
@both_eras
def test_a_change_and_a_notification_every_five_milliseconds_for_a_minute(version: str) -> None:
    """Ten pages at 20 ms each. The official SDK forgets its first page 12,000 times and fetches nothing."""
    world = World(
        prompts=catalogue(100),
        versions=(version,),
        latency=0.01,
        listing=ListingConfig(max_wait=0.5),
        server=ServerConfig(info=SERVER, quiet=0.0, max_wait=0.0),
        serving=PromptServerConfig(keys=KEYS, page_size=10),
    )
    world.outcome(world.prompts.list(world.now))
    began, before = world.now, walks(world)
    for step in range(12_000):
        change = partial(world.catalogue.put, prompt("p0050", title=f"version {step}"))
        world.at(began + step * 0.005, change)
    world.run(60.0)
    during = [update.snapshot for update in world.all(Updated)]
    titles = [snapshot.by_name["p0050"].title for snapshot in during[1:]]
    assert len(set(titles)) >= 80
    versions = [int(title.split()[1]) for title in titles if title is not None]
    assert versions == sorted(versions)
    assert not any(snapshot.verified for snapshot in during[2:])
    world.run(10.0)
    print(
        f"{version}: {walks(world) - before} walks, {len(set(titles))} ever newer lists in a minute of storm"
    )
    assert 80 <= walks(world) - before <= 122
    assert most_in_flight(world, "prompts/list") == 1
    assert len(world.notifications("notifications/prompts/list_changed")) >= 5_900
    assert holds_the_servers_list(world)


@pytest.mark.slow
@both_eras
@pytest.mark.parametrize("pages", [1, 3])
def test_a_notification_every_millisecond_for_a_minute(version: str, pages: int) -> None:
    """The first at once, one every `max_wait` (half a second), one after the last."""
    asking = Asking(version, listing=ListingConfig(max_wait=0.5))
    published: list[Snapshot] = []
    for step in range(60_000):
        asking.now = step / 1000
        asking.client.handle_timeout(asking.now)
        asking.changed()
        for page in range(pages):
            if asking.asked("prompts/list"):
                asking.page([f"p{step}-{page}"], str(page) if page + 1 < pages else None)
        if (snapshot := asking.prompts.snapshot) is not None and snapshot not in published[-1:]:
            published.append(snapshot)
    asking.wait(1.0)
    for page in range(pages):
        asking.page(["last" if page else "first"], str(page) if page + 1 < pages else None)
    assert asking.walks() <= 122
    assert len(published) >= 119
    assert all(later.received - earlier.received <= 0.502 for earlier, later in pairwise(published))
    assert asking.prompts.snapshot is not None
    assert asking.prompts.snapshot.verified
    assert asking.prompts.listing.fresh(asking.now)
    assert asking.client.next_timeout() is None


@both_eras
def test_a_server_that_rebuilds_its_catalogue_one_by_one_costs_two_walks(version: str) -> None:
    world = World(prompts=catalogue(50), versions=(version,), latency=0.01)
    world.outcome(world.prompts.list(world.now))
    before = walks(world)
    for name in [*world.catalogue.snapshot.names]:
        world.catalogue.remove(name)
    for number in range(50):
        world.catalogue.add(prompt(f"new {number:02}"))
    world.run(10.0)
    assert walks(world) - before <= 2
    assert holds_the_servers_list(world)


@both_eras
def test_a_batch_costs_one_walk(version: str) -> None:
    world = World(prompts=catalogue(50), versions=(version,), latency=0.01)
    world.outcome(world.prompts.list(world.now))
    before = walks(world)
    with world.catalogue.batch():
        for name in [*world.catalogue.snapshot.names]:
            world.catalogue.remove(name)
        for number in range(50):
            world.catalogue.add(prompt(f"new {number:02}"))
    world.run(10.0)
    assert walks(world) - before == 1
    assert len(world.notifications("notifications/prompts/list_changed")) == 1
    assert holds_the_servers_list(world)


# --- torn walks -------------------------------------------------------------------------------------


def thousand(*, private: bool) -> Catalogue:
    """1,000 prompts; a predicate makes every page private, and takes the digest away."""
    made = Catalogue(visible=(lambda _principal, _prompt: True) if private else None)
    with made.batch():
        for number in range(1000):
            made.add(prompt(f"p{number:04}"))
    return made


class Torn:
    """A walk over ten pages, with something done when one of them has arrived."""

    def __init__(self, version: str, *, private: bool, channel: bool) -> None:
        self.world = World(
            prompts=thousand(private=private),
            versions=(version,),
            latency=0.01,
            serving=PromptServerConfig(keys=KEYS, page_size=100, list_changed=channel, ttl=3600.0),
        )
        self.states = [self.served()]

    def served(self) -> tuple[str, ...]:
        return self.world.catalogue.snapshot.names

    def change(self, count: int) -> None:
        """Remove prompts and add others, at both ends of the list."""
        for _ in range(count):
            number = len(self.states)
            self.world.catalogue.remove(f"p{number:04}")
            self.states.append(self.served())
            self.world.catalogue.add(prompt(f"z{number:04}"))
            self.states.append(self.served())

    def until_asked(self, pages: int) -> None:
        """Run until so many pages have been asked for, but not for long."""
        self.world.run(10.0, until=lambda: len(self.world.requests("prompts/list")) >= pages)

    def walk(self, after: int, changes: int) -> None:
        """List, changing when `after` pages have been asked for; and go on until nothing happens."""
        world = self.world
        op = world.prompts.list(world.now)
        self.until_asked(len(world.requests("prompts/list")) + after)
        self.change(changes)
        world.outcome(op)
        world.run(5.0)

    def torn_and_verified(self) -> list[int]:
        """The updates that claim to be verified and are no state of the server's."""
        updates = self.world.all(Updated)
        return [
            number
            for number, update in enumerate(updates)
            if update.snapshot.verified and tuple(names(update.snapshot)) not in self.states
        ]


@both_eras
@pytest.mark.parametrize(("private", "channel"), [(False, True), (True, True), (False, False)])
def test_a_quiet_walk_of_ten_pages_is_verified(version: str, private: bool, channel: bool) -> None:
    """By the channel, by the digest, or by both."""
    torn = Torn(version, private=private, channel=channel)
    torn.walk(1, 0)
    (update,) = torn.world.all(Updated)
    assert update.snapshot.verified
    assert update.snapshot.pages == 10


@both_eras
@pytest.mark.parametrize("changes", [1, 3])
@pytest.mark.parametrize("after", range(1, 11))
def test_a_change_between_any_two_pages_never_makes_a_torn_list_that_claims_to_be_whole(
    version: str, after: int, changes: int
) -> None:
    """Once with the channel and digests, once with the channel alone, once with digests alone. The official
    SDK lists page by page and has no notion of whether pages fit together.
    """
    for private, channel in ((False, True), (True, True), (False, False)):
        torn = Torn(version, private=private, channel=channel)
        torn.walk(after, changes)
        assert torn.torn_and_verified() == []
        if channel:
            assert holds_the_servers_list(torn.world)
        else:
            torn.world.outcome(torn.world.prompts.refresh(torn.world.now))
            assert names(torn.world.prompts.snapshot) == [*torn.served()]


@both_eras
def test_a_change_between_all_pages_of_all_walks(version: str) -> None:
    torn = Torn(version, private=False, channel=True)
    world = torn.world
    world.prompts.list(world.now)
    for _ in range(60):
        torn.until_asked(len(world.requests("prompts/list")) + 1)
        torn.change(1)
    world.run(5.0)
    assert len(world.all(Updated)) >= 6
    assert torn.torn_and_verified() == []
    assert holds_the_servers_list(world)
