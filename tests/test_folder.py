"""Prompt folders: what a file says, what becomes of a bad one, and what counts as a change."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_sansio import Catalogue, Icon, LocalProtocolError, Prompt, PromptArgument, PromptMessage, TextContent
from mcp_sansio_adapters.folder import PromptFolder, Reading
from mcp_sansio_adapters.folder.file import MAX_FILE, PromptFile, parse_file
from mcp_sansio_adapters.folder.problem import UnreadableFile
from mcp_sansio_adapters.folder.watch import follow

SAMPLES = Path(__file__).parent.parent / "adapters" / "mcp_sansio_adapters" / "demo" / "samples"


def parse(text: str, file: str = "greet.md") -> PromptFile:
    return parse_file(file, text.encode())


def problems(text: str) -> list[str]:
    return [str(problem) for problem in parse(text).problems]


def body(parsed: PromptFile, /, **values: str) -> str:
    """The text of the one message of a prompt, which is the user's."""
    return text_of(parsed.render(**values))


def text_of(messages: object) -> str:
    assert isinstance(messages, list)
    (message,) = messages
    assert isinstance(message, PromptMessage)
    assert isinstance(message.content, TextContent)
    assert message.role == "user"
    return message.content.text


def write(root: Path, **files: str) -> None:
    """Write files; `a__b` is the file b.md in the folder a."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".md")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def names(reading: Reading) -> list[str]:
    return [entry.prompt.name for entry in reading.entries]


# --- one file ---


def test_front_matter_becomes_the_listed_prompt() -> None:
    parsed = parse(
        "---\n"
        "title: Say hello\n"
        "description: A greeting.\n"
        "arguments:\n"
        "  - {name: who, title: Who, description: Whom to greet, required: true}\n"
        "  - name: how\n"
        "icons:\n"
        "  - {src: 'https://example.com/a.png', mimeType: image/png, sizes: 48x48, theme: dark}\n"
        "  - {src: b.svg, sizes: [16x16, 32x32]}\n"
        "model: anything, for others read it too\n"
        "---\n"
        "\n"
        "Hello {{who}}{{how}}!\n"
    )
    assert parsed.prompt == Prompt(
        name="greet",
        title="Say hello",
        description="A greeting.",
        arguments=(PromptArgument("who", "Who", "Whom to greet", required=True), PromptArgument("how")),
        icons=(
            Icon("https://example.com/a.png", "image/png", ("48x48",), "dark"),
            Icon("b.svg", None, ("16x16", "32x32")),
        ),
    )
    assert body(parsed, who="you", how="") == "Hello you!"
    assert (parsed.problems, parsed.sound) == ((), True)


@pytest.mark.parametrize(
    ("file", "front", "name"),
    [
        ("greet.md", "", "greet"),
        ("greet.prompt.md", "", "greet"),
        ("on/call/greet.md", "", "on/call/greet"),
        ("greet.md", "name: hello\n", "hello"),
        ("on/greet.md", "name: .NET Upgrade\n", "on/.NET Upgrade"),
        ("greet.md", "name:\n", "greet"),
    ],
)
def test_the_name_is_the_given_one_or_that_of_the_file_with_the_folders_in_front(
    file: str, front: str, name: str
) -> None:
    assert parse(f"---\n{front}---\nHello\n", file).prompt == Prompt(name)


@pytest.mark.parametrize(
    "text",
    [
        "---\ndescription: x\n---\nPart 1\n\n---\n\nPart 2\n",
        "---\r\ndescription: x\r\n---\r\nPart 1\r\n\r\n---\r\n\r\nPart 2\r\n",
        "\ufeff---\ndescription: x\n---\nPart 1\n\n---\n\nPart 2",
        "--- \ndescription: x\n---\t\n\n\nPart 1\n\n---\n\nPart 2\n\n\n",
    ],
)
def test_line_ends_byte_order_marks_and_blanks_make_no_difference(text: str) -> None:
    parsed = parse(text)
    assert (parsed.prompt.description, body(parsed)) == ("x", "Part 1\n\n---\n\nPart 2")


def test_only_the_first_line_opens_front_matter() -> None:
    parsed = parse("Text\n---\nname: x\n---\n")
    assert (parsed.prompt, body(parsed)) == (Prompt("greet"), "Text\n---\nname: x\n---")


@pytest.mark.parametrize(
    ("line", "where", "what"),
    [
        ("description: fix: the issue", 3, "mapping values are not allowed here"),
        ("description: @file review", 3, "'@' that cannot start any token"),
        ("description: {{name}} x", 3, "'single quotes'"),
        ("hint: [--strict] [--json]", 3, "not YAML"),
        ("deep: " + "[" * 3000, 2, "not YAML: maximum recursion"),
        ("nul: \0", 3, "special characters are not allowed; there is a control character in that line"),
        ("a: &x 1\nb: *x", 4, "aliases"),
        ("\tx: 1", 3, "spaces, not with tabs"),
        ("description:\u00a0x", 3, "no-break space"),
    ],
)
def test_broken_front_matter_costs_the_front_matter_and_names_its_line(
    line: str, where: int, what: str
) -> None:
    parsed = parse(f"---\ntitle: T\n{line}\n---\nHello\n")
    assert (parsed.prompt, body(parsed), parsed.sound) == (Prompt("greet"), "Hello", False)
    (problem,) = parsed.problems
    assert (problem.file, problem.line) == ("greet.md", where)
    assert what in problem.reason


def test_front_matter_without_fields_is_reported() -> None:
    assert not parse("---\n- a\n---\nHello").sound
    (problem,) = problems("---\ndescription:\u00a0x\n---\nHello\u00a0you")
    assert problem.startswith(
        "greet.md:2: the front matter has no fields: write `description: …`, one a line; "
    )
    assert problem.endswith("there is a no-break space in that line, where a plain one belongs")
    assert parse("---\n---\nHello").sound


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("name: yes", "greet.md:3: name: must be text, but YAML reads a bool: put it in 'single quotes'"),
        ("name: 007", "greet.md:3: name: must be text, but YAML reads a int: put it in 'single quotes'"),
        (
            "title: 2026-04-12",
            "greet.md:3: title: must be text, but YAML reads a timestamp: put it in 'single quotes'",
        ),
        ("name: a/b", "greet.md:3: name: must be printable, without / or \\, and at most 128 characters"),
        ("name: ' a'", "greet.md:3: name: must be printable, without / or \\, and at most 128 characters"),
        (
            "arguments: topic",
            "greet.md:3: arguments: must be a list: write each on a line of its own, after a -",
        ),
        (
            "arguments: [[topic]]",
            "greet.md:3: arguments: must be text, but YAML reads a seq: put it in 'single quotes'",
        ),
        (
            "arguments: {on: x}",
            "greet.md:3: arguments: must be text, but YAML reads a bool: put it in 'single quotes'",
        ),
        (
            "arguments: [{name: 5}]",
            "greet.md:3: arguments: name: must be text, but YAML reads a int: put it in 'single quotes'",
        ),
        ("arguments: [{title: x}]", "greet.md:3: arguments: one has no name: write `- name: …`"),
        ("icons: [{theme: dark}]", "greet.md:3: icons: one has no src, which says where the image is"),
        ("icons: [a]", "greet.md:3: icons: must be mappings: write `- src: …`"),
    ],
)
def test_a_field_of_the_wrong_form_costs_the_field(field: str, problem: str) -> None:
    parsed = parse(f"---\ndescription: x\n{field}\n---\nHello")
    assert parsed.prompt == Prompt("greet", description="x")
    assert [str(each) for each in parsed.problems] == [problem]
    assert parsed.sound


@pytest.mark.parametrize("role", ["system", "assistant", "[user]"])
def test_a_text_has_no_other_role_than_the_users(role: str) -> None:
    parsed = parse(f"---\ndescription: x\nrole: {role}\n---\nHello")
    assert [str(each) for each in parsed.problems] == [
        "greet.md:3: role: is ignored: what the assistant says follows a line <!-- assistant -->"
    ]
    assert parse("---\nrole: user\n---\nHello").problems == ()


def test_one_bad_argument_leaves_the_others() -> None:
    parsed = parse(
        "---\narguments: [{name: a}, {name: ''}, {name: b}, {name: a, required: true}]\n---\n{{a}}{{b}}"
    )
    assert parsed.prompt.arguments == (PromptArgument("a"), PromptArgument("b"))
    assert [problem.reason for problem in parsed.problems] == [
        "arguments: one has no name: write `- name: …`",
        "arguments: there are two called 'a'",
    ]


@pytest.mark.parametrize(
    ("raw", "line", "what"),
    [
        (b"", 1, "no text"),
        (b"---\nname: x\n---\n \n", 1, "no text"),
        (b"---\nname: x\nHello\n", 1, "never ends"),
        (b"Hello\n\xff\n", 2, "not UTF-8"),
        (b"x" * (MAX_FILE + 1), 1, "bytes"),
    ],
)
def test_a_file_that_makes_no_prompt_is_refused(raw: bytes, line: int | None, what: str) -> None:
    with pytest.raises(UnreadableFile, match=what) as refused:
        parse_file("greet.md", raw)
    assert refused.value.line == line


def test_front_matter_in_a_code_fence_is_text_and_reported() -> None:
    text = "````prompt\n---\ndescription: x\n---\nBody\n````"
    assert body(parse(text)) == text
    assert problems(text) == [
        "greet.md:1: the front matter is in a code fence and is not read: take the fence away"
    ]


# --- rendering ---

FRONT = "---\narguments: [{name: a, required: true}, {name: the b}]\n---\n"


def test_arguments_are_filled_in_by_one_literal_pass() -> None:
    text = FRONT + '{"name": "{{a}}"} {{ a }} {{the b}} {{{a}}} } {{ \\1'
    assert body(parse(text), a="{{the b}}", **{"the b": "\\1{{a}}"}) == (
        '{"name": "{{the b}}"} {{the b}} \\1{{a}} {{{the b}}} } {{ \\1'
    )


def test_an_optional_argument_without_a_value_is_empty_and_so_is_an_empty_one() -> None:
    assert body(parse(FRONT + "<{{a}}|{{the b}}>"), a="") == "<|>"


def test_what_names_no_argument_stays_and_is_reported() -> None:
    text = "{{PROJECT}} {{ f.x }} {% if a %} ${selection} $1.20 !`git status` @src/main.py"
    parsed = parse(text)
    assert body(parsed, PROJECT="p") == text
    assert [str(each) for each in parsed.problems] == [
        "greet.md:1: {{PROJECT}} names no declared argument, so left as it is",
        "greet.md:1: {{ f.x }} names no declared argument, so left as it is",
    ]


def test_an_argument_that_the_text_does_not_have_is_reported() -> None:
    text = "---\narguments: [{name: a, required: true}, {name: b}, {name: c}]\n---\nHello {{ b }}"
    assert problems(text) == [
        "greet.md:2: arguments: a: is declared, but there is no {{a}} in the text",
        "greet.md:2: arguments: c: is declared, but there is no {{c}} in the text",
    ]


def test_any_argument_name_can_be_rendered() -> None:
    assert body(parse("---\narguments: [{name: self}]\n---\n{{self}}"), self="me") == "me"


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
    for body in ("One", "Two"):
        write(tmp_path, a=f"---\ntitle: [\n---\n{body}", b="")
        reading = folder.read()
        assert [(entry.prompt, render(entry.render)) for entry in reading.entries] == [(Prompt("a"), body)]
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
