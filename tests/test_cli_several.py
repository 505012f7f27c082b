"""`mcp-sansio list` with several servers, and servers out of a host's configuration."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from mcp_sansio_adapters import demo
from mcp_sansio_adapters.cli import app, options
from mcp_sansio_adapters.cli.explain import Exit
from mcp_sansio_adapters.hosts import HostInput

SAMPLES = Path(demo.__file__).parent / "samples"
OURS = {"command": sys.executable, "args": ["-m", "mcp_sansio_adapters", "serve", str(SAMPLES / "ops")]}
OTHER = {"command": sys.executable, "args": ["-m", "mcp_sansio_adapters", "serve", str(SAMPLES / "team")]}
NOWHERE = {"command": "no-such-command"}
DIES = {"command": sys.executable, "args": ["-c", "raise SystemExit('not today')"]}
live = pytest.mark.live

Configure = Callable[..., str]
Run = Callable[..., tuple[str, list[str]]]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Write a configuration; its path."""

    def write(**servers: Any) -> str:
        path = tmp_path / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line that ends with `code`; what it prints, and the lines that it says."""

    def call(code: int, *arguments: str) -> tuple[str, list[str]]:
        assert app.run(arguments) == code
        out, errors = capsys.readouterr()
        return out, [line.removeprefix("mcp-sansio: ") for line in errors.splitlines()]

    return call


@live
def test_all_servers_of_a_configuration_are_listed_behind_their_names(configure: Configure, run: Run) -> None:
    out, errors = run(0, "list", "--config", configure(ours=OURS, other=OTHER))
    assert errors == []
    names = [line.split()[0] for line in out.splitlines()]
    assert "ours/incident-report" in names
    assert "other/agenda" in names
    assert len(names) == len([*(SAMPLES / "ops").iterdir(), *(SAMPLES / "team").iterdir()])


@live
def test_one_that_fails_hides_none_of_the_others_and_decides_the_exit_code(
    configure: Configure, run: Run
) -> None:
    config = configure(dies=DIES, ours=OURS, nowhere=NOWHERE)
    out, errors = run(Exit.NO_SERVER, "list", "--config", config)
    assert {line.split("/")[0] for line in out.splitlines()} == {"ours"}
    dies, nowhere = errors
    assert dies.startswith(f"dies: no server, check 'dies' in {config}: ")
    assert dies.endswith("it said: not today")
    assert nowhere.startswith(
        f"nowhere: no server, check 'nowhere' in {config}: the server cannot be started"
    )


@live
def test_json_keeps_servers_apart(configure: Configure, run: Run) -> None:
    out, _ = run(Exit.NO_SERVER, "list", "--json", "--config", configure(ours=OURS, nowhere=NOWHERE))
    servers = json.loads(out)["servers"]
    assert [*servers] == ["ours", "nowhere"]
    assert {prompt["name"] for prompt in servers["ours"]["prompts"]} == {
        path.stem for path in (SAMPLES / "ops").iterdir()
    }
    assert servers["nowhere"]["error"].startswith("no server, check 'nowhere' in ")


@live
def test_one_server_of_a_configuration_is_asked_as_any_other(configure: Configure, run: Run) -> None:
    config = configure(ours=OURS, nowhere=NOWHERE)
    out, _ = run(0, "list", "--json", "--config", config, "ours")
    assert [*json.loads(out)] == ["prompts"]
    out, _ = run(0, "get", "--config", config, "ours", "runbook", "--arg", "task=restart")
    assert "restart" in out
    _, errors = run(Exit.NO_SERVER, "get", "--config", config, "nowhere", "runbook")
    assert errors[0].startswith(f"no server, check 'nowhere' in {config}: ")


@live
def test_words_and_a_command_are_several_servers_too(configure: Configure, run: Run) -> None:
    server = ("--", sys.executable, "-m", "mcp_sansio_adapters", "serve", str(SAMPLES / "team"))
    out, errors = run(
        Exit.NO_SERVER,
        "list",
        "--json",
        "--config",
        configure(ours=OURS),
        "ours",
        "http://127.0.0.1:1/x",
        *server,
    )
    servers = json.loads(out)["servers"]
    assert [*servers] == ["ours", "http://127.0.0.1:1/x", Path(sys.executable).name]
    assert errors[0].startswith("127.0.0.1:1: no server, check the port of the URL")


def test_no_two_servers_are_called_alike(run: Run) -> None:
    _, errors = run(Exit.USAGE, "list", "http://a/x", "http://a/x")
    assert errors[0].startswith("Two servers are called 'http://a/x'.")


def test_what_is_wrong_with_a_configuration_is_told(configure: Configure, run: Run, tmp_path: Path) -> None:
    config = configure(ours=OURS, nothing={})
    _, errors = run(Exit.USAGE, "list", "--config", config, "our")
    assert errors[0].startswith(
        f"{config}: no server 'our' here; did you mean 'ours'? (`mcp-sansio list --help`"
    )
    _, errors = run(Exit.USAGE, "list", "--config", config, "nothing")
    assert "server 'nothing': has no \"command\"" in errors[0]
    _, errors = run(Exit.USAGE, "list", "--config", str(tmp_path / "other.json"))
    assert errors[0].startswith("Invalid value for '--config': ")
    assert "cannot be read" in errors[0]
    _, errors = run(Exit.USAGE, "list", "--config", configure())
    assert errors[0].startswith("No server: ")


def test_a_host_may_be_named_instead_of_its_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    _, errors = run(Exit.USAGE, "list", "--config", "vscode")
    assert "vscode has no configuration here; looked for " in errors[0]
    Path(".vscode").mkdir()
    Path(".vscode/mcp.json").write_text(
        '{"servers": {"x": {"command": "no-such-command"},}} // mine', encoding="utf-8"
    )
    _, errors = run(Exit.NO_SERVER, "list", "--config", "vscode", "x")
    assert errors[0].startswith(f"no server, check 'x' in {Path('.vscode').resolve()}{os.sep}mcp.json: ")


def test_inputs_are_asked_for_with_care(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def prompt(text: str, **given: Any) -> str:
        asked.append({"text": text, **given})
        return "secret"

    monkeypatch.setattr(click, "prompt", prompt)
    ask = options._answer  # noqa: SLF001  # there is no terminal here to ask on
    assert ask(HostInput("key", "The \x1b[31mkey", password=True, default="old")) == "secret"
    ask(HostInput("place", "Where", options=("a", "b")))
    assert [(each["text"], each["hide_input"], each["show_default"]) for each in asked] == [
        ("The \\x1b[31mkey", True, False),
        ("Where", False, True),
    ]
    assert [*asked[1]["type"].choices] == ["a", "b"]
