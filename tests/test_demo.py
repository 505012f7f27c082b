"""The demonstration: green with our own server, and not to be fooled by servers that misbehave."""

import subprocess
import sys

import pytest
from live import tampered

from mcp_sansio_adapters import demo as demonstration

MCP_SANSIO = (sys.executable, "-m", "mcp_sansio_adapters")
SERVE = (*MCP_SANSIO, "serve", "{folder}", "--page-size", "8")
LEGACY, MODERN = "2025-11-25", "2026-07-28"
STEPS = ["connect", "list", "render", "watch", "storm", "stale", "restart"]

pytestmark = [pytest.mark.live, pytest.mark.slow]


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*MCP_SANSIO, "demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, encoding="utf-8")


def steps(output: str) -> list[str]:
    """The names in the gutter, in their order."""
    return [line.split()[1] for line in output.splitlines() if line[:2].strip().isdigit()]


def test_our_own_server_passes_every_step_over_both_transports_in_both_eras() -> None:
    done = demo("--patience", "60")
    assert (done.returncode, done.stderr) == (0, "")
    assert steps(done.stdout) == 4 * STEPS
    parts = [f"── {version} over {name}:" for name in ("stdio", "HTTP") for version in (LEGACY, MODERN)]
    assert sorted(parts, key=done.stdout.index) == parts
    assert done.stdout.count("26 prompts in 4 pages:") == 4
    assert done.stdout.count("~ code/review: title “Review a change” → “Review a pull request”") == 4
    assert done.stdout.count("cost: ") == 4 * len(STEPS) + 1
    assert "✗" not in done.stdout
    assert "\x1b" not in done.stdout
    assert "All 28 steps came out right" in done.stdout.splitlines()[-2]


def test_one_transport_may_be_enough() -> None:
    done = demo("--patience", "60", "--transport", "http", "--era", "modern")
    assert (done.returncode, done.stderr) == (0, "")
    assert steps(done.stdout) == STEPS


MISBEHAVIOUR: dict[str, tuple[dict[str, object], str, str]] = {
    "never notifies": ({"quiet": True}, "watch", "the server announced no change within 2 s"),
    "ignores cursors": ({"ignore_cursors": True}, "list", "the list is incomplete: no-progress"),
    "answers stale pages": (
        {"stale": True},
        "watch",
        "a change was announced, but the server's list lacks it: ~ code/review: title “Review a change” → ",
    ),
    "dies at once": ({"die_at": 1}, "connect", "the server exited (exit code 1)"),
    "dies later": ({"die_at": 9, "exit_code": 7}, "watch", "the server ended the connection"),
}


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("server", MISBEHAVIOUR)
def test_a_server_that_misbehaves_fails_the_step_that_shows_it(server: str, era: str) -> None:
    how, step, reason = MISBEHAVIOUR[server]
    version = LEGACY if era == "legacy" else MODERN
    done = demo("--patience", "2", "--era", era, "--", *tampered(SERVE, **how))
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"mcp-sansio: the demonstration failed at step '{step}' in {version} over stdio: {reason}"
    )
    assert done.returncode == 1
    assert steps(done.stdout)[-1] == step
    assert "✗" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "step", "reason"),
    [
        (["--page-size", "100"], "list", "all prompts came on one page"),
        (["--page-size", "8", "--no-watch"], "watch", "the server announced no change within 1 s"),
        (["--page-size", "8", "--era", "legacy"], "connect", "the server is not modern"),
    ],
)
def test_a_server_that_cannot_show_it_fails_too(arguments: list[str], step: str, reason: str) -> None:
    server = (*MCP_SANSIO, "serve", "{folder}", *arguments)
    done = demo("--patience", "1", "--era", "modern", "--", *server)
    assert done.returncode == 1
    assert f"failed at step '{step}'" in done.stderr
    assert reason in done.stderr


UNTIL_AN_EDIT = '"$@" & while [ -e "$0/data/sql.md" ]; do sleep 0.05; done; kill -9 $!'


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    ("server", "step", "reason"),
    [
        (("sh", "-c", "echo no port >&2"), "connect", "the server does not say where it serves: no port"),
        ((*SERVE[:-2], "--page-size", "100"), "list", "all prompts came on one page"),
        ((*SERVE, "--no-watch"), "watch", "the server announced no change within 1 s"),
        (("sh", "-c", UNTIL_AN_EDIT, "{folder}", *SERVE), "watch|storm", "the server ended the connection"),
    ],
)
def test_a_server_at_a_port_that_does_not_show_it_fails_the_step(
    *,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    server: tuple[str, ...],
    step: str,
    reason: str,
    era: str,
) -> None:
    monkeypatch.setattr(demonstration, "OURS", server)
    version = LEGACY if era == "legacy" else MODERN
    with pytest.raises(
        demonstration.DemoFailed, match=rf"failed at step '({step})' in {version} over HTTP: {reason}"
    ):
        demonstration.run_demo(eras=(era,), transports=("http",), patience=1)
    assert "✗" in capsys.readouterr().out.splitlines()[-1]


def test_a_server_of_your_own_is_not_at_a_port() -> None:
    done = demo("--transport", "http", "--", *SERVE)
    assert (done.returncode, done.stdout) == (2, "")
    assert "over stdio" in done.stderr
