"""Properties of a client and a server in one world, whatever happens in it.

A hypothesis machine changes the catalogue, gives commands, lets time pass and cuts connections, with any
latency and in either era. Published epochs never go backwards; a verified list is one state of the server's
catalogue; a list that is called fresh was asked for after the last change that the client has heard of; each
command ends once; and when everything has come to rest the client holds the server's list.
"""

from __future__ import annotations

from typing import Any

from asking import ENDS
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pair import KEYS, World, prompt

from mcp_sansio import (
    ALL_VERSIONS,
    Catalogue,
    Invalidated,
    Listed,
    ListingConfig,
    Op,
    Prompt,
    PromptServerConfig,
    Updated,
)

NAMES = [f"p{number}" for number in range(9)]
some_name = st.sampled_from(NAMES)
shapes = st.sampled_from([(), ("x",), ("x", "y")])


def shown(_principal: str | None, listed: Prompt) -> bool:
    """A predicate: whoever asks does not see p3."""
    return listed.name != "p3"


class PromptWorld(RuleBasedStateMachine):
    """A world, what was asked in it, and every state that its server has had."""

    @initialize(
        version=st.sampled_from(ALL_VERSIONS),
        latency=st.sampled_from([0.0, 0.01, 0.3]),
        eager=st.booleans(),
        private=st.booleans(),
        list_changed=st.booleans(),
        ttl=st.sampled_from([0.0, 0.5, 3600.0]),
    )
    def begin(
        self, *, version: str, latency: float, eager: bool, private: bool, list_changed: bool, ttl: float
    ) -> None:
        self.world = World(
            prompts=Catalogue(visible=shown if private else None),
            versions=(version,),
            latency=latency,
            listing=ListingConfig(eager=eager),
            serving=PromptServerConfig(keys=KEYS, page_size=2, ttl=ttl, list_changed=list_changed),
            connect=False,
        )
        self.private = private
        self.announcing = list_changed
        self.connected = False
        self.ops: list[Op] = []
        self.seen = 0  # events
        self.before = 0  # messages sent on connections that are gone
        self.states = [self.served()]

    def served(self) -> dict[str, Prompt]:
        """What the client may see of the catalogue."""
        prompts = [entry.prompt for entry in self.world.catalogue.snapshot.entries.values()]
        return {listed.name: listed for listed in prompts if not self.private or shown(None, listed)}

    # --- what happens ---

    @rule(name=some_name, required=shapes)
    def put(self, name: str, required: tuple[str, ...]) -> None:
        self.world.catalogue.put(prompt(name, *required), lambda **_: "rendered")
        self._changed()

    @rule(name=some_name)
    def remove(self, name: str) -> None:
        if name in self.world.catalogue.snapshot.entries:
            self.world.catalogue.remove(name)
        self._changed()

    @rule(listed=st.sets(some_name))
    def replace_all(self, listed: set[str]) -> None:
        with self.world.catalogue.batch():
            for name in [*self.world.catalogue.snapshot.names]:
                self.world.catalogue.remove(name)
            for name in sorted(listed):
                self.world.catalogue.add(prompt(name), lambda **_: "rendered")
        self._changed()

    def _changed(self) -> None:
        self.states.append(self.served())
        self.world.settle()

    @rule(stale_ok=st.booleans())
    def list(self, stale_ok: bool) -> None:
        self._gave(self.world.prompts.list(self.world.now, stale_ok=stale_ok))

    @rule()
    def refresh(self) -> None:
        self._gave(self.world.prompts.refresh(self.world.now))

    @rule()
    def page(self) -> None:
        self._gave(self.world.prompts.list(self.world.now, cursor="not issued"))

    @rule(name=some_name, arguments=st.dictionaries(st.sampled_from("xy"), st.just("v")))
    def get(self, name: str, arguments: dict[str, str]) -> None:
        self._gave(self.world.prompts.get(name, arguments, self.world.now))

    @rule(name=some_name)
    def complete(self, name: str) -> None:
        self._gave(self.world.prompts.complete(name, "x", "v", self.world.now, {"y": "z"}))

    def _gave(self, op: Op) -> None:
        self.ops.append(op)
        self.world.settle()

    @precondition(lambda self: self.ops)
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        op = data.draw(st.sampled_from(self.ops))
        self.world.prompts.cancel(op, self.world.now)
        self.world.settle()

    @rule()
    def another_context(self) -> None:
        self.world.prompts.principal_changed(self.world.now)
        assert self.world.prompts.snapshot is None
        self.world.settle()

    @rule(seconds=st.sampled_from([0.005, 0.05, 0.2, 1.0, 70.0]))
    def wait(self, seconds: float) -> None:
        self.world.run(seconds)

    @precondition(lambda self: self.connected)
    @rule()
    def cut(self) -> None:
        self.world.disconnect()
        self.connected = False

    @precondition(lambda self: not self.connected)
    @rule()
    def connect(self) -> None:
        self.before = len(self.world.sent)
        self.world.connect()
        self.connected = True

    # --- what holds ---

    @invariant()
    def everything_published_is_in_order_and_whole_or_not_said_to_be(self) -> None:
        if not hasattr(self, "world"):
            return
        news, self.seen = self.world.events[self.seen :], len(self.world.events)
        for _, event in news:
            if isinstance(event, Updated):
                if event.snapshot.verified:
                    assert dict(event.snapshot.by_name) in self.states
                assert not event.snapshot.problems
                assert list(event.snapshot.by_name) == [listed.name for listed in event.snapshot]
        epochs = [update.epoch for update in self.world.all(Updated)]
        assert epochs == sorted(epochs)
        raised = [event.epoch for event in self.world.all(Invalidated)]
        assert raised == sorted(set(raised))

    @invariant()
    def at_most_one_walk_is_in_flight(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        walking: set[int] = set()
        for message in (message for _, message in world.sent[self.before :]):
            params = message.get("params", {})
            if message.get("method") == "prompts/list" and params.get("cursor") != "not issued":
                walking.add(message["id"])
            walking.discard(params.get("requestId"))
        arrived = [message for now, message in world.received if now + world.latency <= world.now]
        assert len(walking - {message.get("id") for message in arrived}) <= 1

    @invariant()
    def each_command_ends_at_most_once(self) -> None:
        if not hasattr(self, "world"):
            return
        ended = [event.op for _, event in self.world.events if isinstance(event, ENDS)]
        assert len(ended) == len(set(ended))

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        if not self.connected:
            world.connect()
        world.run(400.0)
        self._everything_has_ended()
        self._the_client_has_the_servers_list()
        world.client.close(world.now)
        world.settle()
        assert world.client.next_timeout() is None

    def _everything_has_ended(self) -> None:
        ended = {event.op for _, event in self.world.events if isinstance(event, ENDS)}
        assert ended == set(self.ops)

    def _the_client_has_the_servers_list(self) -> None:
        world, snapshot = self.world, self.world.prompts.snapshot
        if snapshot is not None and world.prompts.listing.config.eager and self.announcing:
            assert dict(snapshot.by_name) == self.served()
        listed = world.outcome(world.prompts.refresh(world.now))
        assert isinstance(listed, Listed)
        assert dict(listed.snapshot.by_name) == self.served()
        assert listed.snapshot.verified == (self.announcing or not self.private)


PromptWorld.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestPromptWorld = PromptWorld.TestCase
