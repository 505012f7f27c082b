"""The command line: what it prints where, and its exit codes.

What succeeds is run as a process of its own, what fails inside this one; the servers are processes always.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
from live import Command, raw_server, sdk_server
from registry import ASK, Registry

from mcp_sansio import (
    ALL_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    AudioContent,
    BlobResource,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    Prompt,
    PromptArgument,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResource,
    __version__,
)
from mcp_sansio_adapters import cli, demo
from mcp_sansio_adapters.cli import app, serve, show
from mcp_sansio_adapters.cli.explain import Exit
from mcp_sansio_adapters.folder import PromptFolder

MCP_SANSIO = (sys.executable, "-m", "mcp_sansio_adapters")
SAMPLES = Path(demo.__file__).parent / "samples"
SERVE: Command = (*MCP_SANSIO, "serve", str(SAMPLES), "--page-size", "9")

live = pytest.mark.live


def run(
    *arguments: str, server: Sequence[str] | None = None, encoding: str = "utf-8", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [*MCP_SANSIO, *arguments, *(() if server is None else ("--", *server))]
    return subprocess.run(
        command,
        capture_output=True,
        encoding=encoding,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


class Fails(Protocol):
    def __call__(self, code: int, *arguments: str, server: Sequence[str] | None = None) -> str: ...


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Fails:
    """Run a command line that fails with `code`; what it says in its one line."""

    def run(code: int, *arguments: str, server: Sequence[str] | None = None) -> str:
        assert app.run([*arguments, *(() if server is None else ("--", *server))]) == code
        out, errors = capsys.readouterr()
        assert out == ""
        (line,) = errors.splitlines()
        name, _, said = line.partition(": ")
        assert name == "mcp-sansio"
        return said

    return run


def served() -> list[Any]:
    """The prompts of the sample folder, as the newest revision lists them."""
    prompts = [entry.prompt for entry in PromptFolder(SAMPLES).read().entries]
    return [show.wire(prompt) for prompt in sorted(prompts, key=lambda prompt: prompt.name)]


# --- list and get ---


@live
@pytest.mark.parametrize("version", [ALL_VERSIONS[0], ALL_VERSIONS[-1]])
def test_our_list_of_the_official_server_is_its_registry(version: str) -> None:
    done = run("list", "--json", "--protocol-version", version, server=sdk_server(prompts=137, page=10))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"prompts": Registry(137).list()}


@live
def test_list_prints_the_prompts_of_a_folder() -> None:
    done = run("list", server=SERVE)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in lines] == [prompt["name"] for prompt in served()]
    assert "code/review             diff [focus]" in done.stdout


@live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_list_as_json_is_the_wire_spelling_in_one_line(era: str) -> None:
    done = run("list", "--json", "--era", era, server=SERVE)
    (line,) = done.stdout.splitlines()
    assert json.loads(line) == {"prompts": served()}


@live
def test_get_prints_the_text_of_a_prompt_and_its_result_as_json() -> None:
    arguments = ("get", "prompt-002", "--arg", "topic=a=b", "--arg", "tone=")
    assert run(*arguments, server=raw_server()).stdout == "prompt-002: tone=, topic=a=b\n"
    done = run(*arguments, "--json", server=raw_server())
    content = {"type": "text", "text": "prompt-002: tone=, topic=a=b"}
    identity = {"io.modelcontextprotocol/serverInfo": {"name": "raw-peer", "version": "1.0"}}
    assert json.loads(done.stdout) == {"messages": [{"role": "user", "content": content}], "_meta": identity}


@live
@pytest.mark.parametrize("server", [SERVE, raw_server(unknown_code=0)])
def test_what_get_is_refused_for_is_told_apart(fails: Fails, server: Command) -> None:
    name, argument = ("summarise", "text") if server is SERVE else ("prompt-001", "topic")
    assert fails(1, "get", name, server=server).endswith(f"; add --arg {argument}=…")
    typo = name.replace("m", "n", 1)
    assert (
        fails(1, "get", typo, server=server) == f"the server has no prompt {typo!r}; did you mean {name!r}?"
    )
    assert fails(1, "get", "zzz", server=server).endswith("; `mcp-sansio list` shows what there is")


@live
def test_a_server_that_asks_for_what_was_not_offered_breaks_the_protocol(fails: Fails) -> None:
    assert "elicitation" in fails(4, "get", ASK, server=sdk_server())


@live
def test_noise_on_the_server_s_stdout_is_reported_and_does_no_harm() -> None:
    done = run("list", "--json", server=raw_server(banner="Hello!", prompts=3))
    assert json.loads(done.stdout) == {"prompts": Registry(3).list()}
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("mcp-sansio: ")


# --- what goes wrong ---


@live
@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (("no-such-command",), "the server cannot be started: "),
        (raw_server(exit_at=0, exit_code=9), "the server exited (exit code 9)"),
        (raw_server(exit_at=3, exit_code=9), "(exit code 9)"),
        (("sh", "-c", "echo one >&2; echo two >&2; exit 5"), "(exit code 5); it said: two"),
    ],
)
def test_no_server(fails: Fails, server: Command, reason: str) -> None:
    said = fails(3, "list", server=server)
    assert said.startswith("no server, check the command after --: ")
    assert reason in said


@live
def test_no_answer(fails: Fails) -> None:
    said = fails(3, "list", "--timeout", "0.5", server=raw_server(mute="prompts/list"))
    assert "0.5 s" in said


@live
def test_no_common_revision(fails: Fails) -> None:
    fails(3, "list", "--era", "modern", server=raw_server(legacy=True))


@live
def test_an_answer_that_breaks_the_protocol(fails: Fails) -> None:
    assert "no-progress" in fails(4, "list", server=raw_server(ignore_cursors=True))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list",), "No server: write `mcp-sansio list URL` or `mcp-sansio list -- python server.py`. ("),
        (
            ("list", "python", "server.py"),
            "a URL begins with http:// or https://, 'python' does not; a command",
        ),
        (
            ("get",),
            "No server: write `mcp-sansio get URL NAME` or `mcp-sansio get NAME -- python server.py`.",
        ),
        (("get", "http://x"), "Too few words: write `mcp-sansio get URL NAME` or "),
        (
            ("complete", "http://x", "a", "b", "c", "d"),
            "Too many words: http://x a b c d; write `mcp-sansio ",
        ),
        (("get", "x", "--arg", "y"), "Invalid value for '--arg': 'y' has no value: write it as KEY=VALUE."),
        (("get", "x", "--arg", "=y"), "Invalid value for '--arg': '=y' has no value"),
        (("get", "x", "--arg", "y=1", "--arg", "y=2"), "Invalid value for '--arg': 'y' is given twice."),
        (("list", "--timeout", "0"), "Invalid value for '--timeout'"),
        (("list", "--protocol-version", "2020-01-01"), "Invalid value for '--protocol-version'"),
        (
            ("serve", "no/such/folder"),
            "Invalid value for 'FOLDER': Directory 'no/such/folder' does not exist.",
        ),
        (("lst",), "No such command 'lst'."),
    ],
)
def test_the_command_line_is_wrong(fails: Fails, arguments: tuple[str, ...], said: str) -> None:
    assert fails(2, *arguments).startswith(said)


@live
def test_the_command_line_is_wrong_though_there_is_a_server(fails: Fails) -> None:
    choice = ("--era", "modern", "--protocol-version", "2025-11-25")
    assert "2025-11-25 is not of the modern era" in fails(2, "list", *choice, server=SERVE)
    assert "nothing belongs after --" in fails(2, "serve", str(SAMPLES), server=SERVE)


def test_a_bug_of_ours_is_one_line_too(fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "serve_folder", lambda *_arguments, **_options: 1 / 0)
    assert fails(70, "serve", str(SAMPLES)).startswith("this is a bug (ZeroDivisionError: ")


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, app.__name__)
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit, match="70"):
        cli.main()
    assert capsys.readouterr().err == "mcp-sansio: click is missing: pip install 'mcp-sansio[cli]'\n"


def test_every_exit_code_is_documented() -> None:
    table = (Path(__file__).parent.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [*Exit]


def test_only_debug_shows_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["list", "--debug", "--", "no-such-command"]) == 3
    errors = capsys.readouterr().err
    assert errors.startswith("Traceback (most recent call last):\n")
    assert errors.splitlines()[-1].startswith("mcp-sansio: no server")


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--version"]) == 0
    assert capsys.readouterr() == (f"mcp-sansio {__version__}\n", "")
    assert app.run(["list", "-h"]) == 0
    assert "Usage: mcp-sansio list [OPTIONS]" in capsys.readouterr().out
    assert app.run([]) == 2
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.startswith("Usage: mcp-sansio [OPTIONS] COMMAND")


@live
def test_a_reader_who_has_enough_is_no_error() -> None:
    command = [*MCP_SANSIO, "list", "--", *SERVE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@live
def test_an_interrupt_ends_it_and_the_server(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    server = ("sh", "-c", f"exec 3>{fifo}; echo ready >&3; cat >&2")
    with subprocess.Popen([*MCP_SANSIO, "list", "--", *server], stderr=subprocess.PIPE) as process:
        with fifo.open() as held_by_the_server:
            assert held_by_the_server.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            assert held_by_the_server.read() == ""
        assert process.wait() == 130


@live
def test_text_is_printable_in_any_locale_and_json_is_utf_8(tmp_path: Path) -> None:
    (tmp_path / "grüße.md").write_text("Grüße → Köln", encoding="utf-8")
    server = (*MCP_SANSIO, "serve", str(tmp_path))
    done = run("get", "grüße", server=server, PYTHONIOENCODING="latin-1", encoding="latin-1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Grüße ? Köln\n", "")
    done = run("list", "--json", server=server, PYTHONIOENCODING="latin-1")
    assert json.loads(done.stdout) == {"prompts": [{"name": "grüße"}]}


# --- serve ---


def talk(*arguments: str, requests: Sequence[dict[str, Any]]) -> tuple[list[Any], list[str]]:
    """What `serve` answers to these requests, and what it says on stderr."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in requests)
    command = [*MCP_SANSIO, "serve", *arguments]
    done = subprocess.run(
        command, input=lines, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.splitlines()


def initialize(version: str) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return {"id": 1, "method": "initialize", "params": params}


@live
def test_serve_says_what_it_serves_and_what_is_wrong_with_the_files(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("Good")
    (tmp_path / "bad.md").write_text("---\ntitle: [\n---\nBad")
    (answer,), said = talk(str(tmp_path), requests=[initialize("2025-11-25")])
    assert answer["result"]["capabilities"] == {"prompts": {"listChanged": True}}
    assert answer["result"]["serverInfo"]["name"] == "mcp-sansio"
    (line,) = said
    assert line.startswith("mcp-sansio: bad.md:2: the front matter is not YAML: ")


@live
def test_serve_without_watching_declares_no_changes(tmp_path: Path) -> None:
    (answer,), _ = talk(str(tmp_path), "--no-watch", requests=[initialize("2024-11-05")])
    assert answer["result"]["protocolVersion"] == "2024-11-05"
    assert answer["result"]["capabilities"] == {"prompts": {}}


@live
def test_serve_speaks_the_revisions_that_it_is_told_to(tmp_path: Path) -> None:
    versions = ("--protocol-version", "2025-03-26", "--protocol-version", "2025-06-18")
    (answer,), _ = talk(str(tmp_path), *versions, requests=[initialize("2025-11-25")])
    assert answer["result"]["protocolVersion"] == "2025-06-18"
    (answer,), _ = talk(str(tmp_path), "--era", "modern", requests=[initialize(LEGACY_VERSIONS[-1])])
    assert answer["error"]["data"]["supported"] == [*MODERN_VERSIONS]


# --- text ---

DATA = "AAECAwQ="  # five bytes


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (TextContent("a\nb"), "a\nb"),
        (ImageContent(DATA, "image/png"), "[image image/png, 5 B]"),
        (AudioContent("A" * 4000, "audio/wav"), "[audio audio/wav, 3.0 kB]"),
        (AudioContent("A" * 4_000_000, "audio/wav"), "[audio audio/wav, 3.0 MB]"),
        (ResourceLink("file:///a", "a"), "[link file:///a a]"),
        (ResourceLink("file:///a", "a", title="A"), "[link file:///a A]"),
        (
            EmbeddedResource(TextResource("file:///a", "x", "text/plain")),
            "[resource file:///a text/plain]\nx",
        ),
        (EmbeddedResource(BlobResource("file:///a", DATA)), "[resource file:///a, 5 B]"),
    ],
)
def test_content_of_every_type_has_a_text(content: ContentBlock, text: str) -> None:
    assert show.content_text(content) == text


def test_several_messages_say_whose_they_are() -> None:
    user, assistant = (PromptMessage(role, TextContent(role)) for role in ("user", "assistant"))
    assert show.result_text(GetPromptResult((user,))) == "user"
    assert show.result_text(GetPromptResult((assistant,))) == "[assistant]\nassistant"
    assert show.result_text(GetPromptResult((user, assistant))) == "[user]\nuser\n\n[assistant]\nassistant"
    assert show.result_text(GetPromptResult(())) == ""


def test_a_list_is_cut_to_the_terminal_and_keeps_to_its_lines() -> None:
    argument = PromptArgument("x", required=True)
    prompts = [Prompt("a", description="One\n\x1b[31mtwo"), Prompt("bb", title="T", arguments=(argument,))]
    assert [*show.prompt_lines(prompts, None)] == ["a      One \\x1b[31mtwo", "bb  x  T"]
    assert [*show.prompt_lines(prompts, 8)] == ["a      …", "bb  x  T"]
    assert [*show.prompt_lines([], 8)] == []


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert show.harmless("a\tb\n\x1b]0;x\x07\x9b\u202e\u200dé\U0001f986") == (
        "a\tb\n\\x1b]0;x\\x07\\x9b\\u202e\\u200dé\U0001f986"
    )
