"""The catalogue: what counts as a change, what batches and snapshots promise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from catalogues import Watched

from mcp_sansio._catalogue import Catalogue
from mcp_sansio._entry import MAX_NAME_SIZE, Entry
from mcp_sansio._errors import LocalProtocolError
from mcp_sansio._types import Prompt, PromptArgument


def render(arguments: Mapping[str, str]) -> str:
    return str(arguments)


# Single edits


def test_a_new_catalogue_is_empty() -> None:
    snapshot = Catalogue().snapshot
    assert (snapshot.epoch, snapshot.names, dict(snapshot.entries)) == (0, (), {})
    assert snapshot.page_after(None, 10) == ((), False)


def test_an_added_prompt_is_published_with_what_serves_it() -> None:
    watched = Watched()
    prompt = Prompt("greet", arguments=(PromptArgument("who"),))
    watched.catalogue.add(prompt, render, {"who": ["Ann", "Bob"]})
    entry = watched.catalogue.snapshot.entries["greet"]
    assert entry == Entry(prompt, render, {"who": ["Ann", "Bob"]})
    assert watched.seen == [1]


def test_adding_a_name_twice_is_refused_and_changes_nothing() -> None:
    watched = Watched("a")
    before = watched.catalogue.snapshot
    with pytest.raises(LocalProtocolError, match="'a' already"):
        watched.catalogue.add(Prompt("a", description="other"))
    assert watched.catalogue.snapshot is before
    assert watched.seen == []


def test_putting_adds_or_replaces() -> None:
    watched = Watched("a")
    watched.catalogue.put(Prompt("b"))
    watched.catalogue.put(Prompt("a", description="other"))
    assert watched.names == ("a", "b")
    assert watched.catalogue.snapshot.entries["a"].prompt.description == "other"
    assert watched.seen == [2, 3]


def test_removing_takes_out_one_prompt_that_must_be_there() -> None:
    watched = Watched("a", "b")
    watched.catalogue.remove("a")
    assert watched.names == ("b",)
    with pytest.raises(LocalProtocolError, match="no prompt 'a'"):
        watched.catalogue.remove("a")
    assert watched.seen == [2]


def test_replacing_is_one_change() -> None:
    watched = Watched("a", "b")
    watched.catalogue.replace([Entry(Prompt("c")), Entry(Prompt("b"))])
    assert watched.names == ("b", "c")
    assert watched.seen == [2]


def test_replacing_with_one_name_twice_changes_nothing() -> None:
    watched = Watched("a")
    with pytest.raises(LocalProtocolError, match="two prompts 'b'"):
        watched.catalogue.replace([Entry(Prompt("b")), Entry(Prompt("b"))])
    assert watched.names == ("a",)


def test_replacing_from_a_source_that_fails_changes_nothing() -> None:
    def failing() -> Iterator[Entry]:
        yield Entry(Prompt("b"))
        raise OSError("unreadable")

    watched = Watched("a")
    with pytest.raises(OSError, match="unreadable"):
        watched.catalogue.replace(failing())
    assert (watched.names, watched.seen) == (("a",), [])


def test_names_are_in_code_point_order() -> None:
    names = ["a", "é", "e\u0301", "Z", "z", "a/b", "a b", "\U0001f389", "\uffee", "10", "9"]
    watched = Watched(*names)
    assert watched.names == tuple(sorted(names, key=lambda name: [ord(character) for character in name]))
    assert watched.names.index("\uffee") < watched.names.index("\U0001f389")  # UTF-16 would say otherwise
    assert tuple(watched.catalogue.snapshot.entries) == watched.names


# What is no change


UNSHOWN_EDITS: dict[str, Callable[[Catalogue], None]] = {
    "the same prompt": lambda catalogue: catalogue.put(Prompt("a")),
    "another order": lambda catalogue: catalogue.replace([Entry(Prompt("b")), Entry(Prompt("a"))]),
    "another handler": lambda catalogue: catalogue.put(Prompt("a"), render),
}


@pytest.mark.parametrize("edit", UNSHOWN_EDITS.values(), ids=UNSHOWN_EDITS)
def test_an_edit_that_the_list_does_not_show_is_no_change(edit: Callable[[Catalogue], None]) -> None:
    watched = Watched("a", "b")
    before = watched.catalogue.snapshot
    edit(watched.catalogue)
    after = watched.catalogue.snapshot
    assert (after.epoch, after.digest, after.names) == (before.epoch, before.digest, before.names)
    assert watched.seen == []


def test_a_new_handler_and_new_completers_are_published_without_a_change() -> None:
    watched = Watched()
    prompt = Prompt("a", arguments=(PromptArgument("x"),))
    watched.catalogue.add(prompt)
    watched.catalogue.put(prompt, render, {"x": ("1", "2")})
    assert watched.catalogue.snapshot.entries["a"] == Entry(prompt, render, {"x": ("1", "2")})
    assert watched.seen == [1]


def test_a_batch_whose_edits_cancel_out_is_no_change() -> None:
    watched = Watched("a")
    with watched.catalogue.batch():
        watched.catalogue.add(Prompt("b"))
        watched.catalogue.remove("a")
        watched.catalogue.remove("b")
        watched.catalogue.add(Prompt("a"))
    assert (watched.catalogue.snapshot.epoch, watched.seen) == (1, [])


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), (0, False), ("1", 1), ([], {})])
def test_values_that_python_calls_equal_are_changes_if_their_json_differs(before: Any, after: Any) -> None:
    watched = Watched()
    watched.catalogue.put(Prompt("a", meta={"v": before}))
    watched.catalogue.put(Prompt("a", meta={"v": after}))
    assert watched.seen == [1, 2]


# Digests


def test_the_digest_tells_content_and_nothing_else() -> None:
    one, other = Watched("a"), Watched("b")
    other.catalogue.put(Prompt("a"), render)
    assert one.catalogue.snapshot.digest != other.catalogue.snapshot.digest
    one.catalogue.put(Prompt("b", description="new"))
    assert one.catalogue.snapshot.digest != other.catalogue.snapshot.digest
    one.catalogue.put(Prompt("b"))
    assert one.catalogue.snapshot.digest == other.catalogue.snapshot.digest
    assert one.catalogue.snapshot.epoch != other.catalogue.snapshot.epoch


def test_the_digest_is_the_same_in_every_process() -> None:
    program = (
        "from mcp_sansio._catalogue import Catalogue\n"
        "from mcp_sansio._types import Prompt\n"
        "catalogue = Catalogue()\n"
        "for name in {'a', 'b', 'c', 'd'}: catalogue.add(Prompt(name))\n"
        "print(catalogue.snapshot.digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert digests == {Watched("d", "c", "b", "a").catalogue.snapshot.digest}


# Snapshots and the hook


def test_a_snapshot_never_changes() -> None:
    watched = Watched("a", "b")
    snapshot = watched.catalogue.snapshot
    watched.catalogue.remove("a")
    watched.catalogue.put(Prompt("b", description="new"))
    assert snapshot.names == ("a", "b")
    assert dict(snapshot.entries) == {"a": Entry(Prompt("a")), "b": Entry(Prompt("b"))}
    assert not hasattr(snapshot.entries, "__setitem__")


def test_snapshots_are_told_apart_by_identity_and_can_be_keys_of_a_cache() -> None:
    one, other = Watched("a").catalogue.snapshot, Watched("a").catalogue.snapshot
    assert len({one, other, one}) == 2


def test_completers_are_copied() -> None:
    completers = {"x": ["1"]}
    entry = Entry(Prompt("a", arguments=(PromptArgument("x"),)), completers=completers)
    del completers["x"]
    assert dict(entry.completers) == {"x": ["1"]}


def test_a_hook_that_raises_reaches_the_editor_and_the_edit_stands() -> None:
    catalogue = Catalogue()

    def fail() -> None:
        raise OSError("no wire")

    catalogue.on_change = fail
    with pytest.raises(OSError, match="no wire"):
        catalogue.add(Prompt("a"))
    assert catalogue.snapshot.names == ("a",)


def test_everybody_who_watches_hears_whatever_another_does() -> None:
    catalogue, heard = Catalogue(), list[str]()

    def fail() -> None:
        heard.append("fail")
        raise OSError("no wire")

    catalogue.on_change = lambda: heard.append("editor")
    catalogue.watch(fail)
    catalogue.watch(lambda: heard.append("second"))
    with pytest.raises(OSError, match="no wire"):
        catalogue.add(Prompt("a"))
    assert heard == ["fail", "second", "editor"]
    catalogue.put(Prompt("a"))
    assert len(heard) == 3


def test_a_hook_may_edit() -> None:
    watched = Watched()

    def mirror() -> None:
        watched.seen.append(watched.catalogue.snapshot.epoch)
        if "copy" not in watched.names:
            watched.catalogue.add(Prompt("copy"))

    watched.catalogue.on_change = mirror
    watched.catalogue.add(Prompt("a"))
    assert (watched.names, watched.seen) == (("a", "copy"), [1, 2])


# Batches


def test_a_batch_is_one_change_that_is_published_before_it_is_announced() -> None:
    watched = Watched("a")
    with watched.catalogue.batch():
        watched.catalogue.add(Prompt("b"))
        watched.catalogue.remove("a")
        assert (watched.names, watched.seen) == (("a",), [])
    assert (watched.names, watched.seen) == (("b",), [2])


def test_edits_in_a_batch_see_the_edits_before_them() -> None:
    watched = Watched("a")
    with watched.catalogue.batch():
        watched.catalogue.remove("a")
        watched.catalogue.add(Prompt("a", description="new"))
        with pytest.raises(LocalProtocolError, match="already"):
            watched.catalogue.add(Prompt("a"))
        watched.catalogue.replace([Entry(Prompt("b"))])
        with pytest.raises(LocalProtocolError, match="no prompt 'a'"):
            watched.catalogue.remove("a")
        watched.catalogue.put(Prompt("c"))
    assert (watched.names, watched.seen) == (("b", "c"), [2])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_undoes_the_whole_batch(error: type[BaseException]) -> None:
    watched = Watched("a")
    before = watched.catalogue.snapshot

    def fail_half_way() -> None:
        with watched.catalogue.batch():
            watched.catalogue.remove("a")
            with watched.catalogue.batch():
                watched.catalogue.add(Prompt("b"))
            watched.catalogue.replace([])
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert watched.catalogue.snapshot is before
    watched.catalogue.add(Prompt("c"))
    assert (watched.names, watched.seen) == (("a", "c"), [2])


def test_a_nested_batch_joins_the_outer_one() -> None:
    watched = Watched()
    with watched.catalogue.batch():
        watched.catalogue.add(Prompt("a"))
        with watched.catalogue.batch():
            watched.catalogue.add(Prompt("b"))
            watched.catalogue.remove("a")
        assert (watched.names, watched.seen) == ((), [])
        watched.catalogue.add(Prompt("c"))
    assert (watched.names, watched.seen) == (("b", "c"), [1])


def test_a_failed_nested_batch_undoes_its_own_edits_only() -> None:
    watched = Watched()

    def fail_half_way() -> None:
        with watched.catalogue.batch():
            watched.catalogue.replace([Entry(Prompt("b"))])
            watched.catalogue.remove("no such prompt")

    with watched.catalogue.batch():
        watched.catalogue.add(Prompt("a"))
        with pytest.raises(LocalProtocolError, match="no such prompt"):
            fail_half_way()
        watched.catalogue.add(Prompt("c"))
    assert (watched.names, watched.seen) == (("a", "c"), [1])


# Limits and local mistakes


def test_a_catalogue_has_a_limit() -> None:
    catalogue = Catalogue(max_prompts=2)
    catalogue.replace([Entry(Prompt("a")), Entry(Prompt("b"))])
    before = catalogue.snapshot
    with pytest.raises(LocalProtocolError, match="room for 2"):
        catalogue.add(Prompt("c"))
    with pytest.raises(LocalProtocolError, match="room for 2"):
        catalogue.replace(Entry(Prompt(name)) for name in "abc")
    assert catalogue.snapshot is before
    catalogue.put(Prompt("a", description="replaced"))
    with catalogue.batch():
        catalogue.remove("a")
        catalogue.add(Prompt("c"))
    assert catalogue.snapshot.names == ("b", "c")


@pytest.mark.parametrize("name", ["", "x" * (MAX_NAME_SIZE + 1), "é" * (MAX_NAME_SIZE // 2) + "x"])
def test_names_have_a_size(name: str) -> None:
    with pytest.raises(LocalProtocolError, match=f"1 to {MAX_NAME_SIZE} bytes"):
        Entry(Prompt(name))


def test_names_may_have_the_greatest_size() -> None:
    for name in ("x" * MAX_NAME_SIZE, "é" * (MAX_NAME_SIZE // 2)):
        assert Entry(Prompt(name)).prompt.name == name


UNLISTABLE: list[Prompt] = [
    Prompt("a\ud800"),
    Prompt("a", description=5),  # type: ignore[arg-type]  # the mistake under test
    Prompt("a", meta={"v": float("nan")}),
    Prompt("a", meta={"v": object()}),
]


@pytest.mark.parametrize("prompt", UNLISTABLE)
def test_a_prompt_that_could_not_be_encoded_is_refused_at_once(prompt: Prompt) -> None:
    watched = Watched("a")
    before = watched.catalogue.snapshot
    for edit in (watched.catalogue.add, watched.catalogue.put):
        with pytest.raises(LocalProtocolError):
            edit(prompt)
    assert watched.catalogue.snapshot is before


def test_arguments_have_different_names() -> None:
    with pytest.raises(LocalProtocolError, match="two arguments of one name"):
        Entry(Prompt("a", arguments=(PromptArgument("x"), PromptArgument("y"), PromptArgument("x"))))


def test_completers_belong_to_arguments_of_the_prompt() -> None:
    with pytest.raises(LocalProtocolError, match="no argument 'y'"):
        Entry(Prompt("a", arguments=(PromptArgument("x"),)), completers={"y": []})


def test_a_string_is_not_taken_for_a_sequence_of_values() -> None:
    with pytest.raises(LocalProtocolError, match="not one"):
        Entry(Prompt("a", arguments=(PromptArgument("x"),)), completers={"x": "yes"})


def test_an_entry_is_encoded_once_for_each_shape() -> None:
    made = Entry(Prompt("a", title="A"))
    assert made.encoded("2024-11-05") == b'{"name":"a"}'
    assert made.encoded("2026-07-28") == b'{"name":"a","title":"A"}'
    assert made.encoded("2026-07-28") is made.encoded("2026-07-28")
