r"""Placeholders in prompt files: which there are, what they declare, what is text, and `\` before them."""

import pytest
from folder_texts import body, parse, problems

from mcp_sansio import PromptArgument
from mcp_sansio_adapters.folder.file import MAX_FILE
from mcp_sansio_adapters.folder.template import split_words

ALL = PromptArgument("arguments")


def told(text: str, /, **values: str) -> tuple[tuple[PromptArgument, ...], str]:
    """The arguments of a file, and its text once it is filled in."""
    parsed = parse(text)
    return parsed.prompt.arguments, body(parsed, **values)


# --- braces ---


@pytest.mark.parametrize("written", ["{{a}}", "{{ a }}", "{{a }}", "{{\ta  }}"])
def test_blanks_in_braces_make_no_difference(written: str) -> None:
    assert body(parse(f"---\narguments: [a]\n---\n<{written}>"), a="A") == "<A>"


@pytest.mark.parametrize(
    "written", ["{a}", "{{b}}", "{{\na}}", "{{a}", "{ {a} }", "{{a.b}}", "{{A}}", "{{}}"]
)
def test_braces_of_another_form_are_text(written: str) -> None:
    assert body(parse(f"---\narguments: [a]\n---\n{{{{a}}}}{written}"), a="A") == f"A{written}"


def test_names_may_have_blanks_and_any_letters() -> None:
    front = "---\narguments: [the first, 名前, a-b.c]\n---\n"
    values = {"the first": "1", "名前": "2", "a-b.c": "3"}
    assert body(parse(front + "{{the first}} {{名前}} {{ a-b.c }}"), **values) == "1 2 3"


# --- what declares itself ---


def test_arguments_are_declared_by_the_command_placeholder_and_described_by_the_hint() -> None:
    assert told("Fix $ARGUMENTS!", arguments="it") == ((ALL,), "Fix it!")
    assert told("Fix $ARGUMENTS!") == ((ALL,), "Fix !")
    described = PromptArgument("arguments", None, "<issue>")
    assert told("---\nargument-hint: <issue>\n---\nFix $ARGUMENTS") == ((described,), "Fix ")


def test_a_declared_one_is_not_declared_anew() -> None:
    front = (
        "---\nargument-hint: h\narguments: [{name: arguments, required: true}, {name: x, title: X}]\n---\n"
    )
    assert told(front + "$ARGUMENTS ${input:x:other}", arguments="A", x="B") == (
        (PromptArgument("arguments", required=True), PromptArgument("x", "X")),
        "A B",
    )


def test_inputs_declare_in_the_order_in_which_they_stand_and_the_first_hint_counts() -> None:
    assert told("${input:b} ${input:a: One of them } ${input:a:Two} ${input: b }", a="A", b="B") == (
        (PromptArgument("b"), PromptArgument("a", None, "One of them")),
        "B A A B",
    )


def test_an_input_can_be_written_with_braces_once_it_is_declared() -> None:
    assert told("${input:a} {{a}}", a="A")[1] == "A A"


@pytest.mark.parametrize(
    "text",
    ["${input:}", "${input: }", "${input}", "${inputs:x}", "${input:x:a {b}}", "${HOME}", "$(x)", "$x"],
)
def test_other_dollars_are_text(text: str) -> None:
    assert told(text, x="X", arguments="A") == ((), text)


@pytest.mark.parametrize(
    "text", ["$ARGUMENTS_DIR", "$ARGUMENTSX", "${ARGUMENTS}", "$arguments", "$ARGUMENTS2"]
)
def test_other_variables_are_text(text: str) -> None:
    assert told(text, arguments="A") == ((), text)


# --- words ---


def test_the_words_of_the_arguments_are_counted_from_one_and_from_nought() -> None:
    text = "$ARGUMENTS: $1 then $2 then $3; $ARGUMENTS[0] then $ARGUMENTS[1] then $ARGUMENTS[2]."
    assert told(text, arguments="a 'b c'") == ((ALL,), "a 'b c': a then b c then ; a then b c then .")


def test_words_alone_are_placeholders_only_where_the_file_is_a_command() -> None:
    assert told("$1 and $2", arguments="a b") == ((), "$1 and $2")
    assert told("$ARGUMENTS[1] and $1", arguments="a b") == ((ALL,), "b and a")
    hint = PromptArgument("arguments", None, "x y")
    assert told("---\nargument-hint: x y\n---\n$1 and $2", arguments="a b") == ((hint,), "a and b")


@pytest.mark.parametrize(
    "text", ["$0", "$10", "$12", "$1.50", "$1,000", "$1x", "US$5", "$$1", "$ARGUMENTS[1234]", "$ARGUMENTS[x]"]
)
def test_sums_of_money_are_no_words(text: str) -> None:
    shown = text.replace("$ARGUMENTS", "a b")
    assert told(f"$ARGUMENTS {text}", arguments="a b")[1] == f"a b {shown}"


@pytest.mark.parametrize("end", [".", ",", ";", ")", "'s", " .", ". 5", "-x", "/x"])
def test_a_word_may_stand_before_punctuation(end: str) -> None:
    assert told(f"$ARGUMENTS $1{end}", arguments="a")[1] == f"a a{end}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  ", []),
        ("a b\tc\nd", ["a", "b", "c", "d"]),
        ("  a  b  ", ["a", "b"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("--x='a b'c", ["--x=a bc"]),
        ("a\\ b \\'c", ["a b", "'c"]),
        ('"a \\"b\\" \\n \\\\"', ['a "b" \\n \\']),
        ("'' \"\"", ["", ""]),
        ("it's", ["it's"]),
        ('say "hi', ["say", '"hi']),
        ("a\\", ["a\\"]),
        ("名前 b", ["名前", "b"]),
    ],
)
def test_words_are_split_as_a_shell_splits_them(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize("unit", ["'", '"', "\\", "a ", "'a", '"\\', " "])
def test_splitting_a_long_text_takes_no_longer_than_it_is(unit: str) -> None:
    assert len("".join(split_words(unit * 50_000))) <= 100_000


# --- the escape ---


@pytest.mark.parametrize(
    "placeholder", ["{{a}}", "{{ a }}", "$ARGUMENTS", "$ARGUMENTS[0]", "$1", "${input:b}", "${input:b:c}"]
)
def test_a_backslash_makes_text_of_a_placeholder_and_goes(placeholder: str) -> None:
    front = "---\nargument-hint: h\narguments: [a]\n---\n"
    parsed = parse(f"{front}{{{{a}}}} \\{placeholder} {{{{a}}}}")
    assert parsed.prompt.arguments == (PromptArgument("a"),)
    assert body(parsed, a="A", b="B", arguments="C") == f"A {placeholder} A"


@pytest.mark.parametrize(
    "text", ["\\{{b}}", "\\$1", "\\n", "\\", "\\\\", "\\${HOME}", "\\$5.00", "\\{x}", "C:\\x"]
)
def test_before_anything_else_a_backslash_is_a_backslash(text: str) -> None:
    assert told(text, b="B", arguments="A") == ((), text)


def test_what_is_escaped_is_no_use_of_it() -> None:
    assert problems("---\narguments: [a]\n---\n\\{{a}}") == [
        "greet.md:2: arguments: a: is declared, but there is no {{a}} in the text"
    ]


def test_a_hint_without_a_use_is_told() -> None:
    assert problems("---\ntitle: T\nargument-hint: h\n---\nHello") == [
        "greet.md:3: argument-hint: is for $ARGUMENTS, which is not in the text"
    ]


# --- one pass ---


def test_a_value_is_never_looked_at_again() -> None:
    text = "---\narguments: [a, b]\n---\n{{a}} ${input:c} $ARGUMENTS $1 {{b}}"
    values = {"a": "{{b}}", "b": "\\{{a}}", "c": "$ARGUMENTS", "arguments": "${input:c} $1"}
    assert body(parse(text), **values) == "{{b}} $ARGUMENTS ${input:c} $1 ${input:c} \\{{a}}"


def test_code_is_text_like_any_other() -> None:
    assert body(parse("---\narguments: [a]\n---\n```\n{{a}}\n```\n`{{a}}`"), a="A") == "```\nA\n```\n`A`"


def test_a_strange_placeholder_is_told_once_where_it_stands_first() -> None:
    assert problems("---\ntitle: T\n---\n\nHello\n{{a}}\n<!-- assistant -->\n{{b}}\n{{a}} {{b}}") == [
        "greet.md:6: {{a}} names no declared argument, so left as it is",
        "greet.md:8: {{b}} names no declared argument, so left as it is",
    ]


# --- as much as fits in a file ---


@pytest.mark.slow
@pytest.mark.timeout(
    60
)  # each takes a second, and would take minutes if a text were read again for every match
@pytest.mark.parametrize(
    "unit", ["{{a}}", "{{", "`", "~", "${input:", "$ARGUMENTS[", "\\", "<!-- user -->\n", "["]
)
def test_the_largest_text_takes_no_longer_than_it_is(unit: str) -> None:
    text = unit * ((MAX_FILE - 1) // len(unit)) + "x"
    assert body(parse(text)).endswith("x")
