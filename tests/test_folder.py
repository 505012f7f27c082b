"""Prompt folders: which files are prompts, what becomes of a bad one, and what counts as a change."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from folder_texts import body, parse, text_of

from mcp_sansio import Catalogue, LocalProtocolError, Prompt
from mcp_sansio_adapters.folder import PromptFolder, Reading
from mcp_sansio_adapters.folder.watch import follow

SAMPLES = Path(__file__).parent.parent / "adapters" / "mcp_sansio_adapters" / "demo" / "samples"


def write(root: Path, **files: str) -> None:
    """Write files; `a__b` is the file b.md in the folder a."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".md")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def names(reading: Reading) -> list[str]:
    return [entry.prompt.name for entry in reading.entries]


# --- the folder ---


def test_nested_folders_and_what_is_not_a_prompt(tmp_path: Path) -> None:
    write(tmp_path, b="B", a="A", x__a="A", _hidden="H")
    (tmp_path / "_hidden.md").rename(tmp_path / ".hidden.md")
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".git", head="H")
    (tmp_path / "notes.txt").write_text("N")
    (tmp_path / ".prompt.md").write_text("N")
    reading = PromptFolder(tmp_path).read()
    assert names(reading) == ["a", "b", "x/a"]
    assert reading.problems == ()


def test_a_name_that_is_taken_is_reported_with_both_files(tmp_path: Path) -> None:
    write(tmp_path, a="First", b="---\nname: a\n---\nSecond")
    reading = PromptFolder(tmp_path).read()
    assert [(entry.prompt.name, render(entry.render)) for entry in reading.entries] == [("a", "First")]
    assert [str(problem) for problem in reading.problems] == [
        "b.md:2: not served, for a.md is called 'a' already: rename one of them"
    ]


def render(function: Callable[..., object] | None) -> object:
    assert function is not None
    return text_of(function())


def test_a_link_out_of_the_folder_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    root = tmp_path / "prompts"
    root.mkdir()
    (tmp_path / "secret.md").write_text("S")
    write(root, a="A")
    (root / "inside.md").symlink_to("a.md")
    (root / "outside.md").symlink_to("../secret.md")
    (root / "broken.md").symlink_to("nowhere.md")
    reading = PromptFolder(root).read()
    assert names(reading) == ["a", "inside"]
    assert [str(problem) for problem in reading.problems] == [
        "outside.md: cannot be read: it is a link that leaves the folder"
    ]


def test_a_file_that_goes_bad_keeps_its_last_good_version(tmp_path: Path) -> None:
    folder, catalogue = PromptFolder(tmp_path), Catalogue()
    write(tmp_path, a="---\ntitle: T\n---\nOne", b="B")
    assert folder.load(catalogue) == ()
    epoch = catalogue.snapshot.epoch
    for bad in ("---\ntitle: [\n---\nTwo", "---\ntitle: T\n", "", "---\ntitle: '\n---\nThree"):
        write(tmp_path, a=bad)
        (problem,) = folder.load(catalogue)
        assert problem.file == "a.md"
        assert folder.problems == (problem,)
        entry = catalogue.snapshot.entries["a"]
        assert (entry.prompt.title, render(entry.render)) == ("T", "One")
    write(tmp_path, a="---\ntitle: T\n---\nFour")
    assert folder.load(catalogue) == ()
    assert render(catalogue.snapshot.entries["a"].render) == "Four"
    assert catalogue.snapshot.epoch == epoch
    (tmp_path / "a.md").unlink()
    folder.load(catalogue)
    assert catalogue.snapshot.names == ("b",)


def test_a_file_that_was_never_good_is_served_without_its_front_matter(tmp_path: Path) -> None:
    folder = PromptFolder(tmp_path)
    for said in ("One", "Two"):
        write(tmp_path, a=f"---\ntitle: [\n---\n{said}", b="")
        reading = folder.read()
        assert [(entry.prompt, render(entry.render)) for entry in reading.entries] == [(Prompt("a"), said)]
        assert [problem.file for problem in reading.problems] == ["a.md", "b.md"]


def test_what_cannot_be_listed_is_reported(tmp_path: Path) -> None:
    write(tmp_path, a='---\ndescription: "\\ud800"\n---\nA', b="B")
    reading = PromptFolder(tmp_path).read()
    assert names(reading) == ["b"]
    assert [problem.file for problem in reading.problems] == ["a.md"]


def test_linked_folders_are_not_entered_and_told(tmp_path: Path) -> None:
    root = tmp_path / "prompts"
    write(tmp_path, elsewhere__x="X", prompts__a="A")
    write(root, real__b="B")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "again").symlink_to("real")
    (root / "round").symlink_to(root)
    (root / ".hidden").symlink_to("real")
    reading = PromptFolder(root).read()
    assert names(reading) == ["a", "real/b"]
    reason = "is a link to a folder, and those are not entered: put the folder itself here"
    assert [str(problem) for problem in reading.problems] == [
        f"{folder}: {reason}" for folder in ("again", "out", "round")
    ]
    assert {problem.severity for problem in reading.problems} == {"warning"}


def test_a_folder_that_cannot_be_read_any_more_keeps_its_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a="A", x__b="B", xy="C")
    folder = PromptFolder(tmp_path)
    before = folder.read()
    scandir = os.scandir

    def closed(path: str) -> object:
        if Path(path) == tmp_path / "x":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    (tmp_path / "a.md").unlink()
    reading = folder.read()
    assert names(reading) == ["x/b", "xy"]
    assert [str(problem) for problem in reading.problems] == [
        "x: the folder cannot be read: Permission denied"
    ]
    assert names(PromptFolder(tmp_path).read()) == ["xy"]
    monkeypatch.undo()
    assert folder.read().entries == before.entries[1:]
    assert folder.problems == ()


@pytest.mark.parametrize("target", ["../outside.md", "a.md"])
def test_a_file_that_may_not_be_read_any_more_keeps_its_last_good_version(
    tmp_path: Path, target: str
) -> None:
    root = tmp_path / "prompts"
    write(tmp_path, outside="S", prompts__a="A")
    folder = PromptFolder(root)
    before = folder.read()
    (root / "a.md").unlink()
    (root / "a.md").symlink_to(target)  # out of the folder, or to itself
    reading = folder.read()
    assert reading.entries == before.entries
    assert str(reading.problems[0]).startswith("a.md: cannot be read: ")


def test_a_folder_that_is_gone_changes_nothing_and_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "prompts"
    root.mkdir()
    write(root, a="A")
    folder = PromptFolder(root)
    before = folder.read()
    root.rename(tmp_path / "elsewhere")
    reading = folder.read()
    assert reading.entries == before.entries
    assert str(reading.problems[0]) == f"{root}: the folder cannot be read: No such file or directory"
    (tmp_path / "elsewhere").rename(root)
    assert folder.read() == before


def test_the_list_changes_only_where_the_list_changes(tmp_path: Path) -> None:
    folder, catalogue = PromptFolder(tmp_path), Catalogue()
    changes: list[int] = []
    catalogue.on_change = lambda: changes.append(catalogue.snapshot.epoch)
    write(tmp_path, a="A", b="B")
    folder.load(catalogue)
    write(tmp_path, a="A2")
    folder.load(catalogue)
    assert changes == [1]
    assert render(catalogue.snapshot.entries["a"].render) == "A2"
    write(tmp_path, a="---\ntitle: A\n---\nA2", c="C")
    (tmp_path / "b.md").unlink()
    folder.load(catalogue)
    assert changes == [1, 2]


def test_too_many_prompts_are_refused_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path, a="A", b="B")
    with pytest.raises(LocalProtocolError, match="room for 1"):
        PromptFolder(tmp_path).load(Catalogue(max_prompts=1))


def test_the_samples_are_clean_and_render() -> None:
    reading = PromptFolder(SAMPLES).read()
    assert len(reading.entries) > 20
    assert reading.problems == ()
    for entry in reading.entries:
        values = {argument.name: f"<{argument.name}>" for argument in entry.prompt.arguments}
        assert entry.render is not None
        text = text_of(entry.render(**values))
        assert all(value in text for value in values.values())
        assert "{{" not in text


def test_the_documented_example_is_as_documented() -> None:
    text = (Path(__file__).parent.parent / "docs" / "prompts.md").read_text(encoding="utf-8")
    parsed = parse(text.split("```markdown\n")[1].split("```")[0])
    assert (parsed.sound, parsed.problems, len(parsed.prompt.icons)) == (True, (), 1)
    assert body(parsed, diff="D") == "Review this change. Look first at: \n\nD"


# --- watching ---


def test_following_a_folder_makes_one_change_of_a_burst_and_none_of_a_body(tmp_path: Path) -> None:
    write(tmp_path, a="A", b="B")
    folder, catalogue = PromptFolder(tmp_path), Catalogue()
    folder.load(catalogue)

    async def scenario() -> list[tuple[str, ...]]:
        changed = asyncio.Event()
        seen: list[tuple[str, ...]] = []

        def on_change() -> None:
            seen.append(catalogue.snapshot.names)
            changed.set()

        catalogue.on_change = on_change
        reported: asyncio.Queue[list[str]] = asyncio.Queue()
        task = asyncio.create_task(
            follow(folder, catalogue, lambda found: reported.put_nowait([str(each) for each in found]))
        )
        write(tmp_path, early="E")  # before the watch has begun, perhaps
        await changed.wait()
        changed.clear()
        write(tmp_path, a="Another body")
        write(tmp_path, **{f"new{number}": "N" for number in range(20)}, sub__x="X", broken="---\nHalf")
        await changed.wait()
        assert await reported.get() == ["broken.md:1: the front matter never ends: close it with a line ---"]
        write(tmp_path, broken="---\n---\nWhole")
        assert await reported.get() == []
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return seen

    seen = asyncio.run(scenario())
    new = tuple(sorted(f"new{number}" for number in range(20)))
    assert seen[0] == ("a", "b", "early")
    assert seen[-1] == ("a", "b", "broken", "early", *new, "sub/x")
    assert len(seen) < 10
    assert render(catalogue.snapshot.entries["a"].render) == "Another body"
