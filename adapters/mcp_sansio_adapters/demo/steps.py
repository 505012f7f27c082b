"""The steps of the demonstration for one revision, in their order, on one client.

A step edits files, lets the client do what clients do, and raises `StepFailed` if what comes of it is not
what the files say. Nothing waits for a fixed time: a step ends when the client holds what it must, and
fails when that takes longer than anybody's patience.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import attrs

from mcp_sansio import (
    ChannelChanged,
    ClientConfig,
    Disconnected,
    Event,
    Implementation,
    Invalidated,
    ListingConfig,
    McpError,
    PromptMessage,
    Snapshot,
    TextContent,
    Updated,
    __version__,
)
from mcp_sansio_adapters._exceptions import PromptGoneError, RequestFailed
from mcp_sansio_adapters._pump import Traffic
from mcp_sansio_adapters.asyncio import AsyncClient, Changes
from mcp_sansio_adapters.cli.show import amount

from .report import Report, counted, differences, spent
from .scene import Scene
from .server import HOSTS, NAMES

EDITS = 200
PAUSE = 0.005
ANSWER = 20.0
"""How long the server may take to answer, in seconds."""


class StepFailed(McpError):
    """The step did not come out as the files say it must."""


@attrs.define
class Witness:
    """What a client's events say about its server."""

    announced: asyncio.Event = attrs.field(factory=asyncio.Event)
    walks: int = 0
    losses: int = 0
    gaps: int = 0

    def hear(self, event: Event) -> None:
        """Take an event in."""
        if isinstance(event, Invalidated) and event.reason == "list_changed":
            self.announced.set()
        self.walks += isinstance(event, Updated)
        self.losses += isinstance(event, Disconnected)
        self.gaps += isinstance(event, ChannelChanged) and not event.live


class Play:
    """One client and its server, over one transport, in one revision of the protocol."""

    def __init__(
        self,
        scene: Scene,
        command: Sequence[str],
        report: Report,
        *,
        transport: str,
        version: str,
        patience: float,
    ) -> None:
        self._scene = scene
        self._host = HOSTS[transport](command, scene.root.parent)
        self.transport = NAMES[transport]
        self.version = version
        self._report = report
        self._patience = patience
        self._witness = Witness()
        self._stack = AsyncExitStack()
        self.step = ""

    async def run(self) -> None:
        """Play all steps. Raises `StepFailed`; `step` is the one that failed, then."""
        steps = (
            self._connect, self._list, self._render, self._watch, self._storm, self._stale, self._restart
        )  # fmt: skip
        async with self._stack:
            for step in steps:
                self.step = step.__name__.strip("_")
                self._report.step(self.step)
                self._report.cost(await self._played(step))

    async def _played(self, step: Callable[[], Awaitable[Traffic]]) -> Traffic:
        """Play one step. Nothing in it may end the connection, unless it has taken that into account."""
        try:
            cost = await step()
        except StepFailed:
            raise
        except Exception as error:
            if self.step != "connect":
                self._unbroken(self._witness)
            raise StepFailed(str(error) if isinstance(error, McpError) else repr(error)) from error
        self._unbroken(self._witness)
        return cost

    # --- the steps ---

    async def _connect(self) -> Traffic:
        self._report.say(f"A child process is started: {shown(self._host.command)}")
        self._stack.push_async_callback(self._host.close)
        await self._host.start()
        listing = ListingConfig(wait=ANSWER)
        self._client = await self._stack.enter_async_context(self._open(listing, first=True))
        agreed = self._client.negotiated
        name = "a nameless server" if agreed.server_info is None else agreed.server_info.name
        if agreed.version != self.version:
            raise StepFailed(f"the server speaks {agreed.version}, but was asked for {self.version}")
        self._report.proved(f"Client and server ({name}) agree on {agreed.version}.")
        return attrs.evolve(self._client.traffic)

    async def _list(self) -> Traffic:
        before = attrs.evolve(self._client.traffic)
        listed = await self._client.list_prompts()
        self._report.say(f"{counted(len(listed), 'prompt')} in {counted(listed.pages, 'page')}:")
        self._report.detail(", ".join(listed.by_name))
        self._check(listed)
        if listed.pages < 2:
            raise StepFailed("all prompts came on one page, so nothing is known about the server's cursors")
        self._report.proved("A prompt for every file, with all that its front matter says.")
        cost = spent(before, self._client.traffic)
        await self._client.list_prompts()
        again = spent(cost, spent(before, self._client.traffic))
        self._report.say(f"Asked again, the client knows the answer: {amount(again.bytes_sent)} go out.")
        return cost

    async def _render(self) -> Traffic:
        before = attrs.evolve(self._client.traffic)
        arguments = {"text": "Guten Morgen, {{language}}!", "language": "Japanese"}
        self._report.say("translate, with a text that looks like a blank itself:")
        text = await self._rendered(self._client, "translate", arguments)
        for line in text.splitlines()[:3]:
            self._report.detail(f"│ {line}")
        self._report.proved("The text of the file, its blanks filled in once.")
        return spent(before, self._client.traffic)

    async def _watch(self) -> Traffic:
        before, old = attrs.evolve(self._client.traffic), self._scene.prompts()
        changes = self._client.changes()
        self._witness.announced.clear()
        self._scene.write("team/retro", "Look back", "What went well, what did not, what next?")
        self._scene.edit("code/review", "title: Review a change", "title: Review a pull request")
        self._scene.edit("summarise", "five points", "three points")
        self._scene.remove("data/sql")
        self._report.say("Four files are edited while the client looks on. It sees:")
        await self._converges(changes)
        for line in differences(old, self._scene.prompts()):
            self._report.detail(line)
        await self._rendered(self._client, "summarise", {"text": "…"})
        self._report.proved(
            "The list of the files. The fourth edit, of a text, is in no list but is rendered."
        )
        return spent(before, self._client.traffic)

    async def _storm(self) -> Traffic:
        before, walks = attrs.evolve(self._client.traffic), self._witness.walks
        changes = self._client.changes()
        self._witness.announced.clear()
        self._report.say(f"{EDITS} edits, one every {PAUSE * 1000:g} ms. The client keeps up:")
        editing = asyncio.create_task(self._edit())
        try:
            await self._converges(changes, editing)
        finally:
            editing.cancel()
        listed = await self._client.list_prompts()
        cost, walks = spent(before, self._client.traffic), self._witness.walks - walks
        notifications = cost.messages_received - cost.messages_sent
        self._report.say(
            f"It took {counted(notifications, 'notification')}, {counted(walks, 'walk')} "
            f"through the list and {counted(cost.messages_sent, 'request')}."
        )
        self._check(listed)
        if not listed.verified:
            raise StepFailed("the last list is not known to be whole")
        await self._rendered(self._client, "storm/last", {})
        self._report.proved("In the end the client holds the list of the files, and knows that it is whole.")
        return cost

    async def _edit(self) -> None:
        """The storm. Its last edit is one that the list shows."""
        for number in range(EDITS - 1):
            self._scene.storm_edit(number)
            await asyncio.sleep(PAUSE)
        self._scene.write("storm/last", "The last edit", "Silence.")

    async def _stale(self) -> Traffic:
        """With a client that hears of changes and does nothing about them until it is asked."""
        self._report.say("A second client keeps no list up to date, so it asks for what is there no more.")
        witness = Witness()
        async with self._open(ListingConfig(eager=False, max_wait=0.05, wait=ANSWER), witness) as client:
            self._check(await client.list_prompts())
            await self._redefined(client, witness)
            await self._gone(client, witness)
            self._unbroken(witness)
            return attrs.evolve(client.traffic)

    async def _redefined(self, client: AsyncClient, witness: Witness) -> None:
        self._scene.write(
            "explain", "Explain", "Explain {{subject}} in {{words}} words.", ("subject", "words")
        )
        await self._announced(witness)
        sent, walks = client.traffic.messages_sent, witness.walks
        failed = await self._refused(client, "explain", {"subject": "tides"})
        if failed.snapshot is None or isinstance(failed, PromptGoneError):
            raise StepFailed(f"explain is there, but the client came to believe that {failed}")
        self._check(failed.snapshot)
        pages = (witness.walks - walks) * failed.snapshot.pages
        tries = client.traffic.messages_sent - sent - pages
        if tries != 2:
            raise StepFailed(f"a redefined prompt is tried twice, but this one was tried {tries} times")
        self._report.say("explain has a new argument: refused, list renewed, tried once more, and then:")
        self._report.detail(str(failed))
        await self._rendered(client, "explain", {"subject": "tides", "words": "fifty"})
        self._report.proved("The renewed list says what is missing. With that, explain renders.")

    async def _gone(self, client: AsyncClient, witness: Witness) -> None:
        witness.announced.clear()
        self._scene.rename("translate", "language/translate")
        await self._announced(witness)
        arguments = {"text": "Good morning!", "language": "Welsh"}
        failed = await self._refused(client, "translate", arguments)
        if not isinstance(failed, PromptGoneError):
            raise StepFailed(f"translate was renamed, but the client came to believe that {failed}")
        self._check(failed.snapshot)
        self._report.say("translate has a new name: refused, list renewed, and then:")
        self._report.detail(str(failed))
        await self._rendered(client, "language/translate", arguments)
        self._report.proved(
            "The list comes with the refusal. With the name in it, language/translate renders."
        )

    async def _restart(self) -> Traffic:
        before, changes = attrs.evolve(self._client.traffic), self._client.changes()
        old = self._host.pid
        self._host.kill()
        self._scene.write("ops/postmortem", "Look at an outage", "What broke, and what kept the rest alive?")
        self._report.say(f"Process {old} is killed, and a file is added while nobody serves the folder.")
        await self._host.revive()
        await self._converges(changes)
        new = self._host.pid
        if new == old or self._witness.gaps != 1:
            raise StepFailed(f"the server was to be lost and found once, not {self._witness.gaps} times")
        self._witness.gaps = self._witness.losses = 0
        await self._rendered(self._client, "ops/postmortem", {})
        self._report.say(self._host.comeback.format(new))
        self._report.proved("The list of the files, the new one among them.")
        return spent(before, self._client.traffic)

    # --- what steps are made of ---

    def _open(
        self, listing: ListingConfig, witness: Witness | None = None, *, first: bool = False
    ) -> AbstractAsyncContextManager[AsyncClient]:
        info = Implementation("mcp-sansio-demo", __version__)
        config = ClientConfig(info=info, versions=(self.version,), quiet_timeout=ANSWER, total_timeout=ANSWER)
        hear = (witness or self._witness).hear
        return self._host.open(first=first, config=config, listing=listing, on_event=hear)

    async def _announced(self, witness: Witness) -> None:
        """Wait until the server has said that its list changed."""
        try:
            await asyncio.wait_for(witness.announced.wait(), self._patience)
        except TimeoutError:
            self._unbroken(witness)
            raise StepFailed(self._overdue(witness)) from None

    def _unbroken(self, witness: Witness) -> None:
        if (witness.losses or witness.gaps) and self.step != "restart":
            raise StepFailed("the server ended the connection, and had to be found again")

    def _check(self, listed: Snapshot) -> None:
        """A list must be that of the folder, each prompt once."""
        lines = [*differences(self._scene.prompts(), dict(listed.by_name)), *listed.problems]
        if lines:
            raise StepFailed(f"the list is not that of the folder: {'; '.join(lines[:3])}")

    async def _converges(self, changes: Changes, editing: asyncio.Task[None] | None = None) -> Snapshot:
        """Wait until there is nothing more to edit, and the client holds the list of the folder."""
        while (editing is not None and not editing.done()) or not self._holds():
            try:
                change = await asyncio.wait_for(anext(changes), self._patience)
            except TimeoutError:
                self._unbroken(self._witness)
                raise StepFailed(self._overdue(self._witness)) from None
            if editing is not None:
                self._report.detail(_summary(change))
        snapshot = self._client.snapshot
        if snapshot is None:
            raise StepFailed("the client holds no list")
        return snapshot

    def _holds(self) -> bool:
        snapshot = self._client.snapshot
        return snapshot is not None and dict(snapshot.by_name) == self._scene.prompts()

    def _overdue(self, witness: Witness) -> str:
        if not witness.announced.is_set():
            return f"the server announced no change within {self._patience:g} s"
        snapshot = self._client.snapshot
        held = {} if snapshot is None else dict(snapshot.by_name)
        lines = [*differences(held, self._scene.prompts())]
        return f"a change was announced, but the server's list lacks it: {'; '.join(lines[:3])}"

    async def _rendered(self, client: AsyncClient, name: str, arguments: Mapping[str, str]) -> str:
        """A prompt must render to the text of its file, with the blanks filled in."""
        result = await client.get_prompt(name, arguments)
        text = self._scene.text(name, arguments)
        if result.messages != (PromptMessage("user", TextContent(text)),):
            raise StepFailed(f"{name} does not render to what is in its file")
        return text

    async def _refused(self, client: AsyncClient, name: str, arguments: Mapping[str, str]) -> RequestFailed:
        """A prompt must be refused by the server."""
        try:
            await client.get_prompt(name, arguments)
        except RequestFailed as error:
            return error
        raise StepFailed(f"{name} was to be refused, but it rendered")


def _summary(change: Updated) -> str:
    """A change in numbers."""
    moved = f"{len(change.added)} new, {len(change.removed)} gone, {len(change.changed)} changed"
    return f"{len(change.snapshot)} prompts: {moved}{'' if change.snapshot.verified else ' (perhaps torn)'}"


def shown(command: Sequence[str]) -> str:
    """A command for people: our own by its name."""
    ours = (sys.executable, "-m", "mcp_sansio_adapters")
    return shlex.join(("mcp-sansio", *command[3:]) if tuple(command[:3]) == ours else command)
