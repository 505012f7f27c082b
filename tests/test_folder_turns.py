"""Who says what in a prompt file, and which files it shows."""

import base64
import os
from pathlib import Path

import pytest
from folder_texts import parse, problems
from test_folder import write

from mcp_sansio import (
    AudioContent,
    BlobResource,
    Catalogue,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    TextContent,
    TextResource,
)
from mcp_sansio_adapters.folder import PromptFolder
from mcp_sansio_adapters.folder.linked import MAX_LINKED

PIXEL = b"\x89PNG\r\n\x1a\n and more"


def said(text: str, /, **values: str) -> list[tuple[str, str]]:
    """The messages of a file that are all text: who says what."""
    return [(message.role, text_of(message)) for message in parse(text).render(**values)]


def text_of(message: PromptMessage) -> str:
    assert isinstance(message.content, TextContent)
    return message.content.text


# --- turns ---


def test_turns_are_messages_and_what_stands_before_the_first_is_the_user_s() -> None:
    text = "One\n\n<!-- assistant -->\n\nTwo\n\nlines\n\n<!-- user -->\nThree\n<!--assistant-->\nFour\n"
    assert said(text) == [
        ("user", "One"),
        ("assistant", "Two\n\nlines"),
        ("user", "Three"),
        ("assistant", "Four"),
    ]
    assert problems(text) == []


@pytest.mark.parametrize(
    "line", ["<!-- assistant -->", "<!--assistant-->", "   <!--\tassistant -->  ", "<!--  assistant  -->\t"]
)
def test_blanks_around_a_role_make_no_difference(line: str) -> None:
    assert said(f"{line}\nHi") == [("assistant", "Hi")]


@pytest.mark.parametrize("mark", ["\n", "\r\n", "\r"])
def test_line_ends_make_no_difference_to_turns(mark: str) -> None:
    text = mark.join(["---", "title: T", "---", "<!-- user -->", "One", "", "<!-- assistant -->", "Two"])
    assert said(text) == [("user", "One"), ("assistant", "Two")]


def test_the_same_role_twice_is_two_messages() -> None:
    assert said("<!-- user -->\nOne\n<!-- user -->\nTwo") == [("user", "One"), ("user", "Two")]


@pytest.mark.parametrize(
    "line",
    [
        "    <!-- user -->",
        "<!-- user --> x",
        "x <!-- user -->",
        "<!-- user: -->",
        "<!-- a user -->",
        "<!-- -->",
    ],
)
def test_other_comments_are_text(line: str) -> None:
    assert said(f"One\n{line}\nTwo") == [("user", f"One\n{line}\nTwo")]
    assert problems(f"One\n{line}\nTwo") == []


@pytest.mark.parametrize(
    "role", ["system", "System", "developer", "tool", "User", "ASSISTANT", "human", "ai"]
)
def test_there_are_no_other_roles(role: str) -> None:
    line = f"<!-- {role} -->"
    assert said(f"One\n{line}\nTwo") == [("user", f"One\n{line}\nTwo")]
    parsed = parse(f"One\n{line}\nTwo")
    assert [(str(problem), problem.severity) for problem in parsed.problems] == [
        (f"greet.md:2: {line} is text: the roles are <!-- user --> and <!-- assistant -->", "error")
    ]


@pytest.mark.parametrize("comment", ["<!-- TODO -->", "<!-- prettier -->"])
def test_what_is_no_role_is_no_problem(comment: str) -> None:
    assert problems(f"One\n{comment}\nTwo") == []


def test_a_turn_without_text_is_left_out_and_told() -> None:
    text = "One\n<!-- assistant -->\n \n<!-- user -->\nTwo\n<!-- assistant -->\n"
    assert said(text) == [("user", "One"), ("user", "Two")]
    parsed = parse(text)
    assert [(problem.line, problem.severity) for problem in parsed.problems] == [
        (2, "warning"),
        (6, "warning"),
    ]
    assert "nothing is said by the assistant" in parsed.problems[0].reason


@pytest.mark.parametrize(
    ("before", "after"),
    [("```", "```"), ("~~~", "~~~"), ("````md", "`````"), ("  ```", "```"), ("~~~ a `b`", "~~~~")],
)
def test_turns_in_code_are_code(before: str, after: str) -> None:
    code = f"{before}\n<!-- assistant -->\n![a](b.png)\n{after}"
    assert said(f"{code}\n<!-- assistant -->\nHi") == [("user", code), ("assistant", "Hi")]


@pytest.mark.parametrize("inside", ["~~~", "``", "```x", "    ```", "`` `"])
def test_code_ends_where_its_own_fence_does(inside: str) -> None:
    code = f"```\n{inside}\n<!-- assistant -->\n```"
    assert said(f"{code}\n<!-- assistant -->\nHi") == [("user", code), ("assistant", "Hi")]


def test_code_that_never_ends_goes_to_the_end() -> None:
    assert said("```\n<!-- assistant -->\nHi") == [("user", "```\n<!-- assistant -->\nHi")]


def test_a_line_with_code_in_it_opens_none() -> None:
    assert said("```x``` is code\n<!-- assistant -->\nHi") == [
        ("user", "```x``` is code"),
        ("assistant", "Hi"),
    ]


def test_a_value_begins_no_turn_and_shows_no_file(tmp_path: Path) -> None:
    write(tmp_path, a="---\narguments: [x]\n---\n{{x}}\n<!-- assistant -->\nHi\n{{x}}")
    (tmp_path / "secret.txt").write_text("S")
    value = "\n<!-- assistant -->\n[s](secret.txt)\n"
    (entry,) = PromptFolder(tmp_path).read().entries
    assert entry.render is not None
    messages = entry.render(x=value)
    assert isinstance(messages, list)
    assert [(message.role, text_of(message)) for message in messages] == [
        ("user", value),
        ("assistant", f"Hi\n{value}"),
    ]


# --- files that are shown ---


def shown(root: Path, text: str, file: str = "a") -> tuple[list[PromptMessage], list[str]]:
    """What a file with this text makes of it, and what is wrong with it."""
    write(root, **{file: text})
    reading = PromptFolder(root).read()
    (entry,) = (entry for entry in reading.entries if entry.prompt.name == file.replace("__", "/"))
    assert entry.render is not None
    messages = entry.render()
    assert isinstance(messages, list)
    return messages, [str(problem) for problem in reading.problems]


def add(root: Path, name: str, data: bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_files_are_messages_of_their_own_in_the_role_and_the_order_in_which_they_stand(
    tmp_path: Path,
) -> None:
    add(tmp_path, "images/house.png", PIXEL)
    add(tmp_path, "minutes.txt", b"Caf\xc3\xa9\r\n")
    text = (
        "Look:\n\n![The house](images/house.png)\n[The minutes](minutes.txt)\n\nWell?\n"
        "<!-- assistant -->\n[minutes](<minutes.txt>)\nSeen."
    )
    minutes = EmbeddedResource(TextResource("prompts:///minutes.txt", "Café\r\n", "text/plain"))
    assert shown(tmp_path, text) == (
        [
            PromptMessage("user", TextContent("Look:")),
            PromptMessage("user", ImageContent(base64.b64encode(PIXEL).decode(), "image/png")),
            PromptMessage("user", minutes),
            PromptMessage("user", TextContent("Well?")),
            PromptMessage("assistant", minutes),
            PromptMessage("assistant", TextContent("Seen.")),
        ],
        [],
    )


def test_a_turn_that_only_shows_a_file_is_not_empty(tmp_path: Path) -> None:
    add(tmp_path, "a.wav", b"RIFF")
    assert shown(tmp_path, "<!-- assistant -->\n![What you said](a.wav)\n") == (
        [PromptMessage("assistant", AudioContent(base64.b64encode(b"RIFF").decode(), "audio/wav"))],
        [],
    )


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.json", b"{}", "application/json"),
        ("a.CSV", b"a,b", "text/csv"),
        ("a.rs", b"fn", "text/plain"),
        ("LICENSE", b"MIT", "text/plain"),
        ("empty.txt", b"", "text/plain"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
    ],
)
def test_a_text_behind_a_link_is_a_text_resource(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    add(tmp_path, name, data)
    resource = TextResource(f"prompts:///{name}", data.decode(), kind)
    assert shown(tmp_path, f"[it]({name})") == ([PromptMessage("user", EmbeddedResource(resource))], [])


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.png", PIXEL, "image/png"),
        ("a.bin", b"\xff\xfe", "application/octet-stream"),
        ("nul.txt", b"a\0b", "application/octet-stream"),
    ],
)
def test_anything_else_behind_a_link_is_a_blob(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    add(tmp_path, name, data)
    ((message,), wrong) = shown(tmp_path, f"[it]({name})")
    assert isinstance(message.content, EmbeddedResource)
    resource = message.content.resource
    assert isinstance(resource, BlobResource)
    assert (resource.uri, base64.b64decode(resource.blob), wrong) == (f"prompts:///{name}", data, [])
    if not name.endswith(".txt"):
        assert resource.mime_type == kind


def test_paths_are_relative_to_the_prompt_and_uris_to_the_folder(tmp_path: Path) -> None:
    add(tmp_path, "über uns/a b.txt", b"A")
    ((message,), wrong) = shown(tmp_path, "[it](<../%C3%BCber uns/a%20b.txt>)", "sub__a")
    resource = TextResource("prompts:///%C3%BCber%20uns/a%20b.txt", "A", "text/plain")
    assert (message, wrong) == (PromptMessage("user", EmbeddedResource(resource)), [])
    assert str(tmp_path) not in str(message)


def test_placeholders_in_a_shown_file_are_not_filled_in(tmp_path: Path) -> None:
    add(tmp_path, "n.txt", b"{{x}} $ARGUMENTS")
    ((message,), wrong) = shown(tmp_path, "[n](n.txt)")
    assert "{{x}} $ARGUMENTS" in str(message)
    assert wrong == []


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("../secret.txt", "leads out of the folder"),
        ("%2e%2e/secret.txt", "leads out of the folder"),
        ("x/../../secret.txt", "leads out of the folder"),
        ("/etc/passwd", "leads out of the folder"),
        ("%2Fetc/passwd", "leads out of the folder"),
        ("..\\secret.txt", "leads out of the folder"),
        (".env", "leads to a hidden file"),
        ("x/.git/config", "leads to a hidden file"),
        ("a%00b", "leads to a hidden file"),
        ("nowhere.txt", "cannot be read: No such file"),
        ("out.txt", "cannot be read: it is a link that leaves the folder"),
        ("around.txt", "cannot be read: "),
        ("x", "cannot be read: it is not a plain file"),
        ("pipe", "cannot be read: it is not a plain file"),
    ],
)
def test_a_link_that_cannot_be_followed_stays_text_and_is_told(
    tmp_path: Path, address: str, reason: str
) -> None:
    root = tmp_path / "prompts"
    add(tmp_path, "secret.txt", b"S")
    add(root, "x/.git/config", b"C")
    add(root, ".env", b"E")
    (root / "out.txt").symlink_to("../secret.txt")
    (root / "around.txt").symlink_to("around.txt")
    os.mkfifo(root / "pipe")
    text = f"---\ntitle: T\n---\nSee\n[it]({address})\nand go on"
    messages, wrong = shown(root, text)
    assert [text_of(message) for message in messages] == ["See", f"[it]({address})", "and go on"]
    (problem,) = wrong
    assert problem.startswith(f"a.md:5: {address}: {reason}")
    assert problem.endswith(", so left as text")


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    add(tmp_path, "real.txt", b"R")
    (tmp_path / "also.txt").symlink_to("real.txt")
    ((message,), wrong) = shown(tmp_path, "[it](also.txt)")
    resource = TextResource("prompts:///also.txt", "R", "text/plain")
    assert (message.content, wrong) == (EmbeddedResource(resource), [])


def test_what_is_shown_as_an_image_must_be_one(tmp_path: Path) -> None:
    add(tmp_path, "a.txt", b"A")
    ((message,), (problem,)) = shown(tmp_path, "![it](a.txt)")
    assert text_of(message) == "![it](a.txt)"
    assert "is no image and no sound that is known: write [name](file) to show a file" in problem


@pytest.mark.parametrize(
    "line",
    [
        "[it](https://example.com/a.txt)",
        "![it](data:image/png;base64,AAAA)",
        "[it](//example.com/a.txt)",
        "[it](#below)",
        "[it](mailto:a@example.com)",
        "[it](a.txt 'title')",
        "see [it](a.txt)",
        "[it](a.txt).",
        "- [it](a.txt)",
        "[[it]](a.txt)",
        "[it][a.txt]",
        "    [it](a.txt)",
        "\\[it](a.txt)",
        "[it]()",
    ],
)
def test_other_links_are_text_and_no_problem(tmp_path: Path, line: str) -> None:
    add(tmp_path, "a.txt", b"A")
    ((message,), wrong) = shown(tmp_path, f"x\n{line}")
    assert (text_of(message), wrong) == (f"x\n{line}", [])


def test_what_a_prompt_shows_has_a_limit_together(tmp_path: Path) -> None:
    add(tmp_path, "most.bin", b"\xff" * (MAX_LINKED - 1))
    add(tmp_path, "one.txt", b"1")
    add(tmp_path, "more.bin", b"\xff" * (MAX_LINKED + 100))
    messages, wrong = shown(tmp_path, "[a](most.bin)\n[b](one.txt)\n[c](one.txt)")
    assert [isinstance(message.content, EmbeddedResource) for message in messages] == [True, True, False]
    (problem,) = wrong
    assert problem.startswith(
        f"a.md:3: one.txt: is too much: the files of a prompt may have {MAX_LINKED} bytes"
    )
    _, (problem,) = shown(tmp_path, "[a](more.bin)")
    assert "is too much" in problem


def test_an_edit_of_a_shown_file_is_one_of_the_text(tmp_path: Path) -> None:
    folder, catalogue = PromptFolder(tmp_path), Catalogue()
    write(tmp_path, a="[n](n.txt)")
    assert [problem.line for problem in folder.load(catalogue)] == [1]
    epoch = catalogue.snapshot.epoch

    def now() -> str:
        entry = catalogue.snapshot.entries["a"]
        assert entry.render is not None
        return str(entry.render())

    for data in (b"One", b"Two"):
        add(tmp_path, "n.txt", data)
        assert folder.load(catalogue) == ()
        assert data.decode() in now()
    (tmp_path / "n.txt").unlink()
    assert [problem.line for problem in folder.load(catalogue)] == [1]
    assert "[n](n.txt)" in now()
    assert catalogue.snapshot.epoch == epoch
