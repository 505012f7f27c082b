"""Prompts over the wire: listing and its cursors, getting, completing, and who may see what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair import KEYS, catalogue, prompt
from serving import (
    EVERY,
    LEGACY,
    LIST_CHANGED,
    MODERN,
    Peer,
    complete,
    completing,
    refused,
    speaking,
    spoken,
    walk,
)

from mcp_sansio import (
    AskInput,
    Catalogue,
    HandlerFailed,
    Icon,
    Keys,
    LocalProtocolError,
    Prompt,
    PromptArgument,
    PromptRequested,
    PromptServerConfig,
)

DIGEST = "mcp-sansio/snapshot"


@pytest.mark.parametrize(
    "wrong", [{"page_size": 0}, {"ttl": -1}, {"ttl": float("nan")}, {"state_ttl": -1}], ids=repr
)
def test_a_configuration_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError, match=next(iter(wrong))):
        PromptServerConfig(keys=KEYS, **wrong)


# --- list -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", EVERY)
def test_a_list_in_pages(version: str) -> None:
    peer = speaking(version)
    first = peer.use(1, "prompts/list")["result"]
    assert [item["name"] for item in first["prompts"]] == ["p0000", "p0001"]
    second = peer.use(2, "prompts/list", {"cursor": first["nextCursor"]})["result"]
    assert [item["name"] for item in second["prompts"]] == ["p0002"]
    assert "nextCursor" not in second  # absent, never null
    digest = peer.catalogue.snapshot.digest
    for page in (first, second):
        assert page["_meta"][DIGEST] == digest
        hints = {"ttlMs": 60_000, "cacheScope": "public"} if version == MODERN else {}
        assert {key: page[key] for key in ("ttlMs", "cacheScope") if key in page} == hints


@pytest.mark.parametrize("version", EVERY)
def test_an_empty_list_is_a_list(version: str) -> None:
    result = speaking(version, Catalogue()).use(1, "prompts/list")["result"]
    assert result["prompts"] == []
    assert "nextCursor" not in result


def test_names_come_in_code_point_order() -> None:
    prompts = Catalogue()
    for name in ("z", "Z", "a b", "é", "\U0001f389", "\ufffd", "a"):
        prompts.add(prompt(name))
    assert walk(speaking(MODERN, prompts)) == ["Z", "a", "a b", "z", "é", "\ufffd", "\U0001f389"]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_any_page_size_shows_the_same_list(size: int) -> None:
    peer = speaking(MODERN, serving={"page_size": size})
    assert walk(peer) == ["p0000", "p0001", "p0002"]


def test_a_full_last_page_has_no_cursor() -> None:
    assert "nextCursor" not in speaking(MODERN, catalogue(2)).use(1, "prompts/list")["result"]


@pytest.mark.parametrize("ttl", [0, 0.0014, 1.5, 1e9])
def test_freshness_is_promised_in_whole_milliseconds(ttl: float) -> None:
    result = speaking(MODERN, serving={"ttl": ttl}).use(1, "prompts/list")["result"]
    assert type(result["ttlMs"]) is int
    assert result["ttlMs"] == int(ttl * 1000)


@pytest.mark.parametrize("params", [None, {}, {"cursor": None}, {"x": 1}])
def test_a_list_starts_at_its_start(params: Any) -> None:
    reply = speaking("2025-11-25").use(1, "prompts/list", params)
    assert reply["result"]["prompts"][0]["name"] == "p0000"


def test_a_catalogue_that_could_not_be_loaded_is_not_an_empty_one() -> None:
    peer = speaking(MODERN)
    peer.prompts.failure = "FileNotFoundError: /secret/prompts"
    for number, method in enumerate(("prompts/list", "prompts/get", "completion/complete")):
        reply = peer.use(number, method, {"name": "p0000"})
        assert reply["error"] == {"code": -32603, "message": "Internal error"}
        (failed,) = peer.of(HandlerFailed)
        assert failed.reason == peer.prompts.failure
    peer.prompts.failure = None
    assert walk(peer) == ["p0000", "p0001", "p0002"]


# --- cursors ----------------------------------------------------------------------------------------


def cursor_of(peer: Peer) -> str:
    found: str = peer.use("cursor", "prompts/list")["result"]["nextCursor"]
    return found


def damaged(cursor: str) -> list[str]:
    return [
        cursor[:-1],
        cursor + "A",
        cursor + "=",
        " " + cursor,
        cursor.swapcase(),
        cursor[:20] + ("A" if cursor[20] != "A" else "B") + cursor[21:],
        "A" * 8192,
        "A" * 100_000,
    ]


def test_a_cursor_that_was_not_issued_is_refused() -> None:
    peer = speaking(MODERN)
    for cursor in ("", "0", "null", "p0001", "é\u2028", *damaged(cursor_of(peer)), 5, True, [], {}):
        refused(peer.use(1, "prompts/list", {"cursor": cursor}), -32602, "cursor")
    assert walk(peer) == ["p0000", "p0001", "p0002"]


def test_a_cursor_is_good_for_every_revision() -> None:
    peer = speaking(MODERN)
    cursor = cursor_of(peer)
    for version in LEGACY:
        other = peer.another()
        other.speak(version)
        assert walk(other, cursor) == ["p0002"]


def test_a_cursor_is_good_on_every_node_with_the_same_keys_and_after_a_restart() -> None:
    """The official Python SDK leaves cursors to the application; its high-level server has a single page."""
    cursor = cursor_of(speaking(MODERN))
    assert walk(speaking(MODERN), cursor) == ["p0002"]


def test_keys_rotate() -> None:
    old, new = ("old", b"o" * 32), ("new", b"n" * 32)
    cursor = cursor_of(speaking(MODERN, serving={"keys": Keys(old)}))
    both = speaking(MODERN, serving={"keys": Keys(new, old)})
    assert walk(both, cursor) == ["p0002"]
    newer = cursor_of(both)
    assert newer != cursor
    after = speaking(MODERN, serving={"keys": Keys(new)})
    assert walk(after, newer) == ["p0002"]
    refused(after.use(1, "prompts/list", {"cursor": cursor}), -32602, "cursor")


@pytest.mark.parametrize(
    "foreign", [{"keys": Keys(("k1", b"x" * 32))}, {"label": "other"}], ids=["keys", "catalogue"]
)
def test_a_foreign_cursor_is_refused(foreign: dict[str, Any]) -> None:
    cursor = cursor_of(speaking(MODERN, serving=foreign))
    refused(speaking(MODERN).use(1, "prompts/list", {"cursor": cursor}), -32602, "cursor")


@pytest.mark.parametrize(("issued", "used"), [("ann", "bob"), ("ann", None), (None, "ann"), ("", None)])
def test_a_cursor_belongs_to_its_principal(issued: str | None, used: str | None) -> None:
    cursor = cursor_of(speaking(MODERN, principal=issued))
    refused(speaking(MODERN, principal=used).use(1, "prompts/list", {"cursor": cursor}), -32602, "cursor")


def test_a_request_state_is_no_cursor() -> None:
    peer = speaking(MODERN)
    peer.say_modern(1, "prompts/get", {"name": "p0000"})
    peer.prompts.answer(peer.of(PromptRequested)[0], AskInput(state="p0001"), 0.0)
    state = peer.sent()[0]["result"]["requestState"]
    refused(peer.use(2, "prompts/list", {"cursor": state}), -32602, "cursor")
    refused(
        peer.use(3, "prompts/get", {"name": "p0000", "requestState": cursor_of(peer)}), -32602, "requestState"
    )


NAMES = st.text("abcdef", min_size=1, max_size=3)
EDITS = st.lists(st.tuples(st.sampled_from(["add", "remove"]), NAMES), max_size=6)


@settings(max_examples=60)
@given(st.sets(NAMES, max_size=12), st.lists(EDITS, max_size=8), st.integers(1, 4))
def test_what_survives_is_neither_skipped_nor_repeated(
    names: set[str], edits: list[list[tuple[str, str]]], size: int
) -> None:
    """Whatever changes between two pages: each prompt that was there all the time is listed once."""
    prompts = Catalogue()
    for name in sorted(names):
        prompts.add(prompt(name))
    peer = speaking(MODERN, prompts, serving={"page_size": size})
    survivors = set(names)
    listed: list[str] = []
    cursor = None
    for batch in [*edits, *([[]] * 100)]:
        result = peer.use(1, "prompts/list", {"cursor": cursor})["result"]
        listed += [item["name"] for item in result["prompts"]]
        cursor = result.get("nextCursor")
        if cursor is None:
            break
        for kind, name in batch:
            if kind == "add":
                prompts.put(prompt(name))
            elif name in prompts.snapshot.entries:
                prompts.remove(name)
                survivors.discard(name)
        peer.sent()
    assert cursor is None
    assert listed == sorted(set(listed))
    assert survivors <= set(listed)


# --- encoded once -----------------------------------------------------------------------------------


class Counting(Mapping[str, Any]):
    """Metadata that counts how often it is written."""

    def __init__(self) -> None:
        self.written = 0

    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self) -> Any:
        self.written += 1
        return iter(["k"])

    def __len__(self) -> int:
        return 1


def test_a_prompt_is_encoded_once_per_snapshot_and_shape() -> None:
    """Revisions that show a prompt alike share its bytes, and an edit elsewhere does not encode it anew."""
    meta = Counting()
    prompts = catalogue(3)
    prompts.add(prompt("a", meta=meta))
    peer = speaking(MODERN, prompts)
    peers = [peer]
    for version in ("2025-06-18", "2025-11-25"):
        peers.append(peer.another())
        peers[-1].speak(version)
    before = meta.written
    for each in peers:
        walk(each)
    once = meta.written
    assert once > before
    for each in peers:
        walk(each)
        walk(each)
    assert meta.written == once
    prompts.put(prompt("z"))
    for each in peers:
        each.sent()
        assert walk(each) == ["a", "p0000", "p0001", "p0002", "z"]
    assert meta.written == once
    prompts.put(prompt("a", meta=Counting(), description="new"))
    peer.sent()
    assert peer.use("new", "prompts/list")["result"]["prompts"][0]["description"] == "new"


@pytest.mark.parametrize("kept", [1, 2, 3, 100])
def test_so_many_encoded_pages_are_kept(kept: int) -> None:
    """However few they are, the list is the same."""
    peer = speaking(MODERN, catalogue(7), serving={"kept_pages": kept})
    assert walk(peer) == walk(peer) == list(peer.catalogue.snapshot.names)


@pytest.mark.parametrize("version", EVERY)
def test_what_a_revision_does_not_have_is_not_listed(version: str) -> None:
    prompts = Catalogue()
    prompts.add(
        Prompt(
            "p", "Title", "text", (PromptArgument("a", "A", "x", required=True),), (Icon("data:,"),), {"k": 1}
        )
    )
    (item,) = speaking(version, prompts).use(1, "prompts/list")["result"]["prompts"]
    titled = version >= "2025-06-18"
    assert set(item) == {"name", "description", "arguments"} | (
        ({"title", "_meta"} if titled else set()) | ({"icons"} if version >= "2025-11-25" else set())
    )
    assert ("title" in item["arguments"][0]) is titled


# --- who may see what -------------------------------------------------------------------------------


def allow(principal: str | None, shown: Prompt) -> bool:
    return shown.name.startswith("open") or principal == "ann"


def guarded(principal: str | None, **config: Any) -> Peer:
    prompts = Catalogue(visible=allow)
    for name in ("open1", "hidden", "open2", "secret", "open3"):
        prompts.add(prompt(name, optional=["x"]), completers={"x": ["1"]})
    return Peer(prompts, principal=principal, **config)


@pytest.mark.parametrize("version", EVERY)
def test_everybody_lists_what_they_may_see(version: str) -> None:
    for principal, names in (
        ("ann", ["hidden", "open1", "open2", "open3", "secret"]),
        ("bob", ["open1", "open2", "open3"]),
        (None, ["open1", "open2", "open3"]),
    ):
        peer = guarded(principal)
        peer.speak(version)
        assert walk(peer) == names


@pytest.mark.parametrize("principal", ["ann", "bob", None])
def test_with_a_predicate_every_page_is_private(principal: str | None) -> None:
    """Whether or not it hid anything; nor does a digest tell of what was hidden."""
    peer = guarded(principal)
    params: dict[str, Any] = {}
    while True:
        result = peer.call(1, "prompts/list", params)["result"]
        assert result["cacheScope"] == "private"
        assert DIGEST not in result["_meta"]
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}


@pytest.mark.parametrize("version", EVERY)
def test_a_hidden_prompt_is_like_an_unknown_one(version: str) -> None:
    peer = guarded("bob")
    peer.speak(version)
    requests: list[tuple[str, Any]] = [
        ("prompts/get", lambda name: {"name": name}),
        ("prompts/get", lambda name: {"name": name, "arguments": {"x": 5}}),
        (
            "completion/complete",
            lambda name: complete({"name": "x", "value": ""}, ref={"type": "ref/prompt", "name": name}),
        ),
        (
            "completion/complete",
            lambda name: complete({"name": "y", "value": ""}, ref={"type": "ref/prompt", "name": name}),
        ),
    ]
    for method, params in requests:
        hidden = peer.use(1, method, params("hidden"))
        ghost = peer.use(1, method, params("ghost1"))
        assert hidden["error"]["code"] == -32602
        assert hidden["error"]["message"].replace("hidden", "ghost1") == ghost["error"]["message"]
    assert peer.events() == []


def test_whoever_may_see_a_prompt_may_use_it() -> None:
    peer = guarded("ann")
    peer.say_modern(1, "prompts/get", {"name": "hidden"})
    assert peer.of(PromptRequested)[0].prompt.name == "hidden"
    params = complete({"name": "x", "value": ""}, ref={"type": "ref/prompt", "name": "hidden"})
    assert peer.call(2, "completion/complete", params)["result"]["completion"]["values"] == ["1"]


# --- the application's own mistakes -----------------------------------------------------------------


def fails(*_: Any) -> bool:
    raise KeyError("secret")


def test_a_function_that_fails_costs_one_request() -> None:
    """It is called in the middle of reading somebody's bytes, on a server that is there for all."""
    prompts = Catalogue(visible=fails)
    prompts.add(prompt("p", "a"), completers={"a": ["1"]})
    for peer, method, params in (
        (Peer(prompts), "prompts/list", {}),
        (Peer(prompts), "prompts/get", {"name": "p"}),
        (Peer(prompts), "completion/complete", complete({"name": "a", "value": ""})),
        (completing(serving={"allow_completion": fails}), "completion/complete", complete({})),
    ):
        assert peer.call(1, method, params)["error"] == {"code": -32603, "message": "Internal error"}
        assert [event.reason for event in peer.of(HandlerFailed)] == ["KeyError: 'secret'"]


def test_a_list_of_values_that_are_no_text_costs_one_request() -> None:
    prompts = Catalogue()
    prompts.add(prompt("p", "a"), completers={"a": [1, 2]})  # type: ignore[list-item]  # the mistake
    peer = Peer(prompts)
    reply = peer.call(1, "completion/complete", complete({"name": "a", "value": ""}))
    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    assert len(peer.of(HandlerFailed)) == 1


def test_two_servers_of_one_catalogue_both_announce_its_changes() -> None:
    first = Peer()
    second = Peer(first.catalogue)
    first.catalogue.on_change = lambda: None
    for peer in (first, second):
        peer.initialize()
        assert peer.sent() == []
    second.edit("new")
    for peer in (first, second):
        assert spoken(peer.sent()) == [LIST_CHANGED]


def test_without_a_hook_a_change_is_nobodys_business() -> None:
    peer = Peer()
    peer.prompts.on_change = None
    peer.initialize()
    peer.edit("new")
    assert peer.sent() == []
