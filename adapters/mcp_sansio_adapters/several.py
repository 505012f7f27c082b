"""Several servers at once, each behind its label, for asyncio and trio.

    openers = {"code": lambda: open_stdio_client(["my-server"]), "web": lambda: open_http_client(url)}
    async with open_several(openers) as several:
        found = await several.list_prompts()
        for name, prompt in found.by_name.items():
            print(name, prompt.description)
        chosen = found.by_name["code/review"]
        print(await several.get_prompt(chosen.label, chosen.name, {"change": "…"}))

Every server has a client of its own, opened in a task of its own, with a time limit of its own; its identity
is the label that the caller gave it, never what it says of itself. So nobody waits for a server that he did
not ask for, and what goes wrong with one is a value beside the results of the others. A label and a name are
shown as `label/name` and kept apart in `LabelledPrompt`: what is shown is looked up, never taken apart.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import TypeAlias
from weakref import WeakSet

import attrs

from mcp_sansio import GetPromptResult, Limits, LocalProtocolError, McpError, Prompt, Snapshot, Updated

from ._async_client import AsyncClient
from ._exceptions import ConnectionFailed, Ending
from ._line import CLOSED
from ._loop import Bell, Loop, Tasks
from ._waiting import Feed

Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[AsyncClient]]
"""Makes a client that is connected for a block, as `open_stdio_client` and its like do."""

PATIENCE = 30.0
"""How long a server may take to be there, and again to list its prompts, in seconds."""


class ServerFailed(McpError):
    """The server of a `label` is not there (any more): `failure` says why."""

    def __init__(self, label: str, failure: Exception) -> None:
        super().__init__(f"{label}: {failure}")
        self.label = label
        self.failure = failure


@attrs.frozen
class LabelledPrompt:
    """A prompt, and the label of the server that has it."""

    label: str
    prompt: Prompt

    @property
    def name(self) -> str:
        """What the server calls it."""
        return self.prompt.name

    @property
    def description(self) -> str | None:
        """What it is for."""
        return self.prompt.description

    @property
    def display_name(self) -> str:
        """What to call it among the prompts of all servers; no other one is called so."""
        return f"{shown_label(self.label)}/{self.prompt.name}"


@attrs.frozen
class ServerPrompts:
    """What became of asking one server for its prompts: a `snapshot`, or the `failure`."""

    label: str
    snapshot: Snapshot | None = None
    failure: Exception | None = None


@attrs.frozen
class SeveralPrompts:
    """What became of asking all of them, by their labels."""

    servers: Mapping[str, ServerPrompts]

    @property
    def by_name(self) -> Mapping[str, LabelledPrompt]:
        """The prompts of all servers that answered, by their display names."""
        prompts = [
            LabelledPrompt(each.label, prompt)
            for each in self.servers.values()
            if each.snapshot is not None
            for prompt in each.snapshot
        ]
        return {prompt.display_name: prompt for prompt in prompts}

    @property
    def failures(self) -> Mapping[str, Exception]:
        """Why the others did not, by their labels."""
        return {each.label: each.failure for each in self.servers.values() if each.failure is not None}


@attrs.frozen
class ServerChange:
    """The prompts of one server have changed, or it is not there any more: `change` or `failure`."""

    label: str
    change: Updated | None = None
    failure: Exception | None = None


class SeveralChanges:
    """The changes of all lists, as an async iterator of `ServerChange`.

    It sees all that happens from its creation on to lists that have been asked for, and which servers are
    lost. A reader who is slower than a server gets one change of that server that spans several. It ends when
    the servers are closed.
    """

    def __init__(self, loop: Loop, clients: Mapping[str, AsyncClient]) -> None:
        self._bell = Bell(loop)
        self._feeds: dict[str, Feed] = {}
        self._failures: dict[str, Exception] = {}
        self._ended = False
        for label, client in clients.items():
            self.joined(label, client)

    def joined(self, label: str, client: AsyncClient) -> None:
        """A server is there."""
        feed = self._feeds[label] = client.feed()
        feed.wake = self._bell.ring

    def lost(self, label: str, failure: Exception) -> None:
        """A server is not there, or not any more."""
        self._feeds.pop(label, None)
        self._failures[label] = failure
        self._bell.ring()

    def end(self) -> None:
        """Nothing will come any more."""
        self._ended = True
        self._bell.ring()

    def __aiter__(self) -> SeveralChanges:
        return self

    async def __anext__(self) -> ServerChange:
        while not self._ended:
            change = self._next()
            if change is not None:
                return change
            await self._bell.wait()
        raise StopAsyncIteration

    def _next(self) -> ServerChange | None:
        for label in [*self._failures]:
            return ServerChange(label, failure=self._failures.pop(label))
        for label in [*self._feeds]:
            feed = self._feeds[label] = self._feeds.pop(label)  # whoever had his turn goes last
            with suppress(ConnectionFailed):  # which will be told as a loss
                change = feed.take()
                if change is not None:
                    return ServerChange(label, change)
        return None


class Seat:
    """The place of one server, for one client: from before it is there until it is lost."""

    def __init__(self, loop: Loop, opener: Opener, told: Callable[[Seat], None]) -> None:
        """`told` is called when there is a client, and when there is none."""
        self.client: AsyncClient | None = None
        self.failure: Exception | None = None
        self._loop = loop
        self._opener = opener
        self._told = told
        self._settled = loop.event()

    def start(self, tasks: Tasks, patience: float) -> None:
        """Open the client, and give that up after so many seconds."""
        tasks.start(self._limit, patience, tasks.start(self._stay))

    async def connected(self) -> AsyncClient:
        """The client, as soon as there is one; raises why there is none."""
        await self._settled.wait()
        if self.client is None:
            raise self.failure or ConnectionFailed(Ending(CLOSED))
        return self.client

    async def _limit(self, patience: float, give_up: Callable[[], object]) -> None:
        await self._loop.wait(self._settled, patience)
        if not self._settled.is_set():
            self._settle(failure=ConnectionFailed(Ending(f"no answer within {patience:g} s")))
            give_up()

    async def _stay(self) -> None:
        """Be connected until that is lost for good."""
        try:
            async with self._opener() as client:
                self._settle(client)
                async for _ in client.changes():
                    pass
        except Exception as error:  # noqa: BLE001  # whatever it is, it is no reason to lose other servers
            self._settle(failure=error)
        finally:
            if self.failure is None:
                self._settle(failure=ConnectionFailed(Ending(CLOSED)))

    def _settle(self, client: AsyncClient | None = None, failure: Exception | None = None) -> None:
        self.client, self.failure = client, failure
        self._settled.set()
        self._told(self)


class Several:
    """The clients of several servers. Its methods may be called from any number of tasks."""

    def __init__(self, loop: Loop, openers: Mapping[str, Opener], patience: float) -> None:
        self._loop = loop
        self._openers = dict(openers)
        self._patience = patience
        self._limits = Limits(total=patience)
        self._stopped = loop.event()
        self._tasks: Tasks | None = None
        self._readers: WeakSet[SeveralChanges] = WeakSet()
        self._seats = {label: self._seat(label) for label in self._openers}

    @property
    def labels(self) -> tuple[str, ...]:
        """What the servers are called here."""
        return tuple(self._seats)

    async def client(self, label: str) -> AsyncClient:
        """The client of one server, as soon as it is there. Raises `ServerFailed` if it is not, and
        `LocalProtocolError` for a label that no server has.
        """
        seat = self._of(label)
        try:
            return await seat.connected()
        except Exception as error:
            raise ServerFailed(label, error) from error

    async def list_prompts(self, *, stale_ok: bool = False) -> SeveralPrompts:
        """The prompts of all servers, each from its client's cache while that is fresh, and what went wrong
        with the others. `stale_ok` as for one client.
        """
        outcomes: dict[str, ServerPrompts] = {}

        async def ask(label: str) -> None:
            outcomes[label] = await self._list(label, stale_ok=stale_ok)

        async with self._loop.tasks() as tasks:
            for label in self._seats:
                tasks.start(ask, label)
        return SeveralPrompts({label: outcomes[label] for label in self._seats})

    async def get_prompt(
        self, label: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> GetPromptResult:
        """Render a prompt of one server, which calls it `name`; raises what its client does, and `client`."""
        client = await self.client(label)
        return await client.get_prompt(name, arguments)

    def changes(self) -> SeveralChanges:
        """The changes of all lists from now on, to be iterated over with `async for`."""
        there = {label: seat.client for label, seat in self._seats.items() if seat.client is not None}
        reader = SeveralChanges(self._loop, there)
        self._readers.add(reader)
        return reader

    def reopen(self, label: str) -> None:
        """Open the client of a server that failed once more; nothing happens if it has not failed."""
        if self._of(label).failure is not None and self._tasks is not None:
            self._seats[label] = self._seat(label)
            self._seats[label].start(self._tasks, self._patience)

    async def run(self) -> None:
        """Have the servers open until we are stopped."""
        async with self._loop.tasks() as tasks:
            self._tasks = tasks
            for seat in self._seats.values():
                seat.start(tasks, self._patience)
            await self._stopped.wait()
            self._tasks = None
            tasks.cancel()

    def stop(self) -> None:
        """Part from all servers; `run` returns soon after."""
        for reader in [*self._readers]:
            reader.end()
        self._stopped.set()

    async def _list(self, label: str, *, stale_ok: bool) -> ServerPrompts:
        try:
            client = await self._seats[label].connected()
            snapshot = await client.list_prompts(stale_ok=stale_ok, limits=self._limits)
        except Exception as error:  # noqa: BLE001  # it is what became of this server
            return ServerPrompts(label, failure=error)
        return ServerPrompts(label, snapshot)

    def _of(self, label: str) -> Seat:
        if label not in self._seats:
            raise LocalProtocolError(f"no server {label!r}; there are {', '.join(map(repr, self._seats))}")
        return self._seats[label]

    def _seat(self, label: str) -> Seat:
        return Seat(self._loop, self._openers[label], partial(self._tell, label))

    def _tell(self, label: str, seat: Seat) -> None:
        for reader in [*self._readers]:
            if seat.client is not None:
                reader.joined(label, seat.client)
            elif seat.failure is not None and seat is self._seats[label]:
                reader.lost(label, seat.failure)


def shown_label(label: str) -> str:
    """A label without the slash that ends it in a display name, and so that it is told from all others."""
    return label.replace("%", "%25").replace("/", "%2F")


@asynccontextmanager
async def opened_several(
    loop: Loop, openers: Mapping[str, Opener], patience: float
) -> AsyncGenerator[Several]:
    """Several servers that are being opened, and are parted from in the end."""
    several = Several(loop, openers, patience)
    async with loop.background(several.run):
        try:
            yield several
        finally:
            several.stop()
