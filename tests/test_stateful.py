"""A client and a server in one world, and anything that can happen to them, in any order.

Commands, edits, answers that come late or never, cancelling, mistakes of the application, time, connections
cut in the middle of a message, and new ones. Whatever happens: every command and request ends exactly once,
no id is used or answered twice, a deadline that has been acted on is over, mistakes raise
`LocalProtocolError`, and nothing else is raised.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pair import CLIENT, KEYS, SERVER, World, prompt

from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    ArgumentCompleted,
    AskInput,
    CallFailed,
    CallSucceeded,
    Catalogue,
    ClientConfig,
    InputNeeded,
    InputRequest,
    Listed,
    ListingConfig,
    LocalProtocolError,
    OpFailed,
    PageListed,
    PromptGone,
    PromptRendered,
    PromptRequested,
    PromptServerConfig,
    RequestCancelled,
    RequestReceived,
    ServerConfig,
)

ENDS = (Listed, PageListed, PromptRendered, PromptGone, ArgumentCompleted, OpFailed)
NAMES = [f"p{number}" for number in range(6)]
QUESTION = InputRequest("elicitation/create", {"message": "which?", "requestedSchema": {}})

names = st.sampled_from(NAMES)
positions = st.integers(0, 20)
versions = st.sampled_from([ALL_VERSIONS, MODERN_VERSIONS, *[(version,) for version in LEGACY_VERSIONS]])


class Pair(RuleBasedStateMachine):
    """What may happen to a client, a server and the bytes between them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Any] = []
        self.settled: set[int] = set()

    @initialize(
        versions=versions,
        latency=st.sampled_from([0.0, 0.02, 0.4]),
        page_size=st.sampled_from([1, 2, 100]),
        eager=st.booleans(),
    )
    def start(self, versions: tuple[str, ...], latency: float, page_size: int, eager: bool) -> None:
        prompts = Catalogue()
        for name in NAMES[:4]:
            prompts.add(prompt(name, optional=["a"]), lambda **_: "rendered", {"a": ["aa", "ab"]})
        self.world = World(
            prompts=prompts,
            client=ClientConfig(info=CLIENT, capabilities={"elicitation": {}}, versions=versions),
            server=ServerConfig(info=SERVER, methods=("x/echo",)),
            serving=PromptServerConfig(keys=KEYS, page_size=page_size),
            listing=ListingConfig(eager=eager),
            latency=latency,
            connect=False,
        )
        self.world.hold = True
        self.connected = False

    # --- commands ---

    def _start(self, started: Any) -> None:
        self.started.append(started)
        self.world.settle()

    @rule(stale_ok=st.booleans())
    def list_prompts(self, stale_ok: bool) -> None:
        self._start(self.world.prompts.list(self.world.now, stale_ok=stale_ok))

    @rule()
    def refresh(self) -> None:
        self._start(self.world.prompts.refresh(self.world.now))

    @rule(cursor=st.sampled_from(["", "made up"]))
    def page(self, cursor: str) -> None:
        self._start(self.world.prompts.list(self.world.now, cursor=cursor))

    @rule(name=names, given=st.booleans())
    def get(self, name: str, given: bool) -> None:
        self._start(self.world.prompts.get(name, {"a": "x"} if given else None, self.world.now))

    @rule(name=names)
    def complete(self, name: str) -> None:
        self._start(self.world.prompts.complete(name, "a", "a", self.world.now))

    @rule()
    def request(self) -> None:
        self._start(self.world.client.request("x/echo", {"a": 1}, self.world.now))

    @precondition(lambda self: self.started)
    @rule(position=positions)
    def cancel(self, position: int) -> None:
        started = self.started[position % len(self.started)]
        if hasattr(started, "kind"):
            self.world.prompts.cancel(started, self.world.now)
        else:
            self.world.client.cancel(started, self.world.now)
        self.world.settle()

    @rule()
    def give_input(self) -> None:
        for needed in self.world.all(InputNeeded):
            if id(needed) not in self.settled:
                self.settled.add(id(needed))
                answers = {key: {"action": "decline"} for key in needed.requests}
                try:
                    self.world.client.provide_input(needed.call, answers, self.world.now)
                except LocalProtocolError:
                    assert {needed.call, needed.op} & set(self.ended()), "only what has ended wants no input"
        self.world.settle()

    # --- the server's application ---

    def _open(self) -> list[PromptRequested | RequestReceived]:
        """What the server's application was asked for and has neither answered nor been told to drop."""
        dropped = {id(event.request) for event in self.world.all(RequestCancelled, server=True)}
        asked: list[PromptRequested | RequestReceived] = [
            *self.world.all(PromptRequested, server=True),
            *self.world.all(RequestReceived, server=True),
        ]
        return [e for e in asked if id(e.request) not in dropped | self.settled]

    @rule(position=positions, ask=st.booleans())
    def answer(self, position: int, ask: bool) -> None:
        waiting = self._open()
        if waiting:
            event = waiting[position % len(waiting)]
            self.settled.add(id(event.request))
            if isinstance(event, PromptRequested):
                rendered = AskInput({"q": QUESTION}, 1) if ask and not event.responses else "rendered"
                self.world.prompt_server.answer(event, rendered, self.world.now)
            else:
                self.world.server.respond(event.request, {"ok": True}, self.world.now)
            self.world.settle()

    @rule(position=positions)
    def answer_what_is_settled(self, position: int) -> None:
        over = [e for e in self.world.all(PromptRequested, server=True) if id(e.request) in self.settled]
        if over:
            with pytest.raises(LocalProtocolError):
                self.world.prompt_server.answer(over[position % len(over)], "again", self.world.now)

    @rule(position=positions)
    def report_progress(self, position: int) -> None:
        waiting = self._open()
        if waiting:
            assert not self.world.server.progress(
                waiting[position % len(waiting)].request, 1, self.world.now
            ), "nobody asked for it"

    @rule(edits=st.dictionaries(names, st.sampled_from(["put", "remove", "describe"]), max_size=4))
    def edit(self, edits: dict[str, str]) -> None:
        catalogue = self.world.catalogue
        with catalogue.batch():
            for name, how in edits.items():
                if how == "put":
                    catalogue.put(prompt(name, optional=["a"]), lambda **_: "put")
                elif how == "describe":
                    catalogue.put(
                        prompt(name, optional=["a"], description=str(self.world.now)), lambda **_: ""
                    )
                elif name in catalogue.snapshot.entries:
                    catalogue.remove(name)
        self.world.settle()

    # --- mistakes ---

    @rule()
    def say_what_cannot_be_said(self) -> None:
        now, client, prompts = self.world.now, self.world.client, self.world.prompts
        bad: Any = float("nan")
        for mistake in (
            lambda: client.request("x/echo", {"a": bad}, now),
            lambda: client.request("x/echo", {"_meta": {}}, now),
            lambda: client.notify("x", {"a": "\ud800"}, now),
            lambda: prompts.get("p0", {"a": bad}, now),
            lambda: prompts.list(now, cursor="\ud800"),
            lambda: prompts.complete(bad, "a", "", now),
            lambda: self.world.server.changed("no topic", now),
        ):
            with pytest.raises(LocalProtocolError):
                mistake()

    # --- the world ---

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.06, 0.5, 5.0, 61.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.world.run(seconds)

    @rule()
    def look_at_the_clock_too_early(self) -> None:
        for machine in (self.world.client, self.world.server):
            machine.handle_timeout(self.world.now - 1.0)

    @precondition(lambda self: not self.connected)
    @rule()
    def connect(self) -> None:
        self.connected = True
        self.world.connect()

    @precondition(lambda self: self.connected)
    @rule(half=st.sampled_from([b"", b'{"jsonrpc":"2.0","id":1,"resu', b"\xc3"]))
    def cut(self, half: bytes) -> None:
        self.connected = False
        self.world.client_wire.receive_data(half, self.world.now)
        self.world.server_wire.receive_data(half, self.world.now)
        self.world.disconnect()

    # --- what always holds ---

    def ended(self) -> Counter[Any]:
        """How often each command and each request of no layer has ended."""
        ends: Counter[Any] = Counter()
        for _, event in self.world.events:
            if isinstance(event, ENDS):
                ends[event.op] += 1
            elif isinstance(event, CallSucceeded | CallFailed):
                ends[event.call] += 1
        return ends

    @invariant()
    def everything_ends_at_most_once(self) -> None:
        ended = self.ended()
        assert not ended or max(ended.values()) == 1
        assert set(ended) <= set(self.started)

    @invariant()
    def what_was_due_is_over(self) -> None:
        for machine in (self.world.client, self.world.server):
            machine.handle_timeout(self.world.now)
            due = machine.next_timeout()
            assert due is None or due > self.world.now

    @invariant()
    def no_id_is_used_or_answered_twice(self) -> None:
        asked = [message["id"] for _, message in self.world.sent if "method" in message and "id" in message]
        answered = [message["id"] for _, message in self.world.received if "method" not in message]
        assert len(set(asked)) == len(asked)
        assert len(set(answered)) == len(answered)
        assert set(answered) <= set(asked)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        if self.connected:
            self.world.run(1000.0)
        self.world.client.close(self.world.now)
        self.world.settle()
        assert self.ended() == Counter(self.started)
        assert self.world.client.next_timeout() is None


TestPair = Pair.TestCase
TestPair.settings = settings(stateful_step_count=30)
