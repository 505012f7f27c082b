"""A served folder that is edited: what a real client hears of it, and what it finds then.

The server is the command itself, the files are real, and notifications are counted where they arrive. A
marker file that is written last tells when everything before it has been heard of.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import pytest
from serving import LEGACY, MODERN

from mcp_sansio import ClientConfig, Event, Implementation, Invalidated, TextContent
from mcp_sansio_adapters.asyncio import AsyncClient, open_stdio_client

pytestmark = [pytest.mark.live, pytest.mark.slow]

QUIET = 1.2
"""Seconds in which a server that had something to say would have said it."""


@attrs.define
class Watched:
    """A folder that is served, the client that watches it, and how often that was told of a change."""

    root: Path
    client: AsyncClient
    told: list[Event]

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    async def settled(self) -> tuple[int, tuple[str, ...]]:
        """How many notifications there have been since the last time, and the names that are listed."""
        await asyncio.sleep(QUIET)
        count = len(self.told)
        self.told.clear()
        return count, tuple(sorted((await self.client.refresh_prompts()).by_name))

    async def text(self, name: str) -> str:
        (message,) = (await self.client.get_prompt(name)).messages
        assert isinstance(message.content, TextContent)
        return message.content.text


def watched(
    root: Path, play: Callable[[Watched], Awaitable[None]], *, version: str = MODERN, **files: str
) -> None:
    """Serve a folder with these files, and play with it once everything has begun."""
    config = ClientConfig(info=Implementation("test", "1"), versions=(version,))
    for name, text in files.items():
        (root / f"{name}.md").write_text(text, encoding="utf-8")
    told: list[Event] = []

    def hear(event: Event) -> None:
        if isinstance(event, Invalidated) and event.reason == "list_changed":
            told.append(event)

    async def scenario() -> None:
        command = (sys.executable, "-m", "mcp_sansio_adapters", "serve", str(root))
        async with open_stdio_client(command, config=config, on_event=hear) as client:
            scene = Watched(root, client, told)
            await client.list_prompts()
            await scene.settled()
            await play(scene)

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [LEGACY[-1], MODERN])
def test_a_rename_is_one_change_not_two(tmp_path: Path, version: str) -> None:
    async def play(scene: Watched) -> None:
        (scene.root / "a.md").rename(scene.root / "c.md")
        assert await scene.settled() == (1, ("b", "c"))
        (scene.root / "c.md").unlink()
        await asyncio.sleep(0.1)  # as slow as a tool that does not rename, but deletes and writes
        scene.write("d.md", "A")
        assert await scene.settled() == (1, ("b", "d"))

    watched(tmp_path, play, version=version, a="A", b="B")


def test_bodies_are_nobody_s_business_however_they_are_saved(tmp_path: Path) -> None:
    async def play(scene: Watched) -> None:
        a = scene.root / "a.md"
        scene.write("a.md", "In place")
        assert await scene.settled() == (0, ("a", "b"))
        assert await scene.text("a") == "In place"
        scene.write(".a.md.swp", "Replaced")
        (scene.root / ".a.md.swp").replace(a)
        assert await scene.settled() == (0, ("a", "b"))
        assert await scene.text("a") == "Replaced"
        a.rename(scene.root / "a.md~")
        await asyncio.sleep(0.08)
        scene.write("a.md", "With a backup")
        (scene.root / "a.md~").unlink()
        assert await scene.settled() == (0, ("a", "b"))
        assert await scene.text("a") == "With a backup"

    watched(tmp_path, play, a="A", b="B")


def test_half_a_file_changes_nothing_until_it_is_whole(tmp_path: Path) -> None:
    async def play(scene: Watched) -> None:
        for half in ("", "---\ntitle: New\ndescr", "---\ntitle: 'New\n---\nText"):
            scene.write("a.md", half)
            assert await scene.settled() == (0, ("a", "b"))
            assert await scene.text("a") == "Old"
        scene.write("a.md", "---\ntitle: New\n---\nWhole")
        assert await scene.settled() == (1, ("a", "b"))
        assert await scene.text("a") == "Whole"

    watched(tmp_path, play, a="---\ntitle: Old\n---\nOld", b="B")


def test_a_burst_is_one_change_in_folders_that_are_made_later_too(tmp_path: Path) -> None:
    async def play(scene: Watched) -> None:
        for number in range(30):
            scene.write(f"made/later/n{number}.md", "N")
            scene.write("a.md", f"A {number}")
        count, names = await scene.settled()
        assert (count, len(names)) == (1, 32)
        shutil.rmtree(scene.root / "made")
        assert await scene.settled() == (1, ("a", "b"))

    watched(tmp_path, play, a="A", b="B")


def test_a_folder_that_goes_keeps_its_prompts_and_is_followed_when_it_is_made_again(tmp_path: Path) -> None:
    root = tmp_path / "prompts"
    root.mkdir()

    async def play(scene: Watched) -> None:
        root.rename(tmp_path / "elsewhere")
        assert await scene.settled() == (0, ("a", "b"))
        root.mkdir()
        scene.write("a.md", "Another one")
        scene.write("b.md", "B")
        scene.write("c.md", "C")
        assert await scene.settled() == (1, ("a", "b", "c"))
        assert await scene.text("a") == "Another one"
        scene.write("d.md", "D")
        assert await scene.settled() == (1, ("a", "b", "c", "d"))
        (root / "d.md").unlink()
        assert await scene.settled() == (1, ("a", "b", "c"))

    watched(root, play, a="A", b="B")


def test_a_folder_behind_a_link_that_is_turned_is_the_new_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "b.md").write_text("B")
    root = tmp_path / "current"
    root.symlink_to("one")

    async def play(scene: Watched) -> None:
        (tmp_path / "next").symlink_to("two")
        os.replace(tmp_path / "next", root)  # noqa: PTH105  # the name of the operation
        assert await scene.settled() == (1, ("b",))
        scene.write("c.md", "C")
        assert await scene.settled() == (1, ("b", "c"))

    watched(root, play, a="A")


def test_a_file_that_stays_empty_keeps_its_last_good_version_and_one_that_begins_so_is_none(
    tmp_path: Path,
) -> None:
    async def play(scene: Watched) -> None:
        scene.write("a.md", "")
        scene.write("c.md", "")
        assert await scene.settled() == (0, ("a", "b"))
        assert await scene.text("a") == "A"
        scene.write("c.md", "C")
        assert await scene.settled() == (1, ("a", "b", "c"))
        (scene.root / "a.md").unlink()
        assert await scene.settled() == (1, ("b", "c"))

    watched(tmp_path, play, a="A", b="B")


def test_a_file_that_is_shown_is_part_of_the_body(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("One")

    async def play(scene: Watched) -> None:
        async def shown() -> str:
            (message,) = (await scene.client.get_prompt("a")).messages
            return str(message.content)

        assert "One" in await shown()
        scene.write("notes.txt", "Two")
        assert await scene.settled() == (0, ("a",))
        assert "Two" in await shown()

    watched(tmp_path, play, a="[Notes](notes.txt)")
