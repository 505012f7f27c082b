"""The command line over HTTP: a folder served at a port, and asked for by its URL."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_cli import MCP_SANSIO, SAMPLES, run

from mcp_sansio_adapters import cli_commands
from mcp_sansio_adapters.cli_client import Exit

live = pytest.mark.live


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A folder served over HTTP, and its URL."""
    command = (*MCP_SANSIO, "serve", str(folder), "--http", "0", *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("mcp-sansio: serving at http://127.0.0.1:")
            yield line.split()[3].rstrip(","), process
        finally:
            process.kill()


@live
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_folder_is_served_and_asked_for_by_its_url(era: str) -> None:
    with served(SAMPLES, "--page-size", "5") as (url, process):
        listed = run("list", "--era", era, "--json", url)
        assert listed.returncode == Exit.DONE, listed.stderr
        names = [prompt["name"] for prompt in json.loads(listed.stdout)["prompts"]]
        assert len(names) == len([*SAMPLES.rglob("*.md")])
        got = run("get", url, "code/review", "--arg", "diff=+1", "--era", era, "--header", "X-Y: z")
        assert got.returncode == Exit.DONE, got.stderr
        assert "+1" in got.stdout
        gone = run("get", url, "code/reviw", "--era", era)
        assert (gone.returncode, gone.stdout) == (Exit.REFUSED, "")
        assert "did you mean 'code/review'?" in gone.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait() == Exit.DONE


@live
def test_only_loopback_names_are_answered_unless_others_are_allowed() -> None:
    for options, status in (((), b"403"), (("--allow-host", "prompts.example"), b"400")):
        with served(SAMPLES, *options) as (url, _):
            answer = subprocess.run(
                [sys.executable, "-c", PROBE, url], stdout=subprocess.PIPE, check=True, timeout=60
            ).stdout
            assert answer.strip() == status


PROBE = """
import sys, http.client, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
connection = http.client.HTTPConnection(url.hostname, url.port)
connection.request("POST", url.path, b"{}", {"Host": "prompts.example", "Content-Type": "application/json"})
print(connection.getresponse().status)
"""


@live
def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with served(SAMPLES) as (url, _):
        port = url.rpartition(":")[2].partition("/")[0]
        other = run("serve", str(SAMPLES), "--http", f"127.0.0.1:{port}")
        assert other.returncode == Exit.NO_SERVER
        assert other.stderr.count("\n") == 1
        assert "cannot listen at 127.0.0.1" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("list", "http://127.0.0.1:1/mcp"), Exit.NO_SERVER, "check the URL: "),
        (("list", "ftp://x"), Exit.USAGE, "a URL begins with http:// or https://"),
        (("list", "http://x", "--", "server"), Exit.USAGE, "Two servers: "),
        (("list", "--header", "A: b", "--", "server"), Exit.USAGE, "--header is for servers that are a URL"),
        (("list", "http://x", "--header", "nonsense"), Exit.USAGE, "a header is written as 'Name: value'"),
        (("list", "http://x", "--header", "Host: b"), Exit.USAGE, "written by the library"),
        (("get", "http://x", "name", "other"), Exit.USAGE, "Too many words"),
        (("serve", str(SAMPLES), "--http", "localhost"), Exit.USAGE, "has no port"),
        (("serve", str(SAMPLES), "--http", "localhost:70000"), Exit.USAGE, "has no port"),
        (("serve", str(SAMPLES), "--allow-host", "x"), Exit.USAGE, "are for --http"),
    ],
)
def test_what_is_wrong_is_told(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    assert cli_commands.run(arguments) == code
    out, errors = capsys.readouterr()
    assert out == ""
    assert said in errors
    assert errors.count("\n") == 1
