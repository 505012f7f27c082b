"""One prompt file: what it says, what is wrong with it, and what it renders to."""

import pytest
from folder_texts import body, parse, problems

from mcp_sansio import Icon, Prompt, PromptArgument
from mcp_sansio_adapters.folder.file import MAX_FILE, parse_file
from mcp_sansio_adapters.folder.problem import UnreadableFile

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
