"""Prompts that are defined by their functions: what a signature says, and what cannot be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from serving import MODERN, Peer, complete, speaking

from mcp_sansio import (
    Catalogue,
    CompletionRequested,
    Entry,
    LocalProtocolError,
    Prompt,
    PromptArgument,
    PromptRequested,
)


class Mood(Enum):
    CALM = "calm"
    LOUD = "loud"


def review(change: str, depth: int = 3, *, mood: Mood = Mood.CALM, asked: Any = None) -> str:
    """Review a change."""
    return f"{change} {depth} {mood.name} {asked.prompt.name}"


def rendered(entry: Entry, **arguments: str) -> Any:
    """What the function returns for these texts, over the wire."""
    made = Catalogue()
    made.add(entry)
    peer: Peer = speaking(MODERN, made)
    peer.say_modern(1, "prompts/get", {"name": entry.prompt.name, "arguments": arguments})
    (asked,) = peer.of(PromptRequested)
    return asked.call()


def test_the_parameters_are_the_arguments() -> None:
    entry = Entry.of(review)
    assert entry.prompt == Prompt(
        "review",
        description="Review a change.",
        arguments=(
            PromptArgument("change", required=True),
            PromptArgument("depth", required=False),
            PromptArgument("mood", required=False),
        ),
    )
    assert rendered(entry, change="c", unknown="ignored") == "c 3 CALM review"
    assert rendered(entry, change="c", depth="5", mood="loud") == "c 5 LOUD review"


def test_what_an_annotation_says_goes_before_the_docstring() -> None:
    def function(
        plain: Annotated[str, 5, "how plain"],
        named: Annotated[int, PromptArgument("a-name", "A title")] | None = None,
    ) -> str:
        """Say.

        Args:
            plain: not shown
            named: what is named
        """
        return f"{plain} {named}"

    function.__annotations__ = {
        "plain": Annotated[str, 5, "how plain"],
        "named": Annotated[int, PromptArgument("a-name", "A title")] | None,
    }
    entry = Entry.of(function)
    assert entry.prompt.arguments == (
        PromptArgument("plain", description="how plain", required=True),
        PromptArgument("a-name", "A title", "what is named", required=False),
    )
    assert rendered(entry, plain="p", **{"a-name": "7"}) == "p 7"


class Speaker:
    """Has methods."""

    def method(self, who: str) -> str:
        """Greet."""
        return f"hello {who}"

    def __call__(self, count: int) -> str:
        """Count."""
        return str(count + 1)


def test_methods_objects_and_partials_are_functions_too() -> None:
    assert rendered(Entry.of(Speaker().method), who="Ada") == "hello Ada"
    entry = Entry.of(Speaker(), name="counting")
    assert (entry.prompt.name, entry.prompt.description) == ("counting", "Count.")
    assert rendered(entry, count="1") == "2"
    some = Entry.of(partial(review, depth=9))
    assert [each.name for each in some.prompt.arguments] == ["change", "mood"]
    assert rendered(some, change="c") == "c 9 CALM review"


def test_whether_a_function_is_asynchronous_is_known() -> None:
    async def function() -> str:
        return ""

    class Object:
        async def __call__(self) -> str:
            return ""

    assert Entry.of(function).how.asynchronous
    assert Entry(Prompt("a"), Object()).how.asynchronous
    assert not Entry.of(review).how.asynchronous


def test_what_may_take_its_time_is_known() -> None:
    async def later(*_: object) -> list[str]:
        return []

    def now(*_: object) -> list[str]:
        return []

    for render, completer, blocking, expected in [
        (now, later, True, (True, False)),
        (later, now, True, (False, True)),
        (now, now, False, (False, False)),
    ]:
        arguments = (PromptArgument("value"),)
        entry = Entry(Prompt("a", arguments=arguments), render, {"value": completer}, blocking=blocking)
        made = Catalogue()
        made.add(entry)
        peer: Peer = speaking(MODERN, made)
        peer.say_modern(1, "prompts/get", {"name": "a"})
        (asked,) = peer.of(PromptRequested)
        ask = {"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "value", "value": ""}}
        peer.say_modern(2, "completion/complete", ask)
        (wanted,) = peer.of(CompletionRequested)
        assert (asked.blocks, wanted.blocks) == expected


def test_a_function_beside_its_definition_gets_texts() -> None:
    given = {"a": "1", "asked": "2"}
    prompt = Prompt("p", arguments=(PromptArgument("a"), PromptArgument("asked")))
    assert rendered(Entry(prompt, lambda **all_of_them: all_of_them), **given) == given
    assert rendered(Entry(prompt, lambda a, asked: (a, asked)), **given) == ("1", "2")
    assert rendered(Entry(prompt, dict), **given) == given  # nobody knows its signature
    with pytest.raises(LocalProtocolError, match="'p' has no function"):
        rendered(Entry(prompt))


def any_number(*many: str) -> None:
    """Not a prompt."""


def anything(**anything: str) -> None:
    """Not a prompt."""


def by_position(first: str, /) -> None:
    """Not a prompt."""


def unknown(x: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821  # the mistake
    """Not a prompt."""


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (any_number, "'any_number': parameter 'many' stands for any number"),
        (anything, "'anything': parameter 'anything' stands for any arguments"),
        (by_position, "'by_position': parameter 'first' is positional only"),
        (unknown, "'unknown': parameter 'x' is annotated with 'Nowhere', which cannot be evaluated"),
        (Speaker.method, "'method': parameter 'self' is that of a method"),
        (lambda: "", "needs a name"),
        (Speaker(), "needs a name"),
        (Speaker, "is made of a function"),
        ("name", "is made of a function, not of 'name'"),
    ],
)
def test_what_cannot_be_a_prompt_says_why(function: Any, reason: str) -> None:
    made = Catalogue()
    with pytest.raises(LocalProtocolError, match=reason):
        made.prompt(function)
    assert made.snapshot.names == ()


# --- the decorator ------------------------------------------------------------------------------------


def test_a_decorated_function_stays_what_it_is() -> None:
    made = Catalogue()

    def one() -> str:
        return "one"

    assert made.prompt(one) is one
    assert made.prompt(name="two", title="Two", description="d", meta={"k": 1})(one) is one
    assert made.snapshot.entries["two"].prompt == Prompt("two", "Two", "d", meta={"k": 1})
    with pytest.raises(LocalProtocolError, match="'one' already"):
        made.prompt(one)
    made.put(Entry.of(one, title="new"))
    assert made.snapshot.entries["one"].prompt.title == "new"
    with pytest.raises(LocalProtocolError, match="'one' is an entry"):
        made.put(Entry.of(one), one)
    assert made.snapshot.names == ("one", "two")


def test_values_that_can_be_counted_are_proposed_unless_others_are() -> None:
    def function(mood: Mood, quick: bool, tongue: str) -> str:
        return f"{mood}{quick}{tongue}"

    function.__annotations__ = {"mood": Mood, "quick": bool, "tongue": Literal["de", "en"]}
    made = Catalogue()
    made.prompt(completers={"quick": ["maybe"]})(function)
    peer = speaking(MODERN, made)
    for name, values in (("mood", ["calm", "loud"]), ("quick", ["maybe"]), ("tongue", ["de", "en"])):
        ref = {"type": "ref/prompt", "name": "function"}
        result = peer.call(1, "completion/complete", complete({"name": name, "value": ""}, ref))
        assert result["result"]["completion"]["values"] == values


# --- who may see what ---------------------------------------------------------------------------------


def listed(made: Catalogue, principal: str | None) -> tuple[list[str], str]:
    result = Peer(made, principal=principal).call(1, "prompts/list")["result"]
    return [each["name"] for each in result["prompts"]], result["cacheScope"]


def test_with_the_first_prompt_that_is_for_some_only_pages_are_private() -> None:
    made, epochs = Catalogue(), list[int]()
    made.on_change = lambda: epochs.append(made.snapshot.epoch)
    made.add(Prompt("open"))
    assert listed(made, None) == (["open"], "public")
    function: Callable[[], str] = lambda: ""  # noqa: E731  # it is one function twice
    made.prompt(name="secret", visible=lambda who: who == "ann")(function)
    assert listed(made, "ann") == (["open", "secret"], "private")
    assert listed(made, None) == (["open"], "private")
    made.put(Entry.of(function, name="secret"))
    assert listed(made, None) == (["open", "secret"], "public")
    assert epochs == [1, 2, 3]  # the last one changed nothing but who may see


def test_both_predicates_count() -> None:
    made = Catalogue(visible=lambda who, shown: shown.name != "hidden" or who == "root")
    made.add(Entry(Prompt("hidden"), visible=lambda who: who is not None))
    made.add(Entry(Prompt("own"), visible=lambda who: who is not None))
    assert [listed(made, who)[0] for who in (None, "ann", "root")] == [[], ["own"], ["hidden", "own"]]


WRONG: list[Mapping[str, Any]] = [
    {"visible": True},
    {"render": "text"},
    {"completers": {"x": 5}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_is_no_function_is_refused(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(LocalProtocolError, match="prompt 'p'"):
        Entry(Prompt("p", arguments=(PromptArgument("x"),)), **wrong)
