"""Prompt files as they are found in the wild: what hosts disagree about, what YAML refuses or misreads, and
what only looks like a placeholder.
"""

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from folder_texts import body, parse, problems
from serving import LEGACY, MODERN
from test_folder import names, render, write

from mcp_sansio import ClientConfig, Implementation, Prompt, PromptArgument, RpcError, TextContent
from mcp_sansio_adapters import RequestFailed
from mcp_sansio_adapters.blocking import BlockingClient, open_stdio_client
from mcp_sansio_adapters.folder import PromptFolder
from mcp_sansio_adapters.folder.matter import MAX_MATTER


def served(root: Path, version: str) -> AbstractContextManager[BlockingClient]:
    """The client of a server of the folder, a process of its own."""
    config = ClientConfig(info=Implementation("test", "1"), versions=(version,))
    return open_stdio_client((sys.executable, "-m", "mcp_sansio_adapters", "serve", str(root)), config=config)


# --- front matter that YAML refuses ---


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ("description: ok\nargument-hint: <optional: a platform>", 3),
        ("argument-hint: [--strict] [--json]", 2),
        ("argument-hint: [a|b] [name]", 2),
        ('argument-hint: ["text"] [--list]', 2),
        ('argument-hint: "["text"] [--list]"', 2),
        ("description: @file review", 2),
        ("description: `code` first", 2),
        ("description: *bold*", 2),
        ("description: {{name}} greeting", 2),
        ("description: Review: what to look at", 2),
        ("title: Review\ndescription: 'it's short'", 3),
    ],
)
def test_it_costs_the_front_matter_of_that_file_and_says_where_quotes_belong(
    tmp_path: Path, front: str, line: int
) -> None:
    write(tmp_path, a=f"---\n{front}\n---\nText for {{{{name}}}}\n", b="---\ntitle: B\n---\nB")
    reading = PromptFolder(tmp_path).read()
    assert [entry.prompt for entry in reading.entries] == [Prompt("a"), Prompt("b", "B")]
    assert render(reading.entries[0].render) == "Text for {{name}}"
    (problem,) = reading.problems
    assert (problem.file, problem.line, problem.severity) == ("a.md", line, "error")
    assert "the front matter is not YAML" in problem.reason
    assert "'single quotes'" in problem.reason


def test_a_hint_in_single_quotes_is_text() -> None:
    parsed = parse("---\nargument-hint: '[--n N] [--objective \"t\"]'\n---\nDo $ARGUMENTS")
    assert parsed.prompt.arguments == (PromptArgument("arguments", None, '[--n N] [--objective "t"]'),)
    assert parsed.problems == ()


@pytest.mark.parametrize(
    ("hint", "description"),
    [("[file]", "[file]"), ("[--a,\n  --b]", "[--a, --b]"), ("12", "12"), ("'<x>: y'", "<x>: y"), ("", None)],
)
def test_a_hint_that_yaml_takes_for_something_else_is_what_is_written(
    hint: str, description: str | None
) -> None:
    parsed = parse(f"---\nargument-hint: {hint}\n---\nDo $ARGUMENTS")
    assert parsed.prompt.arguments == (PromptArgument("arguments", None, description),)
    assert parsed.problems == ()


def test_a_description_that_a_comment_cuts_is_accepted_with_a_warning() -> None:
    parsed = parse("---\ndescription: fix issue #12 now\ntitle: tidy # what it is called\n---\nFix it")
    assert (parsed.prompt.title, parsed.prompt.description) == ("tidy", "fix issue")
    assert [(problem.line, problem.severity) for problem in parsed.problems] == [(2, "warning")]
    assert "is cut off before the #: put it in 'single quotes'" in parsed.problems[0].reason


@pytest.mark.parametrize("value", ["yes", "007", "2026-04-12", "1.10", "[a]", "{a: b}", "!x y"])
def test_a_name_that_is_no_text_is_that_of_the_file(value: str) -> None:
    parsed = parse(f"---\nname: {value}\nversion: 1.10\ndate: 2026-04-12\n---\nHello")
    assert parsed.prompt == Prompt("greet")
    (problem,) = parsed.problems
    assert (problem.line, problem.severity) == (2, "error")
    assert problem.reason.startswith("name: must be text, but YAML reads a ")


@pytest.mark.parametrize("value", ["", " ~", " null", " ''"])
def test_an_empty_field_is_an_absent_one(value: str) -> None:
    parsed = parse(
        f"---\nname:{value}\ntitle:{value}\ndescription:{value}\narguments:\nicons: []\n---\nHello"
    )
    assert (parsed.prompt, parsed.problems) == (Prompt("greet"), ())


def test_a_front_matter_that_is_too_long_is_refused_before_it_is_read() -> None:
    parsed = parse(f"---\ntitle: {'x' * MAX_MATTER}\n---\nHello")
    assert (parsed.prompt, parsed.sound, len(parsed.problems)) == (Prompt("greet"), False, 1)
    assert parsed.problems[0].reason.startswith(f"the front matter has more than {MAX_MATTER} characters")


def test_aliases_that_would_be_gigabytes_are_refused() -> None:
    lines = "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(30))
    parsed = parse(f"---\na0: &a0 x\n{lines}---\nHello")
    assert [str(problem).partition(";")[0] for problem in parsed.problems] == [
        "greet.md:3: the front matter is not YAML: aliases (*name) are not read"
    ]


def test_fields_of_hosts_are_ignored_and_misspelt_ones_are_not() -> None:
    of_hosts = "model: x\nmode: agent\ntools: [a, b]\nagent: y\nallowed-tools: Bash(git:*)\nglobs: '*.py'\n"
    assert problems(f"---\n{of_hosts}version: 1.10\n---\nHello") == []
    assert problems("---\ndescripton: x\nargument_hint: y\n---\nHello") == [
        "greet.md:2: descripton: is not a field of a prompt; did you mean description?",
        "greet.md:3: argument_hint: is not a field of a prompt; did you mean argument-hint?",
    ]
    parsed = parse("---\ntitle: A\ntitle: B\n---\nHello")
    assert parsed.prompt.title == "B"
    assert [(problem.line, problem.severity) for problem in parsed.problems] == [(3, "warning")]


# --- where front matter begins and ends ---


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("close", ["---", "--- ", "---\t \t"])
def test_byte_order_marks_line_ends_and_trailing_blanks_make_no_difference(
    mark: str, end: str, close: str
) -> None:
    lines = ["---", "description: x", close, "Part 1", "", "---", "", "Part 2", ""]
    parsed = parse(mark + end.join(lines))
    assert parsed.prompt == Prompt("greet", description="x")
    assert (body(parsed), parsed.problems) == ("Part 1\n\n---\n\nPart 2", ())


def test_a_closing_line_at_the_very_end_closes(tmp_path: Path) -> None:
    write(tmp_path, a="---\ndescription: x\n---", b="B")
    reading = PromptFolder(tmp_path).read()
    assert names(reading) == ["b"]
    assert [str(problem) for problem in reading.problems] == [
        "a.md:1: there is no text for the prompt, only front matter or nothing"
    ]


@pytest.mark.parametrize("first", ["Text\n", "\n", "# Title\n\n", "----\n", " ---\n"])
def test_rules_further_down_are_text(first: str) -> None:
    text = f"{first}---\ndescription: x\n---\nBody"
    parsed = parse(text)
    assert (parsed.prompt, body(parsed)) == (Prompt("greet"), text.lstrip("\n"))


@pytest.mark.parametrize("fence", ["```", "````prompt", "~~~ markdown"])
def test_front_matter_in_a_fence_is_text_and_describes_nothing(fence: str) -> None:
    text = f"{fence}\n---\ndescription: x\n---\nBody\n{fence.rstrip(' abcdefghijklmnopqrstuvw')}"
    parsed = parse(text)
    assert (parsed.prompt, body(parsed)) == (Prompt("greet"), text)
    (problem,) = parsed.problems
    assert (problem.line, problem.severity) == (1, "error")
    assert "code fence" in problem.reason


def test_a_no_break_space_is_kept_in_text_and_found_in_front_matter() -> None:
    parsed = parse("---\ntitle: T\ndescription:\u00a0x\n---\n10\u00a0km, {{\u00a0x\u00a0}}")
    assert (parsed.prompt, body(parsed)) == (Prompt("greet"), "10\u00a0km, {{\u00a0x\u00a0}}")
    (problem,) = parsed.problems
    assert problem.line == 3
    assert "no-break space" in problem.reason


# --- names ---


def test_the_name_of_the_file_gives_way_to_the_one_in_it(tmp_path: Path) -> None:
    (tmp_path / "dotnet-upgrade.prompt.md").write_text(
        '---\nname: ".NET Upgrade Analysis Prompts"\n---\nUpgrade', encoding="utf-8"
    )
    folder = PromptFolder(tmp_path)
    assert names(folder.read()) == names(folder.read()) == [".NET Upgrade Analysis Prompts"]
    assert names(PromptFolder(tmp_path).read()) == [".NET Upgrade Analysis Prompts"]


def test_folders_are_part_of_the_name_and_the_same_stem_twice_is_told(tmp_path: Path) -> None:
    write(tmp_path, oncall__pr="O", gh__pr="G", gh__a="A")
    (tmp_path / "gh" / "pr.prompt.md").write_text("P")
    reading = PromptFolder(tmp_path).read()
    assert names(reading) == ["gh/a", "gh/pr", "oncall/pr"]
    assert [render(entry.render) for entry in reading.entries] == ["A", "G", "O"]
    assert [str(problem) for problem in reading.problems] == [
        "gh/pr.prompt.md:1: not served, for gh/pr.md is called 'gh/pr' already: rename one of them"
    ]


def test_one_name_in_two_forms_of_unicode_is_one_name(tmp_path: Path) -> None:
    (tmp_path / "re\u0301sume\u0301.md").write_text("decomposed")
    assert names(PromptFolder(tmp_path).read()) == ["r\u00e9sum\u00e9"]
    assert parse("---\nname: re\u0301sume\u0301\n---\nx").prompt.name == "r\u00e9sum\u00e9"


@pytest.mark.live
@pytest.mark.parametrize("version", [LEGACY[-1], MODERN])
def test_a_name_is_looked_up_and_never_opened(tmp_path: Path, version: str) -> None:
    root = tmp_path / "prompts"
    write(tmp_path, outside="S", prompts__a="A")
    (root / "evil.md").symlink_to(tmp_path / "outside.md")
    (root / "notes.txt").write_text("N")

    with served(root, version) as client:
        assert list(client.list_prompts().by_name) == ["a"]
        for name in ("../outside", "../../etc/passwd", "a\\..\\b", "/abs", "x\0", "evil", "a.md", "./a", ""):
            with pytest.raises(RequestFailed) as refused:
                client.get_prompt(name)
            assert isinstance(refused.value.failure, RpcError)
            assert refused.value.failure.code == -32602
    assert [str(problem) for problem in PromptFolder(root).read().problems] == [
        "evil.md: cannot be read: it is a link that leaves the folder"
    ]


# --- what stands in the text ---


def test_variables_of_an_editor_are_text_and_its_inputs_are_arguments() -> None:
    parsed = parse('analyse ${input:target:Enter the class} and ${selection} ${file} ${VAR="a|b"}')
    assert parsed.prompt.arguments == (PromptArgument("target", None, "Enter the class"),)
    assert body(parsed, target="Sieve") == 'analyse Sieve and ${selection} ${file} ${VAR="a|b"}'
    assert parsed.problems == ()


@pytest.mark.parametrize("front", ["", "---\nargument-hint: <x>\n---\n"])
def test_money_and_awk_are_never_touched(front: str) -> None:
    text = "costs $0.01, revenue $1.2M, US$5, $10, $2,000; `awk '!seen[$0]++'` $ARGUMENTS"
    assert body(parse(front + text), arguments="a b c") == text.replace("$ARGUMENTS", "a b c")


def test_only_declared_placeholders_are_replaced_and_there_is_an_escape() -> None:
    front = "---\narguments: [subject]\n---\n"
    text = 'Answer as {"name": "{{subject}}"} and a lone } or \\{{subject}}, \\n stays'
    assert body(parse(front + text), subject="S") == (
        'Answer as {"name": "S"} and a lone } or {{subject}}, \\n stays'
    )


def test_other_template_languages_are_text_and_their_braces_are_told() -> None:
    text = "{{PROJECT_NAME}} {{ function.parameters.id }} {% if %} {{PROJECT_NAME}}"
    parsed = parse(text)
    assert body(parsed, PROJECT_NAME="P") == text
    assert [(str(problem).split(" names ")[0], problem.severity) for problem in parsed.problems] == [
        ("greet.md:1: {{PROJECT_NAME}}", "warning"),
        ("greet.md:1: {{ function.parameters.id }}", "warning"),
    ]


def test_nothing_is_executed_and_no_other_file_is_read(tmp_path: Path) -> None:
    text = "Status: !`touch ran` and @src/main.py and $(touch ran) and @secret.txt"
    write(tmp_path, a=text)
    (tmp_path / "secret.txt").write_text("S")
    reading = PromptFolder(tmp_path).read()
    assert render(reading.entries[0].render) == text
    assert reading.problems == ()
    assert sorted(os.listdir(tmp_path)) == ["a.md", "secret.txt"]  # noqa: PTH208  # names are what is compared


@pytest.mark.live
@pytest.mark.slow
def test_a_large_body_is_served_unchanged_and_is_no_part_of_the_list(tmp_path: Path) -> None:
    text = "\n".join(f"{number}. Line {number} of a text that is long" for number in range(3000))
    description = "What it is for, at length. " * 20
    write(tmp_path, a=f"---\ndescription: {description}\n---\n{text}")
    assert len(text) > 100_000
    assert len(description) > 500

    with served(tmp_path, MODERN) as client:
        (prompt,) = client.list_prompts().by_name.values()
        assert prompt == Prompt("a", description=description.strip())
        (message,) = client.get_prompt("a").messages
        assert message.content == TextContent(text)
