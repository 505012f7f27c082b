"""The command `watch`: what changed, how things stand, and what of both is shown in a pipe and on a screen.

What is known of a watched list is tested in virtual time; the command itself against real servers, whose
folders are edited, and which are killed under its eyes.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from live import sdk_server
from live import served as served_peer
from registry import CONTROL
from rich.console import Console
from test_cli import MCP_SANSIO, Fails, fails, run
from test_cli_http import served

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
from mcp_sansio_adapters.cli.explain import Exit
from mcp_sansio_adapters.cli.live import picture
from mcp_sansio_adapters.cli.watched import Watched, span

__all__ = ["fails"]  # a fixture is found by its name

live = pytest.mark.live

PATIENCE = 60.0
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


# --- the command ---


def prompt_file(folder: Path, name: str, description: str) -> None:
    """Write a prompt file, at once as far as a reader is concerned."""
    draft = folder / f".{name}"
    draft.write_text(f"---\ndescription: {description}\n---\nText", encoding="utf-8")
    draft.replace(folder / f"{name}.md")


@contextmanager
def watching(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A `watch` in a pipe."""
    process = subprocess.Popen(
        [*MCP_SANSIO, "watch", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **environment},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def next_json(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line: dict[str, Any] = json.loads(process.stdout.readline())
    return line


def said(process: subprocess.Popen[str], word: str) -> str:
    """The next line on stderr that has the word."""
    assert process.stderr is not None
    for line in process.stderr:
        if word in line:
            return line
    raise AssertionError(f"nothing was said of {word!r}")


def served_child(process: subprocess.Popen[str]) -> int:
    """The process that `watch` has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    return int(children[0])


@live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_change_of_a_folder_is_one_line_of_json(tmp_path: Path, era: str) -> None:
    prompt_file(tmp_path, "one", "first")
    server = (*MCP_SANSIO, "serve", str(tmp_path))
    with watching("--json", "--era", era, "--count", "3", "--", *server) as process:
        first = next_json(process)
        assert first["added"] == [{"name": "one", "description": "first"}]
        assert (first["removed"], first["changed"], first["verified"]) == ([], [], True)
        prompt_file(tmp_path, "two", "second")
        assert next_json(process)["added"] == [{"name": "two", "description": "second"}]
        prompt_file(tmp_path, "one", "changed")
        fields = {"description": ["first", "changed"]}
        assert next_json(process)["changed"] == [{"name": "one", "fields": fields}]
        (tmp_path / "two.md").unlink()
        last = next_json(process)
        assert (last["added"], last["removed"]) == ([], ["two"])
        assert process.wait(PATIENCE) == Exit.DONE
        assert said(process, "watched for").endswith(": 3 changes; 1 prompt\n")


@live
def test_an_empty_list_has_its_line_too_and_text_is_a_line_a_change(tmp_path: Path) -> None:
    with watching("--count", "1", "--", *MCP_SANSIO, "serve", str(tmp_path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(" no prompts\n")
        prompt_file(tmp_path, "one", "first")
        assert process.stdout.readline().endswith(" + one\n")
        assert process.stdout.read() == ""
        assert process.wait(PATIENCE) == Exit.DONE


@live
def test_a_server_that_is_killed_is_started_again_and_watched_on(tmp_path: Path) -> None:
    prompt_file(tmp_path, "one", "first")
    with watching("--json", "--", *MCP_SANSIO, "serve", str(tmp_path)) as process:
        next_json(process)
        os.kill(served_child(process), signal.SIGKILL)
        assert "killed by SIGKILL" in said(process, "the connection is lost")
        assert "SIGKILL" in said(process, "connected again after")
        prompt_file(tmp_path, "two", "second")
        assert [prompt["name"] for prompt in next_json(process)["added"]] == ["two"]


@live
def test_over_http_a_server_is_waited_for_until_it_is_back(tmp_path: Path) -> None:
    prompt_file(tmp_path, "one", "first")
    with served(tmp_path) as (url, first):
        port = url.split(":")[2].split("/")[0]
        with watching("--json", url) as process:
            next_json(process)
            first.kill()
            first.wait()
            assert "changes are not announced any more" in said(process, "announced")
            prompt_file(tmp_path, "two", "second")
            with served(tmp_path, "--http", f"127.0.0.1:{port}"):
                assert [prompt["name"] for prompt in next_json(process)["added"]] == ["two"]
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE) == Exit.DONE


@live
def test_the_official_server_is_watched_while_somebody_else_changes_it() -> None:
    """The SDK announces changes, too; its own client leaves it to the caller to fetch the list then."""
    with (
        served_peer(sdk_server(prompts=12, page=5, http=True, era="modern")) as peer,
        watching("--json", "--count", "1", peer.url) as process,
    ):
        assert len(next_json(process)["added"]) == 12
        change = ("--arg", "op=retitle", "--arg", "name=prompt-003", "--arg", "value=New")
        assert run("get", peer.url, CONTROL, *change, "--era", "modern").returncode == Exit.DONE
        fields = {"title": ["Prompt № 3", "New"]}
        assert next_json(process)["changed"] == [{"name": "prompt-003", "fields": fields}]
        assert process.wait(PATIENCE) == Exit.DONE


@live
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_a_summary(tmp_path: Path, how: signal.Signals) -> None:
    with watching("--", *MCP_SANSIO, "serve", str(tmp_path)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(how)
        assert process.wait(PATIENCE) == Exit.DONE
        assert process.stderr is not None
        assert process.stderr.read().startswith("mcp-sansio: watched for ")


@live
def test_who_interrupts_before_there_is_a_list_has_seen_nothing(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with (
        watching("--", "sh", "-c", f"exec 3>{fifo}; echo ready >&3; cat >&2") as process,
        fifo.open() as held,
    ):
        assert held.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == Exit.INTERRUPTED


@live
def test_a_reader_who_leaves_ends_it_though_nothing_changes(tmp_path: Path) -> None:
    with watching("--", *MCP_SANSIO, "serve", str(tmp_path)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == Exit.BROKEN_PIPE


@live
@pytest.mark.slow
def test_a_server_that_cannot_stay_alive_is_given_up(tmp_path: Path) -> None:
    fails_later = f"if [ -e {tmp_path}/died ]; then exit 7; fi; exec {' '.join(MCP_SANSIO)} serve {tmp_path}"
    with watching("--", "sh", "-c", fails_later) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (tmp_path / "died").touch()
        os.kill(served_child(process), signal.SIGKILL)
        assert process.wait(PATIENCE) == Exit.NO_SERVER
        assert "exit code 7" in said(process, "no server")


@live
@pytest.mark.parametrize(
    ("code", "arguments", "word"),
    [
        (Exit.USAGE, ("watch",), "No server"),
        (Exit.USAGE, ("watch", "http://x", "y"), "Too many words"),
        (Exit.USAGE, ("watch", "--count", "0", "http://x"), "'--count'"),
        (Exit.NO_SERVER, ("watch", "--", "no-such-command"), "cannot be started"),
    ],
)
def test_what_goes_wrong_is_one_line(fails: Fails, code: int, arguments: tuple[str, ...], word: str) -> None:
    assert word in fails(code, *arguments)
