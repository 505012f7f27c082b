"""The command `watch` against real servers, whose folders are edited, and which are killed under its eyes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from live import sdk_server
from live import served as served_peer
from registry import CONTROL
from test_cli import MCP_SANSIO, Fails, fails, run
from test_cli_http import served

from mcp_sansio import (
    Era,
    Implementation,
    Negotiated,
    PromptArgument,
)
from mcp_sansio_adapters.cli.explain import Exit

__all__ = ["fails"]  # a fixture is found by its name

live = pytest.mark.live

PATIENCE = 60.0
DIFF = PromptArgument("diff", description="The change", required=True)
FOCUS = PromptArgument("focus")
NEGOTIATED = Negotiated(Era.MODERN, "2026-07-28", {}, Implementation("peer", "1.0"), None)


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
