"""What `watch` knows of a list: what changed, how things stand, and what a screen shows of it."""

from __future__ import annotations

import math
from types import MappingProxyType

import pytest
from rich.console import Console

from mcp_sansio import (
    ChannelChanged,
    Diagnostic,
    Disconnected,
    Era,
    HeadPassed,
    Implementation,
    Invalidated,
    MessagePassed,
    Negotiated,
    PingAnswered,
    Prompt,
    PromptArgument,
    Snapshot,
    Updated,
)
from mcp_sansio_adapters.cli.changes import ListChange, compared, differing, steps
from mcp_sansio_adapters.cli.live import picture
from mcp_sansio_adapters.cli.watched import Watched, span

DIFF = PromptArgument("diff", description="The change", required=True)
FOCUS = PromptArgument("focus")
NEGOTIATED = Negotiated(Era.MODERN, "2026-07-28", {}, Implementation("peer", "1.0"), None)


def listed(*prompts: Prompt, epoch: int = 0, expires: float = math.inf, verified: bool = True) -> Snapshot:
    """A list as the core publishes it."""
    return Snapshot(
        epoch=epoch,
        items=prompts,
        by_name=MappingProxyType({prompt.name: prompt for prompt in prompts}),
        verified=verified,
        private=False,
        expires=expires,
        received=0.0,
        pages=1,
        problems=(),
        asked=1,
    )


def updated(snapshot: Snapshot) -> Updated:
    return Updated("prompts", snapshot.epoch, snapshot, (), (), ())


def watched(*prompts: Prompt) -> Watched:
    """A list that has been watched since 100, which was 1000 by Unix time, and is known since 101."""
    watching = Watched(100.0, 900.0)
    watching.hear(NEGOTIATED, 100.0)
    watching.hear(ChannelChanged("promptsListChanged", live=True, reason="acknowledged"), 100.0)
    watching.hear(updated(listed(*prompts)), 101.0)
    assert watching.publish(listed(*prompts), 101.0) is not None
    return watching


def changed(before: Snapshot | None, after: Snapshot) -> ListChange:
    change = compared(before, after, 1.5)
    assert change is not None
    return change


# --- what changed ---


def test_the_first_list_is_all_added_even_if_it_is_empty() -> None:
    change = changed(None, listed(Prompt("a"), Prompt("b")))
    assert (change.first, [prompt.name for prompt in change.added]) == (True, ["a", "b"])
    assert change.as_line().endswith(" 2 prompts: a, b")
    assert changed(None, listed()).as_line().endswith(" no prompts")


def test_a_list_that_is_the_same_is_no_change() -> None:
    assert compared(listed(Prompt("a")), listed(Prompt("a"), epoch=3), 1.0) is None


def test_a_change_as_json_has_the_fields_that_differ_in_the_spelling_of_the_wire() -> None:
    before = listed(Prompt("a", title="A", arguments=(DIFF,)), Prompt("b"))
    after = listed(Prompt("a", title="Ä"), Prompt("c", meta={"x": 1}), epoch=4, verified=False)
    wire = {"name": "diff", "description": "The change", "required": True}
    assert changed(before, after).as_json() == {
        "epoch": 4,
        "added": [{"name": "c", "_meta": {"x": 1}}],
        "removed": ["b"],
        "changed": [{"name": "a", "fields": {"title": ["A", "Ä"], "arguments": [[wire], None]}}],
        "verified": False,
        "time": "1970-01-01T00:00:01.500+00:00",
    }


def test_a_change_as_a_line_says_the_same_and_keeps_to_its_line() -> None:
    before = listed(Prompt("a", title="A"), Prompt("b"))
    after = listed(Prompt("a", title="A\n\x1b[31m"), Prompt("c"), verified=False)
    line = changed(before, after).as_line()
    assert line[8:] == " + c, - b, ~ a (title: “A” → “A \\x1b[31m”) (unverified)"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (Prompt("a"), Prompt("a", description="D"), ["description: + “D”"]),
        (Prompt("a", description="D"), Prompt("a"), ["description: - “D”"]),
        (
            Prompt("a", arguments=(DIFF,)),
            Prompt("a", arguments=(DIFF, FOCUS)),
            ['arguments.focus: + {"name": "focus"}'],
        ),
        (
            Prompt("a", arguments=(DIFF, FOCUS)),
            Prompt("a", arguments=(PromptArgument("diff", required=True), FOCUS)),
            ["arguments.diff.description: - “The change”"],
        ),
        (
            Prompt("a", arguments=(DIFF, FOCUS)),
            Prompt("a", arguments=(FOCUS, DIFF)),
            ['arguments: ["diff", "focus"] → ["focus", "diff"]'],
        ),
        (Prompt("a", meta={"x": {"y": 1}}), Prompt("a", meta={"x": {"y": 2}}), ["_meta.x.y: 1 → 2"]),
        (Prompt("a", meta={"x": [1]}), Prompt("a", meta={"x": [2]}), ["_meta.x: [1] → [2]"]),
        (Prompt("a"), Prompt("a", meta={}), ["_meta: + {}"]),
    ],
)
def test_what_differs_is_named_where_it_differs(old: Prompt, new: Prompt, said: list[str]) -> None:
    assert [*steps(differing(old, new))] == said


# --- how things stand ---


def test_what_changed_last_comes_first_and_the_others_stay_in_order() -> None:
    watching = watched(Prompt("a"), Prompt("b"), Prompt("c"))
    assert watching.publish(listed(Prompt("a"), Prompt("b", title="B"), Prompt("c")), 103.0) is not None
    assert watching.publish(listed(*map(Prompt, "acd")), 104.0) is not None
    assert watching.publish(listed(*map(Prompt, "acd")), 105.0) is None
    rows = [(row.prompt.name, row.what, row.time) for row in watching.rows()]
    assert rows == [("d", "added", 1004.0), ("a", "", None), ("c", "", None)]
    assert watching.summary(161.0) == "watched for 1 min 1 s: 2 changes; 3 prompts"


def test_a_list_is_fresh_until_its_time_is_over_or_it_is_said_to_be_stale() -> None:
    watching = Watched(0.0, 0.0)
    assert watching.freshness(0.0) == "no list yet"
    assert not watching.fresh(0.0)
    watching.hear(updated(listed(expires=60.0)), 0.0)
    assert (watching.fresh(10.0), watching.freshness(10.0)) == (True, "fresh for 50 s more")
    assert (watching.fresh(65.0), watching.freshness(65.0)) == (False, "expired 5 s ago")
    watching.hear(Invalidated("prompts", 1, "list_changed"), 70.0)
    assert (watching.fresh(72.0), watching.freshness(72.0)) == (False, "stale for 2 s: list_changed")
    watching.hear(updated(listed(epoch=0)), 73.0)
    assert watching.freshness(74.0) == "stale for 1 s: it changed meanwhile"
    watching.hear(updated(listed(epoch=1)), 75.0)
    assert (watching.fresh(80.0), watching.freshness(80.0)) == (True, "fresh until a change is announced")
    assert watching.epoch == 1


def test_a_lost_connection_is_told_once_and_so_is_that_it_is_back() -> None:
    watching = watched(Prompt("a"))
    gone = ChannelChanged("promptsListChanged", live=False, reason="disconnected")
    assert watching.hear(Disconnected("the server exited"), 110.0) == (
        "the connection is lost: the server exited"
    )
    assert watching.hear(gone, 110.0) is None
    assert (watching.connected, watching.live) == (False, None)
    assert watching.hear(NEGOTIATED, 112.0) == "connected again after 2 s (the server exited)"
    back = ChannelChanged("promptsListChanged", live=True, reason="acknowledged")
    assert watching.hear(back, 112.0) is None
    assert (watching.connected, watching.live, watching.restarts, watching.losses) == (True, True, 1, 1)
    assert "1 interruption" in watching.summary(113.0)


def test_a_lost_channel_is_told_though_the_connection_stays() -> None:
    watching = watched(Prompt("a"))
    lost = ChannelChanged("promptsListChanged", live=False, reason="the stream ended")
    back = ChannelChanged("promptsListChanged", live=True, reason="acknowledged")
    assert watching.hear(lost, 110.0) == "changes are not announced any more: the stream ended"
    assert watching.hear(back, 111.0) == "changes are announced again"
    assert (watching.losses, watching.restarts) == (1, 0)


def test_what_is_odd_is_told_and_what_is_not_is_not() -> None:
    watching = watched(Prompt("a"))
    assert watching.hear(Diagnostic("noise", "a line"), 102.0) == "noise: a line"
    assert watching.hear(PingAnswered(), 102.0) is None
    assert [*watching.notes] == [(1002.0, "noise: a line")]


def test_what_passes_is_counted() -> None:
    watching = Watched(0.0, 0.0)
    for sent, data in (
        (True, b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}'),
        (True, b'{"jsonrpc":"2.0","method":"notifications/initialized"}'),
        (False, b'{"jsonrpc":"2.0","id":1,"result":{}}'),
        (False, b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}'),
        (False, b"noise"),
    ):
        watching.overhear(MessagePassed(sent, data))
    watching.overhear(HeadPassed(sent=True, start="POST", headers=(), exchange=1))
    assert (watching.requests, watching.notifications) == (1, 1)


def test_spans_are_for_people() -> None:
    assert [span(each) for each in (0.2, 59.9, 61, 3725)] == ["0 s", "59 s", "1 min 1 s", "1 h 2 min"]


# --- the screen ---


def drawn(watching: Watched, width: int, height: int) -> list[str]:
    """The screen, line by line."""
    console = Console(width=width, height=height, legacy_windows=False, color_system=None)
    with console.capture() as captured:
        console.print(picture(watching, "python server.py", 130.0, width=width, height=height))
    return captured.get().splitlines()


def busy() -> Watched:
    """A long list of which much has changed."""
    prompts = [Prompt(f"prompt-{n:02}", description="What it says. " * 9) for n in range(60)]
    watching = watched(*prompts)
    prompts[30] = Prompt("prompt-30", description="Something else. " * 9, arguments=(DIFF, FOCUS))
    watching.publish(listed(*prompts), 120.0)
    watching.publish(listed(*prompts[2:], Prompt("\x1b[31mnew 模型 \U0001f986")), 125.0)
    watching.hear(Diagnostic("noise", "hello " * 40), 126.0)
    return watching


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (100, 90), (60, 16), (40, 14), (20, 10)])
def test_the_screen_is_filled_and_nothing_goes_beyond_it(size: tuple[int, int]) -> None:
    width, height = size
    for watching in (busy(), watched(), watched(Prompt("a")), Watched(0.0, 0.0)):
        lines = drawn(watching, width, height)
        assert len(lines) == height
        assert watching.notes or lines[-1].startswith("Ctrl-C ends it")
        assert max(Console().render_str(line, markup=False, emoji=False).cell_len for line in lines) <= width


def test_the_screen_shows_what_changed_first_and_counts_what_does_not_fit() -> None:
    lines = drawn(busy(), 80, 24)
    text = "\n".join(lines)
    assert lines[:2] == [
        "python server.py",
        "peer 1.0 · 2026-07-28 (modern) · connected · watched for 30 s",
    ]
    assert lines[2] == "60 prompts · epoch 0 · verified · fresh until a change is announced"
    assert lines[6].startswith("\\x1b[31mnew 模型 \U0001f986")
    assert lines[7].startswith("prompt-30")
    assert lines[7].split()[-1] == "description…"
    assert "more" in text
    assert "- prompt-00" in text
    assert "noise: hello" in lines[-1]
